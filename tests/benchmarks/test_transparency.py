"""The transparency harness, on a small package whose answers are known."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.transparency import inject, outcomes
from benchmarks.transparency.suites import Prepared, Suite, load

PACKAGE = '''
"""A package with tests of its own."""


def plain(values):
    """A docstring."""
    total = 0
    for value in values:
        total += value
    return total


def swallowing(values):
    try:
        return plain(values)
    except Exception:
        return None


def translating(values):
    try:
        return plain(values)
    except Exception as error:
        raise RuntimeError("no total") from error


def keeping(values):
    try:
        return plain(values), None
    except Exception as error:
        return None, error
'''

TESTS = """
import pytest
from subject import keeping, plain, swallowing, translating

@pytest.mark.parametrize("n", range(5))
def test_reached(n):
    assert plain(range(n + 1)) >= 0

@pytest.mark.parametrize("n", range(5))
def test_chained(n):
    translating(range(n + 1))

@pytest.mark.parametrize("n", range(5))
def test_swallowed(n):
    swallowing(range(n + 1))

@pytest.mark.parametrize("n", range(5))
def test_failed_otherwise(n):
    assert swallowing(range(n + 1)) is not None

@pytest.mark.parametrize("n", range(5))
def test_second_look(n):
    total, error = keeping(range(n + 1))
    if error is not None:
        raise error

def test_nothing_of_the_package():
    pass

def test_fails():
    assert plain([1]) == 2
"""


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    (tmp_path / "home").mkdir()
    folder = tmp_path / "home" / "run"
    (folder / "subject").mkdir(parents=True)
    (folder / "subject" / "__init__.py").write_text(PACKAGE)
    (folder / "test_subject.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    suite = Suite(name="subject", requires=[], args=["test_subject.py", "-p", "no:asyncio"], source="subject",
                  in_place=True)
    return Prepared(suite, Path(sys.executable), folder)


def test_suites_are_described_well() -> None:
    for name, suite in load().items():
        assert suite.name == name
        assert any(word.startswith(f"{name.lower()}==") for word in suite.requires), suite.requires
        assert suite.sdist in ("", suite.requires[0])
        assert suite.args


def test_injection_tells_the_truths_apart(prepared: Prepared) -> None:
    confusion = inject.measure(prepared, seed=3)
    by_truth = {truth: sum(count for (_, real), count in confusion.counts.items() if real == truth)
                for truth in inject.TRUTHS}
    assert not confusion.discarded
    assert sum(by_truth.values()) == 25, "the test that fails anyway and the one without the package are left out"
    assert min(by_truth.values()) >= 1, by_truth
    assert confusion.counts["unhandled", "swallowed"] == confusion.counts["second look", "swallowed"] == 0
    assert confusion.counts["second look", "reached"] >= 1
    assert confusion.precision == confusion.recall == 1.0
    assert confusion.offered_though_handled == 0
    assert not confusion.wrong
    assert "precision of unhandled 100.0000%" in confusion.table()
    assert inject.measure(prepared, seed=3).counts == confusion.counts


def test_a_sample_is_the_same_in_every_pass(prepared: Prepared) -> None:
    confusion = inject.measure(prepared, seed=3, limit=10)
    assert 1 <= sum(confusion.counts.values()) <= 10
    assert not confusion.discarded


def test_outcomes_and_coverage_are_compared(prepared: Prepared) -> None:
    found = outcomes.compare(prepared, 0, ["--heal=rules"], coverage=True)
    assert found.tests == 27
    assert (found.changed, found.pauses, found.pauses_in_passing) == ({}, 0, [])
    assert found.covered > 10
    assert found.coverage_changed == []
    assert "changed   0" in found.line()


def test_a_changed_outcome_is_seen(prepared: Prepared) -> None:
    (prepared.folder / "test_subject.py").write_text(
        "def test_same():\n    pass\n"
        "def test_told(request):\n    assert not request.config.getoption('heal', None)\n")
    found = outcomes.compare(prepared, 0, ["--heal=rules"])
    assert list(found.changed) == ["test_subject::test_told"]
