"""Rewrites a parsed file so that its statements can be healed. May import nodes, kinds, clauses, comments and sites.

Every statement that can raise gets a handler of its own, every block that a heal may leave becomes a region; see
docs/architecture.md. The tree is changed in place, in one pass over the statements; expressions are not visited.
"""

import ast
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Set, Tuple

from healguard_core.execution.instrument import clauses, kinds, nodes
from healguard_core.execution.instrument.comments import off_lines
from healguard_core.execution.instrument.sites import Site
from healguard_core.execution.instrument.table import Block, Mark, Scope, site_table

_LIMIT = 19
"""How many blocks may be nested in one function. The compiler takes 20; one is kept for what it adds itself."""

_HANDLER = 2
"""Blocks that the compiler counts for the body of an ``except`` clause."""


class Rewritten:
    """The result of `rewrite`: the instrumented ``tree`` and its ``sites``, a table that is built when asked for.

    ``read``: names of classes that handlers of ours read, taken to be no variables of a function.
    """

    def __init__(self, tree: ast.Module, marks: List[Mark], source: str, read: Set[str]) -> None:
        self.tree = tree
        self.read = read
        self._marks = marks
        self._source = source
        self._sites: Optional[Tuple[Site, ...]] = None

    @property
    def sites(self) -> Tuple[Site, ...]:
        """What each number in a handler stands for; the number is the index."""
        if self._sites is None:
            self._sites = site_table(self._marks, self._source)
        return self._sites


def rewrite(
    tree: ast.Module, source: str, *, every_error: bool = False, unread: FrozenSet[str] = frozenset()
) -> Rewritten:
    """Instrument ``tree``, which was parsed from ``source`` and is used up.

    ``every_error``: ask also about those that a handler of the same function takes for certain. ``unread``: names that
    handlers of ours must not read, which changes no site. May raise ``RecursionError`` for a file that is nested too
    deeply.
    """
    rewriter = _Rewriter(off_lines(source), kinds.LAZY_ANNOTATIONS or _defers_annotations(tree), every_error, unread)
    rewriter.module(tree)
    return Rewritten(tree, rewriter.marks, source, rewriter.read)


def sites_of(source: str, filename: str = "<unknown>", *, every_error: bool = False) -> Tuple[Site, ...]:
    """The sites of a file, as numbered when it was instrumented. Raises what `ast.parse` raises."""
    return rewrite(ast.parse(source, filename), source, every_error=every_error).sites


def _defers_annotations(tree: ast.Module) -> bool:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return any(alias.name == "annotations" for alias in node.names)
    return False


_Cost = Tuple[int, bool]
"""How many blocks are nested inside, and whether a site in there relies on a region around it."""


