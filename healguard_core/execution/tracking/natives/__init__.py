"""What C callables do with marks: one `Summary` for each kind that is known. May import labels and heap.

The interpreter's own operations are asked for as the functions of `operator`, `iter` and `next`: ``a + b`` on two
lists is a call of ``operator.add``, ``x += y`` one of ``operator.iadd``, a slice ``operator.getitem``, a step of a
``for`` loop ``next(iterator)``. What has no summary is treated coarsely, see `execution.tracking.calls`.
"""

from typing import Any, Callable, Dict, List, Optional, Tuple

from healguard_core.execution.tracking.heap import Heap
from healguard_core.execution.tracking.labels import Mark, join

Marks = Tuple[Optional[Mark], ...]


class NativeCall:
    """One call of a C callable, with the marks of everything in flight.

    ``callee`` is the plain callable: a builtin function, a method descriptor (then ``receiver`` is what it was bound
    to, and is not among ``args``), or a class. ``marks`` go with ``args``, ``named_marks`` with ``kwargs``;
    ``receiver_mark`` and ``callee_mark`` with the references that these were reached by. ``returned`` collects the
    marks that Python callbacks returned while it ran, in order. ``kept`` is a summary's own, from `before` to `after`.
    """

    __slots__ = ("args", "callee", "callee_mark", "heap", "kept", "kwargs", "marks", "named_marks", "receiver",
                 "receiver_mark", "returned")

    def __init__(
        self,
        heap: Heap,
        callee: Any,
        args: Tuple[Any, ...] = (),
        marks: Marks = (),
        kwargs: Optional[Dict[str, Any]] = None,
        named_marks: Optional[Dict[str, Optional[Mark]]] = None,
        receiver: Any = None,
        receiver_mark: Optional[Mark] = None,
        callee_mark: Optional[Mark] = None,
    ) -> None:
        self.heap = heap
        self.callee = callee
        self.args = args
        self.marks = marks
        self.kwargs = kwargs or {}
        self.named_marks = named_marks or {}
        self.receiver = receiver
        self.receiver_mark = receiver_mark
        self.callee_mark = callee_mark
        self.returned: List[Optional[Mark]] = []
        self.kept: Any = None

    def shallow(self) -> Optional[Mark]:
        """The union of the marks of everything in flight, without contents."""
        return join(self.callee_mark, self.receiver_mark, *self.marks, *self.named_marks.values())

    def deep(self) -> Optional[Mark]:
        """The union of everything in flight and of all that is reachable from it."""
        reach = self.heap.reach
        return join(
            self.shallow(),
            reach(self.receiver),
            *[reach(value) for value in self.args],
            *[reach(value) for value in self.kwargs.values()],
        )


class Summary:
    """What one kind of C callable does. Summaries keep no state; what they need between both steps is `call.kept`."""

    def before(self, call: NativeCall) -> None:
        """Called before it runs: look at what it is about to change."""

    def after(self, call: NativeCall, result: Any) -> Optional[Mark]:
        """Called with its result: write the marks of what it stored to ``call.heap``; the mark of the result's
        reference. Elements of a fresh ``result`` get theirs in the heap, not here.
        """
        return call.shallow()


Lookup = Callable[[Any], Optional[Summary]]


def summary_of(callee: Any) -> Optional[Summary]:
    """The summary of a C callable, recognised by what it is; None where it is not known. Runs no program code."""
    return None
