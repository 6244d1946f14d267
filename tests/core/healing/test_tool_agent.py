"""Agents whose package runs in a process of its own: a driver of ours around a conversation made for these tests."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import healguard_core
from healguard_core.healing.exploring import Explored
from healguard_core.healing.processes import LineProcess, direct, scrubbed
from healguard_core.healing.service import Service
from healguard_core.healing.tool_agent import ToolAgent, boot
from healguard_core.healing.tool_environments import Package
from healguard_core.testing import ScriptedModel, Slow, Text, heal

from .crashes import Side, meter_for, outcome, served

DRIVER = """
import json, os, sys, urllib.request
from healguard_core.healing.drivers.wire import Channel, serve

print("noise on standard output")

class Toy:
    def __init__(self, hello):
        self.hello, self.crashes = hello, 0

    def decide(self, crash):
        self.crashes += 1
        headers = {"Authorization": "Bearer " + self.hello.key}
        body = json.dumps({"model": "x", "messages": [{"role": "user", "content": crash.text}]}).encode()
        request = urllib.request.Request(self.hello.base_url + "/chat/completions", body, headers)
        reply = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
        if reply.get("content") == "break":
            raise ValueError("out of order")
        if reply.get("content") == "die":
            os.kill(os.getpid(), 9)
        seen = crash.explore("ls").text
        known = sorted(name for name in os.environ if "SECRET" in name)
        crash.execute(json.dumps([os.getpid(), self.crashes, seen, known, self.hello.instructions[:3]]), submit=False)
        while not crash.execute("amount = 21", submit=True).decided:
            pass
        crash.execute("late", submit=True)

serve(Toy, Channel())
"""


class Toy(ToolAgent):
    title = "toy"
    package = Package("toy", "no-such-package", (), (3, 10))
    driver = ""

    def _launched(self) -> LineProcess:
        start = boot("").rpartition("import importlib")[0]
        command = [sys.executable, "-I", "-c", start + DRIVER, str(Path(healguard_core.__file__).parent)]
        environ = direct({**scrubbed(os.environ), "http_proxy": "http://127.0.0.1:9"})  # where nobody listens
        return LineProcess(command, self._service.root, environ, title=self.title)


def looking(command: str, *_: float) -> Explored:
    return Explored(output=f"{command} was run", exit_code=0)


def toy(service: Service) -> Toy:
    return Toy(Service(**{**vars(service), "shell": looking}))


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel([Text("go")]) as model:
        yield model


@pytest.fixture
def side(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Side]:
    monkeypatch.setenv("OTHER_SECRET_KEY", "canary")
    with served(meter_for(model), tmp_path, {"toy": toy}) as side:
        yield side


def told(side: Side, *, refused: int = 0, **more: Any) -> list[Any]:
    """What the toy said about itself at one crash, which it heals after so many refusals."""
    crash = side.crash("toy", **more)
    verb = side.next(crash)
    assert verb["verb"] == "probe", verb
    said: list[Any] = json.loads(verb["code"])
    verb = side.next(crash, verb["id"], outcome(verb["code"], submit=False))
    for _ in range(refused):
        verb = side.next(crash, verb["id"], outcome(verb["code"], error="refused"))
    assert (verb["verb"], verb["code"]) == ("heal", "amount = 21")
    side.end(crash, verb["id"], outcome(verb["code"]))
    return said


def test_a_conversation_of_two_crashes(side: Side, model: ScriptedModel) -> None:
    pid, number, seen, known, instructions = told(side, refused=2)
    assert (number, known, instructions) == (1, [], "How")
    assert "ls was run" in seen
    assert told(side, attempt=2)[:2] == [pid, 2]
    assert "KeyError" in model.requests[0]["messages"][0]["content"]


def test_a_process_serves_one_test_after_the_other(side: Side) -> None:
    first = told(side)
    side.post("/v1/bye", {"client": "one"})
    end = time.monotonic() + 20
    while not side.desk._spares._idle.get("toy"):
        assert time.monotonic() < end
        time.sleep(0.02)
    second = told(side, client="two", unit="test_b")
    assert second[:2] == [first[0], 1], "the same process, and a conversation of its own"


def test_a_process_that_was_ended_is_replaced(tmp_path: Path) -> None:
    with ScriptedModel([Slow(60, Text("late")), Text("go")]) as model, \
            served(meter_for(model), tmp_path, {"toy": toy}) as side:
        crash = side.crash("toy", timeout=2.0)
        assert side.next(crash)["reason"].startswith("budget: ")
        side.end(crash)
        assert told(side, attempt=2)[1] == 1


def test_a_fault_of_the_package_lets_the_error_go_on(tmp_path: Path) -> None:
    with ScriptedModel([Text("break"), Text("go")]) as model, \
            served(meter_for(model), tmp_path, {"toy": toy}) as side:
        crash = side.crash("toy")
        assert side.next(crash)["reason"] == "agent error: ValueError: out of order"
        side.end(crash)
        assert told(side, attempt=2)[1] == 2, "the conversation goes on"


def test_a_process_that_is_killed_is_replaced(tmp_path: Path) -> None:
    with ScriptedModel([Text("die"), Text("go")]) as model, \
            served(meter_for(model), tmp_path, {"toy": toy}) as side:
        crash = side.crash("toy")
        assert side.next(crash)["reason"] == "toy was ended by signal 9 before it decided"
        side.end(crash)
        assert told(side, attempt=2)[1] == 1


def test_a_spent_budget_is_the_reason(tmp_path: Path) -> None:
    with ScriptedModel([heal("x")]) as model, served(meter_for(model), tmp_path, {"toy": toy}) as side:
        crash = side.crash("toy", max_calls=0)
        assert side.next(crash)["reason"] == "budget: 0 calls for this crash are used up"


def test_nothing_is_left_running(tmp_path: Path, model: ScriptedModel) -> None:
    with served(meter_for(model), tmp_path, {"toy": toy}) as side:
        pid = told(side)[0]
    end = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}") if os.path.isdir("/proc/self") else False:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_package_that_is_nowhere_is_said_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAL_AGENTS_DIR", str(tmp_path))
    assert "pytest-heal agents install toy" in Toy.missing("", tmp_path)
