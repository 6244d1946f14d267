"""Which class a failure is of, by what the core writes about it."""

from __future__ import annotations

from typing import Any

import pytest

from benchmark_suites.failures import of_report, of_usage_error
from benchmark_suites.results import Result
from healguard_core.healing import meter


def judged(outcome: str, reasons: list[str], notices: list[dict[str, Any]] | None = None) -> Result:
    crashes = [{"reason": reason, "heal": None, "actions": []} for reason in reasons]
    result = Result("releases", "a", "healer", "", "", outcome, crashes=crashes)
    of_report(result, notices or [])
    return result


@pytest.mark.parametrize(
    ("reasons", "failure"),
    [
        (["budget: 100 calls for this crash are used up"], "budget"),
        (["budget: 200 heals were applied in this test already"], "budget"),
        (["agent error: KeyError: 'x' at a.py:3"], "agent"),
        (["the model's provider: 503 overloaded"], "agent"),
        (["the healing side was lost: connection refused"], "agent"),
        (["the model gave 5 unusable answers in a row; the last one: {}"], "agent"),
        (["the command sent 5 unusable messages in a row; the last one: x"], "agent"),
        (["budget: the time for this crash is used up", "the model's provider: 500"], "agent"),
        (["I cannot tell what is right"], ""),
        (["no entry of the runbook matches"], ""),
        ([], ""),
    ],
)
def test_reasons(reasons: list[str], failure: str) -> None:
    """A result keeps its outcome; a deliberate refusal is no failure."""
    result = judged("reraised", reasons)
    assert (result.outcome, result.failure) == ("reraised", failure)
    assert bool(result.problem) == bool(failure)
    assert judged("correct", reasons).failure == "", "a test that passed was kept from nothing"


def test_every_stop_of_the_meter_is_a_budget() -> None:
    """The core's own exception for a used-up budget says what this module looks for."""
    assert "budget: " in (meter.BudgetSpent.__doc__ or "")


def test_fault_of_the_core_is_ours() -> None:
    notices = [{"code": "stale", "message": "x", "where": ""}, {"code": "internal", "message": "KeyError in engine"}]
    result = judged("correct", [], notices)
    assert (result.outcome, result.failure, result.problem) == ("correct", "ours", "KeyError in engine")


def test_refused_options_are_quoted() -> None:
    failure, problem = of_usage_error("noise\nERROR: --heal=healer: agent 'healer' needs a model; add --heal-model\n")
    assert failure == "agent"
    assert problem == "--heal=healer: agent 'healer' needs a model; add --heal-model"
    assert "pytest refused" in of_usage_error("nothing that begins with the word")[1]
