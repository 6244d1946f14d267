"""Where a code object can go from an instruction: unchecked reads, landing places of jumps. Pure; may import layout.

Since 3.11 the interpreter sends a frame to the place of a line whose value stack is the deepest that fits, which is not
always the start of the statement on that line. `landing` computes the interpreter's choice in advance.
"""

import dis
from functools import lru_cache
from types import CodeType
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from healguard_core.execution.pause.layout import TableEntry, covering, exception_table

Stack = Tuple[int, ...]
"""Kinds of the entries of a value stack, the bottom first."""

ITERATOR, EXCEPT, OBJECT, LASTI = 1, 2, 3, 5
_DEEPEST = 20  # entries that the interpreter's own model of a stack can hold

_ENDS = frozenset((
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE", "INTERPRETER_EXIT",
))
_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)


class Flow(NamedTuple):
    """What `flow_of` read from a code object. ``starts``: the first offset of every run of one line."""

    instructions: Dict[int, dis.Instruction]
    following: Dict[int, int]
    table: List[TableEntry]
    starts: List[Tuple[int, int]]


@lru_cache(maxsize=32)
def flow_of(code: CodeType) -> Flow:
    """The instructions of ``code`` and how they follow each other; before 3.11 without an exception table."""
    listed = list(dis.get_instructions(code))
    instructions = {instruction.offset: instruction for instruction in listed}
    offsets = list(instructions)
    following = dict(zip(offsets, offsets[1:]))  # noqa: B905 - `strict` is not in Python 3.8
    return Flow(instructions, following, exception_table(code), list(line_starts(code)))


def line_starts(code: CodeType) -> Iterator[Tuple[int, int]]:
    """``(offset, line)`` wherever another line begins, in order; only such places can be jumped to."""
    if not hasattr(code, "co_lines"):
        yield from dis.findlinestarts(code)
        return
    last: Optional[int] = None
    for start, end, line in code.co_lines():
        if line is not None and line != last and start != end:
            last = line
            yield start, line


def successors(flow: Flow, offset: int) -> Iterator[Tuple[int, bool]]:
    """Offsets that may come next without an exception, and whether by a jump."""
    instruction = flow.instructions[offset]
    if instruction.opcode in _JUMPS:
        yield instruction.argval, True
    if instruction.opname not in _ENDS and offset in flow.following:
        yield flow.following[offset], False


def handler_of(flow: Flow, offset: int) -> Optional[int]:
    """Where an exception at ``offset`` goes, None for out of the code."""
    entry = covering(flow.table, offset)
    return None if entry is None else entry.target


# --------------------------------------------------------------------------- unbound locals


def reads_unchecked(code: CodeType, name: str, offset: int) -> bool:
    """Whether from ``offset`` on ``code`` may read local ``name`` without looking whether it is bound (3.12+).

    The compiler leaves the check out where it proved the name bound; unbinding it then would end the process.
    """
    flow = flow_of(code)
    begin = max((start for start in flow.instructions if start <= offset), default=0)  # a frame may stand in a cache
    todo, seen = [begin], set()
    while todo:
        here = todo.pop()
        if here in seen:
            continue
        seen.add(here)
        handler = handler_of(flow, here)
        if handler is not None:
            todo.append(handler)
        effect = _effect_on(flow.instructions[here], name) if here != begin else ""
        if effect == "read":
            return True
        if not effect:
            todo.extend(there for there, _ in successors(flow, here))
    return False


def _effect_on(instruction: dis.Instruction, name: str) -> str:
    """``read`` (unchecked), ``bound`` (stored, or read with a check), or "" when ``name`` stays as it is."""
    operation = instruction.opname
    if "_FAST" not in operation:
        return ""
    names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
    if name not in names or operation in ("LOAD_FAST_AND_CLEAR", "STORE_FAST_MAYBE_NULL", "DELETE_FAST"):
        return ""
    if operation == "LOAD_FAST_CHECK":
        return "bound"
    if operation.startswith("STORE_FAST"):
        loads_it = operation == "STORE_FAST_LOAD_FAST" and names[0] != name
        return "read" if loads_it else "bound"
    return "read"


# --------------------------------------------------------------------------- jumps


def stacks(flow: Flow) -> Dict[int, Stack]:
    """The value stack at every reachable instruction, as far as its kinds matter for jumps."""
    found: Dict[int, Stack] = {0: ()}
    todo = [0]
    while todo:
        here = todo.pop()
        stack = found[here]
        for there, jumped in successors(flow, here):
            if there not in found:
                found[there] = _after(flow.instructions[here], stack, jumped)
                todo.append(there)
        entry = covering(flow.table, here)
        if entry is not None and entry.target not in found and here == entry.start:
            base = stack[: entry.depth] + ((LASTI,) if _keeps_lasti(flow, entry.target) else ())
            found[entry.target] = base + (EXCEPT,)
            todo.append(entry.target)
    return found


def _keeps_lasti(flow: Flow, target: int) -> bool:
    """Whether the interpreter also pushes where the exception came from: for ``with`` and for its own clean-up."""
    if flow.instructions[target].opname != "PUSH_EXC_INFO":
        return True
    return flow.instructions[flow.following[target]].opname == "WITH_EXCEPT_START"


def _after(instruction: dis.Instruction, stack: Stack, jumped: bool) -> Stack:
    operation = instruction.opname
    if operation in ("GET_ITER", "GET_AITER"):
        return stack[:-1] + (ITERATOR,)
    if operation == "PUSH_EXC_INFO":
        return stack + (EXCEPT,)
    if operation == "RETURN_GENERATOR":
        return stack + (OBJECT,)
    argument = instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None
    delta = dis.stack_effect(instruction.opcode, argument, jump=jumped)
    return stack[:delta] if delta < 0 else stack + (OBJECT,) * delta


def landing(flow: Flow, found: Dict[int, Stack], stack: Stack, line: int) -> Optional[int]:
    """The offset that the interpreter chooses for a jump to ``line`` from ``stack``; None where it refuses."""
    best, place = -1, None
    for offset, start_line in flow.starts:
        if start_line != line or offset not in found or len(found[offset]) > _DEEPEST:
            continue
        target = _as_number(found[offset])
        if target > best and _fits(_as_number(stack), target):
            best, place = target, offset
    return place


def _as_number(stack: Stack) -> int:
    number = 0
    for kind in stack:
        number = number << 3 | kind
    return number


def _fits(source: int, target: int) -> bool:
    while source > target:
        source >>= 3
    while source:
        one, other = source & 7, target & 7
        if other == 0 or (other != OBJECT and one != other):
            return False
        source >>= 3
        target >>= 3
    return target == 0
