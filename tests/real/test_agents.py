"""Each agent with its real package or program heals a real bug, over two crashes in one test, by a scripted model.

What is missing is installed by ``pytest-heal agents install`` first, into HEAL_AGENTS_DIR or the usual place.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmark_suites.releases import instances, provision
from benchmark_suites.releases.environments import Environments, default_root
from benchmark_suites.releases.process import lay_out, run_in
from benchmark_suites.releases.runner import plugin_options
from benchmark_suites.setting import Setting
from healguard_core.testing import Call, ScriptedModel, Status, Step, Text, heal, probe

pytestmark = pytest.mark.real

INSTANCE = "sqlalchemy-2.0.0-str-dropschema"
HEAL = "_eh_rtn = 'default'"
LOOK = "self.element"
BASH = Call("bash", {"command": "grep -rn create_drop_stringify_dialect . ; echo written > /tmp/x; ls | wc -l"})
LITELLM = "litellm>=1.80"


class Playing:
    """A script per crash: the crash's own steps, by how many crashes a request tells about."""

    def __init__(self, *crashes: Sequence[Step]) -> None:
        self._left: list[Iterator[Step]] = [iter(steps) for steps in crashes]

    def __call__(self, body: dict[str, Any]) -> Step:
        said = json.dumps(body)
        number = said.count("Failed statement:") - 1
        return next(self._left[number], Text("That is all."))


def answer(code: str, submit: bool) -> Text:
    """Codex' answer in the paper's protocol."""
    return Text(json.dumps({"action": "execute", "code": code, "submit": submit, "reason": "scripted"}))


SHELL = Call("exec_command", {"cmd": "ls | wc -l; echo written > written; echo key=$HEAL_PROXY_KEY."})
AGENTS: dict[str, tuple[list[Step], list[Step]]] = {
    "healer": ([Text("I think."), heal("nowhere"), heal(HEAL)], [heal(HEAL)]),
    "mini-swe-agent": ([BASH, Text("I think."), probe(LOOK), heal("nowhere"), heal(HEAL)], [heal(HEAL)]),
    "openhands": ([BASH, Text("I think."), probe(LOOK), heal("nowhere"), heal(HEAL)], [heal(HEAL)]),
    "codex": ([SHELL, Text("I think."), answer(LOOK, False), answer("nowhere", True), answer(HEAL, True)],
              [answer(HEAL, True)]),
    "codex-tools": ([SHELL, probe(LOOK), heal("nowhere"), heal(HEAL)], [heal(HEAL)]),
}


def installed(agent: str) -> None:
    """Install what ``agent`` needs, as a user would."""
    ran = subprocess.run([sys.executable, "-m", "pytest_heal", "agents", "install", agent], capture_output=True,
                         text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def is_installed(agent: str) -> bool:
    ran = subprocess.run([sys.executable, "-m", "pytest_heal", "agents", "list"], capture_output=True, text=True,
                         check=True)
    return any(line.split()[:2] == [agent, "yes"] for line in ran.stdout.splitlines())


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if not is_installed(name):
        installed(name)
    return name


def healed(agent: str, script: Any, *, model: str, more: Sequence[str] = (), **variables: str) -> Any:
    """The report about the target test of `INSTANCE`, healed by ``agent``. ``model`` is the line of heal_models."""
    (instance,) = instances.load_all(INSTANCE)
    root = default_root()
    environments = Environments(root.with_name(f"{root.name}-with-more") if more else root)
    environment = environments.get(instance)
    if more:
        environments.install(environment, list(more), instance.requirements_buggy)
    plugin = provision.install_plugin(environments, environment, instance.requirements_buggy)
    with ScriptedModel(script) as served, tempfile.TemporaryDirectory(prefix="heal-agent-") as folder:
        work = Path(folder)
        lay_out(instance, work)
        line = model.format(url=served.url)
        options = plugin_options(instance, Setting(agent, {"heal_model": "scripted"}))
        ran = run_in(work, [environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options,
                            "-o", f"heal_models=scripted = {line}", "--heal-report=report.json",
                            "--heal-journal=journal.jsonl", instance.test.name],
                     PYTHONPATH=plugin, SCRIPTED_KEY="canary-5d20", **{name: text.format(url=served.url)
                                                    for name, text in variables.items()})
        assert (work / "report.json").exists(), ran.stdout + ran.stderr
        report = json.loads((work / "report.json").read_text(encoding="utf-8"))
        for path in work.rglob("*"):
            assert path.is_dir() or b"canary-5d20" not in path.read_bytes(), path
        assert not (work / "written").exists()
    assert {body["model"] for body in served.requests} == {"scripted"}, ran.stdout + ran.stderr
    return report["tests"][0], served, ran.stdout + ran.stderr


def test_an_agent_heals_a_real_bug_over_two_crashes(agent: str) -> None:
    first, second = AGENTS[agent]
    test, served, said = healed(agent, Playing(first, second),
                                model="openai/scripted base_url={url} key=SCRIPTED_KEY input=1 output=2")
    assert test["outcome"] == "correct", said
    assert [crash["heal"]["code"] for crash in test["crashes"]] == [HEAL, HEAL]
    assert len(test["crashes"]) == 2
    kinds = [action["kind"] for action in test["crashes"][0]["actions"]]
    assert kinds == {"healer": ["submit", "submit"], "codex": ["probe", "submit", "submit"],
                     "codex-tools": ["probe", "submit", "submit"]}.get(
                         agent, ["explore", "probe", "submit", "submit"])
    assert test["usage"]["calls"] >= len(first) + len(second)
    assert test["usage"]["cost_usd"] > 0
    last = json.dumps(served.requests[-1])
    assert "nowhere" in last, "the conversation is kept over the crashes"
    assert served.headers[0]["Authorization"] == "Bearer canary-5d20"
    if agent.startswith("codex"):
        shown = json.dumps(served.requests[1])
        assert "Read-only file system" in shown or "Permission denied" in shown, shown[-3000:]
        assert "key=." in shown, "the shell does not see the key"


def test_the_healer_heals_by_litellm() -> None:
    script = Playing([Status(429, retry_after="0"), heal("nowhere"), heal(HEAL)], [heal(HEAL)])
    test, served, said = healed("healer", script, model="hosted_vllm/scripted key=SCRIPTED_KEY input=1 output=2",
                                more=[LITELLM], HOSTED_VLLM_API_BASE="{url}")
    assert test["outcome"] == "correct", said
    assert (test["usage"]["calls"], test["usage"]["retries"]) == (3, 1)
    assert served.headers[0]["Authorization"] == "Bearer canary-5d20"
    assert os.environ.get("SCRIPTED_KEY") is None
