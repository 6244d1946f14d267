"""Objects and classes told apart by what they are. Imports nothing of ours and runs no program code.

Classes of a program compare and hash as their metaclass says, so that neither ``==`` nor a plain set is safe for them.
"""

from typing import Any, Dict, FrozenSet, Tuple

identity = object.__hash__
"""A number that no other living object has. `id` would tell every audit hook of each use, which costs much more."""


class Kinds:
    """A set of objects, of classes as a rule, by identity. ``numbers`` are their identities."""

    __slots__ = ("_held", "numbers")

    def __init__(self, *objects: Any) -> None:
        self._held: Tuple[Any, ...] = objects
        self.numbers: FrozenSet[int] = frozenset(map(identity, objects))

    def __contains__(self, one: object) -> bool:
        return identity(one) in self.numbers

    def and_more(self, *objects: Any) -> "Kinds":
        """These and ``objects``."""
        return Kinds(*self._held, *objects)


class ByKind:
    """A table whose keys are objects, classes as a rule, by identity."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: Dict[int, Tuple[Any, Any]] = {}  # with the key, which must not die

    def __setitem__(self, key: Any, value: Any) -> None:
        self._entries[identity(key)] = (key, value)

    def get(self, key: Any) -> Any:
        """What stands under ``key``, None for nothing."""
        found = self._entries.get(identity(key))
        return None if found is None else found[1]
