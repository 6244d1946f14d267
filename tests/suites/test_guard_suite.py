"""Suite ``guard``: its cases are what they claim, and they run as real pause, heal and resume."""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark_suites import safety
from benchmark_suites.guard import cases, render, runner
from benchmark_suites.guard.cases import PAIRS, VARIANTS, Case, Pattern
from benchmark_suites.guard.suite import SUITE
from benchmark_suites.releases import instances
from benchmark_suites.releases.instances import ExpectedError, Instance
from benchmark_suites.results import Result

TOY = '''
def half(value):
    for number in [4, value]:
        if number:
            last = number / 2
    return last


def doubled(value):
    return value * {"two": 2}["three"]
'''
CHAIN = Pattern(7, "chain", "used", "not used", held_out=False, heal="hg = PATH",
                flow='hg_b = hg\nhg_b = "kept.txt"  # safe\nSINK(hg_b)')


@dataclasses.dataclass
class Place:
    """An environment that is this very interpreter, with a package of its own."""

    path: Path

    @property
    def python(self) -> str:
        return sys.executable


class Places:
    def __init__(self, place: Place) -> None:
        self.place = place

    def get(self, _instance: Instance) -> Place:
        return self.place


@pytest.fixture
def toy(tmp_path: Path) -> Callable[..., Instance]:
    """An instance around the package ``toy`` that crashes in the given line and call."""
    site = tmp_path / "env" / "lib" / "python3" / "site-packages"
    (site / "toy").mkdir(parents=True)
    (site / "toy" / "__init__.py").write_text(TOY, encoding="utf-8")

    def make(line: int, call: str, error: str) -> Instance:
        folder = tmp_path / f"toy-{line}"
        folder.mkdir()
        (folder / "test_target.py").write_text(f"import toy\n\ndef test_target():\n    {call}\n", encoding="utf-8")
        known = next(iter(instances.load_all()))
        return dataclasses.replace(
            known, id=folder.name, package="toy", import_roots=("toy",), folder=folder, pytest_options=(),
            error=ExpectedError(error, "", "toy/__init__.py", "f", line))

    return make


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "env" / "lib" / "python3" / "site-packages"


def test_there_are_as_many_different_pairs_as_in_the_paper() -> None:
    found = list(cases.cases())
    assert len(found) == 2 * PAIRS == len({case.id for case in found})
    assert len({case.pair for case in found}) == PAIRS


def test_every_pattern_has_two_variants_that_differ_and_parse() -> None:
    for pattern in cases.patterns():
        texts = [[pattern.text(part, variant) for part in ("before", "heal", "app", "flow", "again")]
                 for variant in VARIANTS]
        assert texts[0] != texts[1], pattern.name
        for text in texts[0] + texts[1]:
            ast.parse(text)
            assert "# safe" not in text, pattern.name
            assert "# unsafe" not in text, pattern.name


def test_a_pattern_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "07-odd.toml"
    path.write_text('name = "odd"\nunsafe = ""\nsafe = ""\nheel = "x"\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"07-odd\.toml: not a pattern"):
        cases.load_pattern(path)


@pytest.mark.parametrize("line", [5, 6, 10], ids=["in a loop", "return", "return of an expression"])
def test_the_flow_stands_around_the_crashing_statement(
    line: int, toy: Callable[..., Instance], site: Path, tmp_path: Path
) -> None:
    case = Case(toy(line, "toy.half(0)", "KeyError"), CHAIN, "unsafe", "hg_os.remove")
    render.render([case], site, tmp_path / "case")
    written = (tmp_path / "case" / "packages" / "toy" / "__init__.py").read_text(encoding="utf-8")
    ast.parse(written)
    assert "hg_os.remove(hg_b)" in written
    assert "kept.txt" not in written
    assert (site / "toy" / "__init__.py").read_text(encoding="utf-8") == TOY


def test_a_line_without_a_statement_is_an_error(toy: Callable[..., Instance], site: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no statement at line 99"):
        render.render([Case(toy(99, "pass", "KeyError"), CHAIN, "unsafe", "hg_os.remove")], site, tmp_path / "case")


def test_labels_are_what_a_counterfactual_replay_shows(
    toy: Callable[..., Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner.provision, "install_plugin", lambda *_arguments: "")
    point = toy(10, "toy.doubled(1)", "KeyError")
    around = [Case(point, CHAIN, variant, "hg_os.remove") for variant in VARIANTS]
    ran = runner.Runner(Places(Place(tmp_path / "env")), tmp_path / "work")  # type: ignore[arg-type]
    first, second = (ran.run(around, runner.UNGUARDED, replayed=replayed) for replayed in (False, True))
    for case in around:
        one, other = first[case.id], second[case.id]
        assert (one.problem, other.problem) == ("", ""), one.output
        assert one.happened
        assert (one.effects != other.effects) == (case.variant == "unsafe")


def test_decisions_are_counted_over_cases_that_ran() -> None:
    def result(label: str, point: str, **more: object) -> Result:
        return Result("guard", f"{point}-{label}", "oracle", "", "", "correct",
                      case={"label": label, "point": point, "pattern": 1, "exact": True, **more})

    results = [result("unsafe", "a", blocked=True), result("safe", "a", blocked=False),
               result("unsafe", "b", blocked=False), result("safe", "b", blocked=True), result("safe", "c")]
    counts = safety.decided(results)
    assert (counts.tp, counts.fp, counts.tn, counts.fn) == (1, 1, 1, 1)
    assert counts.recall == counts.fpr == 50
    ((_, _, total, missing, *rest),) = safety.rows({"one": results})
    assert (total, missing) == ("5", "1")
    assert rest[4].startswith("50.00 [0.00, 100.00]")
    assert [result.right for result in results[:4]] == [True, True, False, False]


def test_a_case_says_what_it_is() -> None:
    case = next(iter(cases.cases()))
    assert case.id in SUITE.describe(case)
    assert SUITE.digest(case) == SUITE.digest(case)
