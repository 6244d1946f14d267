"""Suite `programs`: its own cases, the loaders for public files, and a few real runs."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_suites.programs import cases, public
from benchmark_suites.programs.suite import Programs
from benchmark_suites.results import RECORD
from benchmark_suites.setting import ORACLE, Setting
from benchmark_suites.suite import Places, WrongRecord
from healguard_core.settings.runbook import load_runbook

ALL = [case for _, case in cases.load_each("*")]
SUITE = Programs()


def test_there_are_many_of_all_common_types() -> None:
    assert len(ALL) >= 40
    found = {case.error for case in ALL if isinstance(case, cases.Case)}
    assert found >= {"TypeError", "ValueError", "AttributeError", "KeyError", "IndexError", "NameError",
                     "UnboundLocalError", "ZeroDivisionError", "StopIteration", "RecursionError", "RuntimeError",
                     "FileNotFoundError", "UnicodeEncodeError", "OverflowError"}


@pytest.mark.parametrize("case", ALL, ids=lambda case: getattr(case, "id", "wrong"))
def test_case_is_whole(case: cases.Case | cases.CaseError, tmp_path: Path) -> None:
    assert isinstance(case, cases.Case), case
    assert case.fixed != case.program
    book = tmp_path / "heals.yaml"
    book.write_text(case.heals, encoding="utf-8")
    for entry in load_runbook([book]):
        assert entry.note
        assert entry.function.startswith("program.")


@pytest.mark.real
@pytest.mark.parametrize("id", ["sum-of-texts", "first-of-nothing"])
def test_reviewed_heal_makes_the_test_pass(id: str, tmp_path: Path) -> None:
    (case,) = SUITE.load(id, Places(tmp_path, tmp_path))
    assert isinstance(case, cases.Case)
    assert SUITE.verify(case, Places(tmp_path, tmp_path)) == []
    result = SUITE.run(case, Setting(ORACLE), Places(tmp_path, tmp_path))
    assert (result.outcome, result.failure, result.completed) == ("correct", "", True), result.problem + result.output
    assert result.trace is not None
    assert "problem" not in result.trace


@pytest.mark.real
def test_case_that_differs_from_its_record_is_told(tmp_path: Path) -> None:
    (case,) = (each for each in ALL if isinstance(each, cases.Case) and each.id == "sum-of-texts")
    wrong = cases.Case(**{**vars(case), "line": 1, "fixed": case.program})
    told = SUITE.verify(wrong, Places(tmp_path, tmp_path))
    assert len(told) == 2
    assert "TypeError at program.py:1" in told[0]


@pytest.mark.parametrize("text", ["", "[1]", "about: x\n", "{", "about: &a [*a]\n"])
def test_wrong_case_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text, encoding="utf-8")
    ((id, found),) = cases.load_each("*", tmp_path)
    assert id == "x"
    assert "x.yaml" in str(found)


PUBLIC: dict[str, dict[str, Any]] = {
    "humaneval": {"task_id": "H/0", "entry_point": "half", "prompt": "def half(x):\n",
                  "completion": "    return x / 0\n",
                  "test": "def check(candidate):\n    assert candidate(4) == 2\n"},
    "mbpp": {"task_id": 2, "code": "def half(x):\n    return x / 0\n", "test_list": ["assert half(4) == 2"]},
    "codenet": {"code": "print(int(input()) / 0)\n", "input": "4\n", "output": "2\n"},
    "livecodebench": {"question_content": "halve", "code_list": ["print(int(input()) / 0)\n"],
                      "public_test_cases": json.dumps([{"input": "4", "output": "2", "testtype": "stdin"}])},
    "debugbench": {"buggy_code": "class Solution:\n    def half(self, x: int) -> int:\n        return x / 0\n",
                   "examples": ["Input: x = 4 Output: 2 Explanation: none"]},
}


@pytest.mark.real
@pytest.mark.parametrize("source", PUBLIC)
def test_public_program_crashes_as_published(source: str, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(PUBLIC[source]) + "\n", encoding="utf-8")
    places = Places(tmp_path, tmp_path, (path,))
    (case,) = SUITE.load("*", places)
    assert isinstance(case, cases.Case)
    assert (case.id, case.source) == ("records-1", source)
    result = SUITE.run(case, Setting("reraise"), places)
    assert result.outcome == "reraised", result.problem + result.output
    assert [crash["error"] for crash in result.crashes] == ["ZeroDivisionError"]
    oracle = SUITE.run(case, Setting(ORACLE), places)
    assert oracle.failure == RECORD


def test_wrong_public_records_stop_nobody(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    lines = ["{", "[]", "{}", json.dumps({**PUBLIC["codenet"], "code": "def ("}),
             json.dumps({**PUBLIC["humaneval"], "entry_point": "x; import os"}), json.dumps(PUBLIC["mbpp"])]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = list(SUITE.load("*", Places(tmp_path, tmp_path, (path,))))
    assert [isinstance(each, WrongRecord) for each in found] == [True] * 5 + [False]
    with pytest.raises(ValueError, match="jsonl"):
        list(SUITE.load("*", Places(tmp_path, tmp_path, (tmp_path / "x.parquet",))))


VALUES = st.none() | st.integers() | st.text(max_size=12) | st.lists(st.integers(), max_size=2)


@given(st.sampled_from(sorted(PUBLIC)), st.text(max_size=12), VALUES)
def test_any_value_anywhere_is_used_or_refused(source: str, field: str, value: Any) -> None:
    for name in (field, *PUBLIC[source]):
        with contextlib.suppress(cases.CaseError, json.JSONDecodeError):
            public._adapt("x-1", {**PUBLIC[source], name: value})
