"""pytest's own options and ways of running keep working, also in several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from .conftest import Project
from .test_categories import ALL

LAST_FAILED = ".pytest_cache/v/cache/lastfailed"


def test_workers_give_what_one_process_gives(shop: Project) -> None:
    serial = shop.heal().report()
    spread = shop.heal("-n2").report()

    def facts(report: dict[str, Any]) -> dict[str, Any]:
        return {test["nodeid"]: (test["outcome"], test["usage"], [
            (crash["function"], crash["line"], bool(crash["heal"])) for crash in test["crashes"]
        ]) for test in report["tests"]}

    assert facts(serial) == facts(spread)
    assert serial["totals"] == spread["totals"]


@pytest.mark.parametrize("arguments", [(), ("-n2",)])
def test_a_healed_module_is_reported_once(shop: Project, arguments: tuple[str, ...]) -> None:
    shop.write({
        "shop/config.py": "LIMITS = {}\nlimit = LIMITS['most']\n",
        "heals.yaml": "version: 1\nheals:\n  - when: {error: KeyError, message: most}\n    do: limit = 5\n",
        "test_shop.py": "from shop import config\n\ndef test_a():\n    pass\n\ndef test_b():\n    pass\n",
    })
    result = shop.heal(*arguments)
    assert result.ret == 1
    assert {test["nodeid"]: test["outcome"] for test in result.report()["tests"]} == {
        "test_shop.py": "correct", "test_shop.py::test_a": "passed", "test_shop.py::test_b": "passed"}


@pytest.mark.parametrize(("arguments", "ran"), [(("-x",), 2), (("--maxfail=2",), 3), (("--sw",), 2)])
def test_healed_tests_count_as_failures(shop: Project, arguments: tuple[str, ...], ran: int) -> None:
    result = shop.heal(*arguments)
    assert len(result.report()["tests"]) == ran
    assert result.ret in (1, 2)


def test_accepted_tests_do_not_count(shop: Project) -> None:
    result = shop.heal("-x", "--heal-accept=proceed")
    assert list(result.by_name()) == ["test_plain", "test_correct", "test_proceed", "test_halted"]


def test_exitfirst_in_workers(shop: Project) -> None:
    many = "\n".join(f"def test_{number}():\n    assert orders.amount_of({{}}) == 42\n" for number in range(30))
    shop.write({"test_shop.py": f"from shop import orders\n\n{many}"})
    result = shop.heal("-n2", "-x")
    assert result.ret in (1, 2)
    assert len(result.report()["tests"]) < 30


def test_last_failed_remembers_healed_tests(shop: Project) -> None:
    shop.heal()
    result = shop.heal("--lf")
    assert result.by_name() == {name: outcome for name, outcome in ALL.items() if name != "test_plain"}
    shop.heal("--heal-accept=proceed")
    assert list(shop.heal("--lf", "--heal-accept=proceed").by_name()) == ["test_halted", "test_reraised"]


def test_stepwise_goes_on_at_a_healed_test(shop: Project) -> None:
    shop.heal("--sw")
    assert list(shop.heal("--sw").by_name()) == ["test_correct"]


def test_without_the_cache(shop: Project) -> None:
    result = shop.heal("-p", "no:cacheprovider")
    assert result.by_name() == ALL
    assert not (shop.folder / ".pytest_cache").exists()


def test_the_cache_folder_is_complete(shop: Project) -> None:
    shop.heal()
    assert (shop.folder / ".pytest_cache" / ".gitignore").exists()


@pytest.mark.parametrize("arguments", [
    ("--import-mode=importlib",), ("--strict-markers", "--strict-config", "-W", "error"), ("-p", "no:cacheprovider"),
    ("-s",), ("--capture=tee-sys",), ("--durations=3",), ("-p", "no:logging"), ("-p", "no:junitxml"),
    ("--assert=plain",), ("--setup-show",), ("-vv",),
])
def test_other_options(shop: Project, arguments: tuple[str, ...]) -> None:
    result = shop.heal(*arguments)
    assert (result.ret, result.by_name()) == (1, ALL), result.out + result.err


def test_collect_only_and_help(shop: Project) -> None:
    assert shop.heal("--collect-only", "-q").ret == 0
    shown = shop.run("--help")
    assert shown.ret == 0
    assert "--heal-second-look" in shown.out
    assert "@pytest.mark.heal(enabled=True" in shop.run("--markers").out


def test_early_conftest_imports_are_instrumented(shop: Project) -> None:
    shop.write({"conftest.py": "from shop import orders\n"})
    assert shop.heal().by_name() == ALL


def test_xfail_is_left_alone(shop: Project) -> None:
    shop.write({"test_shop.py": """
        import unittest
        import pytest
        from shop import orders

        @pytest.mark.xfail
        def test_plain():
            assert orders.amount_of({}) == 42

        @pytest.mark.xfail(raises=KeyError, strict=True)
        def test_raises():
            orders.amount_of({})

        @pytest.mark.xfail(raises=(OSError, LookupError), strict=True)
        def test_base():
            orders.amount_of({})

        @pytest.mark.xfail(raises=OSError)
        def test_other():
            assert orders.amount_of({}) == 42

        def test_dynamic(request):
            request.node.add_marker(pytest.mark.xfail(reason="later"))
            assert True

        @pytest.fixture
        def marked(request):
            request.node.add_marker(pytest.mark.xfail(reason="by fixture"))

        def test_by_fixture(marked):
            orders.amount_of({})

        class TestCase(unittest.TestCase):
            @unittest.expectedFailure
            def test_expected(self):
                orders.amount_of({})
    """})
    result = shop.heal()
    outcomes = result.by_name()
    assert outcomes.pop("test_other") in ("correct", "xpassed")
    assert outcomes.pop("test_dynamic") == "xpassed"
    assert set(outcomes.values()) == {"xfailed"}
    assert shop.heal("--runxfail", "-k", "test_plain").by_name() == {"test_plain": "correct"}


def test_marks(shop: Project) -> None:
    shop.write({"test_shop.py": """
        import pytest
        from shop import orders

        pytestmark = pytest.mark.heal(accept="correct")

        @pytest.mark.heal(False)
        def test_left_alone():
            orders.amount_of({})

        def test_accepted():
            assert orders.amount_of({}) == 42

        @pytest.mark.heal(accept="none")
        def test_closest_wins():
            assert orders.amount_of({}) == 42
    """})
    result = shop.heal()
    assert result.by_name() == {"test_left_alone": "failed", "test_accepted": "correct", "test_closest_wins": "correct"}
    assert result.report()["totals"]["not_accepted"] == 1
    assert shop.heal("-k", "accepted").ret == 0
    assert shop.heal("-k", "closest").ret == 1


def test_parametrised_unittest_doctest_and_subtests(shop: Project) -> None:
    shop.write({
        "test_shop.py": '''
            import unittest
            import pytest
            from shop import orders

            @pytest.mark.parametrize("amount", [1, None])
            def test_param(amount):
                order = {"amount": amount} if amount else {}
                assert orders.amount_of(order) in (2, 42)

            class TestCase(unittest.TestCase):
                def setUp(self):
                    self.amount = orders.amount_of({})

                def test_method(self):
                    self.assertEqual(self.amount, 42)
        ''',
        "shop/examples.py": '''
            """
            >>> from shop import orders
            >>> orders.amount_of({})
            42
            """
        ''',
    })
    result = shop.heal("--doctest-modules")
    assert result.by_name() == {"test_param[1]": "passed", "test_param[None]": "correct", "test_method": "correct",
                                "shop.examples": "correct"}


def test_subtests(shop: Project) -> None:
    if pytest.version_tuple < (9, 0):
        pytest.skip("subtests came with pytest 9")
    shop.write({"test_shop.py": """
        from shop import orders

        def test_healed(subtests):
            for number in range(3):
                with subtests.test(number=number):
                    assert orders.amount_of({} if number == 1 else {"amount": 21}) == 42

        def test_failing(subtests):
            for number in range(2):
                with subtests.test(number=number):
                    assert orders.amount_of({}) == 43
    """})
    result = shop.heal("-v", "--junitxml=junit.xml")
    tests = {test["nodeid"].rpartition("::")[2]: test for test in result.report()["tests"]}
    assert result.by_name() == {"test_healed": "correct", "test_failing": "proceed"}
    assert [len(test["crashes"]) for test in tests.values()] == [1, 2]


def test_the_fixture_sees_the_running_test(shop: Project) -> None:
    shop.write({"test_shop.py": """
        import pytest
        from shop import orders

        def test_a(heal):
            assert (heal.enabled, heal.applied, heal.crashes) == (True, 0, [])
            orders.amount_of({})
            assert heal.applied == 1
            assert heal.crashes[0]["error"] == "KeyError"
            assert [type(event).__name__ for event in heal.events] == ["Crashed", "Healed"]

        def test_b(heal):
            assert heal.applied == 0
            with pytest.raises(pytest.UsageError, match="no 'remov'"):
                heal.protect("os.remov")
    """})
    result = shop.heal()
    assert result.by_name() == {"test_a": "correct", "test_b": "passed"}, result.out


def test_hooks(shop: Project) -> None:
    shop.write({
        "conftest.py": """
            class Lucky:
                name = "lucky"

                def __init__(self, options):
                    assert isinstance(options, dict)

                def respond(self, session):
                    assert session.context.message == "altered"
                    session.heal("amount = 21", explanation="a guess")

                def close(self):
                    print("CLOSED")

            def pytest_heal_agents(config):
                return {"lucky": Lucky}

            def pytest_heal_context(context):
                context.message = "altered"

            def pytest_heal_applied(event, item, config):
                print("APPLIED", event.by, item.name)

            def pytest_heal_refused(event, item, config):
                print("REFUSED", item.name)
        """,
    })
    result = shop.run("--heal=lucky", "-s", "-k", "correct", "--heal-accept=correct")
    assert result.ret == 0, result.out + result.err
    assert "APPLIED lucky test_correct" in result.out
    assert result.out.count("CLOSED") == 1
    assert shop.run("--heal=luckyy").err.count("did you mean 'lucky'?") == 1


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX signals")
def test_interrupting_a_pause_ends_cleanly(shop: Project) -> None:
    shop.write({"conftest.py": """
        import time

        class Slow:
            name = "slow"

            def __init__(self, options):
                pass

            def respond(self, session):
                open("paused", "w").close()
                time.sleep(60)

            def close(self):
                pass

        def pytest_heal_agents(config):
            return {"slow": Slow}
    """})
    running = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:asyncio", "--heal=slow", "--heal-report=report.json"],
        cwd=shop.folder, env=shop.environment({}), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    while not (shop.folder / "paused").exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 2, out
    assert "KeyboardInterrupt" in out
    assert "INTERNALERROR" not in out
    assert (shop.folder / "report.json").exists()


def test_a_dying_worker_loses_only_its_own_test(shop: Project) -> None:
    shop.write({"test_shop.py": """
        import os
        from shop import orders

        def test_correct():
            assert orders.amount_of({}) == 42

        def test_dies():
            os._exit(3)

        def test_correct_too():
            assert orders.amount_of({}) == 42
    """})
    result = shop.heal("-n1")
    outcomes = result.by_name()
    assert outcomes.pop("test_dies") in ("failed", "error")
    assert outcomes == {"test_correct": "correct", "test_correct_too": "correct"}


def test_pdb_opens_at_the_original_crash(shop: Project) -> None:
    shop.write({"test_shop.py": "from shop import orders\n\ndef test_a():\n    orders.parse('x')\n"})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:asyncio", "--heal=rules", "--pdb"], cwd=shop.folder, text=True,
        input="p 'text is ' + text\nq\n", capture_output=True, check=False,
        env=shop.environment({}), timeout=120)
    assert "text is x" in done.stdout, done.stdout


def test_crash_in_a_conftest_file(shop: Project) -> None:
    shop.write({
        "shop/config.py": "LIMITS = {}\nlimit = LIMITS['most']\n", "conftest.py": "from shop import config\n",
        "heals.yaml": "version: 1\nheals:\n  - when: {error: KeyError, message: most}\n    do: limit = 5\n",
        "test_shop.py": "def test_a():\n    pass\n",
    })
    for arguments in ((), ("-n2",)):
        result = shop.heal(*arguments)
        assert result.ret == 1, "the run was possible only after healing"
        assert {test["nodeid"]: test["outcome"] for test in result.report()["tests"]} == {
            "": "correct", "test_shop.py::test_a": "passed"}
        assert "(before the first test)" in result.out


def test_modules_imported_too_early_are_named(shop: Project) -> None:
    shop.write({"early.py": "from shop import orders\n"})
    result = shop.heal("-p", "early")
    header = [line for line in result.lines if line.startswith("heal: warning: imported before healing")]
    assert len(header) == 1
    assert "shop.orders" in header[0]
    assert [n["code"] for n in result.report()["run"]["notices"]].count("imported-early") == 1


def test_without_plugin_autoload(shop: Project) -> None:
    result = shop.python("-m", "pytest", "-p", "heal", "--heal=runbook", "--heal-runbook=heals.yaml",
                         "--heal-report=report.json", env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    assert result.by_name() == ALL


@pytest.mark.parametrize("source", ["shop", "shop.orders", "shop/orders.py", "./shop", "lib", "extra", "shop2"])
def test_sources(shop: Project, source: str) -> None:
    """Names, paths, and names that only `pythonpath` makes importable."""
    shop.write({
        "pytest.ini": "[pytest]\npythonpath = lib\n", "lib/extra/__init__.py": "def amount_of(o):\n    amount = o[0]\n",
        "shop2.py": "", "heals.yaml": "version: 1\nheals:\n  - when: {error: LookupError}\n    do: amount = 21\n",
        "test_shop.py": "import extra\nfrom shop import orders\n\ndef test_shop():\n    orders.amount_of({})\n\n"
                        "def test_extra():\n    extra.amount_of([])\n",
    })
    outcomes = shop.heal(f"--heal-source={source}").by_name()
    assert outcomes["test_shop"] == ("correct" if "shop" in source and "2" not in source else "failed")
    assert outcomes["test_extra"] == ("correct" if source in ("extra", "lib") else "failed")


def test_wrong_marks_in_workers_end_the_run(shop: Project) -> None:
    shop.write({"test_shop.py": "import pytest\n\n@pytest.mark.heal(agnt=1)\ndef test_a():\n    pass\n"})
    result = shop.heal("-n2")
    assert result.ret not in (0, 5)
    assert "does not know 'agnt'" in result.out + result.err
