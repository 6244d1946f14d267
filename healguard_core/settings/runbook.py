"""Runbook files: reviewed heals as YAML, validated into `RunbookEntry`. May import execution.guard and patterns."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from healguard_core.execution import patterns
from healguard_core.protocol import Finding, RunbookEntry
from healguard_core.settings.documents import Document, Where, read_document
from healguard_core.settings.errors import Problem, SettingsError, nearest

VERSION = 1

Resume = Literal["next", "retry", "return", "continue", "break"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _When(_Strict):
    error: str
    function: str = ""
    message: str = ""
    statement: str = ""


class _Entry(_Strict):
    id: str = ""
    when: _When
    do: str = ""
    where: str = ""
    resume: Resume = "next"
    reraise: bool = False
    note: str = ""


class _File(_Strict):
    version: Literal[1]
    heals: list[_Entry]


def load_runbook(paths: Iterable[str | Path], *, gate: bool = True) -> list[RunbookEntry]:
    """The entries of all files in order, each with an id of its own and its ``file:line``.

    With ``gate`` every ``do`` has to pass the HealCore gate. Raises `SettingsError` with every problem of every file.
    """
    entries: list[RunbookEntry] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            document = read_document(path)
            entries.extend(_entries(document, gate))
        except SettingsError as error:
            problems.extend(error.problems)
    problems.extend(_repeated_ids(entries))
    if problems:
        raise SettingsError(problems)
    taken = {entry.id for entry in entries if entry.id}
    for entry in entries:
        if not entry.id:
            entry.id = free_id(entry, taken)
        taken.add(entry.id)
    return entries


def free_id(entry: RunbookEntry, taken: Iterable[str]) -> str:
    """An id made of the entry's error and function that is not among ``taken``."""
    words = [entry.error.rpartition(".")[2], *entry.function.split(".")[-2:]]
    base = "-".join(filter(None, (re.sub(r"\W+", "-", word).strip("-") for word in words))).lower() or "heal"
    used = set(taken)
    number, candidate = 1, base
    while candidate in used:
        number += 1
        candidate = f"{base}-{number}"
    return candidate


def _entries(document: Document, gate: bool) -> list[RunbookEntry]:
    if document.root is None:
        advice = f"start it with `version: {VERSION}` and a list `heals:`"
        raise SettingsError([Problem("HF403", f"{document.name}:1", "the file is empty", advice)])
    try:
        parsed = _File.model_validate(document.value)
    except ValidationError as error:
        raise SettingsError([_translated(document, detail) for detail in error.errors()]) from None
    entries = []
    problems: list[Problem] = []
    for index, item in enumerate(parsed.heals):
        where: Where = ("heals", index)
        problems.extend(_checked(document, where, item, gate))
        entries.append(
            RunbookEntry(
                id=item.id,
                error=item.when.error,
                do=item.do,
                resume=item.resume,
                reraise=item.reraise,
                function=item.when.function,
                message=item.when.message,
                statement=item.when.statement,
                where=item.where.strip(),
                note=item.note.strip(),
                location=document.place(where),
            )
        )
    if problems:
        raise SettingsError(problems)
    return entries


# --------------------------------------------------------------------------- the shape of the file


def _translated(document: Document, detail: ErrorDetails) -> Problem:
    """What pydantic found, in the words of a runbook's author."""
    where: Where = tuple(detail["loc"])
    place, key = document.place(where), where[-1] if where else ""
    match detail["type"]:
        case "extra_forbidden":
            return Problem("HF402", place, f"unknown key {str(key)!r}", _advice_for_key(where))
        case "missing":
            return Problem("HF403", document.place(where[:-1]), f"key {str(key)!r} is missing", _MISSING.get(key, ""))
        case "literal_error" if key == "version":
            return Problem("HF405", place, f"version {detail['input']!r} is not supported", f"write version: {VERSION}")
        case "literal_error":
            return Problem(
                "HF404", place, f"{key}: {detail['input']!r} is not possible",
                nearest(str(detail["input"]), get_args(Resume)),
            )
        case "string_type":
            return Problem("HF404", place, f"{key}: {detail['input']!r} is not text", "put it in quotes")
        case "bool_type":
            return Problem("HF404", place, f"{key}: {detail['input']!r} is neither true nor false")
        case "list_type":
            return Problem("HF404", place, f"{key or 'the file'} must be a list", "begin each entry with `- when:`")
        case _:
            what = f"{key}" if isinstance(key, str) and key else "the file" if not where else "an entry"
            return Problem("HF404", place, f"{what} must be a mapping of keys to values")


_MISSING: dict[str | int, str] = {
    "version": f"write version: {VERSION}",
    "heals": "list the entries under `heals:`",
    "when": "say which crash the entry is for, as in `when: {error: KeyError}`",
    "error": "name the exception as `except` would, for example KeyError",
}


def _advice_for_key(where: Where) -> str:
    key = str(where[-1])
    inside = _When if "when" in where[:-1] else _Entry if len(where) > 1 else _File
    if inside is _When and key in _Entry.model_fields:
        return f"{key!r} belongs one level up, beside `when`"
    if inside is _Entry and key in _When.model_fields:
        return f"{key!r} belongs inside `when`"
    return nearest(key, inside.model_fields)


