"""Exception tables in which an error meets one handler of ours, however deep it is nested. May import hooks and nodes.

As compiled, an error that nobody heals goes from the handler of its statement through those of all headers and regions
around it, and each of them costs as much as the first. None of them does anything: headers would be asked about an
error that was answered for already, and regions wait for `hooks.Leave` only. So from a handler of ours an error is sent
straight to the next handler of the program, and only what the hook itself raises goes to the region.

Needs the exception tables of CPython 3.11 and newer, and a self-test that finds them to be read as it is thought here.
Nothing but the tables is changed; code in which something looks other than expected stays as it is.

Words: a handler's *end* is the three instructions with which it lets an exception go on (COPY, POP_EXCEPT, RERAISE).
The compiler gives each handler an end of its own. They are all alike and find what they need on top of the stack, so
handlers can share them. Offsets count code units of two bytes.
"""

import ast
import dis
import sys
from functools import lru_cache
from operator import is_
from types import CodeType
from typing import Any, Dict, List, Optional, Tuple

from healguard_core.execution.hooks import HEAL, LEAVE, VALUE
from healguard_core.execution.instrument import nodes

_TABLES = sys.version_info >= (3, 11) and sys.implementation.name == "cpython"
_OP = dis.opmap
_PUSH, _RERAISE, _GLOBAL, _NAME = (_OP.get(name, -1) for name in (
    "PUSH_EXC_INFO", "RERAISE", "LOAD_GLOBAL", "LOAD_NAME"))
_EXTENDED = _OP["EXTENDED_ARG"]
_END = bytes(max(_OP.get(name, 0), 0) for name in ("COPY", "POP_EXCEPT", "RERAISE"))
_END_LENGTH = len(_END)
# What may stand between the start of a handler of ours and the name that it is known by.
_BEFORE = frozenset(number for name, number in _OP.items() if name.startswith(
    ("LOAD_", "CACHE", "EXTENDED_ARG", "PUSH_NULL", "BUILD_TUPLE", "CHECK_EXC_MATCH", "POP_JUMP", "POP_TOP",
     "RAISE_VARARGS", "NOP", "NOT_TAKEN")))

_Way = Tuple[int, int]
"""Where an exception goes, and how much of the stack is left: twice the number of entries, plus 1 when it is noted
where the exception was raised."""

_Run = Tuple[int, int, int, int]
"""Start and stop of the code units whose exceptions go the same `_Way`, and that way."""

_Handler = Tuple[int, int, int, int]
"""Start of a handler of ours; where ``@heal`` is in it, -1 for a region; its end; how much is on the stack in it."""


def shortened(code: CodeType) -> CodeType:
    """``code`` and all code inside of it with short ways out of handlers of ours."""
    return _shortened(code) if _TABLES and works() else code


def _shortened(code: CodeType) -> CodeType:
    constants = code.co_consts
    if CodeType in map(type, constants):
        constants = tuple([_shortened(one) if one.__class__ is CodeType else one for one in constants])
    if HEAL in code.co_names:
        return code.replace(co_consts=constants, co_exceptiontable=_short_table(code))
    return code if all(map(is_, constants, code.co_consts)) else code.replace(co_consts=constants)


def _short_table(code: CodeType) -> bytes:
    runs = _decoded(getattr(code, "co_exceptiontable", b""))
    operations = code.co_code[::2]
    by_start = {run[0]: run for run in runs}
    handlers = _handlers(code, operations, by_start)
    ways = _Ways(handlers, by_start)
    for start, asks, end, _ in handlers.values():
        if asks < 0 and end not in by_start and ways.ends[end] is not None:
            runs.append((end, end + _END_LENGTH, start, 0))  # it led out of the function, so no run was needed
            runs.sort()
    return _encoded(_rewritten(runs, operations, ways))


# --------------------------------------------------------------------------- reading


