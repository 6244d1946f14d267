"""Intervals, tests and rates against figures worked out elsewhere, and what holds for all of them."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_suites import metrics
from benchmark_suites.intervals import Share, mcnemar, paired_bootstrap, wilson
from benchmark_suites.results import BROKEN, Result

PLAIN = Result("releases", "a", "rules", "", "", "correct", completed=True)


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [(8, 10, 49.02, 94.33), (0, 10, 0.0, 27.75), (10, 10, 72.25, 100.0), (76, 265, 23.56, 34.40), (0, 0, 0.0, 100.0)],
)
def test_wilson(hits: int, total: int, low: float, high: float) -> None:
    """The values that statsmodels' ``proportion_confint(method="wilson")`` gives."""
    assert wilson(hits, total) == pytest.approx((low, high), abs=0.01)


@given(st.integers(0, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson_holds_the_share(counts: tuple[int, int]) -> None:
    share = Share(*counts)
    low, high = share.interval
    assert -1e-9 <= low <= share.percent + 1e-9 or not share.total
    assert share.percent <= high + 1e-9 <= 100 + 1e-6


def test_no_share_is_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)


@pytest.mark.parametrize(("first", "second", "p"), [(0, 0, 1.0), (5, 5, 1.0), (1, 9, 0.021484), (0, 6, 0.03125)])
def test_mcnemar(first: int, second: int, p: float) -> None:
    """The two-sided exact binomial test."""
    assert mcnemar(first, second) == pytest.approx(p, abs=1e-6)
    assert mcnemar(second, first) == mcnemar(first, second)


def test_bootstrap_is_repeatable_and_holds_the_mean() -> None:
    values = [0.0] * 30 + [100.0] * 10
    low, high = paired_bootstrap(values)
    assert (low, high) == paired_bootstrap(values)
    assert 10 < low < 25 < high < 40
    assert paired_bootstrap([]) == (0.0, 0.0)


def test_rates_of_a_mixed_set() -> None:
    """Infrastructure failures stay in the denominator; what nobody could tell widens the bound; no trace is no zero."""
    trace = {"overlap": 0.5, "equal": 0.25, "complete": True}
    results = [
        dataclasses.replace(PLAIN, trace=trace),
        dataclasses.replace(PLAIN, outcome="passed", completed=False, trace={"problem": "none"}),
        dataclasses.replace(PLAIN, outcome="proceed", trace={**trace, "overlap": 1.0, "complete": False}),
        dataclasses.replace(PLAIN, outcome="halted", completed=None),
        dataclasses.replace(PLAIN, outcome="reraised", completed=False, failure="budget"),
        dataclasses.replace(PLAIN, outcome=BROKEN, completed=None, failure="environment"),
        dataclasses.replace(PLAIN, outcome="reraised", completed=False, failure="agent"),
        dataclasses.replace(PLAIN, outcome="unsafe", completed=False),
    ]
    rates = metrics.rates(results)
    assert (rates.pr.hits, rates.pr.total) == (3, 8)
    assert rates.pr_high == 50.0
    assert (rates.cr.hits, rates.cr.total) == (2, 8)
    assert (rates.pr_clean.hits, rates.pr_clean.total) == (3, 6)
    assert (rates.cr_clean.hits, rates.cr_clean.total) == (2, 6)
    assert (rates.ts, rates.ts_equal, rates.scored, rates.whole) == (75.0, 25.0, 2, 1)


def test_rates_of_nothing() -> None:
    rates = metrics.rates([])
    assert (rates.pr.percent, rates.cr.percent, rates.pr_high, rates.ts) == (0, 0, 0, None)


def test_actions_and_crashes() -> None:
    kinds = ["probe", "probe", "submit", "explore", "reraise", "something new"]
    crash = {"actions": [{"kind": kind} for kind in kinds]}
    results = [dataclasses.replace(PLAIN, crashes=[crash] * number) for number in (1, 2, 6)]
    found = metrics.actions(results[:1])
    assert found == {"Explore": 1, "Inspect state": 2, "Heal": 1, "Reraise": 1}
    assert metrics.spread(metrics.crash_counts(results)) == metrics.Spread(3, 1.5, 2, 4)
    assert metrics.spread([]) is None


@pytest.mark.parametrize(
    ("actions", "stage"),
    [
        ([{"kind": "submit", "findings": [{"rule": "HC104"}]}], "gate"),
        ([{"kind": "submit", "stops": [{"rule": "HG201"}]}], "static"),
        ([{"kind": "probe"}, {"kind": "submit", "stops": [{"rule": "HG301"}]}], "dynamic"),
        ([], "unsafe"),
    ],
)
def test_which_check_stopped_it(actions: list[dict[str, object]], stage: str) -> None:
    result = dataclasses.replace(PLAIN, outcome="unsafe", crashes=[{"actions": actions}])
    assert metrics.blocked_by(result) == stage
    assert metrics.blocked_by(dataclasses.replace(result, outcome="correct")) == ""
