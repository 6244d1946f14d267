"""The agents that look at nothing: reraise, retry, rollback and steamroller."""

from __future__ import annotations

import pytest

from .conftest import Project

PROGRAM = """
    CALLS = []

    def flaky(fails):
        CALLS.append("start")
        if len(CALLS) <= fails:
            raise ConnectionError("not yet")
        return len(CALLS)

    def ask(fails):
        answer = flaky(fails)
        return answer

    def label(order):
        name = order["name"]
        first, *rest = order["parts"]
        return [name, first, rest]

    def look_up(order):
        return order["name"]

    def total(orders):
        result = 0
        for order in orders:
            result += order["amount"]
        return result
"""

TESTS = """
    import pytest
    from shop import work

    RUNS, BEFORE = [], []

    @pytest.fixture
    def fresh():
        RUNS.append("set up")
        yield
        RUNS.append("torn down")

    @pytest.fixture
    def clean():
        work.CALLS.clear()

    def test_fails_once(clean):
        assert work.ask(1) == 2

    def test_always_fails(clean):
        assert work.ask(1000) == "never"

    def test_names_and_return():
        assert work.label({}) == [None, None, None]
        assert work.look_up({}) is None

    def test_statement_in_loop():
        assert work.total([{"amount": 1}, {}, {"amount": 2}]) == 3

    def test_from_its_start(fresh):
        RUNS.append("called")
        BEFORE.append(len(work.CALLS))
        work.ask(BEFORE[0] + 1)
        assert RUNS == ["set up", "called", "torn down", "set up", "called"]
"""


@pytest.fixture
def work(project: Project) -> Project:
    return project.write({"shop/__init__.py": "", "shop/work.py": PROGRAM, "test_work.py": TESTS})


@pytest.mark.parametrize(
    ("agent", "names", "loop", "once", "always", "start"),
    [
        ("reraise", "reraised", "reraised", "reraised", "reraised", "reraised"),
        ("retry", "halted", "halted", "correct", "halted", "proceed"),
        ("rollback", "halted", "halted", "halted", "halted", "correct"),
        ("steamroller", "correct", "correct", "proceed", "proceed", "proceed"),
    ],
)
def test_what_each_reaches(
    work: Project, agent: str, names: str, loop: str, once: str, always: str, start: str
) -> None:
    """``rollback`` starts from the fixtures: what the fixture resets fails again, what it leaves does not."""
    ran = work.run(f"--heal={agent}", "--heal-report=report.json")
    assert ran.ret == 1, ran.out + ran.err
    assert ran.by_name() == {
        "test_fails_once": once, "test_always_fails": always, "test_names_and_return": names,
        "test_statement_in_loop": loop, "test_from_its_start": start,
    }


def test_retry_gives_up(work: Project) -> None:
    """The same error at the same place is tried again three times, then it goes on."""
    ran = work.run("--heal=retry", "--heal-report=report.json", "-k", "always")
    (test,) = ran.report()["tests"]
    kinds = [[action["kind"] for action in crash["actions"]][-1] for crash in test["crashes"]
             if crash["error"] == "ConnectionError"]
    assert kinds == ["submit"] * 3 + ["reraise"]
    assert "failed again after 3 retries" in test["crashes"][-1]["reason"]


def test_rollback_is_on_record(work: Project) -> None:
    """The first run's crash counts as healed by the rollback; the second run's is let go."""
    ran = work.run("--heal=rollback", "--heal-report=report.json", "-k", "always")
    (test,) = ran.report()["tests"]
    first, second = test["crashes"]
    assert first["heal"]["resume"] == "rollback"
    assert second["heal"] is None
    assert ran.outcomes == {"halted": 1, "deselected": 4}


@pytest.mark.parametrize("agent", ["retry", "steamroller"])
def test_no_model_is_accepted(work: Project, agent: str) -> None:
    ran = work.run(f"--heal={agent}", "--heal-model=gpt")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert "uses no model" in ran.err
