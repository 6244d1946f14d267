"""Structural matching of statements against patterns with ``...`` as wildcard. Imports nothing of ours."""

import ast
import io
import tokenize
from typing import Any, List, Sequence

_ANY = "any_expression_of_a_statement_pattern"
_IGNORED = ("ctx", "kind", "type_comment", "type_ignores")
_HEADERS = {
    "If": ("test",),
    "While": ("test",),
    "For": ("target", "iter"),
    "AsyncFor": ("target", "iter"),
    "With": ("items",),
    "AsyncWith": ("items",),
    "Match": ("subject",),
    "FunctionDef": ("name", "args", "decorator_list", "returns"),
    "AsyncFunctionDef": ("name", "args", "decorator_list", "returns"),
    "ClassDef": ("name", "bases", "keywords", "decorator_list"),
    "Try": (),
    "TryStar": (),
}
_ENDINGS = ("", " pass", "\n    case _: pass", "\ndef _(): pass")  # what makes a header a statement


def parse_pattern(text: str) -> ast.stmt:
    """The pattern that ``text`` spells: one statement, or the header of a compound one.

    ``...`` stands for any expression, and among the arguments of a call for the rest of them.
    Raises ``ValueError`` when the text is not one statement.
    """
    return _parse(_without_dots(text))


def parse_statement(source: str) -> ast.stmt:
    """The statement in ``source``, which may be the header of a compound one. Raises ``ValueError``."""
    return _parse(source)


def matches(pattern: ast.stmt, statement: ast.stmt) -> bool:
    """Whether ``statement`` has the shape of ``pattern``; of compound statements only the header counts."""
    if isinstance(pattern, ast.Expr) and _is_any(pattern.value):
        return True
    return _same(pattern, statement)


def _parse(source: str) -> ast.stmt:
    text = source.strip()
    if text.startswith("elif") and not text[4:5].isidentifier():
        text = text[2:]
    problem = "it is empty"
    for ending in _ENDINGS:
        try:
            body = ast.parse(text + ending).body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            problem = problem if ending else str(getattr(error, "msg", error))
            continue
        if len(body) == 1 and text:
            return body[0]
        problem = "it holds {} statements".format(len(body)) if text else problem
        break
    raise ValueError("not one statement: {}".format(problem))


def _without_dots(text: str) -> str:
    """``text`` with every ``...`` spelled as a name, so that it may stand at the left of an assignment as well."""
    lines = text.splitlines(True)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return text
    previous = ""
    edits = []
    for token in tokens:
        if token.string == "..." and token.type == tokenize.OP and previous != "from":
            edits.append((token.start, token.end))
        previous = token.string
    for (line, start), (_, end) in reversed(edits):
        lines[line - 1] = lines[line - 1][:start] + _ANY + lines[line - 1][end:]
    return "".join(lines)


def _is_any(node: Any) -> bool:
    if type(node).__name__ == "Index":  # Python 3.8
        node = node.value
    return isinstance(node, ast.Name) and node.id == _ANY


def _same(pattern: Any, node: Any) -> bool:
    if isinstance(pattern, ast.AST):
        if _is_any(pattern):
            return isinstance(node, (ast.expr, ast.slice))
        if type(pattern) is not type(node):
            return False
        if isinstance(pattern, ast.Call) and isinstance(node, ast.Call):
            return _same_call(pattern, node)
        fields = _HEADERS.get(type(pattern).__name__, pattern._fields)
        return all(
            _same(getattr(pattern, field, None), getattr(node, field, None))
            for field in fields
            if field not in _IGNORED
        )
    if isinstance(pattern, list):
        return isinstance(node, list) and _same_sequence(pattern, node)
    return type(pattern) is type(node) and bool(pattern == node)


def _same_call(pattern: ast.Call, node: ast.Call) -> bool:
    if not _same(pattern.func, node.func):
        return False
    open_end = any(_is_any(argument) for argument in pattern.args)
    if not _same_sequence(pattern.args, node.args):
        return False
    if not open_end:
        return _same_sequence(pattern.keywords, node.keywords)
    return all(any(_same(wanted, given) for given in node.keywords) for wanted in pattern.keywords)


def _same_sequence(pattern: Sequence[Any], nodes: Sequence[Any]) -> bool:
    """Element by element; a wildcard element stands for any number of elements."""
    reachable = [True] + [False] * len(nodes)
    for wanted in pattern:
        following: List[bool] = [False] * (len(nodes) + 1)
        if _is_any(wanted):
            first = reachable.index(True) if True in reachable else len(nodes) + 1
            following[first:] = [True] * (len(nodes) + 1 - first)
        else:
            for index, node in enumerate(nodes):
                following[index + 1] = reachable[index] and _same(wanted, node)
        reachable = following
    return reachable[-1]
