"""What the user asked for, checked: options and ini keys into one `Settings`. May import healguard_core."""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
from pathlib import Path
from typing import Any

import pytest

from healguard_core.protocol import Config
from healguard_core.settings.errors import SettingsError
from pytest_heal import options

HYPOTHESIS = tuple(f"hypothesis.{name}" for name in (
    "core:StateForActualGivenExecution._execute_once_for_engine",
    "core:StateForActualGivenExecution.execute_once",
    "core:StateForActualGivenExecution.execute_once.<locals>.run",
    "core:StateForActualGivenExecution._proxied_test.<locals>.test",
    "core:StateForActualGivenExecution.run_engine",
    "core:given.<locals>.run_test_as_given.<locals>.wrapped_test",
    "core:execute_explicit_examples",
    "internal.conjecture.engine:ConjectureRunner.__stoppable_test_function",
    "internal.conjecture.engine:ConjectureRunner.test_function",
    "internal.conjecture.engine:ConjectureRunner.cached_test_function",
    "internal.conjecture.engine:ConjectureRunner.run",
))
"""Where hypothesis catches what a test raises, to find a smaller example: nobody handles it there."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything that the plugin needs to know about a run. Paths are absolute; None where not asked for."""

    agent: str
    model: str
    models: tuple[str, ...]
    max_cost: float | None
    rules: str
    accept: str
    second_look: bool
    hypothesis: bool
    reruns: bool
    junit: str
    guarded: bool
    policy: Path | None
    report: Path | None
    html: Path | None
    sarif: Path | None
    suggest: Path | None
    record: Path | None
    sandbox: str
    cassette: Path | None
    http_cassette: Path | None
    cassette_mode: str
    core: Config


def resolve(config: pytest.Config, given: argparse.Namespace) -> Settings:
    """The settings of this run. Raises ``pytest.UsageError`` for the first thing that is wrong."""

    def value(name: str) -> Any:
        return options.value(config, name, given)

    agent = options.agent_name(config, given)
    runbooks = [_resolved(config, given, "heal_runbook", name) for name in value("heal_runbook")]
    if agent == "runbook" and not runbooks:
        raise pytest.UsageError("--heal=runbook needs a runbook: add --heal-runbook=FILE")
    guarded = value("heal_guard") != "off"
    policy = _file(config, given, "heal_guard") if guarded else None
    record = _file(config, given, "heal_record")
    if record is not None and record.exists() and record.stat().st_size:
        _entries("--heal-record", [record], gate=False)  # it will be added to
    return Settings(
        agent=agent,
        model=str(value("heal_model")).strip(),
        models=tuple(line for line in value("heal_models") if line.strip()),
        max_cost=_limit(value("heal_max_cost"), "--heal-max-cost"),
        rules=value("heal_rules"),
        accept=value("heal_accept"),
        second_look=value("heal_second_look") == "on",
        hypothesis=value("heal_hypothesis"),
        reruns=value("heal_reruns"),
        junit=value("heal_junit"),
        guarded=guarded,
        policy=policy,
        report=_file(config, given, "heal_report"),
        html=_file(config, given, "heal_html"),
        sarif=_file(config, given, "heal_sarif"),
        suggest=_file(config, given, "heal_suggest"),
        record=record,
        sandbox=value("heal_sandbox"),
        cassette=_file(config, given, "heal_cassette"),
        http_cassette=_file(config, given, "heal_http_cassette"),
        cassette_mode=value("heal_cassette_mode"),
        core=Config(
            root=str(config.rootpath),
            sources=[_source(config, given, text) for text in value("heal_source")],
            agent=agent,
            agent_options={"rules": value("heal_rules"), "model": str(value("heal_model")).strip()},
            runbook=_entries("--heal-runbook", runbooks, guarded),
            intercept=value("heal_intercept"),
            protocol=value("heal_protocol"),
            gate=guarded,
            policy=None if policy is None else policy_of(config, policy, "--heal-guard", complete=False),
            guard_mode=value("heal_guard_mode"),
            guard_budget=_seconds(value("heal_guard_budget"), "--heal-guard-budget"),
            redact=value("heal_redact"),
            trial=value("heal_trial"),
            max_calls=_positive(value("heal_max_calls"), "--heal-max-calls"),
            timeout=_limit(value("heal_timeout"), "--heal-timeout"),
            cache_dir=_cache_dir(config),
            journal=_text(_file(config, given, "heal_journal")),
            catchers=list(HYPOTHESIS) if value("heal_hypothesis") else [],
        ),
    )


