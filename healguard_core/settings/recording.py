"""Writes applied heals as runbook entries, ready for review. May import runbook and documents."""

import ast
import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import yaml

from healguard_core.protocol import Crashed, Healed, RunbookEntry
from healguard_core.settings.documents import Document, parse_document
from healguard_core.settings.errors import Problem, SettingsError
from healguard_core.settings.runbook import VERSION, free_id, load_runbook, plain

_MESSAGE_LIMIT = 160  # characters of a message that a recorded entry insists on
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")


def recorded_entry(crashed: Crashed, healed: Healed, function: str = "") -> RunbookEntry:
    """The runbook entry that would apply ``healed`` again to a crash like ``crashed``.

    ``function`` is the healed frame's ``module.qualname`` when that is not the frame that crashed.
    """
    outer = bool(function) and function != crashed.function
    by = f"recorded from {healed.by}, not reviewed yet"
    return RunbookEntry(
        id="",
        error=crashed.error,
        do=healed.code.rstrip("\n") + "\n",
        resume=healed.resume if healed.resume in ("retry", "continue", "break") else "next",
        function=function or crashed.function,
        message=_pattern_of(crashed.message),
        statement="" if outer else _header(crashed.statement),
        note=f"{by}: {healed.explanation}" if healed.explanation else by,
    )


def dump_runbook(entries: Sequence[RunbookEntry]) -> str:
    """The text of a runbook with ``entries``, identical ones once."""
    text = f"version: {VERSION}\nheals:"
    fresh = _fresh(entries, ())
    if not fresh:
        return text + " []\n"
    return text + "\n" + "".join(_item(entry, "  ") for entry in fresh)


def append_to_runbook(path: str | Path, entries: Sequence[RunbookEntry]) -> int:
    """Add to the runbook ``path`` (made when missing) the entries that it has not; return how many.

    What the file holds, comments included, is kept. Safe when several processes record into one file.
    Raises `SettingsError` when the file exists and is not a runbook that can be added to.
    """
    Path(path).touch()
    with open(path, "r+", encoding="utf-8", newline="") as file, _locked(file):
        text = file.read()
        if not text.strip():
            existing: Sequence[RunbookEntry] = ()
        else:
            existing = load_runbook([path], gate=False)
        fresh = _fresh(entries, existing)
        if not fresh:
            return 0
        grown = _grown(text, str(path), fresh)
        file.seek(0)
        file.write(grown)
        file.truncate()
        return len(fresh)


# --------------------------------------------------------------------------- text


class _Dumper(yaml.SafeDumper):
    pass


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def _item(entry: RunbookEntry, indent: str) -> str:
    text: str = yaml.dump([plain(entry)], Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100_000)
    return "".join(indent + line if line.strip() else line for line in text.splitlines(keepends=True))


def _grown(text: str, name: str, fresh: Sequence[RunbookEntry]) -> str:
    """The file's ``text`` with ``fresh`` after the entries that it has."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        return dump_runbook(fresh)
    document = parse_document(text, name)
    heals = _heals(document)
    if heals.value and heals.flow_style:
        place, what = document.place(("heals",)), "heals in [...] cannot be added to"
        raise SettingsError([Problem("HF408", place, what, "write one `- ` per entry")])
    indent = " " * heals.start_mark.column if heals.value else "  "
    items = "".join(_item(entry, indent) for entry in fresh).replace("\n", line_end)
    if not heals.value:  # `heals: []`
        rest = text[heals.end_mark.index :]
        end_of_line = rest.find("\n") + 1 or len(rest)
        gap = rest[:end_of_line].rstrip()
        return text[: heals.start_mark.index].rstrip(" ") + gap + line_end + items + rest[end_of_line:]
    end = heals.end_mark.index
    if end < len(text):  # another key follows: its line begins here
        end = text.rfind("\n", 0, end) + 1
    gap = "" if text[end - 1] == "\n" else line_end
    return text[:end] + gap + items + text[end:]


def _heals(document: Document) -> Any:
    assert isinstance(document.root, yaml.MappingNode), "a loaded runbook is a mapping"
    return next(value for key, value in document.root.value if key.value == "heals")


def _fresh(entries: Iterable[RunbookEntry], existing: Iterable[RunbookEntry]) -> list[RunbookEntry]:
    """The entries that say something new, each with an id of its own."""
    known = {_meaning(entry) for entry in existing}
    taken = {entry.id for entry in existing}
    fresh = []
    for entry in entries:
        if _meaning(entry) in known:
            continue
        known.add(_meaning(entry))
        name = entry.id if entry.id and entry.id not in taken else free_id(entry, taken)
        taken.add(name)
        fresh.append(dataclasses.replace(entry, id=name))
    return fresh


def _meaning(entry: RunbookEntry) -> tuple[Any, ...]:
    do = entry.do.strip()
    return (entry.error, entry.function, entry.message, entry.statement, entry.where, do, entry.resume, entry.reraise)


def _pattern_of(message: str) -> str:
    """A regular expression for ``message``: exact, but for memory addresses and what follows a reasonable length."""
    pattern = re.sub(r"\\([ \"'<>=:,!@%&#/`~;])", r"\1", re.escape(message[:_MESSAGE_LIMIT]))
    return _ADDRESS.sub("0x[0-9a-fA-F]+", pattern)


def _header(statement: str) -> str:
    """The statement on one line; of a compound statement the header; "" when it cannot be parsed."""
    try:
        body = ast.parse(statement).body
    except (SyntaxError, ValueError, RecursionError):
        return ""
    if len(body) != 1:
        return ""
    node = body[0]
    for name in ("orelse", "finalbody", "handlers", "cases"):
        if hasattr(node, name):
            setattr(node, name, [])
    if hasattr(node, "body"):
        node.body = [ast.Pass()]
    lines = ast.unparse(node).splitlines()
    return "\n".join(line for line in lines if line.strip() != "pass" or len(lines) == 1)


# --------------------------------------------------------------------------- locking


@contextmanager
def _locked(file: IO[str]) -> Iterator[None]:
    """Hold the file for this process alone."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
        try:
            yield
        finally:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        file.flush()
        fcntl.flock(file, fcntl.LOCK_UN)
