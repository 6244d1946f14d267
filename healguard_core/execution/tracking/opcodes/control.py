"""Iteration, awaiting, tests, exceptions and `with`. May import what base may."""

import dis
from typing import Any

from healguard_core.execution.tracking import natives
from healguard_core.execution.tracking.calls import UNKNOWN, fit, launch
from healguard_core.execution.tracking.heap import CONTENT, attribute
from healguard_core.execution.tracking.labels import join
from healguard_core.execution.tracking.natives import NativeCall
from healguard_core.execution.tracking.opcodes.base import (
    computed,
    opcode,
    operate,
    quiet,
    tested,
)
from healguard_core.execution.tracking.shadow import Flight, Shadow


@opcode("GET_ITER")
def _get_iter(s: Shadow, _arg: int) -> None:
    operate(s, iter, 1)


@opcode("FOR_ITER")
def _for_iter(s: Shadow, _arg: int) -> None:
    stack = s.stack
    mark = stack[-1]
    before = len(stack)
    stack.append(mark)
    if mark is None and quiet(s):
        s.pending = _stepped_clean
        return
    iterator = s.top(2)
    call = NativeCall(s.machine.heap, next, (iterator,), (mark,), ambient=s.thread.ambient)
    s.flight = Flight([(iterator, mark)])
    launch(s, natives.summary_of(next) or UNKNOWN, call)
    settle = s.pending

    def step(s: Shadow, depth: int) -> None:
        if depth > before and settle is not None:
            settle(s, depth)

    s.pending = step


def _stepped_clean(s: Shadow, depth: int) -> None:
    if depth >= len(s.stack) and s.returned:
        s.stack[-1] = join(s.stack[-1], *[mark for _, mark in s.returned])


@opcode("GET_AITER")
def _get_aiter(s: Shadow, _arg: int) -> None:
    if s.stack[-1] is not None or s.machine.heap:
        s.flight = Flight([(s.top(), s.stack[-1])])
    s.pending = computed


@opcode("GET_ANEXT")
def _get_anext(s: Shadow, _arg: int) -> None:
    s.stack.append(s.stack[-1])
    s.pending = computed


@opcode("GET_AWAITABLE")
def _get_awaitable(s: Shadow, _arg: int) -> None:
    s.pending = computed
    if s.stack[-1] is not None or s.machine.heap:
        s.flight = Flight([(s.top(), s.stack[-1])])


@opcode("SEND")
def _send(s: Shadow, _arg: int) -> None:
    sent, receiver_mark = s.stack[-1], s.stack[-2]
    receiver = s.top(2)
    s.sent = sent
    s.flight = Flight([(receiver, receiver_mark)])
    awaited = natives.awaited(receiver) if s.machine.heap and not _is_coroutine(receiver) else []

    def settle(s: Shadow, depth: int) -> None:
        s.sent = None
        if depth <= 0:
            return
        found = [s.machine.heap.get(one, CONTENT) for one in awaited]
        fit(s.stack, depth)
        s.stack[depth - 1] = join(*found, *[mark for _, mark in s.returned])

    s.pending = settle


def _is_coroutine(value: Any) -> bool:
    return type(value).__name__ in ("coroutine", "generator")


@opcode("END_SEND")
def _end_send(s: Shadow, _arg: int) -> None:
    del s.stack[-2]


@opcode("END_ASYNC_FOR")
def _end_async_for(s: Shadow, _arg: int) -> None:
    del s.stack[-2:]


@opcode("CLEANUP_THROW")
def _cleanup_throw(s: Shadow, _arg: int) -> None:
    s.pending = None


@opcode("YIELD_VALUE")
def _yield(s: Shadow, _arg: int) -> None:
    s.leaving = s.stack[-1]


@opcode("RETURN_VALUE")
def _return(s: Shadow, _arg: int) -> None:
    s.leaving = s.stack.pop()


@opcode("RETURN_CONST")
def _return_const(s: Shadow, _arg: int) -> None:
    s.leaving = None


@opcode(*[name for name in dis.opmap if name.startswith("POP_JUMP")])
def _pop_jump(s: Shadow, _arg: int) -> None:
    mark = s.stack.pop()
    if mark is not None:
        tested(s, mark)


@opcode("JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP")
def _jump_or_pop(s: Shadow, _arg: int) -> None:
    mark = s.stack[-1]
    if mark is not None:
        tested(s, mark)


@opcode("PUSH_EXC_INFO")
def _push_exc_info(s: Shadow, _arg: int) -> None:
    mark = None
    if s.machine.heap:
        mark = s.machine.heap.get(s.top(), RAISED)
    s.stack[-1] = None
    s.stack.append(mark)


RAISED = attribute("<raised>")


@opcode("RAISE_VARARGS")
def _raise(s: Shadow, arg: int) -> None:
    marks = s.stack[-arg:] if arg else []
    if any(marks):
        raised = s.top(arg)
        if isinstance(raised, BaseException):
            s.machine.heap.add(raised, RAISED, s.step(join(*marks)))


@opcode("CHECK_EXC_MATCH")
def _check_match(s: Shadow, _arg: int) -> None:
    s.stack[-1] = None


@opcode("CHECK_EG_MATCH")
def _check_group(s: Shadow, _arg: int) -> None:
    s.stack[-1] = s.stack[-2]


@opcode("PREP_RERAISE_STAR")
def _prep_reraise(s: Shadow, _arg: int) -> None:
    other = s.stack.pop()
    s.stack[-1] = join(s.stack[-1], other)


@opcode("BEFORE_WITH", "BEFORE_ASYNC_WITH")
def _before_with(s: Shadow, _arg: int) -> None:
    mark = s.stack[-1]
    if mark is not None or s.machine.heap:
        s.flight = Flight([(s.top(), mark)])
    s.stack.append(mark)
    s.pending = _entered


def _entered(s: Shadow, depth: int) -> None:
    found = join(*[mark for _, mark in s.returned])
    if depth > 0:
        fit(s.stack, depth)
        s.stack[depth - 1] = join(s.stack[depth - 1], found)


@opcode("WITH_EXCEPT_START")
def _with_except(s: Shadow, _arg: int) -> None:
    mark = s.stack[-1]
    s.flight = Flight([(s.top(), mark), (s.top(4), s.stack[-4])])
    s.stack.append(None)
    s.pending = _entered
