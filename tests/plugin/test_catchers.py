"""Everything that may catch, store, replace or pass on an error, each as a small program under the whole plugin.

``catchers.txt`` has the programs: ``#: name | expected [package that must be installed]``. *Handled*: the test
passes, so nothing may be offered for healing. *Offered*: the test fails, and its error was offered, at first sight or
at the second look. *Declined*: the test fails, with an error of a kind that it said it expects.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from pathlib import Path

import pytest

from .conftest import Project


@dataclasses.dataclass(frozen=True)
class Program:
    """One program of the table."""

    name: str
    expected: str
    needed: str
    text: str


def table() -> list[Program]:
    """All programs whose packages are installed."""
    text = (Path(__file__).parent / "catchers.txt").read_text(encoding="utf-8")
    found = []
    for piece in text.split("#: ")[1:]:
        head, _, body = piece.partition("\n")
        name, _, rest = head.partition(" | ")
        expected, _, needed = rest.partition(" ")
        if not needed or importlib.util.find_spec(needed):
            found.append(Program(name, expected, needed, body))
    return found


TABLE = table()

BOOM = """
    def boom(kind=KeyError, *_ignored):
        raise kind("boom")
"""


@dataclasses.dataclass(frozen=True)
class Ran:
    """What the plugin did in one run of all programs, by program."""

    plain: dict[str, str]
    instrumented: dict[str, str]
    offered: dict[str, list[str]]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    files = {"pytest.ini": "[pytest]\n", "heals.yaml": "version: 1\nheals: []\n",
             "programs/__init__.py": "", "programs/errors.py": BOOM}
    tests = []
    for number, program in enumerate(TABLE):
        files[f"programs/p{number}.py"] = "from programs.errors import boom\n" + program.text
        tests.append(f"def test_{number}():\n    from programs import p{number}\n    p{number}.main()\n")
    files["test_programs.py"] = "\n".join(tests)
    project = Project(tmp_path_factory.mktemp("catchers")).write(files)
    said = project.run("-q", "-p", "no:heal", "-rA", "--tb=no", timeout=600)
    plain = {line.split("::")[1].split()[0]: line.split()[0].lower() for line in said.lines if "::test_" in line}
    result = project.run("--heal=runbook", "--heal-runbook=heals.yaml", "--heal-report=report.json",
                         "--heal-journal=journal.jsonl", "--heal-source=programs", timeout=600)
    offered: dict[str, list[str]] = {}
    for line in (project.folder / "journal.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == "Crashed":
            offered.setdefault(event["unit"].rpartition("::")[2], []).append(event["why"])
    instrumented = {name: "passed" if outcome in ("passed", "correct") else "failed"
                    for name, outcome in result.by_name().items()}
    assert set(plain) == set(instrumented) == {f"test_{number}" for number in range(len(TABLE))}, result.out
    return Ran(plain, instrumented, offered)


@pytest.mark.parametrize("number", range(len(TABLE)), ids=[program.name for program in TABLE])
def test_offered_exactly_when_the_test_fails_with_it(number: int, ran: Ran) -> None:
    name, program = f"test_{number}", TABLE[number]
    assert ran.plain[name] == ("passed" if program.expected == "handled" else "failed")
    assert ran.instrumented[name] == ran.plain[name]
    assert (name in ran.offered) is (program.expected == "offered"), ran.offered.get(name)
