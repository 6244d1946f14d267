"""The adapters of Codex, against a stand-in for its app server, and against the real program where there is one."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.healing.agents.codex import SCHEMA, TOOLS, Codex, binary, decision
from healguard_core.healing.processes import ProcessFault
from healguard_core.healing.sandbox.plans import obstacle
from healguard_core.testing import Call, Cut, Garbage, ScriptedModel, Status, Text, heal

from .crashes import Side, enclosed, meter_for, outcome, served


def action(kind: str = "execute", code: str = "", submit: bool = False, reason: str = "why") -> str:
    return json.dumps({"action": kind, "code": code, "submit": submit, "reason": reason})


class Faked:
    """A project with a stand-in for Codex."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._patch = monkeypatch
        self._log = folder / "codex.log"
        program = folder / "codex"
        program.write_text(f"#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name('fake_codex.py')} \"$@\"\n")
        program.chmod(0o755)
        for name, value in {
            "HEAL_CODEX_BIN": str(program), "FAKE_CODEX_LOG": str(self._log), "SCRIPTED_SECRET_KEY": "canary",
            "XDG_CACHE_HOME": str(folder / "cache"),
        }.items():
            monkeypatch.setenv(name, value)

    def steps(self, *steps: Any) -> None:
        self._patch.setenv("FAKE_CODEX", json.dumps(steps))

    def told(self, kind: str) -> list[Any]:
        records = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [record[kind] for record in records if kind in record]

    def texts(self) -> list[str]:
        return [turn["input"][0]["text"] for turn in self.told("turn")]


@pytest.fixture
def faked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Faked:
    return Faked(tmp_path, monkeypatch)


@pytest.fixture
def side(faked: Faked) -> Iterator[Side]:
    with ScriptedModel([Text("unused")]) as model, served(meter_for(model), faked.folder) as side:
        yield side


# --------------------------------------------------------------------------- one JSON object per turn


def test_probe_then_heal_over_two_crashes(faked: Faked, side: Side) -> None:
    faked.steps(action(code="order"), action(code="amount = 21", submit=True), action(code="b = 2", submit=True))
    crash = side.crash("codex")
    probe = side.next(crash)
    submitted = side.next(crash, probe["id"], outcome("order", submit=False, value_repr="{}"))
    assert (probe["verb"], submitted["verb"], submitted["explanation"]) == ("probe", "heal", "why")
    side.end(crash, submitted["id"], outcome("amount = 21"))
    crash = side.crash("codex", attempt=2)
    submitted = side.next(crash)
    side.end(crash, submitted["id"], outcome("b = 2"))
    first, second, third = faked.texts()
    assert 'amount = order["amount"]' in first
    assert "Value:\n<<program-" in second
    assert third.startswith("The heal was applied and the program goes on.\n\nThen it crashed again.")
    assert [turn["outputSchema"] for turn in faked.told("turn")] == [SCHEMA] * 3
    assert len(faked.told("thread")) == 1


def test_what_codex_is_started_with(faked: Faked, side: Side) -> None:
    faked.steps(action("reraise"))
    crash = side.crash("codex")
    assert side.next(crash)["reason"] == "why"
    side.end(crash)
    arguments = " ".join(faked.told("arguments")[0])
    environ = faked.told("environ")[0]
    thread = faked.told("thread")[0]
    assert f'base_url="http://127.0.0.1:{side.port}/llm/v1"' in arguments
    assert "shell_environment_policy.inherit=core" in arguments
    assert environ["HEAL_PROXY_KEY"]
    assert environ["SCRIPTED_SECRET_KEY"] is None
    assert (thread["sandbox"], thread["approvalPolicy"], thread["model"]) == ("read-only", "never", "scripted")
    assert "dynamicTools" not in thread


BAD = ["It is done.", "{", action("fly"), json.dumps({"action": "execute"}), action(code=" ")]


@pytest.mark.parametrize("said", BAD)
def test_unusable_answers_are_explained_and_bounded(faked: Faked, side: Side, said: str) -> None:
    faked.steps(said)
    verb = side.next(side.crash("codex"))
    assert "codex gave 3 unusable answers in a row" in verb["reason"]
    assert "not a usable answer" in faked.texts()[1]


