"""How errors were decided about, added up over all processes of a run. Imports pytest."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pytest_heal.run import Run

_KEY = "heal_decisions"  # of a worker's output


class WorkersDecisions:
    """Hands the numbers of a worker of pytest-xdist over when its session ends; a worker that is killed has none."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        session.config.workeroutput[_KEY] = self._run.engine.decisions  # type: ignore[attr-defined]


class Decisions:
    """In the process that reports to the user: its own numbers and those of all workers that ended."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._workers: Counter[str] = Counter()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._workers.update(getattr(node, "workeroutput", {}).get(_KEY, {}))

    def total(self) -> dict[str, int]:
        """Counts by name, as in the journal's last event (`healguard_core.protocol.Stopped`)."""
        return {name: count + self._workers[name] for name, count in self._run.engine.decisions.items()}
