"""Policy files (`sinks.yaml`) validated into plain JSON. May import documents, errors, policy_names and the guard.

Nothing of the repository is imported: its names are looked up in its source, and again as live objects when the modules
arrive in the program.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, StrictInt, StrictStr, ValidationError
from pydantic_core import ErrorDetails

from healguard_core.execution.guard import gate, groups
from healguard_core.settings.documents import Document, Where, read_document
from healguard_core.settings.errors import Problem, SettingsError, nearest
from healguard_core.settings.policy_names import Names

VERSION = 1
PREFIX = "builtin:"

Key = StrictStr | StrictInt | list[StrictStr | StrictInt]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Protect(_Strict):
    id: str
    call: str | None = None
    condition: str | None = None
    key: Key | None = None


class _Allow(_Strict):
    id: str
    when: str
    reason: str = ""


class _File(_Strict):
    version: Literal[1]
    protect: list[_Protect] = []
    include: list[str] = []
    allow: list[_Allow] = []


def load_policy(path: str | Path, paths: Iterable[str] = (), *, complete: bool = True) -> dict[str, Any]:
    """The policy in the file ``path`` as plain JSON: ``protect``, ``include`` and ``allow``.

    ``paths`` are folders where the repository's packages lie, besides ``sys.path``; unless these are ``complete``, a
    module that is not found is no problem yet. Raises `SettingsError` with every problem of the file.
    """
    document = read_document(path)
    if document.root is None:
        advice = f"start it with `version: {VERSION}` and a list `protect:`"
        raise SettingsError([Problem("HF403", f"{document.name}:1", "the file is empty", advice)])
    try:
        parsed = _File.model_validate(document.value)
    except ValidationError as error:
        raise SettingsError(list(_translated(document, error.errors()))) from None
    names = Names(paths, complete)
    problems = [*_wrong_entries(document, parsed, names), *_wrong_groups(document, parsed)]
    problems += _wrong_allow(document, parsed)
    if problems:
        raise SettingsError(sorted(problems, key=lambda problem: int(problem.place.rpartition(":")[2])))
    return {
        "version": VERSION,
        "protect": [_plain(document, index, entry) for index, entry in enumerate(parsed.protect)],
        "include": [name.removeprefix(PREFIX) for name in dict.fromkeys(parsed.include)],
        "allow": [{"id": item.id, "when": item.when.strip(), "reason": item.reason.strip()} for item in parsed.allow],
    }


def _plain(document: Document, index: int, entry: _Protect) -> dict[str, Any]:
    kind = "call" if entry.call is not None else "condition"
    target = entry.call if entry.call is not None else entry.condition
    place = document.place(("protect", index))
    return {"id": entry.id, "kind": kind, "target": target, "key": _keys(entry), "place": place}


def _keys(entry: _Protect) -> list[str | int]:
    if entry.key is None:
        return []
    return list(entry.key) if isinstance(entry.key, list) else [entry.key]


# --------------------------------------------------------------------------- the shape of the file


def _translated(document: Document, details: Iterable[ErrorDetails]) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for detail in details:
        problem = _problem(document, detail)
        if (problem.place, problem.message) not in seen:  # a key of several kinds is reported once per kind
            seen.add((problem.place, problem.message))
            yield problem


def _problem(document: Document, detail: ErrorDetails) -> Problem:
    """What pydantic found, in the words of a policy's author."""
    where: Where = tuple(detail["loc"])
    if "key" in where:
        where = where[: where.index("key") + 1]
        advice = "name a parameter or give its position, a list of them, '*' or self"
        return Problem("HF404", document.place(where), f"key: {detail['input']!r} is not possible", advice)
    place, key = document.place(where), where[-1] if where else ""
    match detail["type"]:
        case "extra_forbidden":
            inside: type[BaseModel] = _INSIDE.get(str(where[0]), _File) if len(where) > 1 else _File
            return Problem("HF402", place, f"unknown key {str(key)!r}", nearest(str(key), inside.model_fields))
        case "missing":
            return Problem("HF403", document.place(where[:-1]), f"key {str(key)!r} is missing", _MISSING.get(key, ""))
        case "literal_error":
            return Problem("HF405", place, f"version {detail['input']!r} is not supported", f"write version: {VERSION}")
        case "string_type":
            return Problem("HF404", place, f"{key}: {detail['input']!r} is not text", "put it in quotes")
        case "list_type":
            return Problem("HF404", place, f"{key} must be a list", "begin each entry with `- `")
        case _:
            what = f"{key}" if isinstance(key, str) and key else "the file" if not where else "an entry"
            return Problem("HF404", place, f"{what} must be a mapping of keys to values")


