"""What ran and how calls ended: counted in real runs of pytest, and compared between versions of a program."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_suites.tracing import counting
from benchmark_suites.tracing.completion import completed
from benchmark_suites.tracing.points import Trace, statements_of, trace_of
from benchmark_suites.tracing.references import Reference, reference
from benchmark_suites.tracing.similarity import similarity

from ..core.pythons import other_pythons, run

PROGRAM = """
    import asyncio

    def inner(values):
        total = 0
        for value in values:
            if value > 1:
                total += value[
                    "amount"] if isinstance(value, dict) else value
        return total

    def outer(values):
        return inner(
            values)

    def nothing():
        return None

    def steps():
        yield 1
        yield 2

    def broken_steps():
        yield 1
        raise KeyError("b")

    async def waits():
        await asyncio.sleep(0)
        return 5

    def fails():
        try:
            inner([None])
        finally:
            nothing()

    def suspended():
        yield 1

    def catches():
        try:
            inner([None])
        except TypeError:
            return 0
"""

TESTS = """
    import asyncio, threading
    import shop

    before = shop.outer([1])

    def test_calls():
        assert shop.outer([1, 2, 3]) == 5
        assert shop.nothing() is None
        assert list(shop.steps()) == [1, 2]
        next(shop.steps())
        asyncio.run(shop.waits())
        shop.catches()
        thread = threading.Thread(target=shop.nothing)
        thread.start()
        thread.join()
        thrown_into = shop.suspended()
        next(thrown_into)
        try:
            thrown_into.throw(KeyError("thrown"))
        except KeyError:
            pass
        for step in (shop.broken_steps, shop.fails):
            try:
                list(step() or ())
            except (KeyError, TypeError):
                pass
