"""Running a suite under pytest, with results that are there already, so that no environment is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmark_suites.results import Result, Results

RIGHT, WRONG = "boltons-26.1.0-backoff-factor-one", "boltons-26.1.0-multireplace-empty"


def suite(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--pyargs", "benchmark_suites", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def record(folder: Path, agent: str = "oracle") -> None:
    store = Results(folder / "heal-results", "releases", agent)
    store.append(Result("releases", RIGHT, agent, "", "", "correct", at="yesterday"))
    store.append(Result("releases", WRONG, agent, "", "", "proceed", at="yesterday", output="what the run printed"))


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "two-workers"])
def test_recorded_results_are_not_run_again(tmp_path: Path, workers: tuple[str, ...]) -> None:
    record(tmp_path)
    ran = suite(tmp_path, "--suite=releases", f"--instances={RIGHT},{WRONG}", "-v", *workers)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "CORRECT" in ran.stdout
    assert "PROCEED" in ran.stdout
    assert "what the run printed" in ran.stdout
    assert "target test passed: 1 of 2 (50.0 %)" in ran.stdout
    assert "1 failed, 1 passed" in ran.stdout


def test_agent_is_for_the_instances_alone(tmp_path: Path) -> None:
    """An agent that this process could not even make is passed on, not started here."""
    record(tmp_path, "exec:somebody")
    ran = suite(tmp_path, "--suite=releases", f"--instances={RIGHT}", "--heal=exec:somebody", "-n", "2")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_target_tests_are_never_collected_here(tmp_path: Path) -> None:
    ran = suite(tmp_path, "--suite=releases", "--collect-only", "-q")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    items = [line for line in ran.stdout.splitlines() if "::" in line]
    assert len(items) >= 64
    assert all("instance.toml::" in item for item in items)


@pytest.mark.parametrize(("arguments", "said"), [((), "--suite=NAME"), (("--suite=relases",), "releases")])
def test_no_suite_is_a_usage_error(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = suite(tmp_path, *arguments)
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert said in ran.stderr


def test_list_names_suites_and_instances() -> None:
    command = [sys.executable, "-m", "benchmark_suites", "list"]
    suites = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert suites.startswith("releases")
    listed = subprocess.run([*command, "--suite=releases"], capture_output=True, text=True, check=True).stdout
    assert RIGHT in listed
