"""One attempt of a unit (a test, or a whole program): what must be known about its errors. May import pause and hooks.

No exception and no frame is kept alive here: they are known again by their ids, together with something that only
the same one can have.
"""

from types import CodeType, FrameType
from typing import Any, Dict, List, Optional, Sequence, Tuple

from healguard_core.execution import hooks
from healguard_core.execution.pause.stack import outermost
from healguard_core.protocol import Left


class Attempt:
    """State of the unit ``name``; the engine fills the settings in.

    ``armed`` are the undecided sites at which this attempt pauses. ``repeatable``: whoever runs the unit would run it
    again armed. ``heals`` and ``crashes`` count what was applied and paused so far.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.enabled = True
        self.expected: Tuple[type, ...] = ()
        self.agent: Any = None
        self.max_calls: Optional[int] = None
        self.armed: Sequence[Left] = ()
        self.repeatable = False
        self.guarded = True
        self.guard: Any = None
        self.tracker: Any = None  # follows what heals wrote, from the first one on
        self.submitted: Dict[int, Tuple[str, Any]] = {}  # by crash: healing code, and what takes secrets out of text
        self.heals = 0
        self.crashes = 0
        self._occurrences: Dict[Tuple[str, int, str], int] = {}
        self._left: Dict[int, Tuple[Left, int]] = {}  # by id of the exception, with the id of its traceback
        self._unhealed_after_heal = False
        self._target: Tuple[int, Optional[CodeType]] = (0, None)  # the target call's frame

    # ----------------------------------------------------------------- heals

    def healed(self, frame: FrameType) -> None:
        """A heal was applied in ``frame``."""
        self.heals += 1
        self._unhealed_after_heal = False
        target = outermost(frame)
        self._target = id(target), target.f_code

    def not_healed(self) -> None:
        """A crash was let go."""
        self._unhealed_after_heal = self.heals > 0

    def completed(self, exc: Optional[BaseException]) -> bool:
        """Whether the healed target call returned, when the unit failed with ``exc``.

        The target call is the outermost repository frame of the last healed crash. It did not return when a
        later crash was not healed, when ``exc`` came out of it, or when ``exc`` (other than an assertion's)
        came out of another call into repository code.
        """
        if self._unhealed_after_heal:
            return False
        for error in chain(exc):
            tb = error.__traceback__
            while tb is not None:
                if (id(tb.tb_frame), tb.tb_frame.f_code) == self._target:
                    return False
                if hooks.is_instrumented(tb.tb_frame.f_code) and not isinstance(exc, AssertionError):
                    return False
                tb = tb.tb_next
        return True

    # ----------------------------------------------------------------- undecided errors

    def occurrence(self, file: str, site: int, error: str) -> int:
        """How often an undecided ``error`` has been seen at this site, this time included."""
        key = (file, site, error)
        self._occurrences[key] = self._occurrences.get(key, 0) + 1
        return self._occurrences[key]

    def is_armed(self, file: str, site: int, error: str, occurrence: int) -> bool:
        """Whether this attempt is to pause at this very occurrence."""
        wanted = (file, site, error, occurrence)
        return any((left.file, left.site, left.error, left.occurrence) == wanted for left in self.armed)

    def leave(self, exc: BaseException, left: Left) -> None:
        """Remember that ``exc`` was let go undecided."""
        self._left[id(exc)] = (left, id(exc.__traceback__))

    def was_left(self, exc: BaseException) -> bool:
        """Whether an error with this id was let go undecided."""
        return id(exc) in self._left

    def left_for(self, exc: Optional[BaseException]) -> List[Left]:
        """The undecided sites whose error is ``exc`` or one that led to it.

        With them those whose error a transparent catcher kept: the unit may have failed for the lack of a result.
        """
        found = [left for left, _ in self._left.values() if left.keeper]
        for error in chain(exc):
            known = self._left.get(id(error))
            if known is not None and known[0].error == type(error).__name__ and known[0] not in found:
                found.append(known[0])
        return found

    def on_its_way_out(self, number: int, frame: FrameType, exc: BaseException) -> bool:
        """Whether ``exc`` was left alone further in and now passes site ``number`` of ``frame``.

        An id may be that of an earlier exception: the traceback entry of then has to be part of the traceback of
        now, and not as the one at the same site.
        """
        known = self._left.get(id(exc))
        if known is None:
            return False
        left, entry = known
        tb = exc.__traceback__
        if (left.file, left.site) == (frame.f_code.co_filename, number) and id(tb) == entry:
            return False
        while tb is not None:
            if id(tb) == entry and tb.tb_frame.f_code.co_filename == left.file:
                return True
            tb = tb.tb_next
        return False


def chain(exc: Optional[BaseException]) -> List[BaseException]:
    """``exc`` and everything that led to it or is part of it, each once."""
    found: List[BaseException] = []
    waiting = [exc]
    while waiting:
        error = waiting.pop()
        if error is None or any(error is seen for seen in found):
            continue
        found.append(error)
        waiting.extend((error.__cause__, error.__context__))
        waiting.extend(getattr(error, "exceptions", ()) if type(error).__name__.endswith("ExceptionGroup") else ())
    return found


def identity(exc: BaseException) -> Tuple[int, int]:
    """Ids of ``exc`` and of its innermost traceback entry."""
    tb = exc.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return id(exc), id(tb)
