"""Each category: how it is shown, counted, and what the run's exit code becomes."""

from __future__ import annotations

import pytest

from .conftest import Project

ALL = {
    "test_plain": "passed", "test_correct": "correct", "test_proceed": "proceed",
    "test_halted": "halted", "test_reraised": "reraised",
}


def test_every_test_is_in_exactly_one_category(shop: Project) -> None:
    result = shop.heal()
    assert result.ret == 1
    assert result.by_name() == ALL
    assert result.outcomes == {"passed": 1, "correct": 1, "proceed": 1, "halted": 1, "reraised": 1}


def test_letters_and_words(shop: Project) -> None:
    assert any(line.startswith("test_shop.py .CPHR") for line in shop.heal().lines)
    verbose = shop.heal("-v")
    for name, outcome in ALL.items():
        assert any(f"::{name} {outcome.upper()}" in line for line in verbose.lines)


@pytest.mark.parametrize(("accept", "test", "ret"), [
    ("none", "test_correct", 1), ("correct", "test_correct", 0), ("proceed", "test_correct", 0),
    ("none", "test_proceed", 1), ("correct", "test_proceed", 1), ("proceed", "test_proceed", 0),
    ("proceed", "test_halted", 1), ("proceed", "test_reraised", 1), ("none", "test_plain", 0),
])
def test_exit_code_follows_accept(shop: Project, accept: str, test: str, ret: int) -> None:
    result = shop.heal(f"--heal-accept={accept}", "-k", test)
    assert (result.ret, result.by_name()) == (ret, {test: ALL[test]})


def test_terminal_says_why_a_passing_run_fails(shop: Project) -> None:
    result = shop.heal("-k", "test_correct")
    assert "passed only after healing, which fails the run" in result.out
    assert "which fails the run" not in shop.heal("-k", "test_correct", "--heal-accept=correct").out


def test_short_summary_begins_with_classic_words(shop: Project) -> None:
    lines = shop.heal("-rA").lines
    assert "PASSED test_shop.py::test_correct" in lines
    assert "PASSED test_shop.py::test_plain" in lines
    for name, word in {"proceed": "PROCEED", "halted": "HALTED", "reraised": "RERAISED"}.items():
        assert any(line.startswith(f"FAILED test_shop.py::test_{name} - {word}: ") for line in lines), name
    start = next(index for index, line in enumerate(lines) if "short test summary info" in line)
    assert sum(line.startswith(("PASSED ", "FAILED ", "ERROR ")) for line in lines[start:]) == 5


def test_accepted_tests_are_passed_in_the_short_summary(shop: Project) -> None:
    lines = shop.heal("-rA", "--heal-accept=proceed", "-k", "proceed").lines
    assert any(line.startswith("PASSED test_shop.py::test_proceed") for line in lines)
    assert not any(line.startswith("FAILED") for line in lines)


def test_tracebacks_of_ours_are_printed_once(shop: Project) -> None:
    out = shop.heal().out
    assert out.count("HEALED AND FAILED") == 1
    assert "PROCEED test_proceed" in out
    assert out.count("assert orders.amount_of({}) == 43") == 1
    assert out.count("E       ValueError") == 1
    assert "= FAILURES =" not in out


@pytest.mark.parametrize(("style", "has_traceback"), [("no", False), ("short", True), ("line", False), ("long", True)])
def test_traceback_styles(shop: Project, style: str, has_traceback: bool) -> None:
    out = shop.heal(f"--tb={style}").out
    assert ("HEALED AND FAILED" in out) is (style != "no")
    assert ("PROCEED test_proceed" in out) is has_traceback
    assert "heal summary" in out


def test_captured_output_is_shown_with_the_traceback(project: Project, shop: Project) -> None:
    project.write({"test_shop.py": """
        from shop import orders

        def test_proceed():
            print("said", "before")
            assert orders.amount_of({}) == 43
    """})
    assert "said before" in shop.heal().out
    assert "said before" not in shop.heal("--show-capture=no").out


