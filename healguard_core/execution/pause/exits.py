"""What a remembered answer about a live ``with`` block depended on, so that it need not be worked out again.

Standard library only.
"""

import types
from operator import is_
from typing import Any, NamedTuple, Optional, Sequence, Tuple

from . import names, valuestack, withs
from .handlers import key_of

_FIELDS = {
    "contextlib:suppress": "_exceptions",
    "_pytest.python_api:RaisesContext": "expected_exception",
    "_pytest.raises:RaisesExc": "expected_exceptions",
    "_pytest._raises:RaisesContext": "expected_exception",
    "unittest.case:_AssertRaisesContext": "expected",
}
"""What managers depend on, besides their class, that the table of `withs` has a rule for: the classes in one field."""


class ExitGuard(NamedTuple):
    """What an answer about a live with block depended on: the class of the manager, its exit, and one field's classes.

    ``at`` is where the bound exit stands in the frame; ``function`` is None for an exit written in C.
    """

    at: int
    kind: type
    function: Any
    field: str
    classes: Tuple[Any, ...]


def exit_guard(index: Optional[int], function: Any) -> Optional[ExitGuard]:
    """What has to hold for the answer of `withs.exit_passage` to be right again; None where that depends on more.

    ``function`` is the bound exit that was found at ``index``.
    """
    if index is None or type(function) not in (types.MethodType, types.BuiltinMethodType):
        return None
    owner = function.__self__
    kind = type(owner)
    base = next((base for base in names.mro(kind) if "__exit__" in _entries(base)), None)
    if base is None or names.defining_class(kind, "__aexit__") is not None:
        return None
    rule = withs.TABLE.get(key_of(base))
    if type(function) is types.BuiltinMethodType:
        return ExitGuard(index, kind, None, "", ()) if rule is withs._passing else None
    if base is not kind or _entries(base)["__exit__"] is not function.__func__:
        return None
    if rule is withs._passing:
        return ExitGuard(index, kind, function.__func__, "", ())
    field = _FIELDS.get(key_of(base), "")
    classes = _classes(owner, field) if field else ()
    return ExitGuard(index, kind, function.__func__, field, classes) if classes else None


def hold(guards: Sequence[ExitGuard], frame: types.FrameType) -> bool:
    """Whether the managers of ``frame`` are as the ``guards`` say."""
    for guard in guards:  # noqa: SIM110 - a generator would cost more than the rest
        if not _same_exit(guard, valuestack.value_at(frame, guard[0])):
            return False
    return True


def _same_exit(guard: ExitGuard, function: Any) -> bool:
    _, kind, exit_function, field, classes = guard
    if exit_function is None:
        return type(function) is types.BuiltinMethodType and type(function.__self__) is kind
    if type(function) is not types.MethodType or function.__func__ is not exit_function:
        return False
    owner = function.__self__
    if type(owner) is not kind or _entries(kind).get("__exit__") is not exit_function:
        return False
    return not field or _same(_classes(owner, field), classes)


def _entries(kind: type, _read: Any = type.__dict__["__dict__"].__get__) -> Any:
    return _read(kind)


def _classes(owner: Any, field: str, _read: Any = object.__getattribute__) -> Tuple[Any, ...]:
    """The classes in the field of a manager that a table knows, () where something else is there."""
    value = _read(owner, "__dict__").get(field)
    found = value if type(value) is tuple else (value,)
    for one in found:
        if not names.is_class(one):
            return ()
    return found


def _same(now: Tuple[Any, ...], before: Tuple[Any, ...]) -> bool:
    return len(now) == len(before) and all(map(is_, now, before))
