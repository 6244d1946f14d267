"""All memory as two arrays: reading from them makes no object of `ctypes`, and tells no audit hook of it.

Only for the addresses of objects that are known to be alive, and only after a self-test of the layout that is read.
Imports nothing of tracking but slots.
"""

import ctypes
import sys
from typing import Any

from healguard_core.execution.guard.kinds import identity

WORD = ctypes.sizeof(ctypes.c_void_p)
_COUNT = sys.maxsize // (2 * WORD)
WORDS = (ctypes.c_size_t * _COUNT).from_address(0)
OBJECTS = (ctypes.py_object * _COUNT).from_address(0)
"""Numbers and references, by address in words. Reading an empty reference raises ``ValueError``."""


def tells_addresses(value: Any) -> bool:
    """Whether the address of ``value`` in words is twice its identity, as CPython hashes pointers to 16 bytes."""
    return WORD == 8 and identity(value) << 4 == id(value)
