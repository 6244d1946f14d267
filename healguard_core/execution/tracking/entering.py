"""A Python function begins: its parameters take the marks of what it is given. May import flights and sinks."""

from types import FunctionType
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from healguard_core.execution.tracking import natives
from healguard_core.execution.tracking.heap import WHOLE, attribute, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.shadow import Flight, Shadow
from healguard_core.execution.tracking.sinks import Token
from healguard_core.execution.tracking.variables import mark_of_slot, put_local, shadow_value


class Arguments(NamedTuple):
    """What a call hands over: values with their marks, by position and by name."""

    args: Tuple[Any, ...]
    marks: Tuple[Optional[Mark], ...]
    named: Dict[str, Any]
    named_marks: Dict[str, Optional[Mark]]

    def before(self, values: Sequence[Any], marks: Sequence[Optional[Mark]]) -> "Arguments":
        """With more arguments in front."""
        return Arguments(tuple(values) + self.args, tuple(marks) + self.marks, self.named, self.named_marks)

    def pairs(self) -> List[Tuple[Any, Optional[Mark]]]:
        """Every value with its mark."""
        return list(zip(self.args, self.marks)) + [(v, self.named_marks.get(n)) for n, v in self.named.items()]


class Filling(NamedTuple):
    """What fills the parameters of a Python function that the interpreter itself calls."""

    function: FunctionType
    arguments: Arguments


def fill(shadow: Shadow, filling: Filling) -> None:
    """Give the parameters of a frame that begins the marks of what was handed over."""
    function, (args, marks, named, named_marks) = filling
    if not any(marks) and not any(named_marks.values()) and not shadow.machine.heap:
        return
    code = shadow.code
    heap = shadow.machine.heap
    count = code.co_argcount
    plain = code.co_varnames[: count + code.co_kwonlyargcount]
    for index, mark in enumerate(marks[:count]):
        put_local(shadow, index, mark)
    place = len(plain)
    if code.co_flags & 0x04:
        rest = shadow_value(shadow, place)
        for index, mark in enumerate(marks[count:]):
            heap.put(rest, item(index), mark)
        place += 1
    positional_only = code.co_posonlyargcount
    for name, mark in named_marks.items():
        if mark is None:
            continue
        if name in plain and plain.index(name) >= positional_only:
            put_local(shadow, plain.index(name), mark)
        elif code.co_flags & 0x08:
            heap.put(shadow_value(shadow, place), item(name), mark)
    if heap:
        _defaults(shadow, function, len(args), named)


def _defaults(shadow: Shadow, function: FunctionType, given: int, named: Dict[str, Any]) -> None:
    code, heap = shadow.code, shadow.machine.heap
    defaults = function.__defaults__ or ()
    whole = heap.get(function, attribute("__defaults__"))
    first = code.co_argcount - len(defaults)
    for index in range(max(given, first), code.co_argcount):
        if code.co_varnames[index] not in named:
            put_local(shadow, index, join(whole, heap.get(defaults, item(index - first))))
    keyword = function.__kwdefaults__
    if keyword:
        whole = heap.get(function, attribute("__kwdefaults__"))
        for index in range(code.co_argcount, code.co_argcount + code.co_kwonlyargcount):
            name = code.co_varnames[index]
            if name not in named:
                put_local(shadow, index, join(whole, heap.get(keyword, item(name))))


_FROM_CODE = ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_CONST_IMMORTAL", "LOAD_NAME", "LOAD_GLOBAL", "RETURN_CONST")


def read_code(shadow: Shadow, flight: Optional[Flight]) -> None:
    """A frame begins whose code may come from a marked text: then so do its constants and the names that it reads."""
    heap, code = shadow.machine.heap, shadow.code
    mark = natives.text_of(flight.call[1]) if flight is not None and flight.call is not None else None
    if mark is not None and code.co_name == "<module>":
        natives.written(heap, code, mark)
    mark = heap.get(code, WHOLE) if heap else None
    if mark is not None:
        shadow.steps = [
            (_marking(step, mark), argument) if name in _FROM_CODE else (step, argument)
            for name, (step, argument) in zip(shadow.program.names, shadow.steps)
        ]


def _marking(step: Any, mark: Mark) -> Any:
    def load(s: Shadow, argument: int) -> None:
        before = len(s.stack)
        step(s, argument)
        s.stack[before:] = [join(one, mark) for one in s.stack[before:]]
        if s.program.names[s.at] == "RETURN_CONST":
            s.leaving = mark

    return load


def check_entry(shadow: Shadow, parent: Optional[Shadow], at: int) -> None:
    """A frame whose code may be a protected operation has been entered and stands at instruction ``at``. Raises the
    veto.
    """
    program, code, heap = shadow.program, shadow.code, shadow.machine.heap
    if at > program.names.index("RESUME"):
        return  # a generator goes on
    sinks = shadow.machine.sinks
    count = code.co_argcount + code.co_kwonlyargcount
    tokens = [Token(shadow_value(shadow, index), mark_of_slot(shadow, index)) for index in range(count)]
    args, named = tokens[: code.co_argcount], dict(zip(code.co_varnames[code.co_argcount:], tokens[code.co_argcount:]))
    if code.co_flags & 0x04:
        rest = shadow_value(shadow, count)
        args += [Token(one, heap.get(rest, item(index))) for index, one in enumerate(rest)]
        count += 1
    if code.co_flags & 0x08:
        rest = shadow_value(shadow, count)
        named.update({name: Token(one, heap.get(rest, item(name))) for name, one in rest.items()})
    cells = [shadow.places.at(program.numbers[name]) for name in code.co_freevars]
    sinks.entered(parent or shadow, code, cells, tuple(args), named)