# --------------------------------------------------------------------------- what the keys say


def _checked(document: Document, where: Where, item: _Entry, gate: bool) -> Iterator[Problem]:
    """Everything that is wrong with one entry whose keys and kinds are right."""
    yield from _checked_when(document, where, item.when)
    if item.where:
        yield from _checked_condition(document, (*where, "where"), item.where)
    if item.reraise:
        for key in ("do", "resume"):
            if key in item.model_fields_set:
                yield Problem(
                    "HF408", document.place((*where, key)), f"`{key}` and `reraise: true` contradict each other",
                    "keep one of them",
                )
        return
    if not item.do.strip():
        yield Problem(
            "HF403", document.place((*where, "do")), "the entry says neither what to do nor to reraise",
            "add `do:` with healing code (`pass` to skip the statement) or `reraise: true`",
        )
        return
    yield from _checked_code(document, (*where, "do"), item, gate)


def _checked_when(document: Document, where: Where, when: _When) -> Iterator[Problem]:
    inside = (*where, "when")
    if not all(part.isidentifier() for part in when.error.split(".")):
        yield Problem(
            "HF404", document.place((*inside, "error")), f"{when.error!r} is not the name of an exception",
            "name one exception as `except` would, for example KeyError or package.errors.NotFound",
        )
    try:
        re.compile(when.message)
    except re.error as error:
        yield Problem(
            "HF406", document.place((*inside, "message")),
            f"{when.message!r} is not a regular expression: {error}", "escape special characters with a backslash",
        )
    if when.statement:
        try:
            patterns.parse_pattern(when.statement)
        except ValueError as error:
            yield Problem(
                "HF407", document.place((*inside, "statement")), f"{when.statement!r} is {error}",
                "copy the failing statement, with `...` for parts that may differ",
            )


def _checked_condition(document: Document, where: Where, condition: str) -> Iterator[Problem]:
    try:
        ast.parse(condition.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield Problem(
            "HF407", document.place(where), f"`where` is not an expression: {getattr(error, 'msg', error)}",
            "write one expression over the frame's variables",
        )
        return
    yield from _refused(document, where, _gate_findings(condition.strip(), "expression"))


def _checked_code(document: Document, where: Where, item: _Entry, gate: bool) -> Iterator[Problem]:
    try:
        tree = ast.parse(item.do)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        place, what = document.place_in_text(where, line), getattr(error, "msg", error)
        yield Problem("HF407", place, f"`do` is not Python: {what}", "correct the code")
        return
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    resume_place = document.place((*where[:-1], "resume"))
    if item.resume == "return" and "_eh_rtn" not in stored:
        yield Problem(
            "HF408", resume_place, "`resume: return` needs a value", "assign `_eh_rtn` in `do` (None to return nothing)"
        )
    if item.resume in ("retry", "continue", "break") and "_eh_rtn" in stored:
        yield Problem(
            "HF408", resume_place, f"`resume: {item.resume}` and `_eh_rtn` in `do` contradict each other",
            "`_eh_rtn` returns from the function; remove one of them",
        )
    if gate:
        yield from _refused(document, where, _gate_findings(item.do, "heal"))


def _refused(document: Document, where: Where, findings: Iterable[Finding]) -> Iterator[Problem]:
    for finding in findings:
        yield Problem(
            "HF407", document.place_in_text(where, finding.line),
            f"`{where[-1]}` is refused by the gate: {finding.rule} {finding.message}", finding.advice,
        )


def _gate_findings(code: str, purpose: str) -> list[Finding]:
    from healguard_core.execution.guard import gate  # on demand: the gate is not needed to check `reraise` entries

    return gate.check(code, purpose=purpose, live_import=_assumed)


def _assumed(module: str, attribute: str) -> object:
    """Stands for what the program will have imported; the gate judges the live object again when it heals."""
    return module if attribute == "__name__" else object()


def _repeated_ids(entries: Iterable[RunbookEntry]) -> Iterator[Problem]:
    first: dict[str, RunbookEntry] = {}
    for entry in entries:
        if not entry.id:
            continue
        if entry.id in first:
            yield Problem(
                "HF409", entry.location, f"id {entry.id!r} is taken by the entry at {first[entry.id].location}",
                "give each entry an id of its own",
            )
        first.setdefault(entry.id, entry)


def plain(entry: RunbookEntry) -> dict[str, Any]:
    """The entry as it is written in a runbook: keys in stable order, without those that say nothing."""
    when = {key: getattr(entry, key) for key in _When.model_fields if getattr(entry, key)}
    written: dict[str, Any] = {"id": entry.id, "when": when}
    if entry.reraise:
        written["reraise"] = True
    else:
        written["do"] = entry.do if entry.do.endswith("\n") else entry.do + "\n"
    if entry.where:
        written["where"] = entry.where
    if entry.resume != "next":
        written["resume"] = entry.resume
    if entry.note:
        written["note"] = entry.note
    return written
