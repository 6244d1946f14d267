"""Errors that C code raises: their text and fields may tell what was in flight. May import natives and shadow."""

from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, Iterator, List, Optional, Tuple

from healguard_core.execution.guard.kinds import Kinds
from healguard_core.execution.tracking import natives
from healguard_core.execution.tracking.heap import attribute, item
from healguard_core.execution.tracking.labels import Mark, coarse, join
from healguard_core.execution.tracking.shadow import Shadow

_get_args = BaseException.__dict__["args"].__get__
_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_FIELDS = Kinds(MemberDescriptorType, GetSetDescriptorType)


def raised(s: Shadow, error: Any, trace: Any) -> None:
    """``error`` came out of the instruction in progress: by C code where ``trace`` begins and ends in this frame."""
    if trace is None or trace.tb_next is not None or not isinstance(error, BaseException):
        return
    if s.program.names[s.at].startswith(("RAISE", "RERAISE")):
        return
    heap = s.machine.heap
    pairs = (s.flight.pairs if s.flight is not None else []) + s.returned
    union = join(*[join(mark, natives.visible(heap, value)) for value, mark in pairs])
    if s.flight is None and s.stack:
        union = join(union, s.stack[-1])  # of the result that it would have had
    if union is None:
        return
    kept = _get_args(error)
    for index, value in enumerate(kept):
        heap.add(kept, item(index), _mark_of(value, pairs, union))
    for name, value in _fields(error):
        heap.add(error, attribute(name), _mark_of(value, pairs, union))


def _mark_of(value: Any, pairs: List[Tuple[Any, Optional[Mark]]], union: Mark) -> Optional[Mark]:
    """A field that is something in flight has its mark; a text may be made from all of it."""
    if value is None:
        return None
    same = [mark for one, mark in pairs if one is value]
    return join(*same) if same else coarse(union)


def _fields(error: BaseException) -> Iterator[Tuple[str, Any]]:
    """The fields beside ``args`` that C code keeps in an error."""
    for base in _mro(type(error)):
        if base is BaseException:
            return
        for name, found in list(_namespace(base).items()):
            if type(found) in _FIELDS and not name.startswith("__"):
                yield name, found.__get__(error)
