"""Dictionaries of instances that the garbage collector does not show. Runs no program code.

From Python 3.13 on an instance keeps its attributes beside itself, and the collector shows these alone, even when the
program has got hold of a dictionary of them. Where that lies is found by a self-test. May import memory and slots.
"""

import sys
from typing import Any, Dict, Optional

from healguard_core.execution.guard.kinds import identity
from healguard_core.execution.tracking.memory import OBJECTS, WORDS, tells_addresses

_INLINE = 1 << 2  # Py_TPFLAGS_INLINE_VALUES


class _Sample:
    """An object with a dictionary of its own."""


def _found() -> int:
    """How many words before an object the pointer to its dictionary lies; 0 where that is not so."""
    sample: Any = _Sample()
    if sys.version_info < (3, 13) or not _Sample.__flags__ & _INLINE or not tells_addresses(sample):
        return 0
    before = [WORDS[(identity(sample) << 1) - back] for back in range(1, 5)]
    made = sample.__dict__
    for back in range(1, 5):
        if not before[back - 1] and WORDS[(identity(sample) << 1) - back] == id(made):
            return back
    return 0


_BACK = _found()


def hidden(value: Any) -> Optional[Dict[str, Any]]:
    """The dictionary of ``value`` that the collector does not show, where one was made; None for any other object."""
    if not _BACK or not type(value).__flags__ & _INLINE:
        return None
    place = (identity(value) << 1) - _BACK
    found: Any = OBJECTS[place] if WORDS[place] else None
    return found if isinstance(found, dict) else None
