"""What a heal wrote beyond names: by its own statements, and into objects that it handed to others.

May import callables. Runs no code of the program: contents are compared by identity, one and two levels deep, and only
those of Python's own containers and of instance dictionaries.
"""

import collections
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from healguard_core.execution.guard.callables import MISSING, instance_dict, is_class

MOST_OBJECTS = 64
MOST_ITEMS = 1000
MOST_WRITTEN = 60

_ATOMS = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis), type(NotImplemented), range, slice)
_SEQUENCES = (list, collections.deque)
_SETS = (set,)


class Write(NamedTuple):
    """One written location: ``slot`` of ``owner`` (an attribute's name, a key, or `MISSING` for the whole content).

    ``kind`` is attribute, item or content; ``text`` the location as the heal's author would write it.
    """

    owner: Any
    kind: str
    slot: Any
    text: str


class _Seen(NamedTuple):
    value: Any
    text: str
    before: Any


class Delta:
    """The written locations of one run of healing code, in order, each once."""

    def __init__(self) -> None:
        self.writes: List[Write] = []
        self._known: Dict[Tuple[int, str, Any], bool] = {}
        self._seen: Dict[int, _Seen] = {}

    def write(self, owner: Any, kind: str, slot: Any, text: str) -> None:
        """The heal's own statement writes a location."""
        self._add(Write(owner, kind, slot, text))

    def touch(self, value: Any, text: str) -> None:
        """The heal hands ``value`` to other code: remember what it holds now."""
        self._remember(value, text)
        if type(value) in _ATOMS or is_class(value):
            return
        for name, content in list((instance_dict(value) or {}).items())[:MOST_ITEMS]:
            if type(content) in (list, dict, set, collections.deque):
                self._remember(content, "{}.{}".format(text, name))

    def _remember(self, value: Any, text: str) -> None:
        if type(value) in _ATOMS or id(value) in self._seen or len(self._seen) >= MOST_OBJECTS:
            return
        before = _content(value)
        if before is not None:
            self._seen[id(value)] = _Seen(value, text, before)

    def settle(self) -> List[str]:
        """Compare what was handed out with what it holds now; every written location in words, bounded."""
        for seen in self._seen.values():
            after = _content(seen.value)
            if after is not None:
                for write in _differences(seen, after):
                    self._add(write)
        self._seen = {}
        texts = list(collections.OrderedDict.fromkeys(write.text for write in self.writes if write.text))
        more = len(texts) - MOST_WRITTEN
        return texts[:MOST_WRITTEN] + (["and {} more".format(more)] if more > 0 else [])

    def _add(self, write: Write) -> None:
        slot = write.slot if isinstance(write.slot, (str, int, bytes, tuple)) else id(write.slot)
        try:
            key = (id(write.owner), write.kind, slot)
            known = key in self._known
        except TypeError:  # a tuple of something that cannot be hashed
            key, known = (id(write.owner), write.kind, id(write.slot)), False
        if not known:
            self._known[key] = True
            self.writes.append(write)


def _content(value: Any) -> Any:
    """A shallow copy of what ``value`` holds, None where that is not to be seen or too much."""
    kind = type(value)
    if kind in _SEQUENCES or kind in _SETS:
        return list(value) if kind.__len__(value) <= MOST_ITEMS else None
    if kind in (dict, collections.OrderedDict, collections.defaultdict, collections.Counter):
        return dict(value) if dict.__len__(value) <= MOST_ITEMS else None
    if kind in _ATOMS or is_class(value):
        return None
    entries = instance_dict(value)
    return dict(entries) if entries is not None and len(entries) <= MOST_ITEMS else None


def _differences(seen: _Seen, after: Any) -> Iterator[Write]:
    value, text, before = seen
    if type(before) is list:
        if len(before) != len(after) or type(value) in _SETS:
            if len(before) != len(after) or any(a is not b for a, b in zip(before, after)):
                yield Write(value, "content", MISSING, text)
            return
        for index, (old, new) in enumerate(zip(before, after)):
            if old is not new:
                yield Write(value, "item", index, "{}[{}]".format(text, index))
        return
    item = isinstance(value, dict)
    for key in list(after) + [key for key in before if key not in after]:
        if before.get(key, MISSING) is not after.get(key, MISSING):
            gone = "del " if key not in after else ""
            if item:
                yield Write(value, "item", key, "{}{}[{}]".format(gone, text, _key(key)))
            else:
                yield Write(value, "attribute", key, "{}{}.{}".format(gone, text, key))


def _key(key: Any) -> str:
    if type(key) in (str, bytes, int, float, bool, type(None)):
        text = repr(key)
        return text if len(text) <= 40 else text[:37] + "..."
    return "<{}>".format(type(key).__name__)
