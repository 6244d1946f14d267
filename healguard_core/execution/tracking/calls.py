"""Calls: who is called, which marks its parameters get, and what its result carries. May import natives and shadow.

A Python function is followed in its own frame, which takes the marks of its parameters from the caller's `Flight` and
leaves that of its result there. A C callable is what its summary says; without one, its result and every mutable
object in flight carry everything that is in flight or reachable from it, as an approximation.
"""

import functools
from types import FunctionType, MethodType, MethodWrapperType
from typing import Any, List, Optional

from healguard_core.execution import hooks
from healguard_core.execution.guard.callables import MISSING as NOT_FOUND
from healguard_core.execution.guard.callables import class_entry, instance_dict, is_class
from healguard_core.execution.guard.extent import is_ours
from healguard_core.execution.guard.kinds import Kinds, identity
from healguard_core.execution.tracking import natives
from healguard_core.execution.tracking.entering import Arguments, Filling
from healguard_core.execution.tracking.frames import MISSING
from healguard_core.execution.tracking.labels import Mark, coarse, join
from healguard_core.execution.tracking.natives import NativeCall, Summary
from healguard_core.execution.tracking.shadow import Flight, Shadow

_DEEPEST_WRAPPING = 8
_partial = functools.partial
_Cached: Any = type(functools.lru_cache(maxsize=1)(lambda: None))
_GENERATOR_KINDS = 0x20 | 0x80 | 0x200
_FRAME_OF = ("gi_frame", "cr_frame", "ag_frame")


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
        elif 0 <= natives.hands_on(callee) < len(arguments.args):
            at = natives.hands_on(callee)
            if natives.is_handle(arguments.args[at]):
                break
            callee, callee_mark = arguments.args[at], join(callee_mark, *arguments.marks[: at + 1])
            arguments = arguments._replace(args=arguments.args[at + 1:], marks=arguments.marks[at + 1:])
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
            wrapped = (instance_dict(callee) or {}).get("__wrapped__") if type(callee) is _Cached else None
            if type(wrapped) is FunctionType:  # a cache calls it with just what it is given, or not at all
                marks = tuple([s.step(mark) for mark in arguments.marks])
                flight.codes[identity(wrapped.__code__)] = Filling(wrapped, arguments._replace(marks=marks))
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


_DESCRIPTORS = Kinds(type(str.upper), type(str.__add__), type(dict.__dict__["fromkeys"]))


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
