"""Keeps conversations and pauses, brings crashes to agents, and ends what has to end. May import service.

An agent that cannot be made, that fails or that comes to no decision lets the error go on, with the reason.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import traceback
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from healguard_core.healing.cassettes import Cassette
from healguard_core.healing.exploring import Enclose, Shell, no_enclosure, no_shell
from healguard_core.healing.messages import CrashPosted
from healguard_core.healing.meter import BudgetSpent, Meter
from healguard_core.healing.pauses import Pause, PauseOver
from healguard_core.healing.processes import Spares
from healguard_core.healing.provider import ProviderFault
from healguard_core.healing.replaying import Replaying
from healguard_core.healing.service import Exchange, HealingAgent, Service
from healguard_core.healing.taped import TapedProvider

GROUP = "healguard.agents"
UNSEEN = 60.0
"""Seconds without a poll after which an execution side that cannot be watched by its process id counts as gone."""

CLOSING = 5.0
"""Seconds that one conversation may take to close at the end of the run."""

Factory = Callable[[Service], HealingAgent]


class Conversation:
    """All crashes of one test in one process. One agent object, one key for the model proxy."""

    def __init__(self, client: str, unit: str, agent: HealingAgent, key: str) -> None:
        self.client = client
        self.unit = unit
        self.agent = agent
        self.key = key
        self.pause: Pause | None = None
        self._turn = threading.Lock()

    def respond(self, pause: Pause) -> None:
        """Let the agent decide; runs in a thread of its own."""
        with self._turn:
            self.pause = pause
            try:
                self.agent.respond(pause)
                pause.fail("the agent ended without a decision")
            except PauseOver as over:
                pause.fail(str(over))
            except BudgetSpent as spent:
                pause.fail(str(spent))
                self.agent.stop()  # a program may not know yet
            except ProviderFault as fault:
                pause.fail(f"the model's provider: {fault}")
            except Exception as error:
                pause.fail(_told(error))

    def stop(self, reason: str) -> None:
        """Give up the crash that is paused, if any, and everything that was started for it."""
        pause = self.pause
        if pause is not None and not pause.ended:
            pause.stop(reason)
        self.agent.stop()

    def close(self) -> None:
        """The test is over: whoever still decides is stopped, at once where the program still waits for it."""
        pause = self.pause
        waited_for = pause is not None and not pause.ended
        if waited_for or not self._turn.acquire(timeout=CLOSING / 2):
            self.stop("the test is over")
            self._turn.acquire()
        try:
            self.agent.close()
        finally:
            self._turn.release()


class Desk:
    """Everything that is paused in one run."""

    def __init__(
        self, meter: Meter, root: Path, factories: dict[str, Factory] | None = None, *, shell: Shell = no_shell,
        enclose: Enclose = no_enclosure,
        actions: Cassette | None = None, exchanges: Cassette | None = None,
    ) -> None:
        """``actions`` and ``exchanges`` are cassettes, of what agents do and of what the provider answers."""
        self.meter = meter
        self.exchange = Exchange()
        self.proxy = ""  # base URL of the model proxy, once the server listens
        self._root = root
        self._factories = factories or {}
        self._shell = shell
        self._enclose = enclose
        self._actions = actions
        self._exchanges = exchanges
        self._spares = Spares()
        self._lock = threading.Lock()
        self._pauses: dict[str, tuple[Pause, Conversation, int | None, list[float]]] = {}
        self._conversations: dict[tuple[str, str, str, str], Conversation] = {}
        self._count = 0

    # ----------------------------------------------------------------- what the execution side says

    def open(self, posted: CrashPosted) -> Pause:
        """A program is paused: bring the crash to its conversation's agent. Raises `LookupError` for no such agent."""
        conversation = self._conversation(posted)
        spending = self.meter.open(posted.agent, posted.max_calls, posted.timeout, posted.model)
        if self._exchanges is not None and spending.provider is not None:
            spending.provider = TapedProvider(self._exchanges, spending.provider, posted.context, posted.agent,
                                              spending.used.model)
        with self._lock:
            self._count += 1
            pause = Pause(f"c{self._count}", posted.context, spending, self.meter)
            self._pauses[pause.number] = (pause, conversation, posted.pid, [time.monotonic()])
        threading.Thread(target=conversation.respond, args=(pause,), name=f"agent-{pause.number}", daemon=True).start()
        return pause

    def pause(self, number: str) -> Pause | None:
        """The pause with this number, while the execution side has not ended it."""
        with self._lock:
            if number not in self._pauses:
                return None
            pause, _, _, seen = self._pauses[number]
            seen[0] = time.monotonic()
            return pause

    def end(self, pause: Pause) -> dict[str, object]:
        """The execution side goes on: what the crash cost. An agent that still works on it is stopped at once."""
        late = not pause.decided
        used = pause.end()
        with self._lock:
            entry = self._pauses.pop(pause.number, None)
        if late and entry is not None:
            entry[1].agent.stop()
        return used

    def bye(self, client: str) -> None:
        """A process under test is through."""
        self._drop(lambda conversation: conversation.client == client)

    def close(self) -> None:
        """The run is over."""
        for closing in self._drop(lambda _: True):
            closing.join(CLOSING)
        self._spares.close()

    # ----------------------------------------------------------------- the model proxy

    def paying(self, key: str) -> tuple[Pause, Conversation] | None:
        """Whose request this is, by the key that its agent program was given, and which crash it is for."""
        with self._lock:
            for conversation in self._conversations.values():
                if secrets.compare_digest(conversation.key.encode(), key.encode()) and conversation.pause is not None:
                    return conversation.pause, conversation
        return None

    # ----------------------------------------------------------------- watching

    def look_around(self) -> None:
        """Stop crashes whose time is up and those whose process is gone. Called every moment."""
        now = time.monotonic()
        with self._lock:
            entries = list(self._pauses.values())
        for pause, conversation, pid, seen in entries:
            if pause.spending.left() <= 0 and not pause.decided:
                conversation.stop("budget: the time for this crash is used up")
            if (pid is not None and not _alive(pid)) or (pid is None and now - seen[0] > UNSEEN):
                conversation.stop("the process under test is gone")
                self.end(pause)
                self.bye(conversation.client)

    def paused(self) -> list[dict[str, object]]:
        """Every crash that waits for a decision, for people to read."""
        now = time.monotonic()
        with self._lock:
            pauses = [pause for pause, _, _, _ in self._pauses.values() if not pause.decided]
        return [
            {"unit": pause.context.unit, "agent": pause.spending.used.agent, "model": pause.spending.used.model,
             "calls": pause.spending.used.calls, "cost_usd": pause.spending.used.cost_usd,
             "seconds": round(now - pause.spending.began, 1), "note": pause.note}
            for pause in pauses
        ]

    # ----------------------------------------------------------------- conversations

    def _conversation(self, posted: CrashPosted) -> Conversation:
        """The running conversation, or a new one: for another test, and when a test begins anew."""
        key = (posted.client, posted.context.unit, posted.agent, posted.model)
        model, _ = self.meter.chosen(posted.model)
        with self._lock:
            known = self._conversations.get(key)
        if known is not None and posted.context.attempt > 1:
            return known
        self._drop(lambda conversation: conversation.client == posted.client)
        name, _, argument = posted.agent.partition(":")
        secret = secrets.token_urlsafe(24)
        service = Service(argument, self._root, self.meter, self.exchange, self.proxy, secret, model=model,
                          shell=self._shell, enclose=self._enclose, spares=self._spares)
        conversation = Conversation(posted.client, posted.context.unit, self._made(name, service), secret)
        with self._lock:
            self._conversations[key] = conversation
        return conversation

    def _made(self, name: str, service: Service) -> HealingAgent:
        if self._actions is None:
            return self._factory(name)(service)
        return Replaying(self._actions, lambda: self._factory(name)(service), str(self._root))

    def _factory(self, name: str) -> Factory:
        if name in self._factories:
            return self._factories[name]
        for point in entry_points(group=GROUP):
            if point.name == name:
                factory: Factory = point.load()
                self._factories[name] = factory
                return factory
        raise LookupError(f"there is no agent {name!r} on the healing side")

    def _drop(self, over: Callable[[Conversation], bool]) -> list[threading.Thread]:
        """Close conversations, each in a thread: ending a request or a process may take a moment."""
        with self._lock:
            keys = [key for key, conversation in self._conversations.items() if over(conversation)]
            dropped = [self._conversations.pop(key) for key in keys]
        threads = [threading.Thread(target=conversation.close, daemon=True) for conversation in dropped]
        for thread in threads:
            thread.start()
        return threads


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _told(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" at {last[0].filename}:{last[0].lineno}" if last else ""
    return f"agent error: {type(error).__name__}: {error}{where}"
