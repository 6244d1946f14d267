"""What surrounds a heal while it runs: captured output, stack head-room, source lines. Standard library only."""

import ctypes
import linecache
import sys
import threading
from contextlib import contextmanager
from typing import Any, Iterator, List

HEAD_ROOM = 400
"""Python frames that code run at a pause may add above a program that hit the recursion limit."""

_get_limit, _set_limit = sys.getrecursionlimit, sys.setrecursionlimit
_set_limit_unchecked = ctypes.pythonapi.Py_SetRecursionLimit  # looked up here: a forked child must not use ctypes
_this_thread = threading.get_ident


@contextmanager
def head_room(frames: int = HEAD_ROOM) -> Iterator[None]:
    """Let ``frames`` more Python frames run than the program may, for as long as it is paused."""
    limit = _get_limit()
    _set_limit(limit + frames)
    try:
        yield
    finally:
        if _get_limit() == limit + frames:  # else the heal has set a limit of its own
            try:
                _set_limit(limit)
            except RecursionError:  # the program stands at its limit: the checked way refuses to go back there
                _set_limit_unchecked(ctypes.c_int(limit))


@contextmanager
def source_lines(label: str, source: str) -> Iterator[None]:
    """Tracebacks through code compiled from ``source`` with file name ``label`` show its lines."""
    before = linecache.cache.get(label)
    lines = [line + "\n" for line in source.splitlines()]
    linecache.cache[label] = (len(source), None, lines, label)
    try:
        yield
    finally:
        if before is None:
            linecache.cache.pop(label, None)
        else:
            linecache.cache[label] = before


class Captured:
    """Takes the place of ``sys.stdout`` for the code that this thread runs.

    ``text`` is what was printed, cut after ``limit`` characters. With ``echo`` it is printed as well. Output of other
    threads goes where it went before.
    """

    def __init__(self, echo: bool, limit: int = 20000) -> None:
        self._echo = echo
        self._limit = limit
        self._parts: List[str] = []
        self._size = 0
        self._real: Any = None
        self._thread = 0

    @property
    def text(self) -> str:
        text = "".join(self._parts)
        left_out = self._size - len(text)
        return text + "\n... {} more characters".format(left_out) if left_out else text

    def __enter__(self) -> "Captured":
        self._real = sys.stdout
        self._thread = _this_thread()
        sys.stdout = self
        return self

    def __exit__(self, *_exc: Any) -> None:
        if sys.stdout is self:
            sys.stdout = self._real

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not {}".format(type(text).__name__))
        if _this_thread() != self._thread:
            return int(self._real.write(text) or 0)
        room = self._limit - (self._size if self._size < self._limit else self._limit)
        if room:
            self._parts.append(text[:room])
        self._size += len(text)
        if self._echo and self._real is not None:
            self._real.write(text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if self._real is not None and (self._echo or _this_thread() != self._thread):
            self._real.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
