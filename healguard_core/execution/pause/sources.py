"""Program text of code objects, and where functions, classes and loops stand in it. Imports nothing of ours.

Every function used while a program is paused is a default argument, so that tests which patch ``os`` or ``open`` do
not matter. Files are read once per version (modification time and size); a bounded number is kept.
"""

import ast
import itertools
import linecache
import os
import tokenize
from importlib.util import decode_source
from types import CodeType, FrameType
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

MOST_FILES = 64
LARGEST = 4_000_000
"""Files of more bytes than this are not read."""

_OPTIMIZED = 0x1  # code flag of functions; modules and class bodies have it not
_STDLIB_LOADERS = ("zipimport", "_frozen_importlib_external", "importlib._bootstrap_external")


class Block(NamedTuple):
    """A function or class: its first line (decorators included), its last line, its name."""

    first: int
    last: int
    name: str


class Loop(NamedTuple):
    """A ``for`` or ``while`` loop. ``target`` and ``iterable`` are None for ``while``; ``owner``: first line of the
    function or class around it, 0 at module level."""

    first: int
    last: int
    owner: int
    target: Optional[ast.expr]
    iterable: Optional[ast.expr]


class _File:
    """The text of one file in one version, and what was found in it so far.

    Large files are not parsed whole where the text of one function will do.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self._whole: Optional[Tuple[List[Block], List[Loop]]] = None
        self._blocks: Dict[int, Optional[Block]] = {}
        self._loops: Dict[int, List[Loop]] = {}

    def whole(self) -> Tuple[List[Block], List[Loop]]:
        """Every function, class and loop of the file."""
        if self._whole is None:
            self._whole = _scan(self.text, 0)
        return self._whole

    def block(self, first: int) -> Optional[Block]:
        """The function or class whose first line is ``first``."""
        if first not in self._blocks:
            self._blocks[first] = _block_from(self.lines, first)
        return self._blocks[first]

    def loops(self, block: Optional[Block]) -> List[Loop]:
        """The loops of ``block`` itself, of the module for None."""
        if block is None:
            return [loop for loop in self.whole()[1] if loop.owner == 0]
        if block.first not in self._loops:
            text = "\n".join(self.lines[block.first - 1 : block.last])
            indented = text[:1].isspace()
            found = _scan("if 1:\n" + text if indented else text, block.first - 1 - indented)[1]
            self._loops[block.first] = [loop for loop in found if loop.owner == block.first]
        return self._loops[block.first]


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
    if not code.co_name.startswith("<"):
        block = found.block(code.co_firstlineno)
        if block is not None and block.name == code.co_name:
            return block
    around = [block for block in found.whole()[0] if block.first <= line <= block.last]
    if around:
        return min(around, key=lambda block: block.last - block.first)
    last = max(_lines_in(code), default=0)
    return Block(code.co_firstlineno, last, code.co_name) if last else None


def loops_around(
    code: CodeType, line: int, namespace: Optional[Mapping[str, Any]] = None
) -> List[Loop]:
    """The loops of the scope of ``code`` that ``line`` stands in, outermost first."""
    found = _file(code.co_filename, namespace)
    if found is None:
        return []
    loops = found.loops(block_of(code, line, namespace))
    return [loop for loop in loops if loop.first <= line <= loop.last]


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


def _scan(text: str, before: int) -> Tuple[List[Block], List[Loop]]:
    """Functions, classes and loops in ``text``, which ``before`` lines of its file come before."""
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
            owner = before + min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
            blocks.append(Block(owner, before + _last(node), node.name))
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            loops.append(Loop(before + node.lineno, before + _last(node), owner, node.target, node.iter))
        elif isinstance(node, ast.While):
            loops.append(Loop(before + node.lineno, before + _last(node), owner, None, None))
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                waiting.extend((child, owner) for child in inner)
    loops.sort(key=lambda loop: (loop.first, -loop.last))
    return blocks, loops


def _block_from(lines: List[str], first: int) -> Optional[Block]:
    """The function or class that starts at line ``first``, found by its tokens; None when none starts there."""
    name, last, depth, base = "", 0, 0, -1
    inside = False
    try:
        for token in tokenize.generate_tokens(_reader(lines, first)):
            if token.type == tokenize.INDENT:
                depth += 1
                inside = inside or bool(name)
            elif token.type == tokenize.DEDENT:
                depth -= 1
                if name and depth <= base:
                    break
            elif token.type == tokenize.NEWLINE:
                if name and last and not inside:
                    break  # the body stood on the line of the header, and this is the statement after it
                last = token.start[0] if name else 0
            elif not name and base < 0 and token.string in ("def", "class") and token.type == tokenize.NAME:
                base = depth
            elif not name and base >= 0 and token.type == tokenize.NAME:
                name = token.string
    except (tokenize.TokenError, SyntaxError):
        pass  # what follows the block is indented less than its first line, or the text ends within it
    return Block(first, first + last - 1, name) if name and last else None


def _reader(lines: List[str], first: int) -> Callable[[], str]:
    rest = itertools.islice(lines, first - 1, None)
    return lambda: next((line + "\n" for line in rest), "")


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
