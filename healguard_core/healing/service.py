"""What an agent of the healing side is, and what it is given. May import pauses and what is below it."""

from __future__ import annotations

import dataclasses
import queue
import threading
import time
from pathlib import Path
from typing import Any, ClassVar, Protocol

from healguard_core.healing.exploring import SECONDS, Enclose, Explored, Shell, no_enclosure, no_shell
from healguard_core.healing.meter import BudgetSpent, Meter
from healguard_core.healing.models import Model
from healguard_core.healing.pauses import Pause, noting
from healguard_core.healing.processes import Spares


class HealingAgent(Protocol):
    """One conversation: all crashes of one test (or program) are brought to the same object, one after the other.

    ``side`` tells it from agents that run inside the program; ``uses_model`` is yes, no or may; ``takes_argument``
    says whether it is asked for as ``name:ARGUMENT``. A class may have a static method ``missing(argument, root)``,
    which says before the run what has to be installed first, "" for nothing.
    """

    side: ClassVar[str]  # "healing"
    uses_model: ClassVar[str]
    takes_argument: ClassVar[bool]

    def respond(self, pause: Pause) -> None:
        """Decide about one crash through the verbs of ``pause``; returning undecided lets the error go on."""

    def stop(self) -> None:
        """Called from another thread while `respond` runs: end every process that was started, at once."""

    def close(self) -> None:
        """The conversation is over. May follow `stop`; never runs beside `respond`."""


def missing(factory: Any, argument: str, root: Path) -> str:
    """What has to be installed before the agent that ``factory`` makes can be used, "" for nothing."""
    said = getattr(factory, "missing", None)
    return str(said(argument, root)) if said is not None else ""


class Exchange:
    """Where pauses wait for an agent that comes by itself (MCP)."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[Pause] = queue.Queue()
        self._claimed: dict[str, Pause] = {}
        self._lock = threading.Lock()
        self.seen = 0.0  # when somebody last asked, of ``time.monotonic``; 0 for never

    def offer(self, pause: Pause) -> None:
        """Let the next one who asks have it."""
        self._waiting.put(pause)

    def claim(self, seconds: float) -> Pause | None:
        """The oldest crash that still is paused and nobody has claimed; None when there is none in time."""
        end = time.monotonic() + seconds
        while True:
            self.seen = time.monotonic()
            try:
                pause = self._waiting.get(timeout=max(0.0, min(1.0, end - time.monotonic())))
            except queue.Empty:
                if time.monotonic() >= end:
                    return None
                continue
            if not pause.decided:
                with self._lock:
                    self._claimed[pause.number] = pause
                return pause

    def claimed(self, number: str) -> Pause | None:
        """A crash that was claimed, decided or not."""
        with self._lock:
            return self._claimed.get(number)

    def open(self) -> list[Pause]:
        """The claimed crashes that still wait for a decision."""
        with self._lock:
            return [pause for pause in self._claimed.values() if not pause.decided]


@dataclasses.dataclass(frozen=True)
class Service:
    """What one conversation may use. ``proxy`` and ``proxy_key`` are for programs that ask a model by themselves."""

    argument: str  # what follows the agent's name, as in ``exec:ARGUMENT``
    root: Path  # of the project
    meter: Meter
    exchange: Exchange
    proxy: str = ""
    proxy_key: str = ""
    model: Model | None = None  # what the conversation asks
    shell: Shell = no_shell
    enclose: Enclose = no_enclosure
    spares: Spares = dataclasses.field(default_factory=Spares)  # of the run

    def chat(self, pause: Pause, body: dict[str, Any]) -> dict[str, Any]:
        """A model's answer to a Chat Completions request, counted. Raises `BudgetSpent` and `ProviderFault`."""
        return self.meter.ask(pause.spending, "/chat/completions", body)

    def explore(self, pause: Pause, command: str) -> Explored:
        """Run a command of bash over a read-only copy of the repository. Raises `BudgetSpent` after too many."""
        if len(pause.looks) >= pause.spending.max_calls:
            raise BudgetSpent(f"budget: {pause.spending.max_calls} looks at the repository for this crash are used up")
        began = time.monotonic()
        with noting(pause, "looking at the repository"):
            explored = self.shell(command, max(0.1, min(SECONDS, pause.spending.left())))
        pause.explored(command, explored, 1000 * (time.monotonic() - began))
        return explored
