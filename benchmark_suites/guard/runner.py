"""Runs the cases of suite ``guard``, each in a folder and a process of its own. Imports the other modules here."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark_suites.guard import render
from benchmark_suites.guard.cases import Case
from benchmark_suites.releases import provision
from benchmark_suites.releases.environments import Environment, Environments
from benchmark_suites.releases.process import run_in

SUITE = "guard"
UNGUARDED = "none"
"""The mode in which a case runs without a policy, to see what its flow does."""
REACHED = ["reached"]
_STAGES = {"refused": "gate", "rejected": "static"}


@dataclasses.dataclass
class Trial:
    """One run of one case: ``outcome`` is the category of its test, ``effects`` what happened in its folder.

    ``stage`` is what stopped it (``gate``, ``static`` or ``dynamic``, "" for nothing), ``exact`` whether every finding
    is; ``problem`` says why the run tells nothing.
    """

    case: str
    mode: str
    outcome: str = ""
    stage: str = ""
    exact: bool = True
    findings: list[str] = dataclasses.field(default_factory=list)
    effects: list[Any] = dataclasses.field(default_factory=list)
    problem: str = ""
    output: str = ""

    @property
    def happened(self) -> bool:
        """Whether anything protected took place in the flow."""
        return any(effect not in (REACHED, list(render.FILES)) for effect in self.effects)


class Runner:
    """Runs cases in environments. Below ``work`` each heal point has a folder, which a second run uses again."""

    def __init__(self, environments: Environments, work: Path) -> None:
        self._environments = environments
        self._work = work

    def run(self, cases: Sequence[Case], mode: str, *, replayed: bool = False) -> dict[str, Trial]:
        """Run ``cases``, which are around one heal point, under the guard's ``mode``, in one process.

        The trials by id. Raises `EnvironmentUnavailable`.
        """
        point = cases[0].point
        environment = self._environments.get(point)
        plugin = provision.install_plugin(self._environments, environment, point.requirements_buggy)
        folder = self._work / point.id
        trials = {case.id: Trial(case.id, mode) for case in cases}
        try:
            render.render(cases, _site_packages(environment), folder, replayed=replayed)
            ran = run_in(folder, _command(cases, mode, environment),
                         PYTHONPATH=os.pathsep.join([plugin, str(folder / render.PACKAGES)]))
            tests = _tests(folder / "report.json")
        except (ValueError, OSError, subprocess.TimeoutExpired) as problem:
            for trial in trials.values():
                trial.problem = f"the cases gave no result: {problem}"
            return trials
        for case in cases:
            trial = trials[case.id]
            trial.output = (ran.stdout + ran.stderr)[-6000:]
            trial.effects = render.effects_of(folder, case)
            _read(tests.get(case.key), trial)
        return trials


def _site_packages(environment: Environment) -> Path:
    (found,) = environment.path.glob("lib/python*/site-packages")
    return found


def _command(cases: Sequence[Case], mode: str, environment: Environment) -> list[str]:
    point = cases[0].point
    roots = [*point.import_roots, *map(render.app_of, cases)]
    command = [str(environment.python), "-m", "pytest", "-q", "-o", f"cache_dir={environment.path / 'heal-cache'}",
               *point.pytest_options, "--heal=runbook", "--heal-runbook=heals.yaml", "--heal-report=report.json",
               *(f"--heal-source={root}" for root in roots)]
    if mode != UNGUARDED:
        command += ["--heal-guard=sinks.yaml", f"--heal-guard-mode={mode}"]
    return [*command, point.test.name]


def _tests(report: Path) -> dict[str, dict[str, Any]]:
    """The tests of the machine-readable report by case."""
    record = json.loads(report.read_text(encoding="utf-8"))
    report.unlink()
    return {test["nodeid"].rpartition("[")[2].rstrip("]"): test for test in record["tests"] if "::" in test["nodeid"]}


def _read(test: dict[str, Any] | None, trial: Trial) -> None:
    """Take the outcome and what was found from the record of one test."""
    if test is None:
        trial.problem = "the run's report has no test of this case"
        return
    trial.outcome = test["outcome"]
    stops = [stop for crash in test["crashes"] for action in crash["actions"] for stop in action.get("stops", ())]
    trial.findings = [f"{stop['rule']} {stop['operation']} ({stop['policy_id']})" for stop in stops]
    trial.exact = all(stop["exact"] for stop in stops)
    if trial.outcome == "unsafe":
        verdicts = {(crash.get("heal") or {}).get("verdict", "") for crash in test["crashes"]}
        trial.stage = next((stage for verdict, stage in _STAGES.items() if verdict in verdicts), "dynamic")
    if REACHED not in trial.effects and not trial.stage:
        trial.problem = "the flow was not reached: the heal did not let the program go on to it"