def test_summary_has_one_line_per_crash(shop: Project) -> None:
    lines = shop.heal().lines
    crashes = [line for line in lines if " in shop.orders." in line and "->" in line]
    assert len(crashes) == 5
    assert crashes[0].strip() == (
        "shop/orders.py:2 in shop.orders.amount_of: KeyError: 'amount' -> healed by runbook:no-amount (resume next), "
        "wrote amount, gated; 1 call, $0.00")
    assert "not healed" in crashes[-1]


@pytest.mark.parametrize(("arguments", "red"), [
    (("-k", "plain"), False), (("-k", "plain or correct"), True), (("-k", "correct", "--heal-accept=correct"), False),
    (("-k", "proceed", "--heal-accept=proceed"), False), (("-k", "reraised"), True),
])
def test_the_last_line_is_red_when_it_should_be(shop: Project, arguments: tuple[str, ...], red: bool) -> None:
    last = shop.heal("--color=yes", *arguments).lines[-1]
    assert ("\x1b[31m" in last) is red


def test_quiet(shop: Project) -> None:
    quiet = shop.heal("-q")
    assert "heal summary" in quiet.out
    very = shop.heal("-qq")
    assert "heal summary" not in very.out
    assert (quiet.ret, very.ret) == (1, 1)


def test_without_header_and_summary(shop: Project) -> None:
    assert "heal: agent" not in shop.heal("--no-header").out
    out = shop.heal("--no-summary").out
    assert "heal summary" not in out
    assert "HEALED AND FAILED" not in out


def test_without_a_terminal(shop: Project) -> None:
    result = shop.heal("-p", "no:terminal", "--junitxml=junit.xml")
    assert (result.ret, result.by_name()) == (1, ALL)


def test_header_says_what_is_on(shop: Project) -> None:
    assert "heal: agent runbook, accept none, 3 runbook entries" in shop.heal().lines


def test_unguarded_runs_say_so(shop: Project) -> None:
    result = shop.heal("--heal-guard=off", "-k", "correct")
    assert sum("UNGUARDED" in line for line in result.lines) == 2
    assert result.report()["run"]["guarded"] is False


def test_setup_and_teardown_crashes_belong_to_the_test(shop: Project) -> None:
    shop.write({"test_shop.py": """
        import pytest
        from shop import orders

        @pytest.fixture
        def amount():
            return orders.amount_of({})

        @pytest.fixture(scope="module")
        def shared():
            return orders.amount_of({})

        @pytest.fixture
        def cleaned():
            yield
            orders.amount_of({})

        def test_setup(amount):
            assert amount == 42

        def test_shared(shared):
            assert shared == 42

        def test_shared_again(shared):
            assert shared == 42

        def test_teardown(cleaned):
            pass

        @pytest.fixture
        def broken(amount):
            raise LookupError("fixture")

        def test_broken_setup(broken):
            pass

        @pytest.fixture
        def bad_end(amount):
            yield
            raise LookupError("end")

        def test_broken_teardown(bad_end):
            pass
    """})
    result = shop.heal("-rA")
    assert result.by_name() == {
        "test_setup": "correct", "test_shared": "correct", "test_shared_again": "passed", "test_teardown": "correct",
        "test_broken_setup": "proceed", "test_broken_teardown": "proceed",
    }
    assert result.outcomes == {"passed": 1, "correct": 3, "proceed": 2}
    assert any(line.startswith("ERROR test_shop.py::test_broken_setup - PROCEED: ") for line in result.lines)


def test_a_fixture_error_is_never_accepted(shop: Project) -> None:
    shop.write({"test_shop.py": """
        import pytest
        from shop import orders

        @pytest.fixture
        def broken():
            orders.amount_of({})
            raise LookupError("fixture")

        def test_a(broken):
            pass
    """})
    assert shop.heal("--heal-accept=proceed").ret == 1


