"""A crash as the rules see it: the failing node, live values, and the statement rewritten. May import values."""

import ast
import linecache
import sys
import types
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Type, TypeVar

from healguard_core.execution.local_agents.rules.values import UNKNOWN, Evaluator, is_iterator

SURE, LIKELY = 0.9, 0.6
"""How certain a rule is: the only reading that makes sense, or the most probable one."""

_INNER = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Delete)
_GETATTRS = ("__getattr__", "__getattribute__")

NodeT = TypeVar("NodeT", bound=ast.AST)


class Suggestion(NamedTuple):
    """Healing code, how to go on after it, one sentence on why it is right, and how certain that is."""

    code: str
    explanation: str
    confidence: float
    resume: str = "next"
    rule: str = ""


class Place(NamedTuple):
    """Where the failing instruction stands in the file; columns are UTF-8 bytes, None where unknown."""

    line: int
    end_line: Optional[int]
    column: Optional[int]
    end_column: Optional[int]


class Crash:
    """One crash in one frame. Rules ask it for the failing node and build their suggestions with it.

    Attributes: ``error`` (the exception), ``message``, ``direct`` (the statement's own instruction raised, not a
    function that it called), ``node`` (the statement, positions as in the file).
    """

    def __init__(
        self,
        error: BaseException,
        frame: types.FrameType,
        values: Dict[str, Any],
        source: str,
        line: int,
        column: int,
    ) -> None:
        self.error = error
        self.message = _message(error)
        self.source = source
        self.line = line
        self.column = column
        self._frame = frame
        self._values = values
        self.node, self._shift = parse_in_place(frame.f_code.co_filename, source, line, column)
        entries = _own_entries(error, frame, line, line + source.count("\n"))
        self._inner = entries[1:]
        self._place = _place(entries[-1]) if entries else None
        below = _below(entries[-1]) if entries else None
        self.direct = bool(entries) and (
            below is None or (isinstance(error, AttributeError) and _only_getattr(below))
        )
        self.dynamic_attributes = below is not None
        self._evaluator = Evaluator(self._lookup)

    # ----------------------------------------------------------------- reading

    @property
    def simple(self) -> bool:
        """Whether the statement is one that can be run again as a whole, rewritten."""
        if isinstance(self.node, ast.Delete):
            return len(self.node.targets) == 1  # else some targets are gone already
        return isinstance(self.node, _SIMPLE)

    def failing(self, *kinds: Type[NodeT]) -> Optional[NodeT]:
        """The node of one of ``kinds`` that raised; None when it is of another kind or cannot be told."""
        if self.node is None or not self.direct or self._place is None:
            return None
        nodes = [node for node in self.nodes() if isinstance(node, kinds)]
        place = self._place
        if place.column is None:
            return nodes[0] if len(nodes) == 1 else None
        exact = [node for node in nodes if self._starts(node) == (place.line, place.column) and self._ends_at(node)]
        if len(exact) == 1:
            return exact[0]
        # A multi-line chain of attributes is reported from the last attribute's name on.
        ending = [node for node in nodes if self._ends_at(node) and self._starts(node) <= (place.line, place.column)]
        return min(ending, key=self._extent) if ending and not exact else None

    def nodes(self) -> Iterator[ast.AST]:
        """Every node of the statement, of a compound statement only its header."""
        waiting: List[ast.AST] = [self.node] if self.node is not None else []
        while waiting:
            node = waiting.pop()
            yield node
            for name, value in ast.iter_fields(node):
                if node is self.node and name in ("body", "orelse", "handlers", "finalbody", "cases"):
                    continue
                children = value if isinstance(value, list) else [value]
                waiting.extend(child for child in children if isinstance(child, ast.AST))

    def parent(self, child: ast.AST) -> Optional[ast.AST]:
        """The node of the statement that ``child`` is a direct part of."""
        for node in self.nodes():
            if any(part is child for part in ast.iter_child_nodes(node)):
                return node
        return None

    def live(self, node: ast.AST) -> Any:
        """The live value of an expression, or `UNKNOWN` when that would take running code."""
        if self._is_rebound(node):
            return UNKNOWN
        return self._evaluator.value(node)

    def kind(self, node: ast.AST) -> type:
        """The exact type of an expression's value where it is certain, else ``object``."""
        return object if self._is_rebound(node) else self._evaluator.kind(node)

    def names(self) -> FrozenSet[str]:
        """The names that the frame can read: locals, and the module's globals."""
        return frozenset(self._values) | frozenset(self._frame.f_globals)

    def is_local(self, name: str) -> bool:
        return name in self._values

    def text(self, node: ast.AST) -> str:
        """The source text of ``node``."""
        start, end = self._span(node)
        return self.source.encode("utf-8", "surrogatepass")[start:end].decode("utf-8", "replace")

    # ----------------------------------------------------------------- suggesting

    def rewritten(
        self,
        explanation: str,
        edits: Sequence[Tuple[ast.AST, str]],
        confidence: float = SURE,
        before: str = "",
        used_up: Sequence[ast.AST] = (),
    ) -> Optional[Suggestion]:
        """The statement run again with the text of some nodes replaced, after the line ``before``.

        None when the statement is not one that may be run twice. ``used_up`` are iterators that the failing
        expression has not touched although it names them.
        """
        if not self.simple or not self._repeatable(used_up):
            return None
        code = self._edited(edits)
        resume = "next"
        if isinstance(self.node, ast.Return):
            code, resume = "_eh_rtn =" + code[len("return"):], "return"
        return Suggestion(before + "\n" + code if before else code, explanation, confidence, resume)

    def rebound(self, name: str, value: str, explanation: str, confidence: float = SURE,
                used_up: Sequence[ast.AST] = ()) -> Optional[Suggestion]:
        """The local ``name`` bound to ``value``, and then the statement (or the header of a loop) tried again."""
        if not self.is_local(name):
            return None
        binding = "{} = {}".format(name, value)
        if self.simple:
            return self.rewritten(explanation, (), confidence, before=binding, used_up=used_up)
        if isinstance(self.node, (ast.For, ast.If, ast.While)) and self._repeatable(used_up):
            return Suggestion(binding, explanation, confidence, "retry")
        return None

    # ----------------------------------------------------------------- may it be run again?

    def _repeatable(self, used_up: Sequence[ast.AST]) -> bool:
        """Whether evaluating again what was evaluated before the error has no effect and the same result."""
        for node in self.nodes():
            if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom)):
                return False
            if not self._ran_before(node) or any(node is known for known in used_up):
                continue
            if isinstance(node, ast.Call) and not self._evaluator.is_pure_call(node):
                return False
            if isinstance(node, (ast.Name, ast.Attribute)) and is_iterator(self.live(node)):
                return False
        return True

    def _ran_before(self, node: ast.AST) -> bool:
        """Whether ``node`` may have been evaluated when the error was raised (when in doubt it was)."""
        place = self._place
        if place is None or place.column is None:
            return True
        if isinstance(node, (ast.Name, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            return False
        if not hasattr(node, "lineno"):
            return False
        start, end = self._starts(node), self._ends(node)
        raised, finished = (place.line, place.column), (place.end_line or place.line, place.end_column or 0)
        if start <= raised and finished <= end:
            return False  # it contains what raised, so it was not finished
        if isinstance(self.node, ast.Assign) and any(self._within(node, target) for target in self.node.targets):
            return self._place_in_targets() and start < raised
        return start < finished or any(
            self._within(node, outer) and self._starts(outer) <= raised and finished <= self._ends(outer)
            for outer in self.nodes() if isinstance(outer, _COMPREHENSIONS)
        )

    def _place_in_targets(self) -> bool:
        assert isinstance(self.node, ast.Assign)
        assert self._place is not None
        raised = (self._place.line, self._place.column or 0)
        return any(self._starts(target) <= raised < self._ends(target) for target in self.node.targets)

    def _within(self, node: ast.AST, outer: ast.AST) -> bool:
        if not hasattr(node, "lineno") or not hasattr(outer, "lineno"):
            return False
        return self._starts(outer) <= self._starts(node) and self._ends(node) <= self._ends(outer)

    # ----------------------------------------------------------------- names

    def _lookup(self, name: str) -> Any:
        for inner in reversed(self._inner):
            if name in inner.tb_frame.f_locals:
                return inner.tb_frame.f_locals[name]
        for scope in (self._values, self._frame.f_globals, self._frame.f_builtins):
            if name in scope:
                return scope[name]
        return UNKNOWN

    def _is_rebound(self, node: ast.AST) -> bool:
        """Whether ``node`` reads a comprehension's variable whose value is gone (comprehensions are inlined)."""
        if self._inner:
            return False
        inside = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        for outer in self.nodes():
            if isinstance(outer, _COMPREHENSIONS) and self._within(node, outer):
                for generator in outer.generators:
                    for name in ast.walk(generator.target):
                        if isinstance(name, ast.Name) and name.id in inside:
                            return True
        return False

    # ----------------------------------------------------------------- positions and text

    def _starts(self, node: Any) -> Tuple[int, int]:
        return node.lineno + self._shift, node.col_offset

    def _ends(self, node: Any) -> Tuple[int, int]:
        return node.end_lineno + self._shift, node.end_col_offset

    def _ends_at(self, node: ast.AST) -> bool:
        assert self._place is not None
        return hasattr(node, "lineno") and self._ends(node) == (self._place.end_line, self._place.end_column)

    def _extent(self, node: ast.AST) -> int:
        start, end = self._span(node)
        return end - start

    def _span(self, node: ast.AST) -> Tuple[int, int]:
        return self._offset(*self._starts(node)), self._offset(*self._ends(node))

    def _offset(self, line: int, column: int) -> int:
        """The byte of the statement's source that stands at ``line`` and ``column`` of the file."""
        if line == self.line:
            return column - self.column
        lines = self.source.encode("utf-8", "surrogatepass").split(b"\n")
        return sum(len(part) + 1 for part in lines[: line - self.line]) + column

    def _edited(self, edits: Sequence[Tuple[ast.AST, str]]) -> str:
        code = self.source.encode("utf-8", "surrogatepass")
        spans = sorted(((self._span(node), text) for node, text in edits), reverse=True)
        for (start, end), text in spans:
            code = code[:start] + text.encode("utf-8", "surrogatepass") + code[end:]
        return code.decode("utf-8", "replace")


# --------------------------------------------------------------------------- source and traceback


def parse_in_place(filename: str, source: str, line: int, column: int) -> Tuple[Optional[ast.stmt], int]:
    """The statement in ``source`` parsed with the columns it has in its file, and what to add to its line numbers."""
    before = linecache.getline(filename, line).encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace")
    indent = before if not before.strip() else " " * column
    text = "  if" + source[4:] if source.startswith("elif") else source
    try:
        if not column:
            body, shift = ast.parse(text).body, line - 1
        else:
            outer = ast.parse("if 1:\n" + indent + text).body[0]
            assert isinstance(outer, ast.If)
            body, shift = outer.body, line - 2
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None, 0
    return (body[0], shift) if len(body) == 1 else (None, 0)


def _own_entries(
    error: BaseException, frame: types.FrameType, first: int, last: int
) -> List[types.TracebackType]:
    """The traceback's entries of ``frame`` and of the comprehensions in its statement, outermost first."""
    entry = error.__traceback__
    while entry is not None and entry.tb_frame is not frame:
        entry = entry.tb_next
    if entry is None:
        return []
    found = [entry]
    below = _below(entry)
    while below is not None:
        code = below.tb_frame.f_code
        inner = code.co_name in _INNER and code.co_filename == frame.f_code.co_filename
        if not inner or not first <= below.tb_lineno <= last:
            break
        found.append(below)
        below = _below(below)
    return found


def _below(entry: types.TracebackType) -> Optional[types.TracebackType]:
    return entry.tb_next


def _only_getattr(entry: Optional[types.TracebackType]) -> bool:
    while entry is not None:
        if entry.tb_frame.f_code.co_name not in _GETATTRS:
            return False
        entry = entry.tb_next
    return True


def _place(entry: types.TracebackType) -> Place:
    code = entry.tb_frame.f_code
    positions: Optional[Callable[[], Any]] = getattr(code, "co_positions", None)
    if positions is not None and sys.version_info >= (3, 11):
        for index, (line, end_line, column, end_column) in enumerate(positions()):
            if index * 2 == entry.tb_lasti:
                return Place(line or entry.tb_lineno, end_line, column, end_column)
    return Place(entry.tb_lineno, None, None, None)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""  # no rule applies to an error without a message