class _Rewriter:
    def __init__(self, off: FrozenSet[int], lazy_annotations: bool, every_error: bool, unread: FrozenSet[str]) -> None:
        self.marks: List[Mark] = []
        self.read: Set[str] = set()
        self._off = off
        self._lazy_annotations = lazy_annotations
        self._every_error = every_error
        self._unread = unread
        self._bound = clauses.Bound()
        self._raises = 0  # how many raise statements were seen so far

    # ------------------------------------------------------------- blocks

    def module(self, tree: ast.Module) -> None:
        """Rewrite a whole file in place."""
        block = Block(Scope("", "module"), 0)
        out: List[ast.stmt] = []
        for statement in tree.body:
            one = [statement]
            self.statements(one, block)
            out.extend(one)
            self._bound.after(statement)
        tree.body[:] = out

    def statements(self, body: List[ast.stmt], block: Block) -> _Cost:
        """Rewrite the statements of one block in place."""
        height, exposed = 0, False
        out: List[ast.stmt] = []
        simple, compound = self._simple, self._compound
        for statement in body:
            kind = _KIND_OF.get(statement.__class__)
            if kind is kinds.SIMPLE:
                cost = simple(statement, block, out)
            elif kind is kinds.COMPOUND:
                cost = compound(statement, block, out)
            else:
                out.append(statement)
                continue
            if cost[0] > height:
                height = cost[0]
            exposed = exposed or cost[1]
        body[:] = out
        return height, exposed

    def _region(self, body: List[ast.stmt], block: Block) -> _Cost:
        """Rewrite a block whose statements may be left by a heal, and catch the transfer inside of it."""
        first = 1 if block.scope.kind == "function" and block.is_body and _is_docstring(body) else 0
        height, exposed = self.statements(body, block)
        if not exposed:
            return height, False
        taller = max(1 + height, _HANDLER)
        if block.depth + taller > _LIMIT:
            block.close()
            return height, False
        body[first:] = [nodes.region(body[first:], block.loop, block.returns)]
        return taller, False

    # ------------------------------------------------------------- statements

    def _simple(self, statement: ast.stmt, block: Block, out: List[ast.stmt]) -> _Cost:
        scope = block.scope
        if statement.__class__ is ast.Raise:
            self._raises += 1
        if (
            not kinds.simple_can_raise(statement, scope.kind == "function", self._lazy_annotations)
            or block.caught.everything
            or block.depth + _HANDLER > _LIMIT
            or (self._off and self._is_off(statement.lineno, statement.end_lineno))
        ):
            out.append(statement)
            return 0, False
        bare = statement
        if kinds.LAZY_ANNOTATIONS and statement.__class__ is ast.AnnAssign:
            bare = _without_annotation(statement, scope, out)
        self._wrap(bare, statement, "simple", block, out)
        return _HANDLER, block.can_leave()

    def _compound(self, statement: Any, block: Block, out: List[ast.stmt]) -> _Cost:
        cls = statement.__class__
        off = self._off and self._is_off(*_header_lines(statement))
        if off and cls in _DEFINITIONS:
            out.append(statement)
            return 0, False
        if cls is ast.Try and not self._every_error and _may_guard(statement):
            return self._guarded(statement, block, out)
        height, exposed = _INSIDE[cls.__name__](self, statement, block)
        taller = max(1 + height, _HANDLER)
        if (
            off
            or block.caught.everything
            or block.depth + taller > _LIMIT
            or not kinds.header_can_raise(statement, self._lazy_annotations)
        ):
            out.append(statement)
            return height, exposed
        self._wrap(statement, statement, "header", block, out)
        return taller, exposed or block.can_leave()

    def _wrap(self, inner: ast.stmt, statement: Any, kind: str, block: Block, out: List[ast.stmt]) -> None:
        line = statement.lineno
        position = nodes.position_of(statement)
        if statement.end_lineno != line or statement.__class__ in _DEFINITIONS:
            line = kinds.first_line(statement)
            if line != statement.lineno:  # no instruction stands on the statement's own first line
                position = (line, 0, line, 0)
        detour = kind == "header" and not _on_one_line(statement)
        out.append(nodes.with_handler(inner, len(self.marks), position, line, self._passing(block), detour))
        self.marks.append((statement, kind, block, line, False))

    def _passing(self, block: Block) -> Tuple[str, ...]:
        """Names of the classes whose instances need no asking in ``block``."""
        found = tuple(name for name in block.caught.names if name.partition(".")[0] not in self._unread)
        self.read.update(found)
        return found

    def _is_off(self, first: int, last: Optional[int]) -> bool:
        return any(first <= line <= (last or first) for line in self._off)

    # ------------------------------------------------------------- insides of compound statements

    def _if(self, node: ast.If, block: Block) -> _Cost:
        height, exposed = self.statements(node.body, block)
        last = node
        for last in kinds.elifs(node):
            height, exposed = _both((height, exposed), self.statements(last.body, block))
        return _both((height, exposed), self.statements(last.orelse, block))

    def _loop(self, node: Any, block: Block) -> _Cost:
        inner = block.inside(1, block.caught, loop=True)
        height, _ = self._region(node.body, inner)
        return _both((1 + height, False), self.statements(node.orelse, block))

    def _with(self, node: Any, block: Block) -> _Cost:
        blocks = len(node.items)
        height, _ = self._region(node.body, block.inside(blocks, clauses.NOTHING))  # its __exit__ comes in between
        return blocks + height, False

    def _match(self, node: Any, block: Block) -> _Cost:
        cost: _Cost = 0, False
        for case in node.cases:
            cost = _both(cost, self.statements(case.body, block))
        return cost

    def _try(self, node: Any, block: Block) -> _Cost:
        final = 1 if node.finalbody else 0
        tried = 1 if node.handlers else 0
        star = node.__class__ is not ast.Try
        height = final + tried + self._region(node.body, block.inside(final + tried, self._caught(node, block)))[0]
        exposed = False
        for handler in node.handlers:
            cost = self._handler(handler.body, block, final, star)
            height, exposed = _both((height, exposed), (final + _HANDLER + cost[0], cost[1]))
        if final:
            height = max(height, final + self._region(node.orelse, block.inside(final, clauses.NOTHING))[0])
            cost = self.statements(node.finalbody, block.passing(1))
            return _both((height, exposed), (1 + cost[0], cost[1]))
        return _both((height, exposed), self.statements(node.orelse, block))

    def _handler(self, body: List[ast.stmt], block: Block, final: int, star: bool) -> _Cost:
        depth = final + _HANDLER
        if star:  # an exception raised in here becomes part of a group, and nothing may jump out of here
            return self.statements(body, block.closed(depth))[0], False
        if final:
            return self._region(body, block.inside(depth, clauses.NOTHING))
        return self.statements(body, block.inside(depth, block.caught, shared=True))

    def _caught(self, node: Any, block: Block) -> clauses.Caught:
        """What the handlers around the body of ``try`` statement ``node`` take."""
        if self._every_error or node.__class__ is not ast.Try:
            return clauses.NOTHING
        return clauses.inside(node, block.caught, self._bound)

    def _guarded(self, node: ast.Try, block: Block, out: List[ast.stmt]) -> _Cost:
        """A ``try`` around one statement: the site is put around the ``try``, so that the program's own handlers are
        asked first, at no cost. All ways of going on lead to the same place from there. Not so where a handler
        raises: what it does before it does so would come too early.
        """
        inner = node.body[0]
        caught = self._caught(node, block)  # told from the program's own handlers, before they are rewritten
        height, exposed = 0, False
        raises = self._raises
        for handler in node.handlers:
            cost = self._handler(handler.body, block, 0, False)
            height, exposed = _both((height, exposed), (_HANDLER + cost[0], cost[1]))
        taller = max(2, 1 + height)
        fits = block.depth + taller <= _LIMIT and self._raises == raises
        if not fits or _KIND_OF.get(inner.__class__) is not kinds.SIMPLE or not self._is_site(inner, block):
            cost = 1 + self._region(node.body, block.inside(1, caught))[0], False
            out.append(node)
            return _both((height, exposed), cost)
        position = nodes.position_of(inner)
        out.append(nodes.with_handler(node, len(self.marks), position, node.lineno, self._passing(block), True))
        self.marks.append((inner, "simple", block, node.lineno, True))
        return taller, exposed or block.can_leave()

    def _is_site(self, statement: ast.stmt, block: Block) -> bool:
        if block.caught.everything or (self._off and self._is_off(statement.lineno, statement.end_lineno)):
            return False
        return kinds.simple_can_raise(statement, block.scope.kind == "function", self._lazy_annotations)

    # ------------------------------------------------------------- definitions

    def _function(self, node: Any, block: Block) -> _Cost:
        scope = Scope(block.scope.prefix + node.name, "function")
        self._region(node.body, Block(scope, 0, returns=_returns(node), is_body=True))
        return 0, False

    def _class(self, node: ast.ClassDef, block: Block) -> _Cost:
        before = len(self.marks)
        self.statements(node.body, Block(Scope(block.scope.prefix + node.name, "class"), 0))
        if len(self.marks) > before:
            node.body.insert(1 if _is_docstring(node.body) else 0, nodes.CLASS_NAMES)
        return 0, False


