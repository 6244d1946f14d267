"""The append-only record of what happened: in memory by unit, and on disk as JSON lines.

May import protocol. Every function used while a program runs is a default argument, so that tests which patch
``os``, ``time``, ``open`` or ``json`` neither see the journal nor break it.
"""

import collections
import dataclasses
import json
import math
import os
import threading
import time
from typing import Any, Deque, Dict, Iterator, List, Optional, Tuple

from healguard_core.protocol import Event, Finding, event_from_json, event_to_json

MOST_TEXT = 65536
"""Longer strings in an event are cut to this many characters, and the cut says how much is missing."""
MOST_WITHOUT_UNIT = 10000
"""With a file, memory keeps only this many of the newest events that belong to no unit."""
MOST_UNITS = 1000
"""With a file, memory keeps only this many of the newest units whose events nobody has taken."""

_LARGEST_INT_BITS = 2000  # Python may refuse to spell larger ones in decimal
_DEEPEST = 20

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)


def _identity(fd: int, _fstat: Any = os.fstat) -> Tuple[int, int]:
    status = _fstat(fd)
    return status.st_dev, status.st_ino


class Journal:
    """Events in the order in which they were recorded.

    ``path`` is where each event is appended as one JSON line, by one write per line, so that several processes may
    share a file. A forked child keeps no record. ``problem`` says why the file is incomplete, "" as long as it is not.
    """

    def __init__(self, path: Optional[str], _abspath: Any = os.path.abspath, _getpid: Any = os.getpid) -> None:
        self.path = None if path is None else str(_abspath(path))
        self.problem = ""
        self._pid = _getpid()
        self._lock = threading.Lock()
        self._count = 0
        self._units: Dict[str, Deque[Tuple[int, Event]]] = {}
        self._fd: Optional[int] = None
        self._file: Optional[Tuple[int, int]] = None

    def record(self, event: Event, _time: Any = time.time, _getpid: Any = os.getpid) -> Event:
        """Stamp ``event`` with the time, keep it, and return it. Never raises for what an event holds."""
        event.at = float(_time())
        for field in dataclasses.fields(event):
            setattr(event, field.name, _plain(getattr(event, field.name)))
        if _getpid() != self._pid:
            return event  # a lock may have been held when the child was forked, and its events are not the parent's
        line = (_encode(event_to_json(event)) + "\n").encode("ascii") if self.path is not None else b""
        with self._lock:
            self._count += 1
            self._of(event.unit).append((self._count, event))
            if line:
                self._append(line)
        return event

    def events(self, unit: Optional[str] = None) -> List[Event]:
        """The events of ``unit``, or all that are in memory, in order."""
        with self._lock:
            if unit is not None:
                return [event for _, event in self._units.get(unit, ())]
            numbered = [pair for events in self._units.values() for pair in events]
        return [event for _, event in sorted(numbered, key=lambda pair: pair[0])]

    def take(self, unit: str) -> List[Event]:
        """Remove the events of ``unit`` from memory and return them in order. The file keeps its lines."""
        with self._lock:
            return [event for _, event in self._units.pop(unit, ())]

    def close(self, _close: Any = os.close, _getpid: Any = os.getpid) -> None:
        """Close the file. A later `record` opens it again."""
        if _getpid() != self._pid:
            return
        with self._lock:
            if self._fd is not None and self._is_ours(self._fd):
                _close(self._fd)
            self._fd = self._file = None

    def _of(self, unit: str) -> Deque[Tuple[int, Event]]:
        if unit not in self._units:
            bound = MOST_WITHOUT_UNIT if not unit and self.path is not None else None
            self._units[unit] = collections.deque(maxlen=bound)
            if self.path is not None and len(self._units) > MOST_UNITS:
                del self._units[next(name for name in self._units if name)]
        return self._units[unit]

    def _append(self, line: bytes, _write: Any = os.write) -> None:
        try:
            fd = self._fd
            if fd is None or not self._is_ours(fd):
                fd = self._reopen()
            while line:
                line = line[_write(fd, line):]
        except OSError as error:
            # The program that is being healed must go on; whoever reports at the end shows this.
            self.problem = "{}: cannot append to the journal ({}); later events may be missing from it".format(
                self.path, error)

    def _reopen(self, _open: Any = os.open) -> int:
        fd: int = _open(self.path, _FLAGS, 0o644)
        self._fd, self._file = fd, _identity(fd)
        return fd

    def _is_ours(self, fd: int) -> bool:
        """Whether the descriptor still is the journal's: a program may have closed it and opened another file."""
        try:
            return _identity(fd) == self._file
        except OSError:
            return False


def _plain(value: Any, depth: int = 0) -> Any:
    """``value`` as JSON can carry it. What it cannot is shown by its type."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if issubclass(kind, str):
        text = str.__getitem__(value, slice(0, MOST_TEXT))
        missing = str.__len__(value) - len(text)
        return "{}... ({} more characters)".format(text, missing) if missing else text
    if issubclass(kind, int) and int.bit_length(value) <= _LARGEST_INT_BITS:
        return int.__int__(value)
    if issubclass(kind, float) and math.isfinite(value):
        return float.__float__(value)
    if depth < _DEEPEST and (kind is list or kind is tuple):
        return [_plain(item, depth + 1) for item in value]
    if depth < _DEEPEST and kind is dict:
        return {_plain(key) if type(key) is str else "<{}>".format(type(key).__name__):
                _plain(item, depth + 1) for key, item in value.items()}
    if depth < _DEEPEST and kind is Finding:
        return Finding(**{name: _plain(item, depth + 1) for name, item in vars(value).items()})
    return "<{}>".format(kind.__name__)


class Reader(Iterator[Event]):
    """The events in a journal file. ``cut``: how many unfinished last lines were skipped, known at the end."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.cut = 0
        self._lines = self._parsed()

    def __iter__(self) -> "Reader":
        return self

    def __next__(self) -> Event:
        return next(self._lines)

    def _parsed(self) -> Iterator[Event]:
        with open(self.path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line.decode("utf-8"))
                    if not isinstance(record, dict):
                        raise ValueError("it is not a JSON object")
                    event = event_from_json(record)
                except (ValueError, TypeError) as problem:
                    if not line.endswith(b"\n"):
                        self.cut += 1  # the process died while it wrote this line
                        return
                    raise ValueError(
                        "{}:{}: not a journal event: {}. Delete that line to read the others, or write a new journal "
                        "if another version wrote this one.".format(self.path, number, problem)
                    ) from None
                yield event


def read(path: str) -> Reader:
    """The events that a journal file holds, in order.

    Raises ``OSError`` when the file cannot be read and ``ValueError``, naming file and line, for a line that is no
    event. An unfinished last line is skipped and counted in the reader's ``cut``.
    """
    return Reader(path)
