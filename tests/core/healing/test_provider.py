"""Requests to providers: the ways to them, and litellm's answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from healguard_core.healing.meter import Meter, Tail, tokens_of
from healguard_core.healing.provider import Abort, HttpProvider, LitellmProvider, ProviderFault, provider_for
from healguard_core.testing import ScriptedModel, Text

from .crashes import model_at

MODEL = model_at("", transport="litellm", id="anthropic/claude", name="claude")


class Reply:
    """What litellm's ``completion`` returns."""

    def __init__(self, **message: Any) -> None:
        self.message = message

    def model_dump(self) -> dict[str, Any]:
        return {
            "id": "1", "model": "claude", "created": 1,
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **self.message}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        }


class Refusal(Exception):
    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code


def test_a_model_says_how_it_is_asked() -> None:
    assert isinstance(provider_for(model_at("http://localhost/v1"), ""), HttpProvider)
    assert isinstance(provider_for(MODEL, ""), LitellmProvider)
    assert "secret" not in repr(provider_for(MODEL, "secret"))


def test_a_local_server_may_want_no_key() -> None:
    with ScriptedModel([Text("hi")]) as model:
        provider = HttpProvider(model_at(model.url), "")
        b"".join(provider.send("/chat/completions", {"messages": []}, 10, Abort()).pieces)
    assert "Authorization" not in model.headers[0]
    assert model.requests == [{"messages": [], "model": "scripted"}]


def test_litellm_is_asked_once_and_as_a_whole() -> None:
    asked: list[dict[str, Any]] = []

    def completion(**words: Any) -> Reply:
        asked.append(words)
        return Reply(content="hi")

    provider = LitellmProvider(MODEL, "key", completion)
    meter = Meter(MODEL, provider)
    spending = meter.open("healer", 10, None)
    reply = meter.ask(spending, "/chat/completions", {"messages": [], "model": "other", "tools": []})
    assert reply["choices"][0]["message"]["content"] == "hi"
    assert asked == [{"model": "anthropic/claude", "api_key": "key", "timeout": 120.0, "num_retries": 0,
                      "max_retries": 0, "messages": [], "tools": []}]
    assert (spending.used.calls, spending.used.input_tokens, spending.used.answered_by) == (1, 10, "claude")


def test_a_program_that_wants_a_stream_gets_one() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "execute", "arguments": "{}"}}
    provider = LitellmProvider(MODEL, "key", lambda **_: Reply(content=None, tool_calls=[call]))
    answer = provider.send("/chat/completions", {"messages": [], "stream": True}, 10, Abort())
    text = b"".join(answer.pieces)
    assert answer.streamed
    first = json.loads(text.split(b"\n")[0][6:])
    assert first["choices"][0]["delta"]["tool_calls"] == [{**call, "index": 0}]
    tail = Tail()
    tail.feed(text)
    assert tokens_of(tail.reply()) == (10, 0, 5)
    assert text.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(("status", "retriable"), [(None, True), (429, True), (500, True), (401, False), (400, False)])
def test_litellms_errors(status: int | None, retriable: bool) -> None:
    def completion(**_: Any) -> Reply:
        raise Refusal("no: my-key", status)

    with pytest.raises(ProviderFault, match="Refusal: no: <key>") as raised:
        LitellmProvider(MODEL, "my-key", completion).send("/chat/completions", {}, 10, Abort())
    assert (raised.value.retriable, raised.value.status) == (retriable, status or 0)


def test_litellm_has_no_responses() -> None:
    with pytest.raises(ProviderFault, match="no /responses"):
        LitellmProvider(MODEL, "k", lambda **_: Reply()).send("/responses", {}, 10, Abort())


def test_what_was_stopped_meanwhile_is_dropped() -> None:
    abort = Abort()

    def completion(**_: Any) -> Reply:
        abort()
        return Reply(content="late")

    with pytest.raises(ProviderFault, match="stopped"):
        LitellmProvider(MODEL, "k", completion).send("/chat/completions", {}, 10, abort)
