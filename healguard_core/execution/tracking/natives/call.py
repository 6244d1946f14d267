"""One call of a C callable, and what a summary of it is. May import labels and heap."""

import gc
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType
from typing import Any, Callable, Dict, Generator, List, Optional, Tuple

from healguard_core.execution.guard.callables import MISSING, class_entry, instance_dict
from healguard_core.execution.guard.kinds import ByKind, Kinds, identity
from healguard_core.execution.tracking.heap import ELEMENTS, WHOLE, Heap, Slot, attribute, item, parts
from healguard_core.execution.tracking.labels import Mark, coarse, join

Marks = Tuple[Optional[Mark], ...]
LENGTH = attribute("__len__")
"""How many items a container has, where a heal or a marked number decided that."""

_ATOMS = Kinds(str, int, float, bool, bytes, complex, type(None), type(...), type(NotImplemented))
_FROZEN = (str, bytes, int, float, complex, tuple, frozenset, range, slice, type(None), type(...), type(NotImplemented))
_CALLED = Kinds(FunctionType, MethodType)
_CONTAINERS = (list, tuple, dict, set, frozenset)
_MOST_CONTENTS = 20000
_gc_referents = gc.get_referents
_exception_args = BaseException.__dict__["args"].__get__


class NativeCall:
    """One call of a C callable, with the marks of everything in flight.

    ``callee`` is the plain callable: a builtin function, a method descriptor (then ``receiver`` is what it was bound
    to, and is not among ``args``), or a class. ``marks`` go with ``args``, ``named_marks`` with ``kwargs``;
    ``receiver_mark`` and ``callee_mark`` with the references that these were reached by. ``ambient`` is the mark of
    the heal that runs in this thread: it joins whatever is stored. ``returned`` collects the marks that Python
    callbacks returned while it ran, in order. ``kept`` is a summary's own, from `before` to `after`.
    """

    __slots__ = ("ambient", "args", "callee", "callee_mark", "heap", "kept", "kwargs", "marks", "named_marks",
                 "receiver", "receiver_mark", "returned", "values")

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
        ambient: Optional[Mark] = None,
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
        self.ambient = ambient
        self.returned: List[Optional[Mark]] = []
        self.values: List[Any] = []
        self.kept: Any = None

    # ----------------------------------------------------------------- unions

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

    def visible(self) -> Optional[Mark]:
        """The union of everything in flight, of what C code sees in it, and of what callbacks returned."""
        heap = self.heap
        return join(
            self.shallow(),
            visible(heap, self.receiver),
            *[visible(heap, value) for value in self.args],
            *[visible(heap, value) for value in self.kwargs.values()],
            *self.returned,
        )

    # ----------------------------------------------------------------- arguments

    def argument(self, index: int, name: str = "", default: Any = MISSING) -> Any:
        """The value of a parameter, given by position or by name."""
        if index < len(self.args):
            return self.args[index]
        return self.kwargs.get(name, default)

    def mark(self, index: int, name: str = "") -> Optional[Mark]:
        """The mark of a parameter's reference."""
        if index < len(self.marks):
            return self.marks[index]
        return self.named_marks.get(name)

    # ----------------------------------------------------------------- stores

    def store(self, owner: Any, slot: Slot, mark: Optional[Mark]) -> None:
        """Say that a value with ``mark`` was stored to ``slot`` of ``owner``."""
        stored = join(mark, self.ambient)
        if slot is ELEMENTS or slot is WHOLE:
            self.heap.add(owner, slot, stored)
        else:
            self.heap.put(owner, slot, stored)

    def resized(self, owner: Any, mark: Optional[Mark] = None) -> None:
        """Say that the number of items of ``owner`` changed, by as much as a value with ``mark`` told."""
        self.heap.add(owner, LENGTH, join(mark, self.ambient))

    def spoiled(self) -> None:
        """Nobody knows what it did to the mutable objects in flight: mark them with everything, as approximations."""
        mark = coarse(join(self.deep(), self.ambient, *self.returned))
        if mark is not None:
            for value in (self.receiver,) + tuple(self.args) + tuple(self.kwargs.values()):
                if not isinstance(value, _FROZEN) and type(value) is not FunctionType and not isinstance(value, type):
                    self.heap.add(value, WHOLE, mark)


