"""Rules for statements and for syntax as such. Imports only the tables, `scope` and `names`."""

import ast
from typing import Iterator, Set

from healguard_core.execution.guard import healcore
from healguard_core.execution.guard.names import binding_problem
from healguard_core.execution.guard.rules import UNSUPPORTED
from healguard_core.execution.guard.scope import Scope
from healguard_core.protocol import Finding

_WORDS = {
    "FunctionDef": "a function definition",
    "AsyncFunctionDef": "a function definition",
    "ClassDef": "a class definition",
    "Lambda": "a lambda",
    "Return": "`return`",
    "Raise": "`raise`",
    "Assert": "`assert`",
    "Global": "`global`",
    "Nonlocal": "`nonlocal`",
    "Await": "`await`",
    "AsyncFor": "`async for`",
    "AsyncWith": "`async with`",
    "Yield": "`yield`",
    "YieldFrom": "`yield from`",
    "Match": "`match`",
    "TryStar": "`except*`",
    "TypeAlias": "a type alias",
    "TemplateStr": "a template string",
    "Interpolation": "a template string",
}


def check_kind(scope: Scope, node: ast.AST) -> Iterator[Finding]:
    """Findings for syntax that HealCore does not have. Unknown kinds of nodes are refused."""
    kind = type(node).__name__
    if kind in healcore.ALLOWED_NODES or kind in healcore.PARTS_OF_REFUSED_NODES:
        return
    if kind in healcore.REFUSED_NODES:
        message = "{} is outside HealCore".format(_WORDS[kind])
        yield scope.source.finding(node, "HC102", UNSUPPORTED, message, healcore.REFUSED_NODES[kind])
    else:
        yield scope.source.finding(node, "HC103", UNSUPPORTED, "`{}` is not a known kind of syntax".format(kind))


def check_statement(scope: Scope, node: ast.AST) -> Iterator[Finding]:
    """Findings for loops, handlers, targets and jumps."""
    if isinstance(node, ast.While):
        yield from _loop(scope, node)
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield from _plain_target(scope, node.target)
        if getattr(node, "is_async", 0):
            yield scope.source.finding(node, "HC102", UNSUPPORTED, "an asynchronous comprehension is outside HealCore")
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _plain_target(scope, node.optional_vars)
    elif isinstance(node, ast.ExceptHandler):
        yield from _handler(scope, node)
    elif isinstance(node, (ast.Break, ast.Continue)):
        yield from _jump(scope, node)


def _plain_target(scope: Scope, target: ast.AST) -> Iterator[Finding]:
    for node in ast.walk(target):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            message = "a loop or `with` binds plain names only"
            yield scope.source.finding(node, "HC144", UNSUPPORTED, message)


def _handler(scope: Scope, node: ast.ExceptHandler) -> Iterator[Finding]:
    if node.type is None:
        yield scope.source.finding(node, "HC140", UNSUPPORTED, "a bare `except:` would also catch the guard's veto")
        return
    named = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    for error in named:
        if not isinstance(error, (ast.Name, ast.Attribute)):
            yield scope.source.finding(error, "HC140", UNSUPPORTED, "a handler names its errors")
        elif isinstance(error, ast.Name) and error.id == "SystemExit":
            yield scope.source.finding(error, "HC140", UNSUPPORTED, "`SystemExit` is not an error to handle")
    if node.name:
        problem = binding_problem(scope, node.name)
        if problem is not None:
            yield scope.source.finding(node, *problem)


def _jump(scope: Scope, node: ast.AST) -> Iterator[Finding]:
    """`break` in `finally` would swallow whatever is on its way up, the guard's veto included."""
    word = "break" if isinstance(node, ast.Break) else "continue"
    for child, parent in scope.source.ancestors(node):
        if isinstance(parent, (ast.For, ast.While)) and child in parent.body:
            return
        if isinstance(parent, ast.Try) and child in parent.finalbody:
            message = "`{}` in `finally` would swallow every exception".format(word)
            yield scope.source.finding(node, "HC140", UNSUPPORTED, message, "leave the loop outside of `finally`")
            return
        if isinstance(parent, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            break
    advice = "to leave the program's loop use the heal's `resume: {}`".format(word)
    yield scope.source.finding(node, "HC102", UNSUPPORTED, "`{}` outside a loop of the heal".format(word), advice)


# --------------------------------------------------------------------------- loops


def _loop(scope: Scope, node: ast.While) -> Iterator[Finding]:
    """A `while` must be able to end: by `break`, or because its body changes what its test looks at."""
    if any(isinstance(inner, ast.Break) and _owner(scope, inner) is node for inner in ast.walk(node)):
        return
    if _is_constant(node.test):
        if getattr(node.test, "value", True):
            yield scope.source.finding(node, "HC141", UNSUPPORTED, "this loop has no `break`")
        return
    tested = {inner.id for inner in ast.walk(node.test) if isinstance(inner, ast.Name)}
    if not _changes(node, tested):
        yield scope.source.finding(node, "HC141", UNSUPPORTED, "nothing in the loop changes what its test looks at")


def _is_constant(node: ast.AST) -> bool:
    return all(not isinstance(inner, (ast.Name, ast.Call, ast.Attribute)) for inner in ast.walk(node))


def _owner(scope: Scope, node: ast.AST) -> object:
    for child, parent in scope.source.ancestors(node):
        if isinstance(parent, (ast.For, ast.While)) and child in parent.body:
            return parent
    return None


def _changes(loop: ast.While, tested: Set[str]) -> bool:
    """Whether the loop binds a tested name, changes something inside it, or calls something with it."""
    in_test = set(ast.walk(loop.test))
    for node in ast.walk(loop):
        if isinstance(node, ast.Call):
            may_change = node not in in_test or not _only_asks(node)
        else:
            context = getattr(node, "ctx", None)
            may_change = isinstance(context, (ast.Store, ast.Del)) and not isinstance(node, (ast.Tuple, ast.List))
        if may_change and any(isinstance(inner, ast.Name) and inner.id in tested for inner in ast.walk(node)):
            return True
    return False


def _only_asks(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in _ASKING


_ASKING = (healcore.PURE_FUNCTIONS | healcore.PURE_TYPES) - {"next"}
