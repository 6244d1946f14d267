"""Reviewed heals: which entry of the runbook answers a crash, if any. May import guard.gate and patterns."""

import ast
import fnmatch
import os
import re
import sys
from types import FrameType
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple, Union

from healguard_core.execution import patterns
from healguard_core.execution.guard import gate
from healguard_core.protocol import RunbookEntry

_GENERATED = re.compile(r"\.<(?:listcomp|setcomp|dictcomp|genexpr)>")


class Frame(Protocol):
    """What matching needs to know about one repository frame."""

    @property
    def function(self) -> str:
        """``module.qualname``."""

    @property
    def frame(self) -> FrameType:
        """The frame itself, for its globals."""

    @property
    def statement_node(self) -> Optional[ast.stmt]:
        """The running statement parsed on its own; None when unknown."""

    def read(self) -> Mapping[str, Any]:
        """The live values of the frame's variables by name."""


class Match(NamedTuple):
    """The entry that applies and the repository frame (0 = innermost) that it heals."""

    entry: RunbookEntry
    frame_index: int


class _Compiled(NamedTuple):
    entry: RunbookEntry
    message: "Optional[re.Pattern[str]]"
    statement: Optional[ast.stmt]
    where: Any  # code object, or None


class Runbook:
    """The entries of all runbooks in file order; the first that applies wins.

    Entries may be given as `RunbookEntry` dictionaries, as a configuration carries them. Raises ``ValueError``
    naming the entry for a regular expression, statement or condition that cannot be used.
    """

    def __init__(self, entries: Sequence[Union[RunbookEntry, Dict[str, Any]]]) -> None:
        self._entries = [_compiled(e if isinstance(e, RunbookEntry) else RunbookEntry(**e)) for e in entries]

    def match(
        self, exc: BaseException, frames: Sequence[Frame], notes: Optional[List[str]] = None
    ) -> Optional[Match]:
        """The first entry that applies to ``exc``, raised under ``frames`` (innermost first).

        An entry whose ``where`` raises does not apply; what it raised is appended to ``notes``.
        """
        if not self._entries or not frames:
            return None
        message = _message(exc)
        for candidate in self._entries:
            entry = candidate.entry
            if not matches_error(entry.error, type(exc)):
                continue
            if candidate.message is not None and not candidate.message.search(message):
                continue
            for index, frame in _frames_of(entry, frames):
                if _at_statement(candidate, frame) and _holds(candidate, frame, notes):
                    return Match(entry, index)
        return None


def matches_error(name: str, error: type) -> bool:
    """Whether ``except NAME`` would catch ``error``; ``name`` is simple or dotted, also by a re-exporting module."""
    bases = [base for base in error.__mro__ if issubclass(base, BaseException)]
    for base in bases:
        if name in (base.__name__, base.__qualname__, "{}.{}".format(base.__module__, base.__qualname__)):
            return True
    found = _loaded(name)
    return found is not None and any(base is found for base in bases)


def function_names(function: str) -> List[str]:
    """The spellings of ``module.qualname`` that a runbook may use for it."""
    plain = _GENERATED.sub("", function)
    spellings = [function, plain, function.replace(".<locals>", ""), plain.replace(".<locals>", "")]
    return list(dict.fromkeys(spellings))


def matches_function(pattern: str, function: str) -> bool:
    """Whether the glob ``pattern`` names ``function`` (``module.qualname``) or the tail of it."""
    return any(
        fnmatch.fnmatchcase(spelling, _literal_brackets(pattern))
        or fnmatch.fnmatchcase(spelling, "*." + _literal_brackets(pattern))
        for spelling in function_names(function)
    )


def _literal_brackets(pattern: str) -> str:
    return pattern.replace("[", "[[]")


def _compiled(entry: RunbookEntry) -> _Compiled:
    try:
        message = re.compile(entry.message) if entry.message else None
        statement = patterns.parse_pattern(entry.statement) if entry.statement else None
        where = None
        if entry.where:
            findings = gate.check(entry.where, purpose="expression")
            if findings:
                raise ValueError("the gate refuses `where`: " + gate.render(findings))
            where = compile(entry.where.strip(), "<runbook {}>".format(entry.id), "eval")
    except (re.error, ValueError, SyntaxError) as problem:
        raise ValueError("{}: runbook entry {!r}: {}".format(entry.location or "runbook", entry.id, problem)) from None
    return _Compiled(entry, message, statement, where)


def _frames_of(entry: RunbookEntry, frames: Sequence[Frame]) -> Iterator[Tuple[int, Frame]]:
    if not entry.function:
        yield 0, frames[0]
        return
    for index, frame in enumerate(frames):
        if any(matches_function(entry.function, name) for name in _names_of(frame)):
            yield index, frame


def _names_of(frame: Frame) -> List[str]:
    """The frame's ``module.qualname``; for a program's main file also under the name by which it is imported."""
    module, dot, qualname = frame.function.partition(".")
    if module != "__main__" or not dot:
        return [frame.function]
    spec = frame.frame.f_globals.get("__spec__")
    stem = os.path.splitext(os.path.basename(frame.frame.f_code.co_filename))[0]
    return [frame.function, "{}.{}".format(getattr(spec, "name", stem), qualname)]


def _at_statement(candidate: _Compiled, frame: Frame) -> bool:
    if candidate.statement is None:
        return True
    node = frame.statement_node
    return node is not None and patterns.matches(candidate.statement, node)


def _holds(candidate: _Compiled, frame: Frame, notes: Optional[List[str]]) -> bool:
    """Whether the entry's condition is true in ``frame``. The gate keeps it free of effects."""
    if candidate.where is None:
        return True
    try:
        namespace = dict(frame.frame.f_globals)
        namespace.update(frame.read())
        return bool(eval(candidate.where, namespace))  # noqa: S307
    except Exception as error:
        if notes is not None:
            notes.append(
                "runbook entry {!r} does not apply: `where` raised {}: {}".format(
                    candidate.entry.id, type(error).__name__, _message(error)
                )
            )
        return False


def _message(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception:
        return ""  # an error that cannot be printed has no message to match


def _loaded(name: str) -> Optional[object]:
    """The object that dotted ``name`` means among the modules imported already; nothing is imported or computed."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if module is None:
            continue
        found: object = module
        for part in parts[cut:]:
            found = getattr(found, "__dict__", {}).get(part)
        return found
    return None
