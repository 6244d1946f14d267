"""Making instances: of program classes, of exceptions, of namespaces, and classes themselves. May import attributes."""

import builtins
import types
from typing import Any, Dict, Optional, Tuple

from healguard_core.execution.tracking.heap import attribute, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import NOTHING, SHALLOW, NativeCall, entry
from healguard_core.execution.tracking.natives.elements import Flow, fill
from healguard_core.execution.tracking.natives.lookup import TABLE

_Group: Any = getattr(builtins, "BaseExceptionGroup", ())
_get_args = BaseException.__dict__["args"].__get__

_FIELDS: Dict[type, Tuple[str, ...]] = {
    OSError: ("errno", "strerror", "filename", "winerror", "filename2"),
    StopIteration: ("value",),
    SystemExit: ("code",),
    ImportError: ("msg",),
    SyntaxError: ("msg",),
    UnicodeDecodeError: ("encoding", "object", "start", "end", "reason"),
    UnicodeEncodeError: ("encoding", "object", "start", "end", "reason"),
    UnicodeTranslateError: ("object", "start", "end", "reason"),
}
"""The attributes that exceptions fill from their positional arguments."""


@TABLE.rule(object, reads=True)
def construct(call: NativeCall, _result: Any) -> Optional[Mark]:
    """An instance of a class of the program: its own functions fill it, and `__new__` may return any object."""
    return join(call.callee_mark, *call.returned)


@TABLE.rule(*entry(object, "__new__"), reads=True)
def _new(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(call.callee_mark, call.mark(0))


TABLE.add(NOTHING, *entry(object, "__init__"))


@TABLE.rule(*entry(type, "__call__"))
def _call_class(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(call.callee_mark, call.receiver_mark, *call.returned)


# --------------------------------------------------------------------------- exceptions


def _filled(call: NativeCall, error: Any, args: Tuple[Any, ...], marks: Tuple[Optional[Mark], ...]) -> None:
    kept = _get_args(error)
    if len(kept) == len(args):
        fill(call, kept, [Flow(value, mark) for value, mark in zip(args, marks)])
    elif any(marks) or call.ambient is not None:  # an OSError keeps fewer than it was given
        fill(call, kept, [Flow(value, marks[i] if i < len(marks) else None) for i, value in enumerate(kept)])
    for base, names in _FIELDS.items():
        if isinstance(error, base):
            for name, mark in zip(names, marks):
                if mark is not None:
                    call.heap.put(error, attribute(name), mark)
    if isinstance(error, SyntaxError) and len(marks) > 1 and marks[1] is not None:
        for name in ("filename", "lineno", "offset", "text"):
            call.heap.put(error, attribute(name), marks[1])
    for name, mark in call.named_marks.items():
        if mark is not None:
            call.heap.put(error, attribute(name), mark)
    if isinstance(error, _Group) and len(marks) > 1:
        call.heap.add(error, attribute("message"), marks[0])
        fill(call, error.exceptions, [Flow(one, join(marks[1])) for one in error.exceptions])


@TABLE.rule(BaseException, reads=True)
def _raiseable(call: NativeCall, result: Any) -> Optional[Mark]:
    if isinstance(result, BaseException):
        _filled(call, result, call.args, call.marks)
    return join(call.callee_mark)


@TABLE.rule(*[found for kind in [BaseException] + list(_FIELDS) for found in entry(kind, "__init__")])
def _init_exception(call: NativeCall, _result: Any) -> Optional[Mark]:
    _filled(call, call.receiver, call.args, call.marks)
    return None


@TABLE.rule(*[found for kind in [BaseException] + list(_FIELDS) for found in entry(kind, "__new__")])
def _new_exception(call: NativeCall, result: Any) -> Optional[Mark]:
    if isinstance(result, BaseException):
        _filled(call, result, call.args[1:], call.marks[1:])
    return call.mark(0)


@TABLE.rule(*entry(BaseException, "__str__", "__repr__", "__reduce__"), reads=True)
def _text(call: NativeCall, _result: Any) -> Optional[Mark]:
    error, found = call.receiver, call.visible()
    for base, names in _FIELDS.items():
        if isinstance(error, base):
            found = join(found, *[call.heap.get(error, attribute(name)) for name in names])
    return found


TABLE.add(SHALLOW, *entry(BaseException, "with_traceback"))


@TABLE.rule(*entry(BaseException, "add_note"))
def _add_note(call: NativeCall, _result: Any) -> Optional[Mark]:
    notes = call.receiver.__dict__.get("__notes__")
    if isinstance(notes, list):
        call.store(notes, item(len(notes) - 1), call.marks[0])
    return None


# --------------------------------------------------------------------------- namespaces and classes


@TABLE.rule(types.SimpleNamespace, reads=True)
def _namespace(call: NativeCall, result: Any) -> Optional[Mark]:
    if call.args:
        call.heap.add(result, ("whole", None), call.visible())
    for name, mark in call.named_marks.items():
        call.store(result, attribute(name), mark)
    return call.callee_mark


@TABLE.rule(*entry(types.SimpleNamespace, "__init__"))
def _init_namespace(call: NativeCall, _result: Any) -> Optional[Mark]:
    for name, mark in call.named_marks.items():
        call.store(call.receiver, attribute(name), mark)
    return None


@TABLE.rule(type)
def _type(call: NativeCall, result: Any) -> Optional[Mark]:
    if len(call.args) == 1:
        return call.shallow()
    _class_made(call, result, call.args, call.marks)
    return call.callee_mark


@TABLE.rule(*entry(type, "__new__"))
def _new_type(call: NativeCall, result: Any) -> Optional[Mark]:
    _class_made(call, result, call.args[1:], call.marks[1:])
    return join(call.callee_mark, call.mark(0))


TABLE.add(NOTHING, *entry(type, "__init__"))


@TABLE.rule(builtins.__build_class__)
def _class_statement(call: NativeCall, _result: Any) -> Optional[Mark]:
    """The body is a frame of its own, and its names become attributes when that ends."""
    return join(call.callee_mark, *call.marks[2:], *call.named_marks.values())


def _class_made(call: NativeCall, cls: Any, args: Tuple[Any, ...], marks: Tuple[Optional[Mark], ...]) -> None:
    """A class takes its attributes over from the namespace of its body."""
    if len(args) < 3 or not isinstance(args[2], dict):
        return
    for name in list(dict.keys(args[2])):
        mark = join(marks[2], call.heap.get(args[2], item(name)))
        if mark is not None and type(name) is str:
            call.heap.put(cls, attribute(name), mark)
    for name, mark in (("__name__", marks[0]), ("__bases__", marks[1])):
        if mark is not None:
            call.heap.put(cls, attribute(name), mark)


@TABLE.rule(types.MethodType, reads=True)
def _method(call: NativeCall, _result: Any) -> Optional[Mark]:
    return call.shallow()


@TABLE.rule(types.FunctionType)
def _function(call: NativeCall, _result: Any) -> Optional[Mark]:
    return call.shallow()

