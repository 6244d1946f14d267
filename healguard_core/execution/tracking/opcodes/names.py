"""Loads and stores of names: locals, cells, globals; and what only moves entries of the stack.

May import what base may.
"""

from typing import Optional

from healguard_core.execution.tracking.heap import CONTENT, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.opcodes.base import V313, opcode
from healguard_core.execution.tracking.shadow import Shadow
from healguard_core.execution.tracking.variables import put_local


@opcode("NOP", "CACHE", "RESUME", "EXTENDED_ARG", "PRECALL", "JUMP_FORWARD", "JUMP_BACKWARD",
     "JUMP_BACKWARD_NO_INTERRUPT", "COPY_FREE_VARS", "SETUP_ANNOTATIONS", "DELETE_DEREF", "RESERVED",
     "INTERPRETER_EXIT", "ENTER_EXECUTOR", "ASYNC_GEN_WRAP", "RERAISE", "NOT_TAKEN", "GET_YIELD_FROM_ITER",
     "POP_BLOCK")
def _nothing(_s: Shadow, _arg: int) -> None:
    return


@opcode("POP_TOP", "END_FOR", "POP_ITER", "PRINT_EXPR", "POP_EXCEPT", "EXIT_INIT_CHECK")
def _pop(s: Shadow, _arg: int) -> None:
    s.stack.pop()


@opcode("LOAD_CONST", "PUSH_NULL", "LOAD_ASSERTION_ERROR", "LOAD_BUILD_CLASS", "LOAD_CLOSURE", "RETURN_GENERATOR",
     "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT", "LOAD_CONST_IMMORTAL")
def _push_clean(s: Shadow, _arg: int) -> None:
    s.stack.append(None)


@opcode("SWAP")
def _swap(s: Shadow, arg: int) -> None:
    stack = s.stack
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


@opcode("COPY")
def _copy(s: Shadow, arg: int) -> None:
    s.stack.append(s.stack[-arg])


@opcode("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
def _load_fast(s: Shadow, arg: int) -> None:
    s.stack.append(s.locals[arg])


@opcode("LOAD_FAST_AND_CLEAR")
def _load_fast_and_clear(s: Shadow, arg: int) -> None:
    s.stack.append(s.locals[arg])
    s.locals[arg] = None


@opcode("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_two(s: Shadow, arg: int) -> None:
    s.stack += [s.locals[arg >> 4], s.locals[arg & 15]]


@opcode("STORE_FAST", "STORE_FAST_MAYBE_NULL")
def _store_fast(s: Shadow, arg: int) -> None:
    mark = s.stack.pop()
    if mark is not None or s.thread.ambient is not None:
        mark = s.stored(mark)
    s.locals[arg] = mark


@opcode("STORE_FAST_LOAD_FAST")
def _store_load(s: Shadow, arg: int) -> None:
    _store_fast(s, arg >> 4)
    s.stack.append(s.locals[arg & 15])


@opcode("STORE_FAST_STORE_FAST")
def _store_two(s: Shadow, arg: int) -> None:
    _store_fast(s, arg >> 4)
    _store_fast(s, arg & 15)


@opcode("DELETE_FAST")
def _delete_fast(s: Shadow, arg: int) -> None:
    s.locals[arg] = s.stored(None)


@opcode("MAKE_CELL")
def _make_cell(s: Shadow, arg: int) -> None:
    mark, s.locals[arg] = s.locals[arg], None
    if mark is not None:
        def move(s: Shadow, _depth: int) -> None:
            put_local(s, arg, mark)

        s.pending = move


def _cell(s: Shadow, arg: int) -> Optional[Mark]:
    heap = s.machine.heap
    mark: Optional[Mark] = heap.get(s.places.at(arg), CONTENT) if heap else None
    return mark


@opcode("LOAD_DEREF")
def _load_deref(s: Shadow, arg: int) -> None:
    s.stack.append(_cell(s, arg))


@opcode("STORE_DEREF")
def _store_deref(s: Shadow, arg: int) -> None:
    mark = s.stored(s.stack.pop())
    if mark is not None or s.machine.heap:
        s.machine.heap.put(s.places.at(arg), CONTENT, mark)


@opcode("LOAD_GLOBAL")
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
        found: Optional[Mark] = s.machine.sinks.read(namespace, name, heap.get(namespace, item(name)))
        return found
    built = namespace.get("__builtins__")
    if built is None:
        return None
    mark: Optional[Mark] = heap.get(built if type(built) is dict else vars(built), item(name))
    return mark


@opcode("LOAD_NAME")
def _load_name(s: Shadow, arg: int) -> None:
    name = s.code.co_names[arg]
    s.stack.append(_in_namespace(s, name))


def _in_namespace(s: Shadow, name: str) -> Optional[Mark]:
    if not s.machine.heap:
        return None
    namespace = s.machine.namespace(s)
    if namespace is not None and namespace is not s.globals:
        found: Optional[Mark] = s.machine.heap.get(namespace, item(name))
        if found is not None or (type(namespace) is dict and name in namespace):
            return found
    return _global(s, name)


@opcode("LOAD_CLASSDEREF")
def _load_class_deref(s: Shadow, arg: int) -> None:
    s.stack.append(join(_cell(s, arg), _in_namespace(s, s.program.slots[arg])))


@opcode("LOAD_FROM_DICT_OR_DEREF")
def _load_dict_or_deref(s: Shadow, arg: int) -> None:
    s.stack[-1] = join(_cell(s, arg), _in_namespace(s, s.program.slots[arg]))


@opcode("LOAD_FROM_DICT_OR_GLOBALS")
def _load_dict_or_globals(s: Shadow, arg: int) -> None:
    s.stack[-1] = _in_namespace(s, s.code.co_names[arg])


@opcode("LOAD_LOCALS")
def _load_locals(s: Shadow, _arg: int) -> None:
    s.stack.append(None)


@opcode("STORE_NAME")
def _store_name(s: Shadow, arg: int) -> None:
    mark = s.stored(s.stack.pop())
    _put_name(s, s.code.co_names[arg], mark)


@opcode("DELETE_NAME")
def _delete_name(s: Shadow, arg: int) -> None:
    _put_name(s, s.code.co_names[arg], s.stored(None))


def _put_name(s: Shadow, name: str, mark: Optional[Mark]) -> None:
    if mark is not None or s.machine.heap:
        namespace = s.machine.namespace(s)
        s.machine.heap.put(s.globals if namespace is None else namespace, item(name), mark)


@opcode("STORE_GLOBAL")
def _store_global(s: Shadow, arg: int) -> None:
    mark = s.stored(s.stack.pop())
    if mark is not None or s.machine.heap:
        s.machine.heap.put(s.globals, item(s.code.co_names[arg]), mark)


@opcode("DELETE_GLOBAL")
def _delete_global(s: Shadow, arg: int) -> None:
    mark = s.stored(None)
    if mark is not None or s.machine.heap:
        s.machine.heap.put(s.globals, item(s.code.co_names[arg]), mark)
