"""Which summary a C callable has. May import call.

A callable is recognised by what it is: the function itself, the descriptor in the type that defines it, the type of a
callable object, or what making an instance of a class amounts to. No code of the program runs.
"""

import functools
import types
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

from healguard_core.execution.guard.callables import BOUND_C, MISSING, c_method, class_entry, is_class
from healguard_core.execution.guard.kinds import Kinds
from healguard_core.execution.tracking.heap import Heap, attribute, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives import pure
from healguard_core.execution.tracking.natives.call import Marks, NativeCall, Summary, Table, visible

TABLE = Table()
"""Every summary; the modules beside this one fill it when they are imported."""

_DESCRIPTORS = Kinds(types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
_FUNCTIONS = (types.FunctionType, types.MethodType)
_MRO = type.__dict__["__mro__"].__get__


class Plain(NamedTuple):
    """A callable without its binding; ``receiver`` is `MISSING` where there is none."""

    callee: Any
    receiver: Any


def plain(callee: Any) -> Plain:
    """The descriptor and the receiver behind a bound method of a C type; any other callable as it is."""
    if type(callee) in BOUND_C:
        found = c_method(callee)
        if found is not MISSING:
            return Plain(found, callee.__self__)
    return Plain(callee, MISSING)


def summary_of(callee: Any) -> Optional[Summary]:
    """The summary of a C callable; None where it is not known. Runs no program code."""
    found = TABLE.find(callee)
    if found is None and is_class(callee):
        found = _of_class(callee)
    return found


_FROM_ARGUMENTS = (str, bytes, int, float, complex, tuple, frozenset, BaseException)
"""Types whose `__new__` takes the arguments of the call; the others leave them to `__init__`."""


def _of_class(cls: type) -> Optional[Summary]:
    """Making an instance of a class without a summary of its own is what the class does that it inherits from."""
    if any(base is type for base in _MRO(cls)):
        return TABLE.find(type) if not is_python_callable(cls) else TABLE.find(object)
    new, init = (type(class_entry(cls, name)) for name in ("__new__", "__init__"))
    for base in _MRO(cls)[1:]:
        found = TABLE.find(base) or pure.find(base)
        if found is None:
            continue
        own_new = new in (types.FunctionType, staticmethod)
        takes = any(one in _MRO(base) for one in _FROM_ARGUMENTS)
        if BaseException in _MRO(base) or not (own_new or (init is types.FunctionType and not takes)):
            return found if base is not object or _is_python_class(cls) else None
        return TABLE.find(object)
    return None


def _is_python_class(cls: type) -> bool:
    """Whether a class was made by a ``class`` statement: C types have no function that Python code can see into."""
    namespace = type.__dict__["__dict__"].__get__(cls)
    made = any(type(value) is types.FunctionType for value in namespace.values())
    return made or "__weakref__" in namespace or "__slots__" in namespace or "__firstlineno__" in namespace


def is_python_callable(callee: Any) -> bool:
    """Whether calling ``callee`` runs a Python function, whose result is followed."""
    for _ in range(8):
        kind = type(callee)
        if kind is types.MethodType:
            callee = callee.__func__
        elif kind is functools.partial:
            callee = callee.func
        elif kind is types.FunctionType:
            return True
        elif is_class(callee):
            return any(type(class_entry(callee, name)) is types.FunctionType for name in ("__init__", "__new__"))
        else:
            return type(class_entry(kind, "__call__")) is types.FunctionType
    return False


def applied(
    call: NativeCall,
    func: Any,
    func_mark: Optional[Mark],
    args: Sequence[Any],
    marks: Sequence[Optional[Mark]],
    result: Any,
    returned: Sequence[Optional[Mark]],
) -> Optional[Mark]:
    """The mark of ``result``, which native code got by calling ``func`` on ``args``, after it is over."""
    if is_python_callable(func):
        return join(func_mark, *returned)
    if type(func) is functools.partial:
        args, marks = tuple(func.args) + tuple(args), partial_marks(call.heap, func) + tuple(marks)
        func_mark = join(func_mark, call.heap.get(func, attribute("func")), call.heap.any(func.keywords))
        return applied(call, func.func, func_mark, args, marks, result, returned)
    summary = summary_of(plain(func).callee)
    known = MISSING not in [value for value in args if value is MISSING]
    inner = _called(call, func, func_mark, tuple(args), tuple(marks))
    inner.returned.extend(returned)
    if summary is not None and summary.repeatable and known and result is not MISSING and not any(map(_gives, args)):
        summary.before(inner)
        return summary.after(inner, result)
    if known and _looks_up(inner):
        return _looked_up(inner, result)
    held = None if inner.receiver is None or is_class(inner.receiver) else call.heap.reach(inner.receiver)
    if summary is None or not summary.repeatable:
        inner.spoiled()
    visibly = [visible(call.heap, value) for value in args if value is not MISSING]
    return join(inner.shallow(), held, *returned, *visibly)


_LOOKUPS = Kinds(dict.get, dict.pop, dict.__getitem__)


def _looks_up(call: NativeCall) -> bool:
    """Whether it is plain to see what a C method takes out of the object that it is bound to."""
    return (call.callee in _LOOKUPS and type(call.receiver) is dict and bool(call.args)
            and (type(call.args[0]) is str or type(call.args[0]) is int))


def _looked_up(call: NativeCall, result: Any) -> Optional[Mark]:
    """What a dictionary gives for a key: what it holds, or the default. ``result`` is `MISSING` before it is asked."""
    held = call.heap.get(call.receiver, item(call.args[0]))
    default, default_mark = (call.args[1], call.marks[1]) if len(call.args) > 1 else (MISSING, None)
    asked = join(call.callee_mark, call.receiver_mark, call.marks[0])
    if result is MISSING:
        return join(asked, held if dict.__contains__(call.receiver, call.args[0]) else default_mark)
    return join(asked, held, default_mark) if result is default else join(asked, held)


def _gives(value: Any) -> bool:
    """Whether a value is an iterator, of which nothing can be told once it has run."""
    return class_entry(type(value), "__next__") is not MISSING


def _called(call: NativeCall, func: Any, func_mark: Optional[Mark], args: Tuple[Any, ...], marks: Marks) -> NativeCall:
    callee, receiver = plain(func)
    receiver_mark = None
    if receiver is MISSING and type(callee) in _DESCRIPTORS and args:
        receiver, receiver_mark, args, marks = args[0], marks[0], args[1:], marks[1:]
    return NativeCall(
        call.heap, callee, args, marks, {}, {}, None if receiver is MISSING else receiver, receiver_mark, func_mark,
        call.ambient,
    )


def partial_marks(heap: Heap, made: Any) -> Marks:
    """The marks of the arguments that a ``functools.partial`` keeps."""
    return tuple(heap.get(made.args, item(i)) for i in range(len(made.args)))


def unwrapped(
    heap: Heap, made: Any
) -> Tuple[Any, Optional[Mark], Tuple[Any, ...], Marks, Dict[str, Any], Dict[str, Optional[Mark]]]:
    """What calling a ``functools.partial`` calls: function and mark, first arguments and marks, keywords and marks."""
    named = dict(made.keywords)
    return (
        made.func, heap.get(made, attribute("func")), made.args, partial_marks(heap, made), named,
        {name: heap.get(made.keywords, item(name)) for name in named},
    )


