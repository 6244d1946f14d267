"""Protected operations and conditions as the tracker meets them. May import guard, heap and labels.

What is stopped is put on record first; then the veto is raised in the program in place of the operation.
"""

import ast
import builtins
import functools
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from healguard_core.execution.guard.audit import opens_to_write
from healguard_core.execution.guard.callables import MISSING, class_entry, is_class, key_values
from healguard_core.execution.guard.kinds import Kinds, identity
from healguard_core.execution.guard.policy import Condition, Operation, Policy
from healguard_core.execution.guard.veto import Stop, Veto, shown
from healguard_core.execution.tracking.heap import Heap
from healguard_core.execution.tracking.labels import Mark, Place, join

_NAMES = {"__builtins__": {name: getattr(builtins, name) for name in (
    "abs", "all", "any", "bool", "float", "int", "isinstance", "len", "max", "min", "round", "set", "sorted", "str",
    "sum", "tuple", "list", "dict", "bytes",
)}}
_STABLE = (FunctionType, BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, type)
_MOST_KNOWN = 20000
_mro = type.__dict__["__mro__"].__get__


class Token:
    """An argument on its way through `Operation.key_of`: its value and the mark of its reference."""

    __slots__ = ("mark", "value")

    def __init__(self, value: Any, mark: Optional[Mark]) -> None:
        self.value = value
        self.mark = mark


