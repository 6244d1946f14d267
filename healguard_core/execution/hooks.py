"""The names that instrumented code calls, and the slot that the engine fills. Imports nothing of ours.

Instrumented code finds these as builtins. Their names cannot be spelled in Python source, so no program
can collide with them. They are isolated from the program's mocks: every function used is an alias of their own.
"""

import builtins
import sys
import threading
from types import CodeType, FrameType, TracebackType
from typing import Any, Callable, List, Optional, Type

HEAL = "@heal"  # match expression of every statement's handler: called with the site's number
LEAVE = "@leave"  # exception class that every region catches
WAY = "@way"  # tells a region which way to leave: RETURN, CONTINUE or BREAK
VALUE = "@value"  # the value that a region returns

RETURN, CONTINUE, BREAK = 1, 2, 3

Caught = Callable[[int, FrameType, BaseException], Any]
Known = Callable[[Type[BaseException], FrameType], bool]


class Leave(BaseException):
    """Raised by the hook inside the paused frame; caught by the innermost region of the same frame."""


class _Transfer(threading.local):
    way = RETURN
    value: Any = None
    wanted: Optional[BaseException] = None  # a heal's own error, to be told from one of ours


_transfer = _Transfer()
_slot: List[Any] = [None, None]  # `Caught` and `Known`

# Aliases of this module, which no mock of the program reaches; parameters with defaults would cost as much as the rest.
_getframe, _isinstance, _type = sys._getframe, isinstance, type
_Exception, _RecursionError = Exception, RecursionError
_exc_info = sys.exc_info


def _handled_now() -> Optional[BaseException]:
    return _exc_info()[1]


_exception: Callable[[], Any] = getattr(sys, "exception", _handled_now)  # Python 3.11


def heal(site: int) -> Any:
    """Match expression of a statement's handler: ``Exception`` once healed, ``()`` to let the error go on.

    May raise: `Leave` to make the frame return, continue or break, or the exception that a heal asked for.
    """
    __tracebackhide__ = True
    try:
        exc = _exception()
        frame = _getframe(1)
        known = _slot[1]
        if known is not None:  # the usual cases, as cheaply as possible; the engine would decline them as well
            tb = exc.__traceback__
            if tb is not None:
                below = tb.tb_next
                if below is not None:
                    inner = below.tb_frame
                    if HEAL in inner.f_code.co_names and inner is not frame and not _isinstance(exc, _RecursionError):
                        return ()
        if not _isinstance(exc, _Exception) or (known is not None and known(_type(exc), frame)):
            return ()
        caught = _slot[0]
        if caught is None:
            return ()
        return caught(site, frame, exc)
    except _Exception as error:
        if _transfer.wanted is error:
            _transfer.wanted = None
            raise
        # There is no room to decide here (a calling frame has it), or a mock of the program is in our way: either way
        # the program goes on with its own error, not with one of ours.
        return ()


def leave(way: int, value: Any = None, _transfer: _Transfer = _transfer) -> Leave:
    """Prepare a transfer of control and return the exception to raise for it."""
    _transfer.way = way
    _transfer.value = value
    return Leave()


def wanted(exc: BaseException, _transfer: _Transfer = _transfer) -> BaseException:
    """Announce ``exc`` as what the hook is to raise in the frame, and hand it back."""
    _transfer.wanted = exc
    return exc


def _way(_transfer: _Transfer = _transfer) -> int:
    return _transfer.way


def _value(_transfer: _Transfer = _transfer) -> Any:
    value = _transfer.value
    _transfer.value = None
    return value


_NAMES = {HEAL: heal, LEAVE: Leave, WAY: _way, VALUE: _value}


def install(caught: Caught, known: Optional[Known] = None) -> None:
    """Let ``caught`` decide about every error that reaches an instrumented statement.

    With ``known`` (see `remember`) it is not asked about those that an instrumented frame below has seen, either.
    """
    for name, function in _NAMES.items():
        setattr(builtins, name, function)
    _slot[:] = caught, known


def remember(known: Optional[Known]) -> None:
    """Let errors go without asking for which ``known(class, frame)`` is true; with None, ask about every error."""
    _slot[1] = known


def disable() -> None:
    """Decline everything from now on. The builtins stay, because instrumented code keeps using them."""
    _slot[:] = None, None


def is_instrumented(code: CodeType, _name: str = HEAL) -> bool:
    """Whether ``code`` has statement handlers of ours."""
    return _name in code.co_names


def seen_below(exc: BaseException, frame: FrameType, _name: str = HEAL) -> bool:
    """Whether the error came up into ``frame`` straight from an instrumented frame that it called."""
    tb: Optional[TracebackType] = exc.__traceback__
    tb = tb.tb_next if tb is not None else None
    return tb is not None and tb.tb_frame is not frame and _name in tb.tb_frame.f_code.co_names
