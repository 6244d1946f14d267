"""Where in the source a frame is: the tree of its function and the blocks around the current instruction.

Instrumentation keeps every position and adds handlers only in bytecode, so the source shows the program's own
``try`` and ``with`` blocks and nothing of ours. Standard library only.
"""

import ast
import io
import itertools
import linecache
import os
import tokenize
from types import CodeType, FrameType
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from . import layout, valuestack

Position = Tuple[int, int, int, int]  # line, column, end line, end column; columns are -1 where unknown

_TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))
_WITH = (ast.With, ast.AsyncWith)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MAX_MEMO = 20000
_STDLIB = (os.__file__ or "").replace("\\", "/").rpartition("/")[0] + "/"


class Block(NamedTuple):
    """A block that covers a position: the ``body``, ``handlers`` or ``orelse`` of a try, or a with item."""

    node: Any
    part: str  # "body", "handlers", "orelse"; "item" for with
    item: int = 0  # which item of the with


class Scope(NamedTuple):
    """The tree of one code object. ``shift``: what to add to a line number in the tree to get the file's."""

    node: Any
    shift: int


class Place(NamedTuple):
    """One instruction in its source. ``blocks`` from the innermost outward; None: the source is not known."""

    code: CodeType  # kept, so that its id stays taken
    position: Optional[Position]
    blocks: Optional[List[Block]]
    scope: Optional[Scope]
    withs: List[layout.Handler]  # the handlers of the with blocks, in the same order as in `blocks`
    decoded: List[layout.Decoded]  # all handlers, where the source is not known


_places: Dict[Tuple[int, int], Place] = {}
_scopes: Dict[int, Tuple[CodeType, Optional[Scope]]] = {}


def place(frame: FrameType) -> Place:
    """Where the frame's current instruction is. Remembered by code object and offset."""
    key = (id(frame.f_code), frame.f_lasti)
    known = _places.get(key)
    if known is not None:
        return known
    if len(_places) > _MAX_MEMO:
        _places.clear()
    known = _places[key] = _find(frame)
    return known


def _find(frame: FrameType) -> Place:
    code = frame.f_code
    if layout.HAS_TABLES and layout.covering(layout.exception_table(code), frame.f_lasti) is None:
        return Place(code, None, [], None, [], [])
    if code.co_name.startswith("<") and code.co_name != "<module>":
        return Place(code, None, [], None, [], [])  # lambdas and comprehensions hold no blocks
    chain = valuestack.handlers(frame)
    withs = [handler for handler in chain if handler.kind == "with"]
    scope = scope_of(code, frame.f_globals)
    position = position_at(code, frame.f_lasti, frame.f_lineno)
    if scope is None or position is None:
        return Place(code, position, None, scope, withs, layout.decoded(code, chain))
    blocks = blocks_at(scope, position, len(withs) if valuestack.readable() or layout.HAS_TABLES else None)
    return Place(code, position, blocks, scope, withs, [] if blocks is not None else layout.decoded(code, chain))


