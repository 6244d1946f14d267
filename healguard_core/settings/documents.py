"""A YAML file as plain values together with the line of each. Imports errors."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from healguard_core.settings.errors import Problem, SettingsError

Where = tuple[str | int, ...]
"""Keys and positions that lead to a value, from the outermost."""


@dataclass
class Document:
    """``value`` is built of mappings, lists and scalars; ``text`` is the file's text, ``root`` its YAML nodes."""

    name: str
    text: str
    value: Any = None
    root: yaml.Node | None = None
    lines: dict[Where, int] = field(default_factory=dict)
    blocks: set[Where] = field(default_factory=set)

    def line(self, where: Where) -> int:
        """The line (from 1) of the key or element ``where``, else of the nearest thing around it."""
        while where and where not in self.lines:
            where = where[:-1]
        return self.lines.get(where, 1)

    def place(self, where: Where) -> str:
        """``file:line`` of the key or element ``where``."""
        return f"{self.name}:{self.line(where)}"

    def place_in_text(self, where: Where, line: int) -> str:
        """``file:line`` of line ``line`` (from 1) within the text value at ``where``."""
        first = self.line(where)
        return f"{self.name}:{first + line if where in self.blocks else first}"


def read_document(path: str | Path) -> Document:
    """Read the YAML file ``path``. Raises `SettingsError` when it is unreadable, not YAML, or repeats a key."""
    name = str(path)
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(
            [Problem("HF400", f"{name}:1", f"cannot read the file: {error.strerror or error}", "check the path")]
        ) from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SettingsError(
            [Problem("HF400", f"{name}:{line}", f"not UTF-8 (byte {raw[error.start]:#04x})", "save the file as UTF-8")]
        ) from error
    return parse_document(text, name)


def parse_document(text: str, name: str) -> Document:
    """The document that ``text`` spells; ``name`` is what messages call it. Raises `SettingsError`."""
    document = Document(name, text)
    try:
        document.root = yaml.compose(text, Loader=yaml.SafeLoader)
        builder = _Builder(document)
        if document.root is not None:
            document.lines[()] = document.root.start_mark.line + 1
            document.value = builder.build(document.root, (), ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise SettingsError([Problem("HF401", f"{name}:{line}", f"not YAML: {what}")]) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SettingsError(
            [Problem("HF401", f"{name}:{line}", f"not YAML: character {error.character!r} is not allowed")]
        ) from error
    except RecursionError as error:
        raise SettingsError([Problem("HF401", f"{name}:1", "not usable: it is nested too deeply")]) from error
    if builder.problems:
        raise SettingsError(builder.problems)
    return document


class _Builder:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._scalars = yaml.constructor.SafeConstructor()
        self.problems: list[Problem] = []

    def build(self, node: yaml.Node, where: Where, around: tuple[yaml.Node, ...]) -> Any:
        if any(node is outer for outer in around):
            problem = "an alias refers to what it is part of"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        inside = (*around, node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, where, inside)
        if isinstance(node, yaml.SequenceNode):
            return [self._element(child, (*where, index), inside) for index, child in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            self._document.blocks.add(where)
        return self._scalars.construct_object(node)

    def _element(self, node: yaml.Node, where: Where, inside: tuple[yaml.Node, ...]) -> Any:
        self._document.lines[where] = node.start_mark.line + 1
        return self.build(node, where, inside)

    def _mapping(self, node: yaml.MappingNode, where: Where, inside: tuple[yaml.Node, ...]) -> dict[Hashable, Any]:
        built: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            line = key_node.start_mark.line + 1
            if key is None:
                self.problems.append(Problem("HF404", f"{self._document.name}:{line}", "a key must be a single word"))
                continue
            if key in built:
                self.problems.append(
                    Problem("HF402", f"{self._document.name}:{line}", f"key {key!r} is given twice", "keep one of them")
                )
            scalar = isinstance(value_node, yaml.ScalarNode)
            self._document.lines[(*where, key)] = value_node.start_mark.line + 1 if scalar else line
            built[key] = self.build(value_node, (*where, key), inside)
        return built
