"""The agent `healer` against a scripted model: what it sends, what it makes of the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.healing.agents.healer import TOOL, Malformed, correction, message_of, submission_of
from healguard_core.healing.conversation import bounded
from healguard_core.healing.prompts import HEALER_SYSTEM, tokens
from healguard_core.testing import Call, Garbage, ScriptedModel, Status, Step, Text, heal

from .crashes import Side, meter_for, outcome, served

Played = tuple[ScriptedModel, list[dict[str, Any]], dict[str, Any]]


def healing(tmp_path: Path, script: Sequence[Step], turns: list[str]) -> Played:
    """Play one crash: ``turns`` are the errors of the submissions in order, "" for success."""
    verbs = []
    with ScriptedModel(script) as model, served(meter_for(model), tmp_path) as side:
        crash = side.crash("healer")
        answered, answer = 0, None
        for error in [*turns, None]:
            if answer is not None and not answer["error"]:
                break
            verb = side.next(crash, answered, answer)
            verbs.append(verb)
            if verb["verb"] == "reraise" or error is None:
                break
            answered, answer = verb["id"], outcome(verb["code"], error=error)
        used = side.end(crash, answered, answer)
    return model, verbs, used


def test_one_forced_call_per_turn(tmp_path: Path) -> None:
    model, verbs, used = healing(tmp_path, [heal("amount = 21", resume="retry", explanation="why")], [""])
    request = model.requests[0]
    assert request["tool_choice"] == {"type": "function", "function": {"name": "execute"}}
    assert request["tools"] == [TOOL]
    assert request["messages"][0] == {"role": "system", "content": HEALER_SYSTEM}
    assert 'amount = order["amount"]' in request["messages"][1]["content"]
    assert verbs == [
        {"verb": "heal", "code": "amount = 21", "resume": "retry", "frame": 0, "explanation": "why", "id": 1}]
    assert (used["calls"], used["cost_usd"]) == (1, 0.002)


def test_errors_go_back_to_the_model(tmp_path: Path) -> None:
    script = [heal("amount = x"), heal("amount = 21")]
    model, verbs, _ = healing(tmp_path, script, ["NameError: name 'x' is not defined", ""])
    said, result = model.requests[1]["messages"][2:]
    assert said["tool_calls"][0]["id"] == result["tool_call_id"]
    assert "NameError: name 'x'" in result["content"]
    assert "still paused" in result["content"]
    assert [verb["code"] for verb in verbs] == ["amount = x", "amount = 21"]


@pytest.mark.parametrize("code", ["raise", " raise\n"])
def test_a_bare_raise_gives_up(tmp_path: Path, code: str) -> None:
    _, verbs, _ = healing(tmp_path, [heal(code, explanation="the input is wrong")], [])
    assert (verbs[0]["verb"], verbs[0]["reason"]) == ("reraise", "the input is wrong")


BAD = [
    Text("I would set amount to 21."),
    Call("execute", "{not json"),
    Call("execute", {"submit": True}),
    Call("execute", {"code": "order", "submit": False}),
    Call("execute", {"code": ["x"], "submit": True}),
    Call("execute", {"code": "x = 1", "submit": True, "frame": "0"}),
    Call("execute", "[1]"),
    Call("bash", {"command": "rm -rf /"}),
]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_a_malformed_answer_is_explained(tmp_path: Path, bad: Step) -> None:
    model, verbs, used = healing(tmp_path, [bad, heal("amount = 21")], [""])
    last = model.requests[1]["messages"][-1]
    assert last["role"] == "user"
    assert "not a usable answer" in last["content"]
    assert verbs[-1]["code"] == "amount = 21"
    assert used["calls"] == 2


def test_malformed_answers_are_bounded(tmp_path: Path) -> None:
    model, verbs, _ = healing(tmp_path, [Text("no"), Text("no"), Text("no"), heal("late")], [])
    assert "3 unusable answers in a row; the last one: it has no call" in verbs[0]["reason"]
    assert len(model.requests) == 3


def test_malformed_answers_in_between_start_anew(tmp_path: Path) -> None:
    script = [Text("no"), Text("no"), heal("a"), Text("no"), Text("no"), heal("b")]
    _, verbs, _ = healing(tmp_path, script, ["it failed", ""])
    assert [verb["code"] for verb in verbs] == ["a", "b"]


@pytest.mark.parametrize(("trouble", "says"), [
    (Status(500), "the model's provider: HTTP 500"), (Garbage(), "the model's provider: .*not JSON"),
    (Status(401, "bad key"), "the model's provider: HTTP 401: bad key"),
])
def test_trouble_with_the_provider_lets_the_error_go_on(tmp_path: Path, trouble: Step, says: str) -> None:
    _, verbs, used = healing(tmp_path, [trouble], [])
    assert re.match(says, verbs[0]["reason"])
    assert used["calls"] == 0


def test_the_conversation_goes_on_over_the_crashes_of_a_test(tmp_path: Path) -> None:
    with ScriptedModel([heal("a = 1"), heal("b = 2")]) as model, served(meter_for(model), tmp_path) as side:
        first = play(side, 1)
        second = play(side, 2)
    assert (first["code"], second["code"]) == ("a = 1", "b = 2")
    roles = [message["role"] for message in model.requests[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert "The heal was applied" in model.requests[1]["messages"][3]["content"]


def play(side: Side, attempt: int) -> dict[str, Any]:
    crash = side.crash("healer", attempt=attempt)
    verb = side.next(crash)
    side.end(crash, verb["id"], outcome(verb["code"]))
    return verb


def test_a_budget_of_calls_ends_in_a_reason(tmp_path: Path) -> None:
    with ScriptedModel([heal("x")]) as model, served(meter_for(model), tmp_path) as side:
        crash = side.crash("healer", max_calls=2)
        verb = side.next(crash)
        verb = side.next(crash, verb["id"], outcome("x", error="no"))
        verb = side.next(crash, verb["id"], outcome("x", error="no"))
        assert verb["reason"] == "budget: 2 calls for this crash are used up"
        assert len(model.requests) == 2


def test_answers_with_nothing_in_them() -> None:
    for reply in ({}, {"choices": []}, {"choices": [None]}, {"choices": [{"message": None}]}, {"choices": "x"}):
        with pytest.raises(Malformed):
            submission_of(message_of(reply))


def test_two_calls_at_once_are_refused() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "execute", "arguments": json.dumps({"code": "x"})}}
    with pytest.raises(Malformed, match="2 calls"):
        submission_of({"tool_calls": [call, call]})


KEYS = st.sampled_from(["tool_calls", "function", "id", "name", "arguments", "content"]) | st.text()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
def test_no_answer_breaks_the_agent(value: Any) -> None:
    message = message_of({"choices": [{"message": value}]})
    try:
        submission_of(message)
        problem = ""
    except Malformed as error:
        problem = str(error)
    assert json.dumps(correction(message, problem))


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=20), st.data(), st.integers(1000, 20000))
def test_a_conversation_is_bounded_and_keeps_pairs(sizes: list[int], data: Any, limit: int) -> None:
    first = data.draw(st.integers(0, len(sizes) - 1))
    exchanges: list[list[dict[str, Any]]] = [
        [{"role": "assistant", "tool_calls": [{"id": str(n)}]},
         {"role": "tool", "tool_call_id": str(n), "content": "x" * size}]
        for n, size in enumerate(sizes)
    ]
    exchanges[first] = [{"role": "user", "content": "the crash"}]
    messages = bounded(exchanges, first, limit)
    assert {"role": "user", "content": "the crash"} in messages
    called = [message["tool_calls"][0]["id"] for message in messages if message["role"] == "assistant"]
    assert called == [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert sum(tokens(json.dumps(message)) for message in messages[1:]) <= limit + 100
