"""Requests are counted, priced, retried and refused in one place."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from healguard_core.healing.meter import RETRIES, BudgetSpent, Meter, Tail, tokens_of
from healguard_core.healing.provider import ProviderFault
from healguard_core.testing import Cut, Garbage, ScriptedModel, Slow, Status, Text, heal

from .crashes import meter_for

CHAT = "/chat/completions"
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "hello"}]}


def test_an_answer_is_counted_and_priced() -> None:
    with ScriptedModel([Text("hi", input_tokens=1_000_000, output_tokens=100_000)]) as model:
        meter = meter_for(model)
        spending = meter.open("healer", 10, None)
        reply = meter.ask(spending, CHAT, BODY)
    assert reply["choices"][0]["message"]["content"] == "hi"
    used = spending.used
    assert (used.calls, used.input_tokens, used.output_tokens) == (1, 1_000_000, 100_000)
    assert used.cost_usd == pytest.approx(2.0)
    assert meter.total.cost_usd == used.cost_usd
    assert (used.model, used.answered_by) == ("openai/scripted", "scripted")
    assert model.headers[0]["Authorization"] == "Bearer secret-key"


def test_an_unknown_price_is_not_zero() -> None:
    with ScriptedModel([Text("hi")]) as model:
        meter = meter_for(model, input_price=None)
        spending = meter.open("healer", 10, None)
        meter.ask(spending, CHAT, BODY)
    assert spending.used.cost_usd is None
    assert meter.total.cost_usd is None


@pytest.mark.parametrize("trouble", [Status(429), Status(500), Status(503, retry_after="0"), Garbage(), Cut()])
def test_trouble_is_retried_and_consumes_no_call(trouble: Any) -> None:
    with ScriptedModel([trouble, trouble, Text("hi")]) as model:
        meter = meter_for(model)
        spending = meter.open("healer", 1, None)
        meter.ask(spending, CHAT, BODY)
    assert (spending.used.calls, spending.used.retries) == (1, 2)


@pytest.mark.parametrize(("trouble", "tries", "says"), [
    (Status(500, "overloaded"), RETRIES + 1, "HTTP 500: overloaded"),
    (Status(401, "bad key secret-key"), 1, "HTTP 401: bad key <key>"),
    (Status(400, "no such model"), 1, "HTTP 400: no such model"),
    (Garbage(), RETRIES + 1, "not JSON"),
    (Garbage(b"[1]"), RETRIES + 1, "not a JSON object"),
    (Cut(), RETRIES + 1, "cut off"),
])
def test_trouble_that_stays_is_raised(trouble: Any, tries: int, says: str) -> None:
    with ScriptedModel([trouble]) as model:
        meter = meter_for(model)
        spending = meter.open("healer", 10, None)
        with pytest.raises(ProviderFault, match=says):
            meter.ask(spending, CHAT, BODY)
        assert len(model.requests) == tries
    assert (spending.used.calls, spending.used.retries) == (0, tries)


def test_an_unreachable_provider_is_raised() -> None:
    with ScriptedModel([Text("hi")]) as model:
        meter = meter_for(model)
    with pytest.raises(ProviderFault, match=r"127\.0\.0\.1: ConnectionRefusedError"):
        meter.ask(meter.open("healer", 10, None), CHAT, BODY)


def test_calls_per_crash_are_bounded() -> None:
    with ScriptedModel([Text("hi")]) as model:
        meter = meter_for(model)
        spending = meter.open("healer", 2, None)
        meter.ask(spending, CHAT, BODY)
        meter.ask(spending, CHAT, BODY)
        with pytest.raises(BudgetSpent, match="budget: 2 calls for this crash"):
            meter.ask(spending, CHAT, BODY)
        meter.ask(meter.open("healer", 2, None), CHAT, BODY)  # another crash has its own
        assert len(model.requests) == 3


def test_many_threads_never_exceed_the_calls_of_a_crash() -> None:
    with ScriptedModel([Slow(0.05, Text("hi"))]) as model:
        meter = meter_for(model)
        spending = meter.open("healer", 3, None)
        refused: list[str] = []

        def ask() -> None:
            try:
                meter.ask(spending, CHAT, BODY)
            except BudgetSpent as error:
                refused.append(str(error))

        threads = [threading.Thread(target=ask) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(model.requests) == spending.used.calls == 3
        assert len(refused) == 7


def test_the_cost_of_the_run_is_bounded_over_crashes() -> None:
    with ScriptedModel([Text("hi", input_tokens=1_000_000, output_tokens=0)]) as model:
        meter = meter_for(model, max_cost=1.5)
        for _ in range(2):
            meter.ask(meter.open("healer", 10, None), CHAT, BODY)
        with pytest.raises(BudgetSpent, match=r"budget: \$1.5 for the whole run"):
            meter.ask(meter.open("healer", 10, None), CHAT, BODY)
        assert len(model.requests) == 2


def test_stopping_cuts_a_request_that_is_under_way() -> None:
    with ScriptedModel([Slow(60, Text("late"))]) as model:
        meter = meter_for(model)
        spending = meter.open("healer", 10, None)
        raised: list[BaseException] = []

        def ask() -> None:
            try:
                meter.ask(spending, CHAT, BODY)
            except BudgetSpent as error:
                raised.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        while not model.requests:
            thread.join(0.01)
        meter.stop(spending, "budget: enough")
        thread.join(10)
        assert not thread.is_alive()
    assert [str(error) for error in raised] == ["budget: enough"]
    assert spending.in_flight == 0


def test_a_deadline_ends_a_request() -> None:
    with ScriptedModel([Slow(60, Text("late"))]) as model:
        meter = meter_for(model)
        spending = meter.open("healer", 10, 0.3)
        with pytest.raises(BudgetSpent, match=r"time for this crash is used up \(the last try: "):
            meter.ask(spending, CHAT, BODY)
        with pytest.raises(BudgetSpent, match=r"time for this crash is used up$"):
            meter.ask(spending, CHAT, BODY)


def test_without_a_model_nothing_can_be_asked() -> None:
    meter = Meter(None, None)
    with pytest.raises(ProviderFault, match="add --heal-model"):
        meter.ask(meter.open("exec:x", 10, None), CHAT, BODY)


# --------------------------------------------------------------------------- streams


@pytest.mark.parametrize("path", [CHAT, "/responses"])
def test_streams_are_handed_on_and_counted(path: str) -> None:
    with ScriptedModel([heal("x = 1")]) as model:
        meter = meter_for(model)
        spending = meter.open("codex", 10, None)
        answer = meter.relay(spending, path, {**BODY, "stream": True})
        text = b"".join(answer.pieces).decode()
    assert answer.streamed
    assert text.count("data:") >= 3
    assert (spending.used.calls, spending.used.input_tokens, spending.used.output_tokens) == (1, 1000, 100)
    assert not spending.used.estimated
    assert spending.in_flight == 0


def test_a_stream_that_breaks_off_is_estimated() -> None:
    with ScriptedModel([Cut()]) as model:
        meter = meter_for(model)
        spending = meter.open("codex", 10, None)
        answer = meter.relay(spending, CHAT, {**BODY, "stream": True})
        taken = b"".join(answer.pieces)
    assert taken.startswith(b"data:")
    assert spending.used.calls == 1
    assert spending.used.estimated
    assert spending.used.input_tokens > 0
    assert spending.in_flight == 0


def test_a_stream_nobody_reads_to_its_end_is_counted() -> None:
    with ScriptedModel([Text("hello")]) as model:
        meter = meter_for(model)
        spending = meter.open("codex", 10, None)
        pieces = iter(meter.relay(spending, CHAT, {**BODY, "stream": True}).pieces)
        next(pieces)
        pieces.close()  # type: ignore[attr-defined]
    assert spending.used.calls == 1
    assert spending.in_flight == 0


def test_usage_is_found_however_the_stream_is_cut_up() -> None:
    event = b'data: {"model": "m", "usage": {"prompt_tokens": 5, "completion_tokens": 7}}\n\ndata: [DONE]\n\n'
    for size in range(1, len(event) + 1):
        tail = Tail()
        for start in range(0, len(event), size):
            tail.feed(event[start:start + size])
        assert tokens_of(tail.reply()) == (5, 0, 7)


@pytest.mark.parametrize("usage", [
    None, {}, [], {"prompt_tokens": 5}, {"prompt_tokens": "5", "completion_tokens": 7},
    {"prompt_tokens": -5, "completion_tokens": 7},
])
def test_a_strange_usage_is_none(usage: Any) -> None:
    assert tokens_of({"usage": usage}) is None


@pytest.mark.parametrize(("details", "cached"), [
    ({"prompt_tokens_details": {"cached_tokens": 3}}, 3),
    ({"prompt_tokens_details": {"cached_tokens": 30}}, 10),
    ({"prompt_tokens_details": None}, 0),
    ({"prompt_tokens_details": {"cached_tokens": "x"}}, 0),
    ({}, 0),
])
def test_cached_tokens(details: dict[str, Any], cached: int) -> None:
    assert tokens_of({"usage": {"prompt_tokens": 10, "completion_tokens": 1, **details}}) == (10, cached, 1)


def test_an_answer_without_usage_is_estimated() -> None:
    with ScriptedModel([Text("hi", usage=False)]) as model:
        meter = meter_for(model)
        spending = meter.open("healer", 10, None)
        meter.ask(spending, CHAT, BODY)
    assert spending.used.estimated
    assert spending.used.input_tokens >= len(json.dumps(BODY)) // 4


# --------------------------------------------------------------------------- reports of agents


def test_what_an_agent_reports_counts_as_its_own_word() -> None:
    meter = Meter(None, None)
    spending = meter.open("exec:x", 10, None)
    assert spending.used.cost_usd is None
    meter.report(spending, {"calls": 2, "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.5})
    meter.report(spending, {"calls": 1, "input_tokens": -3, "output_tokens": True, "cost_usd": 0.25})
    used = spending.used
    assert (used.calls, used.input_tokens, used.output_tokens, used.cost_usd) == (3, 10, 5, 0.75)
    assert not used.metered
    assert meter.total.calls == 3
