"""Undecided exceptions are settled by running the failed test once more."""

from __future__ import annotations

import pytest

from .conftest import Project

# An `__exit__` that asks another function: nobody can tell before it has run.
MAYBE = """
    SWALLOWED = []

    class Maybe:
        def __init__(self, *kinds):
            self.kinds = kinds

        def __enter__(self):
            SWALLOWED[:] = self.kinds

        def __exit__(self, kind, error, traceback):
            return decide(kind)

    def decide(kind):
        return any(kind is swallowed for swallowed in SWALLOWED)
"""

TESTS = """
    import pytest
    from shop import orders
    from shop.maybe import Maybe

    RUNS = []

    @pytest.fixture(scope="module")
    def shared():
        RUNS.append("module")
        yield
        RUNS.append("module ends")

    @pytest.fixture
    def own(shared):
        RUNS.append("function")
        yield
        RUNS.append("function ends")

    def test_swallowed():
        with Maybe(KeyError):
            orders.amount_of({})

    def test_crashes(own, record_property):
        record_property("ran", "once")
        RUNS.append("test")
        with Maybe():
            assert orders.amount_of({}) == 42

    def test_ran_twice_from_its_fixtures():
        assert RUNS == ["module", "function", "test", "function ends", "function", "test", "function ends"]
"""


@pytest.fixture
def maybe(shop: Project) -> Project:
    return shop.write({"shop/maybe.py": MAYBE, "test_shop.py": TESTS})


@pytest.mark.parametrize("arguments", [(), ("-n1",)])
def test_a_failing_test_is_run_once_more(maybe: Project, arguments: tuple[str, ...]) -> None:
    result = maybe.heal("--junitxml=junit.xml", *arguments)
    assert result.by_name() == {
        "test_swallowed": "passed", "test_crashes": "correct", "test_ran_twice_from_its_fixtures": "passed"}, result.out
    row = next(test for test in result.report()["tests"] if test["outcome"] == "correct")
    assert row["second_look"] is True
    assert row["crashes"][0]["second_look"] is True
    assert "second look" in result.out
    ran = [p for p in result.junit().iter("property") if p.get("name") == "ran"]
    assert len(ran) == 1


@pytest.mark.parametrize("arguments", [("--heal-second-look=off",), ("-o", "heal_second_look=off")])
def test_off(maybe: Project, arguments: tuple[str, ...]) -> None:
    assert maybe.heal("-k", "crashes", *arguments).by_name() == {"test_crashes": "failed"}


def test_not_for_tests_marked_as_not_repeatable(maybe: Project) -> None:
    text = (maybe.folder / "test_shop.py").read_text().replace(
        "def test_crashes", "@pytest.mark.heal(second_look=False)\ndef test_crashes")
    (maybe.folder / "test_shop.py").write_text(text)
    assert maybe.heal("-k", "crashes").by_name() == {"test_crashes": "failed"}


def test_unittest_instances_are_new(maybe: Project) -> None:
    maybe.write({"test_shop.py": """
        import unittest
        from shop import orders
        from shop.maybe import Maybe

        class TestCase(unittest.TestCase):
            def test_a(self):
                self.assertFalse(hasattr(self, "seen"))
                self.seen = True
                with Maybe():
                    self.assertEqual(orders.amount_of({}), 42)

        class TestPlain:
            def test_b(self):
                assert not hasattr(self, "seen")
                self.seen = True
                with Maybe():
                    assert orders.amount_of({}) == 42
    """})
    assert maybe.heal().by_name() == {"test_a": "correct", "test_b": "correct"}


def test_output_of_the_first_run_is_dropped(maybe: Project) -> None:
    maybe.write({"test_shop.py": """
        from shop import orders
        from shop.maybe import Maybe

        def test_a():
            print("said in each run")
            with Maybe():
                assert orders.amount_of({}) == 43
    """})
    result = maybe.heal()
    assert result.by_name() == {"test_a": "proceed"}
    assert result.out.count("said in each run\n") == 1
