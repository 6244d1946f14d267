"""What C code has in its hands in the course of one instruction, and what it may hand on.

A value that C code gives to a Python function is told by what it is: something in flight, a part of it, or what another
function returned meanwhile. Anything else is fresh, and carries all of it as an approximation.
May import natives and variables.
"""

from gc import get_referents
from types import CodeType, FunctionType, MethodType
from typing import Any, Dict, List, Optional, Sequence, Tuple

from healguard_core.execution.guard.callables import class_entry, instance_dict
from healguard_core.execution.guard.kinds import Kinds, identity
from healguard_core.execution.tracking import natives
from healguard_core.execution.tracking.frames import MISSING
from healguard_core.execution.tracking.heap import KEY, attribute, item, parts
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.shadow import Flight, Shadow
from healguard_core.execution.tracking.variables import put_local, shadow_value

ATOMS = Kinds(str, int, float, bool, bytes, complex, type(None), type(...))


def fill_from_flight(shadow: Shadow, flight: Flight, returned: Sequence[Tuple[Any, Optional[Mark]]] = ()) -> None:
    """Mark the parameters of a function that C code, or code that is not followed, calls in the course of ``flight``.

    A parameter that is something in flight, or an element of it, or was ``returned`` before, has its mark; any other
    one carries the union.
    """
    code = shadow.code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    if count == 0:
        return
    union = join(in_flight(shadow.machine.heap, flight), *[mark for _, mark in returned])
    if union is None:
        return
    if not flight.widened:
        flight.widened = True
        _widen(shadow.machine.heap, flight)
    for index in range(count):
        value = shadow_value(shadow, index)
        if value is not MISSING:
            own = union if index or not _is_receiver(code, value) else None
            if index >= code.co_argcount + code.co_kwonlyargcount:
                own = None  # a fresh container of arguments, which are looked at one by one
            put_local(shadow, index, _mark_of(flight, value, own, returned))
        if (type(value) is tuple or type(value) is dict) and index >= count - 2 and index >= code.co_argcount:
            _mark_rest(shadow, flight, value, union)


def _mark_rest(shadow: Shadow, flight: Flight, value: Any, union: Mark) -> None:
    """The elements of ``*args`` and ``**kwargs``."""
    heap = shadow.machine.heap
    held = value.items() if type(value) is dict else enumerate(value)
    for key, one in held:
        heap.put(value, item(key), _mark_of(flight, one, union))


def _is_receiver(code: CodeType, value: Any) -> bool:
    """Whether ``code`` is a method that C code found in the class of ``value``, an object that was there before."""
    found = class_entry(type(value), code.co_name)
    return type(found) is FunctionType and found.__code__ is code


def _mark_of(
    flight: Flight, value: Any, union: Optional[Mark], returned: Sequence[Tuple[Any, Optional[Mark]]] = ()
) -> Optional[Mark]:
    found = [mark for pairs in (flight.pairs, returned) for one, mark in pairs if one is value]
    if found:
        return join(*found)
    if union is None or value is None or isinstance(value, type) or natives.is_handle(value):
        return None
    return union.coarse()


def _handed_on(heap: Any, value: Any) -> Optional[Mark]:
    """What code gets that ``value`` is given to. A function gets its defaults; its own variables it has by itself."""
    if type(value) is MethodType:
        value = value.__func__
    if type(value) is not FunctionType:
        found: Optional[Mark] = heap.reach(value)
        return found
    return join(heap.any(value), heap.reach(value.__defaults__), heap.reach(value.__kwdefaults__))


def in_flight(heap: Any, flight: Flight) -> Optional[Mark]:
    """The union of everything in flight and of what is reachable from it."""
    if flight.union is None:
        found = join(*[mark for _, mark in flight.pairs])
        if heap:
            found = join(found, *[_handed_on(heap, value) for value, _ in flight.pairs])
        flight.union = (found,)
    union: Optional[Mark] = flight.union[0]
    return union


_MOST_WIDENED = 20000


def _widen(heap: Any, flight: Flight) -> None:
    """Take the elements of containers in flight, and the attributes of objects, as being in flight themselves."""
    waiting = [(value, mark, 0) for value, mark in flight.pairs]
    seen = set()
    while waiting and len(flight.pairs) < _MOST_WIDENED:
        value, mark, level = waiting.pop(0)
        if type(value) in ATOMS or identity(value) in seen or level > 3:
            continue
        seen.add(identity(value))
        for part, slot_mark in _elements(heap, value):
            both = join(mark, slot_mark)
            flight.pairs.append((part, both))
            waiting.append((part, both, level + 1))


def _elements(heap: Any, value: Any) -> List[Tuple[Any, Optional[Mark]]]:
    kind = type(value)
    if kind is dict:
        found = [(held, heap.get(value, item(key))) for key, held in list(value.items())]
        return found + [(key, heap.get(value, KEY(key))) for key in list(value)]
    if (kind is list or kind is tuple) and len(get_referents(value)) == len(value):  # none of its places is empty
        return [(held, heap.get(value, item(index))) for index, held in enumerate(value)]
    if isinstance(value, type) or kind is FunctionType:
        return []
    whole = None if natives.is_handle(value) else heap.any(value)
    held = [(part, whole) for part in parts(value)]
    entries = instance_dict(value)
    if entries is not None:  # objects of C types, like `partial`, may have one as well
        held = [(part, whole) for part, _ in held if part is not entries and not _among(entries, part)]
        held += [(one, heap.get(value, attribute(name))) for name, one in list(entries.items())]
    return held


def _among(entries: Dict[str, Any], part: Any) -> bool:
    return any(one is part for one in entries.values())
