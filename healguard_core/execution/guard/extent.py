"""Which threads run a heal at this moment, and what is stopped in them. May import veto.

One extent is the dynamic extent of one run of healing code: the thread that runs it and the threads that are started
in it, for as long as they live. The table of extents is kept in a closure, and only whoever entered an extent can leave
it, so that code under guard cannot switch it off.
"""

import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any, Callable, Dict, List, Optional, Tuple

from healguard_core.execution.guard.veto import Stop, Veto

MOST_STOPS = 20
"""More than that of one extent are counted, not kept."""
_MOST_STEPS = 30

_this_thread = threading.get_ident
_getframe = sys._getframe
_active_threads: Dict[int, threading.Thread] = threading._active  # type: ignore[attr-defined]
_starting_threads: Dict[threading.Thread, threading.Thread] = threading._limbo  # type: ignore[attr-defined]
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def is_ours(code: CodeType) -> bool:
    """Whether ``code`` belongs to this package."""
    return code.co_filename.startswith(_OURS)


class Extent:
    """One run of healing code. ``label`` is the file name that its code is compiled with.

    ``stops`` are what was stopped while it ran. ``late``, once the run is over, is told of what is stopped in threads
    that it left behind.
    """

    def __init__(self, label: str, judge: "Judge") -> None:
        self.label = label
        self.stops: List[Stop] = []
        self.judge = judge
        self.over = False
        self.late: Optional[Callable[[Stop], None]] = None
        self.count = 0
        self.unprofiled = False  # before 3.12 a profile function that raises is taken out, which is audited

    def veto(self, stop: Stop, frame: Optional[FrameType] = None) -> Veto:
        """Put ``stop`` on record and return what is to be raised in place of the operation."""
        at = outside(frame if frame is not None else _getframe(1))
        if at is not None and not stop.where:
            stop.where = place(at)
            stop.path = self._path(at)
        self.count += 1
        if self.over and self.late is not None and self.count <= MOST_STOPS:
            self.late(stop)
        elif len(self.stops) < MOST_STOPS:
            self.stops.append(stop)
        return Veto(stop.message)

    def again(self) -> Veto:
        """What is raised at the next checked step of healing code that swallowed a veto."""
        return Veto(self.stops[0].message)

    def _path(self, frame: FrameType) -> List[str]:
        """The steps from the healing code to ``frame``."""
        steps: List[str] = []
        at: Optional[FrameType] = frame
        while at is not None and len(steps) < _MOST_STEPS:
            if not is_ours(at.f_code):
                steps.append(place(at))
            if at.f_code.co_filename == self.label:
                break
            at = at.f_back
        else:
            steps.append("{} (in thread {})".format(self.label, threading.current_thread().name))
        steps.reverse()
        return steps


def outside(frame: Optional[FrameType]) -> Optional[FrameType]:
    """The nearest frame from ``frame`` outward that is none of ours."""
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    return frame


def place(frame: FrameType) -> str:
    """``file:line`` of where a frame stands."""
    return "{}:{}".format(frame.f_code.co_filename, frame.f_lineno or frame.f_code.co_firstlineno)


def shows_a_veto(extent: Extent) -> bool:
    """Whether Python itself prints a veto that nobody caught, in a thread or a finaliser."""
    at = outside(_getframe(1)) if extent.stops else None
    return at is not None and at.f_globals.get("__name__") in ("traceback", "threading", "linecache")


Leave = Callable[[], None]
Judge = Callable[[Extent, str, Tuple[Any, ...], FrameType], Optional[Stop]]


def _make() -> Any:
    running: Dict[int, List[Extent]] = {}  # by thread
    left_behind: Dict[int, Tuple[threading.Thread, Extent]] = {}  # by id of the thread object
    busy: Dict[int, bool] = {}  # threads in which the hook itself runs
    heard: List[int] = []  # not empty once the hook has been called

    def of_thread() -> Optional[Extent]:
        ident = _this_thread()
        extents = running.get(ident)
        if extents:
            return extents[-1]
        if not left_behind:
            return None
        found = left_behind.get(id(_active_threads.get(ident)))
        return None if found is None else found[1]

    def enter(extent: Extent) -> Leave:
        ident = _this_thread()
        running.setdefault(ident, []).append(extent)

        def leave() -> None:
            extents = running.get(ident, [])
            if extent in extents:
                extents.remove(extent)
            if not extents:
                running.pop(ident, None)
            extent.over = True

        return leave

    def adopt(thread: threading.Thread) -> None:
        extent = of_thread()
        if extent is not None:
            left_behind[id(thread)] = (thread, extent)

    def prune() -> bool:
        """Forget threads that have ended. Whether any that a heal started still runs."""
        for key, (thread, _) in list(left_behind.items()):
            begun = thread._started.is_set()  # type: ignore[attr-defined]
            if not thread.is_alive() and (begun or thread not in _starting_threads):
                left_behind.pop(key, None)
        return bool(left_behind)

    def hook(event: str, args: Tuple[Any, ...]) -> None:
        if not running and not left_behind:
            if not heard:
                heard.append(1)
            return
        ident = _this_thread()
        if ident in busy:
            return
        busy[ident] = True  # first of all: `id` is an audited operation as well
        try:
            extent = of_thread()
            stop = None if extent is None else extent.judge(extent, event, args, _getframe(1))
            veto = None if extent is None or stop is None else extent.veto(stop, _getframe(1))
        finally:
            busy.pop(ident, None)
        if veto is not None:
            raise veto

    def install() -> None:
        if heard:
            return
        sys.addaudithook(hook)
        sys.audit("healguard.installed")
        if not heard:  # Python says nothing when another hook has refused this one
            raise RuntimeError("another audit hook keeps the guard's from being installed")

    return of_thread, enter, adopt, prune, install


current, enter, adopt, prune, install = _make()
"""``current()``: the extent that this thread runs in. ``enter(extent)``: begin, returns how to end. ``adopt(thread)``:
a thread that is being started belongs to the extent of this one. ``prune()``. ``install()``: once per process, the
audit hook, which no code can remove and which tests one flag while no heal runs. Raises ``RuntimeError`` where another
hook does not allow it."""

