"""Runs a test as pytest does, and once more where an undecided exception failed it (the second look).

Reports are logged after teardown, so that a test is in exactly one category. Imports pytest.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import pytest
from _pytest.runner import call_and_report, show_test_item

from healguard_core.protocol import Reraised
from pytest_heal.attempt import ATTEMPT, Attempt
from pytest_heal.marks import plan_of
from pytest_heal.phases import LOOK_AGAIN, ROLL_BACK
from pytest_heal.run import Run

_show: Any = show_test_item
if "add_space" in inspect.signature(show_test_item).parameters:  # pytest 9.1 and newer
    _show = functools.partial(show_test_item, add_space=True)


class Protocol:
    """Stands in for pytest's own protocol, unless another plugin runs the test."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @pytest.hookimpl
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if _is_rerun_elsewhere(item):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        test = _Test(self._run, item)
        try:
            test.phases()  # from here, so that the stack is as deep as under pytest's own protocol
            test.settle(nextitem)
        finally:
            test.close()
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True


class _Test:
    """One test, with its reports that are not logged yet."""

    def __init__(self, run: Run, item: Any) -> None:
        self._run = run
        self._item = item
        self._pending: list[pytest.TestReport] = []
        self._before = (list(item.user_properties), list(item.own_markers), len(item._report_sections))

    def settle(self, nextitem: pytest.Item | None) -> None:
        """Run the test again where that is wanted, and tear it down."""
        if self._wants_second_look():
            self._again(LOOK_AGAIN)
        while self._wants_rollback():
            self._again(ROLL_BACK)
        if self._stops_at_failures() and any(report.failed for report in self._pending):
            self._flush()
        session = self._item.session
        last = None if session.shouldfail or session.shouldstop else nextitem
        self._teardown(last)

    def close(self) -> None:
        """Log what is pending, and forget the fixtures."""
        self._flush()
        self._forget_fixtures()

    def phases(self) -> None:
        """Setup and call."""
        item = self._item
        if hasattr(item, "_request") and not item._request:
            item._initrequest()
        option = item.config.option
        setup = call_and_report(item, "setup", log=False)
        self._pending.append(setup)
        if not setup.passed:
            return
        if getattr(option, "setupshow", False):
            _show(item)
        if not getattr(option, "setuponly", False):
            self._pending.append(call_and_report(item, "call", log=False))

    def _teardown(self, nextitem: Any) -> None:
        self._pending.append(call_and_report(self._item, "teardown", log=False, nextitem=nextitem))

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        for report in pending:
            self._item.ihook.pytest_runtest_logreport(report=report)

    def _stops_at_failures(self) -> bool:
        """Whether a failure may end the session: pytest must then know of it before it tears down."""
        option = self._item.config.option
        return bool(getattr(option, "maxfail", 0) or getattr(option, "stepwise", False))

    def _forget_fixtures(self) -> None:
        if hasattr(self._item, "_request"):
            self._item._request = False
            self._item.funcargs = None

    # ----------------------------------------------------------------- second look

    def _wants_second_look(self) -> bool:
        attempt = self._item.stash.get(ATTEMPT, None)
        return (
            attempt is not None
            and attempt.enabled
            and bool(attempt.left)
            and not attempt.second_look
            and not attempt.subtests  # their reports are out already
            and any(report.failed for report in self._pending)
            and plan_of(self._item, self._run.settings).second_look
            and not self._item.config.option.usepdb  # the debugger has shown this failure already
        )

    def _wants_rollback(self) -> bool:
        """Whether the agent let an error go in order to have the test run again from its start."""
        attempt = self._item.stash.get(ATTEMPT, None)
        if attempt is None or attempt.subtests or not any(report.failed for report in self._pending):
            return False
        agent = self._run.agent_of(plan_of(self._item, self._run.settings), str(self._item.nodeid))
        wanted = getattr(agent, "rollbacks", 0) > attempt.rollbacks
        return wanted and any(isinstance(event, Reraised) and event.by == agent.name for event in attempt.events)

    def _again(self, why: pytest.StashKey[Attempt]) -> None:
        """Run the test from its own fixtures once more; what the first run reported is dropped."""
        item = self._item
        attempt = item.stash[ATTEMPT]
        self._teardown(item.parent)  # as far as the test's own fixtures, no farther
        self._pending.clear()
        self._reset()
        item.stash[why] = attempt
        self._run.timeouts.restart(item)
        self.phases()

    def _reset(self) -> None:
        item = self._item
        properties, markers, sections = self._before
        item.user_properties[:] = properties
        item.own_markers[:] = markers
        del item._report_sections[sections:]
        if getattr(item, "_instance", None) is not None:  # a test class's instance keeps what the first run did
            del item._instance
            item._obj = None
        self._forget_fixtures()


def _is_rerun_elsewhere(item: pytest.Item) -> bool:
    """Whether pytest-rerunfailures runs this test."""
    plugin = item.config.pluginmanager.get_plugin("rerunfailures")
    if plugin is None:
        return False
    excluded = getattr(plugin, "_is_rerun_path_excluded", None)
    if excluded is not None and excluded(item):
        return False
    return plugin.get_reruns_count(item) is not None
