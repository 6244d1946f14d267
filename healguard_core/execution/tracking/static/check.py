"""The static check: what must, may or cannot become of what a heal has bound. May import walk.

``tainted`` is said only of a flow that must happen: the way from the pause to the protected operation has no fork, no
loop and no handler of the program in it. ``clean`` is said only where every instruction ahead, in the paused frame and
in its callers, is modelled. Everything else is ``unknown``, and left to following the values.
"""

from types import FrameType, FunctionType, MethodType
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from healguard_core.execution.guard.callables import MISSING
from healguard_core.execution.guard.policy import Policy
from healguard_core.execution.guard.veto import Stop, shown
from healguard_core.execution.tracking.program import following, program_of
from healguard_core.execution.tracking.static.instructions import STEPS, called
from healguard_core.execution.tracking.static.values import CLEAN, Value, flat, of
from healguard_core.execution.tracking.static.walk import Budget, Reached, State, Unmodelled, Walk

_MOST_FRAMES = 40
_MODULE_LEVEL = 1  # CO_OPTIMIZED: set in functions only
_GENERATOR_KINDS = 0x20 | 0x80 | 0x200


class Verdict(NamedTuple):
    """``result`` is clean, tainted or unknown, ``why`` in words for the latter; ``stop`` says what would happen."""

    result: str
    why: str = ""
    stop: Optional[Stop] = None
    steps: int = 0

    @property
    def clean(self) -> bool:
        """Whether nothing that the heal bound can decide about a protected operation."""
        return self.result == "clean" and not self.why


def judge(
    policy: Policy, frame: FrameType, bound: Dict[str, Any], way: str, elsewhere: bool, stays: Any
) -> Verdict:
    """What becomes of a heal that bound ``bound`` (names to values) in the paused ``frame`` and goes on by ``way``.

    ``elsewhere``: it, or a heal before it, wrote to objects, globals or captured variables, so that nothing can be
    said to be clean. ``stays(code)`` tells the frames at which the look ahead ends: the test runner's.
    """
    if not policy.operations and not policy.conditions:
        return Verdict("clean", "nothing is protected")
    budget = Budget()
    for surely in (True, False):
        look = _Look(policy, budget, surely, stays)
        try:
            look.ahead(frame, bound, way)
        except Reached as reached:
            if reached.must and not _allowed(policy, reached):
                return Verdict("tainted", stop=_stop(reached), steps=budget.steps)
            if not surely:
                return Verdict("unknown", "it may reach {}".format(reached), steps=budget.steps)
        except Unmodelled as problem:
            if not surely:
                return Verdict("unknown", str(problem), steps=budget.steps)
    if elsewhere:
        return Verdict("unknown", "it wrote to what others can read", steps=budget.steps)
    return Verdict("clean", steps=budget.steps)


def _allowed(policy: Policy, reached: Reached) -> bool:
    """Whether the policy has exceptions for the operation, which only the values of that moment can decide about."""
    return any(allow.id == reached.operation.entry.id for allow in policy.allow)


def _stop(reached: Reached) -> Stop:
    parts = {name: flat(value) for name, value in reached.key.items()}
    key = ", ".join(
        "{}={}".format(name, shown(values[0].known) if len(values) == 1 and values[0].known is not MISSING else "...")
        for name, values in parts.items() if any(one.must for one in values)
    )
    code, line = reached.place
    where = "{}:{}".format(code.co_filename, line)
    entry = reached.operation.entry
    return Stop("HG201", entry.target, entry.id, key, where, [where])