def policy_of(config: pytest.Config, path: Path, asked_by: str, *, complete: bool) -> dict[str, Any]:
    """The policy in a file. Unless ``complete``, modules that cannot be found may come: not every folder that tests
    are imported from is known before collection. Raises ``pytest.UsageError``.
    """
    from healguard_core.settings.policy import load_policy  # most runs have none, and what reads it is heavy

    folders = [str(config.rootpath), str(config.rootpath / "src"), *map(str, config.getini("pythonpath"))]
    try:
        return load_policy(path, folders, complete=complete)
    except SettingsError as error:
        raise pytest.UsageError(f"{asked_by} is wrong:\n{error}") from error


def _positive(number: int, name: str) -> int:
    if number < 1:
        raise pytest.UsageError(f"{name}={number}: this must be at least 1")
    return number


def _seconds(number: float, name: str) -> float:
    if not 0 <= number < math.inf:
        raise pytest.UsageError(f"{name}={number}: give seconds, 0 or more")
    return number


def _limit(seconds: float, name: str) -> float | None:
    if seconds < 0:
        raise pytest.UsageError(f"{name}={seconds:g}: this must not be negative (0 means no limit)")
    return float(seconds) or None


def _base(config: pytest.Config, given: argparse.Namespace, name: str) -> Path:
    """What a relative path means: the current folder on the command line, the ini file's folder in the ini file."""
    if getattr(given, name, None) is not None or config.inipath is None:
        return config.invocation_params.dir
    return config.inipath.parent


def _resolved(config: pytest.Config, given: argparse.Namespace, name: str, text: str) -> Path:
    return Path(os.path.abspath(_base(config, given, name) / os.path.expanduser(os.path.expandvars(text))))


def _file(config: pytest.Config, given: argparse.Namespace, name: str) -> Path | None:
    text = options.value(config, name, given)
    return _resolved(config, given, name, text) if text else None


def _source(config: pytest.Config, given: argparse.Namespace, text: str) -> str:
    """A path as an absolute one; a name as it is, unless the ini key ``pythonpath`` will make it importable."""
    if not all(part.isidentifier() for part in text.split(".")):
        return str(_resolved(config, given, "heal_source", text))
    for folder in config.getini("pythonpath"):
        for place in (folder.joinpath(*text.split(".")), folder.joinpath(*text.split(".")).with_suffix(".py")):
            if place.exists():
                return str(place)
    return text


def _entries(option: str, runbooks: list[Path], gate: bool) -> list[dict[str, Any]]:
    if not runbooks:
        return []
    from healguard_core.settings.runbook import load_runbook  # heavy, too

    try:
        return [dataclasses.asdict(entry) for entry in load_runbook(runbooks, gate=gate)]
    except SettingsError as error:
        raise pytest.UsageError(f"{option} is wrong:\n{error}") from error


def _cache_dir(config: pytest.Config) -> str | None:
    """Where instrumented bytecode is kept: in pytest's own cache folder, nowhere without it."""
    if not config.pluginmanager.has_plugin("cacheprovider"):
        return None
    cache = pytest.Cache(pytest.Cache.cache_dir_from_config(config, _ispytest=True), config, _ispytest=True)
    try:
        return str(cache.mkdir("heal"))
    except OSError:
        return None  # a read-only tree; pytest itself warns about it


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