class Sinks:
    """Decides about calls and reads. ``found`` is told of each stop with the mark that led to it, ``allowed`` of what
    an entry under ``allow`` lets pass, in words. ``bodies`` are protected Python functions by the names of their code.
    """

    def __init__(
        self, policy: Policy, heap: Heap, found: Callable[[Stop, Mark], None], allowed: Callable[[str], None]
    ) -> None:
        self._policy = policy
        self._heap = heap
        self._found = found
        self._allowed = allowed
        self._known: Dict[int, Tuple[Any, Optional[Operation]]] = {}
        self.bodies: Dict[str, List[Tuple[FunctionType, Operation]]] = {}
        self._conditions: Dict[str, List[Condition]] = {}
        self._allow: Dict[str, List[Any]] = {}
        self.look()

    def look(self) -> None:
        """The policy may have found more."""
        self._known.clear()
        self.bodies = {}
        for operation in self._policy.operations:
            for function in operation.functions:
                for name in {function.__name__, function.__code__.co_name}:
                    self.bodies.setdefault(name, []).append((function, operation))
        self._conditions = {}
        for condition in self._policy.conditions:
            self._conditions.setdefault(condition.name, []).append(condition)
        self._allow = {}
        for allow in self._policy.allow:
            self._allow.setdefault(allow.id, []).append(allow)

    # ----------------------------------------------------------------- calls

    def operation(self, callee: Any) -> Optional[Operation]:
        """The protected operation that calling ``callee`` is."""
        known = self._known.get(identity(callee))
        if known is not None and known[0] is callee:
            return known[1]
        found = self._policy.match(callee)
        if found is not None and _leaves_it_to_its_body(found, callee):
            found = None
        if isinstance(callee, _STABLE) and (type(callee) is not FunctionType or not callee.__dict__):
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            self._known[identity(callee)] = (callee, found)
        return found

    def check(self, s: Any, original: Any, callee: Any, callee_mark: Optional[Mark], arguments: Any) -> None:
        """A call is about to happen; raises the veto when healed data decides about a protected one."""
        operation = self.operation(original) or (None if original is callee else self.operation(callee))
        if operation is None:
            self._handed_on(s, callee, arguments)
            return
        args = tuple([Token(v, m) for v, m in zip(arguments.args, arguments.marks)])
        named = {n: Token(v, arguments.named_marks.get(n)) for n, v in arguments.named.items()}
        receiver = getattr(original, "__self__", None) if type(original) is BuiltinFunctionType else None
        if receiver is not None and not isinstance(receiver, type(ast)) and operation.owner is not None:
            args = (Token(receiver, callee_mark),) + args
        if operation.entry.writes_only and not writes(args, named):
            return
        passed = self._decide(s, operation, args, named, operation.key_of(args, named))
        s.flight.checked = (operation.entry, passed)

    def _decide(
        self, s: Any, operation: Operation, args: Tuple[Token, ...], named: Dict[str, Token], key: Dict[str, Any]
    ) -> bool:
        """Raises the veto when ``key`` is marked, unless ``allow`` speaks for it: then it is True."""
        marks = {name: self._mark_of(token) for name, token in key.items()}
        mark = join(*marks.values())
        if mark is None:
            return False
        if self._is_allowed(operation, args, named):
            return True
        values = {name: _value_of(token) for name, token in key.items()}
        self._violation(s, operation, mark, {n: v for n, v in values.items() if marks[n] is not None})
        return False

    def _is_allowed(self, operation: Operation, args: Tuple[Token, ...], named: Dict[str, Token]) -> bool:
        """Whether an entry under ``allow`` speaks for this call; one that cannot be evaluated does not."""
        for allow in self._allow.get(operation.entry.id, ()):
            given = key_values(operation.names, ("*", "self"), args, named)
            values = {name: _value_of(token) for name, token in given.items()}
            try:
                passes = bool(eval(allow.when, dict(_NAMES), values))
            except Exception:
                passes = False
            if passes:
                self._allowed("{} passes with what a heal wrote: {} ({})".format(
                    operation.entry.target, allow.when, allow.reason or "no reason given"))
                return True
        return False

    def audited(self, s: Any, event: str, args: Tuple[Any, ...]) -> Optional[Veto]:
        """C code, called in the course of an instruction of ``s``, does something protected with what is in flight."""
        flight = s.flight
        entry = self._policy.events.get(event)
        if entry is None or flight is None or (flight.checked or _UNCHECKED)[0] is entry or (
            entry.writes_only and not opens_to_write(args)
        ):
            return None
        mark = join(*[m for v, m in flight.pairs for one in args if v is one and type(one) in _TEXTS])
        if mark is None:
            return None
        stop = Stop("HG307", entry.target, entry.id, ", ".join(map(shown, args[:2])), exact=False)
        try:
            self.stop(s, stop, mark.coarse())
        except Veto as veto:
            return veto
        return None

    def by_code(self, code: CodeType) -> Optional[Operation]:
        """The protected operation whose Python body is ``code``."""
        found = self._of_body(code)
        return found[0][1] if found else None

    def _of_body(self, code: CodeType) -> List[Tuple[FunctionType, Operation]]:
        return [one for one in self.bodies.get(code.co_name, ()) if one[0].__code__ is code]

    def entered(
        self, s: Any, code: CodeType, cells: List[Any], args: Tuple[Token, ...], named: Dict[str, Token]
    ) -> None:
        """A Python function with body ``code`` begins, whoever called it: map, a descriptor, an executor. ``s`` is to
        blame. ``cells`` are its free variables: decorators make many functions with one body.
        """
        checked = None if s.flight is None else s.flight.checked
        for function, operation in self._of_body(code):
            if any(one is not other for one, other in zip(function.__closure__ or (), cells)):
                continue
            given, names = _received(function, operation, args)
            if given is None or (checked is not None and checked == (operation.entry, True)):
                continue
            self._decide(s, operation, given, named, key_values(names, operation.entry.key, given, named))

    def _mark_of(self, token: Any) -> Optional[Mark]:
        if type(token) is Token:
            return join(token.mark, self._heap.reach(token.value))
        if type(token) in _LISTED:
            return join(*[self._mark_of(one) for one in token])
        if type(token) is dict:
            return join(*[self._mark_of(one) for one in token.values()])
        return None

    def _violation(self, s: Any, operation: Operation, mark: Mark, values: Dict[str, Any]) -> None:
        text = ", ".join("{}={}".format(name, shown(value)) for name, value in values.items())
        stop = Stop("HG307", operation.entry.target, operation.entry.id, text, exact=mark.exact)
        self.stop(s, stop, mark)

    def stop(self, s: Any, stop: Stop, mark: Mark) -> None:
        """Put ``stop`` on record and raise its veto in the program."""
        place = s.place()
        stop.where = spelled(place)
        path = [spelled(one) for one in mark.places()]
        stop.path = path if path and path[-1] == stop.where else path + [stop.where]
        self._found(stop, mark)
        raise Veto(stop.message)

    def _handed_on(self, s: Any, callee: Any, arguments: Any) -> None:
        """C code that calls what it is given: a protected callable with healed data in the same hands."""
        if callee not in CALLING:
            return
        for value, _ in arguments.pairs():
            if type(value) in _ATOMS or not callable(value):
                continue
            operation = self.operation(value)
            if operation is None or operation.functions:  # a Python function is asked about when it begins
                continue
            mark = join(*[join(m, self._heap.reach(v)) for v, m in arguments.pairs()])
            if mark is not None:
                stop = Stop("HG307", operation.entry.target, operation.entry.id,
                            "through {}".format(getattr(callee, "__name__", "?")), exact=mark.exact)
                self.stop(s, stop, mark)

    # ----------------------------------------------------------------- conditions

    def read(self, owner: Any, name: str, mark: Optional[Mark]) -> Optional[Mark]:
        """``mark`` of what was read from ``name`` of ``owner``, with the condition that this is."""
        if mark is None or not self._conditions:
            return mark
        for condition in self._conditions.get(name, ()):
            if _belongs(condition, owner):
                return mark.read_from(condition)
        return mark

    def tested(self, s: Any, mark: Mark) -> None:
        """A test is about to consume a healed value that was read from a declared condition."""
        condition = mark.condition
        stop = Stop("HG308", condition.entry.target, condition.entry.id, "tested", exact=mark.exact)
        self.stop(s, stop, mark)


