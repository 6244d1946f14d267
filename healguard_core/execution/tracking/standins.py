"""What the program gets for `sys.settrace` and its kin while values are followed. May import guard.

Its own trace functions work as ever, beside the following: events are passed on to them, and they are what `gettrace`
gives. The functions are exchanged from the first heal of a test until its end.
"""

import sys
import threading
from types import FrameType
from typing import Any, Callable, Dict, List, NamedTuple

from healguard_core.execution.guard import extent as extents
from healguard_core.execution.guard.veto import Stop

_getframe = sys._getframe


class Tracing(NamedTuple):
    """What the following does when the program asks for a trace function of its own."""

    set_here: Callable[[Any, FrameType], None]
    get_here: Callable[[], Any]
    set_for_new: Callable[[Any], None]
    get_for_new: Callable[[], Any]
    set_everywhere: Callable[[Any, FrameType], None]


class _Exchanged(NamedTuple):
    module: Any
    name: str
    original: Any
    standin: Any


class Standins:
    """Exchanges the functions, and puts them back where nobody else has exchanged them since."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing
        self._exchanged: List[_Exchanged] = []

    def install(self) -> None:
        """Exchange them, unless they are exchanged already."""
        if self._exchanged:
            return
        for module, name, original, made in self._made():
            if original is not None:  # some Pythons lack some of them
                made.__name__ = made.__qualname__ = name
                made.__doc__ = original.__doc__
                self._exchanged.append(_Exchanged(module, name, original, made))
                setattr(module, name, made)

    def remove(self) -> None:
        """Put the originals back."""
        exchanged, self._exchanged = self._exchanged, []
        for one in exchanged:
            if getattr(one.module, one.name, None) is one.standin:
                setattr(one.module, one.name, one.original)

    def _made(self) -> List[Any]:
        tracing = self._tracing
        # A program may have kept a stand-in: once following is over, it is what it stands for.
        originals: Dict[Any, Any] = {(module, name): getattr(module, name, None) for module, name in _NAMES}

        def settrace(function: Any) -> None:
            caller = _getframe(1)
            _refuse_heals("sys.settrace", caller)
            if self._exchanged:
                tracing.set_here(function, caller)
            else:
                originals[sys, "settrace"](function)

        def gettrace() -> Any:
            return tracing.get_here() if self._exchanged else originals[sys, "gettrace"]()

        def settrace_of_threads(func: Any) -> None:
            _refuse_heals("threading.settrace", _getframe(1))
            (tracing.set_for_new if self._exchanged else originals[threading, "settrace"])(func)

        def gettrace_of_threads() -> Any:
            return (tracing.get_for_new if self._exchanged else originals[threading, "gettrace"])()

        def settrace_all_threads(func: Any) -> None:
            caller = _getframe(1)
            _refuse_heals("threading.settrace_all_threads", caller)
            if self._exchanged:
                tracing.set_everywhere(func, caller)
            else:
                originals[threading, "settrace_all_threads"](func)

        made = (settrace, gettrace, settrace_of_threads, gettrace_of_threads, settrace_all_threads)
        return [(*key, originals[key], standin) for key, standin in zip(originals, made)]


_NAMES = (
    (sys, "settrace"), (sys, "gettrace"), (threading, "settrace"), (threading, "gettrace"),
    (threading, "settrace_all_threads"),
)


def _refuse_heals(operation: str, caller: FrameType) -> None:
    """No heal, and nothing that one calls, sets trace functions."""
    extent = extents.current()
    if extent is not None:
        raise extent.veto(Stop("HG305", operation), caller)