def _handlers(code: CodeType, operations: bytes, by_start: Dict[int, _Run]) -> Dict[int, _Handler]:
    """Our handlers, told by the name that they begin with, by their starts."""
    found: Dict[int, _Handler] = {}
    arguments = code.co_code[1::2]
    asking = 2 * code.co_names.index(HEAL) + 1
    for start, stop, end, level in by_start.values():
        if level & 1 and operations[start] == _PUSH and operations[end:end + _END_LENGTH] == _END:
            asks: Optional[int] = start + 1
            if operations[start + 1] != _GLOBAL or arguments[start + 1] != asking:
                asks = _known_by(code.co_names, operations, arguments, start + 1, stop)
            if asks is not None:
                found[start] = start, asks, end, level
    return found


def _known_by(names: Tuple[str, ...], operations: bytes, arguments: bytes, at: int, stop: int) -> Optional[int]:
    """Where a handler asks, -1 for a region, None for a handler of the program's."""
    extended = 0
    while at < stop and operations[at] in _BEFORE:
        operation, argument = operations[at], arguments[at] | extended << 8
        if operation in (_GLOBAL, _NAME):
            name = names[argument >> 1 if operation == _GLOBAL else argument]
            if name in (HEAL, LEAVE):
                return at if name == HEAL else -1
        extended = argument if operation == _EXTENDED else 0
        at += 1
    return None


class _Ways:
    """Where exceptions are to go from our handlers.

    ``out``: by the end that a handler had, itself and the ends that its code is to use, when the hook raises and when
    the error goes on. ``ends``: where each of these ends leads, None for nowhere or for out of the function.
    ``beyond``: by the start of a region, the way to the next handler of the program's.
    """

    def __init__(self, handlers: Dict[int, _Handler], by_start: Dict[int, _Run]) -> None:
        self.handlers = handlers
        self._by_start = by_start
        self._known: Dict[int, Tuple[Optional[_Handler], Optional[_Way]]] = {}
        self.out: Dict[int, Tuple[_Handler, int, int]] = {}
        self.ends: Dict[int, Optional[_Way]] = {}
        self.beyond: Dict[int, Optional[_Way]] = {}
        shared: Dict[Optional[_Way], int] = {}  # one end for each handler of the program's
        regions = []
        for handler in handlers.values():
            _, asks, end, _ = handler
            region, beyond = self._outward(handler)
            if asks < 0:
                regions.append(handler)
                continue
            self.ends[end] = None if beyond in shared else beyond
            usual = shared.setdefault(beyond, end)
            self.out[end] = handler, usual if region is None else region[2], usual
        for handler in regions:
            start, _, end, level = handler
            beyond = self.beyond[start] = self._outward(handler)[1]
            usual = shared.get(beyond, end)
            self.out[end] = handler, usual, usual
            # Its own end leads into it, without the error and what was handled before, and unnoted.
            self.ends[end] = (start, level - 3) if beyond in shared else beyond

    def _outward(self, handler: _Handler) -> Tuple[Optional[_Handler], Optional[_Way]]:
        """The region around a handler of ours that it can reach, and the way to the next handler of the program's."""
        known = self._known.get(handler[0])
        if known is not None:
            return known
        run = self._by_start.get(handler[2])
        around = None if run is None else self.handlers.get(run[2])
        if run is None or around is None:
            known = None, None if run is None else (run[2], run[3])
        else:
            known = self._outward(around)
            if around[1] < 0:
                known = around, known[1]
        self._known[handler[0]] = known
        return known


# --------------------------------------------------------------------------- writing


def _rewritten(runs: List[_Run], operations: bytes, ways: _Ways) -> List[_Run]:
    out, ends, handlers = ways.out, ways.ends, ways.handlers
    seeing = set()  # starts of handlers to which a transfer may come, on its way out of a handler of the program's
    found: List[_Run] = []
    for run in runs:
        start, stop, target, level = run
        if start in ends:
            way = ends[start]
            if way is not None:
                found.append((start, start + _END_LENGTH) + way)
            start += _END_LENGTH
            if start >= stop:
                continue
        if target in out:
            handler, raised, declined = out[target]
            first, asks = handler[:2]
            if start != first and operations[start] == _RERAISE and first not in seeing:
                raised = declined
            elif start == first and asks > start + 1:
                found.append((start, asks, declined, level))
                start = asks
            target = raised
        elif target in handlers:
            if handlers[target][1] >= 0:
                if _RERAISE in operations[start:stop]:
                    seeing.add(target)
            elif _RERAISE not in operations[start:stop]:
                beyond = ways.beyond[target]
                if beyond is None:
                    continue
                target, level = beyond
        found.append((start, stop, target, level))
    return found


