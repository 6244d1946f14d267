"""Values on the value stack and in the slots of a live frame, read through `ctypes` behind the self-test of pause.

May import pause. Nothing here runs program code.
"""

import ctypes
import sys
from types import FrameType
from typing import Any, List

from healguard_core.execution.pause import slots

_WORD = ctypes.sizeof(ctypes.c_void_p)
_TAGS = 3 if sys.version_info >= (3, 14) else 0
_word = ctypes.c_size_t.from_address
_object = ctypes.py_object.from_address
_cast, _py_object = ctypes.cast, ctypes.py_object


class Missing:
    """Stands for an empty place."""


MISSING = Missing()


def readable() -> bool:
    """Whether value stacks can be read on this interpreter. The first call runs the self-test."""
    return slots.available() and sys.version_info >= (3, 11)


class Places:
    """The slots and the value stack of ``frame``, by index: slots first."""

    __slots__ = ("_start",)

    def __init__(self, frame: FrameType) -> None:
        self._start = slots.address(frame)

    def at(self, index: int) -> Any:
        """What lies at ``index``, `MISSING` for nothing."""
        if not _TAGS:
            try:
                return _object(self._start + index * _WORD).value
            except ValueError:
                return MISSING
        address = _word(self._start + index * _WORD).value & ~_TAGS
        return _cast(address, _py_object).value if address else MISSING

    def several(self, index: int, count: int) -> List[Any]:
        """What lies at ``count`` places from ``index`` on."""
        return [self.at(place) for place in range(index, index + count)]
