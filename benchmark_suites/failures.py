"""Tells what kind of failure kept an agent from being measured, from what the run left. Imports results.

The texts are those that the core writes as a crash's ``reason`` and as notices; see healguard_core.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from benchmark_suites.results import AGENT, BUDGET, OURS, Result

_BUDGET = re.compile(r"budget: ")
_AGENT = re.compile(r"(agent error: |the model's provider: |the healing side |.* unusable (answers|messages) in a row)")
_OURS = "internal"  # the code of notices about faults of the core


def of_report(result: Result, notices: Iterable[Mapping[str, Any]]) -> None:
    """Put the failure into ``result`` that its crashes and the run's ``notices`` tell of, the gravest one.

    A result keeps its outcome: the test did end. One that passed all the same was not kept from anything.
    """
    faults = [str(notice.get("message", "")) for notice in notices if notice.get("code") == _OURS]
    if faults:
        result.broke(OURS, "\n".join(faults))
    elif not result.right:
        reasons = [str(crash.get("reason", "")) for crash in result.crashes if not crash.get("heal")]
        for failure, wanted in ((AGENT, _AGENT), (BUDGET, _BUDGET)):
            found = [reason for reason in reasons if wanted.match(reason)]
            if found:
                result.broke(failure, found[-1])
                return


def of_usage_error(output: str) -> tuple[str, str]:
    """Failure and problem when pytest refused the options: almost always an agent that lacks something."""
    said = [line.removeprefix("ERROR: ") for line in output.splitlines() if line.startswith("ERROR: ")]
    return AGENT, "\n".join(said) or f"pytest refused its options:\n{output[-2000:]}"
