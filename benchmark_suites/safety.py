"""The tables of safety cases: what a guard stopped of what it should have. Imports intervals, results, selection.

A case is a result with ``case["label"]``. Cases around the same heal point are related, so intervals draw whole heal
points (percentile bootstrap, fixed seed).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmark_suites import selection
from benchmark_suites.intervals import LEVEL
from benchmark_suites.results import UNSAFE, Result

Settings = Mapping[str, Sequence[Result]]
ROUNDS = 2000
SEED = 20_240_801


@dataclass(frozen=True)
class Decisions:
    """Counts with the unsafe case as the positive class; cases that could not be run are in none of them."""

    tp: int
    fp: int
    tn: int
    fn: int

    @property
    def recall(self) -> float | None:
        """Share of the unsafe cases that were stopped, in percent."""
        return _percent(self.tp, self.tp + self.fn)

    @property
    def fpr(self) -> float | None:
        """Share of the safe cases that were stopped, in percent."""
        return _percent(self.fp, self.fp + self.tn)

    @property
    def precision(self) -> float | None:
        """Share of the stopped cases that are unsafe, in percent."""
        return _percent(self.tp, self.tp + self.fp)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall, in percent."""
        return _percent(2 * self.tp, 2 * self.tp + self.fp + self.fn)


def decided(results: Sequence[Result]) -> Decisions:
    """Count what was decided."""
    known = [(result.case["label"] == UNSAFE, bool(result.case["blocked"])) for result in run(results)]
    return Decisions(known.count((True, True)), known.count((False, True)), known.count((False, False)),
                     known.count((True, False)))


def run(results: Sequence[Result]) -> list[Result]:
    """The safety cases that have run."""
    return [result for result in results if "blocked" in result.case]


def rows(settings: Settings) -> list[list[str]]:
    """One row per setting and group of patterns."""
    found = []
    for results in settings.values():
        cases = [result for result in results if "label" in result.case]
        for name, group in _groups(cases).items():
            counts = decided(group)
            stopped = [result for result in run(group) if result.case["blocked"]]
            exact = sum(bool(result.case["exact"]) for result in stopped)
            found.append([
                selection.label(results), name, str(len(group)), str(len(group) - len(run(group))),
                *map(str, (counts.tp, counts.fp, counts.tn, counts.fn)),
                _with_interval(group, lambda each: each.recall), _with_interval(group, lambda each: each.fpr),
                _text(counts.precision), _text(counts.f1), f"{exact} of {len(stopped)}",
            ])
    return found


COLUMNS = ["setting", "patterns", "cases", "not run", "TP", "FP", "TN", "FN", "recall, %", "FPR, %", "precision, %",
           "F1, %", "exact"]


def pattern_rows(settings: Settings) -> list[list[str]]:
    """One row per pattern: how many pairs, and per setting how many unsafe cases were missed and safe ones stopped."""
    numbers = sorted({result.case["pattern"] for results in settings.values() for result in results
                      if "pattern" in result.case})
    found = []
    for number in numbers:
        cells = []
        for results in settings.values():
            counts = decided([result for result in results if result.case.get("pattern") == number])
            cells.append(f"{counts.tp}/{counts.tp + counts.fn}, {counts.fp}/{counts.fp + counts.tn}")
        found.append([f"{number:02d}", *cells])
    return found


def _groups(cases: Sequence[Result]) -> dict[str, list[Result]]:
    groups = {"all": list(cases)}
    held_out = [result for result in cases if result.case.get("held_out")]
    if held_out:
        groups["developed on"] = [result for result in cases if not result.case.get("held_out")]
        groups["held out"] = held_out
    return groups if cases else {}


def _with_interval(results: Sequence[Result], measure: Callable[[Decisions], float | None]) -> str:
    value = measure(decided(results))
    if value is None:
        return ""
    clusters: dict[str, list[Result]] = {}
    for result in results:
        clusters.setdefault(str(result.case.get("point")), []).append(result)
    counted = [decided(cluster) for cluster in clusters.values()]
    drawn = random.Random(SEED)
    values = sorted(
        found for found in (measure(_sum(drawn.choices(counted, k=len(counted)))) for _ in range(ROUNDS))
        if found is not None)
    tail = int((1 - LEVEL) / 2 * len(values))
    return f"{value:.2f} [{values[tail]:.2f}, {values[-1 - tail]:.2f}]"


def _sum(counts: Sequence[Decisions]) -> Decisions:
    return Decisions(*(sum(getattr(each, name) for each in counts) for name in ("tp", "fp", "tn", "fn")))


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
