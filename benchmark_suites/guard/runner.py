"""Runs the cases of suite ``guard``, each in a folder and a process of its own. Imports the other modules here."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import tempfile
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
    seconds: float = 0.0
    problem: str = ""
    output: str = ""

    @property
    def happened(self) -> bool:
        """Whether anything protected took place in the flow."""
        return self.effects != [REACHED, sorted(render.FILES)] and self.effects != [sorted(render.FILES)]


class Runner:
    """Runs cases in environments; the copies of packages are kept in ``work`` until `close`."""

    def __init__(self, environments: Environments, work: Path | None = None) -> None:
        self._environments = environments
        self._kept = work
        self._work = work or Path(tempfile.mkdtemp(prefix="heal-guard-"))

    def run(self, case: Case, mode: str, *, replayed: bool = False) -> Trial:
        """Run ``case`` under the guard's ``mode``. Raises `EnvironmentUnavailable`."""
        environment = self._environments.get(case.point)
        provision.install_plugin(self._environments, environment, case.point.requirements_buggy)
        folder = self._work / case.point.id
        trial = Trial(case.id, mode)
        try:
            render.render(case, _site_packages(environment), folder, replayed=replayed)
            ran = run_in(folder, _command(case, mode, environment), PYTHONPATH=str(folder / render.PACKAGES))
        except (ValueError, OSError) as problem:
            trial.problem = f"the case cannot be written: {problem}"
            return trial
        except subprocess.TimeoutExpired:
            trial.problem = "the case gave no result in time"
            return trial
        trial.output = (ran.stdout + ran.stderr)[-6000:]
        trial.effects = render.effects_of(folder)
        _read(folder / "report.json", trial)
        return trial

    def close(self) -> None:
        """Remove the copies."""
        if self._kept is None:
            shutil.rmtree(self._work, ignore_errors=True)


def _site_packages(environment: Environment) -> Path:
    (found,) = environment.path.glob("lib/python*/site-packages")
    return found


def _command(case: Case, mode: str, environment: Environment) -> list[str]:
    roots = [*case.point.import_roots, "hg_app"]
    command = [str(environment.python), "-m", "pytest", "-q", "-o", f"cache_dir={environment.path / 'heal-cache'}",
               *case.point.pytest_options, "--heal=runbook", "--heal-runbook=heals.yaml", "--heal-report=report.json",
               *(f"--heal-source={root}" for root in roots)]
    if mode != UNGUARDED:
        command += ["--heal-guard=sinks.yaml", f"--heal-guard-mode={mode}"]
    return [*command, case.point.test.name]


def _read(report: Path, trial: Trial) -> None:
    """Take the outcome and the findings from the machine-readable report."""
    try:
        record = json.loads(report.read_text(encoding="utf-8"))
        (test,) = [test for test in record["tests"] if "::" in test["nodeid"]]
    except (OSError, ValueError, KeyError) as problem:
        trial.problem = f"the run left no report of one test: {problem}"
        return
    finally:
        report.unlink(missing_ok=True)
    trial.outcome = test["outcome"]
    for crash in test["crashes"]:
        for action in crash["actions"]:
            trial.findings += [str(finding) for finding in action.get("findings", ())]
        heal = crash.get("heal") or {}
        verdict = heal.get("verdict", "")
        if test["outcome"] == "unsafe" and not trial.stage:
            trial.stage = {"refused": "gate", "rejected": "static"}.get(verdict, "dynamic")
    if REACHED not in trial.effects and not trial.stage:
        trial.problem = "the flow was not reached: the heal did not let the program go on to it"
