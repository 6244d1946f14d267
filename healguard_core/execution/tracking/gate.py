"""Which frames have to be followed: those that can touch anything that is marked. May import heap, shadow, program.

A frame whose parameters are clean, that reaches nothing marked through its variables and the globals that it names,
and that names no marked attribute, can neither read a mark nor move one: it runs untouched. What it calls is asked
about on its own, and a callee that returns a marked value has its caller followed from there on.
"""

from types import BuiltinFunctionType, CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, Dict, List, Tuple

from healguard_core.execution.tracking.heap import Heap, parts
from healguard_core.execution.tracking.shadow import Shadow

_MOST_SEEN = 300
_ATOMS = frozenset((str, int, float, bool, bytes, complex, type(None), type(...), BuiltinFunctionType, range, slice))
_NO_CONTAINER = _ATOMS | {FunctionType, property, classmethod, staticmethod, MemberDescriptorType, GetSetDescriptorType}
_HEAP_TYPE = 1 << 9
_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_module_dict = vars(ModuleType)["__dict__"].__get__


def _held_by_class(cls: type) -> List[Any]:
    """What a class of the program keeps for all its instances, without its functions."""
    held = [cls] if cls.__flags__ & _HEAP_TYPE else []
    for base in _mro(cls):
        if base.__flags__ & _HEAP_TYPE:
            held.extend(value for value in list(_namespace(base).values()) if type(value) not in _NO_CONTAINER)
    return held


class Gate:
    """Decides about frames by what is marked in ``heap`` now."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self._names: Dict[int, Tuple[CodeType, frozenset]] = {}  # type: ignore[type-arg]

    def opens(self, shadow: Shadow) -> bool:
        """Whether the frame, whose parameters are marked already, has to be followed."""
        if any(shadow.locals) or any(shadow.stack):
            return True
        heap = self._heap
        if not heap:
            return False
        names = shadow.code.co_names
        if not heap.names.isdisjoint(names):
            return True
        for index in range(shadow.base):
            if self._leads(shadow.places.at(index)):
                return True
        return self._through_globals(shadow, names)

    def _through_globals(self, shadow: Shadow, names: Tuple[str, ...]) -> bool:
        scope = shadow.globals
        for name in names:
            value = scope.get(name, None)
            if isinstance(value, ModuleType):
                members = _module_dict(value)
                for other in names:
                    if self._leads(members.get(other, None)):
                        return True
            elif self._leads(value):
                return True
        return False

    def _leads(self, value: Any) -> bool:
        """Whether something marked is reachable from ``value``; yes, where there is too much to see."""
        heap = self._heap
        if type(value) in _ATOMS or isinstance(value, ModuleType):
            return False
        seen, classes = set(), set()
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if type(one) in _ATOMS or id(one) in seen:
                continue
            if heap.marked(one):
                return True
            seen.add(id(one))
            if len(seen) > _MOST_SEEN:
                return True
            if type(one) is FunctionType and one is not value:
                continue  # asked about when it is called
            cls = one if isinstance(one, type) else type(one)
            if id(cls) not in classes:
                classes.add(id(cls))
                waiting.extend(_held_by_class(cls))
            waiting.extend(parts(one))
        return False
