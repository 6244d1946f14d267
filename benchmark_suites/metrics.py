"""The figures of the paper over results of one setting (seed paper, sections 5 and C.3). Imports results, intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles
from typing import Any

from benchmark_suites.intervals import Share
from benchmark_suites.results import AGENT, ENVIRONMENT, OURS, RECORD, Result

INFRASTRUCTURE = frozenset({ENVIRONMENT, AGENT, RECORD, OURS})
"""Failures that say nothing about healing. A used-up budget says something."""

ACTIONS = ("Explore", "Inspect state", "Heal", "Reraise")
_ACTION_OF = {"explore": "Explore", "probe": "Inspect state", "submit": "Heal", "reraise": "Reraise"}


@dataclass(frozen=True)
class Rates:
    """Completion, correctness and similarity of one set of results, in percent.

    - ``pr`` (Proceed Rate, section 5): confirmed completions of the target call, over all instances, infrastructure
      failures included. ``pr_high`` also counts the evaluated instances whose completion nobody could tell (C.3).
    - ``cr`` (Correct Rate, section 5): target tests that passed, over all instances.
    - ``pr_clean`` and ``cr_clean``: the same over the instances without an infrastructure failure.
    - ``ts`` (Trace Similarity, section 5, by the count overlap of C.3): mean over the ``scored`` instances, of which
      ``whole`` have complete traces on both sides; ``ts_equal``: mean share of the reference's points whose counts are
      equal. None when nothing was scored: a missing trace is never a zero.
    """

    pr: Share
    pr_high: float
    cr: Share
    pr_clean: Share
    cr_clean: Share
    ts: float | None
    ts_equal: float | None
    scored: int
    whole: int


def rates(results: Sequence[Result]) -> Rates:
    """The rates over ``results``."""
    clean = [result for result in results if result.failure not in INFRASTRUCTURE]
    unresolved = sum(result.completed is None and not result.right for result in clean)
    confirmed = sum(map(proceeded, results))
    scores = [result.trace for result in results if result.trace and "overlap" in result.trace]
    return Rates(
        pr=Share(confirmed, len(results)),
        pr_high=100 * (confirmed + unresolved) / len(results) if results else 0.0,
        cr=Share(sum(result.right for result in results), len(results)),
        pr_clean=Share(sum(map(proceeded, clean)), len(clean)),
        cr_clean=Share(sum(result.right for result in clean), len(clean)),
        ts=100 * fmean(score["overlap"] for score in scores) if scores else None,
        ts_equal=100 * fmean(score["equal"] for score in scores) if scores else None,
        scored=len(scores),
        whole=sum(bool(score["complete"]) for score in scores),
    )


def proceeded(result: Result) -> bool:
    """Whether the target call is known to have come to its end. A test that passed got what it wanted from it."""
    return result.right or result.completed is True


@dataclass(frozen=True)
class Spread:
    """A distribution by its quartiles; ``count`` values."""

    count: int
    low: float
    median: float
    high: float


def spread(values: Sequence[float]) -> Spread | None:
    """Quartiles of ``values`` (inclusive method), None without any."""
    if not values:
        return None
    if len(values) == 1:
        return Spread(1, values[0], values[0], values[0])
    low, median, high = quantiles(values, n=4, method="inclusive")
    return Spread(len(values), low, median, high)


def crash_counts(results: Iterable[Result]) -> list[float]:
    """Recorded crashes per execution (section 5.1, figures 5 and 10): pauses, those that healing brought included."""
    return [float(len(result.crashes)) for result in results if result.failure not in INFRASTRUCTURE]


def actions(results: Iterable[Result]) -> Counter[str]:
    """How many actions of each of `ACTIONS` all results together hold (D.2.2: pooled, not averaged per task)."""
    found: Counter[str] = Counter()
    for result in results:
        for crash in result.crashes:
            found.update(_ACTION_OF[action["kind"]] for action in crash.get("actions", ())
                         if action["kind"] in _ACTION_OF)
    return found


def mean_usage(results: Iterable[Result], key: str) -> tuple[float | None, int]:
    """Mean of ``key`` (``input_tokens``, ``output_tokens``, ``cost_usd``, ...) over complete records, and how many."""
    known = [float(result.usage[key]) for result in results if result.usage.get(key) is not None]
    return (fmean(known), len(known)) if known else (None, 0)


STAGES: Mapping[str, str] = {"HC": "gate", "HG2": "static", "HG3": "dynamic"}
"""Which check a rule's code belongs to, by how it begins."""


def blocked_by(result: Result) -> str:
    """The check that stopped the execution, "" when it was let through; ``unsafe`` when no rule is on record."""
    if result.outcome != "unsafe":
        return ""
    found = ""
    for crash in result.crashes:
        for rule in _rules(crash):
            stage = next((name for start, name in STAGES.items() if rule.startswith(start)), "")
            found = stage or found
    return found or "unsafe"


def _rules(crash: Mapping[str, Any]) -> Iterable[str]:
    for action in crash.get("actions", ()):
        for found in (*(action.get("findings") or ()), *(action.get("stops") or ())):
            yield str(found.get("rule", ""))


def grouped(results: Iterable[Result], key: Callable[[Result], str]) -> dict[str, list[Result]]:
    """``results`` by ``key``, the biggest group first, then by name."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(key(result) or "(unknown)", []).append(result)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))