_INSIDE: dict[str, type[BaseModel]] = {"protect": _Protect, "allow": _Allow}
_MISSING: dict[str | int, str] = {
    "version": f"write version: {VERSION}",
    "id": "give the entry a name of its own; findings show it",
    "when": "write one expression over the operation's parameters",
}


# --------------------------------------------------------------------------- what the keys say


def _wrong_entries(document: Document, parsed: _File, names: Names) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for index, entry in enumerate(parsed.protect):
        where: Where = ("protect", index)
        place = document.place((*where, "id"))
        if entry.id in first:
            yield Problem("HF409", place, f"id {entry.id!r} is taken by the entry at {first[entry.id]}",
                          "give each entry an id of its own")
        elif not entry.id.strip() or entry.id.startswith(PREFIX):
            yield Problem("HF404", place, f"id {entry.id!r} is not possible",
                          f"{PREFIX}NAME stands for ready-made groups")
        first.setdefault(entry.id, place)
        if (entry.call is None) is (entry.condition is None):
            yield Problem("HF408", document.place(where), "an entry has either `call` or `condition`",
                          "name one callable, or one value that a check reads")
        elif entry.condition is not None:
            yield from _wrong_condition(document, where, entry, names)
        else:
            yield from _wrong_call(document, where, entry, names)
    if not parsed.protect and not parsed.include:
        yield Problem("HF403", document.place(()), "the policy protects nothing",
                      "add entries under `protect:` or groups under `include:`")


def _wrong_condition(document: Document, where: Where, entry: _Protect, names: Names) -> Iterator[Problem]:
    if entry.key is not None:
        yield Problem("HF408", document.place((*where, "key")), "a condition has no key",
                      "leave it out: the value itself is what the check reads")
    why, advice = names.wrong_condition(entry.condition or "")
    if why:
        yield Problem("HF410", document.place((*where, "condition")), why, advice)


def _wrong_call(document: Document, where: Where, entry: _Protect, names: Names) -> Iterator[Problem]:
    if entry.key is None:
        yield Problem("HF403", document.place(where), "key 'key' is missing",
                      "name the parameter that decides about the effect, or '*' for all")
    elif not _keys(entry):
        yield Problem("HF404", document.place((*where, "key")), "key: the list is empty", "name a parameter, or '*'")
    wrong = names.wrong_call(entry.call or "", _keys(entry))
    if wrong is not None:
        key = "key" if wrong.about_key else "call"
        yield Problem("HF410", document.place((*where, key)), wrong.why, wrong.advice)


def _wrong_groups(document: Document, parsed: _File) -> Iterator[Problem]:
    known = [PREFIX + name for name in groups.GROUPS]
    for index, name in enumerate(parsed.include):
        if name not in known:
            place = document.place(("include", index))
            yield Problem("HF410", place, f"there is no group {name!r}", nearest(name, known))


def _wrong_allow(document: Document, parsed: _File) -> Iterator[Problem]:
    known = [entry.id for entry in parsed.protect if entry.call is not None]
    known += [name for name in parsed.include if name.removeprefix(PREFIX) in groups.GROUPS]
    for index, item in enumerate(parsed.allow):
        where: Where = ("allow", index)
        if item.id not in known:
            yield Problem("HF410", document.place((*where, "id")), f"no protected call has the id {item.id!r}",
                          nearest(item.id, known))
        for finding in gate.check(item.when.strip(), purpose="expression"):
            yield Problem("HF407", document.place_in_text((*where, "when"), finding.line),
                          f"`when` is refused by the gate: {finding.rule} {finding.message}", finding.advice)
