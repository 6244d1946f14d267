"""What a handler's body does with the exception it caught, read from its source. Standard library only.

A body *ends* in one or several ways. Only a body that ends in one way whatever happens gives an answer; branches
are followed where their condition is known without running code, and both sides are taken where it is not.
"""

import ast
import types
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Set, Tuple

from . import lexical, names
from .names import UNKNOWN, Flying, Names


class End(NamedTuple):
    """One way a body can end. ``way``: next, return, break, continue, same (raised again), new, again, unsure."""

    way: str
    cls: Optional[type] = None  # way new: the class raised, if known
    value: Optional[bool] = None  # way return: whether the value is true, if known

    def __eq__(self, other: object) -> bool:
        """By the identity of the class: a metaclass may redefine equality."""
        return isinstance(other, End) and self.way == other.way and self.cls is other.cls and self.value is other.value

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.way, id(self.cls), self.value))


NEXT, BREAK, CONTINUE, SAME, UNSURE = End("next"), End("break"), End("continue"), End("same"), End("unsure")
AGAIN = End("again")  # what a handler inside the body raises again when something else fails there
_LEAVING = ("next", "return", "break", "continue")
_MAX_DEPTH = 3

Ends = Set[End]


class Body(NamedTuple):
    """What the reading of a body needs: names, the name of the caught exception, and how deep calls are followed."""

    names: Names
    caught: Optional[str]
    depth: int = 0
    nested: bool = False  # inside a handler of the body's own, where a bare raise means another exception


def leaves(ends: Ends) -> bool:
    """Whether the body always goes on without an exception."""
    return all(end.way in _LEAVING for end in ends)


def raises(ends: Ends) -> bool:
    """Whether the body always ends with an exception, the same or a new one."""
    return all(end.way in ("same", "new") for end in ends)


def handler_ends(handler: Any, names_here: Names, cls: Optional[type]) -> Ends:
    """How the body of an ``except`` clause ends for an exception of class ``cls``.

    A body that keeps the exception itself (to raise it later, or to hand it to somebody) ends unsure.
    """
    changed, keeps = _traits(handler)
    known = {handler.name: Flying(cls)} if handler.name else {}
    ends = flow(handler.body, Body(names_here.within(changed, known), handler.name))
    return {UNSURE} if keeps and leaves(ends) else ends


def _traits(handler: Any) -> Tuple[FrozenSet[str], bool]:
    """The names that a handler's body binds, and whether it keeps the exception. Remembered."""
    known = _handlers.get(id(handler))
    if known is None:
        if len(_handlers) > _MAX_MEMO:
            _handlers.clear()
        known = _handlers[id(handler)] = (handler, lexical.stored_names(handler.body), _keeps(handler))
    return known[1], known[2]


_MAX_MEMO = 5000
_handlers: Dict[int, Tuple[Any, FrozenSet[str], bool]] = {}  # the node is kept, so that its id stays taken


def flow(statements: List[Any], body: Body) -> Ends:
    """How a list of statements ends."""
    ends: Ends = set()
    for statement in statements:
        here = _one(statement, body)
        ends |= here - {NEXT}
        if NEXT not in here:
            return ends
    return ends | {NEXT}


def _one(statement: Any, body: Body) -> Ends:
    rule = _STATEMENTS.get(type(statement))
    return {NEXT} if rule is None else rule(statement, body)


def _return(statement: Any, body: Body) -> Ends:
    if isinstance(statement.value, ast.Call):
        ends = call_ends(statement.value, body)
        if NEXT not in ends:
            return ends
    if statement.value is None:
        return {End("return", value=False)}
    return {End("return", value=names.truth(names.evaluate(statement.value, body.names)))}


def _raise(statement: Any, body: Body) -> Ends:
    node = statement.exc
    if node is None:
        return {AGAIN} if body.nested else {SAME}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "with_traceback":
        node = node.func.value
    if isinstance(node, ast.Name) and node.id == body.caught:
        return {SAME}
    value = names.evaluate(node.func if isinstance(node, ast.Call) else node, body.names)
    if type(value) is Flying:
        return {SAME}
    if names.is_class(value) and names.derives(value, BaseException):
        return {End("new", value)}
    if value is not UNKNOWN and not isinstance(node, ast.Call) and names.derives(type(value), BaseException):
        return {End("new", type(value))}
    return {End("new")}


def _if(statement: Any, body: Body) -> Ends:
    known = names.truth(names.evaluate(statement.test, body.names))
    if known is not None:
        return flow(statement.body if known else statement.orelse, body)
    return flow(statement.body, body) | flow(statement.orelse, body)


def _loop(statement: Any, body: Body) -> Ends:
    inner = flow(statement.body, body)
    ends = inner - {NEXT, BREAK, CONTINUE}
    forever = isinstance(statement, ast.While) and names.truth(names.evaluate(statement.test, body.names)) is True
    if BREAK in inner:
        ends = ends | {NEXT}
    return ends if forever else ends | flow(statement.orelse, body)


def _with(statement: Any, body: Body) -> Ends:
    ends = flow(statement.body, body)
    if any(end.way in ("same", "new") for end in ends):
        ends = ends | {UNSURE}
    return ends


def _try(statement: Any, body: Body) -> Ends:
    inner = body._replace(nested=True)
    ends = flow(statement.body, body)
    if statement.handlers and any(end.way in ("same", "new") for end in ends):
        ends = {end for end in ends if end.way not in ("same", "new")} | {UNSURE}
    if NEXT in ends:
        ends = (ends - {NEXT}) | flow(statement.orelse, body)
    for handler in statement.handlers:
        ends = ends | (flow(handler.body, inner) - {AGAIN})
    last = flow(statement.finalbody, body)
    return (last - {NEXT}) | (ends if NEXT in last else set())


