"""Every case of ``heals/`` with each of its heals, through the real plugin in a process of its own.

A case is a folder: ``program.py`` crashes in ``run()`` and ``ok(result)`` says whether a result is right,
``expected.toml`` lists heals with the category that each must give under its ``sinks.yaml``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent / "heals"
TEST = """
from subject import program

def test_target():
    assert program.ok(program.run())
"""
AGENT = """
class Scripted:
    name = "scripted"

    def respond(self, session):
        if CODE is None:
            session.reraise("the error is right")
        else:
            outcome = session.heal(CODE)
            if outcome.error:
                session.reraise(outcome.error)

    def close(self):
        pass


def pytest_heal_agents(config):
    return {"scripted": lambda options: Scripted()}
"""


def heals() -> Iterator[Any]:
    for folder in sorted(path.parent for path in CASES.glob("*/expected.toml")):
        case = tomllib.loads((folder / "expected.toml").read_text(encoding="utf-8"))
        for heal in case["heal"]:
            yield pytest.param(folder, case["error"], heal, id=f"{folder.name}-{heal['name'].replace(' ', '-')}")


def lay_out(folder: Path, into: Path) -> None:
    """Make a project: the program as repository code, everything beside it as somebody else's."""
    (into / "subject").mkdir()
    (into / "subject" / "__init__.py").touch()
    for policy in folder.glob("sinks.yaml"):
        shutil.copy(policy, into)
    for source in folder.glob("*.py"):
        shutil.copy(source, into / "subject" if source.name == "program.py" else into)
    (into / "test_target.py").write_text(TEST, encoding="utf-8")
    (into / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")


def run(project: Path, heal: dict[str, Any]) -> dict[str, Any]:
    """Run the project with an agent that answers every crash with ``heal``; its test's record."""
    (project / "conftest.py").write_text(f"CODE = {heal.get('code')!r}\n{AGENT}", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--heal=scripted",
               "--heal-source=subject", "--heal-report=report.json"]
    if (project / "sinks.yaml").exists():
        command.append("--heal-guard=sinks.yaml")
    ran = subprocess.run(command, cwd=project, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert (project / "report.json").is_file(), ran.stdout + ran.stderr
    (test,) = json.loads((project / "report.json").read_text(encoding="utf-8"))["tests"]
    test["terminal"] = ran.stdout
    return test


@pytest.mark.parametrize(("folder", "error", "heal"), list(heals()))
def test_gives_the_claimed_outcome(folder: Path, error: str, heal: dict[str, Any], tmp_path: Path) -> None:
    lay_out(folder, tmp_path)
    test = run(tmp_path, heal)
    assert test["outcome"] == heal["outcome"], test["terminal"]
    assert {crash["error"] for crash in test["crashes"]} == {error}


def test_every_case_claims_a_right_way() -> None:
    """A case teaches nothing when every heal of it is wrong: each has one that is correct or lets the error go."""
    for folder in CASES.iterdir():
        outcomes = {heal["outcome"] for heal in tomllib.loads((folder / "expected.toml").read_text())["heal"]}
        assert outcomes & {"correct", "reraised"}, folder.name
