"""From counted lines to points that can be told again in another version of the same file. Imports nothing of ours.

A point is a statement (of a compound one its header), named by file, function, text and how many of the same text
come before it in that function: so a fix that moves or changes other lines does not rename it.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Trace:
    """What one execution ran. ``points``: execution counts by point; ``functions`` are ``file:qualified name``."""

    points: dict[str, int]
    files: tuple[str, ...]
    functions: tuple[str, ...]
    complete: bool

    def to_json(self) -> dict[str, Any]:
        """The trace as plain JSON."""
        return {"points": self.points, "files": list(self.files), "functions": list(self.functions),
                "complete": self.complete}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Trace:
        """The trace that `to_json` gave. Raises ``KeyError`` and ``TypeError`` for anything else."""
        return cls(dict(record["points"]), tuple(record["files"]), tuple(record["functions"]), bool(record["complete"]))


def trace_of(counted: Mapping[str, Any]) -> Trace:
    """The trace in what `heal_points` wrote; the sources must still lie where they were counted.

    A file that cannot be read or parsed leaves the trace incomplete.
    """
    parents = {str(Path(place).parent) for place in counted["roots"].values()}
    points: dict[str, int] = {}
    functions: set[str] = set()
    files: list[str] = []
    complete = bool(counted["complete"])
    for name, lines in counted["files"].items():
        if not lines:
            continue
        files.append(name)
        source = next((path for path in (Path(parent) / name for parent in parents) if path.is_file()), None)
        try:
            assert source is not None
            statements = statements_of(source.read_bytes())
        except (AssertionError, OSError, SyntaxError, ValueError, RecursionError):
            complete = False
            continue
        for function, key, count in _counted(name, statements, lines):
            points[key] = count
            functions |= {f"{name}:{function}"} if function else set()
    return Trace(points, tuple(sorted(files)), tuple(sorted(functions)), complete)


@dataclass(frozen=True)
class Statement:
    """A statement of a file: its lines (of a compound one those of the header), function and text."""

    first: int
    last: int
    function: str
    text: str
    ordinal: int


def statements_of(source: bytes) -> list[Statement]:
    """The statements of a file, outer ones first. Raises what `ast.parse` raises."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for node, function in _walk(ast.parse(source).body, ""):
        text = _text(node)
        found.append(Statement(_first(node), _last(node), function, text, seen[function, text]))
        seen[function, text] += 1
    return found


def _walk(body: list[Any], function: str) -> Iterator[tuple[ast.stmt, str]]:
    for node in body:
        if isinstance(node, ast.stmt):
            yield node, function
        inner = f"{function}.{node.name}" if function and isinstance(node, _SCOPES) else getattr(node, "name", "")
        for field in _BODIES:
            below = getattr(node, field, None)
            if isinstance(below, list):
                yield from _walk(below, inner if isinstance(node, _SCOPES) else function)


def _text(node: ast.stmt) -> str:
    """The statement's own text, whatever its layout; without what it contains."""
    if not any(hasattr(node, field) for field in _BODIES):
        return ast.unparse(node)
    header = copy.copy(node)
    for field in _BODIES:
        if isinstance(getattr(header, field, None), list):
            setattr(header, field, [ast.Pass()] if field == "body" else [])
    return ast.unparse(header)


def _first(node: ast.stmt) -> int:
    lines: list[int] = [one.lineno for one in getattr(node, "decorator_list", ())]
    return min([node.lineno, *lines])


def _last(node: ast.stmt) -> int:
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not isinstance(body, list):
        return node.end_lineno or node.lineno
    first: int = body[0].pattern.lineno if hasattr(body[0], "pattern") else _first(body[0])
    return max(node.lineno, first - 1)


def _counted(
    name: str, statements: list[Statement], lines: Mapping[str, int]
) -> Iterator[tuple[str, str, int]]:
    """Function, point and count of every statement of which a line ran.

    A statement over several lines visits some of them twice; the least visited one says how often it ran.
    """
    owner: dict[int, Statement] = {}
    for statement in statements:
        for line in range(statement.first, statement.last + 1):
            owner.setdefault(line, statement)
    ran: dict[Statement, int] = {}
    for text, count in lines.items():
        found = owner.get(int(text))
        if found is not None:
            ran[found] = min(count, ran.get(found, count))
    for statement, count in ran.items():
        wanted = "\0".join((name, statement.function, statement.text, str(statement.ordinal)))
        yield statement.function, hashlib.sha256(wanted.encode()).hexdigest()[:16], count
