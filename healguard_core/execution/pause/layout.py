"""What a code object says about itself: its exception table, its instructions, its handlers. Standard library only."""

import ast
import dis
import sys
from types import CodeType
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

HAS_TABLES = sys.version_info >= (3, 11)


class TableEntry(NamedTuple):
    """One line of a code object's exception table; offsets in bytes, ``depth`` in stack entries."""

    start: int
    end: int
    target: int
    depth: int


class Handler(NamedTuple):
    """A handler that the interpreter would enter. ``kind``: ``with``, ``except`` or ``finally``."""

    target: int
    depth: int
    kind: str


class Decoded(NamedTuple):
    """What bytecode alone says about a handler. ``tested``: the global name in its only ``except`` clause.

    ``reraises``: it is a ``finally`` in a straight line to its re-raise.
    """

    handler: Handler
    tested: Optional[str]
    reraises: bool


def decoded(code: CodeType, chain: List[Handler]) -> List[Decoded]:
    """The handlers of ``chain``, decoded as far as that is simple."""
    return [Decoded(one, _only_clause(code, one), _only_reraises(code, one)) for one in chain]


def exception_table(code: CodeType) -> List[TableEntry]:
    """The entries of ``code``'s exception table, in order; empty before Python 3.11."""
    raw = iter(getattr(code, "co_exceptiontable", b""))
    entries: List[TableEntry] = []
    while True:
        start = _number(raw)
        if start is None:
            return entries
        length, target, depth = _number(raw), _number(raw), _number(raw)
        if length is None or target is None or depth is None:
            return entries
        entries.append(TableEntry(start * 2, (start + length) * 2, target * 2, depth >> 1))


def _number(raw: Iterator[int]) -> Optional[int]:
    byte = next(raw, None)
    if byte is None:
        return None
    value = byte & 63
    while byte & 64:
        byte = next(raw, None)
        if byte is None:
            return None
        value = value << 6 | byte & 63
    return value


def covering(table: List[TableEntry], offset: int) -> Optional[TableEntry]:
    """The entry that the interpreter would use for an exception at ``offset``."""
    for entry in table:
        if entry.start <= offset < entry.end:
            return entry
    return None


_OP = dis.opmap
SETUP_FINALLY = _OP.get("SETUP_FINALLY", -1)
_PUSH_EXC_INFO = _OP.get("PUSH_EXC_INFO", -1)
_WITH_EXCEPT_START = _OP.get("WITH_EXCEPT_START", _OP.get("WITH_CLEANUP_START", -1))
_CHECK_EXC = (_OP.get("CHECK_EXC_MATCH", -1), _OP.get("CHECK_EG_MATCH", -1), _OP.get("JUMP_IF_NOT_EXC_MATCH", -1))
_RESUME = _OP.get("RESUME", -1)
_YIELD_VALUE = _OP["YIELD_VALUE"]


def handlers(code: CodeType, offset: int) -> List[Handler]:
    """Every handler that covers the instruction at byte ``offset``, from the innermost outward (3.11+)."""
    table = exception_table(code)
    if not table:
        return []
    raw = code.co_code
    found: List[Handler] = []
    seen = set()
    entry = covering(table, offset)
    while entry is not None and entry.target not in seen:
        seen.add(entry.target)
        if raw[entry.target] == _PUSH_EXC_INFO:
            found.append(Handler(entry.target, entry.depth, _kind(raw, entry.target + 2)))
        entry = covering(table, entry.target)
    return found


def kind_at(code: CodeType, offset: int) -> str:
    """The kind of the handler that begins at byte ``offset`` (3.8 to 3.10)."""
    return _kind(code.co_code, offset)


def _kind(raw: bytes, offset: int) -> str:
    if raw[offset] == _WITH_EXCEPT_START:
        return "with"
    while offset < len(raw):
        op = raw[offset]
        if op in _CHECK_EXC:
            return "except"
        if op not in _LOADS:
            break
        offset += 2
    return "finally"


_LOADS = frozenset(
    number for name, number in _OP.items()
    if name.startswith(("LOAD_", "CACHE", "EXTENDED_ARG", "PUSH_NULL", "CALL", "PRECALL", "BUILD_TUPLE"))
)


