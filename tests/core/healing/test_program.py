"""`healguard run` with agents of the healing side, in this Python and in another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from healguard_core.testing import ScriptedModel, heal

from ..pythons import other_pythons

PROGRAM = """
    import os

    def amount_of(order):
        amount = order["amount"]
        return amount * 2

    print(amount_of({}), "SCRIPTED_KEY" in os.environ)
"""
AGENT = """
    import json, sys
    for line in sys.stdin:
        if json.loads(line)["type"] == "crash":
            print(json.dumps({"type": "execute", "code": "amount = 21", "submit": True}), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    (tmp_path / "agent.py").write_text(textwrap.dedent(AGENT))
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "healguard_core.cli", "run", "--report", "report.json", *arguments, "program.py"]
    env = {**os.environ, "SCRIPTED_KEY": "canary"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)


def crash(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())["tests"][0]["crashes"][0]
    return found


def test_a_model_heals_a_program(folder: Path) -> None:
    with ScriptedModel([heal("amount = 21")]) as model:
        line = f"scripted = openai/scripted base_url={model.url} key=SCRIPTED_KEY input=1 output=1"
        ran = run(folder, "--agent=healer", "--model=scripted", f"--model-alias={line}", "--max-cost=1")
    assert ran.stdout == "42 False\n", ran.stderr
    assert "agent healer, model scripted = openai/scripted" in ran.stderr
    assert crash(folder)["usage"]["calls"] == 1


@pytest.mark.parametrize("python", other_pythons((3, 8), (3, 8)))
@pytest.mark.pythons
def test_another_python_is_healed_too(folder: Path, python: str) -> None:
    ran = run(folder, f"--agent=exec:{sys.executable} agent.py", f"--python={python}")
    assert ran.stdout.startswith("42"), ran.stderr
    assert crash(folder)["by"].startswith("exec:")


@pytest.mark.parametrize(("arguments", "says"), [
    (["--agent=healer"], "--model: HF403 agent 'healer' needs a model; add --model NAME"),
    (["--agent=healer", "--model=gtp"], "--model: HF410 there is no model 'gtp'; did you mean gpt"),
    (["--agent=healer", "--model=gpt"], "OPENAI_API_KEY, which is not set"),
    (["--agent=exec"], "--agent: HF408 'exec' is incomplete or says too much; use exec:COMMAND"),
    (["--agent=mcp", "--model=gpt"], "--model: HF411 agent 'mcp' uses no model"),
    (["--agent=exec:cat", "--max-cost=1"], "--max-cost: HF411 it cannot hold"),
    (["--agent=rules", "--max-cost=1"], "--max-cost: HF411 agent 'rules' costs nothing"),
    (["--agent=heeler"], "--agent: HF410 there is no agent 'heeler'; did you mean 'healer'?"),
])
def test_wrong_command_lines(folder: Path, arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ran = run(folder, *arguments)
    assert ran.returncode == 2
    assert says in ran.stderr
    assert not ran.stdout
