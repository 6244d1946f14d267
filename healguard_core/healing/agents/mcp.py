"""The agent ``mcp``: whoever connects by the Model Context Protocol decides. May import service.

The crash is offered to the next client of ``healguard mcp`` that waits for one.
"""

from __future__ import annotations

import time
from typing import ClassVar

from healguard_core.healing.pauses import Pause
from healguard_core.healing.service import Service

PATIENCE = 300.0
"""Seconds in which a client must have come for a crash."""


class Mcp:
    """Waits for others to decide."""

    side: ClassVar[str] = "healing"
    uses_model: ClassVar[str] = "no"
    takes_argument: ClassVar[bool] = False
    summary: ClassVar[str] = "an MCP client of yours, by `healguard mcp`"

    def __init__(self, service: Service) -> None:
        self._exchange = service.exchange

    def respond(self, pause: Pause) -> None:
        pause.note = "waiting for an MCP client (healguard mcp)"
        self._exchange.offer(pause)
        end = time.monotonic() + PATIENCE
        while not pause.wait_over(1.0):
            if self._exchange.claimed(pause.number) is not None:
                pause.note = "an MCP client has it"
            elif time.monotonic() > end:
                pause.reraise(f"no MCP client came for this crash within {PATIENCE:g} seconds; "
                              "let one run `healguard mcp`")

    def stop(self) -> None:
        """No process was started."""

    def close(self) -> None:
        """Nothing is open."""
