"""Would anyone up the stack handle this exception? Standard library only.

The walk goes from the crashed frame outward, and asks at each frame its blocks (`blocks`), between frames the C code
that called (`callers`), and at known frames the tables (`catchers`). It runs no code of the program, and keeps
no frame and no exception. Three answers: what is not certain is ``undecided``, with the reason.
"""

from types import CodeType, FrameType
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import blocks, callers, catchers, exits, layout, lexical, names, transports
from .passage import Passage, passes

HANDLED, UNHANDLED, UNDECIDED = "handled", "unhandled", "undecided"
_MAX_FRAMES = 100000
_MAX_MEMO = 20000
_GENERATORS = 0x20 | 0x80 | 0x200  # generator, coroutine, async generator


class Decision(NamedTuple):
    """``answer``: handled, unhandled or undecided. ``why``: a sentence for people. ``where``: the deciding frame.

    ``keeper``: the transparent catcher that was looked through, "" for none; a test may want what it keeps.
    """

    answer: str
    why: str
    where: str
    keeper: str = ""


Step = Union[Decision, transports.Landing, Passage]
_Key = Tuple[int, int, int, int]  # ids of the inner and the outer code, the outer offset, the id of the class
_Known = Tuple[bool, CodeType, CodeType, Optional[type]]
"""A step on which an exception passes from frame to frame whatever the values are: whether it passes the outer frame's
blocks as well, and what is kept so that ids stay taken."""


