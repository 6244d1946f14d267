"""A code object as the shadow machine reads it: instructions by offset, and how deep the value stack is at each.

May import pause's flow. Pure.
"""

import dis
import sys
from types import CodeType
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from healguard_core.execution.guard.kinds import identity
from healguard_core.execution.pause import flow as flows
from healguard_core.execution.pause.slots import slot_names

_MOST_KEPT = 5000
_GENERATOR_KINDS = 0x20 | 0x80 | 0x200


class Program(NamedTuple):
    """By index (an offset divided by 2): ``names`` of instructions, "" for what is none; their ``args``; ``depths``,
    entries of the value stack before each, -1 where no way leads to; ``lines``. ``slots``: the frame's variables by
    place, ``numbers``: their places. ``generator``: a call of it only makes a generator, a coroutine or the like.
    ``looks``: its variables may be looked at from outside of its own instructions.
    """

    code: CodeType
    names: List[str]
    args: List[int]
    depths: List[int]
    lines: List[int]
    slots: List[str]
    numbers: Dict[str, int]
    generator: bool
    looks: bool


_LOOKING = frozenset(("locals", "vars", "dir", "eval", "exec", "f_locals"))
_known: Dict[int, Program] = {}


def looks_at_variables(code: CodeType) -> bool:
    """Whether ``code`` names anything that reads variables other than by its instructions."""
    return not _LOOKING.isdisjoint(code.co_names)


def program_of(code: CodeType) -> Program:
    """The program of ``code``. Remembered."""
    known = _known.get(identity(code))
    if known is None:
        if len(_known) > _MOST_KEPT:
            _known.clear()
        known = _known[identity(code)] = _read(code)
    return known


def _read(code: CodeType) -> Program:
    size = len(code.co_code) // 2 + 1
    names, args, depths = [""] * size, [0] * size, [-1] * size
    flow = flows.flow_of(code)
    for offset, instruction in flow.instructions.items():
        names[offset // 2] = instruction.opname
        args[offset // 2] = instruction.arg or 0
    if _PREFIX_ONLY:
        for index in range(size - 1, -1, -1):
            if names[index] == "EXTENDED_ARG":
                names[index], args[index] = names[index + 1], args[index + 1]
    for offset, depth in _depths(flow, code).items():
        depths[offset // 2] = depth
    lines = [code.co_firstlineno] * size
    for start, end, line in code.co_lines():
        if line is not None:
            lines[start // 2:end // 2] = [line] * (end // 2 - start // 2)
    slots = slot_names(code)
    numbers = {name: number for number, name in enumerate(slots)}
    return Program(code, names, args, depths, lines, slots, numbers, bool(code.co_flags & _GENERATOR_KINDS),
                   looks_at_variables(code))


def _depths(flow: flows.Flow, code: CodeType) -> Dict[int, int]:
    """How deep the value stack is before each reachable instruction."""
    found: Dict[int, int] = {0: 0}
    for target, depth in _handlers(code):
        found[target] = depth
    todo = list(found)
    while todo:
        here = todo.pop()
        instruction = flow.instructions[here]
        for there, jumped in flows.successors(flow, here):
            if there not in found:
                found[there] = found[here] + _effect(instruction, jumped)
                todo.append(there)
    return found


def _effect(instruction: dis.Instruction, jumped: bool) -> int:
    name, argument = instruction.opname, instruction.arg or 0
    if name == "RETURN_GENERATOR":
        return 1
    if _PRECALL and name in ("PRECALL", "CALL"):  # 3.11 counts the arguments as gone after the first of the two
        return 0 if name == "PRECALL" else -argument - 1
    return dis.stack_effect(
        instruction.opcode, argument if instruction.opcode >= dis.HAVE_ARGUMENT else None, jump=jumped)


_PRECALL = "PRECALL" in dis.opmap
_PREFIX_ONLY = sys.version_info < (3, 12)  # no event comes for the instruction after EXTENDED_ARG, so it runs with it


def _handlers(code: CodeType) -> Iterator[Tuple[int, int]]:
    """Where exceptions are handled, and how deep the stack is there."""
    raw = iter(getattr(code, "co_exceptiontable", b""))
    for first in raw:
        _number(first, raw)
        _number(next(raw), raw)
        target = _number(next(raw), raw)
        depth = _number(next(raw), raw)
        yield target * 2, (depth >> 1) + (depth & 1) + 1  # the place that it came from, where kept, and the error


def _number(byte: int, raw: Iterator[int]) -> int:
    value = byte & 63
    while byte & 64:
        byte = next(raw)
        value = value << 6 | byte & 63
    return value


def following(program: Program, at: int) -> Tuple[str, int]:
    """The instruction after the one at index ``at``, and its index; "" at the end."""
    at += 1
    while at < len(program.names):
        name = program.names[at]
        if name and name not in ("CACHE", "EXTENDED_ARG", "NOP"):
            return name, at
        at += 1
    return "", at


def modelled() -> Dict[str, Any]:
    """Every opcode of this Python by name."""
    return {name: number for name, number in dis.opmap.items() if not name.startswith("INSTRUMENTED_")}
