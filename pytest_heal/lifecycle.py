"""Starts the engine as early as possible and puts the plugin's parts together. May import healguard_core."""

from __future__ import annotations

import argparse

import pytest

from pytest_heal import categories
from pytest_heal.agents import is_worker
from pytest_heal.counting import Counting
from pytest_heal.decisions import Decisions, WorkersDecisions
from pytest_heal.healing import HandOver
from pytest_heal.junit import JUnit
from pytest_heal.phases import Expectations, Phases
from pytest_heal.progress import ProgressLine
from pytest_heal.protocol import Protocol
from pytest_heal.results import Results
from pytest_heal.run import RUN, Run
from pytest_heal.settings import resolve
from pytest_heal.terminal import Terminal


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
    start(config, config.option)
    run = config.stash[RUN]
    name = run.settings.agent
    run.agents.register()
    run.engine.agent = run.agents.get(name, f"--heal={name}")
    _refuse_unused(run)
    for label, plugin in {
        "heal-categories": categories,
        "heal-timeouts": run.timeouts,
        "heal-phases": Phases(run),
        "heal-expectations": Expectations(run),
        "heal-protocol": Protocol(run),
        "heal-counting": Counting(),
    }.items():
        config.pluginmanager.register(plugin, label)
    config.pluginmanager.register(HandOver(run.healing), "heal-hand-over")
    if is_worker(config):
        config.pluginmanager.register(WorkersDecisions(run), "heal-decisions")
    else:
        _configure_reports(config, run)


def _configure_reports(config: pytest.Config, run: Run) -> None:
    """What only the process that reports to the user has."""
    decisions = Decisions(run)
    config.pluginmanager.register(decisions, "heal-decisions")
    results = Results(run, decisions)
    config.pluginmanager.register(results, "heal-results")
    config.pluginmanager.register(JUnit(config, run.settings, results), "heal-junit")
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        _show_progress(config, run, terminal)
        config.pluginmanager.register(Terminal(terminal, run, results), "heal-terminal")


def _refuse_unused(run: Run) -> None:
    """What is only for agents with a model is refused without one."""
    settings = run.settings
    if run.healing.made:
        return
    local = settings.agent in ("runbook", "rules", "human", "reraise", "retry", "rollback", "steamroller")
    for option, asked in (
        ("--heal-model", settings.model if local else ""), ("--heal-max-cost", settings.max_cost),
        ("--heal-cassette", settings.cassette if local else None),
        ("--heal-http-cassette", settings.http_cassette if local else None),
    ):
        if asked:
            raise pytest.UsageError(f"{option}={asked}: agent {settings.agent!r} uses no model; leave it out")


def _show_progress(config: pytest.Config, run: Run, terminal: object) -> None:
    """Only where the user wants to hear of it."""
    if not run.healing.made or config.option.verbose < 0:
        return
    if run.healing.workers is not None:
        run.healing.workers.start(terminal)
        return
    progress = ProgressLine(config, terminal)
    run.engine.on_pause.append(progress.paused)
    run.healing.observers.append(progress.show)
