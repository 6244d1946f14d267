"""The one place that counts what asking models costs, and says no. May import provider, models and protocol.

Every request of every agent goes through a `Meter`, whether the agent runs here or is a program that was given the
proxy's address. A request is *admitted* against the budget of its crash and of the run, then sent, perhaps several
times: answers 429, 5xx, timeouts and broken connections are retried with growing pauses and count as retries, never as
calls.
"""

from __future__ import annotations

import dataclasses
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from healguard_core.healing.bridge import bridged, chat_request
from healguard_core.healing.models import Model
from healguard_core.healing.provider import Abort, Answer, Provider, ProviderFault, provider_for
from healguard_core.protocol import Used

CHAT, RESPONSES = "/chat/completions", "/responses"
RETRIES = 5
"""How often a request is sent again."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
UNTIMED = 600.0
"""Seconds that one request may take where nothing else limits it."""
BYTES_PER_TOKEN = 4
"""For estimates, where a provider did not say what it counted."""


class BudgetSpent(Exception):
    """A request was not sent because a budget is used up; the text begins with ``budget: ``."""


@dataclasses.dataclass
class Spending:
    """What one crash may cost and has cost. Made by `Meter.open`."""

    max_calls: int
    deadline: float | None  # of ``time.monotonic``
    used: Used
    began: float = 0.0
    in_flight: int = 0
    stopped: str = ""  # why nothing more is sent
    model: Model | None = None  # for this crash alone, instead of the run's
    provider: Provider | None = None  # likewise
    aborts: list[Abort] = dataclasses.field(default_factory=list)

    def left(self) -> float:
        """Seconds until the deadline."""
        return UNTIMED if self.deadline is None else self.deadline - time.monotonic()


class Meter:
    """Counts for the whole run. ``max_cost`` is in US dollars for all crashes together."""

    def __init__(
        self,
        model: Model | None,
        provider: Provider | None,
        max_cost: float | None = None,
        *,
        pause: Callable[[float, Spending], None] | None = None,
    ) -> None:
        self.model = model
        self._offered: dict[str, tuple[Model, Provider]] = {}
        self.total = Used(cost_usd=0.0)
        self.provider = provider
        self._max_cost = max_cost
        self._lock = threading.Lock()
        self._pause = pause or _wait

    def offer(self, model: Model, key: str) -> None:
        """Let crashes choose ``model`` too. Without a ``key`` it shares the one of a model whose variable is the same.

        Raises `LookupError` when it needs a key and there is none.
        """
        if model.key_variable and not key:
            own = [] if self.model is None or self.provider is None else [(self.model, self.provider)]
            keys = [getattr(provider, "key", "") for known, provider in (*own, *self._offered.values())
                    if known.key_variable == model.key_variable]
            if not any(keys):
                raise LookupError(f"model {model} needs its key in the environment variable {model.key_variable}, "
                                  "which is not set")
            key = next(filter(None, keys))
        self._offered[model.id] = (model, provider_for(model, key))

    def chosen(self, model_id: str) -> tuple[Model | None, Provider | None]:
        """The model with this id and who is asked for it; the run's own for "". Raises `LookupError`."""
        if not model_id or (self.model is not None and model_id == self.model.id and model_id not in self._offered):
            return self.model, self.provider
        if model_id not in self._offered:
            raise LookupError(f"model {model_id!r} was not offered to the healing side")
        return self._offered[model_id]

    def open(self, agent: str, max_calls: int, timeout: float | None, model_id: str = "") -> Spending:
        """A crash begins. Raises `LookupError` for a model that was not offered."""
        now = time.monotonic()
        model, provider = self.chosen(model_id)
        metered = model is not None
        used = Used(agent=agent, model="" if model is None else model.id, metered=metered,
                    cost_usd=0.0 if metered else None)
        return Spending(max_calls, None if timeout is None else now + timeout, used, began=now, model=model,
                        provider=provider)

    def stop(self, spending: Spending, reason: str) -> None:
        """Send nothing more for this crash, and cut what is under way."""
        with self._lock:
            spending.stopped = spending.stopped or reason
            aborts = list(spending.aborts)
        for abort in aborts:
            abort()

    def refusal(self, spending: Spending) -> str:
        """Why no request may be sent for this crash now, "" when one may."""
        used, total = spending.used, self.total
        if spending.stopped:
            return spending.stopped
        if spending.left() <= 0:
            return "budget: the time for this crash is used up"
        if used.calls + spending.in_flight >= spending.max_calls:
            return f"budget: {spending.max_calls} calls for this crash are used up"
        if self._max_cost is not None and (total.cost_usd or 0.0) >= self._max_cost:
            return f"budget: ${self._max_cost:g} for the whole run are used up"
        return ""

    # ----------------------------------------------------------------- requests

    def ask(self, spending: Spending, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The whole answer as a JSON object. Raises `BudgetSpent` and `ProviderFault`."""

        def whole(answer: Answer) -> dict[str, Any]:
            return _json_object(b"".join(answer.pieces))

        reply: dict[str, Any] = self._send(spending, path, {**body, "stream": False}, whole)
        return reply

    def relay(self, spending: Spending, path: str, body: dict[str, Any]) -> Answer:
        """The answer in pieces, for an agent program. Raises as `ask`, but not once the pieces have begun.

        What is streamed is counted when its last piece was taken. Responses requests for a model that has only Chat
        Completions are translated.
        """
        if path == RESPONSES and spending.model is not None and spending.model.wire == "chat":
            return bridged(body, self.relay(spending, CHAT, self._chat_request(body)))
        try:
            return self._relayed(spending, path, body)
        except ProviderFault as fault:
            if path == RESPONSES and fault.status == 404:
                advice = "if this provider has no /responses, declare its model in heal_models with wire=chat"
                raise ProviderFault(f"{fault} ({advice})", 404, retriable=False) from None
            raise

    @staticmethod
    def _chat_request(body: dict[str, Any]) -> dict[str, Any]:
        try:
            return chat_request(body)
        except ValueError as error:
            raise ProviderFault(f"the request cannot be translated: {error}", 400, retriable=False) from None

    def _relayed(self, spending: Spending, path: str, body: dict[str, Any]) -> Answer:
        if not body.get("stream"):
            reply = self.ask(spending, path, body)
            return Answer("application/json", iter((json.dumps(reply).encode("ascii"),)))
        if path == CHAT:
            body = {**body, "stream_options": {**(body.get("stream_options") or {}), "include_usage": True}}
        answer: Answer = self._send(spending, path, body, None)
        return answer

    def report(self, spending: Spending, usage: dict[str, Any]) -> None:
        """Count what an agent that asks its own model says that it used."""
        with self._lock:
            used = spending.used
            used.metered = False
            said = usage.get("cost_usd")
            cost = float(said) if isinstance(said, (int, float)) and said >= 0 else None
            if cost is not None and used.cost_usd is None:
                used.cost_usd = 0.0
            for counted in (used, self.total):
                _add(counted, _count(usage, "calls"), _count(usage, "input_tokens"), _count(usage, "cached_tokens"),
                     _count(usage, "output_tokens"), cost)

    # ----------------------------------------------------------------- steps

    def _send(self, spending: Spending, path: str, body: dict[str, Any], take: Callable[[Answer], Any] | None) -> Any:
        """Admit a request and send it until there is an answer. ``take`` reads it; None hands it on in pieces."""
        provider = spending.provider
        if provider is None or spending.model is None:
            raise ProviderFault("this run has no model; add --heal-model=NAME", 404, retriable=False)
        abort = Abort()
        with self._lock:
            refusal = self.refusal(spending)
            if refusal:
                raise BudgetSpent(refusal)
            spending.in_flight += 1
            spending.aborts.append(abort)
        handed_on = False
        try:
            tries = 0
            while True:
                try:
                    answer = provider.send(path, body, max(spending.left(), 0.1), abort)
                    if take is None:
                        handed_on = True
                        return Answer(answer.content_type, _Counted(self, spending, abort, body, answer.pieces))
                    reply = take(answer)
                    self._count(spending, body, reply, 0)
                    return reply
                except ProviderFault as fault:
                    tries += 1
                    self._retry(spending, fault, tries)
        finally:
            if not handed_on:
                self._close(spending, abort)

    def _retry(self, spending: Spending, fault: ProviderFault, tries: int) -> None:
        """Wait before another try, or raise that there is none."""
        with self._lock:
            spending.used.retries += 1
            self.total.retries += 1
            if spending.stopped:
                raise BudgetSpent(spending.stopped)
        if not fault.retriable or tries > RETRIES:
            raise fault
        pause = fault.wait if fault.wait is not None else FIRST_PAUSE * 2 ** (tries - 1) * random.uniform(0.8, 1.2)
        pause = min(pause, LONGEST_PAUSE)
        if pause >= spending.left():
            raise BudgetSpent(f"budget: the time for this crash is used up (the last try: {fault})")
        self._pause(pause, spending)

    def taken(self, spending: Spending, abort: Abort, body: dict[str, Any], tail: Tail) -> None:
        """A stream was handed on, whole or not."""
        self._count(spending, body, tail.reply(), tail.size)
        self._close(spending, abort)

    def _close(self, spending: Spending, abort: Abort) -> None:
        with self._lock:
            spending.in_flight -= 1
            spending.aborts.remove(abort)

    def _count(self, spending: Spending, body: dict[str, Any], reply: dict[str, Any], streamed: int) -> None:
        assert spending.model is not None
        counts = tokens_of(reply)
        estimated = counts is None
        if counts is None:
            size = streamed or len(json.dumps(reply))
            counts = (len(json.dumps(body)) // BYTES_PER_TOKEN, 0, size // BYTES_PER_TOKEN)
        cost = spending.model.cost(*counts)
        with self._lock:
            for counted in (spending.used, self.total):
                _add(counted, 1, *counts, cost)
                counted.estimated = counted.estimated or estimated
            spending.used.answered_by = str(reply.get("model") or spending.used.answered_by)[:200]


class _Counted(Iterator[bytes]):
    """A stream on its way to an agent program; counted once, when it ends or when nobody wants more of it."""

    def __init__(
        self, meter: Meter, spending: Spending, abort: Abort, body: dict[str, Any], pieces: Iterator[bytes]
    ) -> None:
        self._pieces = pieces
        self._tail = Tail()
        self._count: Callable[[], None] | None = lambda: meter.taken(spending, abort, body, self._tail)

    def __next__(self) -> bytes:
        try:
            piece = next(self._pieces)
        except BaseException:
            self.close()
            raise
        self._tail.feed(piece)
        return piece

    def close(self) -> None:
        count, self._count = self._count, None
        if count is not None:
            close = getattr(self._pieces, "close", None)
            if close is not None:
                close()
            count()


class Tail:
    """Finds the usage in a stream of server-sent events without keeping the stream."""

    def __init__(self) -> None:
        self.size = 0
        self._rest = b""
        self._reply: dict[str, Any] = {}

    def feed(self, piece: bytes) -> None:
        self.size += len(piece)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:") and b'"usage"' in line:
                self._take(line[5:])

    def _take(self, text: bytes) -> None:
        try:
            event = json.loads(text)
        except ValueError:
            return
        found = event.get("response", event) if isinstance(event, dict) else None
        if isinstance(found, dict) and isinstance(found.get("usage"), dict):
            self._reply = found

    def reply(self) -> dict[str, Any]:
        return self._reply


def tokens_of(reply: dict[str, Any]) -> tuple[int, int, int] | None:
    """Input, cached and output tokens that an answer states (Chat Completions or Responses); None without."""
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        return None
    asked = usage.get("prompt_tokens", usage.get("input_tokens"))
    answered = usage.get("completion_tokens", usage.get("output_tokens"))
    if not isinstance(asked, int) or not isinstance(answered, int) or min(asked, answered) < 0:
        return None
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return asked, min(cached, asked) if isinstance(cached, int) and cached > 0 else 0, answered


def _add(counted: Used, calls: int, asked: int, cached: int, answered: int, cost: float | None) -> None:
    counted.calls += calls
    counted.input_tokens += asked
    counted.cached_tokens += cached
    counted.output_tokens += answered
    counted.cost_usd = None if cost is None or counted.cost_usd is None else counted.cost_usd + cost


def _count(usage: dict[str, Any], name: str) -> int:
    value = usage.get(name, 0)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else 0


def _json_object(raw: bytes) -> dict[str, Any]:
    try:
        reply = json.loads(raw)
    except (ValueError, RecursionError):
        raise ProviderFault("the provider's answer is not JSON") from None
    if not isinstance(reply, dict):
        raise ProviderFault("the provider's answer is not a JSON object")
    return reply


def _wait(seconds: float, spending: Spending) -> None:
    """Sleep, but notice that the crash was stopped."""
    end = time.monotonic() + seconds
    while not spending.stopped and time.monotonic() < end:
        time.sleep(min(0.05, max(0.0, end - time.monotonic())))
