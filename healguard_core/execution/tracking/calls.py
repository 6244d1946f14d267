"""Calls: who is called, which marks its parameters get, and what its result carries. May import natives and shadow.

A Python function is followed in its own frame, which takes the marks of its parameters from the caller's `Flight` and
leaves that of its result there. A C callable is what its summary says; without one, its result and every mutable
object in flight carry everything that is in flight or reachable from it, as an approximation.
"""

import functools
from gc import get_referents
from types import CellType, CodeType, FunctionType, MethodType, MethodWrapperType
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from healguard_core.execution import hooks
from healguard_core.execution.guard.callables import MISSING as NOT_FOUND
from healguard_core.execution.guard.callables import class_entry, instance_dict, is_class
from healguard_core.execution.guard.extent import is_ours
from healguard_core.execution.tracking import natives
from healguard_core.execution.tracking.frames import MISSING
from healguard_core.execution.tracking.heap import CONTENT, KEY, attribute, item, parts
from healguard_core.execution.tracking.labels import Mark, coarse, join
from healguard_core.execution.tracking.natives import NativeCall, Summary
from healguard_core.execution.tracking.shadow import Flight, Shadow
from healguard_core.execution.tracking.sinks import Token
from healguard_core.execution.tracking.slots import identity

ATOMS = frozenset((str, int, float, bool, bytes, complex, type(None), type(...)))
_DEEPEST_WRAPPING = 8
_partial = functools.partial
_GENERATOR_KINDS = 0x20 | 0x80 | 0x200
_FRAME_OF = ("gi_frame", "cr_frame", "ag_frame")


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


# --------------------------------------------------------------------------- beginning a call


def begin(s: Shadow, callee: Any, callee_mark: Optional[Mark], arguments: Arguments) -> None:
    """``callee`` is about to be called; its result is the entry that is on top of the shadow's stack now."""
    machine = s.machine
    s.flight = flight = Flight(arguments.pairs())
    flight.pairs.append((callee, callee_mark))
    original, by_metaclass = callee, False
    for _ in range(_DEEPEST_WRAPPING):
        if type(callee) is MethodType:
            arguments = arguments.before((callee.__self__,), (callee_mark,))
            callee = callee.__func__
        elif type(callee) is _partial:
            callee, mark, first, marks, named, named_marks = natives.unwrapped(machine.heap, callee)
            marks = tuple(join(one, callee_mark) for one in marks)
            named_marks = {name: join(one, callee_mark) for name, one in named_marks.items()}
            callee_mark = join(callee_mark, mark)
            arguments = Arguments(
                tuple(first) + arguments.args, marks + arguments.marks,
                dict(named, **arguments.named), dict(named_marks, **arguments.named_marks),
            )
            flight.pairs.extend(arguments.pairs())
        elif type(callee) is MethodWrapperType and callee.__name__ == "__call__":
            callee = callee.__self__
            if is_class(callee):  # what a metaclass does in the end
                by_metaclass = True
                break
        else:
            break
    if s.thread.ambient is None:
        machine.sinks.check(s, original, callee, callee_mark, arguments)
    if type(callee) is FunctionType:
        _python(s, flight, callee, callee_mark, arguments)
    elif is_class(callee):
        _class(s, flight, callee, callee_mark, arguments, by_metaclass)
    else:
        call = class_entry(type(callee), "__call__")
        if type(call) is FunctionType:
            _python(s, flight, call, callee_mark, arguments.before((callee,), (callee_mark,)))
        else:
            native(s, callee, callee_mark, arguments)


def _python(
    s: Shadow, flight: Flight, function: FunctionType, callee_mark: Optional[Mark], arguments: Arguments
) -> None:
    code = function.__code__
    if is_ours(code):
        s.pending = _ours(function, arguments, s)
        return
    arguments = arguments._replace(marks=tuple([s.step(mark) for mark in arguments.marks]))
    flight.codes[identity(code)] = Filling(function, arguments)
    if code.co_flags & _GENERATOR_KINDS:
        s.pending = _Made(function, arguments, callee_mark)
    else:
        s.pending = _Returned(callee_mark)


class _Returned:
    """Settles a call of a Python function."""

    __slots__ = ("callee_mark",)

    def __init__(self, callee_mark: Optional[Mark]) -> None:
        self.callee_mark = callee_mark

    def __call__(self, s: Shadow, depth: int) -> None:
        mark = join(self.callee_mark, *[mark for _, mark in s.returned])
        if depth > 0 and mark is not None:
            fit(s.stack, depth)
            s.stack[depth - 1] = mark


class _Made:
    """Settles a call that made a generator or a coroutine: its frame gets the marks of the parameters."""

    __slots__ = ("arguments", "callee_mark", "function")

    def __init__(self, function: FunctionType, arguments: Arguments, callee_mark: Optional[Mark]) -> None:
        self.function = function
        self.arguments = arguments
        self.callee_mark = callee_mark

    def __call__(self, s: Shadow, depth: int) -> None:
        fit(s.stack, depth)
        s.stack[depth - 1] = self.callee_mark
        made = s.places.at(s.base + depth - 1)
        for name in _FRAME_OF:
            entry = class_entry(type(made), name)
            if entry is not NOT_FOUND:
                frame = entry.__get__(made)
                if frame is not None and frame.f_code is self.function.__code__:
                    s.machine.adopt_generator(s.thread, made, frame, Filling(self.function, self.arguments))
                return


