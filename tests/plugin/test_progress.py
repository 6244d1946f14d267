"""What is shown while a test is paused: on a terminal, in a log, for workers, and nothing under -q."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from healguard_core.execution.link import Progress
from pytest_heal import progress as shown
from pytest_heal.progress import line

from .conftest import Project

SLOW = """
    import json, sys, time
    for line in sys.stdin:
        if json.loads(line)["type"] == "crash":
            print(json.dumps({"type": "log", "message": "thinking"}), flush=True)
            time.sleep(3)
            print(json.dumps({"type": "execute", "code": "amount = 21", "submit": True}), flush=True)
"""
OFTEN = """
    from pytest_heal import progress
    progress.SELDOM = 0.5
"""
LINE = r"heal: test_shop.py::test_correct paused, exec:\S+ agent.py: 0 calls, \d s, thinking"


@pytest.fixture
def slow(shop: Project) -> Project:
    return shop.write({"agent.py": SLOW, "conftest.py": OFTEN})


def arguments(*more: str) -> list[str]:
    return [f"--heal=exec:{sys.executable} agent.py", "-k", "test_correct", *more]


def on_a_terminal(project: Project, *more: str) -> str:
    """What pytest writes to a terminal."""
    pty = pytest.importorskip("pty")
    main, other = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(project.folder), "TERM": "xterm", "COLUMNS": "200"}
    for name in ("CI", "NO_COLOR"):
        env.pop(name, None)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:html", *arguments(*more)]
    process = subprocess.Popen(command, cwd=project.folder, env=env, stdin=other, stdout=other, stderr=other)
    os.close(other)
    written = b""
    end = time.monotonic() + 100
    while time.monotonic() < end:
        if main in select.select([main], [], [], 0.2)[0]:
            try:
                piece = os.read(main, 65536)
            except OSError:
                break
            if not piece:
                break
            written += piece
        elif process.poll() is not None:
            break
    process.wait(20)
    os.close(main)
    return written.decode("utf-8", "replace")


def test_on_a_terminal_one_line_is_written_over(slow: Project) -> None:
    text = on_a_terminal(slow)
    lines = re.findall(r"\r" + LINE, text)
    assert len(lines) >= 2, text
    assert not re.search(LINE + r" *\r?\n", text), "the line must not stay"


def test_in_a_log_lines_come_now_and_then(slow: Project) -> None:
    result = slow.run(*arguments())
    assert re.search("^" + LINE + "$", result.out, re.MULTILINE), result.out
    assert result.outcomes["correct"] == 1


def test_workers_are_shown_by_their_controller(slow: Project) -> None:
    result = slow.run(*arguments("-n2"))
    assert re.search("^" + LINE + "$", result.out, re.MULTILINE), result.out


@pytest.mark.parametrize("more", [("-q",), ("-q", "-n2")])
def test_quiet(slow: Project, more: tuple[str, ...]) -> None:
    assert "paused" not in slow.run(*arguments(*more)).out


def test_what_a_line_says() -> None:
    progress = Progress("test_a.py::test_a", "healer", "openai/gpt", 1, 0.1234, 12.4, "waiting for the model")
    assert line(progress) == (
        "heal: test_a.py::test_a paused, healer (openai/gpt): 1 call, $0.12, 12 s, waiting for the model")
    assert line(progress._replace(unit="", model="", calls=2, cost_usd=None, note="")) == (
        "heal: (before the first test) paused, healer: 2 calls, 12 s")


def test_the_file_of_workers_is_removed() -> None:
    workers = shown.WorkersProgress()
    folder = Path(workers.path).parent
    assert folder.exists()
    workers.close()
    assert not folder.exists()
