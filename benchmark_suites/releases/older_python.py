"""Runs an instance whose Python is too old for the plugin: the execution side as one zip file does the work.

Imports environments, instances, process and results of the suites, and the core's bundle, settings and outcome.
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

from benchmark_suites.releases.environments import Environment
from benchmark_suites.releases.instances import Instance
from benchmark_suites.releases.process import run_in
from benchmark_suites.results import Result
from healguard_core import __version__, protocol
from healguard_core.bundle import build_bundle
from healguard_core.outcome import outcome, summary
from healguard_core.settings.runbook import load_runbook


def run(
    instance: Instance, agent: str, options: Mapping[str, str], environment: Environment, work: Path, result: Result
) -> None:
    """Run the target test in ``work`` and fill ``result``. Without an agent the instance's own runbook answers."""
    bundle, journal, settings = work / "healing.zip", work / "journal.jsonl", work / "config.json"
    build_bundle(bundle)
    config = configuration(instance, agent, options, environment, work, journal)
    settings.write_text(json.dumps(dataclasses.asdict(config)), encoding="utf-8")
    ran = run_in(work, [environment.python, "-m", "healguard_core.execution", settings, "-m", "pytest", "-q",
                        "-p", "no:cacheprovider", instance.test.name], PYTHONPATH=str(bundle))
    result.version = __version__
    result.output = ran.stdout + ran.stderr
    if ran.returncode not in (0, 1) or not journal.is_file():
        result.problem = f"the run ended with exit code {ran.returncode}"
        return
    lines = journal.read_text(encoding="utf-8").splitlines()
    events = [protocol.event_from_json(json.loads(line)) for line in lines]
    passed = ran.returncode == 0
    completed = any(isinstance(event, protocol.UnitEnded) and event.completed for event in events)
    result.outcome = outcome(events, passed, completed) or ("passed" if passed else "failed")
    result.crashes = summary(events)


def configuration(
    instance: Instance, agent: str, options: Mapping[str, str], environment: Environment, work: Path, journal: Path
) -> protocol.Config:
    """The settings of the execution side. There is no second look here, so undecided errors are paused as well."""
    entries = load_runbook([instance.runbook]) if instance.runbook and not agent else []
    return protocol.Config(
        root=str(work),
        sources=list(instance.import_roots),
        agent=agent,
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
