"""Shows what the healing side is doing while tests are paused. Imports pytest.

On a terminal one line is written over and over and removed at the end; elsewhere, and for workers of pytest-xdist, one
line per paused test is printed now and then. Quiet under -q.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from healguard_core.execution.link import Progress

SELDOM = 15.0
"""Seconds between two lines about a test where lines cannot be written over."""


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


class WorkersProgress:
    """In the controller of pytest-xdist: prints what the healing side writes into ``path``.

    The controller runs no tests, so a thread does no harm there.
    """

    def __init__(self, every: float = 1.0) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="heal-progress-"))
        self.path = self._folder / "paused.json"
        self.path.touch(mode=0o600)
        self._reporter: Any = None
        self._every = every
        self._shown: dict[str, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heal-progress", daemon=True)

    def start(self, reporter: Any) -> None:
        """Begin to print."""
        self._reporter = reporter
        self._thread.start()

    def close(self) -> None:
        """The run is over."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self) -> None:
        while not self._over.wait(self._every):
            paused: list[dict[str, Any]] = []
            with contextlib.suppress(OSError, ValueError):  # nothing is paused yet
                paused = json.loads(self.path.read_text(encoding="utf-8"))
            for text in self._due([Progress(**record) for record in paused]):
                self._reporter.ensure_newline()
                self._reporter.write_line(text)

    def _due(self, paused: list[Progress]) -> list[str]:
        """The lines to print now: one per test and `SELDOM` seconds."""
        units = {progress.unit for progress in paused}
        self._shown = {unit: last for unit, last in self._shown.items() if unit in units}
        due = [progress for progress in paused if progress.seconds - self._shown.get(progress.unit, 0.0) >= SELDOM]
        self._shown.update((progress.unit, progress.seconds) for progress in due)
        return [line(progress) for progress in due]


def line(progress: Progress) -> str:
    """Which test is paused, who is asked, what it took so far."""
    agent = progress.agent + (f" ({progress.model})" if progress.model else "")
    cost = "" if progress.cost_usd is None else f", ${progress.cost_usd:.2f}"
    note = f", {progress.note}" if progress.note else ""
    calls = f"{progress.calls} call{'' if progress.calls == 1 else 's'}"
    unit = progress.unit or "(before the first test)"
    return f"heal: {unit} paused, {agent}: {calls}{cost}, {progress.seconds:.0f} s{note}"
