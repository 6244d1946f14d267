"""Runs an instance whose Python is too old for the plugin: the execution side as one zip file does the work.

Imports environments, instances and process of this suite, the machinery, and the core's bundle, settings and outcome.
"""

import dataclasses
import json
from pathlib import Path

from benchmark_suites.failures import of_report
from benchmark_suites.releases.environments import Environment
from benchmark_suites.releases.instances import Instance
from benchmark_suites.releases.process import run_in
from benchmark_suites.results import AGENT, OURS, Result
from benchmark_suites.setting import ORACLE, Setting
from benchmark_suites.tracing import counting
from healguard_core import __version__, protocol
from healguard_core.agent_choice import started_elsewhere
from healguard_core.bundle import build_bundle
from healguard_core.outcome import outcome, summary
from healguard_core.settings.errors import SettingsError
from healguard_core.settings.runbook import load_runbook


def run(
    instance: Instance, setting: Setting, environment: Environment, work: Path, result: Result, trace: bool
) -> None:
    """Run the target test in ``work`` and fill ``result``."""
    bundle, journal, settings = work / "healing.zip", work / "journal.jsonl", work / "config.json"
    build_bundle(bundle)
    config = configuration(instance, setting, environment, work, journal)
    options, variables = counting.arrange(work, instance.import_roots) if trace else ([], {})
    try:
        with started_elsewhere(config, setting.model, (), _max_cost(setting)):
            settings.write_text(json.dumps(dataclasses.asdict(config)), encoding="utf-8")
            ran = run_in(work, [environment.python, "-m", "healguard_core.execution", settings, "-m", "pytest", "-q",
                                "-p", "no:cacheprovider", *options, instance.test.name],
                         PYTHONPATH=str(bundle), **variables)
    except SettingsError as problem:
        result.broke(AGENT, str(problem))
        return
    result.version = __version__
    result.output = ran.stdout + ran.stderr
    if ran.returncode not in (0, 1) or not journal.is_file():
        result.broke(OURS, f"the run ended with exit code {ran.returncode}")
        return
    _judge(journal, ran.returncode == 0, result)


def _judge(journal: Path, passed: bool, result: Result) -> None:
    lines = journal.read_text(encoding="utf-8").splitlines()
    events = [protocol.event_from_json(json.loads(line)) for line in lines]
    completed = any(isinstance(event, protocol.UnitEnded) and event.completed for event in events)
    result.outcome = outcome(events, passed, completed) or ("passed" if passed else "failed")
    result.completed = result.outcome in ("correct", "proceed")
    result.crashes = summary(events)
    of_report(result, [vars(event) for event in events if isinstance(event, protocol.Noticed)])


def _max_cost(setting: Setting) -> float | None:
    given = setting.options.get("heal_max_cost")
    return float(given) if given else None


def configuration(
    instance: Instance, setting: Setting, environment: Environment, work: Path, journal: Path
) -> protocol.Config:
    """The settings of the execution side. There is no second look here, so undecided errors are paused as well."""
    options = setting.options
    oracle = setting.agent == ORACLE
    entries = load_runbook([instance.runbook]) if oracle and instance.runbook else []
    return protocol.Config(
        root=str(work),
        sources=list(instance.import_roots),
        agent="" if oracle else setting.agent,
        agent_options={"rules": options.get("heal_rules", "safe")},
        runbook=[dataclasses.asdict(entry) for entry in entries],
        intercept=options.get("heal_intercept", "unhandled"),
        undecided="pause",
        gate=options.get("heal_guard") != "off",
        trial=options.get("heal_trial", "auto"),
        max_calls=int(options.get("heal_max_calls", 100)),
        timeout=float(options.get("heal_timeout", 0)) or None,
        cache_dir=str(environment.path / "heal-cache"),
        journal=str(journal),
    )
