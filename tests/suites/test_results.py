"""The store of results: append-only, shared by processes, not spoiled by a line that was cut off."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from benchmark_suites.results import BROKEN, Result, Results

PLAIN = Result("releases", "a-1", "rules", "", "", "correct")


def test_later_line_replaces_an_earlier_one(tmp_path: Path) -> None:
    store = Results(tmp_path, "releases", "rules")
    store.append(dataclasses.replace(PLAIN, outcome=BROKEN, problem="no network"))
    store.append(PLAIN)
    store.append(dataclasses.replace(PLAIN, instance="b-2"))
    assert {name: result.outcome for name, result in store.read().items()} == {"a-1": "correct", "b-2": "correct"}


def test_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    store = Results(tmp_path, "releases", "rules")
    store.append(PLAIN)
    whole = store.path.read_text(encoding="utf-8")
    store.path.write_text(whole + whole[:40], encoding="utf-8")
    assert list(store.read()) == ["a-1"]


def test_nothing_recorded_is_no_results(tmp_path: Path) -> None:
    assert Results(tmp_path, "releases", "rules").read() == {}


def test_settings_do_not_share_a_file(tmp_path: Path) -> None:
    settings = [("rules", "", ""), ("runbook", "", ""), ("rules", "gpt", ""), ("rules", "", "off"), ("a/b", "", "")]
    paths = {Results(tmp_path, "releases", *setting).path for setting in settings}
    assert len(paths) == len(settings)
    assert {path.parent for path in paths} == {tmp_path}


def test_many_writers(tmp_path: Path) -> None:
    store = Results(tmp_path, "releases", "rules")
    results = [dataclasses.replace(PLAIN, instance=f"i-{number}", output="x" * 3000) for number in range(60)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(store.append, results))
    assert store.read() == {result.instance: result for result in results}


@given(st.builds(Result, *[st.text(max_size=20)] * 6, output=st.text(max_size=200), seconds=st.floats(0, 1e6)))
def test_read_gives_back_what_was_appended(tmp_path_factory: object, result: Result) -> None:
    store = Results(tmp_path_factory.mktemp("results"), "releases", "rules")  # type: ignore[attr-defined]
    store.append(result)
    assert store.read() == {result.instance: result}
