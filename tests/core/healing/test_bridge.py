"""Responses by Chat Completions: what is asked, what comes back, counted once, whole or streamed, and with errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.healing.bridge import bridged, chat_request
from healguard_core.healing.meter import BudgetSpent
from healguard_core.healing.provider import Answer, ProviderFault, as_events
from healguard_core.testing import Cut, Garbage, ScriptedModel, Slow, Status, Text, heal

from .crashes import meter_for

RESPONSES = "/responses"


def message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def call(number: str, name: str = "execute", arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": number, "name": name, "arguments": arguments}


def came(number: str, output: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": number, "output": output}


def events(raw: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[5:]) for line in raw.decode().splitlines() if line.startswith("data:")]


# --------------------------------------------------------------------------- requests


def test_a_conversation_is_translated() -> None:
    request = chat_request({
        "model": "m", "instructions": "be brief", "stream": True, "store": False, "include": ["x"],
        "reasoning": {"effort": "high"}, "prompt_cache_key": "k", "parallel_tool_calls": True, "tool_choice": "auto",
        "max_output_tokens": 50,
        "input": [message("developer", "rules"), message("user", "help"), message("assistant", "I look"),
                  call("a", "bash", '{"cmd": "ls"}'), call("b"), came("b", [{"type": "input_text", "text": "two"}]),
                  came("a", "one"), message("user", "go on")],
        "tools": [{"type": "function", "name": "bash", "description": "runs", "strict": False,
                   "parameters": {"type": "object", "properties": {}}}, {"type": "web_search"},
                  {"type": "custom", "name": "patch", "description": "edits",
                   "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}},
                  {"type": "namespace", "name": "heal__", "tools": [{"type": "function", "name": "probe"}]}],
    })
    assert request["messages"] == [
        {"role": "system", "content": "be brief"}, {"role": "system", "content": "rules"},
        {"role": "user", "content": "help"},
        {"role": "assistant", "content": "I look", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "bash", "arguments": '{"cmd": "ls"}'}},
            {"id": "b", "type": "function", "function": {"name": "execute", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": "two"},
        {"role": "user", "content": "go on"}]
    assert [tool["function"]["name"] for tool in request["tools"]] == ["bash", "patch", "heal__probe"]
    assert "start: x" in request["tools"][1]["function"]["description"]
    assert {name: request[name] for name in request if name not in ("messages", "tools")} == {
        "tool_choice": "auto", "max_tokens": 50, "parallel_tool_calls": True, "stream": True}


def test_a_schema_is_said_in_words() -> None:
    request = chat_request({"input": "x", "text": {"format": {"type": "json_schema", "schema": {"type": "object"}}}})
    assert request["messages"][0] == {"role": "user", "content": "x"}
    assert 'JSON Schema: {"type": "object"}' in request["messages"][1]["content"]


def test_thinking_goes_back_to_whoever_wants_to_see_it() -> None:
    said = {"content": "hi", "reasoning_content": "hm"}
    reply = {"model": "m", "choices": [{"message": said, "finish_reason": "stop"}]}
    made = json.loads(b"".join(bridged({}, Answer("application/json", iter([json.dumps(reply).encode()]))).pieces))
    request = chat_request({"input": made["output"]})
    assert request["messages"] == [{"role": "assistant", "content": "hi", "reasoning_content": "hm"}]


def test_images_are_passed_on() -> None:
    content = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "data:x"}]
    [found] = chat_request({"input": [{"role": "user", "content": content}]})["messages"]
    assert found["content"] == [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:x"}}]


@pytest.mark.parametrize("body", [{}, {"input": 3}, {"input": None}])
def test_what_is_no_request_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="`input` must be"):
        chat_request(body)


ITEMS = st.one_of(
    st.builds(message, st.sampled_from(["user", "assistant", "developer", "system"]), st.text(max_size=5)),
    st.builds(call, st.sampled_from("abc")), st.builds(came, st.sampled_from("abcd"), st.text(max_size=5)),
    st.just({"type": "reasoning", "encrypted_content": "hm"}), st.dictionaries(st.text(), st.integers(), max_size=2),
)


@given(st.lists(ITEMS, max_size=12))
def test_every_call_is_answered_right_after_it(items: list[dict[str, Any]]) -> None:
    messages = chat_request({"input": items})["messages"]
    waiting: list[str] = []
    for found in messages:
        if found["role"] == "tool":
            assert found["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [one["id"] for one in found.get("tool_calls", ())]
    assert not waiting


# --------------------------------------------------------------------------- answers


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("step", [heal("amount = 21"), Text("I am done")])
def test_answers_come_as_responses_and_are_counted_once(stream: bool, step: Any) -> None:
    with ScriptedModel([step]) as model:
        meter = meter_for(model, wire="chat")
        spending = meter.open("codex", 1, None)
        answer = meter.relay(spending, RESPONSES, {"input": "x", "stream": stream, "tools": [
            {"type": "function", "name": "execute", "parameters": {}}]})
        raw = b"".join(answer.pieces)
        with pytest.raises(BudgetSpent):
            meter.relay(spending, RESPONSES, {"input": "x"})
        assert "messages" in model.requests[0]
    assert (spending.used.calls, spending.used.input_tokens, spending.used.output_tokens) == (1, 1000, 100)
    assert not spending.used.estimated
    assert spending.in_flight == 0
    whole = events(raw)[-1]["response"] if stream else json.loads(raw)
    assert whole["status"] == "completed"
    assert whole["usage"]["input_tokens"] == 1000
    [item] = whole["output"]
    if isinstance(step, Text):
        assert item["content"][0]["text"] == "I am done"
    else:
        assert (item["type"], item["name"]) == ("function_call", "execute")
        assert json.loads(item["arguments"])["code"] == "amount = 21"
    if stream:
        kinds = [event["type"] for event in events(raw)]
        assert kinds[0] == "response.created"
        assert kinds[-2:] == ["response.output_item.done", "response.completed"]


def streamed(chunks: list[dict[str, Any]], body: dict[str, Any] | None = None, size: int = 7) -> list[dict[str, Any]]:
    lines = [": hello", *(f"data: {json.dumps(chunk)}" for chunk in chunks), "data: [DONE]", ""]
    raw = "\n\n".join(lines).encode()
    pieces = (raw[start:start + size] for start in range(0, len(raw), size))
    return events(b"".join(bridged({"stream": True, **(body or {})}, Answer("text/event-stream", pieces)).pieces))


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_a_stream_is_passed_on_as_it_comes() -> None:
    found = streamed([
        chunk({"role": "assistant", "reasoning_content": "hm"}), chunk({"content": "I "}), chunk({"content": "see"}),
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "bash", "arguments": '{"cm'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": 'd": 1}'}},
                              {"index": 1, "id": "b", "function": {"name": "patch", "arguments": '{"input": "x"}'}}]}),
        chunk({}, "tool_calls"), {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
    ], {"tools": [{"type": "custom", "name": "patch"}]})
    assert [event["delta"] for event in found if event["type"] == "response.output_text.delta"] == ["I ", "see"]
    done = [event["item"] for event in found if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in done] == ["reasoning", "message", "function_call", "custom_tool_call"]
    assert done[2]["arguments"] == '{"cmd": 1}'
    assert done[3]["input"] == "x"
    begun = {event["item"]["id"] for event in found if event["type"] == "response.output_item.added"}
    assert begun == {item["id"] for item in done}
    assert found[-1]["response"]["usage"]["total_tokens"] == 7


@pytest.mark.parametrize("size", [1, 10_000])
def test_however_the_stream_is_cut_up(size: int) -> None:
    chunks = [chunk({"content": "é"}), chunk({}, "stop")]
    assert streamed(chunks, size=size)[-1]["response"]["output"][0]["content"][0]["text"] == "é"


def test_an_answer_at_its_limit_is_incomplete() -> None:
    found = streamed([chunk({"content": "x"}, "length")])
    assert found[-1]["type"] == "response.incomplete"
    assert found[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


def test_an_error_in_the_stream_is_one() -> None:
    found = streamed([chunk({"content": "x"}), {"error": {"message": "overloaded", "code": 503}}])
    assert found[-1]["type"] == "response.failed"
    assert found[-1]["response"]["error"] == {"code": "503", "message": "overloaded"}


@pytest.mark.parametrize("raw", [b"data: {\n\n", b"data: {}\n\n", b"", b"data: [DONE]\n\n", b"<html>", b"data: 3\n\n"])
def test_a_stream_that_breaks_off_or_is_none_fails(raw: bytes) -> None:
    with pytest.raises(ProviderFault):
        b"".join(bridged({"stream": True}, Answer("text/event-stream", iter([raw]))).pieces)


@pytest.mark.parametrize("raw", [b"<html>", b"[1]", b""])
def test_garbage_in_place_of_a_stream_fails(raw: bytes) -> None:
    with pytest.raises(ProviderFault, match="not a JSON object"):
        b"".join(bridged({"stream": True}, Answer("text/html", iter([raw]))).pieces)


def test_a_provider_that_does_not_stream_is_understood() -> None:
    whole = {"model": "m", "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    made = bridged({"stream": True}, Answer("application/json", iter([json.dumps(whole).encode()])))
    assert events(b"".join(made.pieces))[-1]["response"]["output"][0]["content"][0]["text"] == "hi"
    made = bridged({"stream": True}, Answer("text/event-stream", iter([as_events(whole)])))
    assert events(b"".join(made.pieces))[-1]["type"] == "response.completed"


@pytest.mark.parametrize("trouble", [Status(401, "bad key secret-key"), Status(400, "no")])
def test_errors_of_the_provider_are_passed_on(trouble: Status) -> None:
    with ScriptedModel([trouble]) as model:
        meter = meter_for(model, wire="chat")
        with pytest.raises(ProviderFault, match=f"HTTP {trouble.status}") as raised:
            meter.relay(meter.open("codex", 5, None), RESPONSES, {"input": "x", "stream": True})
    assert raised.value.status == trouble.status
    assert "secret-key" not in str(raised.value)


@pytest.mark.parametrize("trouble", [Status(429), Status(500), Garbage(), Cut()])
def test_trouble_is_retried_as_for_others(trouble: Any) -> None:
    with ScriptedModel([trouble, Text("hi")]) as model:
        meter = meter_for(model, wire="chat")
        spending = meter.open("codex", 1, None)
        whole = json.loads(b"".join(meter.relay(spending, RESPONSES, {"input": "x"}).pieces))
    assert whole["output"][0]["content"][0]["text"] == "hi"
    assert (spending.used.calls, spending.used.retries) == (1, 1)


def test_a_stream_that_nobody_reads_to_its_end_is_closed() -> None:
    with ScriptedModel([Text("hi")]) as model:
        meter = meter_for(model, wire="chat")
        spending = meter.open("codex", 1, None)
        pieces = meter.relay(spending, RESPONSES, {"input": "x", "stream": True}).pieces
        next(pieces)
        next(pieces)
        pieces.close()  # type: ignore[attr-defined]
    assert spending.in_flight == 0


def test_a_provider_without_responses_is_told_how() -> None:
    with ScriptedModel([Status(404, "no such path")]) as model:
        meter = meter_for(model)
        with pytest.raises(ProviderFault, match="wire=chat"):
            meter.relay(meter.open("codex", 5, None), RESPONSES, {"input": "x"})


def test_a_request_that_cannot_be_translated_is_refused() -> None:
    with ScriptedModel([Slow(1, Text("hi"))]) as model:
        meter = meter_for(model, wire="chat")
        spending = meter.open("codex", 5, None)
        with pytest.raises(ProviderFault, match="cannot be translated"):
            meter.relay(spending, RESPONSES, {"input": 3})
    assert spending.in_flight == 0
    assert not model.requests
