"""The programs of the suite as they lie on disk or in files of public sets. Imports nothing of ours but settings.

One YAML file per program: what it is about, the program, how its mistake is mended, the test and a reviewed heal.
"""

import fnmatch
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent / "cases"
SKIP_ONLY = ("pass", "second_error", "wrong_state")
_KEYS = {"about", "error", "line", "skip_only", "program", "mistake", "mended", "test", "heals"}


@dataclass(frozen=True)
class Case:
    """One program with a mistake.

    ``error`` and ``line``: class and line (of ``program``) of the error that its test meets. ``program`` holds a module
    ``program``; ``fixed`` is the same without the mistake, "" where nobody knows. ``test`` is a module with one test.
    ``heals`` is the text of a reviewed runbook, "" without one. ``source`` says where the case comes from.
    """

    id: str
    about: str
    error: str
    line: int
    skip_only: str
    program: str
    fixed: str
    test: str
    heals: str
    source: str = "own"

    @property
    def digest(self) -> str:
        """A text that changes with anything that a run depends on."""
        wanted = "\0".join((self.program, self.fixed, self.test, self.heals))
        return hashlib.sha256(wanted.encode()).hexdigest()[:16]


class CaseError(ValueError):
    """A case that cannot be used; the text says what is wrong and where."""


def load(path: Path) -> Case:
    """The case in the YAML file ``path``. Raises `CaseError`."""
    try:
        record: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as problem:
        raise CaseError(f"{path.name}: cannot be read: {problem}") from None
    if not isinstance(record, dict):
        raise CaseError(f"{path.name}: this is no mapping")
    if set(record) != _KEYS:
        wrong = sorted(map(str, set(record) ^ _KEYS))
        raise CaseError(f"{path.name}: missing or unknown: {', '.join(wrong)}")
    program, mistake = str(record["program"]), str(record["mistake"])
    if program.count(mistake) != 1 or record["skip_only"] not in SKIP_ONLY:
        raise CaseError(f"{path.name}: 'mistake' must stand in the program once, and 'skip_only' be one of "
                        f"{', '.join(SKIP_ONLY)}")
    return Case(
        id=path.stem, about=str(record["about"]), error=str(record["error"]), line=int(record["line"]),
        skip_only=str(record["skip_only"]), program=program, fixed=program.replace(mistake, str(record["mended"])),
        test=str(record["test"]), heals=str(record["heals"]),
    )


def load_each(patterns: str, root: Path = ROOT) -> Iterator[tuple[str, "Case | CaseError"]]:
    """Id and case for each file that ``patterns`` name, by id; an error in place of a wrong one."""
    for path in sorted(root.glob("*.yaml")):
        if not any(fnmatch.fnmatchcase(path.stem, pattern.strip()) for pattern in patterns.split(",")):
            continue
        try:
            yield path.stem, load(path)
        except CaseError as problem:
            yield path.stem, problem
