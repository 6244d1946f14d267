"""C functions that call back and keep to themselves what the callback raises. Standard library only.

Nearly all C code passes errors of its callbacks on. What is listed here forgets them, or puts an error of its own in
their place without a link to theirs. Which function a frame is calling is asked only where its source calls something
under another name than the callee's own.
"""

import ast
import types
from types import FrameType
from typing import Callable, Dict, Optional

from . import layout, lexical, names
from .handlers import key_of
from .names import UNKNOWN
from .passage import Passage, replaces, swallows

_CALLS = ("CALL", "PRECALL")
_CALL = (ast.Call,)


def call_node(caller: FrameType) -> Optional[ast.Call]:
    """The call that the frame's current instruction makes, or None."""
    if not layout.HAS_TABLES:
        return layout.called(caller.f_code, caller.f_lasti)
    return lexical.expression_at(caller, _CALL)  # type: ignore[no-any-return]


def called_back(callee: FrameType, caller: FrameType, cls: Optional[type]) -> Optional[Passage]:
    """What C code between the two frames does with an error of ``callee``; None where it does not keep it."""
    if not layout.operation(caller.f_code, caller.f_lasti).startswith(_CALLS):
        return None
    node = call_node(caller)
    name = callee.f_code.co_name
    if node is None or _written(node.func) == name:
        return None
    rule = _rule(node.func, names.of_frame(caller))
    return None if rule is None else rule(node, name, cls)


def _written(function: ast.expr) -> str:
    """The name under which a function is called, "" where it has none."""
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _rule(function: ast.expr, view: names.Names) -> Optional["Rule"]:
    """The rule for what the expression ``function`` means; None where that passes errors on, or is not known."""
    if isinstance(function, ast.Attribute) and function.attr in _METHODS:
        owner = names.evaluate(function.value, view)
        return None if owner is UNKNOWN or names.is_class(owner) else _of_class(type(owner), _METHODS[function.attr])
    if isinstance(function, ast.Call):  # an instance is made and called at once
        made = names.evaluate(function.func, view)
        return _of_class(made, _INSTANCES) if names.is_class(made) else None
    value = names.evaluate(function, view)
    if value is UNKNOWN or type(value) in _PYTHON:
        return None
    return _FUNCTIONS.get(key_of(value)) or _of_class(type(value), _INSTANCES)


Rule = Callable[[ast.Call, str, Optional[type]], Optional[Passage]]
_PYTHON = (types.FunctionType, types.MethodType)


def _of_class(kind: type, table: Dict[str, Rule]) -> Optional[Rule]:
    for base in names.mro(kind):
        rule = table.get(key_of(base))
        if rule is not None:
            return rule
    return None


def _swallowing(said: str, *callbacks: str) -> Rule:
    """A rule: errors of the ``callbacks`` named (of all, if none is) end here."""

    def rule(_node: ast.Call, name: str, _cls: Optional[type]) -> Optional[Passage]:
        return swallows(said) if not callbacks or name in callbacks else None

    return rule


def _replacing(said: str) -> Rule:
    def rule(_node: ast.Call, _name: str, _cls: Optional[type]) -> Optional[Passage]:
        return replaces(said)

    return rule


def _sized(node: ast.Call, _name: str, cls: Optional[type]) -> Optional[Passage]:
    has_default = len(node.args) + len(node.keywords) > 1
    if has_default and cls is not None and names.derives(cls, TypeError):
        return swallows("sys.getsizeof has a default")
    return None


_TELL = _swallowing("a buffered stream needs no position", "tell")
_FUNCTIONS: Dict[str, Rule] = {
    "gc:collect": _swallowing("errors of the collector's callbacks are only printed"),
    "atexit:_run_exitfuncs": _swallowing("errors of functions called at exit are only printed"),
    "posix:fork": _swallowing("errors of functions called at a fork are only printed"),
    "posix:forkpty": _swallowing("errors of functions called at a fork are only printed"),
    "builtins:input": _swallowing("input does without it", "fileno", "flush"),
    "sys:getsizeof": _sized,
    "_io:BufferedReader": _TELL, "io:BufferedReader": _TELL,
    "_io:BufferedWriter": _TELL, "io:BufferedWriter": _TELL,
    "_io:BufferedRandom": _TELL, "io:BufferedRandom": _TELL,
}
_INSTANCES: Dict[str, Rule] = {
    name: _swallowing("ctypes only prints errors of callbacks") for name in ("_ctypes:CFuncPtr", "_ctypes:PyCFuncPtr")
}
_SQLITE: Dict[str, Rule] = {
    name: _replacing("SQLite puts an error of its own in its place")
    for name in ("sqlite3:Connection", "_sqlite3:Connection", "sqlite3:Cursor", "_sqlite3:Cursor")
}
_METHODS: Dict[str, Dict[str, Rule]] = dict.fromkeys(
    ("execute", "executemany", "executescript", "fetchone", "fetchmany", "fetchall", "commit", "backup"), _SQLITE)
