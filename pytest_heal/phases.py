"""Follows every test through its phases: begins and ends it in the engine and judges what happened.

Works with whatever runs the phases (`protocol`, pytest itself, pytest-rerunfailures). May import healguard_core.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from healguard_core.outcome import rolled_back
from healguard_core.protocol import Blocked, Event, Healed, Refused, UnitEnded
from pytest_heal import marks
from pytest_heal.agents import is_worker
from pytest_heal.attempt import ATTEMPT, Attempt
from pytest_heal.marking import Marking
from pytest_heal.records import crashed
from pytest_heal.run import Run

LOOK_AGAIN = pytest.StashKey[Attempt]()  # the attempt that a second look replaces
ROLL_BACK = pytest.StashKey[Attempt]()  # the attempt that a rollback goes back behind


class Phases:
    """The wrappers around collection and the phases of a test."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._marking = Marking(run)

    # ----------------------------------------------------------------- collection

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Crashes at import belong to the module that is collected."""
        unit = str(collector.nodeid)
        engine = self._run.engine
        engine.begin(unit)
        report = None
        try:
            report = yield
            return report
        finally:
            events = self._run.take(unit)
            if report is not None and crashed(events):
                self._collected(collector, report, events)
            engine.end(unit)

    def _collected(self, collector: pytest.Collector, report: pytest.CollectReport, events: list[Event]) -> None:
        call = getattr(report, "call", None)
        error = call.excinfo.value if call is not None and call.excinfo is not None else None
        self._announce(events, None)
        run = self._run
        mark = run.put_aside(str(collector.nodeid), events, report.passed, run.engine.completed(error))
        if report.failed:  # such reports reach the controller of pytest-xdist by themselves
            run.collected.remove(mark)
            report.heal_session = {"collected": [mark], "notices": []}  # type: ignore[attr-defined]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._run.exit_code = int(exitstatus)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Wrong marks, and names of the policy that nothing has, end the run before the first test."""
        for item in items:
            try:
                if item is items[0]:
                    self._run.policies.check()
                self._check_marks(item)
            except pytest.UsageError as error:
                if not is_worker(item.config):
                    raise
                # A worker's usage error would not reach the user; a failed collection does.
                report = pytest.CollectReport(str(item.nodeid), "failed", str(error), None)
                item.ihook.pytest_collectreport(report=report)
                return

    def _check_marks(self, item: pytest.Item) -> None:
        plan = marks.plan_of(item, self._run.settings)
        self._run.policies.of(plan.guard, f"{item.nodeid}: @pytest.mark.heal(guard=...)")
        self._run.agent_of(plan, f"{item.nodeid}: @pytest.mark.heal({_chosen(plan)})")

    # ----------------------------------------------------------------- phases

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        attempt = self._next_attempt(item)
        item.stash[ATTEMPT] = attempt
        begin(self._run, item, attempt)
        return (yield)

    def _next_attempt(self, item: pytest.Item) -> Attempt:
        plan = marks.plan_of(item, self._run.settings)
        replaced = item.stash.get(LOOK_AGAIN, None)
        if replaced is not None:
            del item.stash[LOOK_AGAIN]
            return Attempt(replaced.number, plan.enabled, armed=replaced.left, second_look=True,
                           earlier=replaced.earlier + replaced.events)
        back = item.stash.get(ROLL_BACK, None)
        if back is not None:
            del item.stash[ROLL_BACK]
            return Attempt(back.number, plan.enabled, earlier=back.earlier, rollbacks=back.rollbacks + 1,
                           events=rolled_back(back.events, self._run.agent_of(plan, str(item.nodeid)).name))
        previous = item.stash.get(ATTEMPT, None)
        number = getattr(item, "execution_count", 1)  # pytest-rerunfailures counts from 1
        if previous is None or number <= 1:
            return Attempt(1, plan.enabled)
        armed = previous.left if plan.second_look else []
        enabled = plan.enabled and (self._run.settings.reruns or bool(armed))
        return Attempt(number, enabled, armed=armed, second_look=bool(armed),
                       earlier=previous.earlier + previous.events)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        attempt = item.stash[ATTEMPT]
        attempt.in_call = True
        try:
            return (yield)
        finally:
            attempt.in_call = False

    # ----------------------------------------------------------------- judging

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        attempt = item.stash.get(ATTEMPT, None)
        if attempt is None:
            return (yield)
        events = self._run.take(str(item.nodeid))
        attempt.events += events
        self._announce(events, item)
        if call.when == "teardown":  # the last moment: the report copies the test's properties
            self._marking.write_properties(item, attempt, failed=call.excinfo is not None)
        with self._run.engine.resting():
            report = yield
        self._judge(item, attempt, call, report)
        return report

    def _judge(
        self, item: pytest.Item, attempt: Attempt, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> None:
        if report.failed:
            error = call.excinfo.value if call.excinfo is not None else None
            engine = self._run.engine
            attempt.failed_with(engine.completed(error), engine.left_for(error))
        if attempt.in_call:
            attempt.subtests += 1
            return
        if report.skipped and call.when != "teardown":
            attempt.skipped = True
        self._marking.mark(item, attempt, report)
        if call.when == "teardown":
            self._end(item, attempt)

    def _end(self, item: pytest.Item, attempt: Attempt) -> None:
        unit = str(item.nodeid)
        engine = self._run.engine
        engine.journal.record(UnitEnded(unit=unit, passed=attempt.passed, completed=attempt.completed))
        engine.journal.take(unit)
        engine.end(unit)
        attempt.reports.clear()  # a test item lives as long as the session; its reports must not
        attempt.failures.clear()
        if not hasattr(item, "execution_count"):  # nobody will run it again and ask what came before
            del item.stash[ATTEMPT]

    def _announce(self, events: list[Event], item: pytest.Item | None) -> None:
        """Tell other plugins what was applied and refused."""
        hook = self._run.config.hook
        for event in events:
            if isinstance(event, Healed):
                hook.pytest_heal_applied(event=event, item=item, config=self._run.config)
            elif isinstance(event, Refused):
                hook.pytest_heal_refused(event=event, item=item, config=self._run.config)
            elif isinstance(event, Blocked):
                hook.pytest_heal_blocked(event=event, item=item, config=self._run.config)


class Expectations:
    """Leaves alone what a test's marks expect. They are known once pytest evaluated them: after its own hooks."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @pytest.hookimpl
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._expect(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self._expect(item)  # fixtures may have added marks

    def _expect(self, item: pytest.Item) -> None:
        attempt = item.stash[ATTEMPT]
        types = marks.expected(item)
        if types != attempt.expected:
            attempt.expected = types
            begin(self._run, item, attempt)


def _chosen(plan: marks.Plan) -> str:
    """The words of a mark that choose who heals."""
    return ", ".join(f"{word}={value!r}" for word, value in (("agent", plan.agent), ("model", plan.model)) if value)


def begin(run: Run, item: pytest.Item, attempt: Attempt) -> None:
    """Tell the engine about ``attempt``."""
    plan = marks.plan_of(item, run.settings)
    agent = run.agent_of(plan, str(item.nodeid)) if plan.agent or plan.model else None
    run.engine.begin(
        str(item.nodeid),
        enabled=attempt.enabled,
        expected=attempt.expected or None,
        agent=agent,
        max_calls=plan.max_calls,
        armed=attempt.armed,
        repeatable=plan.second_look,
        policy=run.policies.of(plan.guard, str(item.nodeid)),
        guarded=plan.guard != "off",
    )
    for entries in attempt.protected:
        run.engine.protect(entries)
