"""The `ast` nodes that a rewritten file has besides its own, built as cheaply as possible. May import hooks.

Nodes that need no position of their own are made once and shared by every file: the compiler copies what it reads.
"""

import ast
import sys
from typing import Any, Dict, List, Optional, Tuple

from healguard_core.execution.hooks import BREAK, CONTINUE, HEAL, LEAVE, VALUE, WAY

# From 3.10 on an instruction may have no line at all. Before, line 0 stands for "not in the source", and names and
# numbers in a handler take the statement's position, so that fewer line events come.
_SHARED = sys.version_info >= (3, 10)
_NOWHERE = -1 if _SHARED else 0

_LOAD = ast.Load()
_NONE: List[Any] = []

Position = Tuple[int, int, Optional[int], Optional[int]]
_NO_POSITION: Position = (_NOWHERE, _NOWHERE, _NOWHERE, _NOWHERE)


def _new(cls: Any, position: Position, fields: Dict[str, Any]) -> Any:
    """A node of ``cls``. Filling ``__dict__`` directly costs half of what the constructor does."""
    node = cls.__new__(cls)
    fields["lineno"], fields["col_offset"], fields["end_lineno"], fields["end_col_offset"] = position
    node.__dict__ = fields
    return node


def _name(name: str, position: Position = _NO_POSITION) -> ast.expr:
    return _new(ast.Name, position, {"id": name, "ctx": _LOAD})  # type: ignore[no-any-return]


def _constant(value: Any, position: Position = _NO_POSITION) -> ast.expr:
    return _new(ast.Constant, position, {"value": value, "kind": None})  # type: ignore[no-any-return]


def _call(function: ast.expr, args: List[ast.expr], position: Position = _NO_POSITION) -> ast.expr:
    return _new(ast.Call, position, {"func": function, "args": args, "keywords": _NONE})  # type: ignore[no-any-return]


_NUMBERS: Dict[int, ast.expr] = {}


def _number(value: int, position: Position) -> ast.expr:
    if not _SHARED:
        return _constant(value, position)
    node = _NUMBERS.get(value)
    if node is None:
        node = _NUMBERS[value] = _constant(value)
    return node


# What runs once a statement is healed: an instruction on line 0, so that a trace function gets a line event there
# and can send the frame somewhere else.
_LINE_ZERO: Position = (0, 0, 0, 0)
_HEALED: List[ast.stmt] = (
    [_new(ast.Pass, _LINE_ZERO, {})]
    if _SHARED
    else [_new(ast.Expr, _LINE_ZERO, {"value": _name(HEAL, _LINE_ZERO)})]
)

_HEAL = _name(HEAL)
# An error that comes up through a header passes its line. A tracer would take that for a jump from the line that failed
# to the header, and then out of the function from there; with line 0 before and after, neither is seen.
_HEAL_OF_HEADER = _name(HEAL, _LINE_ZERO)

CLASS_NAMES: ast.stmt = _new(ast.Global, _NO_POSITION, {"names": [HEAL, LEAVE, WAY, VALUE]})
"""First statement of a class body, so that our names are never looked up in what ``__prepare__`` returned."""


def position_of(node: Any) -> Position:
    """Where ``node`` stands in the source."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def with_handler(
    statement: ast.stmt, number: int, position: Position, line: int, caught: Tuple[str, ...] = (), detour: bool = False
) -> ast.stmt:
    """``try: statement`` / ``except caught: raise`` / ``except @heal(number): pass``.

    The call stands at ``position``. The ``try`` stands on ``line``, which is to be the line of the statement's first
    instruction, so that none is added to the steps that a tracer sees. ``caught``: classes of errors that the program
    itself takes further out, so that nobody is asked about them. ``detour``: see `_HEAL_OF_HEADER`.
    """
    name = (_HEAL_OF_HEADER if detour else _HEAL) if _SHARED else _name(HEAL, position)
    asking = _call(name, [_number(number, position)], position)
    around = _LINE_ZERO if detour and _SHARED else position
    handler = _new(ast.ExceptHandler, around, {"type": asking, "name": None, "body": _HEALED})
    handlers = [_passing(caught, position), handler] if caught else [handler]
    return _try([statement], handlers, (line, 0, line, 0))


_PASSING: Dict[Tuple[str, ...], ast.ExceptHandler] = {}


def _passing(names: Tuple[str, ...], position: Position) -> ast.ExceptHandler:
    """``except names: raise``, which leaves no trace: a bare ``raise`` adds no entry to the traceback."""
    if not _SHARED:
        return _passing_at(names, position)
    handler = _PASSING.get(names)
    if handler is None:
        handler = _PASSING[names] = _passing_at(names, _NO_POSITION)
    return handler


def _passing_at(names: Tuple[str, ...], position: Position) -> ast.ExceptHandler:
    kinds = []
    for name in names:
        root, _, attribute = name.partition(".")
        kind = _name(root, position)
        if attribute:
            kind = _new(ast.Attribute, position, {"value": kind, "attr": attribute, "ctx": _LOAD})
        kinds.append(kind)
    what = kinds[0] if len(kinds) == 1 else _new(ast.Tuple, position, {"elts": kinds, "ctx": _LOAD})
    again = _new(ast.Raise, position, {"exc": None, "cause": None})
    return _new(ast.ExceptHandler, position, {"type": what, "name": None, "body": [again]})  # type: ignore[no-any-return]


def region(statements: List[ast.stmt], loop: bool, returns: str) -> ast.stmt:
    """``try: statements`` / ``except @leave:`` and the ways to leave: see `_dispatch`."""
    if not _SHARED:
        position = position_of(statements[0])
        return _try(statements, [_leaving(_dispatch(loop, returns, position), position)], position)
    key = loop, returns
    if key not in _HANDLERS:
        _HANDLERS[key] = [_leaving(_dispatch(loop, returns, _NO_POSITION), _NO_POSITION)]
    return _try(statements, _HANDLERS[key], _NO_POSITION)


_HANDLERS: Dict[Tuple[bool, str], List[ast.ExceptHandler]] = {}


def _try(body: List[ast.stmt], handlers: List[Any], position: Position) -> ast.stmt:
    fields = {"body": body, "handlers": handlers, "orelse": _NONE, "finalbody": _NONE}
    return _new(ast.Try, position, fields)  # type: ignore[no-any-return]


def _leaving(body: List[ast.stmt], position: Position) -> ast.ExceptHandler:
    fields = {"type": _name(LEAVE, position), "name": None, "body": body}
    return _new(ast.ExceptHandler, position, fields)  # type: ignore[no-any-return]


def _dispatch(loop: bool, returns: str, position: Position) -> List[ast.stmt]:
    """In a loop ``if @way() == CONTINUE: continue`` and the same for break, then what ``returns`` names:
    ``value``, ``bare`` (an async generator returns no value) or nothing.
    """
    body: List[ast.stmt] = []
    if loop:
        for way, cls in ((CONTINUE, ast.Continue), (BREAK, ast.Break)):
            left, right = _call(_name(WAY, position), [], position), _constant(way, position)
            test = _new(ast.Compare, position, {"left": left, "ops": [ast.Eq()], "comparators": [right]})
            body.append(_new(ast.If, position, {"test": test, "body": [_new(cls, position, {})], "orelse": _NONE}))
    if returns:
        value = _call(_name(VALUE, position), [], position) if returns == "value" else None
        body.append(_new(ast.Return, position, {"value": value}))
    return body


def at_same_place(cls: Any, node: Any, **fields: Any) -> Any:
    """A node of ``cls`` with ``fields`` that stands where ``node`` stands."""
    return _new(cls, position_of(node), fields)
