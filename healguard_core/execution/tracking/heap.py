"""Marks of locations: attributes, items, elements, cells, module globals. May import dictionaries,
labels and slots.

An object is known by its identity for as long as it lives: weakly where its class allows that, otherwise by a
reference that `prune` gives up once nobody else has one. Values are never told apart by identity: small integers,
strings and the empty tuple are shared by everyone.
"""

import gc
import sys
import weakref
from types import CodeType, FrameType, FunctionType, ModuleType, TracebackType
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from healguard_core.execution.guard.kinds import Kinds, identity
from healguard_core.execution.tracking.dictionaries import hidden
from healguard_core.execution.tracking.labels import Mark, coarse, join
from healguard_core.execution.tracking.slots import (
    CONTENT,
    ELEMENTS,
    KEY,
    WHOLE,
    Slot,
    attribute,
    item,
)

__all__ = ["CONTENT", "ELEMENTS", "KEY", "WHOLE", "Heap", "Slot", "attribute", "item"]

_ATOMS = Kinds(str, int, float, bool, bytes, complex, type(None), type(...), type(NotImplemented), range, slice)
_OPAQUE = (type, ModuleType, FrameType, TracebackType, CodeType)  # what everything leads to
_MOST_OBJECTS = 5000
_OWN_REFERENCES = 3  # of a strongly held object: the entry's, the local's and getrefcount's

_getrefcount = sys.getrefcount
_get_referents = gc.get_referents


class _Clean(Mark):
    """Stands in a slot that was overwritten by a clean value in an object that is marked as a whole."""

    __slots__ = ()


_CLEAN = _Clean(0, 0)


class _Entry:
    __slots__ = ("held", "slots", "weak")

    def __init__(self, owner: Any, forget: Callable[[Any], None]) -> None:
        self.slots: Dict[Slot, Mark] = {}
        self.held: Any = None
        self.weak: Any = None
        try:
            self.weak = weakref.ref(owner, forget)
        except TypeError:
            self.held = owner