class _Look:
    """One look ahead, along the paused frame and its callers."""

    def __init__(self, policy: Policy, budget: Budget, surely: bool, stays: Any) -> None:
        self._policy = policy
        self._budget = budget
        self._surely = surely
        self._stays = stays

    def ahead(self, frame: FrameType, bound: Dict[str, Any], way: str) -> None:
        """Returns when nothing that depends on the heal is left; raises `Reached` or `Unmodelled`."""
        code = frame.f_code
        if not code.co_flags & _MODULE_LEVEL or code.co_flags & _GENERATOR_KINDS:
            raise Unmodelled("the paused frame is no plain function")
        walk = self._walk(frame)
        program = program_of(code)
        if any(name in code.co_cellvars or name not in code.co_varnames for name in bound if name != "_eh_rtn"):
            raise Unmodelled("the heal bound a variable that others share")
        at = max(frame.f_lasti, 0) >> 1
        if way == "return":
            if walk.guarded(at):
                raise Unmodelled("handlers between the return value and the caller")
            self._callers(frame, of(bound.get("_eh_rtn"), True))
            return
        if way != "next":
            raise Unmodelled("the statement or its loop goes on")
        name, at = following(program, at)
        while name not in ("CHECK_EXC_MATCH", ""):
            name, at = following(program, at)
        jump, at = following(program, at)
        if not jump.startswith("POP_JUMP"):
            raise Unmodelled("the way back from the pause")
        _, at = following(program, at)  # the handler matches
        values = dict(frame.f_locals, **bound)
        local = [of(values[name], name in bound) if name in values and name in code.co_varnames else CLEAN
                 for name in program.slots]
        depth = program.depths[at]
        walk.run(at, State((CLEAN,) * max(depth, 0), tuple(local)))
        self._callers(frame, walk.returned)

    def _walk(self, frame: FrameType) -> Walk:
        return Walk(STEPS, self._policy, self._budget, self._surely, frame.f_code, frame.f_globals)

    def _callers(self, frame: FrameType, result: Optional[Value]) -> None:
        """``frame`` returns ``result``: go on in its callers for as long as they get anything of the heal."""
        for _ in range(_MOST_FRAMES):
            back = frame.f_back
            if result is None or not result.may or back is None or self._stays(back.f_code):
                return
            result = self._caller(back, frame, result)
            frame = back
        raise Unmodelled("too many callers")

    def _caller(self, frame: FrameType, callee: FrameType, result: Value) -> Optional[Value]:
        code = frame.f_code
        if not code.co_flags & _MODULE_LEVEL or code.co_flags & _GENERATOR_KINDS:
            raise Unmodelled("a caller that is no plain function")
        walk, program = self._walk(frame), program_of(code)
        pending = frame.f_lasti >> 1
        while pending > 0 and program.names[pending] in ("", "CACHE"):
            pending -= 1  # some Pythons stand at the last word of the instruction
        if program.names[pending] not in ("CALL", "CALL_KW"):
            raise Unmodelled("a call by the interpreter itself")
        start = _statement(program.depths, program.names, pending)
        values = frame.f_locals
        local = tuple(of(values[name]) if name in values and name in code.co_varnames else CLEAN
                      for name in program.slots)
        state = self._before(frame, start, pending, local)
        stack = list(state.stack)
        if program.names[pending] == "CALL_KW":
            walk.keywords = stack.pop().known
        argument = program.args[pending]
        called_value, _, _ = called(walk, stack, argument)
        if not _is_call_of(called_value.known, callee):
            raise Unmodelled("the call passes through C code")
        del stack[-argument - 2:]
        _, at = following(program, pending)
        walk.run(at, State(tuple(stack) + (result,), local))
        return walk.returned

    def _before(self, frame: FrameType, start: int, pending: int, local: Tuple[Value, ...]) -> State:
        """The value stack before the instruction that a waiting frame is at: found from its statement's beginning."""
        walk = Walk(STEPS, _NO_POLICY, self._budget, True, frame.f_code, frame.f_globals)
        state = walk.run(start, State((), local), until=pending)
        if state is None:
            raise Unmodelled("where a caller stands")
        return state


_NO_POLICY = Policy({})


def _statement(depths: List[int], names: List[str], at: int) -> int:
    """The nearest instruction before ``at`` at which the value stack is empty."""
    while at > 0 and (depths[at] != 0 or not names[at]):
        at -= 1
    return at


def _is_call_of(value: Any, frame: FrameType) -> bool:
    """Whether calling ``value`` runs the code of ``frame`` itself."""
    if type(value) is MethodType:
        value = value.__func__
    return type(value) is FunctionType and value.__code__ is frame.f_code
