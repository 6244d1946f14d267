"""From text to a bounded syntax tree, without ever raising. Imports only the tables and the protocol."""

import ast
import re
import warnings
from typing import Any, Dict, Iterator, List, Optional, Tuple

from healguard_core.execution.guard import healcore
from healguard_core.execution.guard.rules import RULES, UNSUPPORTED
from healguard_core.protocol import Finding

_NESTING = re.compile(r"[.(\[{+\-*/%@&|^~<>]|\b(?:not|if|elif|lambda|await)\b")


def split_lines(text: str) -> List[str]:
    """The lines as the parser counts them (`str.splitlines` knows more line ends)."""
    return re.split("\r\n|\r|\n", text)


class Source:
    """A piece of healing code as a tree: its nodes in source order, with parents and positions."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.tree = tree
        self.lines = split_lines(text)
        self.nodes: List[ast.AST] = []
        self.parents: Dict[ast.AST, ast.AST] = {}
        self.depth = 0
        self._walk()

    def _walk(self) -> None:
        """Collect nodes without recursion. Contexts and operators are shared objects and have no parent."""
        pending: List[Tuple[ast.AST, int]] = [(self.tree, 0)]
        while pending:
            node, depth = pending.pop()
            self.nodes.append(node)
            self.depth = max(self.depth, depth)
            children = list(ast.iter_child_nodes(node))
            for child in reversed(children):
                self.parents[child] = node
                pending.append((child, depth + 1))

    def parent(self, node: ast.AST) -> Optional[ast.AST]:
        return self.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[Tuple[ast.AST, ast.AST]]:
        """Pairs (child, parent) from ``node`` outward."""
        above = self.parents.get(node)
        while above is not None:
            yield node, above
            node, above = above, self.parents.get(above)

    def position(self, node: ast.AST) -> Tuple[int, int]:
        """Line and column of ``node``, both from 1, the column in characters."""
        placed: Optional[ast.AST] = node
        while placed is not None and getattr(placed, "lineno", None) is None:
            placed = _placed_child(placed) or self.parents.get(placed)
        line = getattr(placed, "lineno", 1)
        line = min(max(line, 1), len(self.lines))
        text = self.lines[line - 1]
        offset = max(getattr(placed, "col_offset", 0), 0)
        if text.isascii():
            return line, min(offset, len(text)) + 1
        return line, len(text.encode("utf-8")[:offset].decode("utf-8", "ignore")) + 1

    def finding(self, node: ast.AST, rule: str, severity: str, message: str, advice: str = "") -> Finding:
        """A finding at ``node``; without ``advice`` the rule's own."""
        line, column = self.position(node)
        return Finding(rule, severity, line, column, message, advice or RULES[rule].advice)


def _placed_child(node: ast.AST) -> Optional[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if getattr(child, "lineno", None) is not None:
            return child
    return None


def read(text: str, _parse: Any = ast.parse) -> Tuple[Optional[Source], List[Finding]]:
    """The code as a `Source`, or the reason why it cannot be one. Never raises for any text."""
    too_large = _too_large(text)
    if too_large:
        return None, [Finding("HC101", UNSUPPORTED, 1, 1, too_large, RULES["HC101"].advice)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a program under -W error must not turn a stray "\d" into a refusal
            tree = _parse(text)
    except SyntaxError as error:
        return None, [_unreadable(text, error)]
    except (RecursionError, MemoryError):
        return None, [
            Finding("HC101", UNSUPPORTED, 1, 1, "the code is nested too deeply to be parsed", RULES["HC101"].advice)
        ]
    except ValueError as error:  # null bytes, lone surrogates
        return None, [
            Finding(
                "HC100",
                UNSUPPORTED,
                1,
                1,
                "the code is not text that Python accepts: {}".format(error),
                RULES["HC100"].advice,
            )
        ]
    source = Source(text, tree)
    if source.depth > healcore.MAX_DEPTH:
        message = "the code is nested {} levels deep; {} are allowed".format(source.depth, healcore.MAX_DEPTH)
        return None, [Finding("HC101", UNSUPPORTED, 1, 1, message, RULES["HC101"].advice)]
    return source, []


def _too_large(text: str) -> str:
    """Why the text is not even given to the parser, or "".

    The parser itself overflows the C stack on deep nesting, which no `except` can catch, so marks are counted first.
    """
    if len(text) > healcore.MAX_CHARACTERS:
        return "the code has {} characters; {} are allowed".format(len(text), healcore.MAX_CHARACTERS)
    marks = sum(1 for _ in _NESTING.finditer(text))
    if marks > healcore.MAX_NESTING_MARKS:
        return "the code has {} brackets, dots and operators; {} are allowed".format(marks, healcore.MAX_NESTING_MARKS)
    return ""


def _unreadable(text: str, error: SyntaxError) -> Finding:
    count = len(split_lines(text))
    line = min(max(error.lineno or 1, 1), count)
    message = "this Python version cannot parse the code: {}".format(error.msg)
    return Finding("HC100", UNSUPPORTED, line, max(error.offset or 1, 1), message, RULES["HC100"].advice)
