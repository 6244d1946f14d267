"""Makes a healed test that is not accepted count as failed where pytest counts: exit code, -x, --lf, --sw.

Its report stays ``passed``. Works in workers of pytest-xdist and in their controller alike. Imports pytest.
"""

from __future__ import annotations

import copy
from collections.abc import Generator
from typing import Any

import pytest

from pytest_heal.categories import accepted, category_of, heal_of, reason


def passes_unaccepted(report: Any) -> bool:
    """Whether the report passed and must not count as passing."""
    category = category_of(report)
    return bool(category) and report.passed and not accepted(category, heal_of(report)["accept"])


def as_failed(report: Any) -> Any:
    """A failed copy of a report that passed, for those who count failures."""
    failed = copy.copy(report)
    failed.outcome = "failed"
    failed.longrepr = reason(report)
    return failed


class Counting:
    """Shows failed copies to the few parts of pytest that count failures."""

    def __init__(self) -> None:
        self._session: pytest.Session | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        result = yield
        if passes_unaccepted(report):
            self.count(as_failed(report))
        return result

    def count(self, failed: Any) -> None:
        """Count one failure."""
        assert self._session is not None, "reports come after the session's start"
        self._session.pytest_runtest_logreport(failed)
        plugins = self._session.config.pluginmanager
        for name in ("lfplugin", "stepwiseplugin"):
            plugin = plugins.get_plugin(name)
            if plugin is not None:
                plugin.pytest_runtest_logreport(failed)
        distributed = plugins.get_plugin("dsession")
        if distributed is not None:
            distributed._handlefailures(failed)
