"""Texts made by a format: what the fields name is in them, and nothing else of what is given. May import attributes.

A template that cannot be read takes everything that it is given.
"""

import _string  # type: ignore[import-not-found]
import re
from typing import Any, Iterator, List, Optional, Tuple

from healguard_core.execution.guard.callables import MISSING
from healguard_core.execution.guard.kinds import Kinds
from healguard_core.execution.tracking.heap import Heap, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.attributes import load, plain_attribute
from healguard_core.execution.tracking.natives.call import NativeCall, entry, visible
from healguard_core.execution.tracking.natives.lookup import TABLE

_parse, _split = _string.formatter_parser, _string.formatter_field_name_split
_HOLDING = Kinds(dict, list, tuple)
_DEEPEST = 2  # a field inside of a specification is the last that Python reads
_PERCENT_KEY = re.compile(r"%\(([^()]*)\)")


def _fields(template: str, level: int = 0) -> Iterator[str]:
    """The names of the fields of ``template``, also those in specifications. Raises ``ValueError``."""
    for _, name, specification, _ in _parse(template):
        if name is not None:
            yield name
            if specification and level < _DEEPEST:
                yield from _fields(specification, level + 1)


def _field(heap: Heap, value: Any, mark: Optional[Mark], steps: Iterator[Tuple[bool, Any]]) -> Optional[Mark]:
    """What a field carries that goes from ``value`` along ``steps`` (is it an attribute?, its name or key)."""
    for is_attribute, key in steps:
        if is_attribute:
            mark = load(heap, value, mark, key)
            value = plain_attribute(value, key)
        elif type(value) in _HOLDING and (type(value) is dict or isinstance(key, int)):
            mark = join(mark, heap.get(value, item(key)))
            value = value.get(key, MISSING) if type(value) is dict else value[key] if key < len(value) else MISSING
        else:
            return join(mark, heap.reach(value))
        if value is MISSING:
            return mark
    return join(mark, visible(heap, value))


def _formatted(call: NativeCall, template: Any, lookup: Any) -> Optional[Mark]:
    """The mark of ``template`` filled; ``lookup`` gives value and mark of an argument, by position or name."""
    found = join(call.callee_mark, call.receiver_mark, *call.returned)
    position = 0
    try:
        for name in _fields(template):
            first, steps = _split(name)
            if first == "":
                first, position = position, position + 1
            value, mark = lookup(first)
            found = join(found, _field(call.heap, value, mark, steps))
    except (ValueError, LookupError, TypeError):  # not for us to say what is wrong with it
        return join(found, call.deep())
    return found


@TABLE.rule(*entry(str, "format"), reads=True)
def _format(call: NativeCall, _result: Any) -> Optional[Mark]:
    def lookup(first: Any) -> Tuple[Any, Optional[Mark]]:
        if isinstance(first, int):
            return call.args[first], call.marks[first]
        return call.kwargs[first], call.named_marks.get(first)

    return _formatted(call, call.receiver, lookup)


@TABLE.rule(*entry(str, "format_map"), reads=True)
def _format_map(call: NativeCall, _result: Any) -> Optional[Mark]:
    mapping, mark = call.args[0], call.marks[0]

    def lookup(first: Any) -> Tuple[Any, Optional[Mark]]:
        if not isinstance(mapping, dict):
            return mapping, mark
        key = str(first)
        return dict.get(mapping, key, MISSING), join(mark, call.heap.get(mapping, item(key)))

    return _formatted(call, call.receiver, lookup)


@TABLE.rule(*entry(str, "__mod__"), reads=True)
def _percent(call: NativeCall, _result: Any) -> Optional[Mark]:
    given, template = call.args[0], call.receiver
    keys: List[str] = _PERCENT_KEY.findall(template) if type(given) is dict and isinstance(template, str) else []
    if not keys or len(keys) != template.count("%("):
        return call.visible()
    marks = [_field(call.heap, given.get(key, MISSING), call.heap.get(given, item(key)), iter(())) for key in keys]
    return join(call.shallow(), *marks, *call.returned)