class Decider:
    """Decides for one process. Remembers what it read about code, never about values.

    ``catchers`` are further transparent catchers and ``boundaries`` further functions that record a test's outcome,
    both as ``module:qualname`` (see `catchers`).
    """

    def __init__(self, catchers: Sequence[str] = (), boundaries: Sequence[str] = ()) -> None:
        self._roles = _Roles(catchers, boundaries)
        self._known: Dict[_Key, _Known] = {}
        self._ending: Dict[_Key, Tuple[List[names.Guard], CodeType, CodeType, Optional[type]]] = {}
        self.remembered = 0
        self.counters: Dict[str, int] = {
            "decisions": 0, "failures": 0, HANDLED: 0, UNHANDLED: 0, UNDECIDED: 0, "steps": 0, "steps_known": 0}

    def handled_before(
        self,
        cls: type,
        frame: FrameType,
        _answers: blocks.Memory = blocks.answers,
        _id: Any = id,
        _get: Any = dict.get,
        _unknown: Any = names.UNKNOWN,
    ) -> bool:
        """Whether it is known from earlier decisions that an exception of class ``cls`` in ``frame`` is handled.

        What `decide` would find, from memory alone and as fast as Python can; False where that does not tell. A
        StopIteration in an iterator is its end.
        """
        code, kind = frame.f_code, _id(cls)
        known = self._known
        if cls is StopIteration and (code.co_flags & _GENERATORS or code.co_name == "__next__"):
            self.remembered += 1
            return True
        while True:
            answer = _answers.get((_id(code), frame.f_lasti, kind))
            if answer is None:
                return False
            _, _, scope, guards, local, managers, (way, passing, _, _) = answer
            if scope is not frame.f_globals:
                return False
            if local and not names.hold_local(local, frame) or managers and not exits.hold(managers, frame):
                return False
            for space, name, value in guards:
                if _get(space, name, _unknown) is not value:
                    return False
            if way == "swallows":
                self.remembered += 1
                return True
            if way != "passes" or passing is None:
                return False
            kind = _id(passing)
            while True:
                back = frame.f_back
                if back is None:
                    return False
                outer = back.f_code
                step = known.get((_id(code), _id(outer), back.f_lasti, kind))
                if step is None:
                    return self._swallowed((_id(code), _id(outer), back.f_lasti, kind))
                frame, code = back, outer
                if not step[0]:
                    break

    def _swallowed(self, key: _Key) -> bool:
        """Whether C code between two frames is known to end the exception."""
        known = self._ending.get(key)
        if known is None or not names.hold(known[0]):
            return False
        self.remembered += 1
        return True

    def decide(self, exc: BaseException, frame: FrameType) -> Decision:
        """Whether somebody between ``frame`` and the outcome would handle ``exc``, just raised or caught in ``frame``.

        Never raises: a failure of the decision itself is an undecided answer that says so.
        """
        counters = self.counters
        counters["decisions"] += 1
        try:
            decision = self._walk(type(exc), frame)
        except Exception as failure:  # noqa: BLE001 - whatever is wrong here must not become the program's problem
            counters["failures"] += 1
            decision = Decision(UNDECIDED, "the decision failed: {}".format(_place_of(failure)), "")
        counters[decision.answer] += 1
        return decision

    def _walk(self, cls: Optional[type], frame: FrameType) -> Decision:
        result = blocks.through(frame, cls)
        keeper = ""
        for _ in range(_MAX_FRAMES):
            if result.way != "passes":
                return self._kept(_stopped(result, frame), frame, keeper)
            frame = self._outward(frame, result.cls)
            back = frame.f_back
            if back is None:
                return _ended(frame)._replace(keeper=keeper)
            self.counters["steps"] += 1
            step = self._step(frame, back, result.cls)
            if type(step) is Decision:
                return self._kept(step, back, keeper)
            if not keeper and self._roles.role(back) == catchers.KEEPER:
                keeper = _named(back)
            if type(step) is transports.Landing:
                back, step = step.frame, passes(step.cls)
            assert isinstance(step, Passage)
            frame, result = back, step
        return Decision(UNDECIDED, "the stack is too deep", _named(frame))

    def _kept(self, decision: Decision, frame: FrameType, keeper: str) -> Decision:
        """``decision``, made at ``frame``, with the transparent catcher that was passed or that may still get it."""
        outer = frame.f_back
        while outer is not None and not keeper and not decision.keeper and decision.answer == UNDECIDED:
            keeper = _named(outer) if self._roles.role(outer) == catchers.KEEPER else ""
            outer = outer.f_back
        return decision._replace(keeper=keeper or decision.keeper)

    def _outward(self, frame: FrameType, cls: Optional[type]) -> FrameType:
        """The outermost frame that can be reached by steps known to let ``cls`` pass whatever the values are."""
        known, kind = self._known, id(cls)
        code = frame.f_code
        count = 0
        while True:
            back = frame.f_back
            if back is None:
                break
            outer = back.f_code
            step = known.get((id(code), id(outer), back.f_lasti, kind))
            if step is None or not step[0]:
                break
            frame, code = back, outer
            count += 1
        self.counters["steps"] += count
        self.counters["steps_known"] += count
        return frame

    def _step(self, frame: FrameType, back: FrameType, cls: Optional[type]) -> Step:
        """From ``frame`` into and through its caller ``back``."""
        role = self._roles.role(back)
        if role == catchers.OUTCOME:
            return _outcome(back, cls)
        if role == catchers.STORE or transports.starts_task(frame, back):
            landing = transports.landing(frame, back, cls, blocks.through)
            return landing if isinstance(landing, transports.Landing) else _stopped(landing, back)
        crossed = callers.crossing(frame, back, cls)
        if crossed.way != "passes":
            guards = callers.guards_of_end(frame, back, cls) if crossed.way == "swallows" else None
            if guards is not None:
                if len(self._ending) > _MAX_MEMO:
                    self._ending.clear()
                key = (id(frame.f_code), id(back.f_code), back.f_lasti, id(cls))
                self._ending[key] = (guards, frame.f_code, back.f_code, cls)
            return _stopped(crossed, back)
        through = role in (catchers.OPEN, catchers.KEEPER)
        if role in (catchers.OPEN, catchers.ORDINARY) and callers.always_passes(frame.f_code, back, cls):
            if len(self._known) > _MAX_MEMO:
                self._known.clear()
            key = (id(frame.f_code), id(back.f_code), back.f_lasti, id(cls))
            calm = role == catchers.OPEN or lexical.place(back).blocks == []
            self._known[key] = (calm, frame.f_code, back.f_code, cls)
        return crossed if through else blocks.through(back, crossed.cls)


_Roles = catchers.Known  # the parameter of the same name hides the module in Decider.__init__


