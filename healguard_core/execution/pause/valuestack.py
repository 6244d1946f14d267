"""What lies in the slots and on the value stack of a live frame, read through `ctypes`. Standard library only.

This layout is private to the interpreter, so it is used only after a self-test in this very process has found every
planted object at its computed place; otherwise it stays off, and whoever asks has to do without. The self-test
compares words with the `id` of the planted objects and never follows one.
"""

import ctypes
import sys
from types import CodeType, FrameType
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from . import layout
from .layout import Handler

_WORD = ctypes.sizeof(ctypes.c_void_p)
_FRAME_WORD = 3  # 3.11+, PyFrameObject: refcount, type, f_back, f_frame
_TAG_BITS = 3  # 3.14 keeps flags in the low bits of stack references
_SPLIT_EXIT = sys.version_info >= (3, 14)  # __exit__ and its self are two stack entries
_BLOCK_SIZE = 3  # ints of one entry of the block stack, 3.8 to 3.10: type, handler, level
_MAX_BLOCKS = 20


class _Layout(NamedTuple):
    """``slots``: the word where a frame's slots begin; ``blocks``: the byte of its block counter (3.8 to 3.10)."""

    slots: int
    blocks: int = 0
    stack: int = 0  # the byte where the block stack begins


_LAYOUTS = {
    (3, 8): _Layout(45, 112, 120),
    (3, 9): _Layout(45, 112, 120),
    (3, 10): _Layout(44, 104, 112),
    (3, 11): _Layout(9),
    (3, 12): _Layout(9),
    (3, 13): _Layout(9),
    (3, 14): _Layout(10),
}
_found: List[Optional[_Layout]] = []  # empty: not tested yet; [None]: off


def readable() -> bool:
    """Whether slots of live frames can be read here. The first call runs the self-test."""
    if not _found:
        _found.append(_tested())
    return _found[0] is not None


def variable(frame: FrameType, name: str, default: Any) -> Any:
    """What the slot of variable ``name`` holds (a cell for captured ones); ``default`` where unbound."""
    index = _slot_names(frame.f_code).get(name)
    known = _found[0] if _found else None
    return default if index is None or known is None else _read(frame, known, index, default)


def exit_callable(frame: FrameType, handler: Handler) -> Tuple[Any, Any]:
    """``(self, function)`` of the ``__exit__`` that a live frame's ``with`` handler would call.

    ``self`` is None where the function is a bound method. Both are None while slots are not `readable`.
    """
    known = _found[0] if _found else None
    if known is None:
        return None, None
    top = slot_count(frame.f_code) + handler.depth
    if _SPLIT_EXIT:
        return _read(frame, known, top - 1, None), _read(frame, known, top - 2, None)
    return None, _read(frame, known, top - 1, None)


def exit_index(code: CodeType, handler: Handler) -> Optional[int]:
    """Where `value_at` finds the bound ``__exit__`` that a ``with`` handler would call; None where it does not."""
    return None if _SPLIT_EXIT or not readable() else slot_count(code) + handler.depth - 1


def value_at(frame: FrameType, index: int, default: Any = None) -> Any:
    """What stands at ``index``, slots before the value stack, while these are `readable`."""
    known = _found[0]
    return default if known is None else _read(frame, known, index, default)


def handlers(frame: FrameType) -> List[Handler]:
    """Every handler around a live frame's current instruction, from the innermost outward.

    Empty before Python 3.11 while slots are not `readable`; callers tell that apart by asking.
    """
    if layout.HAS_TABLES:
        return layout.handlers(frame.f_code, frame.f_lasti)
    known = _found[0] if _found else None
    return [] if known is None else _block_stack(frame, known)


