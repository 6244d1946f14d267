"""Starts the engine as early as possible and puts the plugin's parts together. May import healguard_core."""

from __future__ import annotations

import argparse

import pytest

from healguard_core.execution.engine import Engine
from healguard_core.outcome import outcome
from healguard_core.protocol import CrashContext, Crashed, Event, Noticed
from pytest_heal import categories
from pytest_heal.agents import Agents, is_worker
from pytest_heal.attempt import ATTEMPT
from pytest_heal.records import Record, kept_events, record_of
from pytest_heal.settings import Settings, resolve
from pytest_heal.timeouts import Timeouts


class Run:
    """What one process (pytest, its xdist controller, or a worker) has while healing is on."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.agents = Agents(config, dict(settings.core.agent_options))
        self.engine = Engine(settings.core, self.agents.early(settings.agent))
        self.timeouts = Timeouts(config)
        self.collected: list[Record] = []  # marks of crashes outside tests, not reported yet
        self.notices: list[Record] = []  # notices not reported yet
        self.exit_code: int | None = None
        self._outside: list[Event] = []
        self.engine.on_context.append(self._show_context)
        self.engine.on_pause.append(self.timeouts.paused)

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


RUN = pytest.StashKey[Run]()


def start(config: pytest.Config, given: argparse.Namespace) -> None:
    """Begin to instrument. Raises ``pytest.UsageError`` for wrong settings."""
    if RUN in config.stash:
        return
    settings = resolve(config, given)
    try:
        run = Run(config, settings)
    except ValueError as error:  # a source that does not exist
        raise pytest.UsageError(f"--heal-source: {error}") from error
    run.engine.start()
    config.stash[RUN] = run
    config.add_cleanup(run.stop)


def configure(config: pytest.Config) -> None:
    """Let the agent in and register the parts. Raises ``pytest.UsageError`` for an unknown agent."""
    from pytest_heal.counting import Counting
    from pytest_heal.phases import Expectations, Phases
    from pytest_heal.protocol import Protocol

    start(config, config.option)
    run = config.stash[RUN]
    name = run.settings.agent
    run.agents.register()
    run.engine.agent = run.agents.get(name, f"--heal={name}")
    for label, plugin in {
        "heal-categories": categories,
        "heal-timeouts": run.timeouts,
        "heal-phases": Phases(run),
        "heal-expectations": Expectations(run),
        "heal-protocol": Protocol(run),
        "heal-counting": Counting(),
    }.items():
        config.pluginmanager.register(plugin, label)
    if not is_worker(config):
        _configure_reports(config, run)


def _configure_reports(config: pytest.Config, run: Run) -> None:
    """What only the process that reports to the user has."""
    from pytest_heal.junit import JUnit
    from pytest_heal.results import Results
    from pytest_heal.terminal import Terminal

    results = Results(run)
    config.pluginmanager.register(results, "heal-results")
    config.pluginmanager.register(JUnit(config, run.settings, results), "heal-junit")
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        config.pluginmanager.register(Terminal(terminal, run, results), "heal-terminal")


def events_so_far(item: pytest.Item) -> list[Event]:
    """The events of the running attempt of ``item``, those still in the journal included."""
    run = item.config.stash[RUN]
    attempt = item.stash.get(ATTEMPT, None)
    earlier = attempt.events if attempt is not None else []
    return [*earlier, *run.engine.journal.events(item.nodeid)]


def crashed(events: list[Event]) -> bool:
    """Whether anything was paused."""
    return any(isinstance(event, Crashed) for event in events)


def setting_lines(run: Run) -> list[str]:
    """What the header says."""
    settings, core = run.settings, run.settings.core
    parts = [f"agent {settings.agent}", f"accept {settings.accept}"]
    if core.runbook:
        parts.append(f"{len(core.runbook)} runbook entries")
    if core.sources:
        parts.append("source " + ", ".join(core.sources))
    lines = ["heal: " + ", ".join(parts)]
    if not settings.guarded:
        lines.append("heal: UNGUARDED (--heal-guard=off): healing code runs without the HealCore gate")
    return lines

