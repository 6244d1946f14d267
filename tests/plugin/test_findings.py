"""Findings name their stage and the heals that led to them: in the journal, the report, SARIF and the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_heal.jsonreport import SCHEMA_FILE

from .test_tracking import lay_out, run

STEPS = """
def first(): return {}['missing']
def second(): return {}['missing']
def both(): sink(first() + second())
def straight():
    path = {}['missing']
    sink(path)
"""


def _heals(*entries: tuple[str, str]) -> str:
    return json.dumps({"version": 1, "heals": [
        {"when": {"error": "KeyError", "function": f"flows.{name}"}, "do": code} for name, code in entries
    ]})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], Path]:
    folder = tmp_path_factory.mktemp("findings")
    tests = "".join(f"\ndef test_{name}():\n    flows.{name}()\n" for name in ("both", "straight"))
    lay_out(folder, STEPS, tests)
    heals = _heals(("first", "_eh_rtn = 'a'"), ("second", "_eh_rtn = 'b'"), ("straight", "path = 'a'"))
    records = run(folder, "--heal-sarif=out.sarif", "-r", "a", heals=heals)
    return records, folder


def _stops(test: dict[str, Any]) -> list[dict[str, Any]]:
    return [stop for crash in test["crashes"] for action in crash["actions"] for stop in action.get("stops", ())]


def test_a_stop_names_every_heal_that_wrote_what_arrived(made: Any) -> None:
    records, _ = made
    test = records["test_both"]
    (stop,) = _stops(test)
    assert stop["stage"] == "dynamic"
    assert stop["heals"] == [crash["crash"] for crash in test["crashes"]]
    assert len(stop["heals"]) == 2


def test_what_is_found_before_the_program_goes_on_is_static(made: Any) -> None:
    records, _ = made
    test = records["test_straight"]
    (stop,) = _stops(test)
    assert (stop["stage"], stop["rule"], stop["heals"]) == ("static", "HG201", [test["crashes"][0]["crash"]])
    assert test["crashes"][0]["heal"]["verdict"] == "rejected"


def test_sarif_has_stage_and_heals_of_each(made: Any) -> None:
    _, folder = made
    results = json.loads((folder / "out.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    by_stage = {result["properties"]["stage"]: result["properties"]["heals"] for result in results}
    assert {stage: len(heals) for stage, heals in by_stage.items()} == {"dynamic": 2, "static": 1}


def test_the_report_is_as_its_schema_says(made: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    _, folder = made
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    jsonschema.validate(report, json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