"""


def count(folder: Path, python: str = sys.executable, program: str = PROGRAM, tests: str = TESTS,
          *arguments: str) -> dict[str, Any]:
    """What is counted when ``tests`` run with ``program`` as module ``shop``."""
    for name, text in (("shop.py", program), ("test_shop.py", tests)):
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    options, variables = counting.arrange(folder, ["shop"])
    ran = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *arguments, "test_shop.py"],
                         cwd=folder, env={"PATH": "", **variables}, capture_output=True, text=True, check=False)
    found = counting.counted(folder)
    assert found is not None, ran.stdout + ran.stderr
    return found


def _check_calls(found: dict[str, Any]) -> None:
    calls = [(call["function"], call["ended"]) for call in found["calls"]]
    assert calls == [
        ("outer", "returned"), ("nothing", "returned"), ("steps", "returned"), ("steps", "yielded"),
        ("waits", "returned"), ("catches", "returned"), ("nothing", "returned"), ("suspended", "raised"),
        ("broken_steps", "raised"), ("fails", "raised")]
    assert found["complete"]
    last = found["calls"][-1]["raised"]
    assert {(file, error) for file, _, error in last} == {("shop.py", "TypeError")}


def test_how_calls_end(tmp_path: Path) -> None:
    """Returns of None are told from errors, generators and coroutines from functions; imports do not count."""
    _check_calls(count(tmp_path))


@pytest.mark.pythons
@pytest.mark.parametrize("python", other_pythons((3, 8), (3, 14)))
def test_how_calls_end_on_other_pythons(python: str, tmp_path: Path) -> None:
    if run(python, "-c", "import pytest").returncode:
        pytest.skip("this Python has no pytest")
    _check_calls(count(tmp_path, python))


def test_healing_leaves_no_trace_of_its_own(tmp_path: Path) -> None:
    """An instrumented run that heals nothing has the same counts as a plain one, errors included."""
    places = []
    for name, arguments in (("plain", ("-p", "no:heal")), ("instrumented", ("--heal=reraise", "--heal-source=shop"))):
        (tmp_path / name).mkdir()
        places.append(trace_of(count(tmp_path / name, sys.executable, PROGRAM, TESTS, *arguments)))
    found = similarity(places[1], places[0])
    assert found is not None
    assert (found.overlap, found.equal) == (1.0, 1.0)
    assert (found.files, found.functions) == (1, 9)


FIXED = PROGRAM
for old, new in (("    def outer", "    LIMIT = 1\n\n    def outer"), ("total = 0", "total = 0  # new"),
                 ("if value > 1", "if value and value > LIMIT")):
    FIXED = FIXED.replace(old, new)


def test_moved_statements_keep_their_points(tmp_path: Path) -> None:
    """A fix that moves lines and changes one statement changes one point."""
    traces = []
    for name, program in (("buggy", PROGRAM), ("fixed", FIXED)):
        (tmp_path / name).mkdir()
        traces.append(trace_of(count(tmp_path / name, sys.executable, program,
                                     "import shop\n\ndef test_it():\n    shop.outer([1, 2, 3])\n")))
    buggy, fixed = traces
    assert len(buggy.points.keys() ^ fixed.points.keys()) == 2
    total, changed = sum(buggy.points.values()), 3
    found = similarity(buggy, fixed)
    assert found is not None
    assert found.overlap == pytest.approx((total - changed) / (total + changed))
    assert found.equal == pytest.approx(5 / 6)


def test_same_text_in_one_function_is_told_apart() -> None:
    found = statements_of(b"def f():\n    x()\n    x()\n    if a:\n        x()\n\ndef g():\n    x()\n")
    same = [(each.function, each.ordinal) for each in found if each.text == "x()"]
    assert same == [("f", 0), ("f", 1), ("f", 2), ("g", 0)]


def test_source_that_is_gone_leaves_the_trace_incomplete(tmp_path: Path) -> None:
    found = count(tmp_path)
    (tmp_path / "shop.py").unlink()
    trace = trace_of(found)
    assert not trace.complete
    assert trace.points == {}


COUNTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 9))


@given(COUNTS, COUNTS)
def test_similarity_is_a_share(one: dict[str, int], two: dict[str, int]) -> None:
    first, second = (Trace(points, (), (), True) for points in (one, two))
    found, mirrored = similarity(first, second), similarity(second, first)
    if not one or not two:
        assert found is None
        return
    assert found is not None
    assert mirrored is not None
    assert 0 <= found.overlap <= 1
    assert 0 <= found.equal <= 1
    assert found.overlap == mirrored.overlap
    assert (found.overlap == 1) == (one == two)


def _crash(line: int, healed: bool = True, error: str = "KeyError", statement: str = "x") -> dict[str, Any]:
    return {"file": "/env/lib/shop.py", "line": line, "error": error, "statement": statement,
            "heal": {"verdict": "gated"} if healed else None}


def _call(ended: str, *lines: int) -> dict[str, Any]:
    raised = [["shop.py", line, "KeyError"] for line in lines]
    return {"file": "shop.py", "function": "f", "ended": ended, "raised": raised}


@pytest.mark.parametrize(
    ("calls", "crashes", "wanted"),
    [
        ([_call("returned", 3)], [_crash(3)], True),
        ([_call("yielded", 3)], [_crash(3)], True),
        ([_call("raised", 3)], [_crash(3)], False),
        ([_call("running", 3)], [_crash(3)], False),
        ([_call("raised", 9), _call("returned", 3)], [_crash(3)], True),
        ([_call("returned", 3), _call("raised", 5)], [_crash(3), _crash(5, healed=False)], False),
        ([_call("returned", 3)], [_crash(3, healed=False)], False),
        ([_call("returned", 3)], [], False),
        ([_call("returned", 7)], [_crash(3)], None),
        ([_call("returned", 4)], [_crash(3, statement="f(\n  x)")], True),
        ([_call("returned", 3)], [_crash(3, error="TypeError")], None),
    ],
)
def test_completion_is_that_of_the_call_that_crashed(
    calls: list[dict[str, Any]], crashes: list[dict[str, Any]], wanted: bool | None
) -> None:
    assert completed({"calls": calls, "complete": True}, crashes) is wanted
    if wanted:
        assert completed({"calls": calls, "complete": False}, crashes) is None


def test_references_are_kept_until_the_instance_changes(tmp_path: Path) -> None:
    made = []

    def make(digest: str, trace: Trace | None) -> Reference:
        made.append(digest)
        return Reference("a", digest, trace is not None, trace, 1.0, "" if trace else "no wheel")

    trace = Trace({"p": 1}, ("shop.py",), ("shop.py:f",), True)
    assert reference(tmp_path, "a", "1", lambda: make("1", None)).problem == "no wheel"
    for digest in ("1", "1", "2"):
        found = reference(tmp_path, "a", digest, lambda digest=digest: make(digest, trace))  # type: ignore[misc]
        assert found.trace == trace
    assert made == ["1", "1", "2"], "a failed one is tried again, a kept one is not"
    (tmp_path / "a.json").write_text("{", encoding="utf-8")
    reference(tmp_path, "a", "2", lambda: make("2", trace))
    assert made[-1] == "2"
    assert len(made) == 4
