"""Every project in ``conftest_examples``, run as its README says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "conftest_examples"
WANTED = {
    "minimal": (
        ["--heal=runbook", "--heal-runbook=heals.yaml"],
        {"test_mean": "passed", "test_mean_of_nothing": "correct"},
    ),
    "runbook": (
        [],
        {
            "test_total": "passed", "test_line_without_count": "correct", "test_text_as_price": "correct",
            "test_average_of_nothing": "proceed", "test_negative_price": "reraised", "test_left_alone": "passed",
        },
    ),
    "exec": (
        ["--heal=exec:" + sys.executable + " agent.py"],
        {
            "test_total": "passed", "test_missing_amount": "correct", "test_two_crashes": "correct",
            "test_unknown_currency": "reraised",
        },
    ),
    "mcp": ([], {"test_missing_amount": "correct", "test_unknown_currency": "reraised"}),
    "rules": (
        ["--heal=rules"],
        {"test_key_in_other_case": "correct", "test_number_in_text": "correct", "test_no_rows": "reraised"},
    ),
}


def test_every_example_is_known() -> None:
    assert {folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()} == set(WANTED)


@pytest.mark.parametrize("name", sorted(WANTED))
def test_example_ends_as_its_readme_says(name: str, tmp_path: Path) -> None:
    project = tmp_path / name
    shutil.copytree(EXAMPLES / name, project, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    arguments, wanted = WANTED[name]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, "--heal-report=report.json"]
    ran = subprocess.run(command, cwd=project, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    tests = json.loads((project / "report.json").read_text(encoding="utf-8"))["tests"]
    assert {test["nodeid"].rpartition("::")[2]: test["outcome"] for test in tests} == wanted, ran.stdout
