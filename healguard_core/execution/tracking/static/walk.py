"""The instructions ahead, one way at a time. May import values, program and natives.

A `Walk` is told what each variable is at the start, and follows every way (or, where it is asked what must happen, the
only way there is). An instruction that it does not know ends it: `Unmodelled`.
"""


import sys
import time
import types
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from healguard_core.execution.guard.callables import MISSING, class_entry, is_class
from healguard_core.execution.guard.policy import Operation, Policy
from healguard_core.execution.pause import flow as flows
from healguard_core.execution.tracking import natives
from healguard_core.execution.tracking.natives.call import DERIVED, NOTHING, SHALLOW
from healguard_core.execution.tracking.program import Program, following, program_of
from healguard_core.execution.tracking.static.values import CLEAN, NO, Value, flat, joined, of, parameters, same, union

V312 = sys.version_info >= (3, 12)
MOST_STEPS = 4000
MOST_SECONDS = 0.004
_DEEPEST = 6
_clock = time.perf_counter


Steps = Dict[str, Callable[["Walk", List["Value"], List["Value"], int], None]]
"""What each instruction does to the value stack and the variables, by its name."""


class Unmodelled(Exception):
    """Something ahead is not modelled, or there is too much of it."""


class Reached(Exception):
    """A protected operation whose key may (``must``: surely does) depend on the heal."""

    def __init__(
        self, operation: Operation, key: Dict[str, Any], must: bool, place: Tuple[types.CodeType, int]
    ) -> None:
        super().__init__(operation.entry.target)
        self.operation = operation
        self.key = key
        self.must = must
        self.place = place


class State(NamedTuple):
    """The value stack and the variables before an instruction."""

    stack: Tuple[Value, ...]
    locals: Tuple[Value, ...]

    def marked(self) -> bool:
        """Whether anything in it can depend on the heal."""
        return any(one.may for one in self.stack) or any(one.may for one in self.locals)


class Budget:
    """What one look ahead may cost."""

    def __init__(self) -> None:
        self.steps = 0
        self._end = _clock() + MOST_SECONDS

    def spend(self) -> None:
        """Count one instruction. Raises `Unmodelled` when there have been too many."""
        self.steps += 1
        if self.steps > MOST_STEPS or (self.steps % 64 == 0 and _clock() > self._end):
            raise Unmodelled("too much lies ahead")


