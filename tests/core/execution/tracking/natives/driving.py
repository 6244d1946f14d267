"""Runs C callables the way that the tracker does: `before`, the call itself, `after`; and reads what came of it."""

import collections
import types
from typing import Any

from healguard_core.execution.guard.callables import MISSING
from healguard_core.execution.tracking.heap import ELEMENTS, KEY, WHOLE, Heap, attribute, item
from healguard_core.execution.tracking.labels import Mark, join, of_heal
from healguard_core.execution.tracking.natives import NativeCall, plain, summary_of
from healguard_core.execution.tracking.natives.call import LENGTH

HEAL = of_heal(0)
_DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)


class Stage:
    """A heap, and native calls on it."""

    def __init__(self) -> None:
        self.heap = Heap()
        self.calls: list[NativeCall] = []
        self.ambient: Mark | None = None

    def call(self, callee: Any, *args: Any, marks: Any = (), named_marks: Any = None, mark: Any = None, **kwargs: Any):
        """The result of ``callee(*args, **kwargs)`` and the mark of its reference. ``mark`` is the receiver's."""
        marks = tuple(marks) + (None,) * (len(args) - len(marks))
        found, receiver = plain(callee)
        receiver_mark, passed, passed_marks = mark, args, marks
        if receiver is MISSING and isinstance(found, _DESCRIPTORS):
            receiver, receiver_mark, passed, passed_marks = args[0], marks[0], args[1:], marks[1:]
        summary = summary_of(found)
        assert summary is not None, f"no summary of {callee!r}"
        native = NativeCall(
            self.heap, found, passed, passed_marks, kwargs, named_marks,
            None if receiver is MISSING else receiver, receiver_mark, ambient=self.ambient,
        )
        self.calls.append(native)
        summary.before(native)
        try:
            result = callee(*args, **kwargs)
        except BaseException:
            summary.failed(native)
            raise
        finally:
            self.calls.pop()
        return result, summary.after(native, result)

    def callback(self, function: Any, through: bool = True):
        """``function`` as a Python callback whose result is marked when something marked came in."""

        def called(*args: Any) -> Any:
            result = function(*args)
            hot = through and any("hot" in str(arg) for arg in args)
            if self.calls:
                self.calls[-1].returned.append(HEAL if hot else None)
            return result

        return called

    def step(self, iterator: Any, mark: Any = None):
        """One step of a ``for`` loop over ``iterator``."""
        return self.call(next, iterator, marks=[mark])

    def leaves(self, value: Any, mark: Any = None, path: tuple = ()) -> dict:
        """The plain values in ``value`` by path, each with the mark that reading it there gives."""
        heap, found = self.heap, {}
        if isinstance(value, list | tuple | collections.deque):
            found[(*path, "len")] = (len(value), join(mark, heap.get(value, LENGTH), heap.get(value, ELEMENTS)))
            for index, one in enumerate(value):
                found.update(self.leaves(one, join(mark, heap.get(value, item(index))), (*path, index)))
        elif isinstance(value, dict):
            for index, (key, one) in enumerate(value.items()):
                found[(*path, "key", index)] = (key, join(mark, heap.get(value, KEY(key))))
                found.update(self.leaves(one, join(mark, heap.get(value, item(key))), (*path, "at", index)))
        elif isinstance(value, set | frozenset):
            for index, one in enumerate(sorted(value)):
                found[(*path, index)] = (one, join(mark, heap.get(value, KEY(one)), heap.get(value, WHOLE)))
        elif isinstance(value, types.SimpleNamespace):
            for name, one in vars(value).items():
                found.update(self.leaves(one, join(mark, heap.get(value, attribute(name))), (*path, name)))
        else:
            found[path] = (value, join(mark, heap.any(value)))
        return found