@pytest.mark.parametrize(("step", "says"), [
    ({"fail": "stream disconnected"}, "codex: stream disconnected"),
    ({"exit": 3}, "codex exited with code 3 before it decided"),
])
def test_a_codex_that_fails_lets_the_error_go_on(faked: Faked, side: Side, step: Any, says: str) -> None:
    faked.steps(step)
    assert side.next(side.crash("codex"))["reason"] == says


def test_time_that_is_used_up_ends_the_process(faked: Faked, side: Side) -> None:
    faked.steps({"hang": True})
    crash = side.crash("codex", timeout=3.0)
    assert side.next(crash)["reason"].startswith("budget: ")
    side.end(crash)
    end = time.monotonic() + 20
    while any((faked.folder / "cache/healguard").iterdir()):  # its home goes when it has ended
        assert time.monotonic() < end
        time.sleep(0.02)


# --------------------------------------------------------------------------- tools


def test_tools_are_carried_out(faked: Faked, side: Side) -> None:
    faked.steps([("execute", {"code": "order", "submit": False}), ("execute", {"code": 5}), ("bash", {}),
                 ("execute", {"code": "amount = 21", "submit": True, "resume": "retry"})])
    crash = side.crash("codex-tools")
    probe = side.next(crash)
    submitted = side.next(crash, probe["id"], outcome("order", submit=False, value_repr="{}"))
    assert (submitted["verb"], submitted["resume"]) == ("heal", "retry")
    side.end(crash, submitted["id"], outcome("amount = 21"))
    end = time.monotonic() + 20
    while len(faked.told("answered")) < 4:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert [answer["success"] for answer in faked.told("answered")] == [True, False, False, True]
    assert faked.told("thread")[0]["dynamicTools"] == TOOLS


def test_the_papers_protocol_offers_less(faked: Faked, side: Side) -> None:
    faked.steps([("reraise", {})])
    crash = side.crash("codex-tools", protocol="paper")
    assert side.next(crash)["verb"] == "reraise"
    thread = faked.told("thread")[0]
    assert set(thread["dynamicTools"][0]["inputSchema"]["properties"]) == {"code", "submit"}
    assert "resume" not in thread["developerInstructions"]


def test_turns_without_a_decision_are_bounded(faked: Faked, side: Side) -> None:
    faked.steps("I looked around.")
    assert side.next(side.crash("codex-tools"))["reason"] == "codex ended 3 turns without a decision"
    assert "still paused" in faked.texts()[1]


# --------------------------------------------------------------------------- small things


@given(st.text() | st.dictionaries(st.sampled_from(["action", "code", "submit", "reason"]), st.text() | st.booleans())
       .map(json.dumps))
def test_any_answer_is_a_decision_or_a_problem(text: str) -> None:
    found = decision(text)
    assert isinstance(found, str) or set(SCHEMA["required"]) <= set(found)


def test_an_answer_may_stand_in_a_fence() -> None:
    assert decision("```json\n" + action("reraise") + "\n```") == json.loads(action("reraise"))


def test_a_missing_codex_is_said_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAL_CODEX_BIN", "no-such-codex")
    assert "no-such-codex" in Codex.missing("", tmp_path)
    assert "there is no program" in Codex.missing("", tmp_path)


# --------------------------------------------------------------------------- the real program


def real_codex() -> str:
    try:
        return binary(Path.cwd(), os.environ)
    except ProcessFault:
        return ""


REAL_CODEX = pytest.mark.skipif(
    not real_codex(), reason="there is no codex here (HEAL_CODEX_BIN, PATH or openai-codex-cli-bin)")
SHOWN = pytest.mark.skipif(bool(obstacle("bwrap")), reason="there is no bubblewrap here, which codex needs around it")


