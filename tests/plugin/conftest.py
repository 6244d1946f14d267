"""Fixtures of the plugin's tests: small projects as text, run by pytest in a process of their own."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ORDERS = """
    def amount_of(order):
        amount = order["amount"]
        return amount * 2

    def total(orders):
        result = 0
        for order in orders:
            result += order["amount"]
        return result

    def ship(order):
        street = order["street"]
        return street.upper()

    def parse(text):
        return int(text)
"""

HEALS = """
    version: 1
    heals:
      - id: no-amount
        when: {error: KeyError, function: shop.orders.amount_of}
        do: amount = 21
      - id: no-amount-in-total
        when: {error: KeyError, function: shop.orders.total}
        do: result += 1
      - id: no-street
        when: {error: KeyError, function: shop.orders.ship}
        do: street = None
"""

TESTS = """
    from shop import orders

    def test_plain():
        assert orders.amount_of({"amount": 1}) == 2

    def test_correct():
        assert orders.amount_of({}) == 42

    def test_proceed():
        assert orders.amount_of({}) == 43

    def test_halted():
        assert orders.ship({}) == "X"

    def test_reraised():
        orders.parse("x")
"""

UNWANTED = ("CI", "GITHUB_ACTIONS", "PYTHONDONTWRITEBYTECODE", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "COLUMNS")


@dataclasses.dataclass
class Result:
    """What one run of pytest gave."""

    ret: int
    out: str
    err: str
    folder: Path

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def outcomes(self) -> dict[str, int]:
        """The counts of the last line."""
        last = [line for line in self.lines if re.search(r" in \d+\.\d+s", line)][-1]
        return {word: int(count) for count, word in re.findall(r"(\d+) ([a-z]+)", last.rpartition(" in ")[0])}

    def report(self, name: str = "report.json") -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / name).read_text(encoding="utf-8"))
        return document

    def by_name(self, name: str = "report.json") -> dict[str, str]:
        """Outcomes by the test's own name."""
        return {test["nodeid"].rpartition("::")[2]: test["outcome"] for test in self.report(name)["tests"]}

    def junit(self, name: str = "junit.xml") -> ElementTree.Element:
        return ElementTree.parse(self.folder / name).getroot()


class Project:
    """A folder with source files, and pytest run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, files: Mapping[str, str]) -> Project:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return self

    def run(self, *arguments: str, env: Mapping[str, str] | None = None, timeout: float = 120) -> Result:
        """``python -m pytest ARGUMENTS`` with plugins that only tests of their own ask for left out."""
        without = [word for name in ("html", "ctrf", "asyncio") for word in ("-p", f"no:{name}")]
        return self.python("-m", "pytest", *without, *arguments, env=env, timeout=timeout)

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """The environment of a run: nothing of the pytest that runs the tests, the folder importable, and ``more``."""
        clean = {key: value for key, value in os.environ.items()
                 if key not in UNWANTED and not key.startswith(("PYTEST_", "COV_"))}
        return clean | {"PYTHONPATH": str(self.folder)} | dict(more)

    def python(self, *arguments: str, env: Mapping[str, str] | None = None, timeout: float = 120) -> Result:
        done = subprocess.run([sys.executable, *arguments], cwd=self.folder, env=self.environment(env or {}),
                              capture_output=True, text=True, timeout=timeout, check=False)
        return Result(done.returncode, done.stdout, done.stderr, self.folder)

    def heal(self, *arguments: str, env: Mapping[str, str] | None = None) -> Result:
        """Run with the runbook ``heals.yaml`` and a JSON report."""
        return self.run("--heal=runbook", "--heal-runbook=heals.yaml", "--heal-report=report.json", *arguments, env=env)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    return Project(tmp_path).write({"pytest.ini": "[pytest]\n"})


@pytest.fixture
def shop(project: Project) -> Project:
    """A project with one test per category."""
    return project.write({
        "shop/__init__.py": "", "shop/orders.py": ORDERS, "heals.yaml": HEALS, "test_shop.py": TESTS,
    })
