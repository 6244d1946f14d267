"""An instrumented program cannot be told from the plain one: results, lines, tracebacks, names."""

import ast
import linecache
import sys
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from healguard_core.execution.instrument.rewrite import rewrite

from .programs import FILE, answering, compile_instrumented, compile_plain, decline, execute, never, run
from .random_programs import Program, programs

many = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
STDLIB = sorted(Path(ast.__file__).parent.glob("*.py"))
SAMPLE = STDLIB[::12]


def codes(code: CodeType, path: str = "") -> Iterator[tuple[str, CodeType]]:
    yield path + code.co_name, code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant, f"{path}{code.co_name}.")


def lines_of(code: CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line}


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.stem)
def test_code_objects_of_the_standard_library_keep_names_flags_and_lines(path: Path) -> None:
    source = path.read_text("utf-8")
    plain = list(codes(compile(source, str(path), "exec", dont_inherit=True)))
    tree = rewrite(ast.parse(source), source).tree
    instrumented = list(codes(compile(tree, str(path), "exec", dont_inherit=True)))
    assert [name for name, _ in instrumented] == [name for name, _ in plain]
    for (name, ours), (_, theirs) in zip(instrumented, plain, strict=True):
        assert set(ours.co_varnames) == set(theirs.co_varnames), name
        assert ours.co_varnames[: ours.co_argcount] == theirs.co_varnames[: theirs.co_argcount], name
        assert ours.co_freevars == theirs.co_freevars, name
        assert set(ours.co_cellvars) == set(theirs.co_cellvars), name
        assert ours.co_flags == theirs.co_flags, name
        assert ours.co_firstlineno == theirs.co_firstlineno, name
        assert lines_of(theirs) <= lines_of(ours), name


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.stem)
def test_hardly_any_line_is_added_to_those_that_a_tracer_can_see(path: Path) -> None:
    source = path.read_text("utf-8")
    plain = dict(codes(compile(source, str(path), "exec", dont_inherit=True)))
    tree = rewrite(ast.parse(source), source).tree
    added = set()
    for name, code in codes(compile(tree, str(path), "exec", dont_inherit=True)):
        added |= lines_of(code) - lines_of(plain[name]) if code.co_firstlineno == plain[name].co_firstlineno else set()
    # Code behind a `raise` can be reached by a heal, so it gets lines that the plain compiler drops.
    assert len(added) <= 2