def _ours(function: FunctionType, arguments: Arguments, s: Shadow) -> Any:
    """What our own functions give back: a check its first argument, a region what the heal returns."""
    if function is hooks._value:
        mark, s.thread.leaving = s.thread.leaving, None
    else:
        marks = arguments.marks
        mark = marks[1] if len(marks) > 1 else None  # after the checker itself
    return _Returned(mark)


def _class(
    s: Shadow, flight: Flight, cls: Any, callee_mark: Optional[Mark], arguments: Arguments, by_metaclass: bool
) -> None:
    meta_call = class_entry(type(cls), "__call__")
    if type(meta_call) is FunctionType and not by_metaclass:
        _python(s, flight, meta_call, callee_mark, arguments.before((cls,), (callee_mark,)))
        return
    for name in ("__new__", "__init__"):
        entry = class_entry(cls, name)
        if type(entry) is staticmethod:
            entry = entry.__func__
        if type(entry) is FunctionType:
            first = cls if name == "__new__" else MISSING
            filled = arguments.before((first,), (callee_mark if name == "__new__" else None,))
            filled = filled._replace(marks=tuple([s.step(mark) for mark in filled.marks]))
            flight.codes[identity(entry.__code__)] = Filling(entry, filled)
    native(s, cls, callee_mark, arguments)


# --------------------------------------------------------------------------- C callables


def native(s: Shadow, callee: Any, callee_mark: Optional[Mark], arguments: Arguments) -> None:
    """A C callable, or a class, is about to be called."""
    found, receiver = natives.plain(callee)
    args, marks = arguments.args, arguments.marks
    receiver_mark = callee_mark
    if receiver is NOT_FOUND and args and type(found) in _DESCRIPTORS:
        receiver, receiver_mark, args, marks = args[0], marks[0], args[1:], marks[1:]
    if receiver is NOT_FOUND:
        receiver, receiver_mark = None, None
    call = NativeCall(s.machine.heap, found, args, marks, arguments.named, arguments.named_marks, receiver,
                      receiver_mark, callee_mark, s.thread.ambient)
    summary = natives.summary_of(found) or UNKNOWN
    launch(s, summary, call)


_DESCRIPTORS = (type(str.upper), type(str.__add__), type(dict.__dict__["fromkeys"]))


def launch(s: Shadow, summary: Summary, call: NativeCall) -> None:
    """Let ``summary`` look before the call; it is settled at the frame's next instruction."""
    if s.flight is None:
        s.flight = Flight(list(zip(call.args, call.marks)))
    s.flight.call = (summary, call)
    summary.before(call)
    s.pending = settle_native


def settle_native(s: Shadow, depth: int) -> None:
    """A C callable has returned: its result lies on top of the value stack."""
    flight = s.flight
    if flight is None or depth <= 0:
        return
    summary, call = flight.call
    fit(s.stack, depth)
    _take_returned(s, call)
    result = s.places.at(s.base + depth - 1)
    s.stack[depth - 1] = s.step(summary.after(call, result))


def settle_effect(s: Shadow, _depth: int) -> None:
    """A C operation without a result is over."""
    if s.flight is not None:
        summary, call = s.flight.call
        _take_returned(s, call)
        summary.after(call, None)


def _take_returned(s: Shadow, call: NativeCall) -> None:
    call.returned[:] = [mark for _, mark in s.returned]  # in place: a summary may have handed the list on
    call.values[:] = [value for value, _ in s.returned]


def fit(stack: List[Optional[Mark]], depth: int) -> None:
    """Give the shadow's stack the depth of the real one."""
    if len(stack) > depth:
        del stack[depth:]
    elif len(stack) < depth:
        stack.extend([None] * (depth - len(stack)))


class _Unknown(Summary):
    """A C callable without a summary."""

    def after(self, call: NativeCall, _result: Any) -> Optional[Mark]:
        mark = coarse(join(call.deep(), *call.returned))
        if mark is None and call.ambient is None:
            return None
        call.spoiled()
        return mark


UNKNOWN = _Unknown()


# --------------------------------------------------------------------------- entering a frame


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


def shadow_value(shadow: Shadow, index: int) -> Any:
    """The value of slot ``index``, through its cell."""
    value = shadow.places.at(index)
    if type(value) is CellType and shadow.program.slots[index] in shadow.code.co_cellvars:
        return cell_value(value)
    return value


