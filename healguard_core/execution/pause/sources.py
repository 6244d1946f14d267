"""Program text of code objects, and where functions, classes and loops stand in it. Imports nothing of ours.

Every function used while a program is paused is a default argument, so that tests which patch ``os`` or ``open`` do
not matter. Files are read once per version (modification time and size); a bounded number is kept.
"""

import ast
import itertools
import linecache
import os
from importlib.util import decode_source
from types import CodeType, FrameType
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

MOST_FILES = 64
LARGEST = 4_000_000
"""Files of more bytes than this are not read."""

_OPTIMIZED = 0x1  # code flag of functions; modules and class bodies have it not
_STDLIB_LOADERS = ("zipimport", "_frozen_importlib_external", "importlib._bootstrap_external")


class Block(NamedTuple):
    """A function or class: its first line (decorators included), the line of its ``def``, its last line."""

    first: int
    keyword: int
    last: int
    name: str
    is_function: bool


class Loop(NamedTuple):
    """A ``for`` or ``while`` loop. ``target`` and ``iterable`` are None for ``while``; ``owner``: first line of the
    function or class around it, 0 at module level."""

    first: int
    last: int
    owner: int
    target: Optional[ast.expr]
    iterable: Optional[ast.expr]


class _File:
    """The text of one file in one version, and what was found in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self._found: Optional[Tuple[List[Block], List[Loop]]] = None

    @property
    def blocks(self) -> List[Block]:
        return self._scanned()[0]

    @property
    def loops(self) -> List[Loop]:
        return self._scanned()[1]

    def _scanned(self) -> Tuple[List[Block], List[Loop]]:
        if self._found is None:
            self._found = _scan(self.text)
        return self._found


_files: Dict[str, Tuple[object, _File]] = {}


def source_of(filename: str, namespace: Optional[Mapping[str, Any]] = None) -> Optional[str]:
    """The text of ``filename``, None when there is none to be had.

    Generated code is found where its maker left it in `linecache`; code in a zip through the loader in ``namespace``
    (its module's globals).
    """
    found = _file(filename, namespace)
    return None if found is None else found.text


def lines_of(filename: str, namespace: Optional[Mapping[str, Any]] = None) -> List[str]:
    """The lines of ``filename`` without line ends; empty when there is no text to be had."""
    found = _file(filename, namespace)
    return [] if found is None else found.lines


def function_source(code: CodeType, namespace: Optional[Mapping[str, Any]] = None) -> Tuple[List[str], int]:
    """The lines of the function or class that ``code`` was compiled from, and the number of the first.

    ``([], 0)`` for modules and where there is no text to be had.
    """
    found = _file(code.co_filename, namespace)
    block = block_of(code, code.co_firstlineno, namespace)
    if found is None or block is None:
        return [], 0
    return found.lines[block.first - 1 : block.last], block.first


def block_of(code: CodeType, line: int, namespace: Optional[Mapping[str, Any]] = None) -> Optional[Block]:
    """The function or class that ``code``, being at ``line``, belongs to; None at module level.

    Lambdas and comprehensions belong to the function around them.
    """
    found = _file(code.co_filename, namespace)
    if found is None or code.co_name == "<module>":
        return None
    for block in found.blocks:
        if block.name == code.co_name and code.co_firstlineno in (block.first, block.keyword):
            return block
    around = [block for block in found.blocks if block.first <= line <= block.last]
    if around:
        return min(around, key=lambda block: block.last - block.first)
    last = max(_lines_in(code), default=0)
    return Block(code.co_firstlineno, code.co_firstlineno, last, code.co_name, True) if last else None


def loops_around(
    code: CodeType, line: int, namespace: Optional[Mapping[str, Any]] = None
) -> List[Loop]:
    """The loops of the scope of ``code`` that ``line`` stands in, outermost first."""
    found = _file(code.co_filename, namespace)
    if found is None:
        return []
    block = block_of(code, line, namespace)
    owner = 0 if block is None else block.first
    return [loop for loop in found.loops if loop.owner == owner and loop.first <= line <= loop.last]


class Span(NamedTuple):
    """A stretch of text: lines from 1, columns in UTF-8 bytes from 0."""

    line: int
    column: int
    end_line: int
    end_column: int


def span_at(code: CodeType, instruction: int) -> Optional[Span]:
    """What the instruction at this offset was compiled from. None before Python 3.11 and where it is not known."""
    positions = getattr(code, "co_positions", None)
    if positions is None or instruction < 0:
        return None
    entry: Any = next(itertools.islice(positions(), instruction // 2, None), (None,) * 4)
    if any(part is None for part in entry):
        return None
    line, end_line, column, end_column = entry
    return Span(line, column, end_line, end_column)


def position(frame: FrameType) -> Tuple[int, Optional[int]]:
    """Line, and column where known, that a calling frame is at."""
    span = span_at(frame.f_code, frame.f_lasti)
    return (frame.f_lineno or 0, None) if span is None else (span.line, span.column)


def text_at(lines: List[str], span: Span) -> str:
    """The exact text of ``span``."""
    chosen = [line.encode("utf-8", "surrogatepass") for line in lines[span.line - 1 : span.end_line]]
    if not chosen:
        return ""
    chosen[-1] = chosen[-1][: span.end_column]
    chosen[0] = chosen[0][span.column :]
    return b"\n".join(chosen).decode("utf-8", "replace")


# --------------------------------------------------------------------------- finding the text


def _file(filename: str, namespace: Optional[Mapping[str, Any]], _stat: Any = os.stat) -> Optional[_File]:
    version: object
    try:
        status = _stat(filename)
        version = (status.st_mtime_ns, status.st_size)
        if status.st_size > LARGEST:
            return None
    except (OSError, ValueError):
        version = None
    kept = _files.get(filename)
    if kept is not None and version is not None and kept[0] == version:
        return kept[1]
    text = _text_without_file(filename, namespace) if version is None else _read(filename)
    if text is None:
        return None
    if kept is not None and kept[1].text == text:
        return kept[1]
    while len(_files) >= MOST_FILES:
        _files.pop(next(iter(_files)), None)
    found = _File(text)
    _files[filename] = (version, found)
    return found


def _read(filename: str, _open: Any = os.open, _read: Any = os.read, _close: Any = os.close) -> Optional[str]:
    parts = []
    try:
        fd = _open(filename, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        try:
            part = _read(fd, LARGEST)
            while part:
                parts.append(part)
                part = _read(fd, LARGEST)
        finally:
            _close(fd)
        return decode_source(b"".join(parts))
    except (OSError, SyntaxError, UnicodeDecodeError, LookupError):
        return None  # not text that Python would run from here


def _text_without_file(
    filename: str, namespace: Optional[Mapping[str, Any]], _cache: Dict[Any, Any] = linecache.cache
) -> Optional[str]:
    entry = dict.get(_cache, filename)
    if type(entry) is tuple and len(entry) == 4 and type(entry[2]) is list:
        lines = [line for line in entry[2] if type(line) is str]
        return "".join(lines)
    loader = None if namespace is None else namespace.get("__loader__")
    if loader is None or type(loader).__module__ not in _STDLIB_LOADERS:
        return None  # a foreign loader might fetch its text from anywhere
    try:
        found = loader.get_source(namespace.get("__name__")) if namespace is not None else None
    except (ImportError, OSError, SyntaxError, UnicodeDecodeError):
        return None
    return found if type(found) is str else None


# --------------------------------------------------------------------------- finding blocks and loops


def _scan(text: str) -> Tuple[List[Block], List[Loop]]:
    blocks: List[Block] = []
    loops: List[Loop] = []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return blocks, loops
    waiting: List[Tuple[ast.AST, int]] = [(tree, 0)]
    while waiting:
        node, owner = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            block = _block(node)
            blocks.append(block)
            owner = block.first
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            loops.append(Loop(node.lineno, _last(node), owner, node.target, node.iter))
        elif isinstance(node, ast.While):
            loops.append(Loop(node.lineno, _last(node), owner, None, None))
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                waiting.extend((child, owner) for child in inner)
    loops.sort(key=lambda loop: (loop.first, -loop.last))
    return blocks, loops


def _block(node: Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]) -> Block:
    first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
    return Block(first, node.lineno, _last(node), node.name, not isinstance(node, ast.ClassDef))


def _last(node: ast.stmt) -> int:
    return int(node.end_lineno or node.lineno)


def _lines_in(code: CodeType) -> List[int]:
    """The lines that ``code`` and the functions in it have instructions on."""
    read_lines = getattr(code, "co_lines", None)  # Python 3.10; before, the first line must do for unparsable text
    found = [code.co_firstlineno] if read_lines is None else [line for _, _, line in read_lines() if line]
    for constant in code.co_consts:
        if type(constant) is CodeType:
            found.extend(_lines_in(constant))
    return found


def is_function(code: CodeType) -> bool:
    """Whether ``code`` is a function's rather than a module's or a class body's."""
    return bool(code.co_flags & _OPTIMIZED)