def _decoded(table: bytes) -> List[_Run]:
    numbers: List[int] = []
    value = 0
    for byte in table:
        if byte & 64:
            value = value << 6 | byte & 63
        else:
            numbers.append(value << 6 | byte & 63)
            value = 0
    starts = numbers[::4]
    stops = map(int.__add__, starts, numbers[1::4])
    return list(zip(starts, stops, numbers[2::4], numbers[3::4]))  # noqa: B905 - Python 3.8


def _encoded(runs: List[_Run]) -> bytes:
    out: List[bytes] = []
    start, stop, target, level = -1, -1, -1, -1
    for run in runs:
        if run[0] == stop and run[2] == target and run[3] == level:
            stop = run[1]
            continue
        if start >= 0:
            out += _FIRST[start], _NUMBERS[stop - start], _NUMBERS[target], _NUMBERS[level]
        start, stop, target, level = run
    if start >= 0:
        out += _FIRST[start], _NUMBERS[stop - start], _NUMBERS[target], _NUMBERS[level]
    return b"".join(out)


class _Numbers(Dict[int, bytes]):
    """How numbers are written; ``first`` marks the first byte as the one where an entry begins."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self._first = first

    def __missing__(self, number: int) -> bytes:
        written = bytearray([number & 63])
        more = number >> 6
        while more:
            written.insert(0, more & 63 | 64)
            more >>= 6
        written[0] |= self._first
        self[number] = bytes(written)
        return self[number]


_FIRST, _NUMBERS = _Numbers(128), _Numbers(0)


# --------------------------------------------------------------------------- self-test


@lru_cache(maxsize=None)
def works() -> bool:
    """Whether errors and transfers go where they should in code whose tables were shortened."""
    try:
        for code in _sample().co_consts:
            table = getattr(code, "co_exceptiontable", b"")
            if _encoded(_decoded(table)) != table:
                return False
        return all(_outcome(answer) == expected for answer, expected in _EXPECTED.items())
    except Exception:  # noqa: BLE001 - an interpreter that fails in any way keeps the tables that it made
        return False


class _Leave(BaseException):
    pass


# What a hook does: what becomes of the error, and which statements are asked about.
_EXPECTED = {"declines": ("KeyError", [0]), "leaves": ("left", [0]), "raises": ("taken", [0])}


def _outcome(answer: str) -> Tuple[str, List[int]]:
    asked = []

    def heal(number: int) -> Tuple[()]:
        asked.append(number)
        if answer == "leaves":
            raise _Leave
        if answer == "raises":
            raise IndexError
        return ()

    handled = sys.exc_info()[1]
    known = {HEAL: heal, LEAVE: _Leave, VALUE: lambda: "left", "IndexError": IndexError}
    space: Dict[str, Any] = {"__builtins__": known}
    exec(_shortened(_sample()), space)
    try:
        result = space["sample"]({})
    except KeyError:
        result = "KeyError"
    return result if sys.exc_info()[1] is handled else "", asked


def _sample() -> CodeType:
    """A function in which an error meets a handler of a statement, of a header, of a region and of the program."""
    tree: Any = ast.parse(
        "def sample(d):\n try:\n  if d == {}:\n   d[0]\n except IndexError:\n  return 'taken'\n", "<sample>"
    )
    tried = tree.body[0].body[0]
    header = tried.body[0]
    for number, block in enumerate((header.body, tried.body)):
        position = nodes.position_of(block[0])
        block[0] = nodes.with_handler(block[0], number, position, position[0])
    tried.body = [nodes.region(tried.body, False, "value")]
    return compile(tree, "<sample>", "exec")
