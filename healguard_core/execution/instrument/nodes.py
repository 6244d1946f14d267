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
_NONE = []  # type: List[Any]

Position = Tuple[int, int, Optional[int], Optional[int]]
_NO_POSITION = (_NOWHERE, _NOWHERE, _NOWHERE, _NOWHERE)  # type: Position


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


def _call(name: str, args: List[ast.expr], position: Position = _NO_POSITION) -> ast.expr:
    function = _HEAL if name == HEAL and _SHARED else _name(name, position)
    return _new(ast.Call, position, {"func": function, "args": args, "keywords": _NONE})  # type: ignore[no-any-return]


_HEAL = _name(HEAL)
_NUMBERS = []  # type: List[ast.expr]


def _number(value: int, position: Position) -> ast.expr:
    if not _SHARED:
        return _constant(value, position)
    while value >= len(_NUMBERS):
        _NUMBERS.append(_constant(len(_NUMBERS)))
    return _NUMBERS[value]


# What runs once a statement is healed: an instruction on line 0, so that a trace function gets a line event there
# and can send the frame somewhere else.
_LINE_ZERO = (0, 0, 0, 0)  # type: Position
_HEALED = (
    [_new(ast.Pass, _LINE_ZERO, {})]
    if _SHARED
    else [_new(ast.Expr, _LINE_ZERO, {"value": _name(HEAL, _LINE_ZERO)})]
)  # type: List[ast.stmt]

CLASS_NAMES = _new(ast.Global, _NO_POSITION, {"names": [HEAL, LEAVE, WAY, VALUE]})  # type: ast.stmt
"""First statement of a class body, so that our names are never looked up in what ``__prepare__`` returned."""


def position_of(node: Any) -> Position:
    """Where ``node`` stands in the source."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def with_handler(statement: ast.stmt, number: int, at: Any, line: int) -> ast.stmt:
    """``try: statement`` / ``except @heal(number): pass``, the handler at the position of ``at``.

    ``line`` is where the statement's first instruction is, so that the ``try`` adds no line event of its own.
    """
    position = position_of(at)
    handler = _new(
        ast.ExceptHandler,
        position,
        {"type": _call(HEAL, [_number(number, position)], position), "name": None, "body": _HEALED},
    )
    return _try([statement], [handler], position if line == position[0] else (line, 0, line, 0))


def region(statements: List[ast.stmt], loop: bool, returns: str) -> ast.stmt:
    """``try: statements`` / ``except @leave:`` and the ways to leave: see `_dispatch`."""
    if not _SHARED:
        position = position_of(statements[0])
        return _try(statements, [_leaving(_dispatch(loop, returns, position), position)], position)
    key = loop, returns
    if key not in _HANDLERS:
        _HANDLERS[key] = [_leaving(_dispatch(loop, returns, _NO_POSITION), _NO_POSITION)]
    return _try(statements, _HANDLERS[key], _NO_POSITION)


_HANDLERS = {}  # type: Dict[Tuple[bool, str], List[ast.ExceptHandler]]


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
    body = []  # type: List[ast.stmt]
    if loop:
        for way, cls in ((CONTINUE, ast.Continue), (BREAK, ast.Break)):
            comparison = {"left": _call(WAY, [], position), "ops": [ast.Eq()], "comparators": [_constant(way, position)]}
            test = _new(ast.Compare, position, comparison)
            body.append(_new(ast.If, position, {"test": test, "body": [_new(cls, position, {})], "orelse": _NONE}))
    if returns:
        value = _call(VALUE, [], position) if returns == "value" else None
        body.append(_new(ast.Return, position, {"value": value}))
    return body


def at_same_place(cls: Any, node: Any, **fields: Any) -> Any:
    """A node of ``cls`` with ``fields`` that stands where ``node`` stands."""
    return _new(cls, position_of(node), fields)
