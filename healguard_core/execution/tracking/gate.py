"""Which frames have to be followed: those that can touch anything that is marked. May import frames and heap.

A frame that is given nothing marked, that reaches nothing marked through its variables and the globals that it names,
and that names no marked attribute, can neither read a mark nor move one: it runs untouched. What it calls is asked
about on its own, and a callee that returns something marked has its caller followed from there on.

As long as no instruction of a followed frame has run, what did not lead to anything marked cannot begin to: only
followed code has such things in its hands. So answers are kept for that long.
"""

import abc
import weakref
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any, Dict, List, Set, Tuple

from healguard_core.execution.guard.kinds import Kinds, identity
from healguard_core.execution.tracking.frames import MISSING, Places, code_word, origin
from healguard_core.execution.tracking.heap import Heap, parts

_MOST_SEEN = 20000
ATOMS = Kinds(str, int, float, bool, bytes, complex, type(None), type(...), BuiltinFunctionType, range, slice,
              type(MISSING), type(vars(abc.ABC)["_abc_impl"]))
_NO_CONTAINER = ATOMS.and_more(
    FunctionType, property, classmethod, staticmethod, MemberDescriptorType, GetSetDescriptorType)
_HIDING = ("ContextVar", "_local", "ProxyType", "CallableProxyType")  # what they lead to cannot be seen
_behind = weakref.ref.__call__
_HEAP_TYPE = 1 << 9
_GENERATOR_KINDS = 0x20 | 0x80 | 0x200
_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_module_dict = vars(ModuleType)["__dict__"].__get__


class Gate:
    """Decides about frames by what is marked in ``heap`` now."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self._slots: Dict[int, Any] = {}
        self.since = -1  # up to which followed instruction the answers hold
        self._codes: Dict[int, CodeType] = {}  # that name nothing marked
        self.plans: Dict[int, Tuple[int, ...]] = {}  # the same by address, with the words from the frame to its slots
        self.values: Set[int] = set()  # identities of what does not lead to anything marked

    def is_closed(self, frame: FrameType, code: CodeType, now: int) -> bool:
        """Whether a frame that is given nothing marked cannot touch a mark. ``now`` counts followed instructions."""
        heap = self._heap
        if not heap:
            return True
        if now != self.since:
            self.since = now
            self._codes.clear()
            self.plans.clear()
            self.values.clear()
        if identity(code) not in self._codes:
            if not heap.names.isdisjoint(code.co_names) or self._through_globals(frame.f_globals, code.co_names):
                return False
            self._codes[identity(code)] = code
            if code_word() >= 0:
                self.plans[identity(code) << 4] = tuple([origin() + index for index in self._places_of(code)])
        values = self.values
        places = Places(frame)
        for index in self._places_of(code):
            value = places.at(index)
            if type(value) not in ATOMS and identity(value) not in values and self._leads(value):
                return False
        return True

    def _places_of(self, code: CodeType) -> Tuple[int, ...]:
        """The slots that are filled when a frame of ``code`` begins: parameters and free variables; of one that can
        be resumed, all.
        """
        known = self._slots.get(identity(code))
        if known is None or known[0] is not code:
            count = len(code.co_varnames) + sum(1 for name in code.co_cellvars if name not in code.co_varnames)
            given = code.co_argcount + code.co_kwonlyargcount
            given += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
            free = range(count, count + len(code.co_freevars))
            filled = range(count) if code.co_flags & _GENERATOR_KINDS else range(given)
            known = self._slots[identity(code)] = (code, tuple(filled) + tuple(free))
        found: Tuple[int, ...] = known[1]
        return found

    def _through_globals(self, scope: Dict[str, Any], names: Any) -> bool:
        for name in names:
            value = scope.get(name)
            if isinstance(value, ModuleType):
                members = _module_dict(value)
                if any(self._leads(members.get(other, None)) for other in names):
                    return True
            elif self._leads(value):
                return True
        return False

    def _leads(self, value: Any) -> bool:
        """Whether something marked is reachable from ``value``; yes, where there is too much to see."""
        heap = self._heap
        seen: Set[int] = set()
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if type(one) in ATOMS or isinstance(one, ModuleType):
                continue
            number = identity(one)
            if number in seen or number in self.values:
                continue
            if heap.marked(one) or type(one).__name__ in _HIDING:
                return True
            seen.add(number)
            if isinstance(one, weakref.ref):
                waiting.append(_behind(one))
            if len(seen) > _MOST_SEEN:
                return True
            for cls in (one, type(one)) if isinstance(one, type) else (type(one),):
                if cls is one or identity(cls) not in seen:
                    waiting.extend(_held_by_class(cls))
            if type(one) is not FunctionType or one is value:  # another function is asked about when it is called
                waiting.extend(parts(one))
        self.values |= seen
        return False


def _held_by_class(cls: type) -> List[Any]:
    """What a class of the program keeps for all its instances, without its functions."""
    held: List[Any] = [cls] if cls.__flags__ & _HEAP_TYPE else []
    for base in _mro(cls):
        if base.__flags__ & _HEAP_TYPE:
            held.extend(value for value in list(_namespace(base).values()) if type(value) not in _NO_CONTAINER)
    return held
