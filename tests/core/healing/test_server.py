"""The protocol of docs/protocol.md, spoken to a real server on loopback."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from healguard_core.healing.meter import Meter
from healguard_core.healing.pauses import Pause
from healguard_core.healing.service import Service
from healguard_core.testing import ScriptedModel, Slow, Text, heal

from .crashes import AGENT_TOKEN, Side, context, meter_for, outcome, served


class Scripted:
    """An agent whose turns are functions of the pause; ``seen`` is shared by all conversations."""

    side: ClassVar[str] = "healing"
    uses_model: ClassVar[str] = "may"
    takes_argument: ClassVar[bool] = False
    seen: ClassVar[list[Any]] = []

    def __init__(self, service: Service) -> None:
        self.service = service
        self.seen.append(self)
        self.crashes: list[int] = []
        self.stopped = threading.Event()
        self.closed = threading.Event()

    def respond(self, pause: Pause) -> None:
        self.crashes.append(pause.context.crash)
        kind = pause.context.message
        if kind == "raises":
            raise RuntimeError("broken agent")
        if kind == "nothing":
            return
        if kind == "hangs":
            self.stopped.wait(60)
            return
        looked = pause.probe("order")
        pause.heal(f"amount = {looked.value_repr}", resume="retry", explanation="looked it up")
        if not pause.decided:
            pause.reraise("it failed")

    def stop(self) -> None:
        self.stopped.set()

    def close(self) -> None:
        self.closed.set()


@pytest.fixture
def side(tmp_path: Path) -> Iterator[Side]:
    Scripted.seen.clear()
    with served(Meter(None, None), tmp_path, {"scripted": Scripted}) as side:
        yield side


def waited(check: Any) -> None:
    end = time.monotonic() + 20
    while not check():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


# --------------------------------------------------------------------------- verbs


def test_verbs_come_one_by_one_and_are_answered(side: Side) -> None:
    crash = side.crash("scripted")
    probe = side.next(crash)
    assert probe == {"verb": "probe", "code": "order", "id": 1}
    submitted = side.next(crash, 1, outcome("order", submit=False, value_repr="21"))
    assert submitted == {"verb": "heal", "code": "amount = 21", "resume": "retry", "frame": 0,
                         "explanation": "looked it up", "id": 2}
    used = side.end(crash, 2, outcome("amount = 21"))
    assert used["agent"] == "scripted"
    assert used["calls"] == 0
    assert side.desk.pause(crash) is None


def test_a_failed_heal_lets_the_agent_go_on(side: Side) -> None:
    crash = side.crash("scripted")
    side.next(crash)
    side.next(crash, 1, outcome("order", submit=False))
    verb = side.next(crash, 2, outcome("amount = ", error="SyntaxError"))
    assert (verb["verb"], verb["reason"]) == ("reraise", "it failed")


@pytest.mark.parametrize(("kind", "reason"), [
    ("raises", "agent error: RuntimeError: broken agent at .*test_server.py:"),
    ("nothing", "the agent ended without a decision"),
])
def test_agents_that_come_to_nothing(side: Side, kind: str, reason: str) -> None:
    verb = side.next(side.crash("scripted", message=kind))
    assert verb["verb"] == "reraise"
    assert re.match(reason, verb["reason"])


def test_late_and_repeated_answers_are_dropped(side: Side) -> None:
    crash = side.crash("scripted")
    side.next(crash)
    for answered in (7, 0, -1):
        status, verb = side.post(f"/v1/crashes/{crash}/next",
                                 {"answered": answered, "outcome": outcome("x", submit=False), "wait": 0})
        assert (status, verb["verb"]) == (200, "wait")
    assert side.next(crash, 1, outcome("order", submit=False, value_repr="1"))["code"] == "amount = 1"


# --------------------------------------------------------------------------- conversations


def test_one_agent_has_all_crashes_of_a_test(side: Side) -> None:
    for attempt in (1, 2):
        crash = side.crash("scripted", attempt=attempt, message="nothing")
        side.next(crash)
        side.end(crash)
    assert [agent.crashes for agent in Scripted.seen] == [[1, 2]]


@pytest.mark.parametrize("again", [{"unit": "test_b"}, {}])
def test_another_test_and_a_test_that_begins_anew_have_their_own(side: Side, again: dict[str, str]) -> None:
    for more in ({}, again):
        crash = side.crash("scripted", attempt=1, message="nothing", **more)
        side.next(crash)
        side.end(crash)
    assert len(Scripted.seen) == 2
    waited(Scripted.seen[0].closed.is_set)
    assert not Scripted.seen[1].closed.is_set()


def test_workers_do_not_share_conversations(side: Side) -> None:
    for client in ("one", "two"):
        crash = side.crash("scripted", client=client, message="nothing")
        side.next(crash)
        side.end(crash)
    assert len(Scripted.seen) == 2
    assert not Scripted.seen[0].closed.is_set()
    side.post("/v1/bye", {"client": "one"})
    waited(Scripted.seen[0].closed.is_set)
    assert not Scripted.seen[1].closed.is_set()


# --------------------------------------------------------------------------- hard stops


def test_time_that_is_used_up_stops_the_agent(side: Side) -> None:
    verb = side.next(side.crash("scripted", message="hangs", timeout=0.2))
    assert verb["reason"] == "budget: the time for this crash is used up"
    assert Scripted.seen[0].stopped.is_set()


def test_looks_at_the_repository_are_bounded(tmp_path: Path) -> None:
    class Looking(Scripted):
        def respond(self, pause: Pause) -> None:
            while True:
                self.service.explore(pause, "ls")

    Scripted.seen.clear()
    with served(Meter(None, None), tmp_path, {"scripted": Looking}) as side:
        crash = side.crash("scripted", max_calls=3)
        verb = side.next(crash)
        told = verb.get("explored", [])
        assert verb["reason"] == "budget: 3 looks at the repository for this crash are used up"
        status, reply = side.post(f"/v1/crashes/{crash}/end", {})
        assert status == 200
        told += reply.get("explored", [])
    waited(Scripted.seen[0].stopped.is_set)
    assert len(told) <= 3


def test_an_agent_that_still_works_when_the_program_goes_on_is_stopped(side: Side) -> None:
    crash = side.crash("scripted", message="hangs")  # no limit here: the execution side has one of its own
    waited(lambda: Scripted.seen and Scripted.seen[0].crashes)
    side.end(crash)
    waited(Scripted.seen[0].stopped.is_set)


def test_a_process_that_is_gone_is_noticed(side: Side) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    crash = side.crash("scripted", message="hangs", pid=gone.pid)
    waited(lambda: side.desk.pause(crash) is None)
    waited(Scripted.seen[0].closed.is_set)


def test_a_process_that_lives_is_left_alone(side: Side) -> None:
    crash = side.crash("scripted", message="hangs", pid=os.getpid())
    assert side.post(f"/v1/crashes/{crash}/next", {"wait": 0.3})[1]["verb"] == "wait"
    assert not Scripted.seen[0].stopped.is_set()


def test_the_end_of_the_run_closes_everything(tmp_path: Path) -> None:
    Scripted.seen.clear()
    with served(Meter(None, None), tmp_path, {"scripted": Scripted}) as side:
        side.crash("scripted", message="hangs")
        waited(lambda: Scripted.seen)
    assert Scripted.seen[0].stopped.is_set()
    assert Scripted.seen[0].closed.is_set()


# --------------------------------------------------------------------------- who is let in


@pytest.mark.parametrize(("path", "token"), [
    ("/v1/crashes", "wrong"), ("/v1/crashes", ""), ("/v1/crashes", AGENT_TOKEN), ("/v1/agent/wait", "run-token"),
    ("/v1/agent/status", "wrong"), ("/v1/bye", "run-tokenx"), ("/llm/v1/chat/completions", "run-token"),
    ("/llm/v1/chat/completions", ""),
])
def test_wrong_tokens_are_refused(side: Side, path: str, token: str) -> None:
    status, reply = side.post(path, {"client": "one"}, token=token)
    assert status == 401
    assert "wrong or missing" in reply["error"]


def test_a_page_that_means_another_host_is_refused(side: Side) -> None:
    status, reply = side.post("/v1/bye", {"client": "one"}, Host="evil.example:80")
    assert status == 403
    assert "evil.example" in reply["error"]


@pytest.mark.parametrize(("path", "body", "status", "says"), [
    ("/v1/nothing", {}, 404, "nothing at"),
    ("/v1/crashes/c9/next", {}, 404, "no paused crash 'c9'"),
    ("/v1/crashes/../../x/next", {}, 404, "nothing at"),
    ("/v1/crashes", b"{", 400, "not JSON"),
    ("/v1/crashes", b"[]", 400, "the body"),
    ("/v1/crashes", b"[" * 100000, 400, "not JSON"),
    ("/v1/crashes", b'"\xff"', 400, "not JSON"),
    ("/v1/crashes", {"version": 99}, 400, "protocol version 99 is not supported"),
    ("/v1/crashes", {"version": 1, "client": "one", "agent": "healer"}, 400, "context: Field required"),
    ("/v1/bye", {"client": ""}, 400, "client: "),
])
def test_wrong_messages_are_refused(side: Side, path: str, body: Any, status: int, says: str) -> None:
    found, reply = side.post(path, body)
    assert (found, says in reply["error"]) == (status, True), reply


def test_an_unknown_agent_is_refused(side: Side) -> None:
    body = {"version": 1, "client": "one", "agent": "nobody",
            "context": vars(context()) | {"frames": [vars(frame) for frame in context().frames]}}
    status, reply = side.post("/v1/crashes", body)
    assert (status, reply["error"]) == (400, "there is no agent 'nobody' on the healing side")


def test_another_version_in_the_header_is_refused(side: Side) -> None:
    status, reply = side.post("/v1/bye", {"client": "one"}, **{"Heal-Protocol": "2"})
    assert status == 400
    assert "'2'" in reply["error"]


def test_a_body_that_is_too_large_is_not_read(side: Side) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", side.port)
    connection.putrequest("POST", "/v1/crashes")
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_lone_surrogates_survive(side: Side) -> None:
    crash = side.crash("scripted", statement="x = '\ud800'")
    assert side.next(crash)["verb"] == "probe"


# --------------------------------------------------------------------------- the model proxy


def ask(side: Side, key: str, body: dict[str, Any], path: str = "/llm/v1/chat/completions") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", side.port)
    try:
        connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("path", ["/chat/completions", "/responses"])
@pytest.mark.parametrize("stream", [True, False])
def test_the_proxy_counts_and_keeps_the_key(tmp_path: Path, path: str, stream: bool) -> None:
    Scripted.seen.clear()
    with ScriptedModel([heal("x = 1")]) as model, served(meter_for(model), tmp_path, {"scripted": Scripted}) as side:
        crash = side.crash("scripted", message="hangs")
        waited(lambda: Scripted.seen and Scripted.seen[0].crashes)
        service = Scripted.seen[0].service
        assert service.proxy == f"http://127.0.0.1:{side.port}/llm/v1"
        body = {"messages": [], "stream": stream, "model": "dearer"}
        status, raw = ask(side, service.proxy_key, body, f"/llm/v1{path}")
        assert status == 200
        assert b"x = 1" in raw
        used = side.end(crash)
    assert model.requests[0]["model"] == "scripted"
    assert model.headers[0]["Authorization"] == "Bearer secret-key"
    assert (used["calls"], used["input_tokens"], used["model"]) == (1, 1000, "openai/scripted")


def test_the_proxy_refuses_past_the_budget_and_stops_the_agent(tmp_path: Path) -> None:
    Scripted.seen.clear()
    with ScriptedModel([Text("hi")]) as model, served(meter_for(model), tmp_path, {"scripted": Scripted}) as side:
        crash = side.crash("scripted", message="hangs", max_calls=1)
        waited(lambda: Scripted.seen and Scripted.seen[0].crashes)
        key = Scripted.seen[0].service.proxy_key
        assert ask(side, key, {"messages": []})[0] == 200
        status, raw = ask(side, key, {"messages": []})
        assert status == 403
        assert json.loads(raw)["error"]["code"] == "heal_budget"
        assert side.next(crash)["reason"] == "budget: 1 calls for this crash are used up"
        assert Scripted.seen[0].stopped.is_set()
        assert len(model.requests) == 1


def test_the_proxy_passes_errors_of_the_provider_on(tmp_path: Path) -> None:
    from healguard_core.testing import Status

    Scripted.seen.clear()
    with (ScriptedModel([Status(401, "no such key: secret-key")]) as model,
          served(meter_for(model), tmp_path, {"scripted": Scripted}) as side):
        side.crash("scripted", message="hangs")
        waited(lambda: Scripted.seen and Scripted.seen[0].crashes)
        key = Scripted.seen[0].service.proxy_key
        status, raw = ask(side, key, {"messages": []})
        assert status == 401
        assert b"secret-key" not in raw
        assert ask(side, key, {}, "/llm/v1/embeddings")[0] == 404
        assert ask(side, key, [])[0] == 400  # type: ignore[arg-type]


def test_a_crash_that_is_over_pays_for_nothing(tmp_path: Path) -> None:
    Scripted.seen.clear()
    with (ScriptedModel([Slow(30, Text("late"))]) as model,
          served(meter_for(model), tmp_path, {"scripted": Scripted}) as side):
        crash = side.crash("scripted", message="hangs")
        waited(lambda: Scripted.seen and Scripted.seen[0].crashes)
        key = Scripted.seen[0].service.proxy_key
        side.end(crash)
        status, raw = ask(side, key, {"messages": []})
        assert status == 403
        assert b"the crash is over" in raw
        assert not model.requests
