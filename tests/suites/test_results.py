"""The store of results: append-only, shared by processes, not spoiled by a line that was cut off."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_suites.results import AGAIN, BROKEN, BUDGET, ENVIRONMENT, FAILURES, Result, Results, read_all
from benchmark_suites.setting import Setting

PLAIN = Result("releases", "a-1", "rules", "", "", "correct")
RULES = Setting("rules")


def test_later_line_replaces_an_earlier_one(tmp_path: Path) -> None:
    store = Results(tmp_path, "releases", RULES)
    store.append(dataclasses.replace(PLAIN, outcome=BROKEN, problem="no network", failure=ENVIRONMENT))
    store.append(PLAIN)
    store.append(dataclasses.replace(PLAIN, instance="b-2"))
    assert {name: result.outcome for name, result in store.read().items()} == {"a-1": "correct", "b-2": "correct"}


@pytest.mark.parametrize("kept", [1, 40, -1])
def test_line_that_was_cut_off_is_left_out_and_swallows_nothing(tmp_path: Path, kept: int) -> None:
    """A killed run leaves part of a line; what a later run appends must not become part of it."""
    store = Results(tmp_path, "releases", RULES)
    store.append(PLAIN)
    whole = store.path.read_bytes()
    store.path.write_bytes(whole + whole[:-1][:kept])
    assert list(store.read()) == ["a-1"]
    store.append(dataclasses.replace(PLAIN, instance="b-2"))
    store.append(dataclasses.replace(PLAIN, instance="c-3"))
    assert list(store.read()) == ["a-1", "b-2", "c-3"]
    assert store.unreadable == [2]


@pytest.mark.parametrize("line", ["[]", "null", "{}", '{"schema": "x/1"}', '{"schema": "pytest-heal-results/2"}', "é"])
def test_line_of_something_else_is_counted(tmp_path: Path, line: str) -> None:
    store = Results(tmp_path, "releases", RULES)
    store.path.write_text(line + "\n", encoding="utf-8")
    assert store.read() == {}
    assert store.unreadable == [1]


def test_nothing_recorded_is_no_results(tmp_path: Path) -> None:
    assert Results(tmp_path, "releases", RULES).read() == {}
    with pytest.raises(ValueError, match="holds no results"):
        read_all(tmp_path)


def test_settings_do_not_share_a_file(tmp_path: Path) -> None:
    """Whatever differs between two runs, their results stay apart."""
    options = [{}, {"heal_model": "gpt"}, {"heal_guard": "off"}, {"heal_rules": "all"}, {"heal_max_calls": "3"}]
    settings = [Setting(agent, given) for agent in ("rules", "runbook", "a/b") for given in options]
    paths = {Results(tmp_path, "releases", setting).path for setting in settings}
    assert len(paths) == len(settings)
    assert {path.parent for path in paths} == {tmp_path}


def test_policy_counts_by_its_content(tmp_path: Path) -> None:
    names = []
    for folder, text in (("one", "version: 1"), ("two", "version: 1"), ("three", "version: 1\nprotect: []")):
        policy = tmp_path / folder / "sinks.yaml"
        policy.parent.mkdir()
        policy.write_text(text, encoding="utf-8")
        names.append(Setting("rules", {"heal_guard": str(policy)}).name)
    assert names[0] == names[1] != names[2]


def test_what_a_resumed_run_leaves_alone() -> None:
    """A failure that another try may not have is tried again; a used-up budget is a result like any other."""
    assert PLAIN.final
    assert not dataclasses.replace(PLAIN, outcome=BROKEN).final
    for failure in FAILURES:
        assert dataclasses.replace(PLAIN, outcome="reraised", failure=failure).final == (failure not in AGAIN)
    assert BUDGET not in AGAIN


def test_many_writers(tmp_path: Path) -> None:
    store = Results(tmp_path, "releases", RULES)
    results = [dataclasses.replace(PLAIN, instance=f"i-{number}", output="x" * 3000) for number in range(60)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(store.append, results))
    assert store.read() == {result.instance: result for result in results}


@given(st.builds(Result, *[st.text(max_size=20)] * 6, output=st.text(max_size=200), seconds=st.floats(0, 1e6),
                 completed=st.none() | st.booleans(), options=st.dictionaries(st.text(), st.text(), max_size=3)))
def test_read_gives_back_what_was_appended(tmp_path_factory: pytest.TempPathFactory, result: Result) -> None:
    store = Results(tmp_path_factory.mktemp("results"), "releases", RULES)
    store.append(result)
    assert store.read() == {result.instance: result}