@REAL_CODEX
@SHOWN
@pytest.mark.parametrize("agent", ["codex", "codex-tools"])
def test_the_real_codex_heals_and_cannot_write(
    tmp_path: Path, agent: str, monkeypatch: pytest.MonkeyPatch,
) -> None:
    look, done = ("order", "amount = 21")
    monkeypatch.setenv("UNRELATED", "canary-3e91")
    (tmp_path / "read.txt").write_text("for reading")
    attacks = f"""
        echo broken > {tmp_path}/written; (exec 3<>/proc/sys/kernel/core_pattern) && echo OPENED
        (exec 3<>/dev/tcp/127.0.0.1/1); env; ls -a ~; ls / /root; cat read.txt
        echo KEYS=$(cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a -c HEAL_PROXY_KEY=)"""
    shell = Call("exec_command", {"cmd": attacks, "login": False})
    if agent == "codex":
        script = [shell, Text(action(code=look)), Text(action(code=done, submit=True))]
    else:
        script = [shell, Call("execute", {"code": look, "submit": False}), heal(done)]
    with ScriptedModel(script) as model, enclosed(meter_for(model), tmp_path) as side:
        crash = side.crash(agent)
        probe = side.next(crash)
        submitted = side.next(crash, probe["id"], outcome(look, submit=False, value_repr="{}"))
        used = side.end(crash, submitted["id"], outcome(done))
    assert (probe["code"], submitted["code"]) == (look, done)
    assert used["calls"] == 3
    [printed] = [item["output"] for item in model.requests[1]["input"] if item["type"] == "function_call_output"]
    assert "Read-only file system" in printed or "Permission denied" in printed, printed
    assert "for reading" in printed
    assert not (tmp_path / "written").exists()
    for secret in ("OPENED", "canary-3e91", "Connection refused"):
        assert secret not in printed, printed
    assert "KEYS=0" in printed, printed


@REAL_CODEX
def test_without_a_sandbox_codex_gets_no_shell(tmp_path: Path) -> None:
    script = [Call("exec_command", {"cmd": "ls"}), Text(action(code="amount = 21", submit=True))]
    with ScriptedModel(script) as model, served(meter_for(model), tmp_path) as side:
        verb = side.next(side.crash("codex"))
    assert verb["code"] == "amount = 21"
    assert "exec_command" not in json.dumps(model.requests[0]["tools"])


@REAL_CODEX
@SHOWN
@pytest.mark.parametrize("agent", ["codex", "codex-tools"])
def test_the_real_codex_works_with_a_model_that_has_only_chat_completions(tmp_path: Path, agent: str) -> None:
    shell = Call("exec_command", {"cmd": "ls -d .", "login": False})
    done = Text(action(code="amount = 21", submit=True)) if agent == "codex" else heal("amount = 21")
    with ScriptedModel([shell, done]) as model, enclosed(meter_for(model, wire="chat"), tmp_path) as side:
        crash = side.crash(agent)
        submitted = side.next(crash)
        used = side.end(crash, submitted["id"], outcome("amount = 21"))
    assert (submitted["verb"], submitted["code"]) == ("heal", "amount = 21")
    assert (used["calls"], used["input_tokens"], used["estimated"]) == (2, 2000, False)
    roles = [message["role"] for message in model.requests[1]["messages"] if message["role"] != "system"]
    assert roles[-2:] == ["assistant", "tool"]
    assert "execute" in json.dumps(model.requests[0])


@REAL_CODEX
@pytest.mark.parametrize(("trouble", "says"), [
    (Status(401, "no such key"), "no such key"), (Cut(), "codex: "), (Garbage(), "codex: "),
])
def test_trouble_with_a_chat_model_reaches_the_report(tmp_path: Path, trouble: Any, says: str) -> None:
    with ScriptedModel([trouble]) as model, served(meter_for(model, wire="chat"), tmp_path) as side:
        verb = side.next(side.crash("codex"))
    assert verb["verb"] == "reraise"
    assert says in verb["reason"]


@REAL_CODEX
@SHOWN
@pytest.mark.parametrize("agent", ["codex", "codex-tools"])
def test_one_conversation_of_the_real_codex_over_two_crashes(tmp_path: Path, agent: str) -> None:
    def done(number: int) -> Text | Call:
        code = f"amount = {number}"
        return Text(action(code=code, submit=True)) if agent == "codex" else heal(code)

    with ScriptedModel([done(1), done(2)]) as model, enclosed(meter_for(model), tmp_path) as side:
        for attempt in (1, 2):
            crash = side.crash(agent, attempt=attempt)
            submitted = side.next(crash)
            side.end(crash, submitted["id"], outcome(submitted["code"]))
            time.sleep(0.5)  # the thread of the first crash has ended by the second
    assert submitted["code"] == "amount = 2"
    assert "amount = 1" in json.dumps(model.requests[-1]["input"])