def test_skipped_after_a_heal_stays_skipped(shop: Project) -> None:
    shop.write({"test_shop.py": """
        import pytest
        from shop import orders

        def test_a():
            orders.amount_of({})
            pytest.skip("enough")
    """})
    result = shop.heal()
    assert (result.ret, result.by_name()) == (0, {"test_a": "skipped"})
    assert len(result.report()["tests"][0]["crashes"]) == 1


def test_crash_at_import_is_healed_for_the_module(shop: Project) -> None:
    shop.write({
        "shop/config.py": "LIMITS = {}\nlimit = LIMITS['most']\n",
        "heals.yaml": """
            version: 1
            heals:
              - when: {error: KeyError, message: most}
                do: limit = 5
        """,
        "test_shop.py": "from shop import config\n\ndef test_a():\n    assert config.limit == 5\n",
    })
    result = shop.heal()
    assert result.ret == 1, "the module could be imported only after healing"
    assert {test["nodeid"]: test["outcome"] for test in result.report()["tests"]} == {
        "test_shop.py": "correct", "test_shop.py::test_a": "passed"}
    assert shop.heal("--heal-accept=correct").ret == 0


AGENTS = """
    class Scripted:
        def __init__(self, name, *codes):
            self.name, self.codes = name, codes

        def respond(self, session):
            for code in self.codes:
                session.heal(code)

        def close(self):
            pass

    def pytest_heal_agents(config):
        return {
            "evil": lambda options: Scripted("evil", "import os\\nos.remove('heals.yaml')"),
            "regrets": lambda options: Scripted("regrets", "import os\\nos.remove('heals.yaml')", "amount = 21"),
            "clumsy": lambda options: Scripted("clumsy", "amount = (lambda: 21)()"),
            "stubborn": lambda options: Scripted("stubborn", "1 / 0", "1 / 0", "amount = 21"),
        }

    def pytest_heal_refused(event, item, config):
        print("REFUSED", event.findings[0].severity, item.name)
"""


@pytest.mark.parametrize(("agent", "outcome", "ret"), [
    ("evil", "unsafe", 1), ("regrets", "correct", 0), ("clumsy", "reraised", 1), ("stubborn", "correct", 0),
])
def test_refused_heals(shop: Project, agent: str, outcome: str, ret: int) -> None:
    shop.write({"conftest.py": AGENTS})
    result = shop.run(f"--heal={agent}", "--heal-report=report.json", "--heal-accept=proceed", "-k", "correct", "-s",
                      "--junitxml=junit.xml")
    assert (result.ret, result.by_name()) == (ret, {"test_correct": outcome})
    assert ("REFUSED dangerous test_correct" in result.out) is (agent in ("evil", "regrets"))
    blocked = [p.get("value") for p in result.junit().iter("property") if p.get("name") == "heal.blocked"]
    assert blocked == ["1" if agent in ("evil", "regrets") else "0"]
    assert (shop.folder / "heals.yaml").exists()


@pytest.mark.parametrize("arguments", [("--heal-max-calls=2",), ("-o", "heal_max_calls=2")])
def test_a_used_up_budget_reraises(shop: Project, arguments: tuple[str, ...]) -> None:
    shop.write({"conftest.py": AGENTS})
    result = shop.run("--heal=stubborn", "--heal-report=report.json", "-k", "correct", *arguments)
    assert result.by_name() == {"test_correct": "reraised"}
    assert "budget" in result.report()["tests"][0]["crashes"][0]["reason"]


def test_an_agent_of_one_test_and_its_budget(shop: Project) -> None:
    shop.write({"conftest.py": AGENTS, "test_shop.py": """
        import pytest
        from shop import orders

        @pytest.mark.heal(agent="stubborn")
        def test_patient():
            assert orders.amount_of({}) == 42

        @pytest.mark.heal(agent="stubborn", max_calls=2)
        def test_limited():
            assert orders.amount_of({}) == 42

        def test_other():
            assert orders.amount_of({}) == 42
    """})
    result = shop.run("--heal=evil", "--heal-report=report.json")
    assert result.by_name() == {"test_patient": "correct", "test_limited": "reraised", "test_other": "unsafe"}
