"""Shows what the healing side is doing while a test is paused in this process. Imports pytest.

On a terminal one line is written over and over and removed at the end; elsewhere a line is printed now and then. Quiet
under -q. Workers of pytest-xdist have no terminal.
"""

from __future__ import annotations

from typing import Any

import pytest

from healguard_core.execution.link import Progress

SELDOM = 15.0
"""Seconds between two lines where there is no terminal."""


class ProgressLine:
    """One observer of `healguard_core.execution.link.LinkAgent.on_progress` and of the engine's pauses."""

    def __init__(self, config: pytest.Config, reporter: Any) -> None:
        self._capture = config.pluginmanager.get_plugin("capturemanager")
        self._writer = reporter._tw
        self._tty = bool(reporter.isatty)
        self._written = 0
        self._last = 0.0

    def show(self, progress: Progress) -> None:
        """Say how far it is."""
        if not self._tty and progress.seconds - self._last < SELDOM:
            return
        self._last = progress.seconds
        self._write(line(progress))

    def paused(self, begins: bool) -> None:
        """A pause begins or ends."""
        self._last = 0.0
        if not begins and self._written:
            self._write("")

    def _write(self, text: str) -> None:
        if self._capture is not None:
            self._capture.suspend_global_capture(in_=False)
        try:
            if self._tty:
                text = text[: max(20, self._writer.fullwidth - 1)]
                self._writer.write("\r" + text.ljust(self._written) + ("" if text else "\r"))
                self._written = len(text)
            elif text:
                self._writer.line()
                self._writer.line(text)
            self._writer.flush()
        finally:
            if self._capture is not None:
                self._capture.resume_global_capture()


def line(progress: Progress) -> str:
    """Which test is paused, who is asked, what it took so far."""
    agent = progress.agent + (f" ({progress.model})" if progress.model else "")
    cost = "" if progress.cost_usd is None else f", ${progress.cost_usd:.2f}"
    note = f", {progress.note}" if progress.note else ""
    calls = f"{progress.calls} call{'' if progress.calls == 1 else 's'}"
    unit = progress.unit or "(before the first test)"
    return f"heal: {unit} paused, {agent}: {calls}{cost}, {progress.seconds:.0f} s{note}"
