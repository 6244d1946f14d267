"""The values that declared security checks read, while a heal runs. May import callables and policy.

A heal's own stores are refused before they happen; what other code changes in its extent is put back afterwards.
"""

import types
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional

from healguard_core.execution.guard.callables import MISSING, instance_dict, is_class
from healguard_core.execution.guard.policy import Condition

_MRO = type.__dict__["__mro__"].__get__
_NAMESPACE = type.__dict__["__dict__"].__get__
_SUBCLASSES = type.__dict__["__subclasses__"]
_MOST_CLASSES = 200


class _Kept(NamedTuple):
    condition: Condition
    holder: Any
    value: Any


class Conditions:
    """The declared conditions as they were when a heal began."""

    def __init__(self, declared: Iterable[Condition]) -> None:
        self._declared = list(declared)
        self._kept: List[_Kept] = []

    def begin(self) -> None:
        """Remember every value: of modules, and of classes with their subclasses."""
        self._kept = [
            _Kept(condition, holder, _own(holder, condition.name))
            for condition in self._declared
            for holder in _holders(condition.owner)
        ]

    def touch(self, value: Any) -> None:
        """An object comes into the heal's hands: remember its own values, too."""
        if is_class(value) or isinstance(value, types.ModuleType):
            return
        for condition in self._declared:
            known = any(kept.holder is value and kept.condition is condition for kept in self._kept)
            if is_class(condition.owner) and condition.owner in _MRO(type(value)) and not known:
                self._kept.append(_Kept(condition, value, _own(value, condition.name)))

    def written(self, owner: Any, name: str) -> Optional[Condition]:
        """The condition that storing attribute ``name`` on ``owner`` would write."""
        for condition in self._declared:
            if condition.name == name and _belongs(condition.owner, owner):
                return condition
        return None

    def written_item(self, container: Any, key: Any) -> Optional[Condition]:
        """The condition that ``container[key] = ...`` would write: by a module's or an instance's dictionary."""
        if type(container) is not dict or type(key) is not str:
            return None
        for condition in self._declared:
            is_module = isinstance(condition.owner, types.ModuleType)
            if condition.name == key and is_module and container is vars(condition.owner):
                return condition
        for kept in self._kept:
            if kept.condition.name == key and instance_dict(kept.holder) is container:
                return kept.condition
        return None

    def written_name(self, scope: Dict[str, Any], names: Iterable[str]) -> Optional[Condition]:
        """The condition that binding one of ``names`` in the module dictionary ``scope`` would write."""
        for name in names:
            for condition in self._declared:
                is_module = isinstance(condition.owner, types.ModuleType)
                if condition.name == name and is_module and vars(condition.owner) is scope:
                    return condition
        return None

    def restore(self) -> Iterator[Condition]:
        """Put back every value that was changed, and say which."""
        for condition, holder, before in self._kept:
            if _own(holder, condition.name) is before:
                continue
            if before is MISSING:
                _delete(holder, condition.name)
            else:
                _put(holder, condition.name, before)
            yield condition
        self._kept = []


def _holders(owner: Any) -> Iterator[Any]:
    yield owner
    waiting = [owner] if is_class(owner) else []
    seen = 0
    while waiting and seen < _MOST_CLASSES:
        for subclass in _SUBCLASSES(waiting.pop()):
            seen += 1
            waiting.append(subclass)
            yield subclass


def _own(holder: Any, name: str) -> Any:
    """What ``holder`` itself binds ``name`` to."""
    if isinstance(holder, types.ModuleType):
        return vars(holder).get(name, MISSING)
    if is_class(holder):
        return _NAMESPACE(holder).get(name, MISSING)
    return (instance_dict(holder) or {}).get(name, MISSING)


def _belongs(owner: Any, target: Any) -> bool:
    if isinstance(owner, types.ModuleType):
        return target is owner
    return owner in _MRO(target if is_class(target) else type(target))


def _put(holder: Any, name: str, value: Any) -> None:
    if is_class(holder):
        type.__setattr__(holder, name, value)
    elif isinstance(holder, types.ModuleType):
        vars(holder)[name] = value
    else:
        (instance_dict(holder) or {})[name] = value


def _delete(holder: Any, name: str) -> None:
    if is_class(holder):
        type.__delattr__(holder, name)
    elif isinstance(holder, types.ModuleType):
        vars(holder).pop(name, None)
    else:
        (instance_dict(holder) or {}).pop(name, None)
