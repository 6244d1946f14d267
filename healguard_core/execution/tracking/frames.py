"""Values on the value stack and in the slots of a live frame, read from memory behind the self-test of pause.

May import pause, memory and slots. Nothing here runs program code.
"""

import ctypes
import sys
from functools import lru_cache
from types import FrameType
from typing import Any, List

from healguard_core.execution.guard.kinds import identity
from healguard_core.execution.pause import slots
from healguard_core.execution.tracking.memory import OBJECTS, WORD, WORDS, tells_addresses

_TAGS = 3 if sys.version_info >= (3, 14) else 0
INNER = 3
"""The word of a frame object that points to the interpreter's frame: after count, type and ``f_back``."""


class Missing:
    """Stands for an empty place."""


MISSING = Missing()


def readable() -> bool:
    """Whether value stacks can be read on this interpreter. The first call runs the self-test."""
    return origin() > 0


@lru_cache(maxsize=None)
def origin() -> int:
    """The words from the interpreter's frame to its first slot; 0 where that is not known."""
    frame = sys._getframe()
    if not slots.available() or sys.version_info < (3, 11) or not tells_addresses(frame):
        return 0
    return slots.address(frame) // WORD - WORDS[(identity(frame) << 1) + INNER] // WORD


@lru_cache(maxsize=None)
def code_word() -> int:
    """The words from the interpreter's frame to the address of its code; -1 where that is not known, or has flags."""
    if _TAGS:
        return -1
    frame = sys._getframe()
    inner = WORDS[(identity(frame) << 1) + INNER] >> 3
    found = [word for word in range(origin()) if WORDS[inner + word] == id(frame.f_code)]
    return found[0] if len(found) == 1 else -1


class Places:
    """The slots and the value stack of ``frame``, by index: slots first."""

    __slots__ = ("_start",)

    def __init__(self, frame: FrameType) -> None:
        self._start = (WORDS[(identity(frame) << 1) + INNER] >> 3) + origin()

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
