"""Chat Completions answers, whole or streamed, as the answers and events of Responses. May import provider."""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Iterator
from typing import Any

from healguard_core.healing.provider import ProviderFault

Record = dict[str, Any]


@dataclasses.dataclass
class ChatReply:
    """What a model said, by Chat Completions, as far as it is known."""

    text: str = ""
    thought: str = ""
    calls: list[Record] = dataclasses.field(default_factory=list)  # id, name, arguments
    finish: str = ""
    model: str = ""
    usage: Record | None = None

    @classmethod
    def of(cls, whole: Record) -> ChatReply:
        """The reply in a whole answer."""
        reply = cls()
        reply.take({**whole, "choices": [{**choice, "delta": choice.get("message")}
                                         for choice in _records(whole.get("choices"))[:1]]})
        return reply

    def take(self, chunk: Record) -> str:
        """Add a chunk of a stream; return the text that it brought."""
        self.model = str(chunk.get("model") or self.model)
        if isinstance(chunk.get("usage"), dict):
            self.usage = chunk["usage"]
        added = ""
        for choice in _records(chunk.get("choices"))[:1]:
            found = choice.get("delta")
            delta: Record = found if isinstance(found, dict) else {}
            added += delta["content"] if isinstance(delta.get("content"), str) else ""
            for name in ("reasoning_content", "reasoning"):
                if isinstance(delta.get(name), str):
                    self.thought += delta[name]
                    break
            for position, call in enumerate(_records(delta.get("tool_calls"))):
                self._add_call(call, position)
            self.finish = str(choice.get("finish_reason") or self.finish)
        self.text += added
        return added

    def _add_call(self, call: Record, position: int) -> None:
        number = call.get("index")
        index = number if isinstance(number, int) and 0 <= number < 1000 else position
        while len(self.calls) <= index:
            self.calls.append({"id": "", "name": "", "arguments": ""})
        known = self.calls[index]
        named = call.get("function")
        function: Record = named if isinstance(named, dict) else {}
        known["id"] = known["id"] or str(call.get("id") or "")
        known["name"] += str(function.get("name") or "")
        arguments = function.get("arguments")
        known["arguments"] += arguments if isinstance(arguments, str) else "" if arguments is None else \
            json.dumps(arguments)


def as_response(about: Record, reply: ChatReply, custom: frozenset[str]) -> Record:
    """A whole Responses answer. ``custom`` are the names of tools that take a text instead of JSON."""
    cut = reply.finish == "length"
    response: Record = {
        **about, "model": reply.model, "status": "incomplete" if cut else "completed", "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": list(_items(reply, custom)),
    }
    if reply.usage is not None:
        response["usage"] = _usage(reply.usage)
    return response


def events_of(about: Record, reply: ChatReply, custom: frozenset[str]) -> Iterator[bytes]:
    """The events of a reply that is known as a whole."""
    yield _event("response.created", response={**about, "status": "in_progress", "output": []})
    yield from _closing(about, reply, custom, "")


def streamed_events(about: Record, pieces: Iterator[bytes], custom: frozenset[str]) -> Iterator[bytes]:
    """The events of Responses for a stream of Chat Completions, as it arrives.

    Raises `ProviderFault` for a stream that breaks off or holds something else.
    """
    reply = ChatReply()
    message = f"msg_{secrets.token_hex(12)}"
    spoken = False
    yield _event("response.created", response={**about, "status": "in_progress", "output": []})
    try:
        for chunk in _chunks(pieces):
            if isinstance(chunk.get("error"), (dict, str)):
                yield _event("response.failed", response={**about, "status": "failed", "error": _error(chunk["error"])})
                return
            added = reply.take(chunk)
            if added and not spoken:
                spoken = True
                item = {"type": "message", "id": message, "role": "assistant", "status": "in_progress", "content": []}
                yield _event("response.output_item.added", output_index=0, item=item)
            if added:
                yield _event("response.output_text.delta", item_id=message, output_index=0, content_index=0,
                             delta=added)
        if not reply.finish:
            raise ProviderFault("the provider's answer was cut off")
        yield from _closing(about, reply, custom, message if spoken else "")
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()


def _closing(about: Record, reply: ChatReply, custom: frozenset[str], message: str) -> Iterator[bytes]:
    """The events that give every item as a whole, and the end. ``message`` is the id of one that has begun."""
    response = as_response(about, reply, custom)
    for index, item in enumerate(response["output"]):
        if item["type"] == "message" and message:
            item["id"] = message
        else:
            yield _event("response.output_item.added", output_index=index, item={**item, "status": "in_progress"})
        yield _event("response.output_item.done", output_index=index, item=item)
    ending = "response.completed" if response["status"] == "completed" else "response.incomplete"
    yield _event(ending, response=response)


def _items(reply: ChatReply, custom: frozenset[str]) -> Iterator[Record]:
    if reply.thought:
        yield {"type": "reasoning", "id": f"rs_{secrets.token_hex(12)}", "encrypted_content": reply.thought,
               "summary": []}
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        yield {"type": "message", "id": f"msg_{secrets.token_hex(12)}", "role": "assistant", "status": "completed",
               "content": content}
    for call in reply.calls:
        if call["name"]:
            yield _called(call, custom)


def _called(call: Record, custom: frozenset[str]) -> Record:
    number = call["id"] or f"call_{secrets.token_hex(12)}"
    made = {"id": f"fc_{secrets.token_hex(12)}", "call_id": number, "name": call["name"], "status": "completed"}
    if call["name"] not in custom:
        return {"type": "function_call", **made, "arguments": call["arguments"] or "{}"}
    try:
        found = json.loads(call["arguments"])
        text = found["input"] if isinstance(found, dict) and isinstance(found.get("input"), str) else call["arguments"]
    except (ValueError, RecursionError):
        text = call["arguments"]
    return {"type": "custom_tool_call", **made, "input": text}


def _usage(usage: Record) -> Record:
    asked, answered = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    return {"input_tokens": asked, "output_tokens": answered, "total_tokens": asked + answered,
            "input_tokens_details": {"cached_tokens": _count(usage.get("prompt_tokens_details"), "cached_tokens")},
            "output_tokens_details": {
                "reasoning_tokens": _count(usage.get("completion_tokens_details"), "reasoning_tokens")}}


def _count(record: Any, name: str) -> int:
    value = record.get(name) if isinstance(record, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _error(error: Any) -> Record:
    if isinstance(error, dict):
        return {"code": str(error.get("code") or error.get("type") or "server_error"),
                "message": str(error.get("message") or "the provider failed")[:1000]}
    return {"code": "server_error", "message": str(error)[:1000]}


def _chunks(pieces: Iterator[bytes]) -> Iterator[Record]:
    """The JSON objects of a stream of server-sent events. Raises `ProviderFault` for a line that is none."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield from _chunk(line)
    yield from _chunk(rest)


def _chunk(line: bytes) -> Iterator[Record]:
    text = line.strip()
    if not text.startswith(b"data:") or text[5:].strip() == b"[DONE]":
        return  # a comment, a name of an event, or the end
    try:
        found = json.loads(text[5:])
    except (ValueError, RecursionError):
        raise ProviderFault("the provider's stream holds something that is not JSON") from None
    if isinstance(found, dict):
        yield found


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode("ascii")


def _records(value: Any) -> list[Record]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
