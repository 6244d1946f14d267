"""Rules for `where` expressions, which are evaluated without side effects. Imports only the tables and `scope`."""

import ast
from typing import Iterator

from healguard_core.execution.guard import healcore
from healguard_core.execution.guard.rules import UNSUPPORTED
from healguard_core.execution.guard.scope import Scope
from healguard_core.protocol import Finding


def check_expression(scope: Scope) -> Iterator[Finding]:
    """Findings for code that is more than one expression without effects."""
    body = scope.source.tree.body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        place = body[0] if body else scope.source.tree
        yield scope.source.finding(place, "HC150", UNSUPPORTED, "this is not one expression")
    for node in scope.source.nodes:
        kind = type(node).__name__
        known = kind in healcore.EXPRESSION_NODES or kind not in healcore.ALLOWED_NODES  # the latter: HC102, HC103
        if isinstance(node, ast.NamedExpr):
            yield scope.source.finding(node, "HC150", UNSUPPORTED, "an assignment changes the frame")
        elif isinstance(node, ast.Call):
            yield from _call(scope, node)
        elif not known and not isinstance(node, (ast.expr_context, ast.stmt, ast.alias, ast.withitem)):
            yield scope.source.finding(node, "HC150", UNSUPPORTED, "`{}` is not part of an expression".format(kind))


def _call(scope: Scope, node: ast.Call) -> Iterator[Finding]:
    function = node.func
    if (
        isinstance(function, ast.Name)
        and function.id in healcore.EXPRESSION_FUNCTIONS
        and scope.is_builtin(function.id)
    ):
        return
    if isinstance(function, ast.Attribute) and function.attr in healcore.EXPRESSION_METHODS:
        return
    what = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "this")
    yield scope.source.finding(node, "HC150", UNSUPPORTED, "calling `{}` may have effects".format(what))