def _block_stack(frame: FrameType, known: _Layout) -> List[Handler]:
    count = ctypes.c_int.from_address(id(frame) + known.blocks).value
    if not 0 <= count <= _MAX_BLOCKS:
        return []
    ints = (ctypes.c_int * (_BLOCK_SIZE * count)).from_address(id(frame) + known.stack)
    unit = 2 if sys.version_info >= (3, 10) else 1  # bytes of one step of a handler's address
    found = []
    for index in range(count - 1, -1, -1):
        kind, target, level = ints[index * _BLOCK_SIZE:(index + 1) * _BLOCK_SIZE]
        if kind == layout.SETUP_FINALLY:
            found.append(Handler(target * unit, level, layout.kind_at(frame.f_code, target * unit)))
    return found


_names_of: Dict[int, Tuple[CodeType, Dict[str, int]]] = {}


def _slot_names(code: CodeType) -> Dict[str, int]:
    known = _names_of.get(id(code))
    if known is not None:
        return known[1]
    found = list(code.co_varnames)
    if layout.HAS_TABLES:  # a captured parameter shares its slot
        found += [name for name in code.co_cellvars if name not in code.co_varnames]
    else:
        found += ["<cell>" + name if name in code.co_varnames else name for name in code.co_cellvars]
    found += list(code.co_freevars)
    slots = {name: index for index, name in enumerate(found)}
    for name in code.co_cellvars:
        slots[name] = slots.get("<cell>" + name, slots[name])
    if len(_names_of) > 5000:
        _names_of.clear()
    _names_of[id(code)] = (code, slots)
    return slots


def slot_count(code: CodeType) -> int:
    """How many slots come before the value stack."""
    shared = sum(1 for name in code.co_cellvars if name in code.co_varnames) if layout.HAS_TABLES else 0
    return len(code.co_varnames) + len(code.co_cellvars) + len(code.co_freevars) - shared


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _address(frame: FrameType, known: _Layout, index: int) -> int:
    start = _word(id(frame) + _FRAME_WORD * _WORD) if layout.HAS_TABLES else id(frame)
    return _word(start + (known.slots + index) * _WORD) & ~_TAG_BITS


def _read(
    frame: FrameType,
    known: _Layout,
    index: int,
    default: Any,
    _word_at: Any = ctypes.c_size_t.from_address,
    _object_at: Any = ctypes.py_object.from_address,
    _frame_at: int = _FRAME_WORD * _WORD,
) -> Any:
    if _SPLIT_EXIT or not layout.HAS_TABLES:
        address = _address(frame, known, index)
        return default if address == 0 else ctypes.cast(address, ctypes.py_object).value
    try:
        return _object_at(_word_at(id(frame) + _frame_at).value + (known.slots + index) * _WORD).value
    except ValueError:  # nothing stands there
        return default


# --------------------------------------------------------------------------- self-test


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
                    look({}, 2)
            finally:
                argument = value
    return lambda: (value, argument)


def _shape_generator(look: Any) -> Iterator[None]:
    value = object()
    yield
    with _Planted():
        look({"value": value}, 1)


def _tested() -> Optional[_Layout]:
    known = _LAYOUTS.get(sys.version_info[:2])
    if known is None or sys.implementation.name != "cpython" or _WORD != 8:
        return None
    if hasattr(sys, "gettotalrefcount") or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    seen: List[bool] = []

    def look(planted: Dict[str, Any], depth: int, _getframe: Any = sys._getframe) -> None:
        seen.append(_agrees(_getframe(1), known, planted, depth))

    _shape_plain(look)
    _shape_cells(look)
    for _ in _shape_generator(look):
        pass
    return known if len(seen) == 4 and all(seen) else None


def _agrees(frame: FrameType, known: _Layout, planted: Dict[str, Any], depth: int) -> bool:
    slots = _slot_names(frame.f_code)
    if any(_address(frame, known, slots[name]) != id(value) for name, value in planted.items()):
        return False
    chain = layout.handlers(frame.f_code, frame.f_lasti) if layout.HAS_TABLES else _block_stack(frame, known)
    withs = [handler for handler in chain if handler.kind == "with"]
    top = slot_count(frame.f_code) - (2 if _SPLIT_EXIT else 1)
    return len(withs) == depth and all(
        _address(frame, known, top + handler.depth) == id(_Planted.exit) for handler in withs)

