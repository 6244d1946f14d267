"""From what the rewriter noted to the table of sites, only when somebody asks. May import sites and clauses."""

import ast
from typing import Any, List, Optional, Tuple

from healguard_core.execution.instrument.clauses import NOTHING, Caught
from healguard_core.execution.instrument.sites import Site


class Scope:
    """The function, class or module that a statement belongs to. ``kind`` names which."""

    def __init__(self, qualname: str, kind: str) -> None:
        self.qualname = qualname
        self.kind = kind
        if kind == "function":
            self.prefix = qualname + ".<locals>."
        else:
            self.prefix = qualname + "." if qualname else ""


class Block:
    """Statements that share the region which a heal in them can leave.

    ``depth`` counts the program's own nested blocks above; ``loop`` and ``returns`` say what a region here may do
    (`nodes.region`). Sites of a block with an ``outer`` one reach that block's region directly. ``final``: it stands
    in a ``finally`` body. ``caught``: what the program's own handlers around it, in the same function, take.
    """

    __slots__ = ("scope", "depth", "loop", "returns", "is_body", "final", "caught", "_outer", "_closed")

    def __init__(
        self,
        scope: Scope,
        depth: int,
        loop: bool = False,
        returns: str = "",
        is_body: bool = False,
        outer: "Optional[Block]" = None,
    ) -> None:
        self.scope = scope
        self.depth = depth
        self.loop = loop
        self.returns = returns
        self.is_body = is_body
        self.final = False
        self.caught = NOTHING
        self._outer = outer
        self._closed = False

    def inside(self, blocks: int, caught: Caught, loop: bool = False, shared: bool = False) -> "Block":
        """The block of a body that is ``blocks`` deeper; ``shared``: it needs no region of its own."""
        outer = self if shared else None
        block = Block(self.scope, self.depth + blocks, self.loop or loop, self.returns, outer=outer)
        block.final = self.final
        block.caught = caught
        return block

    def passing(self, blocks: int) -> "Block":
        """A ``finally`` body: it reaches the region around it, but may hold no ``return`` of ours."""
        block = Block(self.scope, self.depth + blocks, outer=self)
        block.final = True
        block.caught = self.caught
        return block

    def closed(self, blocks: int) -> "Block":
        """A body from which no heal may leave, except from loops inside of it."""
        block = Block(self.scope, self.depth + blocks)
        block.final = self.final
        return block

    def close(self) -> None:
        """There is no room for the region."""
        self._closed = True

    def leaves(self) -> Tuple[str, ...]:
        """The ways that a heal in this block can take."""
        if self._outer is not None:
            return self._outer.leaves()
        if self._closed:
            return ()
        return (("return",) if self.returns else ()) + (("continue", "break") if self.loop else ())

    def can_leave(self) -> bool:
        """Whether there is any such way, so that a region is needed."""
        if self._outer is not None:
            return self._outer.can_leave()
        return self.loop or bool(self.returns)


Mark = Tuple[Any, str, Block, int, bool]
"""Statement, kind, block, line to jump to for a retry, guarded."""


def site_table(marks: List[Mark], source: str) -> Tuple[Site, ...]:
    """The sites that ``marks`` describe, in order."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(_site(number, mark, lines) for number, mark in enumerate(marks))


def _site(number: int, mark: Mark, lines: List[str]) -> Site:
    node, kind, block, retry_line, guarded = mark
    reason = _IN_FINAL if block.final else _not_alone(node, lines)
    return Site(
        number=number,
        line=node.lineno,
        column=node.col_offset,
        end_line=node.end_lineno,
        end_column=node.end_col_offset,
        kind=kind,
        node=node.__class__.__name__,
        qualname=block.scope.qualname,
        leaves=block.leaves(),
        can_retry=not reason,
        retry_reason=reason,
        retry_line=retry_line,
        skips=_skips(node) if kind == "header" else None,
        guarded=guarded,
        is_return=node.__class__ is ast.Return,
        has_yield=_suspends(node),
    )


_IN_FINAL = "it stands in a finally block, of which the compiler makes several copies"


def _not_alone(node: Any, lines: List[str]) -> str:
    """Why a jump to the line of ``node`` would not start ``node`` alone; "" when it would."""
    before = lines[node.lineno - 1].encode("utf-8", "surrogatepass")[: node.col_offset].decode("utf-8", "replace")
    if before.strip().rstrip(":").rstrip() in ("", "else", "try", "finally", "\ufeff"):
        return ""
    return "another statement stands before it on line {}".format(node.lineno)


def _skips(node: Any) -> Optional[Tuple[int, int]]:
    if node.__class__ in (ast.FunctionDef, ast.AsyncFunctionDef):
        return None
    if not hasattr(node, "body"):
        return node.cases[0].pattern.lineno, node.end_lineno
    return _first_line(node.body), node.end_lineno


def _first_line(body: List[Any]) -> int:
    """The first line of a rewritten block; what was put into it stands on no line of the source."""
    first = body[0]
    while first.lineno < 1:
        first = first.body[0] if hasattr(first, "body") else body[1]
    return int(first.lineno)


def _suspends(statement: Any) -> bool:
    """Whether ``statement`` itself (not a body inside of it) has a ``yield`` or ``await`` of its own scope."""
    if statement.__class__.__name__ in ("AsyncFor", "AsyncWith"):
        return True
    waiting: List[Any] = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, _BODIES)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            return True
        if not isinstance(node, ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return False


_BODIES = (ast.stmt, ast.ExceptHandler)