class Walk:
    """A look at the code of one frame. ``surely``: only what must happen counts, so the first fork ends it."""

    def __init__(
        self, steps: Steps, policy: Policy, budget: Budget, surely: bool, code: types.CodeType, scope: Dict[str, Any],
        depth: int = 0,
    ) -> None:
        self.steps = steps
        self.policy = policy
        self.budget = budget
        self.surely = surely
        self.program: Program = program_of(code)
        self.scope = scope
        self.depth = depth
        self.returned: Optional[Value] = None
        self.keywords: Tuple[str, ...] = ()
        self.at = 0

    # ----------------------------------------------------------------- ways

    def run(self, at: int, state: State, until: int = -1) -> Optional[State]:
        """Follow the ways from instruction ``at``; the state before instruction ``until`` where that is asked for."""
        known: Dict[int, State] = {}
        waiting = [(at, state)]
        while waiting:
            at, state = waiting.pop()
            if len(state.stack) != self.program.depths[at]:
                raise Unmodelled("an instruction that leaves another stack than was thought")
            if at == until:
                return state
            before = known.get(at)
            if before is not None:
                if self.surely:
                    raise Unmodelled("a loop")
                state = _both(before, state)
                if same(state.stack, before.stack) and same(state.locals, before.locals):
                    continue
            known[at] = state
            self.budget.spend()
            self.at = at
            handlers = self._handlers(at, state)
            if handlers and self.surely:
                raise Unmodelled("a handler")
            waiting.extend(handlers)
            ways = self.step(at, state)
            if self.surely and len(ways) > 1:
                raise Unmodelled("a fork")
            waiting.extend(ways)
        return None

    def _handlers(self, at: int, state: State) -> List[Tuple[int, State]]:
        """Where an error at ``at`` may be handled by the program itself."""
        target = flows.handler_of(flows.flow_of(self.program.code), at * 2)
        while target is not None and self.is_ours(target // 2):
            target = flows.handler_of(flows.flow_of(self.program.code), target)
        if target is None:
            return []
        depth = self.program.depths[target // 2]
        stack = state.stack[:max(depth - 1, 0)]
        stack += (CLEAN,) * (depth - 1 - len(stack))
        return [(target // 2, State(stack + (Value(state.marked()),), state.locals))]

    def is_ours(self, at: int) -> bool:
        """Whether the handler that begins at ``at`` is one of those that healing put in, or the end of a handler."""
        if self.program.names[at] == "COPY" and following(self.program, at)[0] == "POP_EXCEPT":
            return True
        for _ in range(6):
            name, at = following(self.program, at)
            if name in ("LOAD_GLOBAL", "LOAD_NAME"):
                return self._named(name, at).startswith("@")
        return False

    def _named(self, name: str, at: int) -> str:
        argument = self.program.args[at]
        return self.program.code.co_names[argument >> 1 if name == "LOAD_GLOBAL" else argument]

    def guarded(self, at: int) -> bool:
        """Whether an error at ``at`` would be handled in this code by the program."""
        return bool(self._handlers(at, State((), ())))

    def step(self, at: int, state: State) -> List[Tuple[int, State]]:
        """What comes after instruction ``at``, with the states there."""
        name, argument = self.program.names[at], self.program.args[at]
        stack, local = list(state.stack), list(state.locals)
        _, after = following(self.program, at)
        if name in ("RETURN_VALUE", "RETURN_CONST"):
            value = stack[-1] if name == "RETURN_VALUE" else CLEAN
            self.returned = value if self.returned is None else joined(self.returned, value)
            return []
        if name in ("RAISE_VARARGS", "RERAISE"):
            if state.marked() and not self.surely:
                raise Unmodelled("an error that leaves with what the heal bound")
            return []
        if "JUMP" in name:
            jumped: List[Tuple[int, State]] = self._jump(name, at, stack, local, after)
            return jumped
        if name == "FOR_ITER":
            stepped: List[Tuple[int, State]] = self._for_iter(at, stack, local, after)
            return stepped
        step = self.steps.get(name)
        if step is None:
            raise Unmodelled(name)
        step(self, stack, local, argument)
        return [(after, State(tuple(stack), tuple(local)))]

    def _jump(self, name: str, at: int, stack: List[Value], local: List[Value], after: int) -> Any:
        instruction = flows.flow_of(self.program.code).instructions[at * 2]
        target = instruction.argval // 2
        if name.startswith("POP_JUMP"):
            stack.pop()
        here = State(tuple(stack), tuple(local))
        if name.startswith(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE")):
            return [(target, here)]
        if name.startswith("JUMP_IF"):
            return [(target, here), (after, State(tuple(stack[:-1]), tuple(local)))]
        return [(target, here), (after, here)]

    def _for_iter(self, at: int, stack: List[Value], local: List[Value], after: int) -> Any:
        if self.surely:
            raise Unmodelled("a loop")
        iterator = stack[-1]
        if iterator.may and not iterator.atom:
            raise Unmodelled("iterating over what depends on the heal")
        target = flows.flow_of(self.program.code).instructions[at * 2].argval // 2
        over = tuple(stack) + (CLEAN,) if V312 else tuple(stack[:-1])
        going = tuple(stack) + (Value(iterator.may, NO, MISSING, iterator.atom),)
        return [(target, State(over, tuple(local))), (after, State(going, tuple(local)))]

    # ----------------------------------------------------------------- calls

    def call(self, callee: Value, args: List[Value], named: Dict[str, Value]) -> Value:
        """A call; raises `Reached` where it is a protected one that depends on the heal."""
        function, values = callee.known, args
        operation = self.policy.match(function) if function is not MISSING else None
        if type(function) is types.MethodType:
            values = [of(function.__self__, False)._replace(may=callee.may, must=callee.must)] + args
            function = function.__func__
        if operation is not None:
            self._protected(operation, values, named)
        everything = [callee] + args + list(named.values())
        if not any(one.may for one in everything):
            if self.surely:
                self._comes_back(function, values, named)
            return CLEAN
        if type(function) is types.FunctionType:
            return self._python(function, values, named)
        return self._native(callee, everything)

    def _protected(self, operation: Operation, args: List[Value], named: Dict[str, Value]) -> None:
        key = operation.key_of(tuple(args), named)
        parts = flat(key)
        if any(one.may for one in parts):
            must = self.surely and any(one.must for one in parts) and not operation.entry.writes_only
            raise Reached(operation, key, must, (self.program.code, self.program.lines[self.at]))

    def _python(self, function: types.FunctionType, args: List[Value], named: Dict[str, Value]) -> Value:
        filled = parameters(function, args, named)
        code = function.__code__
        if filled is None or self.depth >= _DEEPEST or code.co_cellvars or code.co_freevars:
            if self.surely:
                return Value(True)
            raise Unmodelled("a call of {}".format(function.__qualname__))
        inner = Walk(self.steps, self.policy, self.budget, self.surely, code, function.__globals__, self.depth + 1)
        local = [filled.get(index, CLEAN) for index in range(len(inner.program.slots))]
        try:
            inner.run(0, State((), tuple(local)))
        except Unmodelled:
            if not self.surely:
                raise
            return Value(True)
        return CLEAN if inner.returned is None else inner.returned

    def _comes_back(self, function: Any, args: List[Value], named: Dict[str, Value]) -> None:
        """Raises `Unmodelled` where a call that has nothing to do with the heal may end in an error instead."""
        if is_class(function):
            made = [class_entry(function, name) for name in ("__new__", "__init__")]
            if type(made[0]) is types.FunctionType:
                raise Unmodelled("a class that makes its own instances")
            function, args = made[1], [CLEAN] + args
        if type(function) is types.FunctionType:
            filled = parameters(function, args, named)
            if filled is None or self.depth >= _DEEPEST:
                raise Unmodelled("a call of {}".format(function.__qualname__))
            inner = Walk(self.steps, self.policy, self.budget, True, function.__code__, function.__globals__,
                         self.depth + 1)
            inner.run(0, State((), tuple(filled.get(index, CLEAN) for index in range(len(inner.program.slots)))))
            if inner.returned is None:
                raise Unmodelled("{} raises".format(function.__qualname__))
        elif function is MISSING or natives.summary_of(natives.plain(function).callee) is None:
            raise Unmodelled("a call that nobody knows")

    def _native(self, callee: Value, values: List[Value]) -> Value:
        plain = natives.plain(callee.known).callee if callee.known is not MISSING else MISSING
        summary = natives.summary_of(plain) if plain is not MISSING else None
        marked = [one for one in values if one.may]
        simple = all(one.atom or one is callee for one in marked)
        if summary is NOTHING:
            return Value(atom=True)
        if summary is not None and summary.repeatable and simple and not is_class(callee.known):
            return union(values, atom=summary in (DERIVED, SHALLOW))
        if summary is not None and simple and any(callee.known is one for one in _CONVERSIONS):
            return union(values, atom=True)
        if self.surely:
            return Value(True)
        raise Unmodelled("a call with what the heal bound")


_CONVERSIONS = (str, int, float, bytes, bool, complex)


def _both(one: State, other: State) -> State:
    if len(one.stack) != len(other.stack):
        raise Unmodelled("stacks of different depth")
    return State(
        tuple(joined(a, b) for a, b in zip(one.stack, other.stack)),
        tuple(joined(a, b) for a, b in zip(one.locals, other.locals)),
    )