def cell_value(cell: Any) -> Any:
    """What a cell holds, `MISSING` when it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def put_local(shadow: Shadow, index: int, mark: Optional[Mark]) -> None:
    """Mark slot ``index``, or what its cell holds."""
    if shadow.program.slots[index] in shadow.code.co_cellvars:
        value = shadow.places.at(index)
        if type(value) is CellType:
            shadow.machine.heap.put(value, CONTENT, mark)
            return
    shadow.locals[index] = mark


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
    flight = None if parent is None else parent.flight
    sinks.entered(parent or shadow, code, None if flight is None else flight.checked, tuple(args), named)


def fill_from_flight(shadow: Shadow, flight: Flight) -> None:
    """Mark the parameters of a function that C code, or code that is not followed, calls in the course of ``flight``.

    A parameter that is something in flight, or an element of it, has its mark; any other one carries the union.
    """
    code = shadow.code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    if count == 0:
        return
    union = in_flight(shadow.machine.heap, flight)
    if union is None:
        return
    if not flight.widened:
        flight.widened = True
        _widen(shadow.machine.heap, flight)
    for index in range(count):
        value = shadow_value(shadow, index)
        if value is not MISSING:
            own = union if index or not _is_receiver(code, value) else None
            if index >= code.co_argcount + code.co_kwonlyargcount:
                own = None  # a fresh container of arguments, which are looked at one by one
            put_local(shadow, index, _mark_of(flight, value, own))
        if type(value) in (tuple, dict) and index >= count - 2 and index >= code.co_argcount:
            _mark_rest(shadow, flight, value, union)


def _mark_rest(shadow: Shadow, flight: Flight, value: Any, union: Mark) -> None:
    """The elements of ``*args`` and ``**kwargs``."""
    heap = shadow.machine.heap
    held = value.items() if type(value) is dict else enumerate(value)
    for key, one in held:
        heap.put(value, item(key), _mark_of(flight, one, union))


def _is_receiver(code: CodeType, value: Any) -> bool:
    """Whether ``code`` is a method that C code found in the class of ``value``, an object that was there before."""
    found = class_entry(type(value), code.co_name)
    return type(found) is FunctionType and found.__code__ is code


def _mark_of(flight: Flight, value: Any, union: Optional[Mark]) -> Optional[Mark]:
    found = [mark for one, mark in flight.pairs if one is value]
    if found:
        return join(*found)
    if union is None or value is None or isinstance(value, type) or natives.is_handle(value):
        return None
    return union.coarse()


def in_flight(heap: Any, flight: Flight) -> Optional[Mark]:
    """The union of everything in flight and of what is reachable from it."""
    if flight.union is None:
        found = join(*[mark for _, mark in flight.pairs])
        if heap:
            found = join(found, *[heap.reach(value) for value, _ in flight.pairs])
        flight.union = (found,)
    union: Optional[Mark] = flight.union[0]
    return union


_MOST_WIDENED = 20000


def _widen(heap: Any, flight: Flight) -> None:
    """Take the elements of containers in flight, and the attributes of objects, as being in flight themselves."""
    waiting = [(value, mark, 0) for value, mark in flight.pairs]
    seen = set()
    while waiting and len(flight.pairs) < _MOST_WIDENED:
        value, mark, level = waiting.pop(0)
        if type(value) in ATOMS or identity(value) in seen or level > 3:
            continue
        seen.add(identity(value))
        for part, slot_mark in _elements(heap, value):
            both = join(mark, slot_mark)
            flight.pairs.append((part, both))
            waiting.append((part, both, level + 1))


def _elements(heap: Any, value: Any) -> List[Tuple[Any, Optional[Mark]]]:
    kind = type(value)
    if kind is dict:
        found = [(held, heap.get(value, item(key))) for key, held in list(value.items())]
        return found + [(key, heap.get(value, KEY(key))) for key in list(value)]
    if kind in (list, tuple) and len(get_referents(value)) == len(value):  # C types keep lists with empty places
        return [(held, heap.get(value, item(index))) for index, held in enumerate(value)]
    if isinstance(value, type) or kind is FunctionType:
        return []
    whole = None if natives.is_handle(value) else heap.any(value)
    held = [(part, whole) for part in parts(value)]
    entries = instance_dict(value)
    if entries is not None:  # objects of C types, like `partial`, may have one as well
        held = [(part, whole) for part, _ in held if part is not entries and not _among(entries, part)]
        held += [(one, heap.get(value, attribute(name))) for name, one in list(entries.items())]
    return held


def _among(entries: Dict[str, Any], part: Any) -> bool:
    return any(one is part for one in entries.values())


def mark_of_slot(shadow: Shadow, index: int) -> Optional[Mark]:
    """The mark of variable ``index``, through its cell."""
    value = shadow.places.at(index)
    name = shadow.program.slots[index]
    if type(value) is CellType and (name in shadow.code.co_cellvars or name in shadow.code.co_freevars):
        mark: Optional[Mark] = shadow.machine.heap.get(value, CONTENT)
        return mark
    return shadow.locals[index]


def put_slot(shadow: Shadow, index: int, mark: Optional[Mark]) -> None:
    """Mark variable ``index``, captured, free or plain."""
    if shadow.program.slots[index] in shadow.code.co_freevars:
        put_free(shadow, index, mark)
    else:
        put_local(shadow, index, mark)


def put_free(shadow: Shadow, index: int, mark: Optional[Mark]) -> None:
    """Mark what the cell of a free variable holds."""
    value = shadow.places.at(index)
    if type(value) is CellType:
        shadow.machine.heap.put(value, CONTENT, mark)