def visible(heap: Heap, value: Any) -> Optional[Mark]:
    """The union of the marks inside of ``value`` that C code sees without calling the program.

    Containers show their items. An object of a Python class shows nothing: its attributes are asked for by Python
    functions, whose results are followed. Other objects of C types show everything.
    """
    if type(value) in _ATOMS or not heap:
        return None
    found: Optional[Mark] = None
    seen: Dict[int, Any] = {}
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if type(one) in _ATOMS or identity(one) in seen:
            continue
        seen[identity(one)] = one
        if len(seen) > _MOST_CONTENTS:
            return join(found, coarse(heap.everything()))
        if type(one) in _CALLED:
            continue  # what it gives back is followed
        if isinstance(one, _CONTAINERS):
            found = join(found, heap.any(one))
            waiting.extend(_items(one))
        elif isinstance(one, BaseException):
            slots = heap.slots(one)
            native = [mark for slot, mark in slots.items() if slot[0] != "attribute" or _is_field(one, slot[1])]
            found = join(found, *native)
            waiting.append(_exception_args(one))
        elif is_python_object(one):
            found = join(found, heap.get(one, ELEMENTS), heap.get(one, WHOLE))
        else:
            found = join(found, heap.any(one))
            waiting.extend(parts(one))
    return found


def _is_field(error: BaseException, name: str) -> bool:
    """Whether C code keeps the attribute ``name`` of an exception."""
    return type(class_entry(type(error), name)) in (MemberDescriptorType, GetSetDescriptorType)


def _items(container: Any) -> List[Any]:
    if type(container) is list or type(container) is tuple:
        return _gc_referents(container)  # C types keep lists with empty places in them, which cannot be iterated over
    if isinstance(container, dict):
        return list(dict.keys(container)) + list(dict.values(container))
    kind: Any
    for kind in (list, tuple, set, frozenset):
        if isinstance(container, kind):
            return list(kind.__iter__(container))
    return []


def is_python_object(value: Any) -> bool:
    """Whether ``value`` is an instance of a class that was written in Python."""
    kind = type(value)
    if not kind.__flags__ & 1 << 9:  # Py_TPFLAGS_HEAPTYPE
        return False
    return instance_dict(value) is not None or class_entry(kind, "__slots__") is not MISSING


class Summary:
    """What one kind of C callable does. Summaries keep no state; what they need between both steps is `call.kept`.

    ``repeatable``: it changes nothing in flight but iterators, so that both steps may also be taken afterwards.
    """

    repeatable = False

    def before(self, call: NativeCall) -> None:
        """Called before it runs: look at what it is about to change."""

    def after(self, call: NativeCall, result: Any) -> Optional[Mark]:
        """Called with its result: write the marks of what it stored to ``call.heap``; the mark of the result's
        reference. Elements of a fresh ``result`` get theirs in the heap, not here.
        """
        return call.shallow()

    def failed(self, call: NativeCall) -> None:
        """Called instead of `after` when it raised: what it may have done by then."""
        call.spoiled()


Rule = Callable[[NativeCall, Any], Optional[Mark]]
Steps = Callable[[NativeCall], Generator[None, Any, Optional[Mark]]]


class After(Summary):
    """A callable of which only arguments and result count: it changes nothing that is looked at before it runs."""

    def __init__(self, rule: Rule, harmless: bool = False) -> None:
        self.rule = rule
        self.harmless = self.repeatable = harmless

    def after(self, call: NativeCall, result: Any) -> Optional[Mark]:
        return self.rule(call, result)

    def failed(self, call: NativeCall) -> None:
        if not self.harmless:
            call.spoiled()


