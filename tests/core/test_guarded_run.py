"""`healguard run` follows what heals write: a program without a test runner, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
import sys
import threading
import sinks


def find(table):
    path = table["missing"]
    other = path[:0] and "x" or "y"
    if sys.argv[1] == "thread":
        worker = threading.Thread(target=sinks.sink, args=(path,))
        worker.start()
        worker.join()
    elif sys.argv[1] == "unsafe":
        sinks.sink(path + "!")
    elif sys.argv[1] == "variable":
        sinks.sink(other)
    else:
        sinks.sink("x")


find({})
print("DONE", sinks.DONE)
"""


def _run(folder: Path, way: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    (folder / "sinks.py").write_text("DONE = []\n\n\ndef sink(path):\n    DONE.append(path)\n", encoding="utf-8")
    policy = {"version": 1, "protect": [{"id": "sink", "call": "sinks.sink", "key": "path"}]}
    heals = {"version": 1, "heals": [{"when": {"error": "KeyError"}, "do": "path = str(len(table))"}]}
    (folder / "sinks.yaml").write_text(json.dumps(policy), encoding="utf-8")
    (folder / "heals.yaml").write_text(json.dumps(heals), encoding="utf-8")
    command = [sys.executable, "-m", "healguard_core.cli", "run", "--policy", "sinks.yaml", "--runbook", "heals.yaml",
               "--source", "program", *options, "program.py", way]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def test_what_a_heal_decides_about_is_stopped_before_its_effect(tmp_path: Path) -> None:
    ran = _run(tmp_path, "unsafe")
    assert ran.returncode == 1
    assert "DONE" not in ran.stdout
    assert "HG307" in ran.stderr
    assert "protected as 'sink'" in ran.stderr


def test_a_safe_program_goes_on(tmp_path: Path) -> None:
    ran = _run(tmp_path, "safe")
    assert (ran.returncode, ran.stdout) == (0, "DONE ['x']\n"), ran.stderr


def test_threads_are_followed(tmp_path: Path) -> None:
    ran = _run(tmp_path, "thread")
    assert ran.stdout == "DONE []\n", ran.stderr
    assert "stopped: HG307" in ran.stderr


@pytest.mark.parametrize(("way", "options", "rule"), [
    ("variable", ("--guard-mode", "literal"), "HG309"),
    ("safe", ("--guard-mode", "literal"), ""),
    ("unsafe", ("--guard-mode", "off"), ""),
])
def test_modes(tmp_path: Path, way: str, options: tuple[str, ...], rule: str) -> None:
    ran = _run(tmp_path, way, *options)
    assert ran.returncode == bool(rule), ran.stderr
    assert ("DONE ['" in ran.stdout) == (not rule)
    assert rule in ran.stderr
