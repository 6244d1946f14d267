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


class _Limit:
    """The program's recursion limit while pauses have raised it; several threads may be paused at once.

    Without a lock: at the limit, a lock could be taken and then not be released. At worst one pause has no room.
    """

    pauses: List[int] = []
    before = 0
    raised = 0


@contextmanager
def head_room(frames: int = HEAD_ROOM) -> Iterator[None]:
    """Let ``frames`` more Python frames run than the program may, for as long as it is paused. Nests."""
    limit = _get_limit()
    _Limit.pauses.append(1)
    try:
        if limit != _Limit.raised:
            _Limit.before, _Limit.raised = limit, limit + frames
            _set_limit(_Limit.raised)
        yield
    finally:
        _Limit.pauses.pop()
        if not _Limit.pauses:
            raised, _Limit.raised = _Limit.raised, 0
            if _get_limit() == raised:  # else the heal has set a limit of its own
                _restore(_Limit.before)


def _restore(limit: int) -> None:
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
        self._closed = False

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
        self._closed = True
        if sys.stdout is self:  # else another thread is paused as well, and puts the real one back
            real = self._real
            while isinstance(real, Captured) and real._closed:
                real = real._real
            sys.stdout = real

    def _passes_on(self) -> bool:
        return self._closed or _this_thread() != self._thread

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not {}".format(type(text).__name__))
        if self._passes_on():
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
        if self._real is not None and (self._echo or self._passes_on()):
            self._real.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
