"""Operators, and items of containers: each is a call of its function in `operator`. May import what base may."""

import dis
import operator

from healguard_core.execution.tracking.flights import ATOMS
from healguard_core.execution.tracking.heap import item
from healguard_core.execution.tracking.labels import join
from healguard_core.execution.tracking.opcodes.base import (
    V312,
    V313,
    effect,
    launch_operator,
    opcode,
    operate,
    quiet,
    tested,
)
from healguard_core.execution.tracking.shadow import Shadow

_BINARY = (
    "add", "and_", "floordiv", "lshift", "matmul", "mul", "mod", "or_", "pow", "rshift", "sub", "truediv", "xor",
    "iadd", "iand", "ifloordiv", "ilshift", "imatmul", "imul", "imod", "ior", "ipow", "irshift", "isub", "itruediv",
    "ixor",
)
_SUBSCRIPT = 26  # 3.14: BINARY_OP takes subscripts, too


@opcode("BINARY_OP")
def _binary(s: Shadow, arg: int) -> None:
    if arg == _SUBSCRIPT:
        _subscript(s, arg)
    else:
        operate(s, getattr(operator, _BINARY[arg]), 2)


_COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt,
            ">=": operator.ge}


@opcode("COMPARE_OP")
def _compare(s: Shadow, arg: int) -> None:
    name = dis.cmp_op[arg >> 5 if V313 else arg >> 4 if V312 else arg]
    operate(s, _COMPARE[name], 2)


@opcode("CONTAINS_OP")
def _contains(s: Shadow, _arg: int) -> None:
    stack = s.stack
    marked = any(stack[-2:])
    if not marked and quiet(s):
        stack.pop()
        stack[-1] = None
        return
    value, container = s.places.several(s.base + len(stack) - 2, 2)
    marks = stack[-2:]
    stack.pop()
    stack[-1] = None
    launch_operator(s, operator.contains, [container, value], marks[::-1])


@opcode("IS_OP")
def _is(s: Shadow, _arg: int) -> None:
    other = s.stack.pop()
    s.stack[-1] = join(s.stack[-1], other)


_UNARY = {"UNARY_POSITIVE": operator.pos, "UNARY_NEGATIVE": operator.neg, "UNARY_INVERT": operator.invert,
          "UNARY_NOT": operator.not_, "TO_BOOL": operator.truth}


@opcode("UNARY_POSITIVE", "UNARY_NEGATIVE", "UNARY_INVERT")
def _unary(s: Shadow, _arg: int) -> None:
    operate(s, _UNARY[s.program.names[s.at]], 1)


@opcode("UNARY_NOT", "TO_BOOL")
def _truth(s: Shadow, _arg: int) -> None:
    tested(s, s.stack[-1])
    operate(s, _UNARY[s.program.names[s.at]], 1)


@opcode("FORMAT_VALUE")
def _format_value(s: Shadow, arg: int) -> None:
    _format(s, 2 if arg & 4 else 1)


@opcode("FORMAT_SIMPLE", "CONVERT_VALUE")
def _format_simple(s: Shadow, _arg: int) -> None:
    _format(s, 1)


@opcode("FORMAT_WITH_SPEC")
def _format_spec(s: Shadow, _arg: int) -> None:
    _format(s, 2)


def _format(s: Shadow, count: int) -> None:
    operate(s, format if count == 2 else str, count)


@opcode("BUILD_STRING")
def _build_string(s: Shadow, arg: int) -> None:
    mark = join(*s.stack[-arg:]) if arg else None
    if arg:
        del s.stack[-arg:]
    s.stack.append(s.step(mark))


@opcode("BUILD_INTERPOLATION", "BUILD_TEMPLATE")
def _build_template(s: Shadow, arg: int) -> None:
    count = 2 if s.program.names[s.at] == "BUILD_TEMPLATE" else 3 if arg & 1 else 2
    mark = join(*s.stack[-count:])
    del s.stack[-count:]
    s.stack.append(mark)


@opcode("BINARY_SUBSCR")
def _subscript(s: Shadow, _arg: int) -> None:
    stack = s.stack
    key_mark, base = stack[-1], stack[-2]
    if key_mark is None and base is None and quiet(s):
        stack.pop()
        stack[-1] = None
        return
    container, key = s.places.several(s.base + len(stack) - 2, 2)
    kind = type(container)
    if type(key) is int and (kind is list or kind is tuple):
        found = s.machine.heap.get(container, ("item", key + len(container) if key < 0 else key))
    elif kind is dict and type(key) in ATOMS:
        found = s.machine.heap.get(container, item(key))
    else:
        operate(s, operator.getitem, 2)
        return
    stack.pop()
    stack[-1] = join(base, key_mark, found)


@opcode("STORE_SUBSCR")
def _store_subscript(s: Shadow, _arg: int) -> None:
    stack = s.stack
    value_mark, base, key_mark = stack[-3:]
    if value_mark is None and base is None and key_mark is None and quiet(s):
        del stack[-3:]
        return
    value, container, key = s.places.several(s.base + len(stack) - 3, 3)
    del stack[-3:]
    value_mark = s.stored(value_mark)
    effect(s, operator.setitem, [container, key, value], [base, key_mark, value_mark])


@opcode("DELETE_SUBSCR")
def _delete_subscript(s: Shadow, _arg: int) -> None:
    stack = s.stack
    if quiet(s) and not any(stack[-2:]):
        del stack[-2:]
        return
    container, key = s.places.several(s.base + len(stack) - 2, 2)
    base, key_mark = stack[-2:]
    del stack[-2:]
    effect(s, operator.delitem, [container, key], [base, key_mark])


@opcode("BINARY_SLICE")
def _slice(s: Shadow, _arg: int) -> None:
    stack = s.stack
    marks = stack[-3:]
    if quiet(s) and not any(marks):
        del stack[-2:]
        return
    container, start, stop = s.places.several(s.base + len(stack) - 3, 3)
    del stack[-2:]
    stack[-1] = None
    launch_operator(s, operator.getitem, [container, slice(start, stop)], [marks[0], join(marks[1], marks[2])])


@opcode("STORE_SLICE")
def _store_slice(s: Shadow, _arg: int) -> None:
    stack = s.stack
    value_mark, base, first, last = stack[-4:]
    if quiet(s) and not any(stack[-4:]):
        del stack[-4:]
        return
    value, container, start, stop = s.places.several(s.base + len(stack) - 4, 4)
    del stack[-4:]
    effect(s, operator.setitem, [container, slice(start, stop), value],
            [base, join(first, last), s.stored(value_mark)])


@opcode("BUILD_SLICE")
def _build_slice(s: Shadow, arg: int) -> None:
    mark = join(*s.stack[-arg:])
    del s.stack[-arg:]
    s.stack.append(mark)
