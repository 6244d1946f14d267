"""Values on the value stack and in the slots of a live frame, read through `ctypes` behind the self-test of pause.

All memory is one array of references here, so that reading one makes no object of `ctypes` and tells no audit hook of
it. May import pause and slots. Nothing here runs program code.
"""

import ctypes
import sys
from types import FrameType
from typing import Any, List

from healguard_core.execution.pause import slots
from healguard_core.execution.tracking.slots import identity

_WORD = ctypes.sizeof(ctypes.c_void_p)
_TAGS = 3 if sys.version_info >= (3, 14) else 0
_COUNT = sys.maxsize // (2 * _WORD)
WORDS = (ctypes.c_size_t * _COUNT).from_address(0)
OBJECTS = (ctypes.py_object * _COUNT).from_address(0)
"""All memory, as words and as references to objects, by address in words. For frames that are known to be alive."""
INNER = 3
"""The word of a frame object that points to the interpreter's frame: after count, type and ``f_back``."""
_origin: List[int] = []
_code: List[int] = []


class Missing:
    """Stands for an empty place."""


MISSING = Missing()


def readable() -> bool:
    """Whether value stacks can be read on this interpreter. The first call runs the self-test."""
    return bool(_measured())


def _measured() -> int:
    """The words from the interpreter's frame to the first slot; 0 where it is not known."""
    if not _origin:
        frame = sys._getframe()
        known = slots.available() and sys.version_info >= (3, 11) and identity(frame) << 4 == id(frame)
        _origin.append(slots.address(frame) // _WORD - WORDS[(identity(frame) << 1) + INNER] // _WORD if known else 0)
    return _origin[0]


def origin() -> int:
    """The words from the interpreter's frame to its first slot. Only when `readable`."""
    return _measured()


def code_word() -> int:
    """The words from the interpreter's frame to the address of its code; -1 where that is not known, or has flags."""
    if not _code:
        frame = sys._getframe()
        inner = WORDS[(identity(frame) << 1) + INNER] >> 3 if readable() and not _TAGS else 0
        found = [word for word in range(_measured()) if inner and WORDS[inner + word] == id(frame.f_code)]
        _code.append(found[0] + 1 if len(found) == 1 else 0)
    return _code[0] - 1


class Places:
    """The slots and the value stack of ``frame``, by index: slots first."""

    __slots__ = ("_start",)

    def __init__(self, frame: FrameType) -> None:
        # An object's address is 16 times its identity: that is how CPython hashes pointers, and objects lie at 16.
        self._start = (WORDS[(identity(frame) << 1) + INNER] >> 3) + _origin[0]

    def at(self, index: int) -> Any:
        """What lies at ``index``, `MISSING` for nothing."""
        place = self._start + index
        if _TAGS:
            return _tagged(place)
        try:
            return OBJECTS[place]
        except ValueError:
            return MISSING

    def several(self, index: int, count: int) -> List[Any]:
        """What lies at ``count`` places from ``index`` on."""
        place = self._start + index
        if not _TAGS:
            try:
                return OBJECTS[place:place + count]
            except ValueError:
                pass
        return [self.at(number) for number in range(index, index + count)]


def _tagged(place: int) -> Any:
    address = WORDS[place] & ~_TAGS
    return ctypes.cast(address, ctypes.py_object).value if address else MISSING
