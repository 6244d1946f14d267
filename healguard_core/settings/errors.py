"""Wrong settings, all at once: each problem with its place, its code and what to do. Imports nothing of ours."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CODES = {
    "HF400": "the file cannot be read",
    "HF401": "the file is not YAML",
    "HF402": "a key is unknown or given twice",
    "HF403": "a key is missing",
    "HF404": "a value is of the wrong kind",
    "HF405": "the version is not supported",
    "HF406": "a regular expression is wrong",
    "HF407": "code is wrong or refused by the gate",
    "HF408": "keys contradict each other",
    "HF409": "an id is given twice",
    "HF410": "a name is unknown",
    "HF411": "a feature is not available",
}
"""What each code of this family means, for the page of messages."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. ``place`` is ``file:line`` or an option's name; ``advice`` says what to do next."""

    code: str
    place: str
    message: str
    advice: str = ""

    def __str__(self) -> str:
        advice = f"; {self.advice}" if self.advice else ""
        return f"{self.place}: {self.code} {self.message}{advice}"


class SettingsError(Exception):
    """A setting is wrong. The text has one line per problem, ready to be shown to the user."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


def nearest(name: str, choices: Iterable[str]) -> str:
    """Advice naming the choice that ``name`` was meant to be, else all of them (sorted)."""
    known = sorted(set(choices))
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return "use one of: " + ", ".join(known) if known else ""