def position_at(code: CodeType, offset: int, line: Optional[int]) -> Optional[Position]:
    """The source range of the instruction at byte ``offset``; only ``line`` where ranges are not recorded."""
    if layout.HAS_TABLES and offset >= 0:
        first, last, column, end = next(itertools.islice(code.co_positions(), offset // 2, None), (None,) * 4)
        if first is not None and last is not None and column is not None and end is not None:
            return first, column, last, end
    return None if line is None else (line, -1, line, -1)


# --------------------------------------------------------------------------- trees


def scope_of(code: CodeType, scope: Dict[str, Any]) -> Optional[Scope]:
    """The tree of the function, class body or module that ``code`` was compiled from, or None."""
    known = _scopes.get(id(code))
    if known is None:
        if len(_scopes) > _MAX_MEMO // 4:
            _scopes.clear()
        lines = source_lines(code.co_filename, scope)
        known = _scopes[id(code)] = (code, _parse_scope(code, lines) if lines else None)
    return known[1]


def _parse_scope(code: CodeType, lines: List[str]) -> Optional[Scope]:
    if code.co_name == "<module>":
        tree = _parse("".join(lines))
        return None if tree is None else Scope(tree, 0)
    return _parse_piece(code, lines) or _search(code, _parse("".join(lines)))


def _parse(text: str) -> Optional[ast.Module]:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _parse_piece(code: CodeType, lines: List[str]) -> Optional[Scope]:
    """Parse only the lines of one function: much cheaper than its whole file."""
    first, last = code.co_firstlineno, _last_line(code)
    if not 1 <= first <= last <= len(lines):
        return None
    head = lines[first - 1]
    if head[:1] in (" ", "\t"):
        tree = _parse("if 1:\n" + "".join(lines[first - 1:last]))
        shift = first - 2
        body = getattr(tree.body[0], "body", []) if tree and tree.body else []
    else:
        tree = _parse("".join(lines[first - 1:last]))
        shift = first - 1
        body = tree.body if tree else []
    if len(body) == 1 and isinstance(body[0], _SCOPES) and getattr(body[0], "name", None) == code.co_name:
        return Scope(body[0], shift)
    return None


def _last_line(code: CodeType) -> int:
    last = code.co_firstlineno
    if layout.HAS_TABLES:
        for line, end, _, _ in code.co_positions():
            last = max(last, line or 0, end or 0)
    else:
        return 0  # no end lines recorded: the whole file is parsed
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            last = max(last, _last_line(constant))
    return last


def _search(code: CodeType, tree: Optional[ast.Module]) -> Optional[Scope]:
    if tree is None:
        return None
    for node in ast.walk(tree):
        if isinstance(node, _SCOPES[:3]) and node.name == code.co_name and first_line(node) == code.co_firstlineno:
            return Scope(node, 0)
    return None


def first_line(node: Any) -> int:
    """The first line of a statement, decorators included."""
    lines: List[int] = [decorator.lineno for decorator in getattr(node, "decorator_list", ())]
    lines.append(node.lineno)
    return min(lines)


def source_lines(filename: str, scope: Dict[str, Any], _open: Any = open) -> List[str]:
    """The lines of a source file, or an empty list. Does not go through functions that a test may replace."""
    entry = linecache.cache.get(filename)
    if entry is not None and len(entry) == 4:
        return list(entry[2])
    known = _files.get(filename)
    if known is None:
        if len(_files) > 64:
            _files.clear()
        known = _files[filename] = _read_file(filename, _open) or _from_loader(filename, scope)
    return known


_files: Dict[str, List[str]] = {}


def _read_file(filename: str, _open: Any) -> List[str]:
    if filename.startswith("<frozen "):  # a part of the standard library that is compiled into the interpreter
        filename = _STDLIB + filename[len("<frozen "):-1].replace(".", "/") + ".py"
    try:
        with _open(filename, "rb") as stream:
            raw = stream.read()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        return io.TextIOWrapper(io.BytesIO(raw), encoding).read().splitlines(True)
    except (OSError, SyntaxError, UnicodeDecodeError, LookupError, ValueError):
        return []


def _from_loader(filename: str, scope: Dict[str, Any]) -> List[str]:
    """The source of a module in a zip file."""
    loader, module = dict.get(scope, "__loader__"), dict.get(scope, "__name__")
    if type(loader).__module__ != "zipimport" or type(module) is not str or dict.get(scope, "__file__") != filename:
        return []
    try:
        return (loader.get_source(module) or "").splitlines(True)  # type: ignore[union-attr]
    except (ImportError, SyntaxError):
        return []


# --------------------------------------------------------------------------- blocks


def contains(node: Any, position: Position) -> bool:
    """Whether a node's source covers ``position``; by lines alone where columns are unknown."""
    line, column, end_line, end_column = position
    if column < 0:
        return bool(first_line(node) <= line <= node.end_lineno)
    start = first_line(node)
    begins = (start, node.col_offset if start == node.lineno else 0)
    return begins <= (line, column) and (end_line, end_column) <= (node.end_lineno, node.end_col_offset)


def blocks_at(scope: Scope, position: Position, withs: Optional[int] = None) -> Optional[List[Block]]:
    """The blocks of ``scope`` that cover ``position``, from the innermost outward; None: position not found.

    ``withs`` says how many with items cover it, where that is known from bytecode: before Python 3.12 the calls
    of ``__enter__`` and ``__exit__`` carry the position of the whole statement.
    """
    shift = scope.shift
    local = (position[0] - shift, position[1], position[2] - shift, position[3])
    found: List[Block] = []
    statement = _child(scope.node.body, local)
    if statement is None:
        return None
    while statement is not None:
        statement = _descend(statement, local, found, withs)
    found.reverse()
    return found


def blocks_around(scope: Scope, node: Any) -> Optional[List[Block]]:
    """The blocks of ``scope`` around one of its own nodes."""
    shift = scope.shift
    return blocks_at(scope, (node.lineno + shift, node.col_offset, node.end_lineno + shift, node.end_col_offset))


def _child(statements: List[Any], position: Position) -> Any:
    for statement in statements:
        if contains(statement, position):
            return statement
    return None


def _descend(statement: Any, position: Position, found: List[Block], withs: Optional[int]) -> Any:
    if isinstance(statement, _TRY):
        return _into_try(statement, position, found)
    if isinstance(statement, _WITH):
        return _into_with(statement, position, found, withs)
    if isinstance(statement, _SCOPES):
        return None
    for part in ("body", "orelse"):
        inner = getattr(statement, part, None)
        child = _child(inner, position) if isinstance(inner, list) else None
        if child is not None:
            return child
    for case in getattr(statement, "cases", ()):
        child = _child(case.body, position)
        if child is not None:
            return child
    return None


def _into_try(statement: Any, position: Position, found: List[Block]) -> Any:
    for part in ("body", "orelse", "finalbody"):
        child = _child(getattr(statement, part), position)
        if child is not None:
            if part != "finalbody":
                found.append(Block(statement, part))
            return child
    for handler in statement.handlers:
        if contains(handler, position):
            found.append(Block(statement, "handlers"))
            return _child(handler.body, position)
    return None


def _into_with(statement: Any, position: Position, found: List[Block], withs: Optional[int]) -> Any:
    child = _child(statement.body, position)
    count = len(statement.items)
    if child is not None:
        entered = count
    else:
        outer = sum(1 for block in found if block.part == "item")
        exact = None if withs is None else max(0, min(count, withs - outer))
        at = next((index for index, item in enumerate(statement.items) if _in_item(item, position)), exact or 0)
        entered = exact if position[1] < 0 and exact is not None else at
    found.extend(Block(statement, "item", index) for index in range(entered))
    return child


def _in_item(item: Any, position: Position) -> bool:
    return contains(item.context_expr, position) or (
        item.optional_vars is not None and contains(item.optional_vars, position)
    )


# --------------------------------------------------------------------------- expressions


def expression_at(frame: FrameType, kinds: Tuple[type, ...]) -> Any:
    """The node of one of ``kinds`` that the frame's current instruction belongs to, or None.

    Where only lines are known: the only such node that begins on the line.
    """
    code = frame.f_code
    position = position_at(code, frame.f_lasti, frame.f_lineno)
    if position is None:
        return None
    key = (id(code), frame.f_lasti)
    known = _expressions.get(key)
    if known is None or known[0] is not code or known[1] is not kinds:
        if len(_expressions) > _MAX_MEMO:
            _expressions.clear()
        known = _expressions[key] = (code, kinds, _expression(frame, position, kinds))
    return known[2]


_expressions: Dict[Tuple[int, int], Tuple[CodeType, Tuple[type, ...], Any]] = {}


def _expression(frame: FrameType, position: Position, kinds: Tuple[type, ...]) -> Any:
    scope = _expression_scope(frame)
    if scope is None:
        return None
    local = (position[0] - scope.shift, position[1], position[2] - scope.shift, position[3])
    fitting = [node for node in ast.walk(scope.node) if isinstance(node, kinds) and _fits(node, local)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(node: Any, position: Position) -> bool:
    line, column, end_line, end_column = position
    if column < 0:
        return bool(node.lineno == line)
    if (node.end_lineno, node.end_col_offset) != (end_line, end_column):
        return False
    if (node.lineno, node.col_offset) == (line, column):
        return True
    method = getattr(node, "func", node)  # an attribute on a line of its own: the range begins at its name
    return isinstance(method, ast.Attribute) and (method.end_lineno, method.end_col_offset) == (
        line, column + len(method.attr.encode()))


def _expression_scope(frame: FrameType) -> Optional[Scope]:
    code = frame.f_code
    if code.co_name.startswith("<"):  # lambda, comprehension or module: no tree of its own
        tree = _parse("".join(source_lines(code.co_filename, frame.f_globals)))
        return None if tree is None else Scope(tree, 0)
    return scope_of(code, frame.f_globals)


def own_nodes(body: List[Any]) -> Iterator[Any]:
    """All nodes under some statements, without those of nested functions and classes."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def stored_names(body: List[Any]) -> "frozenset[str]":
    """Names that the statements bind, anywhere."""
    found = set()
    for node in own_nodes(body):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
    return frozenset(found)


def where(code: CodeType, line: int) -> str:
    """``file:line`` for people; the two last parts of the path are enough to find it."""
    short = _short.get(code.co_filename)
    if short is None:
        if len(_short) > _MAX_MEMO:
            _short.clear()
        short = _short[code.co_filename] = "/".join(code.co_filename.replace("\\", "/").split("/")[-2:])
    return "{}:{}".format(short, line)


_short: Dict[str, str] = {}