class Around(Summary):
    """A callable told as a generator: what stands before its ``yield`` runs before the call, which gives the result."""

    def __init__(self, steps: Steps, repeatable: bool = False) -> None:
        self.steps = steps
        self.repeatable = repeatable

    def before(self, call: NativeCall) -> None:
        call.kept = self.steps(call)
        next(call.kept)

    def after(self, call: NativeCall, result: Any) -> Optional[Mark]:
        try:
            call.kept.send(result)
        except StopIteration as stop:
            mark: Optional[Mark] = stop.value
            return mark
        raise RuntimeError("the rule of {!r} has two yields".format(call.callee))

    def failed(self, call: NativeCall) -> None:
        call.kept.close()
        call.spoiled()


class Table:
    """Summaries by callable, and by the type of what is called."""

    def __init__(self) -> None:
        self.callables: Dict[int, Tuple[Any, Summary]] = {}
        self.types = ByKind()

    def add(self, summary: Summary, *callees: Any) -> None:
        """``summary`` is that of each of ``callees`` (`MISSING` ones, which this Python lacks, are left out)."""
        for callee in callees:
            if callee is not MISSING and callee is not None:
                self.callables.setdefault(identity(callee), (callee, summary))

    def rule(self, *callees: Any, reads: bool = False) -> Callable[[Any], Any]:
        """The decorated rule is that of ``callees``: ``rule(call, result)``, or a generator ``rule(call)``. ``reads``:
        they change nothing but iterators.
        """

        def register(rule: Any) -> Any:
            self.add(Around(rule, reads) if rule.__code__.co_flags & 0x20 else After(rule, reads), *callees)
            return rule

        return register

    def kind(self, *types: type) -> Callable[[Any], Any]:
        """The decorated rule is that of calling an instance of one of ``types``."""

        def register(rule: Any) -> Any:
            for one in types:
                self.types[one] = Around(rule) if rule.__code__.co_flags & 0x20 else After(rule)
            return rule

        return register

    def find(self, callee: Any) -> Optional[Summary]:
        """The summary of exactly ``callee``."""
        found = self.callables.get(identity(callee))
        if found is not None:
            return found[1]
        for kind in type.__dict__["__mro__"].__get__(type(callee)):
            of_type: Optional[Summary] = self.types.get(kind)
            if of_type is not None:
                return of_type
        return None


def entry(owner: type, *names: str) -> List[Any]:
    """The raw entries of a class' own namespace, without those that this Python lacks."""
    namespace = type.__dict__["__dict__"].__get__(owner)
    return [namespace[name] for name in names if name in namespace]


class Derived(Summary):
    """The result is computed from everything that is visible in flight; nothing is stored."""

    repeatable = True

    def before(self, call: NativeCall) -> None:
        values = (call.receiver,) + tuple(call.args)
        found = [visible(call.heap, one) for one in values if class_entry(type(one), "__next__") is not MISSING]
        call.kept = join(*found)

    def after(self, call: NativeCall, result: Any) -> Optional[Mark]:
        return join(call.kept, call.visible())

    def failed(self, call: NativeCall) -> None:
        """A computation that failed has changed nothing."""


def fetched(call: NativeCall, _result: Any) -> Optional[Mark]:
    """The result says something about the references only, not about their contents."""
    return call.shallow()


def nothing(_call: NativeCall, _result: Any) -> Optional[Mark]:
    """A test: control, not data."""
    return None


DERIVED = Derived()
SHALLOW = After(fetched, harmless=True)
NOTHING = After(nothing, harmless=True)


def place(call: NativeCall, owner: Any, index: int, mark: Optional[Mark]) -> None:
    """Item ``index`` of the fresh ``owner`` has ``mark``."""
    if mark is not None or call.ambient is not None:
        call.store(owner, item(index), mark)