def operation(code: CodeType, offset: int) -> str:
    """The name of the instruction at byte ``offset``, unspecialised; "" where there is none. Remembered."""
    key = (id(code), offset)
    known = _operations.get(key)
    if known is None:
        if len(_operations) > _MAX_MEMO:
            _operations.clear()
        known = _operations[key] = (code, _operation(code, offset))
    return known[1]


_MAX_MEMO = 20000
_operations: Dict[Tuple[int, int], Tuple[CodeType, str]] = {}  # the code is kept, so that its id stays taken


def _operation(code: CodeType, offset: int) -> str:
    raw = code.co_code
    if not 0 <= offset < len(raw):
        return ""
    name = dis.opname[raw[offset]]
    if name == "COMPARE_OP" and sys.version_info < (3, 9) and raw[offset + 1] in (6, 7):
        return "CONTAINS_OP"
    return name


def called(code: CodeType, offset: int) -> Optional[ast.Call]:
    """The call at byte ``offset`` as far as bytecode of Python 3.8 to 3.10 tells: function and number of arguments.

    Arguments are ``...``; the function is a name, or an attribute of something unknown.
    """
    before = [step for step in dis.get_instructions(code) if step.offset <= offset]
    if not before or before[-1].opname not in ("CALL_FUNCTION", "CALL_METHOD", "CALL_FUNCTION_KW"):
        return None
    count = before[-1].arg or 0
    level = count + {"CALL_FUNCTION": 1, "CALL_METHOD": 2, "CALL_FUNCTION_KW": 2}[before[-1].opname]
    arguments: List[ast.expr] = [ast.Constant(value=...) for _ in range(count)]
    for index in range(len(before) - 2, -1, -1):
        step = before[index]
        level -= dis.stack_effect(step.opcode, step.arg, jump=False)
        if level <= 0 or (step.opname == "LOAD_METHOD" and level == 1):
            return ast.Call(func=_loaded(before, index), args=arguments, keywords=[])
    return None


def _loaded(steps: List[dis.Instruction], index: int) -> ast.expr:
    """The name or chain of attributes that the instruction at ``index`` loads."""
    step = steps[index]
    if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF"):
        return ast.Name(id=step.argval, ctx=ast.Load())
    if step.opname in ("LOAD_METHOD", "LOAD_ATTR") and index:
        return ast.Attribute(value=_loaded(steps, index - 1), attr=step.argval, ctx=ast.Load())
    return ast.Await(value=ast.Constant(value=...))  # anything else: a value that nobody evaluates


def at_plain_yield(code: CodeType, offset: int) -> bool:
    """Whether ``offset`` is where a generator waits in a ``yield`` (an ``await`` or ``yield from`` is not)."""
    raw = code.co_code
    if not 0 <= offset < len(raw):
        return False
    if not HAS_TABLES:
        return raw[offset] == _YIELD_VALUE
    if raw[offset] == _YIELD_VALUE:
        offset += 2
    return offset < len(raw) and raw[offset] == _RESUME and raw[offset + 1] & 3 == 1


def _only_reraises(code: CodeType, handler: Handler) -> bool:
    for step in _straight(code, handler.target + 2):
        if step.opname == "RERAISE":
            return True
        if step.opcode in _JUMPS or step.opname.startswith(("RETURN", "POP_EXCEPT", "RAISE")):
            return False
    return False


def _only_clause(code: CodeType, handler: Handler) -> Optional[str]:
    tested = None
    for step in _straight(code, handler.target + 2):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            tested = step.argval
        elif step.opcode in _JUMPS and tested is not None:
            after = next(iter(_straight(code, step.argval)), None)
            return str(tested) if after is not None and after.opname == "RERAISE" else None
        elif step.opname not in ("CHECK_EXC_MATCH", "CACHE"):
            return None
    return None


def _straight(code: CodeType, offset: int) -> Iterator[dis.Instruction]:
    return (step for step in dis.get_instructions(code) if step.offset >= offset)


_JUMPS = frozenset(dis.hasjrel + dis.hasjabs)


def sets_up_blocks(code: CodeType) -> bool:
    """Whether code of Python 3.8 to 3.10 has any try or with block."""
    return any(op in _SETUPS for op in code.co_code[::2])


_SETUPS = frozenset(number for name, number in _OP.items() if name.startswith("SETUP_"))