class Heap:
    """The marks of all locations.

    ``names``: attributes and string keys that were ever marked since the heap was empty; ``wide``: whether anything
    was marked that is reached without such a name. ``entries`` is empty when nothing is marked.
    """

    def __init__(self) -> None:
        self.entries: Dict[int, _Entry] = {}
        self._notes: Dict[int, Any] = {}
        self._links: Dict[int, Tuple[Any, Any]] = {}
        self.changes = 0  # how often something was marked
        self.names: Set[str] = set()
        self.wide = False
        self.whole = False

    def __bool__(self) -> bool:
        return bool(self.entries)

    # ----------------------------------------------------------------- single locations

    def get(self, owner: Any, slot: Slot) -> Optional[Mark]:
        """The mark of what a load from ``slot`` of ``owner`` gives, not counting the references to either."""
        if self._links:
            owner, slot = self._linked(owner, slot)
        entry = self.entries.get(identity(owner))
        if entry is None:
            return None
        slots = entry.slots
        found = slots.get(slot)
        if found is not None:
            return None if found is _CLEAN else found
        found = slots.get(WHOLE)
        if slot[0] in ("item", "key"):
            found = join(found, slots.get(ELEMENTS))
        return found

    def put(self, owner: Any, slot: Slot, mark: Optional[Mark]) -> None:
        """Say what a store to ``slot`` of ``owner`` stored: a marked value, or a clean one."""
        if self._links:
            owner, slot = self._linked(owner, slot)
        entry = self.entries.get(identity(owner))
        if mark is None:
            if entry is not None:
                self._clear(owner, entry, slot)
            return
        self.changes += 1
        if entry is None:
            entry = self.entries[identity(owner)] = _Entry(owner, self._forgetter(identity(owner)))
        entry.slots[slot] = mark
        if slot[0] in ("attribute", "item") and type(slot[1]) is str:
            self.names.add(slot[1])
        if slot[0] != "attribute":
            self.wide = True
            self.whole = self.whole or slot is WHOLE or slot is ELEMENTS

    def holds_name(self, name: str) -> bool:
        """Whether an attribute ``name`` of anything may be marked, as far as it is known by name."""
        return name in self.names

    def add(self, owner: Any, slot: Slot, mark: Optional[Mark]) -> None:
        """Join ``mark`` to what ``slot`` carries, for stores that keep what was there (an element of a set)."""
        if mark is not None:
            self.put(owner, slot, join(self.get(owner, slot), mark))

    def clear(self, owner: Any) -> None:
        """Everything in ``owner`` was replaced by clean values."""
        self.entries.pop(identity(owner), None)

    def any(self, owner: Any) -> Optional[Mark]:
        """The union of the marks directly in ``owner``."""
        entry = self.entries.get(identity(owner))
        if entry is None:
            return None
        return join(*[mark for mark in entry.slots.values() if mark is not _CLEAN])

    def slots(self, owner: Any) -> Dict[Slot, Mark]:
        """A copy of the marked slots of ``owner``."""
        entry = self.entries.get(identity(owner))
        return {} if entry is None else {slot: mark for slot, mark in entry.slots.items() if mark is not _CLEAN}

    def marked(self, owner: Any) -> bool:
        """Whether anything directly in ``owner`` may be marked."""
        return identity(owner) in self.entries

    def _clear(self, owner: Any, entry: _Entry, slot: Slot) -> None:
        if slot is WHOLE or slot is ELEMENTS:
            return  # one clean element more cleans none
        if WHOLE in entry.slots or (slot[0] in ("item", "key") and ELEMENTS in entry.slots):
            entry.slots[slot] = _CLEAN
        elif entry.slots.pop(slot, None) is not None and not entry.slots:
            del self.entries[identity(owner)]

    def _forgetter(self, number: int) -> Callable[[Any], None]:
        entries, notes = self.entries, self._notes

        def forget(_reference: Any) -> None:
            entries.pop(number, None)
            notes.pop(number, None)

        return forget

    # ----------------------------------------------------------------- whole sequences

    def moved(self, owner: Any, place: Callable[[int], Optional[int]]) -> None:
        """The items of a list were shifted: ``place`` gives an old index' new one, None where the item is gone."""
        entry = self.entries.get(identity(owner))
        if entry is None:
            return
        shifted: Dict[Slot, Mark] = {}
        for slot, mark in entry.slots.items():
            if slot[0] != "item":
                shifted[slot] = mark
                continue
            now = place(slot[1])
            if now is not None:
                shifted[("item", now)] = mark
        entry.slots = shifted
        if not shifted:
            del self.entries[identity(owner)]

    def inserted(self, owner: Any, index: int, count: int = 1) -> None:
        """``count`` items came in before ``index`` of a list."""
        self.moved(owner, lambda old: old + count if old >= index else old)

    def removed(self, owner: Any, index: int, count: int = 1) -> None:
        """``count`` items from ``index`` on left a list."""
        self.moved(owner, lambda old: old if old < index else (None if old < index + count else old - count))

    def copied(self, source: Any, target: Any) -> None:
        """Everything in ``source`` was copied to the same slots of the fresh ``target``."""
        for slot, mark in self.slots(source).items():
            self.put(target, slot, mark)

    # ----------------------------------------------------------------- namespaces as mappings

    def link(self, namespace: Any, owner: Any) -> None:
        """``namespace`` is the dictionary (or the view of it) of ``owner``: its items are the owner's attributes."""
        if identity(namespace) in self._links:
            return
        try:
            held: Any = weakref.ref(owner)
        except TypeError:
            held = owner
        self._links[identity(namespace)] = (namespace, held)
        entry = self.entries.pop(identity(namespace), None)
        for slot, mark in entry.slots.items() if entry is not None else ():
            self.put(namespace, slot, None if mark is _CLEAN else mark)  # stored before anybody saw whose it is

    def _linked(self, owner: Any, slot: Slot) -> Tuple[Any, Slot]:
        link = self._links.get(identity(owner))
        if link is None:
            return owner, slot
        held = link[1]() if type(link[1]) is weakref.ref else link[1]
        return held, ("attribute", slot[1]) if slot[0] == "item" else slot

    # ----------------------------------------------------------------- notes

    def note(self, owner: Any) -> Any:
        """What a summary has noted about an object (an iterator's source and position), None without a note."""
        found = self._notes.get(identity(owner))
        return None if found is None else found[1]

    @property
    def is_noted(self) -> bool:
        """Whether any object has a note."""
        return bool(self._notes)

    def set_note(self, owner: Any, note: Any) -> None:
        """Note something about an object for as long as it lives."""
        try:
            held = weakref.ref(owner, self._forgetter(identity(owner)))
        except TypeError:
            held = owner
        self._notes[identity(owner)] = (held, note)

    # ----------------------------------------------------------------- contents

    def reach(self, value: Any) -> Optional[Mark]:
        """The union of the marks of all that is reachable from ``value``. Runs no program code.

        Classes and modules end the way. Where there is too much to see, all marks count, as an approximation.
        """
        if not self.entries or type(value) in _ATOMS:
            return None
        found: Optional[Mark] = None
        seen: Set[int] = set()
        level = [value]
        while level:
            following: List[Any] = []
            for one in level:
                if type(one) in _ATOMS or identity(one) in seen:
                    continue
                seen.add(identity(one))
                if len(seen) > _MOST_OBJECTS:
                    return join(found, coarse(self.everything()))
                if identity(one) in self.entries:
                    found = join(found, self.any(one))
                following.extend(parts(one))
            level = following
        return found

    def everything(self) -> Optional[Mark]:
        """The union of all marks."""
        return join(*[self.any(entry) for entry in self.owners()])

    def owners(self) -> Iterator[Any]:
        """The objects with marked locations."""
        for entry in list(self.entries.values()):
            owner = entry.held if entry.weak is None else entry.weak()
            if owner is not None:
                yield owner

    def prune(self) -> None:
        """Give up the objects that nobody but the heap has any more."""
        for table in (self.entries, self._notes, self._links):
            for number in list(table):
                kept = table[number]
                owner = kept.held if isinstance(kept, _Entry) else kept[0]
                kept = None
                if owner is not None and type(owner) is not weakref.ref and _getrefcount(owner) <= _OWN_REFERENCES:
                    del table[number]
                owner = None


def parts(value: Any) -> Iterator[Any]:
    """What ``value`` holds, as far as that is seen without running program code."""
    if isinstance(value, _OPAQUE):
        return
    if type(value) is FunctionType:
        yield from value.__closure__ or ()
        yield from (value.__defaults__, value.__kwdefaults__, value.__dict__)
        return
    for one in _get_referents(value):
        if not isinstance(one, _OPAQUE):
            yield one
    namespace = hidden(value)
    if namespace is not None:
        yield namespace
