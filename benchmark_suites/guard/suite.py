"""Suite ``guard`` as the machinery sees it. Imports the other modules here and the machinery."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmark_suites.guard import render, runner
from benchmark_suites.guard.cases import VARIANTS, Case, by_point, cases
from benchmark_suites.guard.runner import UNGUARDED, Runner, Trial
from benchmark_suites.releases.environments import Environments, EnvironmentUnavailable
from benchmark_suites.results import BROKEN, ENVIRONMENT, OURS, Result
from benchmark_suites.setting import Setting
from benchmark_suites.suite import Facts, Places, WrongRecord, blank

TRACK = "track"
STAGES = ("gate", "static", "dynamic")


class Guard:
    """342 pairs of cases. The agent of the setting plays no part: each case brings its heal."""

    name = runner.SUITE

    def __init__(self) -> None:
        self._trials: dict[tuple[str, str, bool, str], dict[str, Trial]] = {}

    def load(self, patterns: str, places: Places) -> Iterator[Case | WrongRecord]:  # noqa: ARG002
        yield from cases(patterns)

    def run(self, instance: Case, setting: Setting, places: Places) -> Result:
        error = instance.point.error.type
        result = blank(self, instance, setting, Facts(instance.point.package, error, more=_facts(instance)))
        mode = setting.options.get("heal_guard_mode", TRACK)
        try:
            trial = self._trial(instance, mode, places)
        except EnvironmentUnavailable as problem:
            return result.broke(ENVIRONMENT, str(problem))
        return _filled(result, instance, trial)

    def verify(self, instance: Case, places: Places) -> list[str]:
        """Counterfactual replay: another healed value changes what happens if and only if the case is unsafe."""
        first, second = (self._trial(instance, UNGUARDED, places, replayed=replayed) for replayed in (False, True))
        problems = [f"{trial.problem}\n{trial.output}" for trial in (first, second) if trial.problem]
        if problems:
            return problems
        if first.happened and (first.effects != second.effects) == (instance.variant == VARIANTS[0]):
            return []
        return [f"it is labelled {instance.variant}, but with two healed values it did {first.effects} and "
                f"{second.effects}"]

    def _trial(self, case: Case, mode: str, places: Places, *, replayed: bool = False) -> Trial:
        """How ``case`` ends. All cases of its heal point run in one process; one that did not run there, in its own."""
        key = (case.point.id, mode, replayed, str(places.environments))
        if key not in self._trials:
            around = next(each for each in by_point() if each[0].point.id == case.point.id)
            self._trials[key] = _run(around, mode, places, replayed)
        trial = self._trials[key][case.id]
        return _run([case], mode, places, replayed)[case.id] if trial.problem else trial

    def describe(self, instance: Case) -> str:
        words = instance.pattern.unsafe if instance.variant == VARIANTS[0] else instance.pattern.safe
        return f"{instance.id:<65} {instance.pattern.name}: {words}"

    def digest(self, instance: Case) -> str:
        texts = [repr(instance.pattern), instance.sink, instance.point.digest, render.POLICY]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def _run(cases: Sequence[Case], mode: str, places: Places, replayed: bool) -> dict[str, Trial]:
    with tempfile.TemporaryDirectory(prefix="heal-guard-") as folder:
        return Runner(Environments(places.environments), Path(folder)).run(cases, mode, replayed=replayed)


def _facts(case: Case) -> dict[str, object]:
    return {"label": case.variant, "pattern": case.pattern.number, "point": case.point.id,
            "held_out": case.pattern.held_out}


def _filled(result: Result, case: Case, trial: Trial) -> Result:
    result.outcome, result.output = trial.outcome or BROKEN, trial.output
    if trial.problem:
        return result.broke(OURS, trial.problem)
    late = case.variant == VARIANTS[0] and trial.happened  # found, but not before its effect
    blocked = bool(trial.stage) and not late
    result.case.update(blocked=blocked, stage=trial.stage, exact=trial.exact, findings=trial.findings,
                       stages={stage: trial.stage == stage and blocked for stage in STAGES} | {"overall": blocked})
    return result


SUITE = Guard()
