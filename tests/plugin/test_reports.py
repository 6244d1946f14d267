"""JSON report, JUnit, recorded runbooks, suggested patches and the page: what leaves a run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import pytest_heal

from .conftest import Project, Result

SCHEMA = Path(pytest_heal.__file__).with_name("schema") / "report.schema.json"


def validate(report: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(report, schema)


# --------------------------------------------------------------------------- JSON


@pytest.mark.parametrize("arguments", [(), ("-n2",), ("-x",), ("--heal-guard=off",), ("-k", "nothing")])
def test_json_report_is_valid(shop: Project, arguments: tuple[str, ...]) -> None:
    validate(shop.heal(*arguments).report())


def test_json_report_says_what_happened(shop: Project) -> None:
    report = shop.heal().report()
    tests = {test["nodeid"].rpartition("::")[2]: test for test in report["tests"]}
    crash = tests["test_correct"]["crashes"][0]
    assert (crash["error"], crash["function"], crash["line"]) == ("KeyError", "shop.orders.amount_of", 2)
    assert crash["file"] == str(shop.folder / "shop" / "orders.py")
    assert crash["heal"]["code"].strip() == "amount = 21"
    assert crash["heal"]["wrote"] == ["amount"]
    assert [action["kind"] for action in crash["actions"]] == ["submit"]
    assert tests["test_correct"]["usage"]["calls"] == 1
    assert tests["test_plain"]["crashes"] == []
    assert tests["test_reraised"]["crashes"][0]["heal"] is None
    totals = report["totals"]
    assert (totals["tests"], totals["crashes"], totals["applied"], totals["not_accepted"]) == (5, 5, 3, 4)
    assert report["run"]["exit_status"] == 1


@pytest.mark.parametrize("arguments", [(), ("-n2",)])
def test_json_report_counts_decisions_over_all_processes(project: Project, arguments: tuple[str, ...]) -> None:
    project.write({
        "shop.py": """
            def find(table, name):
                return table[name]

            def price(table, name):
                try:
                    return find(table, name)
                except KeyError:
                    return 0

            def total(table, names):
                return sum(table[name] for name in names)
        """,
        "test_shop.py": """
            import pytest
            import shop

            @pytest.mark.parametrize("name", "abcd")
            def test_handled(name):
                assert shop.price({}, name) == 0

            @pytest.mark.parametrize("name", "ab")
            def test_unhandled(name):
                shop.total({}, [name])
        """,
    })
    report = project.run("--heal=reraise", "--heal-source=shop.py", "--heal-report=report.json", *arguments).report()
    counts = report["totals"]["decisions"]
    assert counts["unhandled"] == report["totals"]["crashes"] == 2
    assert counts["handled"] + counts["remembered"] == 4
    assert counts["undecided"] == counts["failures"] == 0
    assert counts["decisions"] == counts["handled"] + counts["unhandled"]
    validate(report)


def test_json_report_is_written_when_interrupted(shop: Project) -> None:
    shop.write({"test_shop.py": """
        from shop import orders

        def test_correct():
            assert orders.amount_of({}) == 42

        def test_interrupted():
            raise KeyboardInterrupt
    """})
    result = shop.heal()
    assert result.ret == 2
    validate(result.report())
    assert result.by_name() == {"test_correct": "correct"}
    assert result.report()["run"]["exit_status"] == 2


def test_plugins_may_add_fields(shop: Project) -> None:
    shop.write({"conftest.py": """
        def pytest_heal_report(record, item):
            record["owner"] = {"team": "orders", "strange": object}
    """})
    report = shop.heal("-k", "correct").report()
    validate(report)
    assert report["tests"][0]["owner"]["team"] == "orders"
    assert report["tests"][0]["owner"]["strange"] == repr(object)


# --------------------------------------------------------------------------- JUnit


def properties(result: Result) -> dict[str, dict[str, str]]:
    """The properties of every testcase by its name."""
    return {case.get("name", ""): {p.get("name", ""): p.get("value", "") for p in case.iter("property")}
            for case in result.junit().iter("testcase")}


@pytest.mark.parametrize("arguments", [(), ("-n2",)])
def test_junit_properties_are_on_the_right_testcases(shop: Project, arguments: tuple[str, ...]) -> None:
    found = properties(shop.heal("--junitxml=junit.xml", *arguments))
    assert {name: of.get("heal.outcome") for name, of in found.items()} == {
        "test_plain": None, "test_correct": "correct", "test_proceed": "proceed", "test_halted": "halted",
        "test_reraised": "reraised"}
    assert found["test_plain"] == {}
    assert found["test_correct"] == {
        "heal.outcome": "correct", "heal.crashes": "1", "heal.applied": "1", "heal.blocked": "0",
        "heal.agent": "runbook:no-amount", "heal.model": "", "heal.calls": "1", "heal.cost_usd": "0.0",
        "heal.patch": "amount = 21"}


@pytest.mark.parametrize(("accept", "failures"), [
    ("none", {"test_correct", "test_proceed", "test_halted", "test_reraised"}),
    ("correct", {"test_proceed", "test_halted", "test_reraised"}),
    ("proceed", {"test_halted", "test_reraised"}),
])
@pytest.mark.parametrize("arguments", [(), ("-n2",)])
def test_junit_status_follows_accept(
    shop: Project, accept: str, failures: set[str], arguments: tuple[str, ...]
) -> None:
    root = shop.heal("--junitxml=junit.xml", f"--heal-accept={accept}", *arguments).junit()
    found = {case.get("name"): case.findall("failure") for case in root.iter("testcase")}
    assert {name for name, failed in found.items() if failed} == failures
    assert all(len(failed) <= 1 for failed in found.values())
    for name in failures:
        assert str(name).removeprefix("test_").upper() in found[name][0].get("message", ""), name
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", str(len(failures)), "0")


@pytest.mark.parametrize("arguments", [(), ("-n2",)])
def test_junit_suite_totals(shop: Project, arguments: tuple[str, ...]) -> None:
    suite = shop.heal("--junitxml=junit.xml", *arguments).junit().find("testsuite")
    assert suite is not None
    totals = {p.get("name"): p.get("value") for p in suite.findall("properties/property")}
    assert totals["heal.tests.correct"] == "1"
    assert totals["heal.crashes"] == "5"
    assert totals["heal.applied"] == "3"
    assert totals["heal.not_accepted"] == "4"
    assert totals["heal.agent"] == "runbook"


@pytest.mark.parametrize("where", ["system-out", "off"])
def test_junit_elsewhere(shop: Project, where: str) -> None:
    result = shop.heal("--junitxml=junit.xml", "-o", f"heal_junit={where}")
    assert not any(properties(result).values())
    outputs = {case.get("name"): case.findtext("system-out") for case in result.junit().iter("testcase")}
    assert ("heal.outcome: correct" in (outputs["test_correct"] or "")) is (where == "system-out")


def test_junit_with_a_teardown_error(shop: Project) -> None:
    shop.write({"test_shop.py": """
        import pytest
        from shop import orders

        @pytest.fixture
        def bad_end():
            yield
            raise LookupError("end")

        def test_a(bad_end):
            assert orders.amount_of({}) == 42
    """})
    result = shop.heal("--junitxml=junit.xml")
    cases = list(result.junit().iter("testcase"))
    assert [len(case.findall("error")) for case in cases] == [1]
    assert properties(result)["test_a"]["heal.outcome"] == "proceed"


# --------------------------------------------------------------------------- runbook


@pytest.mark.parametrize("arguments", [(), ("-n2",)])
def test_recorded_heals_heal_again(shop: Project, arguments: tuple[str, ...]) -> None:
    assert shop.heal("--heal-record=recorded.yaml", *arguments).ret == 1
    assert (shop.folder / "recorded.yaml").read_text().count("- id:") == 2  # the same heal of two tests is one entry
    again = shop.run("--heal=runbook", "--heal-runbook=recorded.yaml", "--heal-report=report.json")
    assert again.by_name() == shop.heal().by_name()


def test_recording_adds_to_what_is_there(shop: Project) -> None:
    shop.write({"recorded.yaml": "version: 1\nheals:\n  # reviewed by Ann\n  - when: {error: OSError}\n    do: pass\n"})
    shop.heal("--heal-record=recorded.yaml")
    text = (shop.folder / "recorded.yaml").read_text()
    assert "reviewed by Ann" in text
    assert text.count("when:") == 3


# --------------------------------------------------------------------------- patches and page


def test_suggestions_apply_and_heal_for_good(shop: Project) -> None:
    shop.write({"heals.yaml": """
        version: 1
        heals:
          - when: {error: KeyError, function: shop.orders.amount_of}
            do: |
              # nobody paid
              _eh_rtn = 42
    """})
    shop.heal("--heal-suggest=patches")
    patches = sorted((shop.folder / "patches").iterdir())
    assert [patch.name for patch in patches] == ["001-amount_of-2.patch"]
    subprocess.run(["git", "apply", str(patches[0])], cwd=shop.folder, check=True)
    source = (shop.folder / "shop" / "orders.py").read_text()
    assert "except KeyError:" in source
    assert "return 42" in source
    assert "_eh_rtn" not in source
    result = shop.run("-q", "-k", "plain or correct", "-p", "no:heal")
    assert (result.ret, result.outcomes["passed"]) == (0, 2)


def test_a_heal_without_a_patch_is_named(shop: Project) -> None:
    shop.write({
        "shop/orders.py": "def amount_of(order):\n    if order['amount'] > 1:\n        return 1\n    return 42\n",
        "heals.yaml": "version: 1\nheals:\n  - when: {error: KeyError}\n    do: pass\n",
    })
    result = shop.heal("--heal-suggest=patches", "-k", "correct")
    assert "no patch for this heal: what crashed is part of a compound statement" in result.out
    validate(result.report())


def test_the_page_stands_alone(shop: Project) -> None:
    shop.heal("--heal-html=page.html")
    page = (shop.folder / "page.html").read_text(encoding="utf-8")
    assert "http" not in page
    for word in ("CORRECT", "PROCEED", "HALTED", "RERAISED", "test_shop.py::test_correct", "amount = 21"):
        assert word in page


def test_the_page_escapes(shop: Project) -> None:
    shop.write({"test_shop.py": """
        from shop import orders

        def test_a():
            orders.parse("<script>alert(1)</script>")
    """})
    shop.heal("--heal-html=page.html")
    assert "<script>" not in (shop.folder / "page.html").read_text(encoding="utf-8")
