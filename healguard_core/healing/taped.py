"""A provider whose answers come from a cassette, or go into one. May import provider and cassettes.

Requests are not stored, only their kind: they hold the program's text, dates and numbers that differ from run to run.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

from healguard_core.healing.cassettes import Cassette, Entry
from healguard_core.healing.provider import Abort, Answer, Provider, ProviderFault
from healguard_core.protocol import CrashContext


class TapedProvider:
    """Sends the requests of one crash: the n-th one is answered by the n-th recorded exchange."""

    def __init__(self, cassette: Cassette, provider: Provider, context: CrashContext, agent: str, model: str) -> None:
        self._cassette = cassette
        self._provider = provider
        self._context = context
        self._about = (agent, model)
        found = cassette.find(context)
        self._entry = found if isinstance(found, Entry) else None
        self._reason = "" if isinstance(found, Entry) else found.reason
        self._lock = threading.Lock()
        self._played = 0
        self._answers: list[dict[str, Any]] = []

    def send(self, path: str, body: dict[str, Any], seconds: float, abort: Abort) -> Answer:
        """The recorded answer, or the provider's, which is recorded once its last piece has come."""
        if self._entry is None:
            if not self._cassette.records:
                raise ProviderFault(self._reason, 404, retriable=False)
            answer = self._provider.send(path, body, seconds, abort)
            return Answer(answer.content_type, self._recorded(path, body, answer))
        with self._lock:
            number, self._played = self._played, self._played + 1
        if number >= len(self._entry.answers):
            raise ProviderFault(f"cassette miss: {self._cassette.path.name} has {number} exchanges for this crash, and "
                                "the agent asks for another one", 404, retriable=False)
        exchange = self._entry.answers[number]
        if self._cassette.mode == "strict" and exchange.get("request") != shape(path, body):
            raise ProviderFault(f"cassette miss: request {number + 1} of this crash is {shape(path, body)!r}; recorded "
                                f"was {exchange.get('request')!r}", 404, retriable=False)
        return Answer(str(exchange.get("content_type", "")), _pieces(str(exchange.get("answer", ""))))

    def _recorded(self, path: str, body: dict[str, Any], answer: Answer) -> Iterator[bytes]:
        taken = b""
        for piece in answer.pieces:
            taken += piece
            yield piece
        exchange = {"request": shape(path, body), "content_type": answer.content_type,
                    "answer": taken.decode("utf-8", "replace")}
        with self._lock:
            self._answers.append(exchange)
            answers = list(self._answers)
        self._cassette.add(self._context, *self._about, answers)


def shape(path: str, body: dict[str, Any]) -> str:
    """What kind of request it is: where it goes, who has spoken, and which tools there are."""
    spoken = body.get("messages", body.get("input"))
    items = spoken if isinstance(spoken, list) else []
    roles = [str(item.get("role") or item.get("type") or "?") for item in items if isinstance(item, dict)]
    tools = body.get("tools")
    names = sorted({_tool_name(tool) for tool in tools if isinstance(tool, dict)}) if isinstance(tools, list) else []
    streamed = " streamed" if body.get("stream") else ""
    return f"{path}{streamed}: {' '.join(roles)}; tools: {' '.join(names)}"


def _tool_name(tool: dict[str, Any]) -> str:
    function = tool.get("function")
    named = function if isinstance(function, dict) else tool
    return str(named.get("name") or tool.get("type") or "?")


def _pieces(text: str) -> Iterator[bytes]:
    """Event by event, as it came."""
    yield from (event.encode() for event in re.split(r"(?<=\n\n)", text) if event)
