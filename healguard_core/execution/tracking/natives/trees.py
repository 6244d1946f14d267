"""Elements of `xml.etree`, which are written in C: attribute by attribute, and child by child. May import attributes.

Known once the program has imported them.
"""

import sys
from types import MethodDescriptorType
from typing import Any, Dict, Optional

from healguard_core.execution.guard.callables import MISSING
from healguard_core.execution.tracking.heap import ELEMENTS, attribute, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import NOTHING, After, NativeCall, Summary
from healguard_core.execution.tracking.natives.elements import referents


def _attributes(element: Any) -> Any:
    """The dictionary of the attributes of ``element``, None where it has none."""
    found = [one for one in referents(element) if type(one) is dict]
    return found[0] if found else None


def _children(call: NativeCall, element: Any) -> Optional[Mark]:
    return join(call.callee_mark, call.receiver_mark, call.heap.get(element, ELEMENTS))


def _get(call: NativeCall, result: Any) -> Optional[Mark]:
    held, key = _attributes(call.receiver), call.argument(0, "key")
    found = join(call.receiver_mark, call.mark(0, "key"), None if held is None else call.heap.get(held, item(key)))
    default = call.argument(1, "default")
    return join(found, call.mark(1, "default")) if default is not MISSING and result is default else found


def _set(call: NativeCall, _result: Any) -> Optional[Mark]:
    held = _attributes(call.receiver)
    if held is not None:
        call.store(held, item(call.argument(0, "key")), join(call.mark(0, "key"), call.mark(1, "value")))
    return None


def _given_attributes(call: NativeCall, element: Any, position: int) -> None:
    held, given = _attributes(element), call.argument(position, "attrib")
    for key in list(held) if held is not None else ():
        mark = call.named_marks.get(key)
        if isinstance(given, dict) and key in given:
            mark = join(mark, call.mark(position, "attrib"), call.heap.get(given, item(key)))
        if mark is not None or call.ambient is not None:
            call.store(held, item(key), mark)


def _tagged(call: NativeCall, element: Any, position: int) -> None:
    mark = call.mark(position, "tag")
    if mark is not None or call.ambient is not None:
        call.store(element, attribute("tag"), mark)


def _made(call: NativeCall, result: Any) -> Optional[Mark]:
    _tagged(call, result, 0)
    _given_attributes(call, result, 1)
    return call.callee_mark


def _sub_element(call: NativeCall, result: Any) -> Optional[Mark]:
    _tagged(call, result, 1)
    _given_attributes(call, result, 2)
    return join(call.callee_mark, call.mark(0))


def _taken_in(call: NativeCall, _result: Any) -> Optional[Mark]:
    for value, mark in zip(call.args, call.marks):
        inner = None if type(value) is type(call.receiver) else call.heap.reach(value)
        call.heap.add(call.receiver, ELEMENTS, join(mark, inner, call.ambient))
    return None


def _text_below(call: NativeCall, _result: Any) -> Optional[Mark]:
    """The text of some child, found by C code."""
    return join(call.shallow(), call.heap.reach(call.receiver))


def _child(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(_children(call, call.receiver), *call.marks)


def _named(call: NativeCall, _result: Any) -> Optional[Mark]:
    """Names and values of attributes."""
    held = _attributes(call.receiver)
    return join(call.shallow(), None if held is None else call.heap.any(held))


_RULES: Dict[str, Summary] = {
    "get": After(_get, harmless=True), "set": After(_set),
    "find": After(_child, harmless=True), "findall": After(_child, harmless=True),
    "iterfind": After(_child, harmless=True), "iter": After(_child, harmless=True),
    "__getitem__": After(_child, harmless=True), "makeelement": After(_child, harmless=True),
    "findtext": After(_text_below, harmless=True), "itertext": After(_text_below, harmless=True),
    "keys": After(_named, harmless=True), "items": After(_named, harmless=True),
    "append": After(_taken_in), "insert": After(_taken_in), "extend": After(_taken_in), "__setitem__": After(_taken_in),
    "remove": NOTHING, "__len__": NOTHING, "__delitem__": NOTHING,
}
_MADE, _SUB = After(_made), After(_sub_element)


def find(callee: Any) -> Optional[Summary]:
    """The summary of an operation on elements; None for other callables."""
    module = sys.modules.get("_elementtree")
    if module is None:
        return None
    kind = module.Element
    if type(callee) is MethodDescriptorType:
        return _RULES.get(callee.__name__) if callee.__objclass__ is kind else None
    if callee is kind:
        return _MADE
    return _SUB if callee is module.SubElement else None