def _stopped(result: Passage, frame: FrameType) -> Decision:
    if result.way == "swallows":
        return Decision(HANDLED, result.why, _named(frame))
    if result.way == "reaches":
        return Decision(UNHANDLED, "nothing handles it before {}".format(result.why), _named(frame))
    return Decision(UNDECIDED, result.why, _named(frame), result.keeper)


def _ended(frame: FrameType) -> Decision:
    if transports.greenlet_above():
        return Decision(UNDECIDED, "a greenlet hands it to its parent", _named(frame))
    return Decision(UNHANDLED, "nothing up to the start of the program handles it", _named(frame))


def _outcome(frame: FrameType, cls: Optional[type]) -> Step:
    """At a function that records an outcome: some expect the exception, one is called by tests, too."""
    name = frame.f_code.co_name
    if name == "_callTestMethod" and _expects_failure(frame):
        return Decision(HANDLED, "the test is marked as an expected failure", _named(frame))
    if name == "__run":
        wanted = names.attribute(names.local_value(frame, "example"), "exc_msg")
        if wanted is not None and wanted is not names.UNKNOWN:
            return Decision(HANDLED, "the doctest example expects a traceback", _named(frame))
    if name == "call_fixture_func":
        asking = _asked_by_test(frame)
        if asking is not None:
            return transports.Landing(asking, cls)
    keeper = _named(frame) if name == "_bootstrap_inner" or _inside_test(frame) else ""
    return Decision(UNHANDLED, "nothing up to {} handles it".format(_test_name(frame)), _named(frame), keeper)


def _inside_test(frame: FrameType) -> bool:
    """Whether the outcome that ``frame`` records is one that a test wants to see: a runner was run by a test."""
    outer = frame.f_back
    while outer is not None:
        if outer.f_code.co_name in _TESTS and catchers.role(outer) == catchers.OUTCOME:
            return True
        outer = outer.f_back
    return False


_TESTS = frozenset(["pytest_pyfunc_call", "_callTestMethod", "__run"])


def _expects_failure(frame: FrameType) -> bool:
    method = names.local_value(frame, "method")
    function = getattr(method, "__func__", method) if type(method).__name__ == "method" else method
    for value in (function, names.local_value(frame, "self")):
        if names.attribute(value, "__unittest_expecting_failure__") is True:
            return True
    return False


def _asked_by_test(frame: Optional[FrameType]) -> Optional[FrameType]:
    """The frame of ``request.getfixturevalue`` if a test or fixture, rather than pytest, asked for the fixture."""
    while frame is not None and frame.f_back is not None:
        if frame.f_code.co_name == "getfixturevalue" and _module(frame) == "_pytest.fixtures":
            return frame if not _module(frame.f_back).startswith("_pytest.") else None
        frame = frame.f_back
    return None


def _module(frame: FrameType) -> str:
    name = dict.get(frame.f_globals, "__name__")
    return name if type(name) is str else ""


def _test_name(frame: FrameType) -> str:
    item = names.local_value(frame, "pyfuncitem")
    name = names.attribute(item, "name") if item is not names.UNKNOWN else names.UNKNOWN
    return name if type(name) is str else frame.f_code.co_name


def _named(frame: FrameType) -> str:
    return lexical.where(frame.f_code, frame.f_lineno or 0)


def _place_of(failure: BaseException) -> str:
    """Class and place of an error of ours, without its message (which may hold the program's values)."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else " at " + lexical.where(trace.tb_frame.f_code, trace.tb_lineno)
    return type(failure).__name__ + place


def thrown_in(exc: BaseException, frame: FrameType, _getattribute: Any = BaseException.__getattribute__) -> bool:
    """Whether ``exc`` was thrown into the frame from outside, rather than raised by what the frame did.

    True for ``generator.throw`` (a ``@contextmanager``'s body failed) and for an exception that a frame further out,
    still running, has already had in its hands.
    """
    trace = _getattribute(exc, "__traceback__")
    if trace is None:
        return False
    outer = set()
    back = frame.f_back
    while back is not None:
        outer.add(id(back))
        back = back.f_back
    while trace is not None:
        code = trace.tb_frame.f_code
        if id(trace.tb_frame) in outer:
            return True
        if code.co_flags & 0x220 and layout.at_plain_yield(code, trace.tb_lasti):
            return True
        trace = trace.tb_next
    return False
