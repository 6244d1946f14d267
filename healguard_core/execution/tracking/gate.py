"""Which frames have to be followed: those that can touch anything that is marked. May import heap, shadow, program.

A frame whose parameters are clean, that reaches nothing marked through its variables and the globals that it names,
and that names no marked attribute, can neither read a mark nor move one: it runs untouched. What it calls is asked
about on its own, and a callee that returns a marked value has its caller followed from there on.
"""

from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Dict, Tuple

from healguard_core.execution.tracking.heap import Heap, parts
from healguard_core.execution.tracking.shadow import Shadow

_MOST_SEEN = 300
_ATOMS = frozenset((str, int, float, bool, bytes, complex, type(None), type(...), BuiltinFunctionType, range, slice))
_module_dict = vars(ModuleType)["__dict__"].__get__


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
        if isinstance(value, type):
            return heap.marked(value)
        seen = set()
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
            waiting.extend(parts(one))
        return False
