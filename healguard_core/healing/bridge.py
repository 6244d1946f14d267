"""Responses for providers that have only Chat Completions. May import bridged_events and provider.

Codex speaks Responses alone. What a conversation holds is translated item by item; hosted tools, which only the
provider of Responses could run, are left out. The thinking that some providers want to see again travels as the item's
encrypted content.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from typing import Any

from healguard_core.healing.bridged_events import ChatReply, as_response, events_of, streamed_events
from healguard_core.healing.provider import Answer, ProviderFault

Record = dict[str, Any]

_KEPT = {"temperature": "temperature", "top_p": "top_p", "max_output_tokens": "max_tokens", "user": "user",
         "parallel_tool_calls": "parallel_tool_calls"}
_NO_OUTPUT = "(nothing came back)"


def chat_request(body: Record) -> Record:
    """The Chat Completions request that asks the same. Raises ``ValueError`` for what is no Responses request."""
    messages = _messages(body)
    request: Record = {"messages": messages}
    tools = [made for tool in _records(body.get("tools")) for made in _tools(tool)]
    if tools:
        request["tools"] = tools
        choice = _choice(body.get("tool_choice"))
        if choice is not None:
            request["tool_choice"] = choice
    for name, other in _KEPT.items():
        if body.get(name) is not None and (tools or name != "parallel_tool_calls"):
            request[other] = body[name]
    if body.get("stream"):
        request["stream"] = True
    return request


def bridged(body: Record, answer: Answer) -> Answer:
    """The answer to Responses request ``body``, made of a Chat Completions answer to `chat_request` of it."""
    custom = frozenset(str(tool.get("name")) for tool in _records(body.get("tools")) if tool.get("type") == "custom")
    about = {"id": f"resp_{secrets.token_hex(12)}", "object": "response", "created_at": int(time.time())}
    if not body.get("stream"):
        whole = json.loads(b"".join(answer.pieces))
        return Answer("application/json", iter((json.dumps(as_response(about, ChatReply.of(whole), custom)).encode(),)))
    if answer.streamed:
        return Answer("text/event-stream", streamed_events(about, answer.pieces, custom))
    return Answer("text/event-stream", _whole_events(about, answer.pieces, custom))


def _whole_events(about: Record, pieces: Iterator[bytes], custom: frozenset[str]) -> Iterator[bytes]:
    """For a provider that was asked for a stream and sends a whole answer."""
    try:
        whole = json.loads(b"".join(pieces))
    except (ValueError, RecursionError):
        whole = None
    if not isinstance(whole, dict):
        raise ProviderFault("the provider's answer is not a JSON object")
    yield from events_of(about, ChatReply.of(whole), custom)


# --------------------------------------------------------------------------- messages


def _messages(body: Record) -> list[Record]:
    messages: list[Record] = []
    if body.get("instructions"):
        messages.append({"role": "system", "content": str(body["instructions"])})
    asked = body.get("input")
    if isinstance(asked, str):
        messages.append({"role": "user", "content": asked})
    elif isinstance(asked, list):
        thought = ""
        for item in _records(asked):
            thought = _add(messages, item, thought)
    else:
        raise ValueError("`input` must be a text or a list")
    wanted = _wanted_form(body)
    if wanted:
        messages.append({"role": "system", "content": wanted})
    return _paired(messages)


def _add(messages: list[Record], item: Record, thought: str) -> str:
    """Add one item; return the thinking that belongs to what the assistant says next."""
    kind = str(item.get("type") or "message")
    if kind == "reasoning":
        return str(item.get("encrypted_content") or "")
    if kind == "message":
        role = {"developer": "system"}.get(str(item.get("role")), str(item.get("role") or "user"))
        if role == "assistant":
            _assistant(messages, thought)["content"] = _text(item.get("content"))
            return ""
        messages.append({"role": role, "content": _content(item.get("content"))})
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        call = _call(kind, item)
        last = messages[-1] if messages and messages[-1]["role"] == "assistant" else _assistant(messages, thought)
        last.setdefault("tool_calls", []).append(call)
        return ""
    elif kind.endswith("_output"):
        messages.append({"role": "tool", "tool_call_id": str(item.get("call_id")),
                         "content": _text(item.get("output"))})
    return thought


def _assistant(messages: list[Record], thought: str) -> Record:
    said: Record = {"role": "assistant", "content": None}
    if thought:
        said["reasoning_content"] = thought
    messages.append(said)
    return said


def _call(kind: str, item: Record) -> Record:
    name, arguments = str(item.get("name")), item.get("arguments")
    if kind == "custom_tool_call":
        arguments = json.dumps({"input": str(item.get("input") or "")})
    elif kind == "local_shell_call":
        name, arguments = "local_shell", json.dumps(item.get("action") or {})
    namespace = item.get("namespace")
    name = f"{namespace}{name}" if isinstance(namespace, str) and namespace else name
    return {"id": str(item.get("call_id")), "type": "function",
            "function": {"name": name, "arguments": arguments if isinstance(arguments, str) else "{}"}}


def _paired(messages: list[Record]) -> list[Record]:
    """Every call followed by what came of it, as Chat Completions demands; what fits to no call as a user's text."""
    results: dict[str, Record] = {}
    for message in messages:
        if message["role"] == "tool":
            results.setdefault(message["tool_call_id"], message)
    paired: list[Record] = []
    used = set()
    for message in messages:
        if message["role"] == "tool":
            continue
        paired.append(message)
        for call in message.get("tool_calls", ()):
            number = call["id"]
            used.add(number)
            paired.append(results.get(number) or {"role": "tool", "tool_call_id": number, "content": _NO_OUTPUT})
    paired += [{"role": "user", "content": message["content"]}
               for number, message in results.items() if number not in used]
    return paired


