"""The last wall while values are followed: an audit hook, which sees operations wherever they are reached from.

It stops what C code does with something healed in its hands, and whoever switches the following off. The table of what
is watched is kept in a closure, so that no name of the program leads to it. May import guard.
"""

import sys
import threading
from types import FrameType
from typing import Any, Callable, Dict, List, Optional, Tuple

from healguard_core.execution.guard.extent import is_ours

_getframe = sys._getframe
_ident = threading.get_ident
_CONSTANT = frozenset(("builtins.id", "object.__getattr__", "sys._getframe"))  # told all the time, and never protected

Judge = Callable[[str, Tuple[Any, ...], FrameType], Optional[BaseException]]
"""What is to be raised in place of an audited operation; None lets it happen."""


def _make() -> Any:
    judges: List[Judge] = []
    busy: Dict[int, bool] = {}
    installed: List[bool] = []

    def hook(event: str, args: Tuple[Any, ...]) -> None:
        if not judges or event in _CONSTANT:
            return
        ident = _ident()
        if ident in busy:
            return
        busy[ident] = True  # first of all: `id` is an audited operation as well
        try:
            frame = _getframe(1)
            if is_ours(frame.f_code):
                return
            problem = next(filter(None, (judge(event, args, frame) for judge in judges)), None)
        finally:
            busy.pop(ident, None)
        if problem is not None:
            raise problem

    def watch(judge: Judge) -> Callable[[], None]:
        if not installed:
            installed.append(True)
            sys.addaudithook(hook)
        judges.append(judge)

        def leave() -> None:
            if judge in judges:
                judges.remove(judge)

        return leave

    return watch


watch = _make()
"""``watch(judge)``: ask ``judge`` about every audited operation; returns how to end it. The hook itself stays."""


def switches_off(event: str) -> bool:
    """Whether an audited operation replaces what follows the program."""
    return event == "sys.settrace"
