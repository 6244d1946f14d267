"""What each instruction does to marks. May import attributes, calls, shadow and natives.

`table` maps opcode names to functions of a `Shadow` and the instruction's argument, called before the instruction
runs. Entries on top of the shadow's stack that an instruction does not tell apart carry the union of what it takes.
"""

import dis
import operator
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

from healguard_core.execution.tracking import attributes, natives
from healguard_core.execution.tracking.calls import (
    ATOMS,
    CONTENT,
    UNKNOWN,
    Arguments,
    begin,
    fit,
    launch,
    put_local,
    settle_effect,
)
from healguard_core.execution.tracking.frames import MISSING
from healguard_core.execution.tracking.heap import KEY, attribute, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives import NativeCall
from healguard_core.execution.tracking.program import following
from healguard_core.execution.tracking.shadow import Flight, Shadow

Step = Callable[[Shadow, int], None]
V311, V312, V313, V314 = (sys.version_info >= (3, minor) for minor in (11, 12, 13, 14))
_TABLE: Dict[str, Step] = {}


def _op(*names: str) -> Callable[[Step], Step]:
    def register(step: Step) -> Step:
        for name in names:
            _TABLE[name] = step
        return step

    return register


def quiet(s: Shadow) -> bool:
    """Whether no location is marked and no heal runs: then only marks on the stack count."""
    return not s.machine.heap and s.thread.ambient is None


# --------------------------------------------------------------------------- nothing, pushes, pops


@_op("NOP", "CACHE", "RESUME", "EXTENDED_ARG", "PRECALL", "JUMP_FORWARD", "JUMP_BACKWARD",
     "JUMP_BACKWARD_NO_INTERRUPT", "COPY_FREE_VARS", "SETUP_ANNOTATIONS", "DELETE_DEREF", "RESERVED",
     "INTERPRETER_EXIT", "ENTER_EXECUTOR", "ASYNC_GEN_WRAP", "RERAISE", "NOT_TAKEN", "GET_YIELD_FROM_ITER",
     "POP_BLOCK")
def _nothing(s: Shadow, _arg: int) -> None:
    return


@_op("POP_TOP", "END_FOR", "POP_ITER", "PRINT_EXPR", "POP_EXCEPT", "EXIT_INIT_CHECK")
def _pop(s: Shadow, _arg: int) -> None:
    s.stack.pop()


@_op("LOAD_CONST", "PUSH_NULL", "LOAD_ASSERTION_ERROR", "LOAD_BUILD_CLASS", "LOAD_CLOSURE", "RETURN_GENERATOR",
     "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT", "LOAD_CONST_IMMORTAL")
def _push_clean(s: Shadow, _arg: int) -> None:
    s.stack.append(None)


@_op("SWAP")
def _swap(s: Shadow, arg: int) -> None:
    stack = s.stack
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


@_op("COPY")
def _copy(s: Shadow, arg: int) -> None:
    s.stack.append(s.stack[-arg])


# --------------------------------------------------------------------------- names


