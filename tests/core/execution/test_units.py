"""Which test is running, under pytest, unittest and neither."""

import os
import subprocess
import sys
import threading
import unittest
from pathlib import Path
from unittest import mock

import pytest

from healguard_core.execution.units import current_unit, set_unit

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def no_unit_set():
    set_unit("")
    yield
    set_unit("")


def test_pytest_announces_its_test(request):
    assert current_unit() == str(request.node.nodeid)


@pytest.mark.parametrize("value", ["a b", "(call)", "x (call)"])
def test_only_the_phase_is_cut(value, request):
    assert current_unit() == str(request.node.nodeid)
    assert current_unit().endswith(f"[{value}]")


def test_a_unit_that_was_set_wins():
    set_unit("mine")
    assert current_unit() == "mine"


def test_a_test_that_replaces_or_clears_the_environment_keeps_its_name(request):
    with mock.patch.object(os, "environ", {}):
        assert current_unit() == str(request.node.nodeid)
    with mock.patch.dict(os.environ, clear=True):
        assert current_unit() == str(request.node.nodeid)


class Sample(unittest.TestCase):
    __test__ = False  # run by the tests below, under unittest
    found = ""

    def __getattribute__(self, name):
        if name == "id":
            raise AssertionError("asked")
        return super().__getattribute__(name)

    def test_one(self):
        type(self).found = current_unit()


class InThread(unittest.TestCase):
    __test__ = False  # run by the tests below, under unittest
    found = ""

    def test_one(self):
        def work():
            type(self).found = current_unit()

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


class Nested(unittest.TestCase):
    __test__ = False

    def test_one(self):
        Sample("test_one").run(unittest.TestResult())


class Asynchronous(unittest.IsolatedAsyncioTestCase):
    __test__ = False
    found = ""

    async def test_one(self):
        type(self).found = current_unit()


@pytest.mark.parametrize(
    ("case", "asked"), [(Sample, Sample), (InThread, InThread), (Nested, Sample), (Asynchronous, Asynchronous)]
)
def test_unittest_cases_are_found_on_the_stack(case, asked):
    asked.found = ""
    result = unittest.TestResult()
    with mock.patch.dict(os.environ):
        del os.environ["PYTEST_CURRENT_TEST"]
        case("test_one").run(result)
    assert result.errors == result.failures == []
    assert asked.found == f"{__name__}.{asked.__name__}.test_one"


@pytest.mark.parametrize("arguments", [[], ["-X", "faulthandler"]])
def test_a_plain_program_has_no_unit(arguments):
    program = "from healguard_core.execution.units import current_unit; print(repr(current_unit()))"
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    done = subprocess.run(
        [sys.executable, *arguments, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT,
        env=environment,
    )
    assert done.stdout == "''\n"
