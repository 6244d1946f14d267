"""Recordings of what agents and models answered, in files that can be reviewed and committed. May import protocol.

A cassette holds one entry per crash of a test. An entry is found by the test, the ordinal of the crash in it and what
the crash was, with everything masked that differs from run to run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from healguard_core.execution.pause.redaction import redact_shapes
from healguard_core.protocol import CrashContext

VERSION = 1
MODES = ("none", "once", "new", "strict")
"""``none`` replays only. ``once`` records when the file does not exist yet, else replays only. ``new`` replays what the
file has and records the rest. ``strict`` replays only, and every difference from the recording counts as a miss."""
KINDS = ("actions", "exchanges")

_MASKS = [
    (re.compile(r"0x[0-9a-fA-F]{4,}"), "0x..."),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<uuid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"/(?:private/)?(?:tmp|var/tmp|var/folders|dev/shm)/[^\s'\":,;)\]}]+"), "<temporary>"),
    (re.compile(r"\b(pid|thread|port)([ =:#]+)\d+", re.IGNORECASE), r"\1\2..."),
]


class CassetteError(ValueError):
    """A cassette cannot be used; the text says which, where and why."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Crash(_Strict):
    """What a crash was, as far as it is the same in every run."""

    error: str
    message: str
    function: str
    statement: str


class Entry(_Strict):
    """What was answered about one crash. ``answers`` are actions or exchanges, in their order."""

    unit: str
    ordinal: int = Field(ge=1)
    crash: Crash
    agent: str = ""
    model: str = ""
    answers: list[dict[str, Any]]


class _File(_Strict):
    version: Literal[1]
    kind: Literal["actions", "exchanges"]
    recordings: list[Entry]


@dataclasses.dataclass(frozen=True)
class Miss:
    """There is no entry for a crash; ``reason`` says so to whoever reads the report."""

    reason: str


class Cassette:
    """One file. ``records`` says whether what is missing is to be added. Safe for threads and for several runs.

    Raises `CassetteError` for a file that is none, and for one that is missing where nothing is recorded.
    """

    def __init__(self, path: Path, kind: str, mode: str, root: Path, *, key: str = "") -> None:
        self.path = path
        self.kind = kind
        self.mode = mode
        self._root = str(root)
        self._key = key
        self._lock = threading.Lock()
        self.records = records(path, mode)
        self._entries = {} if self.records and mode == "once" else _by_place(load(path, kind) if path.exists() else [])

    def find(self, context: CrashContext) -> Entry | Miss:
        """The entry for this crash, or why there is none."""
        place = (context.unit, context.attempt)
        with self._lock:
            entry = self._entries.get(place)
        about = crash_of(context, self._root)
        what = f"crash {context.attempt} of {context.unit or 'the program'}"
        if entry is None:
            return Miss(f"cassette miss: {self.path.name} has no recording of {what} ({about.error} in "
                        f"{about.function}); record it with --heal-cassette-mode=new")
        if entry.crash != about:
            names = [name for name in Crash.model_fields if getattr(entry.crash, name) != getattr(about, name)]
            first = names[0]
            return Miss(f"cassette miss: {what} is not the one that {self.path.name} recorded: {first} was "
                        f"{getattr(entry.crash, first)!r} and is {getattr(about, first)!r}; record it again with "
                        "--heal-cassette-mode=new")
        return entry

    def add(self, context: CrashContext, agent: str, model: str, answers: list[dict[str, Any]]) -> None:
        """Write an entry for this crash in place of an earlier one. Raises ``OSError``."""
        entry = Entry(unit=context.unit, ordinal=context.attempt, crash=crash_of(context, self._root), agent=agent,
                      model=model, answers=answers)
        with self._lock:
            self._entries[entry.unit, entry.ordinal] = entry
            own = dict(self._entries)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(self.path.parent):
            known = _by_place(load(self.path, self.kind)) if self.path.exists() else {}
            _write(self.path, self.kind, [*{**known, **own}.values()], self.scrub)

    def scrub(self, text: str) -> str:
        """``text`` without the provider's key, and without credentials of a known shape."""
        if self._key:
            text = text.replace(self._key, "<key>")
        return redact_shapes(text)


def records(path: Path, mode: str) -> bool:
    """Whether a run with this cassette may ask an agent; else it needs neither key nor network.

    Raises `CassetteError` when it may not and there is nothing to replay.
    """
    if mode == "new":
        return True
    if path.exists():
        return False
    if mode == "once":
        return True
    raise CassetteError(f"there is no cassette {str(path)!r} to replay; record it with --heal-cassette-mode=once")


def load(path: Path, kind: str) -> list[Entry]:
    """The entries of a file. Raises `CassetteError`."""
    try:
        text = path.read_text(encoding="utf-8")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
            raise CassetteError(f"cassette {str(path)!r} has aliases (*NAME), which could make it huge")
        document = _File.model_validate(yaml.load(text, Loader=loader) or {})
    except OSError as error:
        raise CassetteError(f"cassette {str(path)!r} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CassetteError(f"cassette {str(path)!r} is not YAML: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise CassetteError(f"cassette {str(path)!r}: {place}: {first['msg']}") from None
    if document.kind != kind:
        raise CassetteError(f"cassette {str(path)!r} holds {document.kind}, not {kind}")
    return document.recordings


def crash_of(context: CrashContext, root: str) -> Crash:
    """What is compared of a crash."""
    return Crash(error=context.qualified_error, message=masked(context.message, root)[:2000],
                 function=context.function, statement=" ".join(context.statement.split())[:2000])


def masked(text: str, root: str) -> str:
    """``text`` with everything masked that differs from run to run: addresses, times, temporary and absolute paths."""
    if root:
        text = text.replace(root, "<root>")
    for pattern, mark in _MASKS:
        text = pattern.sub(mark, text)
    return text


# --------------------------------------------------------------------------- files


def _by_place(entries: list[Entry]) -> dict[tuple[str, int], Entry]:
    return {(entry.unit, entry.ordinal): entry for entry in entries}


class _Dumper(yaml.SafeDumper):
    pass


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def _write(path: Path, kind: str, entries: list[Entry], scrub: Callable[[str], str]) -> None:
    """Write the whole file in one step, sorted, so that the same recordings give the same text."""
    entries.sort(key=lambda entry: (entry.unit, entry.ordinal))
    rows = [_scrubbed(entry.model_dump(), scrub) for entry in entries]
    document = {"version": VERSION, "kind": kind, "recordings": rows}
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _scrubbed(value: Any, scrub: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list):
        return [_scrubbed(item, scrub) for item in value]
    if isinstance(value, dict):
        return {key: _scrubbed(item, scrub) for key, item in value.items()}
    return value


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other runs out while a file in ``folder`` is rewritten."""
    place = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)