_ATOMS = Kinds(str, int, float, bool, bytes, complex, type(None))
_LISTED = Kinds(tuple, list)
_TEXTS = Kinds(str, bytes)


def _calling() -> Any:
    import _thread
    import functools
    import itertools

    return [map, filter, sorted, min, max, functools.reduce, itertools.starmap, itertools.filterfalse,
            itertools.takewhile, itertools.dropwhile, itertools.groupby, itertools.accumulate,
            _thread.start_new_thread, list.sort]


_UNCHECKED = (None, False)


def _leaves_it_to_its_body(operation: Operation, callee: Any) -> bool:
    """Whether ``callee`` is a subclass of a protected class whose constructor is in Python: what the subclass hands on
    to that is looked at when it begins.
    """
    while type(callee) is functools.partial:
        callee = callee.func
    return bool(operation.functions) and is_class(callee) and callee is not operation.callee


def _received(
    function: FunctionType, operation: Operation, args: Tuple[Token, ...]
) -> Tuple[Optional[Tuple[Token, ...]], Optional[List[str]]]:
    """What a protected function got, with the names that the key of its operation means; None where the operation is
    that of another class or object.
    """
    if not operation.applies_to(args[0].value if args else MISSING):
        return None, None
    called = class_entry(type(operation.callee), "__call__") is function
    if called and not (args and args[0].value is operation.callee):
        return None, None
    code = function.__code__
    own = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    wanted = [part for part in operation.entry.key if isinstance(part, str) and part not in ("*", "self")]
    if own and all(part in own for part in wanted):
        return args, own
    return (args[1:] if called or is_class(operation.callee) else args), operation.names


class _Calling:
    """C callables that call what they are given."""

    def __init__(self) -> None:
        self._ids = {identity(one): one for one in _calling()}

    def __contains__(self, callee: object) -> bool:
        return identity(callee) in self._ids


CALLING = _Calling()


def _belongs(condition: Condition, owner: Any) -> bool:
    holder = condition.owner
    if is_class(holder):
        return any(holder is base for base in _mro(owner if is_class(owner) else type(owner)))
    return owner is holder or owner is vars(holder)


def _value_of(token: Any) -> Any:
    if type(token) is Token:
        return token.value
    if type(token) in _LISTED:
        return [_value_of(one) for one in token]
    if type(token) is dict:
        return {name: _value_of(one) for name, one in token.items()}
    return token


def writes(args: Sequence[Any], named: Dict[str, Any]) -> bool:
    """Whether an ``open`` is for writing; the arguments have a ``value`` each."""
    token = named.get("mode") or named.get("flags") or (args[1] if len(args) > 1 else None)
    mode = None if token is None else token.value
    if isinstance(mode, int):
        import os

        return bool(mode & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))
    return isinstance(mode, str) and bool(set(mode) & set("wax+"))


def spelled(place: Place) -> str:
    """``file:line`` of a place."""
    return "{}:{}".format(place[0].co_filename, place[1])