def _content(content: Any) -> str | list[Record]:
    """A text; a list of parts where there is an image."""
    if not any(part.get("type") == "input_image" for part in _records(content)):
        return _text(content)
    parts: list[Record] = []
    for part in _records(content):
        if part.get("type") == "input_image":
            parts.append({"type": "image_url", "image_url": {"url": str(part.get("image_url"))}})
        elif isinstance(part.get("text"), str):
            parts.append({"type": "text", "text": part["text"]})
    return parts


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part["text"] for part in _records(content) if isinstance(part.get("text"), str))
    return "" if content is None else json.dumps(content)


def _wanted_form(body: Record) -> str:
    """Chat providers differ in what they take for a schema, so the schema is said in words."""
    text = body.get("text")
    form = text.get("format") if isinstance(text, dict) else None
    if not isinstance(form, dict) or form.get("type") not in ("json_schema", "json_object"):
        return ""
    schema = form.get("schema")
    according = f" according to this JSON Schema: {json.dumps(schema)}" if schema else ""
    return f"When you call no tool, answer with one JSON object and nothing else{according}"


# --------------------------------------------------------------------------- tools


def _tools(tool: Record) -> Iterator[Record]:
    kind, name = tool.get("type"), str(tool.get("name") or "")
    if kind == "function":
        function = {"name": name, "description": str(tool.get("description") or ""),
                    "parameters": tool.get("parameters") or {"type": "object", "properties": {}}}
        yield {"type": "function", "function": function}
    elif kind == "custom":
        schema = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
        form = tool.get("format")
        grammar = f"\nThe input has this form:\n{form['definition']}" if isinstance(form, dict) and \
            form.get("definition") else ""
        function = {"name": name, "description": f"{tool.get('description') or ''}{grammar}", "parameters": schema}
        yield {"type": "function", "function": function}
    elif kind == "namespace":
        for inner in _records(tool.get("tools")):
            yield from _tools({**inner, "name": f"{name}{inner.get('name')}"})


def _choice(choice: Any) -> Any:
    if isinstance(choice, str):
        return choice
    if isinstance(choice, dict) and choice.get("name"):
        return {"type": "function", "function": {"name": str(choice["name"])}}
    return None


def _records(value: Any) -> list[Record]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
