"""``pytest-heal agents``: what is usable here, and what has to be installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def heal_command(*arguments: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "HEAL_AGENTS_DIR": str(folder), **more}
    command = [sys.executable, "-m", "pytest_heal", *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, cwd=folder)


def test_the_list_says_what_is_usable_and_why_not(tmp_path: Path) -> None:
    codex = tmp_path / "codex"
    codex.write_text("#!/bin/sh\n")
    codex.chmod(0o755)
    ran = heal_command("agents", "list", folder=tmp_path, HEAL_CODEX_BIN=str(codex))
    assert ran.returncode == 0, ran.stderr
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in ran.stdout.splitlines() if line.strip()}
    assert rows["rules"][0] == rows["runbook"][0] == rows["healer"][0] == rows["codex"][0] == "yes"
    assert rows["exec:COMMAND"] == ["yes", "any command that speaks JSON lines"]
    usable, why = rows["openhands"]
    if usable == "no":
        assert why == ("openhands is not installed (it needs openhands-sdk>=1.58.2,<1.59 on Python 3.12 or newer): "
                       "pytest-heal agents install openhands")
    assert str(tmp_path) in ran.stdout.splitlines()[-1]


def test_an_agent_that_needs_nothing(tmp_path: Path) -> None:
    ran = heal_command("agents", "install", "rules", folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "agent 'rules' needs no package\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("arguments", "code", "says"), [
    (("install", "opnhands"), 2, "there is no agent 'opnhands'; did you mean 'openhands'?"),
    (("install", "openhands", "--python=/no/such"), 1, "'/no/such' is no Python 3.12 or newer, which openhands needs"),
    (("instal",), 2, "invalid choice"),
])
def test_what_is_wrong(tmp_path: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    ran = heal_command("agents", *arguments, folder=tmp_path)
    assert ran.returncode == code
    assert says in ran.stderr


def test_a_run_with_an_agent_that_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    environ = {**os.environ, "HEAL_AGENTS_DIR": str(tmp_path), "OPENAI_API_KEY": "x"}
    ran = subprocess.run([sys.executable, "-m", "pytest", "--heal=openhands", "--heal-model=gpt"], env=environ,
                         cwd=tmp_path, capture_output=True, text=True, check=False)
    if "is not installed" not in ran.stderr:
        pytest.skip("openhands is installed beside pytest-heal")
    assert ran.returncode == 4
    assert "pytest-heal agents install openhands" in ran.stderr
