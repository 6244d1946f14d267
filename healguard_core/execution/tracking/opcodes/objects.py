"""Attributes, imports and patterns. May import what base may."""

from typing import Optional

from healguard_core.execution.tracking import attributes, namespaces
from healguard_core.execution.tracking.heap import item
from healguard_core.execution.tracking.labels import Mark
from healguard_core.execution.tracking.opcodes.base import V312, computed, opcode, over, quiet
from healguard_core.execution.tracking.shadow import Flight, Shadow


def load_attribute(s: Shadow, name: str) -> Optional[Mark]:
    """The mark of an attribute of the topmost entry, before it is loaded; a getter may add to it."""
    base = s.stack[-1]
    if base is None and quiet(s):
        return None
    owner = s.top()
    s.flight = Flight([(owner, base), (name, None)] + attributes.descriptor(owner, name))
    s.pending = computed
    found = attributes.joined(s.machine.heap, owner, base, name)
    mark: Optional[Mark] = s.machine.sinks.read(owner, name, found)
    return mark


@opcode("LOAD_ATTR")
def _load_attr(s: Shadow, arg: int) -> None:
    method = V312 and arg & 1
    name = s.code.co_names[arg >> 1 if V312 else arg]
    mark = load_attribute(s, name)
    if name == "f_locals":
        namespaces.read_from(s, s.top())
    s.stack[-1] = mark
    if method:
        s.stack.append(mark)


@opcode("LOAD_METHOD")
def _load_method(s: Shadow, arg: int) -> None:
    mark = load_attribute(s, s.code.co_names[arg])
    s.stack[-1] = mark
    s.stack.append(mark)


@opcode("LOAD_SUPER_ATTR")
def _load_super(s: Shadow, arg: int) -> None:
    name = s.code.co_names[arg >> 2]
    mark = load_attribute(s, name)
    del s.stack[-3:]
    s.stack.append(mark)
    if arg & 1:
        s.stack.append(mark)


@opcode("LOAD_SPECIAL")
def _load_special(s: Shadow, _arg: int) -> None:
    s.stack.append(s.stack[-1])


@opcode("STORE_ATTR")
def _store_attr(s: Shadow, arg: int) -> None:
    stack = s.stack
    mark, base = stack[-2:]
    if mark is None and base is None and quiet(s):
        del stack[-2:]
        return
    value, owner = s.places.several(s.base + len(stack) - 2, 2)
    del stack[-2:]
    mark = s.stored(mark)
    name = s.code.co_names[arg]
    s.flight = Flight([(owner, base), (name, None), (value, mark)] + attributes.descriptor(owner, name))
    s.pending = over
    attributes.stored(s.machine.heap, owner, name, mark)


@opcode("DELETE_ATTR")
def _delete_attr(s: Shadow, arg: int) -> None:
    if quiet(s):
        s.stack.pop()
        return
    owner = s.top()
    s.stack.pop()
    attributes.stored(s.machine.heap, owner, s.code.co_names[arg], s.stored(None))




@opcode("IMPORT_NAME")
def _import_name(s: Shadow, _arg: int) -> None:
    del s.stack[-2:]
    s.stack.append(None)


@opcode("IMPORT_FROM")
def _import_from(s: Shadow, arg: int) -> None:
    mark = load_attribute(s, s.code.co_names[arg])
    s.stack.append(mark)


@opcode("IMPORT_STAR")
def _import_star(s: Shadow, _arg: int) -> None:
    s.stack.pop()


@opcode("GET_LEN")
def _get_len(s: Shadow, _arg: int) -> None:
    s.stack.append(s.stack[-1])


@opcode("MATCH_MAPPING", "MATCH_SEQUENCE")
def _match_kind(s: Shadow, _arg: int) -> None:
    s.stack.append(None)


@opcode("MATCH_KEYS")
def _match_keys(s: Shadow, _arg: int) -> None:
    keys, subject = s.top(1), s.top(2)
    mark = s.stack[-2]
    heap = s.machine.heap
    s.stack.append(mark)
    if type(subject) is dict and heap:
        def settle(s: Shadow, depth: int) -> None:
            found = s.places.at(s.base + depth - 1)
            if type(found) is tuple:
                for index, key in enumerate(keys):
                    heap.put(found, ("item", index), heap.get(subject, item(key)))

        s.pending = settle


@opcode("MATCH_CLASS")
def _match_class(s: Shadow, arg: int) -> None:
    subject, cls, names = s.places.several(s.base + len(s.stack) - 3, 3)
    mark = s.stack[-3]
    heap = s.machine.heap
    del s.stack[-3:]
    s.stack.append(mark)
    if heap:
        wanted = list(getattr(cls, "__match_args__", ()))[:arg] + list(names)

        def settle(s: Shadow, depth: int) -> None:
            found = s.places.at(s.base + depth - 1)
            if type(found) is tuple:
                for index, name in enumerate(wanted[-len(found):] if found else []):
                    heap.put(found, ("item", index), attributes.loaded(heap, subject, name))

        s.flight = Flight([(subject, mark)])
        s.pending = settle
