"""Calls, and functions that are made. May import what base may."""

from typing import Any, List, Optional, Tuple

from healguard_core.execution.guard.callables import class_entry
from healguard_core.execution.guard.kinds import Kinds
from healguard_core.execution.tracking import namespaces
from healguard_core.execution.tracking.calls import begin, fit
from healguard_core.execution.tracking.entering import Arguments
from healguard_core.execution.tracking.frames import MISSING
from healguard_core.execution.tracking.heap import attribute, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.opcodes.base import V313, V314, opcode, operate, quiet
from healguard_core.execution.tracking.shadow import Shadow

_PLAIN = Kinds(tuple.__dict__["__iter__"], list.__dict__["__iter__"])


@opcode("KW_NAMES")
def _kw_names(s: Shadow, arg: int) -> None:
    s.keywords = s.code.co_consts[arg]


@opcode("CALL")
def _call(s: Shadow, arg: int) -> None:
    keywords, s.keywords = s.keywords, ()
    _call_with(s, arg, keywords)


@opcode("CALL_KW")
def _call_kw(s: Shadow, arg: int) -> None:
    keywords = s.top()
    s.stack.pop()
    _call_with(s, arg, keywords)


def _call_with(s: Shadow, count: int, keywords: Tuple[str, ...]) -> None:
    stack = s.stack
    base = len(stack) - count - 2
    marks = stack[base:]
    if quiet(s) and not any(marks) and not namespaces.looks(s):
        del stack[base:]
        stack.append(None)
        s.pending = _called_clean
        s.machine.rest(s.thread)
        return
    values = s.places.several(s.base + base, count + 2)
    del stack[base:]
    stack.append(None)
    if V313:
        callee, callee_mark, own = values[0], marks[0], values[1] is not MISSING
        first = 1 if own else 2
    else:
        own = values[0] is not MISSING
        callee, callee_mark = (values[0], marks[0]) if own else (values[1], marks[1])
        first = 1 if own else 2
    args, arg_marks = values[first:], marks[first:]
    begin(s, callee, callee_mark, _arguments(args, arg_marks, keywords))
    if s.program.looks:
        namespaces.begun(s, callee, args)


def _arguments(args: List[Any], marks: List[Optional[Mark]], keywords: Tuple[str, ...]) -> Arguments:
    if not keywords:
        return Arguments(tuple(args), tuple(marks), {}, {})
    split = len(args) - len(keywords)
    return Arguments(tuple(args[:split]), tuple(marks[:split]), dict(zip(keywords, args[split:])),
                     dict(zip(keywords, marks[split:])))


def _called_clean(s: Shadow, depth: int) -> None:
    """A call in which nothing was marked; what it returned may be all the same (from a generator, an old closure)."""
    if s.returned and depth > 0:
        mark = join(*[mark for _, mark in s.returned])
        if mark is not None:
            fit(s.stack, depth)
            s.stack[depth - 1] = mark


@opcode("CALL_FUNCTION_EX")
def _call_ex(s: Shadow, arg: int) -> None:
    stack = s.stack
    has_named = V314 or bool(arg & 1)
    count = 4 if has_named else 3
    marks = stack[-count:]
    if quiet(s) and not any(marks):
        del stack[-count:]
        stack.append(None)
        s.pending = _called_clean
        return
    values = s.places.several(s.base + len(stack) - count, count)
    del stack[-count:]
    stack.append(None)
    function = 0 if V313 else 1
    callee, callee_mark = values[function], marks[function]
    heap = s.machine.heap
    args, args_mark = values[2], marks[2]
    arg_marks: List[Optional[Mark]] = []
    if class_entry(type(args), "__iter__") in _PLAIN:  # named tuples too
        args = list(args)
        arg_marks = [join(args_mark, heap.get(values[2], ("item", index))) for index in range(len(args))]
    else:
        args, arg_marks = [], []
        callee_mark = join(callee_mark, args_mark, heap.reach(values[2]))
    named, named_marks = {}, {}
    if has_named and type(values[3]) is dict:
        named = dict(values[3])
        named_marks = {name: join(marks[3], heap.get(values[3], item(name))) for name in named}
    if V313 and values[1] is not MISSING:
        args.insert(0, values[1])
        arg_marks.insert(0, marks[1])
    begin(s, callee, callee_mark, Arguments(tuple(args), tuple(arg_marks), named, named_marks))


@opcode("MAKE_FUNCTION")
def _make_function(s: Shadow, arg: int) -> None:
    if V313:
        return  # the function carries what its code does: nothing, unless that was made from text
    stack = s.stack
    parts = [bit for bit in (1, 2, 4, 8) if arg & bit]
    marks, code = stack[-len(parts) - 1:-1], stack[-1]
    del stack[-len(parts) - 1:]
    stack.append(code)
    if any(marks):
        slots = {1: "__defaults__", 2: "__kwdefaults__", 4: "__annotations__", 8: "__closure__"}

        def settle(s: Shadow, depth: int) -> None:
            function = s.places.at(s.base + depth - 1)
            for bit, mark in zip(parts, marks):
                if mark is not None:
                    s.machine.heap.put(function, attribute(slots[bit]), mark)

        s.pending = settle


@opcode("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(s: Shadow, arg: int) -> None:
    function = s.stack.pop()
    mark = s.stack.pop()
    s.stack.append(function)
    if mark is not None:
        slots = {1: "__defaults__", 2: "__kwdefaults__", 4: "__annotations__", 8: "__closure__"}
        s.machine.heap.put(s.places.at(s.base + len(s.stack)), attribute(slots.get(arg, "__annotate__")), mark)


@opcode("CALL_INTRINSIC_1")
def _intrinsic_1(s: Shadow, arg: int) -> None:
    if arg == 6:  # a list becomes the tuple of arguments
        operate(s, tuple, 1)
    elif arg in (3, 5):
        s.pending = None


@opcode("CALL_INTRINSIC_2")
def _intrinsic_2(s: Shadow, _arg: int) -> None:
    other = s.stack.pop()
    s.stack[-1] = join(s.stack[-1], other)