def _match(statement: Any, body: Body) -> Ends:
    ends: Ends = {NEXT}
    for case in statement.cases:
        ends = ends | flow(case.body, body)
    return ends


def _assert(statement: Any, body: Body) -> Ends:
    known = names.truth(names.evaluate(statement.test, body.names))
    return {End("new", AssertionError)} if known is False and __debug__ else {NEXT}


def _expression(statement: Any, body: Body) -> Ends:
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Await):
        value = value.value
    return call_ends(value, body) if isinstance(value, ast.Call) else {NEXT}


_STATEMENTS: Dict[type, Callable[[Any, Body], Ends]] = {
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: lambda _statement, _body: {BREAK},
    ast.Continue: lambda _statement, _body: {CONTINUE},
    ast.If: _if,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.While: _loop,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Assert: _assert,
    ast.Expr: _expression,
    ast.Assign: _expression,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _try
if hasattr(ast, "Match"):
    _STATEMENTS[ast.Match] = _match


# --------------------------------------------------------------------------- calls that do not return

_GONE = frozenset([
    "sys:exit", "os:_exit", "os:abort", "posix:_exit", "posix:abort", "nt:_exit", "nt:abort", "_sitebuiltins:Quitter",
])
_SUSPICIOUS = frozenset([
    "exit", "_exit", "quit", "abort", "fail", "skip", "skipTest", "xfail", "error", "die", "bail", "reraise",
    "raise_", "raise_from", "raise_error", "handle_error", "handleError", "handle_exception", "importorskip", "throw",
    "set_exception",
])
_LOGGING = frozenset([
    "debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log", "print_exc",
])


def call_ends(node: Any, body: Body) -> Ends:
    """How a call that is a statement of its own, or all of a ``return``, ends."""
    function = names.evaluate(node.func, body.names)
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if type(function) is types.MethodType:
        function = function.__func__
    if key_of(function) in _GONE:
        return {UNSURE}
    if type(function) is types.FunctionType:
        body.names.trail.loose = True  # what its own names mean is not guarded
        ends = function_ends(function, body.depth)
        if ends is not None:
            return ends
    if name in _SUSPICIOUS and not (name in _LOGGING and isinstance(node.func, ast.Attribute)):
        return {UNSURE}
    return {NEXT}


def function_ends(function: Any, depth: int) -> Optional[Ends]:
    """How a plain function that a handler calls ends, as far as that matters to the handler.

    None where the source is not known or the function is not simple enough.
    """
    code = function.__code__
    if depth >= _MAX_DEPTH or code.co_flags & 0x2A0:  # generators and coroutines run elsewhere
        return None
    scope = lexical.scope_of(code, function.__globals__)
    if scope is None:
        return None
    statements = scope.node.body
    ends = flow(statements, Body(names.of_function(function, {}), None, depth + 1))
    if raises(ends):
        return ends
    if ends == {UNSURE} or SAME in ends:
        return {UNSURE}
    return {NEXT}  # whatever else may go wrong in there is an error of its own


def key_of(function: Any) -> str:
    """``module:qualname`` of a function or class, as tables name it; "" for other objects."""
    if names.is_class(function):
        return "{}:{}".format(_module_of(function), type.__dict__["__qualname__"].__get__(function))
    if type(function) is types.FunctionType:
        return "{}:{}".format(dict.get(function.__globals__, "__name__"), function.__qualname__)
    if type(function) is types.BuiltinFunctionType:
        owner = function.__self__
        if type(owner) is types.ModuleType or owner is None:
            return "{}:{}".format(function.__module__, function.__qualname__)
        return "{}:{}".format(_module_of(type(owner)), function.__qualname__)
    if function is UNKNOWN or type(function) is Flying:
        return ""
    return key_of(type(function))


def _module_of(cls: type) -> Any:
    try:
        return type.__dict__["__module__"].__get__(cls)
    except AttributeError:
        return ""


# --------------------------------------------------------------------------- keeping the exception

_HARMLESS = _LOGGING | frozenset([
    "str", "repr", "print", "isinstance", "issubclass", "type", "format", "getattr", "hasattr", "len", "ascii", "id",
    "format_exception", "format_exception_only", "print_exception", "print_tb", "format_tb", "format_exc", "echo",
    "secho", "join", "write", "callable", "tuple", "dir", "vars",
])
_THROUGH = (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Starred, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.keyword)


def _keeps(handler: Any) -> bool:
    """Whether the body hands the exception itself to something that outlives the handler."""
    return any(_kept(statement, handler.name) for statement in _with_values(handler.body))


def _with_values(body: List[Any]) -> List[Any]:
    """Nodes that keep a value they are given: bindings, calls, yields and returns."""
    kinds = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.Call, ast.Yield, ast.Return)
    return [node for node in lexical.own_nodes(body) if isinstance(node, kinds)]


def _kept(node: Any, name: Optional[str]) -> bool:
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in _HARMLESS:
            return False
        return any(_is_exception(part, name) for part in list(node.args) + list(node.keywords))
    return node.value is not None and _is_exception(node.value, name)


def _is_exception(node: Any, name: Optional[str]) -> bool:
    """Whether the value of ``node`` is, or holds, the exception."""
    if isinstance(node, ast.Name):
        return node.id == name
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return called in ("exc_info", "exception", "with_traceback") and not node.args
    if isinstance(node, ast.Subscript):
        return _is_exception(node.value, name)
    if isinstance(node, _THROUGH):
        return any(_is_exception(child, name) for child in ast.iter_child_nodes(node))
    return False
