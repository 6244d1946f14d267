"""Where the interpreter keeps exception tables, instructions and value stacks. Standard library only.

Three sources: the public exception table (3.11+), the public instruction bytes, and, on CPython 3.11 to 3.14, the
slots of a live frame, read through `ctypes`. The last one is private to the interpreter, so it is used only after
a self-test in this very process has found every planted object at its computed place; otherwise it stays off.
"""

import ctypes
import dis
import sys
from types import CodeType, FrameType
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

HAS_TABLES = sys.version_info >= (3, 11)
_WORD = ctypes.sizeof(ctypes.c_void_p)
_FRAME_WORD = 3  # PyFrameObject: refcount, type, f_back, f_frame
_SLOT_WORDS = (9, 10)  # where localsplus may begin inside the interpreter's own frame
_TAG_BITS = 3  # 3.14 keeps flags in the low bits of stack references
_SPLIT_EXIT = sys.version_info >= (3, 14)  # __exit__ and its self are two stack entries


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


def exception_table(code: CodeType) -> List[TableEntry]:
    """The entries of ``code``'s exception table, in order; empty before Python 3.11."""
    raw = iter(getattr(code, "co_exceptiontable", b""))
    entries = []
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
_PUSH_EXC_INFO = _OP.get("PUSH_EXC_INFO", -1)
_WITH_EXCEPT_START = _OP.get("WITH_EXCEPT_START", -1)
_CHECK_EXC = (_OP.get("CHECK_EXC_MATCH", -1), _OP.get("CHECK_EG_MATCH", -1))
_EXTENDED_ARG = dis.EXTENDED_ARG
_RESUME = _OP.get("RESUME", -1)
_YIELD_VALUE = _OP["YIELD_VALUE"]
_CACHE = _OP.get("CACHE", -1)


def handlers(code: CodeType, offset: int) -> List[Handler]:
    """Every handler that covers the instruction at byte ``offset``, from the innermost outward (3.11+)."""
    table = exception_table(code)
    if not table:
        return []
    raw = code.co_code
    found = []  # type: List[Handler]
    seen = set()
    entry = covering(table, offset)
    while entry is not None and entry.target not in seen:
        seen.add(entry.target)
        if raw[entry.target] == _PUSH_EXC_INFO:
            found.append(Handler(entry.target, entry.depth, _kind(raw, entry.target + 2)))
        entry = covering(table, entry.target)
    return found


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
    """The name of the instruction at byte ``offset``, unspecialised; "" where there is none."""
    raw = code.co_code
    if not 0 <= offset < len(raw):
        return ""
    return dis.opname[raw[offset]]


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


def only_reraises(code: CodeType, handler: Handler) -> bool:
    """Whether a handler is a ``finally`` in a straight line to its re-raise."""
    for step in _straight(code, handler.target + 2):
        if step.opname == "RERAISE":
            return True
        if step.opcode in _JUMPS or step.opname.startswith(("RETURN", "POP_EXCEPT", "RAISE")):
            return False
    return False


def only_clause(code: CodeType, handler: Handler) -> Optional[str]:
    """The global name that a handler's only ``except`` clause tests, or None where it is anything else."""
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


# --------------------------------------------------------------------------- slots of live frames

_base = [None]  # type: List[Optional[int]]  # None: not tested yet; 0: off; else the word where slots begin


def slots_readable() -> bool:
    """Whether slots of live frames can be read here. The first call runs the self-test."""
    if _base[0] is None:
        _base[0] = _find_base()
    return bool(_base[0])


def local_slot(frame: FrameType, name: str, default: Any) -> Any:
    """What the slot of variable ``name`` holds (a cell for captured ones); ``default`` where unbound."""
    index = _slot_names(frame.f_code).get(name)
    if index is None:
        return default
    return _read(frame, _base[0] or 0, index, default)


def exit_callable(frame: FrameType, handler: Handler) -> Tuple[Any, Any]:
    """``(self, function)`` of the ``__exit__`` that a live frame's ``with`` handler would call.

    ``self`` is None where the function is not a bound method. Only after `slots_readable`.
    """
    base, count = _base[0] or 0, slot_count(frame.f_code)
    if _SPLIT_EXIT:
        function = _read(frame, base, count + handler.depth - 2, None)
        return _read(frame, base, count + handler.depth - 1, None), function
    return None, _read(frame, base, count + handler.depth - 1, None)


_names_of = {}  # type: Dict[int, Tuple[CodeType, Dict[str, int]]]


def _slot_names(code: CodeType) -> Dict[str, int]:
    known = _names_of.get(id(code))
    if known is not None:
        return known[1]
    names = list(code.co_varnames)
    names += [name for name in code.co_cellvars if name not in code.co_varnames]
    names += list(code.co_freevars)
    slots = {name: index for index, name in enumerate(names)}
    if len(_names_of) > 5000:
        _names_of.clear()
    _names_of[id(code)] = (code, slots)
    return slots


def slot_count(code: CodeType) -> int:
    """How many slots come before the value stack."""
    return len(_slot_names(code))


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _address(frame: FrameType, base: int, index: int) -> int:
    inner = _word(id(frame) + _FRAME_WORD * _WORD)
    return _word(inner + (base + index) * _WORD) & ~_TAG_BITS


def _read(frame: FrameType, base: int, index: int, default: Any) -> Any:
    address = _address(frame, base, index)
    return default if address == 0 else ctypes.cast(address, ctypes.py_object).value


# The self-test never follows an address: it compares the words it finds with the `id` of objects it planted.


class _Exit:
    """What the planted ``__exit__`` resolves to: an object whose address is known."""

    def __call__(self, *_args: Any) -> bool:
        return False


class _Planted:
    exit = _Exit()

    @property
    def __exit__(self) -> Any:
        return type(self).exit

    def __enter__(self) -> None:
        return None


def _shape_plain(look: Any) -> None:
    first, second = object(), object()
    with _Planted():
        look({"first": first, "second": second}, 1)


def _shape_cells(look: Any, argument: Any = None) -> Any:
    value = object()
    for _ in (1, 2):
        with _Planted():
            try:
                with _Planted():
                    look({"value": value}, 2, cells=True)
            finally:
                argument = value
    return lambda: (value, argument)


def _shape_generator(look: Any) -> Iterator[None]:
    value = object()
    yield
    with _Planted():
        look({"value": value}, 1)


def _find_base() -> int:
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info[:2] <= (3, 14) or _WORD != 8:
        return 0
    if hasattr(sys, "gettotalrefcount") or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return 0
    fitting = [base for base in _SLOT_WORDS if _fits(base)]
    return fitting[0] if len(fitting) == 1 else 0


def _fits(base: int) -> bool:
    seen = []  # type: List[bool]

    def look(planted: Dict[str, Any], depth: int, cells: bool = False, _getframe: Any = sys._getframe) -> None:
        seen.append(_look(_getframe(1), base, planted, depth, cells))

    _shape_plain(look)
    _shape_cells(look)
    for _ in _shape_generator(look):
        pass
    return len(seen) == 4 and all(seen)


def _look(frame: FrameType, base: int, planted: Dict[str, Any], depth: int, cells: bool) -> bool:
    slots, count = _slot_names(frame.f_code), slot_count(frame.f_code)
    if not cells and any(_address(frame, base, slots[name]) != id(value) for name, value in planted.items()):
        return False
    withs = [handler for handler in handlers(frame.f_code, frame.f_lasti) if handler.kind == "with"]
    if len(withs) != depth:
        return False
    back = 2 if _SPLIT_EXIT else 1
    return all(_address(frame, base, count + handler.depth - back) == id(_Planted.exit) for handler in withs)
