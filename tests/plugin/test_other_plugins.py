"""Other plugins installed beside ours: timeout, rerunfailures, cov, asyncio, hypothesis, html, json-ctrf."""

from __future__ import annotations

import json

import pytest

from .conftest import Project
from .test_second_look import MAYBE

SLOW = """
    import time

    class Slow:
        name = "slow"

        def __init__(self, options):
            pass

        def respond(self, session):
            time.sleep(1.6)
            session.heal("amount = 21")

        def close(self):
            pass

    def pytest_heal_agents(config):
        return {"slow": Slow}
"""


@pytest.mark.parametrize("method", ["signal", "thread"])
@pytest.mark.parametrize("func_only", ["false", "true"])
def test_paused_time_does_not_count_for_timeout(shop: Project, method: str, func_only: str) -> None:
    pytest.importorskip("pytest_timeout")
    shop.write({"conftest.py": SLOW})
    result = shop.run("--heal=slow", "--heal-accept=correct", "-k", "correct", "--timeout=1",
                      f"--timeout-method={method}", "-o", f"timeout_func_only={func_only}")
    assert result.ret == 0, result.out + result.err


def test_a_hanging_test_still_times_out(shop: Project) -> None:
    pytest.importorskip("pytest_timeout")
    shop.write({"conftest.py": SLOW, "test_shop.py": """
        import time
        from shop import orders

        def test_hangs():
            orders.amount_of({})
            time.sleep(30)
    """})
    result = shop.run("--heal=slow", "--timeout=1", "--timeout-method=signal", "--heal-report=report.json")
    assert result.ret == 1
    assert "Timeout" in result.out


FLAKY = """
    from shop import orders

    runs = []

    def test_flaky():
        runs.append(1)
        orders.amount_of({} if len(runs) == 1 else {"amount": 1})
        assert len(runs) > 1

    def test_always():
        assert orders.amount_of({}) == 43
"""


def test_reruns_are_not_healed_unless_asked(shop: Project) -> None:
    pytest.importorskip("pytest_rerunfailures")
    shop.write({"test_shop.py": FLAKY})
    result = shop.heal("--reruns=1", "-p", "rerunfailures")
    assert result.by_name() == {"test_flaky": "passed", "test_always": "failed"}
    assert result.outcomes == {"passed": 1, "failed": 1, "rerun": 2}
    asked = shop.heal("--reruns=1", "-o", "heal_reruns=true")
    assert asked.by_name() == {"test_flaky": "passed", "test_always": "proceed"}


def test_a_healed_test_is_not_rerun(shop: Project) -> None:
    pytest.importorskip("pytest_rerunfailures")
    result = shop.heal("--reruns=2", "-k", "correct")
    assert (result.ret, result.outcomes) == (1, {"correct": 1, "deselected": 4})


def test_a_rerun_is_the_second_look(shop: Project) -> None:
    pytest.importorskip("pytest_rerunfailures")
    shop.write({"shop/maybe.py": MAYBE, "test_shop.py": """
        from shop import orders
        from shop.maybe import Maybe

        def test_a():
            with Maybe():
                assert orders.amount_of({}) == 42
    """})
    result = shop.heal("--reruns=1")
    assert result.by_name() == {"test_a": "correct"}
    assert result.outcomes == {"correct": 1, "rerun": 1}


def test_coverage_is_unchanged(shop: Project) -> None:
    pytest.importorskip("pytest_cov")

    def covered(*arguments: str) -> dict[str, list[int]]:
        shop.run("-k", "plain or proceed", "--cov=shop", "--cov-report=json:cov.json", *arguments)
        files = json.loads((shop.folder / "cov.json").read_text())["files"]
        return {name: file["executed_lines"] for name, file in files.items()}

    shop.write({"test_shop.py": "from shop import orders\n\ndef test_plain():\n"
                                "    assert orders.total([{'amount': 1}]) == 1\n"})
    assert covered() == covered("--heal=rules")


def test_asyncio(shop: Project) -> None:
    pytest.importorskip("pytest_asyncio")
    shop.write({"test_shop.py": """
        import pytest
        from shop import orders

        @pytest.mark.asyncio
        async def test_a():
            assert orders.amount_of({}) == 42
    """})
    result = shop.python("-m", "pytest", "--heal=runbook", "--heal-runbook=heals.yaml", "--heal-report=report.json",
                         "-o", "asyncio_default_fixture_loop_scope=function")
    assert result.by_name() == {"test_a": "correct"}, result.out + result.err


def test_hypothesis_is_left_alone_unless_asked(shop: Project) -> None:
    shop.write({"test_shop.py": """
        from hypothesis import given, settings, strategies as st
        from shop import orders

        @settings(deadline=None, max_examples=20, database=None)
        @given(st.integers(0, 3))
        def test_a(number):
            assert orders.amount_of({"amount": 21} if number < 2 else {}) == 42
    """})
    result = shop.heal()
    assert result.by_name() == {"test_a": "failed"}
    assert "Flaky" not in result.out
    assert "KeyError" in result.out
    assert shop.heal("-o", "heal_hypothesis=true").by_name() == {"test_a": "correct"}


def test_html_and_ctrf_beside_ours(shop: Project) -> None:
    pytest.importorskip("pytest_html")
    arguments = ["-p", "no:asyncio", "--heal=runbook", "--heal-runbook=heals.yaml", "--heal-report=report.json"]
    result = shop.python("-m", "pytest", *arguments, "--html=page.html", "--self-contained-html")
    assert result.ret == 1, result.err
    assert "INTERNALERROR" not in result.out + result.err
    assert (shop.folder / "page.html").exists()
    assert len(result.report()["tests"]) == 5
