"""One request to a model's provider: OpenAI-compatible HTTP by the standard library, or litellm. May import models.

Knows nothing of budgets and retries; see `meter`.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from healguard_core.healing.models import Model

LARGEST = 32 << 20
"""Bytes of the largest answer that is read."""
CONNECT = 15.0
IDLE = 120.0
"""Seconds to connect, and seconds without a byte after which a provider counts as hanging."""


class ProviderFault(Exception):
    """No usable answer. ``status`` is the HTTP status, 0 when there was none; ``retriable`` when another try may do.

    ``wait`` is what the provider asked for, in seconds.
    """

    def __init__(self, message: str, status: int = 0, retriable: bool = True, wait: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retriable = retriable
        self.wait = wait


class Abort:
    """Cuts the connection of a request from another thread."""

    def __init__(self) -> None:
        self._connection: socket.socket | None = None
        self.aborted = False

    def watch(self, connection: socket.socket | None) -> None:
        self._connection = connection
        if self.aborted and connection is not None:
            self()

    def __call__(self) -> None:
        self.aborted = True
        connection = self._connection
        if connection is not None:
            with contextlib.suppress(OSError):  # closed meanwhile
                connection.shutdown(socket.SHUT_RDWR)


@dataclass
class Answer:
    """A provider's answer with status 200: its body in pieces, as they arrive."""

    content_type: str
    pieces: Iterator[bytes]

    @property
    def streamed(self) -> bool:
        return self.content_type.startswith("text/event-stream")


class Provider(Protocol):
    """Sends one request."""

    def send(self, path: str, body: dict[str, Any], seconds: float, abort: Abort) -> Answer:
        """The answer to ``body`` at ``path`` (such as ``/chat/completions``). Raises `ProviderFault`."""


@dataclass
class HttpProvider:
    """An OpenAI-compatible API at ``model.base_url``. Honours the usual proxy variables."""

    model: Model
    key: str = field(repr=False)

    def send(self, path: str, body: dict[str, Any], seconds: float, abort: Abort) -> Answer:
        parts = urlsplit(self.model.base_url + path)
        end = time.monotonic() + seconds
        connection = _connection(parts, min(CONNECT, seconds))
        try:
            connection.connect()
            abort.watch(connection.sock)
            connection.sock.settimeout(min(IDLE, seconds))
            raw = json.dumps({**body, "model": self.model.name}).encode("ascii")
            headers = {"Content-Type": "application/json", "User-Agent": "pytest-heal"}
            if self.key:
                headers["Authorization"] = f"Bearer {self.key}"
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, raw, headers)
            response = connection.getresponse()
            if response.status != 200:
                raise _fault(response, self.key)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise ProviderFault(f"{parts.hostname}: {_named(error)}") from None
        except ProviderFault:
            connection.close()
            raise
        return Answer(response.headers.get_content_type(), _pieces(connection, response, end, abort))


def _connection(parts: SplitResult, timeout: float) -> http.client.HTTPConnection:
    host, port = parts.hostname or "", parts.port
    proxy = "" if proxy_bypass(host) else getproxies().get(parts.scheme, "")
    secure = parts.scheme == "https"
    if proxy and secure:
        through = urlsplit(proxy)
        tunnel = http.client.HTTPSConnection(through.hostname or "", through.port or 3128, timeout=timeout)
        tunnel.set_tunnel(host, port or 443)
        return tunnel
    if secure:
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, port, timeout=timeout)


def _pieces(
    connection: http.client.HTTPConnection, response: http.client.HTTPResponse, end: float, abort: Abort
) -> Iterator[bytes]:
    size = 0
    try:
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise ProviderFault("the provider's answer took too long")
            try:
                piece = response.read1(65536)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise ProviderFault(f"the provider's answer was cut off: {_named(error)}") from None
            if not piece:
                if response.length:  # the connection ended before everything that was announced had come
                    raise ProviderFault("the provider's answer was cut off")
                return
            size += len(piece)
            if size > LARGEST:
                raise ProviderFault(f"the provider's answer is longer than {LARGEST} bytes", retriable=False)
            yield piece
    finally:
        abort.watch(None)
        connection.close()


def _fault(response: http.client.HTTPResponse, key: str) -> ProviderFault:
    text = response.read(4000).decode("utf-8", "replace")
    with contextlib.suppress(ValueError, KeyError, TypeError):
        text = str(json.loads(text)["error"]["message"])
    if key:
        text = text.replace(key, "<key>")
    status = response.status
    retriable = status in (408, 409, 429) or status >= 500
    message = f"HTTP {status}: {text.strip()[:500] or response.reason}"
    return ProviderFault(message, status, retriable, _wait(response.headers.get("Retry-After")))


def _wait(text: str | None) -> float | None:
    try:
        return max(0.0, float(text or ""))
    except ValueError:
        return None


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


# --------------------------------------------------------------------------- litellm


@dataclass
class LitellmProvider:
    """Any provider that litellm knows, by Chat Completions. A streamed answer comes in one piece."""

    model: Model
    key: str = field(repr=False)
    completion: Callable[..., Any] | None = None  # litellm's, imported when first needed

    def send(self, path: str, body: dict[str, Any], seconds: float, abort: Abort) -> Answer:
        if path != "/chat/completions":
            raise ProviderFault(f"{self.model.id} is asked through litellm, which has no {path}", 404, retriable=False)
        if self.completion is None:
            self.completion = _litellm_completion()
        asked = {name: value for name, value in body.items() if name not in ("stream", "stream_options", "model")}
        try:
            reply = self.completion(model=self.model.id, api_key=self.key or None, timeout=min(IDLE, seconds),
                                    num_retries=0, max_retries=0, **asked)
        except Exception as error:  # litellm has one class per provider and status
            status = int(getattr(error, "status_code", 0) or 0)
            text = str(error).replace(self.key, "<key>") if self.key else str(error)
            raise ProviderFault(f"{type(error).__name__}: {text[:500]}", status,
                                status in (0, 408, 409, 429) or status >= 500) from None
        if abort.aborted:
            raise ProviderFault("stopped", retriable=False)
        whole = json.loads(json.dumps(reply.model_dump(), default=str))
        if body.get("stream"):
            return Answer("text/event-stream", iter((as_events(whole),)))
        return Answer("application/json", iter((json.dumps(whole).encode("ascii"),)))


def as_events(whole: dict[str, Any]) -> bytes:
    """A whole Chat Completions answer as the events of a streamed one."""
    head = {name: whole.get(name) for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choices = []
    for choice in whole.get("choices") or []:
        message = choice.get("message") or {}
        delta = {name: value for name, value in message.items() if value is not None}
        calls = [{**call, "index": index} for index, call in enumerate(message.get("tool_calls") or [])]
        if calls:
            delta["tool_calls"] = calls
        choices.append({"index": choice.get("index", 0), "delta": delta, "finish_reason": choice.get("finish_reason")})
    events = [{**head, "choices": choices}, {**head, "choices": [], "usage": whole.get("usage")}]
    return b"".join(b"data: " + json.dumps(event).encode("ascii") + b"\n\n" for event in events) + b"data: [DONE]\n\n"


def _litellm_completion() -> Callable[..., Any]:
    import os

    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else importing it asks the network
    try:
        import litellm  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ProviderFault(f"litellm cannot be imported: {error}", retriable=False) from error
    litellm.suppress_debug_info = True
    completion: Callable[..., Any] = litellm.completion
    return completion


def provider_for(model: Model, key: str) -> Provider:
    """Whoever sends requests for ``model``."""
    return HttpProvider(model, key) if model.transport == "http" else LitellmProvider(model, key)
