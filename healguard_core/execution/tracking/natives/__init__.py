"""What C callables do with marks: one `Summary` for each kind that is known. May import labels and heap.

The interpreter's own operations are asked for as the functions of `operator`, `iter` and `next`: ``a + b`` on two
lists is a call of ``operator.add``, ``x += y`` one of ``operator.iadd``, a slice ``operator.getitem``, a step of a
``for`` loop ``next(iterator)``. What has no summary is treated coarsely, see `execution.tracking.calls`.
"""

from typing import Any, List, Optional, Tuple

from healguard_core.execution.tracking.heap import Heap
from healguard_core.execution.tracking.labels import Mark
from healguard_core.execution.tracking.natives import (
    arrays,
    attributes,
    concurrent,
    documents,
    elements,
    formatting,
    functional,
    iterating,
    itertool,
    lookup,
    mappings,
    objects,
    operators,
    pure,
    sequences,
    sets,
    storing,
    texts,
    trees,
)
from healguard_core.execution.tracking.natives.call import Marks, NativeCall, Summary, is_python_object, visible
from healguard_core.execution.tracking.natives.concurrent import awaited, hands_on, is_handle, task_result
from healguard_core.execution.tracking.natives.lookup import is_python_callable, plain, unwrapped
from healguard_core.execution.tracking.natives.texts import text_of, written

__all__ = [
    "Marks", "NativeCall", "Summary", "awaited", "hands_on", "is_handle", "is_python_callable", "is_python_object",
    "plain", "summary_of", "task_result", "text_of", "unpacked", "unwrapped", "visible", "written",
]

FILLING_THE_TABLE = (
    attributes, documents, formatting, functional, iterating, itertool, mappings, objects, operators, sequences, sets,
    storing, texts,
)
"""The modules that put their summaries into the table when they are imported."""

_FINDERS = (lookup.summary_of, storing.csv_rule, concurrent.find, documents.find, trees.find, pure.find, arrays.find)


def summary_of(callee: Any) -> Optional[Summary]:
    """The summary of a C callable, recognised by what it is; None where it is not known. Runs no program code."""
    for find in _FINDERS:
        found: Optional[Summary] = find(callee)
        if found is not None:
            return found
    return None


def unpacked(
    heap: Heap, iterable: Any, mark: Optional[Mark], values: Tuple[Any, ...], returned: List[Optional[Mark]]
) -> List[Optional[Mark]]:
    """The marks of ``values``, which unpacking ``iterable`` gave. To be asked before it is consumed where it is an
    iterator, and afterwards for anything else.
    """
    call = NativeCall(heap, tuple, (iterable,), (mark,))
    call.returned = returned
    flows = elements.assigned(call, elements.ahead(heap, iterable, mark), values)
    return [elements.settle(call, flow) for flow in flows]
