"""Variable slots of live frames: the real cells, and unbinding a local. Standard library only.

The layout is private to CPython, so it is used only after a self-test in this very process found planted objects at
one and only one place; otherwise every function here answers "cannot" and callers take the public way.
"""

import ctypes
import dis
import sys
from types import CellType, CodeType, FrameType
from typing import Any, Dict, FrozenSet, List

_WORD = ctypes.sizeof(ctypes.c_void_p)
_INNER = sys.version_info >= (3, 11)  # slots live in the interpreter's own frame, which the frame object points to
_TAGS = 3 if sys.version_info >= (3, 14) else 0  # flags in the low bits of a slot
_getframe = sys._getframe
_origin: List[int] = []  # the word where slots begin; 0: unknown layout


def slot_names(code: CodeType) -> List[str]:
    """The names of ``code``'s slots in their order in the frame."""
    cells = list(code.co_cellvars)
    if _INNER:
        cells = [name for name in cells if name not in code.co_varnames]
    return list(code.co_varnames) + cells + list(code.co_freevars)


def available() -> bool:
    """Whether slots can be reached on this interpreter. The first call runs the self-test."""
    if not _origin:
        _origin.append(_find_origin())
    return _origin[0] > 0


def real_cells(frame: FrameType) -> Dict[str, CellType]:
    """The cells of the frame's captured and free variables by name; empty where slots cannot be reached."""
    code = frame.f_code
    wanted = set(code.co_cellvars) | set(code.co_freevars)
    found: Dict[str, CellType] = {}
    if not wanted or not available():
        return found
    names = slot_names(code)
    for index in range(len(names) - 1, -1, -1):  # from the end: before 3.11 an argument's name is there twice
        name = names[index]
        if name in wanted and name not in found:
            address = _held(frame, index)
            value = ctypes.cast(address, ctypes.py_object).value if address else None
            if isinstance(value, CellType):
                found[name] = value
    return found


def is_unbound(frame: FrameType, name: str) -> bool:
    """Whether the slot of local ``name`` is empty. Only when `available`."""
    return not _held(frame, slot_names(frame.f_code).index(name))


def unbound_names(frame: FrameType) -> List[str]:
    """The slots that are empty now, hidden ones of inlined comprehensions included. Only when `available`."""
    return [name for index, name in enumerate(slot_names(frame.f_code)) if not _held(frame, index)]


def fill(frame: FrameType, name: str) -> None:
    """Bind the unbound slot of ``name`` to None. Only when `available` and `is_unbound`."""
    pointer = ctypes.c_size_t.from_address(_slot(frame, slot_names(frame.f_code).index(name)))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(None))
    # None never dies where slots carry tags (3.14), and a tagged reference to it is the one without a count.
    pointer.value = id(None) | (1 if _TAGS else 0)


def unbind(frame: FrameType, name: str) -> None:
    """Empty the slot of local ``name`` as ``del`` does. Only when `available`, and nothing may read it unchecked."""
    pointer = ctypes.c_size_t.from_address(_slot(frame, slot_names(frame.f_code).index(name)))
    old = pointer.value
    address = old & ~_TAGS
    if not address:
        return
    pointer.value = 1 if _TAGS else 0
    if not old & _TAGS & 1:
        ctypes.pythonapi.Py_DecRef(ctypes.cast(address, ctypes.py_object))


def _slot(frame: FrameType, index: int) -> int:
    base = id(frame)
    if _INNER:
        base = ctypes.c_size_t.from_address(base + 3 * _WORD).value  # after count, type and f_back
    return base + (_origin[0] + index) * _WORD


def _held(frame: FrameType, index: int) -> int:
    """The address of the object in a slot; 0 when it is empty."""
    return ctypes.c_size_t.from_address(_slot(frame, index)).value & ~_TAGS


def _find_origin() -> int:
    plain = sys.implementation.name == "cpython" and object.__basicsize__ == 2 * _WORD  # not free-threaded, no debug
    if not plain or _WORD != 8 or not (3, 8) <= sys.version_info[:2] <= (3, 14):
        return 0
    places = [_plant(object(), object()), _plant([], {})]
    if len(places[0]) != 1 or places[0] != places[1]:
        return 0
    return places[0][0]


def _plant(first: Any, second: Any) -> List[int]:
    """Where, in words, this frame keeps ``first`` and ``second`` next to each other. Follows no address but one."""
    frame = _getframe()
    planted = [id(first), id(second), id(frame)]
    base, words = id(frame), sys.getsizeof(frame) // _WORD
    if _INNER:
        base, words = ctypes.c_size_t.from_address(base + 3 * _WORD).value, 16
    found = []
    for word in range(3, words - 3):
        seen = [ctypes.c_size_t.from_address(base + (word + step) * _WORD).value & ~_TAGS for step in range(3)]
        if seen == planted:
            found.append(word)
    return found


def own_name_of_comprehension(code: CodeType) -> FrozenSet[str]:
    """The names that inlined comprehensions of ``code`` bind for themselves (3.12+)."""
    if sys.version_info < (3, 12):
        return frozenset()
    return frozenset(
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname == "LOAD_FAST_AND_CLEAR"
    )


def address(frame: FrameType) -> int:
    """Where the slots of ``frame`` begin in memory; its value stack follows them. Only when `available`."""
    return _slot(frame, 0)
