"""Whole runs of a suite of small instances: what is measured, killing and resuming, workers, wrong records."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .farm import Farm

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the environments of these instances are shell scripts")


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    return Farm(tmp_path)


def test_right_wrong_and_broken_instances(farm: Farm) -> None:
    """Every instance has its own result; a record that cannot be read stops nobody else."""
    farm.add("a-right")
    farm.add("b-wrong", value="20")
    farm.add("c-unreadable")
    (farm.instances / "c-unreadable" / "instance.toml").write_text("id = 3", encoding="utf-8")
    ran = farm.run()
    assert ran.returncode == 1, ran.stdout + ran.stderr
    found = farm.found()
    right, wrong, unreadable = (found[id] for id in ("a-right", "b-wrong", "c-unreadable"))
    assert (right.outcome, right.completed, right.observed) == ("correct", True, True), right
    assert right.trace is not None
    assert right.trace["reference_points"] == 3
    assert right.trace["equal"] == pytest.approx(2 / 3), "two of three statements are the same in the fixed version"
    assert right.error_type == "KeyError"
    assert right.skip_only == "second_error"
    assert (wrong.outcome, wrong.completed) == ("proceed", True)
    assert (unreadable.outcome, unreadable.failure) == ("not-run", "record")
    assert "instance.toml" in unreadable.problem
    assert "PR 66.7 % [20.8, 93.9]   CR 33.3 %" in ran.stdout
    assert "failure of class 'record'" in ran.stdout


@pytest.mark.real
def test_agents_that_heal_nothing(farm: Farm) -> None:
    farm.add("a")
    assert farm.run("--heal=reraise").returncode == 1
    assert farm.run("--heal=rollback").returncode == 1
    left, back = farm.found("reraise")["a"], farm.found("rollback")["a"]
    assert (left.outcome, left.completed, len(left.crashes)) == ("reraised", False, 1)
    assert (back.outcome, back.completed, len(back.crashes)) == ("halted", False, 2)


@pytest.mark.real
def test_two_workers_give_what_one_gives(farm: Farm) -> None:
    for number in range(4):
        farm.add(f"i-{number}", value=str(20 + number % 2))
    serial = farm.run()
    first = farm.found()
    (farm.results / "bugs-oracle.jsonl").unlink()
    parallel = farm.run("-n", "2")
    assert parallel.returncode == serial.returncode == 1, parallel.stdout + parallel.stderr
    second = farm.found()
    for id, one in first.items():
        two = second[id]
        seen = [(each.outcome, each.completed, each.trace, each.digest) for each in (one, two)]
        assert seen[0] == seen[1]
    assert sorted(farm.lines()) == sorted(first)


@pytest.mark.parametrize("workers", [pytest.param((), id="serial"),
                                     pytest.param(("-n", "2"), id="two-workers", marks=pytest.mark.real)])
def test_killed_run_goes_on_where_it_was(farm: Farm, workers: tuple[str, ...]) -> None:
    """A real SIGKILL in the middle: the next run repeats nothing that was recorded and leaves nothing out."""
    ids = [f"i-{number}" for number in range(4)]
    for id in ids:
        farm.add(id, pause=0.3)
    process = subprocess.Popen(farm.command("--heal-trace=off", *workers), cwd=farm.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    path = farm.results / "bugs-oracle.jsonl"
    while not (path.is_file() and path.read_bytes().count(b"\n")):
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = farm.lines()
    assert 1 <= len(before) < len(ids)
    ran = farm.run("--heal-trace=off", *workers)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert farm.lines()[: len(before)] == before
    assert sorted(farm.lines()) == ids
    assert all(result.right for result in farm.found().values())


@pytest.mark.real
def test_changed_instance_is_run_again(farm: Farm) -> None:
    farm.add("a", value="20")
    farm.add("b")
    farm.run("--heal-trace=off")
    heals = farm.instances / "a" / "heals.yaml"
    heals.write_text(heals.read_text(encoding="utf-8").replace("amount = 20", "amount = 21"), encoding="utf-8")
    assert farm.run("--heal-trace=off").returncode == 0
    assert farm.lines() == ["a", "b", "a"]


def test_worker_that_dies_costs_only_its_instance(farm: Farm) -> None:
    """What a worker of pytest-xdist was running when it was killed is on record as our failure."""
    farm.add("a")
    farm.add("b")
    (farm.folder / "killer.py").write_text(
        "import os, pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_call(item):\n"
        "    if item.name == '[a]':\n        os.kill(os.getpid(), 9)\n", encoding="utf-8")
    ran = farm.run("--heal-trace=off", "-n", "1", "-p", "killer")
    found = farm.found()
    assert found["b"].right, ran.stdout + ran.stderr
    assert (found["a"].outcome, found["a"].failure) == ("not-run", "ours")
    assert farm.run("--heal-trace=off").returncode == 0, "it is tried again"


@pytest.mark.real
def test_two_machines(farm: Farm, tmp_path: Path) -> None:
    """Two execnet servers with folders of their own stand for two machines; results come together in one place."""
    for number in range(4):
        farm.add(f"i-{number}")
    with contextlib.ExitStack() as servers:
        specs = [f"--tx=socket=127.0.0.1:{servers.enter_context(_server(tmp_path / f'node-{number}'))}"
                 f"//chdir={tmp_path / f'node-{number}'}" for number in range(2)]
        ran = farm.run("-d", *specs)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert sorted(farm.lines()) == [f"i-{number}" for number in range(4)]
    assert all(result.observed and result.trace for result in farm.found().values())


@contextlib.contextmanager
def _server(home: Path) -> Iterator[int]:
    """A node that listens on the port that is given back, with ``home`` as its folder."""
    home.mkdir()
    command = [sys.executable, "-u", "-m", "execnet.script.socketserver", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline().split()[-1].strip("()',"))
        finally:
            process.kill()
