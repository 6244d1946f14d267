"""Containers that are built, filled and unpacked. May import what base may."""

from typing import Any, Callable, List, Optional, Tuple

from healguard_core.execution.tracking import natives
from healguard_core.execution.tracking.calls import (
    UNKNOWN,
    fit,
    launch,
    settle_effect,
)
from healguard_core.execution.tracking.heap import KEY, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives import NativeCall
from healguard_core.execution.tracking.opcodes.base import opcode, operate, quiet
from healguard_core.execution.tracking.shadow import Flight, Shadow


def _built(s: Shadow, count: int, place: Callable[[Any, int], Tuple[Any, Any]]) -> None:
    """A container is made of the ``count`` topmost entries; ``place`` gives owner and slot of each."""
    stack = s.stack
    marks = stack[-count:] if count else []
    if count:
        del stack[-count:]
    stack.append(None)
    if any(marks):
        def settle(s: Shadow, depth: int) -> None:
            made = s.places.at(s.base + depth - 1)
            for index, mark in enumerate(marks):
                if mark is not None:
                    slot = place(made, index)
                    s.machine.heap.add(made, slot, s.step(mark))

        s.pending = settle


@opcode("BUILD_LIST", "BUILD_TUPLE")
def _build_sequence(s: Shadow, arg: int) -> None:
    _built(s, arg, lambda _made, index: ("item", index))


@opcode("BUILD_SET")
def _build_set(s: Shadow, arg: int) -> None:
    values = s.places.several(s.base + len(s.stack) - arg, arg) if arg and any(s.stack[-arg:]) else []
    _built(s, arg, lambda _made, index: KEY(values[index]))


@opcode("BUILD_MAP")
def _build_map(s: Shadow, arg: int) -> None:
    count = 2 * arg
    values = s.places.several(s.base + len(s.stack) - count, count) if arg and any(s.stack[-count:]) else []
    _built(s, count, lambda _made, index: item(values[index - 1]) if index % 2 else KEY(values[index]))


@opcode("BUILD_CONST_KEY_MAP")
def _build_const_map(s: Shadow, arg: int) -> None:
    keys = s.top()
    s.stack.pop()
    _built(s, arg, lambda _made, index: item(keys[index]))


@opcode("LIST_APPEND", "SET_ADD")
def _append(s: Shadow, arg: int) -> None:
    stack = s.stack
    mark = stack[-1]
    if mark is not None or s.machine.heap:
        value = s.top()
        owner = s.top(arg + 1)
        stack.pop()
        if type(owner) is list:
            s.machine.heap.put(owner, ("item", len(owner)), s.step(mark))
        else:
            s.machine.heap.add(owner, KEY(value), s.step(mark))
        return
    stack.pop()


@opcode("MAP_ADD")
def _map_add(s: Shadow, arg: int) -> None:
    stack = s.stack
    key_mark, mark = stack[-2:]
    if mark is not None or key_mark is not None or s.machine.heap:
        key, owner = s.top(2), s.top(arg + 2)
        s.machine.heap.put(owner, item(key), s.step(mark))
        s.machine.heap.add(owner, KEY(key), s.step(key_mark))
    del stack[-2:]


def _update(s: Shadow, arg: int, function: Any) -> None:
    stack = s.stack
    if quiet(s) and stack[-1] is None:
        stack.pop()
        return
    value, owner = s.top(), s.top(arg + 1)
    value_mark, mark = stack[-1], stack[-arg - 1]
    stack.pop()
    s.flight = Flight([(owner, mark), (value, value_mark)])
    call = NativeCall(s.machine.heap, function, (value,), (value_mark,), receiver=owner, receiver_mark=mark,
                      ambient=s.thread.ambient)
    launch(s, natives.summary_of(function) or UNKNOWN, call)
    s.pending = settle_effect


@opcode("LIST_EXTEND")
def _list_extend(s: Shadow, arg: int) -> None:
    _update(s, arg, list.extend)


@opcode("SET_UPDATE")
def _set_update(s: Shadow, arg: int) -> None:
    _update(s, arg, set.update)


@opcode("DICT_UPDATE", "DICT_MERGE")
def _dict_update(s: Shadow, arg: int) -> None:
    _update(s, arg, dict.update)


@opcode("LIST_TO_TUPLE")
def _list_to_tuple(s: Shadow, _arg: int) -> None:
    operate(s, tuple, 1)


@opcode("UNPACK_SEQUENCE")
def _unpack_sequence(s: Shadow, arg: int) -> None:
    _unpack(s, arg, arg)


@opcode("UNPACK_EX")
def _unpack_ex(s: Shadow, arg: int) -> None:
    _unpack(s, (arg & 0xFF) + 1 + (arg >> 8), arg & 0xFF)


def _unpack(s: Shadow, count: int, before: int) -> None:
    stack = s.stack
    mark = stack[-1]
    if mark is None and quiet(s):
        stack.pop()
        stack.extend([None] * count)
        s.pending = _unpacked_clean
        return
    value = s.top()
    heap = s.machine.heap
    stack.pop()
    stack.extend([mark] * count)
    s.flight = Flight([(value, mark)])
    if type(value) is tuple or type(value) is list:
        marks = [heap.get(value, ("item", index)) for index in range(len(value))]
        _spread(s, mark, marks, count, before)
        return

    def settle(s: Shadow, depth: int) -> None:
        values = tuple(s.places.several(s.base + depth - count, count)[::-1])
        returned = [one for _, one in s.returned]
        marks = natives.unpacked(heap, value, mark, values, returned)
        fit(s.stack, depth)
        for index, one in enumerate(marks):
            s.stack[depth - 1 - index] = join(mark, one)

    s.pending = settle


def _unpacked_clean(s: Shadow, _depth: int) -> None:
    found = join(*[mark for _, mark in s.returned])
    if found is not None and s.stack:
        s.stack[:] = [found] * len(s.stack)


def _spread(s: Shadow, mark: Optional[Mark], marks: List[Optional[Mark]], count: int, before: int) -> None:
    """Marks of a list or tuple to the entries that unpacking pushes, the first on top."""
    stack = s.stack
    if count == before:  # no starred name
        for index, one in enumerate(marks[:count]):
            stack[-1 - index] = join(mark, one)
        return
    after = count - before - 1
    middle = marks[before:len(marks) - after]
    for index, one in enumerate(marks[:before]):
        stack[-1 - index] = join(mark, one)
    for index, one in enumerate(marks[len(marks) - after:] if after else []):
        stack[-1 - before - 1 - index] = join(mark, one)
    if any(middle):
        def settle(s: Shadow, depth: int) -> None:
            rest = s.places.at(s.base + depth - 1 - before)
            for index, one in enumerate(middle):
                s.machine.heap.put(rest, ("item", index), one)

        s.pending = settle
