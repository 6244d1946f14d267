"""Healing code with every call and every store checked on live objects. Standard library only; pure.

``f(x)`` becomes ``check.callee(f, n)(check.argument(x, n))`` and ``a.b = v`` becomes ``check.owner(a, n).b = v``: no
frame is added, positions stay, each part is evaluated once and in Python's own order. ``check`` is a constant of the
compiled code: healing code has no name for it.
"""

import ast
import os
from types import CodeType
from typing import Any, List, NamedTuple

_MOST_TEXT = 60
_urandom = os.urandom

LOOKS_ONLY = frozenset(
    ["isinstance", "issubclass", "type", "id", "repr", "ascii", "callable", "hash", "hasattr"]
)
"""Builtins that do nothing with a callable but look at it."""

OWN_NAME = frozenset(["getattr", "setattr", "delattr", "hasattr", "type", "super", "print", "dir", "format"])
"""Builtins whose form the gate has checked where they are called by their own name."""


class Place(NamedTuple):
    """One checked place: ``text`` is what stands there, ``base`` the object's part of it, ``name`` a plain callee's."""

    line: int
    text: str
    base: str
    name: str
    arguments: str
    attribute: str = ""
    whole: bool = False  # a store whose key is not known (a slice)


class Rewritten(NamedTuple):
    """Statements to compile, their places by number, and the text that stands for the checker until `seal`."""

    body: List[ast.stmt]
    places: List[Place]
    mark: str


def rewrite(body: List[ast.stmt], source: str) -> Rewritten:
    """The statements ``body`` of ``source`` with checks. The nodes are changed in place."""
    mark = "@check-" + _urandom(12).hex()  # not to be guessed, lest a text of the heal became the checker
    rewriter = _Rewriter(source, mark)
    return Rewritten([rewriter.visit(statement) for statement in body], rewriter.places, mark)


def seal(code: CodeType, mark: str, checker: Any) -> CodeType:
    """``code`` with ``checker`` where the mark stands, in nested code as well."""
    consts: List[Any] = []
    for const in code.co_consts:
        if type(const) is str and const == mark:
            consts.append(checker)
        else:
            consts.append(seal(const, mark, checker) if isinstance(const, CodeType) else const)
    return code.replace(co_consts=tuple(consts))


class _Rewriter(ast.NodeTransformer):
    def __init__(self, source: str, mark: str) -> None:
        self._lines = source.splitlines()
        self._mark = mark
        self.places: List[Place] = []

    # ----------------------------------------------------------------- calls

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        name = function.id if isinstance(function, ast.Name) else ""
        base = self._text(function.value) if isinstance(function, ast.Attribute) else ""
        arguments = ", ".join([self._text(a) for a in node.args] + [self._text(k.value) for k in node.keywords])
        number = self._place(node, self._text(function), base, name, arguments=_bounded(arguments))
        looks = name in LOOKS_ONLY
        node.func = self._check("callee", self.visit(function), number, function)
        node.args = [self._argument(argument, looks) for argument in node.args]
        for keyword in node.keywords:
            if keyword.arg is None and not looks:
                keyword.value = self._wrapped("keywords", keyword.value)
            else:
                keyword.value = self._argument(keyword.value, looks)
        return node

    def _argument(self, node: ast.expr, looks: bool) -> ast.expr:
        if looks:
            return self._visited(node)
        if isinstance(node, ast.Starred):
            node.value = self._wrapped("several", node.value)
            return node
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            node.elts = [self._argument(element, False) for element in node.elts]
            return node
        if isinstance(node, ast.Dict):
            node.keys = [None if key is None else self._visited(key) for key in node.keys]
            node.values = [self._argument(value, False) for value in node.values]
            return node
        if isinstance(node, _MAY_BE_CALLABLE):
            return self._wrapped("argument", node)
        return self._visited(node)

    def _wrapped(self, method: str, node: ast.expr) -> ast.expr:
        number = self._place(node, self._text(node), "", "")
        return self._check(method, self._visited(node), number, node)

    def _visited(self, node: ast.expr) -> ast.expr:
        visited: ast.expr = self.visit(node)
        return visited

    # ----------------------------------------------------------------- stores

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        number = self._place(node, self._text(node), self._text(node.value), "", attribute=node.attr)
        node.value = self._check("owner", self._visited(node.value), number, node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        key: Any = node.slice
        index = key.value if type(key).__name__ == "Index" else key  # Python 3.8
        whole = type(index).__name__ in ("Slice", "ExtSlice") or any(
            isinstance(part, ast.Slice) for part in getattr(index, "elts", ())
        )
        number = self._place(node, self._text(node), self._text(node.value), "", whole=whole)
        node.value = self._check("container", self._visited(node.value), number, node.value)
        if whole:
            node.slice = self.visit(key)
        else:
            checked = self._check("key", self._visited(index), number, node.value)
            if index is key:
                node.slice = checked
            else:
                key.value = checked
        return node

    # ----------------------------------------------------------------- small things

    def _check(self, method: str, value: ast.expr, number: int, at: ast.AST) -> ast.expr:
        function = ast.Attribute(ast.Constant(self._mark, None), method, ast.Load())
        call = ast.Call(function, [value, ast.Constant(number, None)], [])
        for node in (function.value, function, call, call.args[1]):
            ast.copy_location(node, at)
        return call

    def _place(
        self, node: Any, text: str, base: str, name: str, arguments: str = "", attribute: str = "", whole: bool = False
    ) -> int:
        self.places.append(Place(node.lineno, text, base, name, arguments, attribute, whole))
        return len(self.places) - 1

    def _text(self, node: Any) -> str:
        """The source of a node, bounded; "" where it has none."""
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if not first or not last or last > len(self._lines):
            return ""
        lines = [line.encode("utf-8") for line in self._lines[first - 1 : last]]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return _bounded(" ".join(line.decode("utf-8", "replace").strip() for line in lines))


def _bounded(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 3] + "..."


_MAY_BE_CALLABLE = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.IfExp, ast.BoolOp, ast.NamedExpr)

