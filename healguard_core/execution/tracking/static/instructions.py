"""What each instruction does to what is known about the stack and the variables. May import walk and values.

An instruction that is not in `STEPS` is not modelled. Where only what must happen counts, an instruction whose effect
depends on code of the program gives a value about which nothing is sure.
"""

import sys
from typing import Callable, Dict, List, Tuple

from healguard_core.execution.guard.callables import MISSING
from healguard_core.execution.guard.kinds import Kinds
from healguard_core.execution.tracking.static.values import (
    CLEAN,
    INSIDE,
    ITSELF,
    NO,
    NULL,
    Value,
    attribute,
    container,
    global_name,
    is_plain_attribute,
    of,
    union,
)
from healguard_core.execution.tracking.static.walk import Steps, Unmodelled, Walk

V312, V313 = sys.version_info >= (3, 12), sys.version_info >= (3, 13)

Step = Callable[[Walk, List[Value], List[Value], int], None]
STEPS: Steps = {}

def _op(*names: str) -> Callable[[Step], Step]:
    def register(step: Step) -> Step:
        for name in names:
            STEPS[name] = step
        return step

    return register


@_op("NOP", "RESUME", "PRECALL", "CACHE", "EXTENDED_ARG", "COPY_FREE_VARS", "MAKE_CELL")
def _nothing(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    return


@_op("POP_TOP", "POP_EXCEPT", "END_FOR")
def _pop(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    stack.pop()
    if V312 and not V313 and walk.program.names[walk.at] == "END_FOR":
        stack.pop()


@_op("PUSH_NULL")
def _push_null(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    stack.append(NULL)


@_op("LOAD_CONST")
def _load_const(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    stack.append(of(walk.program.code.co_consts[argument]))


@_op("LOAD_FAST", "LOAD_FAST_CHECK")
def _load_fast(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    stack.append(local[argument])


@_op("LOAD_FAST_LOAD_FAST")
def _load_two(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    stack += [local[argument >> 4], local[argument & 15]]


@_op("STORE_FAST")
def _store_fast(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    local[argument] = stack.pop()


@_op("STORE_FAST_LOAD_FAST")
def _store_load(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    local[argument >> 4] = stack.pop()
    stack.append(local[argument & 15])


@_op("STORE_FAST_STORE_FAST")
def _store_two(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    local[argument >> 4] = stack.pop()
    local[argument & 15] = stack.pop()


@_op("DELETE_FAST")
def _delete_fast(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    local[argument] = CLEAN


@_op("LOAD_GLOBAL")
def _load_global(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    found = [global_name(walk.scope, walk.program.code.co_names[argument >> 1])]
    if argument & 1:
        found = found + [NULL] if V313 else [NULL] + found
    stack.extend(found)


@_op("LOAD_NAME")
def _load_name(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    raise Unmodelled("names of a module or a class body")


@_op("LOAD_DEREF")
def _load_deref(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    if walk.program.slots[argument] in walk.program.code.co_cellvars:
        raise Unmodelled("a variable that inner functions share")
    stack.append(CLEAN)


@_op("LOAD_ATTR")
def _load_attr(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    name = walk.program.code.co_names[argument >> 1 if V312 else argument]
    _attribute(walk, stack, name, V312 and bool(argument & 1))


@_op("LOAD_METHOD")
def _load_method(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    _attribute(walk, stack, walk.program.code.co_names[argument], True)


def _attribute(walk: Walk, stack: List[Value], name: str, method: bool) -> None:
    owner = stack.pop()
    if owner.may and not owner.atom and not is_plain_attribute(owner, name):
        raise Unmodelled("an attribute of what the heal bound")
    found = attribute(owner, name)
    stack.extend(([found, NULL] if V313 else [NULL, found]) if method else [found])


@_op("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_NAME", "STORE_SUBSCR", "DELETE_SUBSCR", "DELETE_ATTR")
def _store_away(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    name = walk.program.names[walk.at]
    count = {"STORE_ATTR": 2, "STORE_SUBSCR": 3, "DELETE_SUBSCR": 2, "DELETE_ATTR": 1}.get(name, 1)
    taken = stack[-count:]
    del stack[-count:]
    if any(one.may for one in taken) and not walk.surely:
        raise Unmodelled("a store to where others read")


@_op("BINARY_OP")
def _binary(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    _computed(walk, stack, 2)


@_op("COMPARE_OP", "UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT", "FORMAT_SIMPLE", "CONVERT_VALUE")
def _compared(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    _computed(walk, stack, 2 if walk.program.names[walk.at] == "COMPARE_OP" else 1)


@_op("UNARY_NOT", "TO_BOOL", "GET_LEN")
def _tested(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    _computed(walk, stack, 1)


@_op("FORMAT_VALUE", "FORMAT_WITH_SPEC")
def _formatted(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    _computed(walk, stack, 2 if argument & 4 or walk.program.names[walk.at] == "FORMAT_WITH_SPEC" else 1)


@_op("BUILD_STRING")
def _build_string(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    _computed(walk, stack, argument)


def _computed(walk: Walk, stack: List[Value], count: int) -> None:
    taken = stack[-count:] if count else []
    if count:
        del stack[-count:]
    marked = [one for one in taken if one.may]
    atoms = all(one.atom for one in taken)
    if marked and not atoms and not walk.surely:
        raise Unmodelled("an operator on objects of the program")
    result = union(taken, atoms)
    if marked and not atoms:
        result = Value(True)
    stack.append(result)


_PLAIN = Kinds(list, tuple, dict, str, bytes)


@_op("BINARY_SUBSCR")
def _subscript(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    key, owner = stack.pop(), stack.pop()
    plain = owner.known is not MISSING and type(owner.known) in _PLAIN
    if (key.may or owner.may) and not (plain or owner.atom) and owner.must != INSIDE and not walk.surely:
        raise Unmodelled("an item of what the heal bound")
    must = ITSELF if (plain or owner.atom) and ITSELF in (owner.must, key.must) else NO
    stack.append(Value(key.may or owner.may, must, MISSING, owner.atom))


@_op("BINARY_SLICE")
def _slice(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    _computed(walk, stack, 3)


@_op("CONTAINS_OP", "IS_OP", "CHECK_EXC_MATCH")
def _control(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    name = walk.program.names[walk.at]
    if name == "CHECK_EXC_MATCH":
        stack[-1] = CLEAN
        return
    taken = stack[-2:]
    del stack[-2:]
    if name == "CONTAINS_OP" and any(one.may and not one.atom for one in taken) and not walk.surely:
        raise Unmodelled("a comparison of objects of the program")
    stack.append(union(taken, True) if name == "IS_OP" else Value(atom=True))


@_op("PUSH_EXC_INFO")
def _push_exc_info(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    stack.insert(len(stack) - 1, CLEAN)


@_op("BUILD_LIST", "BUILD_TUPLE", "BUILD_SET")
def _build(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    taken = stack[-argument:] if argument else []
    if argument:
        del stack[-argument:]
    stack.append(container(taken))


@_op("BUILD_MAP")
def _build_map(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    _build(walk, stack, local, 2 * argument)


@_op("BUILD_CONST_KEY_MAP")
def _build_keys(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    _build(walk, stack, local, argument + 1)


@_op("LIST_APPEND", "SET_ADD")
def _append(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    value = stack.pop()
    stack[-argument] = container([stack[-argument], value])


@_op("UNPACK_SEQUENCE")
def _unpack(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    value = stack.pop()
    if value.may and not value.must and not walk.surely:
        raise Unmodelled("unpacking what depends on the heal")
    stack.extend([Value(value.may, ITSELF if value.must == ITSELF and value.atom else NO)] * argument)


@_op("GET_ITER")
def _get_iter(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    value = stack[-1]
    if value.may and not value.atom and value.must != INSIDE and not walk.surely:
        raise Unmodelled("iterating over what depends on the heal")
    stack[-1] = Value(value.may, NO, MISSING, value.atom)


@_op("SWAP")
def _swap(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    stack[-1], stack[-argument] = stack[-argument], stack[-1]


@_op("COPY")
def _copy(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    stack.append(stack[-argument])


@_op("KW_NAMES")
def _kw_names(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    walk.keywords = walk.program.code.co_consts[argument]


@_op("CALL", "CALL_KW")
def _call(walk: Walk, stack: List[Value], local: List[Value], argument: int) -> None:
    if walk.program.names[walk.at] == "CALL_KW":
        walk.keywords = stack.pop().known
    callee, args, named = called(walk, stack, argument)
    del stack[-argument - 2:]
    stack.append(walk.call(callee, args, named))


def called(walk: Walk, stack: List[Value], argument: int) -> Tuple[Value, List[Value], Dict[str, Value]]:
    """Callee and arguments of the call that is on the stack."""
    keywords, walk.keywords = walk.keywords, ()
    taken = stack[-argument - 2:]
    callee, args = (taken[0] if V313 or taken[0] is not NULL else taken[1]), taken[2:]
    own = taken[1] if V313 or taken[0] is not NULL else NULL
    if own is not NULL:
        args = [own] + args
    split = len(args) - len(keywords)
    return callee, args[:split], dict(zip(keywords, args[split:]))