def traced(code: CodeType, program: Program, crashing: Any) -> list[Any]:
    """Every event that a tracer sees in the program's own code."""
    events: list[Any] = []

    def tracer(frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename != FILE:
            return None
        events.append((event, frame.f_code.co_name, frame.f_lineno))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        log = run(code, program.call, crashing)
    finally:
        sys.settrace(before)
    return [events, log]


def _steps(traced: list[Any]) -> list[Any]:
    """The events; a line that is begun again with nothing in between counts once."""
    events: list[Any] = []
    for event in traced[0]:
        if event[0] != "line" or events[-1:] != [event]:
            events.append(event)
    return [events, *traced[1:]]


def _lines_are_settled(program: Program) -> bool:
    """Whether the compiler gives the program the same lines wherever it is put.

    3.11 and 3.12 give the end of a ``finally`` body that is copied for a ``return`` the line of whatever stands
    before; 3.13 drops the line of a ``with`` that is left from an ``async for``, but not inside of a ``try``.
    """
    source = program.source
    if sys.version_info < (3, 13):
        return not ("finally:" in source and "return" in source)
    return sys.version_info[:2] != (3, 13) or not ("async for" in source and "with" in source)


@many
@given(programs().filter(_lines_are_settled))
def test_a_tracer_sees_the_same_events_when_nothing_is_raised(program: Program) -> None:
    plain = traced(compile_plain(program.source), program, never)
    assume(all(event[0] != "exception" for event in plain[0]))
    assert _steps(traced(compile_instrumented(program.source), program, never)) == _steps(plain)


def arcs(traced: list[Any]) -> set[tuple[str, int, int]]:
    """From which line to which a function went, as coverage tools count it; -1 is the way in and out.

    An error that passes our handlers takes a detour over line 0, or touches its own line again.
    """
    found: set[tuple[str, int, int]] = set()
    stack: list[tuple[str, int]] = []
    for kind, name, line in traced[0]:
        if kind == "call":
            stack.append((name, -1))
        elif kind in ("line", "return"):
            _, before = stack.pop()
            now = line if kind == "line" else -1
            if before != now and 0 not in (before, now):
                found.add((name, before, now))
            if kind == "line":
                stack.append((name, line))
    return found


@many
@given(programs(catching=True).filter(_lines_are_settled), st.data())
def test_no_step_from_line_to_line_is_invented(program: Program, data: Any) -> None:
    crashing = data.draw(st.sampled_from([never, *(number.__eq__ for number in range(program.crashes))]))
    plain = traced(compile_plain(program.source), program, crashing)
    with answering(decline):
        ours = traced(compile_instrumented(program.source), program, crashing)
    assert arcs(ours) <= arcs(plain)
    assert ours[1:] == plain[1:]
    seen = [{event[1:] for event in events[0] if event[0] == "line" and event[2]} for events in (ours, plain)]
    assert seen[0] == seen[1]


def uncaught(code: CodeType, program: Program, crashing: Any) -> str:
    """The traceback that the program ends with, "" for none."""
    linecache.cache[FILE] = len(program.source), None, program.source.splitlines(keepends=True), FILE
    try:
        execute(code, program.call, [], crashing)
    except Exception:
        return traceback.format_exc()
    return ""


@many
@given(programs(catching=True), st.data())
def test_the_traceback_of_an_uncaught_error_is_the_same_to_the_caret(program: Program, data: Any) -> None:
    number = data.draw(st.integers(0, program.crashes - 1))
    plain = uncaught(compile_plain(program.source), program, number.__eq__)
    with answering(decline):
        assert uncaught(compile_instrumented(program.source), program, number.__eq__) == plain


CRASHES = {
    "subexpression": "x = {'a': {'b': 1}}\ny = (x['a']\n      ['c']['d'])\n",
    "call over lines": "def f(a, b):\n    return a / b\nprint(\n    f(1,\n      0))\n",
    "raise from": "try:\n    {}['k']\nexcept KeyError as error:\n    raise ValueError('no k') from error\n",
    "raise while handling": (
        "def f():\n    try:\n        return {}['k']\n    except KeyError:\n        return [][0]\nf()\n"
    ),
    "bare raise": "try:\n    try:\n        1 / 0\n    finally:\n        x = 1\nexcept ZeroDivisionError:\n    raise\n",
    "comprehension": "x = [1 / i\n     for i in (1, 0)]\n",
    "loop header": "for x in 3:\n    pass\n",
    "with header": "with open('/nowhere/at/all') as file:\n    pass\n",
    "decorator": "@undefined\ndef f():\n    pass\n",
    "class body": "class C:\n    x = 1 / 0\n",
    "default": "def f(\n    a=1 / 0,\n):\n    pass\n",
    "generator": "def g():\n    yield 1\n    yield 1 / 0\nfor x in g():\n    pass\n",
    "return": "def f():\n    return f.missing\nf()\n",
    "note": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    error.add_note('seen')\n    raise\n",
    "group": "try:\n    raise ExceptionGroup('g', [ValueError(1), KeyError(2)])\nexcept* ValueError:\n    pass\n",
    "assertion": "def f(a):\n    assert a == 2, 'two'\nf(1)\n",
    "del": "def f():\n    del x\n    x = 1\nf()\n",
    "exit": "import sys\nwith open(__file__) as file:\n    sys.exit(3)\n",
}


@pytest.mark.parametrize("name", CRASHES)
def test_the_traceback_of_each_kind_of_crash_is_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / "crash.py"
    path.write_text(CRASHES[name])
    plain = compile(CRASHES[name], str(path), "exec", dont_inherit=True)
    tree = rewrite(ast.parse(CRASHES[name]), CRASHES[name]).tree
    ours = compile(tree, str(path), "exec", dont_inherit=True)

    def text(code: CodeType) -> str:
        try:
            exec(code, {"__name__": "crash", "__file__": str(path)})
        except BaseException:
            return traceback.format_exc()
        raise AssertionError("the program did not crash")

    with answering(decline):
        assert text(ours) == text(plain)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_optimisation_levels_mean_what_they_mean_in_plain_code(level: int) -> None:
    source = "'doc'\ndef f():\n    'doc of f'\n    assert False\n    return __debug__\nclass C:\n    'doc of C'\n"
    ours: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    exec(compile_instrumented(source, optimize=level), ours)
    exec(compile_plain(source, optimize=level), plain)
    for name in ("f", "C"):
        assert ours[name].__doc__ == plain[name].__doc__
    assert ours.get("__doc__") == plain.get("__doc__")
    if level:
        assert ours["f"]() is plain["f"]() is False
    else:
        with answering(decline), pytest.raises(AssertionError):
            ours["f"]()


def test_namespaces_are_the_same() -> None:
    source = (
        "from __future__ import annotations\nx: int = 1\ny: int\nclass C:\n    'd'\n    a: int = 2\n    b: str\n"
        "    def m(self): return __class__\n__all__ = ['x']\n"
    )
    ours: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    exec(compile_instrumented(source), ours)
    exec(compile_plain(source), plain)
    assert set(ours) == set(plain)
    assert ours["C"].__annotations__ == plain["C"].__annotations__
    assert list(vars(ours["C"])) == list(vars(plain["C"]))
    assert ours["C"]().m() is ours["C"]


def test_a_namespace_that_invents_values_never_sees_our_names() -> None:
    source = """
    class Inventing(dict):
        def __missing__(self, key):
            asked.append(key)
            return key
    class Meta(type):
        def __prepare__(name, bases):
            return Inventing()
    asked = []
    class C(metaclass=Meta):
        x = undefined
        y = undefined + 1
    """
    namespace: dict[str, Any] = {}
    with answering(lambda _site, _frame, exc: Exception if isinstance(exc, TypeError) else ()):
        exec(compile_instrumented(source), namespace)
    assert set(namespace["asked"]) == {"__name__", "undefined"}
    assert namespace["C"].x == "undefined"
    assert not hasattr(namespace["C"], "y")
