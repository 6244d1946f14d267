"""A heal that leaves a statement does what the statement written in its place would do."""

import ast
import sys
import warnings
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from healguard_core.execution import hooks
from healguard_core.execution.instrument.rewrite import sites_of
from healguard_core.execution.instrument.sites import Site, innermost

from .programs import answering, compile_instrumented, compile_plain, decline, once, run
from .random_programs import MARK, Program, programs

WAYS = {"return": hooks.RETURN, "continue": hooks.CONTINUE, "break": hooks.BREAK}
many = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def site_of_crash(program: Program, number: int) -> Site:
    line = program.source.split("\n").index(
        next(line for line in program.source.split("\n") if line.strip() == MARK.format(number))
    )
    site = innermost(sites_of(program.source), line + 1)
    assert site is not None
    return site


def healed(program: Program, number: int, way: str) -> list[Any]:
    def answer(_site: int, _frame: FrameType, _exc: BaseException) -> Any:
        if way == "next":
            return Exception
        raise hooks.leave(WAYS[way], "healed")

    with answering(once(answer)):
        code = compile_instrumented(program.source)
        crashed: list[int] = []

        def crashing(called: int) -> bool:
            if called == number and not crashed:
                crashed.append(called)
                return True
            return False

        return run(code, program.call, crashing)


def written(program: Program, number: int, way: str) -> list[Any]:
    """The plain program with the way written out behind the first execution of the crashing call."""
    value = "" if program.kind == "asyncgen" else " 'healed'"
    statement = {"next": "pass", "return": "return" + value}.get(way, way)
    source = program.replaced(number, "\x00" + statement)
    lines = []
    for line in source.split("\n"):
        mark, found, action = line.partition("; \x00")
        if not found:
            lines.append(line)
            continue
        indent = mark[: len(mark) - len(mark.lstrip())]
        lines += [mark, f"{indent}if first():", f"{indent}    {action}"]
    source = "first = iter([True] + [False] * 1000).__next__\n" + "\n".join(lines)
    return run(compile_plain(source), program.call)


@many
@given(programs(), st.data())
def test_a_healed_program_does_what_the_written_one_does(program: Program, data: Any) -> None:
    number = data.draw(st.integers(0, program.crashes - 1))
    site = site_of_crash(program, number)
    way = data.draw(st.sampled_from(("next", *site.leaves)))
    assert healed(program, number, way) == written(program, number, way), f"{way} at boom({number})\n{program.source}"


@many
@given(programs(catching=True), st.data())
def test_a_declined_error_goes_on_as_in_the_plain_program(program: Program, data: Any) -> None:
    number = data.draw(st.integers(0, program.crashes - 1))
    with answering(decline):
        instrumented = run(compile_instrumented(program.source), program.call, number.__eq__)
    assert instrumented == run(compile_plain(program.source), program.call, number.__eq__)


@many
@given(programs(kinds=("plain", "generator", "coroutine", "asyncgen")))
def test_return_can_be_reached_from_everywhere_but_inside_of_final_blocks(program: Program) -> None:
    inside_final = _lines_in_nested_final_blocks(program.source)
    for number in range(program.crashes):
        site = site_of_crash(program, number)
        assert ("return" in site.leaves) or site.line in inside_final


def _lines_in_nested_final_blocks(source: str) -> set[int]:
    """Lines of ``finally`` bodies that stand in a further block which a transfer would disturb."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        for statement in getattr(node, "finalbody", ()):
            for inner in ast.walk(statement):
                if isinstance(inner, (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try)):
                    found.update(range(inner.lineno, (inner.end_lineno or inner.lineno) + 1))
    return found


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a retry jumps, which older versions restrict")
@many
@given(programs(), st.data())
def test_a_retried_program_does_what_it_would_have_done_without_the_crash(program: Program, data: Any) -> None:
    number = data.draw(st.integers(0, program.crashes - 1))
    sites = sites_of(program.source)
    assume(site_of_crash(program, number).can_retry)

    def answer(site: int, frame: FrameType, _exc: BaseException) -> Any:
        _jump(frame, sites[site].retry_line)
        return Exception

    with answering(once(answer)):
        crashed: list[int] = []

        def crashing(called: int) -> bool:
            if called == number and not crashed:
                crashed.append(called)
                return True
            return False

        log = run(compile_instrumented(program.source), program.call, crashing)
    if crashed:
        log.remove(("boom", number))
    assert log == run(compile_plain(program.source), program.call), program.source


def _jump(frame: FrameType, line: int) -> None:
    before = sys.gettrace(), frame.f_trace

    def tracer(current: FrameType, event: str, _argument: Any) -> Any:
        if current is frame and event == "line":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # 3.12 says that it binds unbound locals to None
                frame.f_lineno = line
            sys.settrace(before[0])
            frame.f_trace = before[1]
            return None
        return tracer

    frame.f_trace = tracer
    sys.settrace(tracer)
