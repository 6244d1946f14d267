"""What objects of known standard types consist of, read without running the program's code. May import static.

Every function takes a value whose type is exactly the one it is registered for, so that only C code and frozen
parts of the standard library are touched.
"""

import datetime
import fractions
import functools
import itertools
import pathlib
import re
import types
import uuid
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Tuple, Union

from healguard_core.execution.pause import static


class Shape(NamedTuple):
    """``title(label=part, ...)`` with parts that still have to be shown. ``size``: how many parts there are in all."""

    opening: str
    closing: str
    parts: List[Tuple[str, Any]]
    size: int


def call(title: str, parts: Iterable[Tuple[str, Any]]) -> Shape:
    """The shape of ``title(label=part, ...)``."""
    found = list(parts)
    return Shape(title + "(", ")", found, len(found))


def _constant(value: Any) -> str:
    return str(value)


def _range(value: range) -> Shape:
    return call("range", [("", part) for part in (value.start, value.stop, value.step)[: 2 if value.step == 1 else 3]])


def _slice(value: slice) -> Shape:
    return call("slice", [("", value.start), ("", value.stop), ("", value.step)])


def _time(value: Any) -> str:
    zone = getattr(value, "tzinfo", None)
    if zone is None or type(zone) is datetime.timezone:
        return repr(value)
    return "<{!r} tzinfo={}>".format(value.replace(tzinfo=None), static.qualified_name(type(zone)))


def _uuid(value: uuid.UUID) -> str:
    number = static.attribute(value, "int")
    digits = "{:032x}".format(number if type(number) is int else 0)
    return "UUID('{}')".format("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))


def _path(value: Any) -> Shape:
    text = static.attribute(value, "_str")
    if type(text) is not str:
        raw = static.attribute(value, "_raw_paths")
        parts = raw if type(raw) is list else static.attribute(value, "_parts")
        text = "/".join(part for part in parts if type(part) is str) if type(parts) is list else ""
    text = text[1:] if text.startswith("//") else text
    return call(static.simple_name(type(value)), [("", text or ".")])


def _fraction(value: Any) -> Shape:
    return call("Fraction", [("", static.attribute(value, name)) for name in ("_numerator", "_denominator")])


def _pattern(value: Any) -> Shape:
    flags = value.flags & ~re.UNICODE
    return call("re.compile", [("", value.pattern)] + ([("flags", int(flags))] if flags else []))


def _match(value: Any) -> Shape:
    subject = value.string
    start, end = value.span()
    text = subject[start:end] if type(subject) in (str, bytes) else None
    return call("re.Match", [("span", (start, end)), ("match", text)])


def _class(value: type) -> str:
    return "<class {}>".format(static.qualified_name(value))


def _module(value: Any) -> str:
    called = static.module_name(value)
    return "<module {}>".format(called or "?")


def _function(value: Any) -> str:
    code = value.__code__
    module = value.__module__
    return "<function {}{} at {}:{}>".format(
        module + "." if type(module) is str else "", value.__qualname__,
        code.co_filename.rpartition("/")[2], code.co_firstlineno)


def _builtin(value: Any) -> str:
    owner = value.__self__
    if owner is None or type(owner) is types.ModuleType:
        return "<built-in function {}>".format(value.__name__)
    return "<built-in method {} of <{}>>".format(value.__name__, static.qualified_name(type(owner)))


def _method(value: Any) -> str:
    function = value.__func__
    called = function.__qualname__ if type(function) is types.FunctionType else "?"
    return "<method {} of <{}>>".format(called, static.qualified_name(type(value.__self__)))


def _partial(value: Any) -> Shape:
    return call("functools.partial", [("", value.func), ("args", value.args), ("keywords", value.keywords)])


def _dict_part(value: Any) -> Shape:
    parts = [("", item) for item in itertools.islice(iter(value), 30)]
    return Shape(static.simple_name(type(value)) + "([", "])", parts, len(value))


_SUSPENDABLE = {
    id(types.GeneratorType): ("generator", "gi"),
    id(types.CoroutineType): ("coroutine", "cr"),
    id(types.AsyncGeneratorType): ("async generator", "ag"),
}


def _generator(value: Any) -> str:
    kind, prefix = _SUSPENDABLE[id(type(value))]
    frame = getattr(value, prefix + "_frame")
    suspended = getattr(value, prefix + "_suspended", None)  # Python 3.11, of async generators 3.12
    if suspended is None and frame is not None:
        suspended = frame.f_lasti >= 0 and frame.f_lineno != frame.f_code.co_firstlineno
    if frame is None:
        state = "finished"
    elif getattr(value, prefix + "_running"):
        state = "running at line {}".format(frame.f_lineno)
    else:
        state = "suspended at line {}".format(frame.f_lineno) if suspended else "not started"
    return "<{} {}, {}>".format(kind, value.__qualname__, state)


_Read = Callable[[Any], Union[str, Shape]]
_READERS: List[Tuple[Tuple[Any, ...], _Read]] = [
    ((bool, type(None), type(...), type(NotImplemented)), _constant),
    ((range,), _range),
    ((slice,), _slice),
    ((datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone), _time),
    ((uuid.UUID,), _uuid),
    ((fractions.Fraction,), _fraction),
    ((pathlib.PosixPath, pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath), _path),
    ((type(re.compile("")),), _pattern),
    ((type(re.match("", "")),), _match),
    ((types.FunctionType,), _function),
    ((types.BuiltinFunctionType,), _builtin),
    ((types.MethodType,), _method),
    ((functools.partial,), _partial),
    ((type({}.keys()), type({}.values()), type({}.items())), _dict_part),
    ((types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType), _generator),
]

EXACT: Dict[int, _Read] = {id(cls): read for classes, read in _READERS for cls in classes}
"""By identity of the type, because hashing a class may run its metaclass: what a value of exactly this type is."""

BY_BASE: Dict[int, _Read] = {id(type): _class, id(types.ModuleType): _module}
"""The same for every value of a type that inherits from this one."""
