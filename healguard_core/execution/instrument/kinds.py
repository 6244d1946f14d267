"""What each kind of statement is to the rewriter, and where its first instruction is. Imports nothing of ours."""

import ast
import sys
from typing import Any, Dict, List, Optional

PLAIN, SIMPLE, COMPOUND = "plain", "simple", "compound"

KINDS: Dict[str, str] = {
    # cannot raise
    "Pass": PLAIN, "Break": PLAIN, "Continue": PLAIN, "Global": PLAIN, "Nonlocal": PLAIN, "TypeAlias": PLAIN,
    # one piece
    "Return": SIMPLE, "Delete": SIMPLE, "Assign": SIMPLE, "AugAssign": SIMPLE, "AnnAssign": SIMPLE, "Raise": SIMPLE,
    "Assert": SIMPLE, "Import": SIMPLE, "ImportFrom": SIMPLE, "Expr": SIMPLE,
    # with statements inside
    "If": COMPOUND, "For": COMPOUND, "AsyncFor": COMPOUND, "While": COMPOUND, "With": COMPOUND, "AsyncWith": COMPOUND,
    "Match": COMPOUND, "Try": COMPOUND, "TryStar": COMPOUND, "FunctionDef": COMPOUND, "AsyncFunctionDef": COMPOUND,
    "ClassDef": COMPOUND,
}
"""Every class of statement that Python 3.8 to 3.14 has. One that is missing here is left alone."""

LAZY_ANNOTATIONS = sys.version_info >= (3, 14)


def simple_can_raise(node: Any, in_function: bool, lazy_annotations: bool) -> bool:
    """Whether anything that `SIMPLE` statement ``node`` does can fail, as far as its form tells."""
    cls = node.__class__
    if cls is ast.Expr:
        return node.value.__class__ is not ast.Constant
    if cls is ast.Return:
        return node.value is not None and node.value.__class__ is not ast.Constant
    if cls is ast.Assign:
        return _can_raise(node.value) or any(target.__class__ is not ast.Name for target in node.targets)
    if cls is ast.AnnAssign:
        return annotated_can_raise(node, in_function, lazy_annotations)
    if cls is ast.ImportFrom:
        return not (node.module == "__future__" and node.level == 0)
    return True


def annotated_can_raise(node: ast.AnnAssign, in_function: bool, lazy_annotations: bool) -> bool:
    """The same for ``target: annotation = value``."""
    if node.target.__class__ is not ast.Name or (node.value is not None and _can_raise(node.value)):
        return True
    return not in_function and not lazy_annotations and _can_raise(node.annotation)


def _can_raise(node: Any) -> bool:
    cls = node.__class__
    if cls is ast.Constant:
        return False
    if cls is ast.List or cls is ast.Tuple:
        return bool(node.elts)
    if cls is ast.Dict:
        return bool(node.keys)
    return True


def header_can_raise(node: Any, lazy_annotations: bool) -> bool:
    """Whether anything that compound statement ``node`` evaluates itself can fail."""
    cls = node.__class__
    if cls is ast.Try or cls.__name__ == "TryStar":
        return False  # handler types only; a wrap for these alone would cost more than it gives
    if cls is ast.If or cls is ast.While:
        return not _constant_tests(node)
    if cls is ast.ClassDef:
        return bool(node.decorator_list or node.bases or node.keywords)
    if cls is ast.FunctionDef or cls is ast.AsyncFunctionDef:
        if node.decorator_list:
            return True
        arguments = node.args
        if any(_can_raise(default) for default in arguments.defaults + arguments.kw_defaults if default is not None):
            return True
        return not lazy_annotations and any(_can_raise(annotation) for annotation in _annotations(node))
    return True


def _constant_tests(node: Any) -> bool:
    if node.test.__class__ is not ast.Constant:
        return False
    if node.__class__ is ast.While:
        return True
    return all(link.test.__class__ is ast.Constant for link in elifs(node))


def _annotations(function: Any) -> List[ast.expr]:
    arguments = function.args
    every = list(getattr(arguments, "posonlyargs", ())) + arguments.args + arguments.kwonlyargs
    every += [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    found = [argument.annotation for argument in every if argument.annotation is not None]
    if function.returns is not None:
        found.append(function.returns)
    return found


def elifs(node: ast.If) -> List[ast.If]:
    """The ``elif`` branches of an ``if`` in order; ``else:`` with an ``if`` inside is none."""
    found = []
    link: Any = node
    while len(link.orelse) == 1 and link.orelse[0].__class__ is ast.If and link.orelse[0].col_offset == node.col_offset:
        link = link.orelse[0]
        found.append(link)
    return found


_FIRST_CHILD: Dict[Any, str] = {
    ast.Call: "func", ast.Attribute: "value", ast.Subscript: "value", ast.BinOp: "left", ast.Compare: "left",
    ast.IfExp: "test", ast.Starred: "value", ast.Await: "value", ast.YieldFrom: "value", ast.UnaryOp: "operand",
    ast.NamedExpr: "value", ast.FormattedValue: "value", ast.Yield: "value",
    ast.Assign: "value", ast.AugAssign: "target", ast.AnnAssign: "value", ast.Return: "value", ast.Expr: "value",
    ast.Raise: "exc", ast.Assert: "test", ast.If: "test", ast.While: "test", ast.For: "iter", ast.AsyncFor: "iter",
}
_FIRST_OF: Dict[Any, str] = {
    ast.BoolOp: "values", ast.JoinedStr: "values", ast.With: "items", ast.AsyncWith: "items", ast.Delete: "targets",
    ast.FunctionDef: "decorator_list", ast.AsyncFunctionDef: "decorator_list", ast.ClassDef: "decorator_list",
}


def first_line(statement: Any) -> int:
    """The line of what is evaluated first, which parentheses can put below the statement's first line.

    Where this is not exact the cost is one line event more for a tracer.
    """
    node: Any = statement
    while True:
        cls = node.__class__
        child: Optional[Any] = None
        if cls in _FIRST_CHILD:
            child = getattr(node, _FIRST_CHILD[cls])
        elif cls in _FIRST_OF:
            children = getattr(node, _FIRST_OF[cls])
            child = children[0] if children else None
            if child.__class__ is ast.withitem:
                child = child.context_expr
        elif cls in _DISPLAYS:
            child = _first_element(node)
        elif cls.__name__ == "Match":
            child = node.subject
        if child is None:
            return int(node.lineno)
        node = child


_DISPLAYS = (ast.Tuple, ast.List, ast.Set, ast.Dict)
_MANY = 30  # elements from which on the compiler starts with an empty container and adds to it
_FOLDED = 3  # constant elements from which on it starts so, too


def _first_element(display: Any) -> Optional[Any]:
    """What is evaluated first in a tuple, list, set or dict; None for the container itself."""
    if display.__class__ is ast.Dict:
        keys = display.keys
        if not keys or 2 * len(keys) > _MANY or keys[0] is None:
            return None
        values_first = len(keys) > 1 and all(_folds(key) for key in keys) and not LAZY_ANNOTATIONS
        return display.values[0] if values_first else keys[0]
    elements = display.elts
    if not elements or len(elements) > _MANY:
        return None
    if (display.__class__ is ast.Tuple or len(elements) >= _FOLDED) and all(_folds(element) for element in elements):
        return None
    return elements[0]


def _folds(node: Any) -> bool:
    if node.__class__ is ast.Tuple:
        return all(_folds(element) for element in node.elts)
    return node.__class__ is ast.Constant
