"""The cost of a whole run holds over its instances, which run in processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark_suites import items
from benchmark_suites.results import BROKEN, Result, Results
from benchmark_suites.session import Session
from benchmark_suites.setting import Setting


class Spender:
    """A suite whose every instance costs 0.40 USD, or what is left."""

    name = "spender"

    def __init__(self) -> None:
        self.given: list[float] = []

    def run(self, instance: Any, setting: Setting, places: Any) -> Result:  # noqa: ARG002
        left = float(setting.options["heal_max_cost"])
        self.given.append(left)
        return Result(self.name, instance.id, setting.agent, "", "", "reraised", usage={"cost_usd": min(0.4, left)})

    def digest(self, instance: Any) -> str:  # noqa: ARG002
        return ""


class One:
    def __init__(self, id: str) -> None:
        self.id = id


def test_later_instances_get_what_is_left(tmp_path: Path) -> None:
    session = Session.__new__(Session)
    session.suite = suite = Spender()  # type: ignore[assignment]
    session.setting = Setting("healer", {"heal_max_cost": "1.0"})
    session.store = Results(tmp_path, "spender", session.setting)
    session.run_name = "this"
    session.places = None  # type: ignore[assignment]
    session.store.append(Result("spender", "earlier", "healer", "", "", "reraised", run="another",
                                usage={"cost_usd": 50.0}))
    results = []
    for id in "abcd":
        result = items.measure(session, One(id))
        session.store.append(result)
        results.append(result)
    assert suite.given == pytest.approx([1.0, 0.6, 0.2])
    assert [result.failure for result in results] == ["", "", "", "budget"]
    assert (results[-1].outcome, results[-1].final) == (BROKEN, False), "a later run with more money tries it again"
    assert all(result.options == {"heal_max_cost": "1.0"} for result in results), "all are of one setting"
