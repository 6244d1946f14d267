"""For tests of healing without a model: a server on loopback that answers as a script says. Standard library only.

    with ScriptedModel([heal("amount = 21"), Status(429), heal("amount = 42")]) as model:
        ...  # --heal-model=scripted with the ini line  heal_models = scripted = openai/scripted base_url={model.url}
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Call:
    """The model calls a tool. ``arguments`` may be a text that is no JSON."""

    tool: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    input_tokens: int = 1000
    output_tokens: int = 100
    usage: bool = True  # whether the answer says how many tokens were used


@dataclass(frozen=True)
class Text:
    """The model only says something."""

    text: str
    input_tokens: int = 1000
    output_tokens: int = 100
    usage: bool = True


@dataclass(frozen=True)
class Status:
    """The provider answers with an HTTP error."""

    status: int
    message: str = "scripted"
    retry_after: str = ""


@dataclass(frozen=True)
class Garbage:
    """The provider answers 200 with something that is not JSON."""

    body: bytes = b"<html>gateway</html>"


@dataclass(frozen=True)
class Cut:
    """The connection breaks in the middle of the answer."""


@dataclass(frozen=True)
class Slow:
    """The answer comes after so many seconds (or never, when the script ends first)."""

    seconds: float
    then: Call | Text


Step = Call | Text | Status | Garbage | Cut | Slow
Script = Sequence[Step] | Callable[[dict[str, Any]], Step]


def heal(code: str, **more: Any) -> Call:
    """The model submits a heal."""
    return Call("execute", {"code": code, "submit": True, **more})


def probe(code: str) -> Call:
    """The model probes."""
    return Call("execute", {"code": code, "submit": False})


def reraise(reason: str = "") -> Call:
    """The model gives up."""
    return Call("reraise", {"reason": reason} if reason else {})


class ScriptedModel:
    """Serves Chat Completions and Responses, streamed or not, one step of the script per request.

    The last step of a list is repeated. A callable is asked with each request's body. ``requests`` are the bodies so
    far, ``headers`` what came with them.
    """

    def __init__(self, script: Script, name: str = "scripted") -> None:
        self.name = name
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._script = script
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """The base URL, as a provider's."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _step(self, body: dict[str, Any], headers: dict[str, str]) -> Step:
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            if callable(self._script):
                return self._script(body)
            return self._script[min(len(self.requests), len(self._script)) - 1]

    def _sleep(self, seconds: float) -> None:
        self._closing.wait(seconds)


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Tests read `ScriptedModel.requests` instead."""

        def do_POST(self) -> None:
            self.close_connection = True
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            step = model._step(body, dict(self.headers))
            if isinstance(step, Slow):
                model._sleep(step.seconds)
                step = step.then
            with contextlib.suppress(OSError):  # whoever asked has gone
                self._play(step, body)

        def _play(self, step: Step, body: dict[str, Any]) -> None:
            if isinstance(step, Status):
                error = {"error": {"message": step.message, "type": "scripted", "code": None}}
                extra = {"Retry-After": step.retry_after} if step.retry_after else {}
                self._send(step.status, "application/json", json.dumps(error).encode(), extra)
            elif isinstance(step, Garbage):
                self._send(200, "text/html", step.body, {})
            elif isinstance(step, Cut):
                self._cut(bool(body.get("stream")))
            else:
                assert isinstance(step, (Call, Text))
                build = _responses if self.path.endswith("/responses") else _chat
                whole, events = build(step, model.name)
                if body.get("stream"):
                    self._stream(events)
                else:
                    self._send(200, "application/json", json.dumps(whole).encode(), {})

        def _send(self, status: int, kind: str, raw: bytes, extra: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(raw)), **extra}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        def _stream(self, events: list[str]) -> None:
            self._begin_stream()
            for event in events:
                self.wfile.write(event.encode())
                self.wfile.flush()

        def _begin_stream(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()

        def _cut(self, streamed: bool) -> None:
            if streamed:
                self._begin_stream()
                self.wfile.write(b'data: {"choices": [')
            else:
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b'{"choices": [')
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)

    return Handler


def _arguments(step: Call) -> str:
    return step.arguments if isinstance(step.arguments, str) else json.dumps(step.arguments)


_count_lock = threading.Lock()
_counter: Iterator[int] = iter(range(1, 1 << 60))


def _next_id() -> str:
    with _count_lock:
        return f"call_{next(_counter)}"


def _chat(step: Call | Text, model: str) -> tuple[dict[str, Any], list[str]]:
    """A Chat Completions answer, whole and as events."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if isinstance(step, Text):
        message["content"] = step.text
    else:
        function = {"name": step.tool, "arguments": _arguments(step)}
        message["tool_calls"] = [{"id": _next_id(), "type": "function", "function": function}]
    usage = {"prompt_tokens": step.input_tokens, "completion_tokens": step.output_tokens,
             "total_tokens": step.input_tokens + step.output_tokens} if step.usage else None
    finish = "stop" if isinstance(step, Text) else "tool_calls"
    head = {"id": "scripted", "created": int(time.time()), "model": model}
    whole = {**head, "object": "chat.completion",
             "choices": [{"index": 0, "message": message, "finish_reason": finish}],
             **({"usage": usage} if usage else {})}
    delta = {**message, "tool_calls": [{**call, "index": 0} for call in message.get("tool_calls", [])]}
    chunk = {**head, "object": "chat.completion.chunk"}
    chunks: list[dict[str, Any]] = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
    ]
    if usage:
        chunks.append({**chunk, "choices": [], "usage": usage})
    return whole, [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]


def _responses(step: Call | Text, model: str) -> tuple[dict[str, Any], list[str]]:
    """A Responses answer, whole and as events."""
    if isinstance(step, Text):
        item: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                                "content": [{"type": "output_text", "text": step.text, "annotations": []}]}
    else:
        item = {"type": "function_call", "id": "fc_1", "call_id": _next_id(), "name": step.tool, "status": "completed",
                "arguments": _arguments(step)}
    whole = {"id": "resp_1", "object": "response", "created_at": int(time.time()), "model": model,
             "status": "completed", "output": [item]}
    if step.usage:
        whole["usage"] = {"input_tokens": step.input_tokens, "output_tokens": step.output_tokens,
                          "total_tokens": step.input_tokens + step.output_tokens,
                          "input_tokens_details": {"cached_tokens": 0},
                          "output_tokens_details": {"reasoning_tokens": 0}}
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return whole, [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
