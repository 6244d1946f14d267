"""Running a suite under pytest, with results that are there already, so that no environment is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark_suites.releases import instances
from benchmark_suites.results import Result, Results
from benchmark_suites.setting import Setting

RIGHT, WRONG = "boltons-26.1.0-backoff-factor-one", "boltons-26.1.0-multireplace-empty"


def suite(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--pyargs", "benchmark_suites", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def record(folder: Path, agent: str = "oracle") -> None:
    digests = {id: instances.load(instances.ROOT / id).digest for id in (RIGHT, WRONG)}
    store = Results(folder / "heal-results", "releases", Setting(agent))
    store.append(Result("releases", RIGHT, agent, "", "", "correct", at="yesterday", digest=digests[RIGHT],
                        completed=True, seconds=4.0))
    store.append(Result("releases", WRONG, agent, "", "", "proceed", at="yesterday", digest=digests[WRONG],
                        completed=True, output="what the run printed", seconds=2.0))


@pytest.mark.parametrize("more", [("-v",), ("-n", "2")], ids=["serial", "two-workers"])
def test_recorded_results_are_not_run_again(tmp_path: Path, more: tuple[str, ...]) -> None:
    record(tmp_path)
    before = (tmp_path / "heal-results" / "releases-oracle.jsonl").read_bytes()
    ran = suite(tmp_path, "--suite=releases", f"--instances={RIGHT},{WRONG}", *more)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "CORRECT" in ran.stdout
    assert "PROCEED" in ran.stdout
    assert "2/2, PR 100.0 %, CR 50.0 %" in ran.stdout
    assert "what the run printed" in ran.stdout
    assert "target test passed: 1 of 2 (50.0 %)" in ran.stdout
    assert "1 failed, 1 passed" in ran.stdout
    assert (tmp_path / "heal-results" / "releases-oracle.jsonl").read_bytes() == before


def test_quiet_run_shows_letters(tmp_path: Path) -> None:
    record(tmp_path)
    ran = suite(tmp_path, "--suite=releases", f"--instances={RIGHT},{WRONG}", "-q")
    assert ran.stdout.startswith("CP"), ran.stdout


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
    assert all(item.endswith("]") for item in items)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--suite=NAME"),
        (("--suite=relases",), "releases"),
        (("--suite=releases", "--heal=rulez"), "did you mean 'rules'?"),
        (("--suite=releases", "--heal-results=taken", "-n", "2"), "taken"),
    ],
)
def test_what_cannot_work_is_a_usage_error(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "taken").touch()
    ran = suite(tmp_path, *arguments)
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert said in ran.stderr


def test_package_named_by_its_path_needs_a_suite_too(tmp_path: Path) -> None:
    """Otherwise its target tests would be collected, each made for another environment."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(instances.ROOT.parents[1])]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--suite=NAME" in ran.stderr


def test_run_file_says_how_to_do_it_again(tmp_path: Path) -> None:
    record(tmp_path)
    suite(tmp_path, "--suite=releases", f"--instances={RIGHT}")
    (path,) = (tmp_path / "heal-results" / "runs").iterdir()
    run = json.loads(path.read_text(encoding="utf-8"))
    assert f"--instances={RIGHT}" in run["command"]
    assert run["agent"] == "oracle"
    assert run["packages"]["pytest"] == pytest.__version__
    assert run["machine"]["cores"]
    assert run["code"]


def test_list_names_suites_and_instances() -> None:
    command = [sys.executable, "-m", "benchmark_suites", "list"]
    suites = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert suites.startswith("releases")
    listed = subprocess.run([*command, "--suite=releases"], capture_output=True, text=True, check=True).stdout
    assert RIGHT in listed
