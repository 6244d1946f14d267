"""What one process has while healing is on: engine, agents, and what happened outside tests. Imports the core."""

from __future__ import annotations

from typing import Any

import pytest

from healguard_core.execution.engine import Engine
from healguard_core.outcome import outcome
from healguard_core.protocol import CrashContext, Event, Noticed
from pytest_heal.agents import Agents
from pytest_heal.attempt import ATTEMPT
from pytest_heal.healing import Healing
from pytest_heal.marks import Plan
from pytest_heal.policies import Policies, extra_entries
from pytest_heal.records import Record, kept_events, record_of
from pytest_heal.settings import Settings
from pytest_heal.timeouts import Timeouts


class Run:
    """What one process (pytest, its xdist controller, or a worker) has while healing is on."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.healing = Healing(config, settings)
        self.policies = Policies(config, settings, self.policy_problems)
        self.agents = Agents(config, dict(settings.core.agent_options), self.healing)
        self.engine = Engine(settings.core, self.agents.early(settings.agent))
        self.timeouts = Timeouts(config)
        self.collected: list[Record] = []  # marks of crashes outside tests, not reported yet
        self.notices: list[Record] = []  # notices not reported yet
        self.exit_code: int | None = None
        self._outside: list[Event] = []
        self.engine.on_context.append(self._show_context)
        self.engine.on_pause.append(self.timeouts.paused)

    def agent_of(self, plan: Plan, asked_by: str) -> Any:
        """The agent that ``plan`` names for one test, else the run's own; None for ``runbook``."""
        if not plan.agent and not plan.model:
            return self.engine.agent
        return self.agents.get(plan.agent or self.settings.agent, asked_by, plan.model)

    def policy_problems(self) -> list[str]:
        """Entries of the run's policy that name nothing in what has been imported."""
        return self.engine.look_for_policy()

    def _show_context(self, context: CrashContext) -> None:
        self.config.hook.pytest_heal_context(context=context, config=self.config)

    def take(self, unit: str) -> list[Event]:
        """The new events of ``unit``, and those that happened outside every unit until now."""
        self.look_outside()
        events = [*self._outside, *self._without_notices(self.engine.journal.take(unit))]
        self._outside = []
        return events

    def look_outside(self) -> None:
        """Put aside what happened outside tests: notices for the reports, events for whoever takes next."""
        self._outside += self._without_notices(self.engine.journal.take(""))

    def _without_notices(self, events: list[Event]) -> list[Event]:
        for event in events:
            if isinstance(event, Noticed):
                self.notices.append({"code": event.code, "message": event.message, "where": event.where})
        return [event for event in events if not isinstance(event, Noticed)]

    def put_aside(self, nodeid: str, events: list[Event], passed: bool, completed: bool) -> Record:
        """Keep the mark of crashes outside tests, at the import of ``nodeid``, until it can be reported; return it."""
        category = outcome(events, passed, completed) or ""
        mark = {
            "category": category,
            "accept": self.settings.accept,
            "record": record_of(nodeid, category or ("passed" if passed else "failed"), events),
            "events": kept_events(events),
        }
        self.collected.append(mark)
        return mark

    def stop(self) -> None:
        """Undo `start`."""
        self.engine.stop(self.exit_code)
        self.agents.close(but=self.engine.agent)
        self.healing.close()


RUN = pytest.StashKey[Run]()


def events_so_far(item: pytest.Item) -> list[Event]:
    """The events of the running attempt of ``item``, those still in the journal included."""
    run = item.config.stash[RUN]
    attempt = item.stash.get(ATTEMPT, None)
    earlier = attempt.events if attempt is not None else []
    return [*earlier, *run.engine.journal.events(item.nodeid)]


def protect(item: pytest.Item, operations: tuple[object, ...], key: list[str | int], condition: str | None) -> None:
    """Protect more until the running attempt of ``item`` ends. Raises ``pytest.UsageError``."""
    engine = item.config.stash[RUN].engine
    entries = extra_entries(operations, key, condition)
    try:
        engine.protect(entries)
    except ValueError as error:
        raise pytest.UsageError(f"heal.protect(): {error}") from error
    attempt = item.stash.get(ATTEMPT, None)
    if attempt is not None:
        attempt.protected.append(entries)