_Inside = Callable[[_Rewriter, Any, Block], _Cost]
_INSIDE: Dict[str, _Inside] = {
    "If": _Rewriter._if, "For": _Rewriter._loop, "AsyncFor": _Rewriter._loop, "While": _Rewriter._loop,
    "With": _Rewriter._with, "AsyncWith": _Rewriter._with, "Match": _Rewriter._match, "Try": _Rewriter._try,
    "TryStar": _Rewriter._try, "FunctionDef": _Rewriter._function, "AsyncFunctionDef": _Rewriter._function,
    "ClassDef": _Rewriter._class,
}

_KIND_OF: Dict[Any, str] = {
    getattr(ast, name): kind for name, kind in kinds.KINDS.items() if hasattr(ast, name)
}
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _both(one: _Cost, other: _Cost) -> _Cost:
    return max(one[0], other[0]), one[1] or other[1]


def _may_guard(node: ast.Try) -> bool:
    return len(node.body) == 1 and not node.orelse and not node.finalbody


def _on_one_line(node: Any) -> bool:
    """``if x: raise y``: an error from the body leaves from the header's own line, as in the plain code."""
    return node.__class__ is ast.If and node.body[0].lineno == node.lineno


def _is_docstring(body: List[ast.stmt]) -> bool:
    first: Any = body[0]
    return (
        first.__class__ is ast.Expr
        and first.value.__class__ is ast.Constant
        and isinstance(first.value.value, str)
    )


def _header_lines(node: Any) -> Tuple[int, int]:
    """First and last line of a compound statement before its first inner statement."""
    first = node.lineno
    for decorator in getattr(node, "decorator_list", ()):
        first = min(first, decorator.lineno)
    inner = node.body[0] if hasattr(node, "body") else node.cases[0].pattern
    start = min([inner.lineno] + [decorator.lineno for decorator in getattr(inner, "decorator_list", ())])
    return first, max(start - 1, node.lineno)


def _returns(function: Any) -> str:
    """How a region leaves ``function``: an async generator cannot return a value."""
    if function.__class__ is ast.AsyncFunctionDef and _yields(function):
        return "bare"
    return "value"


def _yields(function: Any) -> bool:
    waiting: List[Any] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, _DEFINITIONS + (ast.Lambda,)):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _without_annotation(node: ast.AnnAssign, scope: Scope, out: List[ast.stmt]) -> ast.stmt:
    """Split ``x: T = v`` into ``x: T`` and ``x = v`` where annotations are lazy: one inside of a ``try`` would be taken
    for a conditional one, which leaves a trace in the namespace.
    """
    if scope.kind == "function" or not node.simple or node.value is None:
        return node
    annotated = {"target": node.target, "annotation": node.annotation, "value": None, "simple": 1}
    out.append(nodes.at_same_place(ast.AnnAssign, node, **annotated))
    return nodes.at_same_place(  # type: ignore[no-any-return]
        ast.Assign, node, targets=[node.target], value=node.value, type_comment=None
    )