@_op("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
def _load_fast(s: Shadow, arg: int) -> None:
    s.stack.append(s.locals[arg])


@_op("LOAD_FAST_AND_CLEAR")
def _load_fast_and_clear(s: Shadow, arg: int) -> None:
    s.stack.append(s.locals[arg])
    s.locals[arg] = None


@_op("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_two(s: Shadow, arg: int) -> None:
    s.stack += [s.locals[arg >> 4], s.locals[arg & 15]]


@_op("STORE_FAST", "STORE_FAST_MAYBE_NULL")
def _store_fast(s: Shadow, arg: int) -> None:
    mark = s.stack.pop()
    if mark is not None or s.thread.ambient is not None:
        mark = s.stored(mark)
    s.locals[arg] = mark


@_op("STORE_FAST_LOAD_FAST")
def _store_load(s: Shadow, arg: int) -> None:
    _store_fast(s, arg >> 4)
    s.stack.append(s.locals[arg & 15])


@_op("STORE_FAST_STORE_FAST")
def _store_two(s: Shadow, arg: int) -> None:
    _store_fast(s, arg >> 4)
    _store_fast(s, arg & 15)


@_op("DELETE_FAST")
def _delete_fast(s: Shadow, arg: int) -> None:
    s.locals[arg] = s.stored(None)


@_op("MAKE_CELL")
def _make_cell(s: Shadow, arg: int) -> None:
    mark, s.locals[arg] = s.locals[arg], None
    if mark is not None:
        def move(s: Shadow, _depth: int) -> None:
            put_local(s, arg, mark)

        s.pending = move


def _cell(s: Shadow, arg: int) -> Optional[Mark]:
    heap = s.machine.heap
    return heap.get(s.places.at(arg), CONTENT) if heap else None


@_op("LOAD_DEREF")
def _load_deref(s: Shadow, arg: int) -> None:
    s.stack.append(_cell(s, arg))


@_op("STORE_DEREF")
def _store_deref(s: Shadow, arg: int) -> None:
    mark = s.stored(s.stack.pop())
    if mark is not None or s.machine.heap:
        s.machine.heap.put(s.places.at(arg), CONTENT, mark)


@_op("LOAD_GLOBAL")
def _load_global(s: Shadow, arg: int) -> None:
    if arg & 1 and not V313:
        s.stack.append(None)
    s.stack.append(_global(s, s.code.co_names[arg >> 1]))
    if arg & 1 and V313:
        s.stack.append(None)


def _global(s: Shadow, name: str) -> Optional[Mark]:
    heap = s.machine.heap
    if not heap or not (heap.holds_name(name) or heap.whole):
        return None
    namespace = s.globals
    if name in namespace:
        return s.machine.sinks.read(namespace, name, heap.get(namespace, item(name)))
    built = namespace.get("__builtins__")
    return heap.get(built if type(built) is dict else vars(built), item(name)) if built is not None else None


@_op("LOAD_NAME")
def _load_name(s: Shadow, arg: int) -> None:
    name = s.code.co_names[arg]
    s.stack.append(_in_namespace(s, name))


def _in_namespace(s: Shadow, name: str) -> Optional[Mark]:
    if not s.machine.heap:
        return None
    namespace = s.machine.namespace(s)
    if namespace is not None and namespace is not s.globals:
        found = s.machine.heap.get(namespace, item(name))
        if found is not None or (type(namespace) is dict and name in namespace):
            return found
    return _global(s, name)


@_op("LOAD_CLASSDEREF")
def _load_class_deref(s: Shadow, arg: int) -> None:
    s.stack.append(join(_cell(s, arg), _in_namespace(s, s.program.slots[arg])))


@_op("LOAD_FROM_DICT_OR_DEREF")
def _load_dict_or_deref(s: Shadow, arg: int) -> None:
    s.stack[-1] = join(_cell(s, arg), _in_namespace(s, s.program.slots[arg]))


@_op("LOAD_FROM_DICT_OR_GLOBALS")
def _load_dict_or_globals(s: Shadow, arg: int) -> None:
    s.stack[-1] = _in_namespace(s, s.code.co_names[arg])


@_op("LOAD_LOCALS")
def _load_locals(s: Shadow, _arg: int) -> None:
    s.stack.append(None)


@_op("STORE_NAME")
def _store_name(s: Shadow, arg: int) -> None:
    mark = s.stored(s.stack.pop())
    _put_name(s, s.code.co_names[arg], mark)


@_op("DELETE_NAME")
def _delete_name(s: Shadow, arg: int) -> None:
    _put_name(s, s.code.co_names[arg], s.stored(None))


def _put_name(s: Shadow, name: str, mark: Optional[Mark]) -> None:
    if mark is not None or s.machine.heap:
        namespace = s.machine.namespace(s)
        s.machine.heap.put(s.globals if namespace is None else namespace, item(name), mark)


@_op("STORE_GLOBAL")
def _store_global(s: Shadow, arg: int) -> None:
    mark = s.stored(s.stack.pop())
    if mark is not None or s.machine.heap:
        s.machine.heap.put(s.globals, item(s.code.co_names[arg]), mark)


@_op("DELETE_GLOBAL")
def _delete_global(s: Shadow, arg: int) -> None:
    mark = s.stored(None)
    if mark is not None or s.machine.heap:
        s.machine.heap.put(s.globals, item(s.code.co_names[arg]), mark)


# --------------------------------------------------------------------------- operators


def operate(s: Shadow, function: Any, count: int) -> None:
    """The ``count`` topmost entries are taken, and ``function`` of them is pushed."""
    stack = s.stack
    marks = stack[-count:]
    marked = any(marks)
    if not marked and quiet(s):
        del stack[-count:]
        stack.append(None)
        return
    values = s.places.several(s.base + len(stack) - count, count)
    del stack[-count:]
    for value in values:
        if type(value) not in ATOMS:
            break
    else:
        stack.append(s.step(join(*marks)) if marked else None)
        return
    stack.append(None)
    _launch(s, function, values, marks)


def _launch(s: Shadow, function: Any, values: List[Any], marks: List[Optional[Mark]], effect: bool = False) -> None:
    call = NativeCall(s.machine.heap, function, tuple(values), tuple(marks), ambient=s.thread.ambient)
    s.flight = Flight(list(zip(values, marks)))
    launch(s, natives.summary_of(function) or UNKNOWN, call)
    if effect:
        s.pending = settle_effect


def _effect(s: Shadow, function: Any, values: List[Any], marks: List[Optional[Mark]]) -> None:
    _launch(s, function, values, marks, True)


_BINARY = (
    "add and_ floordiv lshift matmul mul mod or_ pow rshift sub truediv xor iadd iand ifloordiv ilshift imatmul imul "
    "imod ior ipow irshift isub itruediv ixor"
).split()
_SUBSCRIPT = 26  # 3.14: BINARY_OP takes subscripts, too


@_op("BINARY_OP")
def _binary(s: Shadow, arg: int) -> None:
    if arg == _SUBSCRIPT:
        _subscript(s, arg)
    else:
        operate(s, getattr(operator, _BINARY[arg]), 2)


_COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt,
            ">=": operator.ge}


@_op("COMPARE_OP")
def _compare(s: Shadow, arg: int) -> None:
    name = dis.cmp_op[arg >> 5 if V313 else arg >> 4 if V312 else arg]
    operate(s, _COMPARE[name], 2)


@_op("CONTAINS_OP")
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
    _launch(s, operator.contains, [container, value], marks[::-1])


@_op("IS_OP")
def _is(s: Shadow, _arg: int) -> None:
    other = s.stack.pop()
    s.stack[-1] = join(s.stack[-1], other)


_UNARY = {"UNARY_POSITIVE": operator.pos, "UNARY_NEGATIVE": operator.neg, "UNARY_INVERT": operator.invert,
          "UNARY_NOT": operator.not_, "TO_BOOL": operator.truth}


@_op("UNARY_POSITIVE", "UNARY_NEGATIVE", "UNARY_INVERT")
def _unary(s: Shadow, _arg: int) -> None:
    operate(s, _UNARY[s.program.names[s.at]], 1)


@_op("UNARY_NOT", "TO_BOOL")
def _truth(s: Shadow, _arg: int) -> None:
    _tested(s, s.stack[-1])
    operate(s, _UNARY[s.program.names[s.at]], 1)


@_op("FORMAT_VALUE")
def _format_value(s: Shadow, arg: int) -> None:
    _format(s, 2 if arg & 4 else 1)


@_op("FORMAT_SIMPLE", "CONVERT_VALUE")
def _format_simple(s: Shadow, _arg: int) -> None:
    _format(s, 1)


@_op("FORMAT_WITH_SPEC")
def _format_spec(s: Shadow, _arg: int) -> None:
    _format(s, 2)


def _format(s: Shadow, count: int) -> None:
    operate(s, format if count == 2 else str, count)


@_op("BUILD_STRING")
def _build_string(s: Shadow, arg: int) -> None:
    mark = join(*s.stack[-arg:]) if arg else None
    if arg:
        del s.stack[-arg:]
    s.stack.append(s.step(mark))


@_op("BUILD_INTERPOLATION", "BUILD_TEMPLATE")
def _build_template(s: Shadow, arg: int) -> None:
    count = 2 if s.program.names[s.at] == "BUILD_TEMPLATE" else 3 if arg & 1 else 2
    mark = join(*s.stack[-count:])
    del s.stack[-count:]
    s.stack.append(mark)


# --------------------------------------------------------------------------- items


@_op("BINARY_SUBSCR")
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


@_op("STORE_SUBSCR")
def _store_subscript(s: Shadow, _arg: int) -> None:
    stack = s.stack
    value_mark, base, key_mark = stack[-3:]
    if value_mark is None and base is None and key_mark is None and quiet(s):
        del stack[-3:]
        return
    value, container, key = s.places.several(s.base + len(stack) - 3, 3)
    del stack[-3:]
    value_mark = s.stored(value_mark)
    _effect(s, operator.setitem, [container, key, value], [base, key_mark, value_mark])


@_op("DELETE_SUBSCR")
def _delete_subscript(s: Shadow, _arg: int) -> None:
    stack = s.stack
    if quiet(s) and not any(stack[-2:]):
        del stack[-2:]
        return
    container, key = s.places.several(s.base + len(stack) - 2, 2)
    base, key_mark = stack[-2:]
    del stack[-2:]
    _effect(s, operator.delitem, [container, key], [base, key_mark])


@_op("BINARY_SLICE")
def _slice(s: Shadow, _arg: int) -> None:
    stack = s.stack
    marks = stack[-3:]
    if quiet(s) and not any(marks):
        del stack[-2:]
        return
    container, start, stop = s.places.several(s.base + len(stack) - 3, 3)
    del stack[-2:]
    stack[-1] = None
    _launch(s, operator.getitem, [container, slice(start, stop)], [marks[0], join(marks[1], marks[2])])


@_op("STORE_SLICE")
def _store_slice(s: Shadow, _arg: int) -> None:
    stack = s.stack
    value_mark, base, first, last = stack[-4:]
    if quiet(s) and not any(stack[-4:]):
        del stack[-4:]
        return
    value, container, start, stop = s.places.several(s.base + len(stack) - 4, 4)
    del stack[-4:]
    _effect(s, operator.setitem, [container, slice(start, stop), value],
            [base, join(first, last), s.stored(value_mark)])


@_op("BUILD_SLICE")
def _build_slice(s: Shadow, arg: int) -> None:
    mark = join(*s.stack[-arg:])
    del s.stack[-arg:]
    s.stack.append(mark)


# --------------------------------------------------------------------------- containers


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


@_op("BUILD_LIST", "BUILD_TUPLE")
def _build_sequence(s: Shadow, arg: int) -> None:
    _built(s, arg, lambda made, index: ("item", index))


@_op("BUILD_SET")
def _build_set(s: Shadow, arg: int) -> None:
    values = s.places.several(s.base + len(s.stack) - arg, arg) if arg and any(s.stack[-arg:]) else []
    _built(s, arg, lambda made, index: KEY(values[index]))


@_op("BUILD_MAP")
def _build_map(s: Shadow, arg: int) -> None:
    count = 2 * arg
    values = s.places.several(s.base + len(s.stack) - count, count) if arg and any(s.stack[-count:]) else []
    _built(s, count, lambda made, index: item(values[index - 1]) if index % 2 else KEY(values[index]))


@_op("BUILD_CONST_KEY_MAP")
def _build_const_map(s: Shadow, arg: int) -> None:
    keys = s.top()
    s.stack.pop()
    _built(s, arg, lambda made, index: item(keys[index]))


@_op("LIST_APPEND", "SET_ADD")
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


@_op("MAP_ADD")
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


@_op("LIST_EXTEND")
def _list_extend(s: Shadow, arg: int) -> None:
    _update(s, arg, list.extend)


@_op("SET_UPDATE")
def _set_update(s: Shadow, arg: int) -> None:
    _update(s, arg, set.update)


@_op("DICT_UPDATE", "DICT_MERGE")
def _dict_update(s: Shadow, arg: int) -> None:
    _update(s, arg, dict.update)


@_op("LIST_TO_TUPLE")
def _list_to_tuple(s: Shadow, _arg: int) -> None:
    operate(s, tuple, 1)


@_op("UNPACK_SEQUENCE")
def _unpack_sequence(s: Shadow, arg: int) -> None:
    _unpack(s, arg, arg)


@_op("UNPACK_EX")
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
    if type(value) in (tuple, list):
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


def _unpacked_clean(s: Shadow, depth: int) -> None:
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


# --------------------------------------------------------------------------- attributes


def _load_attribute(s: Shadow, name: str) -> Optional[Mark]:
    base = s.stack[-1]
    if base is None and quiet(s):
        return None
    owner = s.top()
    s.flight = Flight([(owner, base)] + attributes.descriptor(owner, name))
    s.pending = _attribute_loaded
    found = attributes.joined(s.machine.heap, owner, base, name)
    return s.machine.sinks.read(owner, name, found)


def _attribute_loaded(s: Shadow, depth: int) -> None:
    """A getter in Python may have computed the attribute."""
    found = join(*[mark for _, mark in s.returned])
    if found is not None and depth > 0:
        fit(s.stack, depth)
        s.stack[depth - 1] = join(s.stack[depth - 1], found)


@_op("LOAD_ATTR")
def _load_attr(s: Shadow, arg: int) -> None:
    method = V312 and arg & 1
    mark = _load_attribute(s, s.code.co_names[arg >> 1 if V312 else arg])
    s.stack[-1] = mark
    if method:
        s.stack.append(mark)


@_op("LOAD_METHOD")
def _load_method(s: Shadow, arg: int) -> None:
    mark = _load_attribute(s, s.code.co_names[arg])
    s.stack[-1] = mark
    s.stack.append(mark)


@_op("LOAD_SUPER_ATTR")
def _load_super(s: Shadow, arg: int) -> None:
    name = s.code.co_names[arg >> 2]
    mark = _load_attribute(s, name)
    del s.stack[-3:]
    s.stack.append(mark)
    if arg & 1:
        s.stack.append(mark)


@_op("LOAD_SPECIAL")
def _load_special(s: Shadow, _arg: int) -> None:
    s.stack.append(s.stack[-1])


@_op("STORE_ATTR")
def _store_attr(s: Shadow, arg: int) -> None:
    stack = s.stack
    mark, base = stack[-2:]
    if mark is None and base is None and quiet(s):
        del stack[-2:]
        return
    value, owner = s.places.several(s.base + len(stack) - 2, 2)
    del stack[-2:]
    mark = s.stored(mark)
    s.flight = Flight([(owner, base), (value, mark)] + attributes.descriptor(owner, s.code.co_names[arg]))
    s.pending = _over
    attributes.stored(s.machine.heap, owner, s.code.co_names[arg], mark)


@_op("DELETE_ATTR")
def _delete_attr(s: Shadow, arg: int) -> None:
    if quiet(s):
        s.stack.pop()
        return
    owner = s.top()
    s.stack.pop()
    attributes.stored(s.machine.heap, owner, s.code.co_names[arg], s.stored(None))


def _over(_s: Shadow, _depth: int) -> None:
    """Nothing is left of it on the stack."""


# --------------------------------------------------------------------------- iteration


@_op("GET_ITER")
def _get_iter(s: Shadow, _arg: int) -> None:
    operate(s, iter, 1)


@_op("FOR_ITER")
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


@_op("GET_AITER")
def _get_aiter(s: Shadow, _arg: int) -> None:
    if s.stack[-1] is not None or s.machine.heap:
        s.flight = Flight([(s.top(), s.stack[-1])])
    s.pending = _attribute_loaded


@_op("GET_ANEXT")
def _get_anext(s: Shadow, _arg: int) -> None:
    s.stack.append(s.stack[-1])
    s.pending = _attribute_loaded


@_op("GET_AWAITABLE")
def _get_awaitable(s: Shadow, _arg: int) -> None:
    s.pending = _attribute_loaded
    if s.stack[-1] is not None or s.machine.heap:
        s.flight = Flight([(s.top(), s.stack[-1])])


@_op("SEND")
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


@_op("END_SEND")
def _end_send(s: Shadow, _arg: int) -> None:
    del s.stack[-2]


@_op("END_ASYNC_FOR")
def _end_async_for(s: Shadow, _arg: int) -> None:
    del s.stack[-2:]


@_op("CLEANUP_THROW")
def _cleanup_throw(s: Shadow, _arg: int) -> None:
    s.pending = None


@_op("YIELD_VALUE")
def _yield(s: Shadow, _arg: int) -> None:
    s.leaving = s.stack[-1]


@_op("RETURN_VALUE")
def _return(s: Shadow, _arg: int) -> None:
    s.leaving = s.stack.pop()


@_op("RETURN_CONST")
def _return_const(s: Shadow, _arg: int) -> None:
    s.leaving = None


# --------------------------------------------------------------------------- tests and jumps


def _tested(s: Shadow, mark: Optional[Mark]) -> None:
    if mark is not None and mark.condition is not None and s.thread.ambient is None:
        name = s.program.names[s.at]
        if name in ("UNARY_NOT", "TO_BOOL"):
            name = following(s.program, s.at)[0]
            if name == "UNARY_NOT":
                name = following(s.program, following(s.program, s.at)[1])[0]
        if "JUMP" in name:
            s.machine.sinks.tested(s, mark)


@_op(*[name for name in dis.opmap if name.startswith("POP_JUMP")])
def _pop_jump(s: Shadow, _arg: int) -> None:
    mark = s.stack.pop()
    if mark is not None:
        _tested(s, mark)


@_op("JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP")
def _jump_or_pop(s: Shadow, _arg: int) -> None:
    mark = s.stack[-1]
    if mark is not None:
        _tested(s, mark)


# --------------------------------------------------------------------------- exceptions and with


@_op("PUSH_EXC_INFO")
def _push_exc_info(s: Shadow, _arg: int) -> None:
    mark = None
    if s.machine.heap:
        mark = s.machine.heap.get(s.top(), RAISED)
    s.stack[-1] = None
    s.stack.append(mark)


RAISED = attribute("<raised>")


@_op("RAISE_VARARGS")
def _raise(s: Shadow, arg: int) -> None:
    marks = s.stack[-arg:] if arg else []
    if any(marks):
        raised = s.top(arg)
        if isinstance(raised, BaseException):
            s.machine.heap.add(raised, RAISED, s.step(join(*marks)))


@_op("CHECK_EXC_MATCH")
def _check_match(s: Shadow, _arg: int) -> None:
    s.stack[-1] = None


@_op("CHECK_EG_MATCH")
def _check_group(s: Shadow, _arg: int) -> None:
    s.stack[-1] = s.stack[-2]


@_op("PREP_RERAISE_STAR")
def _prep_reraise(s: Shadow, _arg: int) -> None:
    other = s.stack.pop()
    s.stack[-1] = join(s.stack[-1], other)


@_op("BEFORE_WITH", "BEFORE_ASYNC_WITH")
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


@_op("WITH_EXCEPT_START")
def _with_except(s: Shadow, _arg: int) -> None:
    mark = s.stack[-1]
    s.flight = Flight([(s.top(), mark), (s.top(4), s.stack[-4])])
    s.stack.append(None)
    s.pending = _entered


# --------------------------------------------------------------------------- functions and calls


@_op("KW_NAMES")
def _kw_names(s: Shadow, arg: int) -> None:
    s.keywords = s.code.co_consts[arg]


@_op("CALL")
def _call(s: Shadow, arg: int) -> None:
    keywords, s.keywords = s.keywords, ()
    _call_with(s, arg, keywords)


@_op("CALL_KW")
def _call_kw(s: Shadow, arg: int) -> None:
    keywords = s.top()
    s.stack.pop()
    _call_with(s, arg, keywords)


def _call_with(s: Shadow, count: int, keywords: Tuple[str, ...]) -> None:
    stack = s.stack
    base = len(stack) - count - 2
    marks = stack[base:]
    if quiet(s) and not any(marks):
        del stack[base:]
        stack.append(None)
        s.pending = _called_clean
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


@_op("CALL_FUNCTION_EX")
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
    if type(args) in (tuple, list):
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


@_op("MAKE_FUNCTION")
def _make_function(s: Shadow, arg: int) -> None:
    if V313:
        s.stack[-1] = None
        return
    stack = s.stack
    parts = [bit for bit in (1, 2, 4, 8) if arg & bit]
    marks = stack[-len(parts) - 1:-1]
    del stack[-len(parts) - 1:]
    stack.append(None)
    if any(marks):
        slots = {1: "__defaults__", 2: "__kwdefaults__", 4: "__annotations__", 8: "__closure__"}

        def settle(s: Shadow, depth: int) -> None:
            function = s.places.at(s.base + depth - 1)
            for bit, mark in zip(parts, marks):
                if mark is not None:
                    s.machine.heap.put(function, attribute(slots[bit]), mark)

        s.pending = settle


@_op("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(s: Shadow, arg: int) -> None:
    function = s.stack.pop()
    mark = s.stack.pop()
    s.stack.append(function)
    if mark is not None:
        slots = {1: "__defaults__", 2: "__kwdefaults__", 4: "__annotations__", 8: "__closure__"}
        s.machine.heap.put(s.places.at(s.base + len(s.stack)), attribute(slots.get(arg, "__annotate__")), mark)


@_op("CALL_INTRINSIC_1")
def _intrinsic_1(s: Shadow, arg: int) -> None:
    if arg == 6:  # a list becomes the tuple of arguments
        operate(s, tuple, 1)
    elif arg in (3, 5):
        s.pending = None


@_op("CALL_INTRINSIC_2")
def _intrinsic_2(s: Shadow, _arg: int) -> None:
    other = s.stack.pop()
    s.stack[-1] = join(s.stack[-1], other)


# --------------------------------------------------------------------------- imports and match


@_op("IMPORT_NAME")
def _import_name(s: Shadow, _arg: int) -> None:
    del s.stack[-2:]
    s.stack.append(None)


@_op("IMPORT_FROM")
def _import_from(s: Shadow, arg: int) -> None:
    mark = _load_attribute(s, s.code.co_names[arg])
    s.stack.append(mark)


@_op("IMPORT_STAR")
def _import_star(s: Shadow, _arg: int) -> None:
    s.stack.pop()


@_op("GET_LEN")
def _get_len(s: Shadow, _arg: int) -> None:
    s.stack.append(s.stack[-1])


@_op("MATCH_MAPPING", "MATCH_SEQUENCE")
def _match_kind(s: Shadow, _arg: int) -> None:
    s.stack.append(None)


@_op("MATCH_KEYS")
def _match_keys(s: Shadow, _arg: int) -> None:
    keys, subject = s.top(1), s.top(2)
    mark = s.stack[-2]
    heap = s.machine.heap
    s.stack.append(mark)
    if type(subject) is dict and heap:
        def settle(s: Shadow, depth: int) -> None:
            found = s.places.at(s.base + depth - 1)
            if type(found) is tuple:
                for index, key in enumerate(keys):
                    heap.put(found, ("item", index), heap.get(subject, item(key)))

        s.pending = settle


@_op("MATCH_CLASS")
def _match_class(s: Shadow, arg: int) -> None:
    subject, cls, names = s.places.several(s.base + len(s.stack) - 3, 3)
    mark = s.stack[-3]
    heap = s.machine.heap
    del s.stack[-3:]
    s.stack.append(mark)
    if heap:
        wanted = list(getattr(cls, "__match_args__", ()))[:arg] + list(names)

        def settle(s: Shadow, depth: int) -> None:
            found = s.places.at(s.base + depth - 1)
            if type(found) is tuple:
                for index, name in enumerate(wanted[-len(found):] if found else []):
                    heap.put(found, ("item", index), attributes.loaded(heap, subject, name))

        s.flight = Flight([(subject, mark)])
        s.pending = settle


# --------------------------------------------------------------------------- the table


def _unknown(s: Shadow, _arg: int) -> None:
    """An instruction that this version does not know: everything on the stack afterwards may depend on everything."""
    mark = join(*s.stack)
    if mark is None:
        return

    def settle(s: Shadow, depth: int) -> None:
        s.stack[:] = [mark.coarse()] * max(depth, 0)

    s.pending = settle


table: Dict[str, Step] = _TABLE


def step_of(name: str) -> Step:
    """What an instruction does; an unknown one spreads everything it may have taken."""
    return _TABLE.get(name, _unknown)
