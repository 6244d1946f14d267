"""Runs the test of one program, in a process of this very Python. Imports cases and the machinery."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmark_suites.failures import of_report, of_usage_error
from benchmark_suites.programs.cases import Case
from benchmark_suites.releases.process import TIMEOUT, run_in
from benchmark_suites.results import BUDGET, OURS, RECORD, Result
from benchmark_suites.setting import ORACLE, Setting
from benchmark_suites.suite import Places
from benchmark_suites.tracing import counting
from benchmark_suites.tracing.completion import completed
from benchmark_suites.tracing.points import trace_of
from benchmark_suites.tracing.references import Reference, reference
from benchmark_suites.tracing.similarity import similarity

USAGE_ERROR = 4  # pytest's exit code for a wrong command line
MODULE = "program"
_PYTEST = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]


def run(case: Case, setting: Setting, places: Places, result: Result) -> None:
    """Run the test of ``case`` with an agent and fill ``result``, whatever goes wrong."""
    if setting.agent == ORACLE and not case.heals:
        result.broke(RECORD, f"{case.id} has no reviewed heals: nobody knows a right heal yet")
        return
    try:
        with _laid_out(case, case.program) as work:
            _run(case, setting, work, result, places.trace)
            if places.trace and result.crashes:
                _judge_trace(case, work, places, result)
    except subprocess.TimeoutExpired:
        result.broke(BUDGET, f"the test gave no result within {TIMEOUT:.0f} s")
        result.outcome = "timeout"


@contextlib.contextmanager
def _laid_out(case: Case, program: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="heal-program-") as folder:
        work = Path(folder)
        (work / f"{MODULE}.py").write_text(program, encoding="utf-8")
        (work / "test_program.py").write_text(case.test, encoding="utf-8")
        (work / "heals.yaml").write_text(case.heals, encoding="utf-8")
        (work / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        yield work


def _run(case: Case, setting: Setting, work: Path, result: Result, trace: bool) -> None:
    report = work / "report.json"
    options, variables = counting.arrange(work, [MODULE]) if trace and case.fixed else ([], {})
    agent = ["--heal=runbook", "--heal-runbook=heals.yaml"] if setting.agent == ORACLE else [f"--heal={setting.agent}"]
    further = [f"--{key.replace('_', '-')}={value}" for key, value in setting.options.items()]
    ran = run_in(work, [*_PYTEST, *options, *agent, f"--heal-source={work / MODULE}.py", *further,
                        f"--heal-report={report}", "test_program.py"], **variables)
    result.output = ran.stdout + ran.stderr
    result.python = f"{sys.version_info.major}.{sys.version_info.minor}"
    if ran.returncode == USAGE_ERROR:
        result.broke(*of_usage_error(result.output))
        return
    try:
        record = json.loads(report.read_text(encoding="utf-8"))
        (test,) = [test for test in record["tests"] if "::" in test["nodeid"]]
    except (OSError, ValueError, KeyError) as problem:
        result.broke(OURS, f"the run (exit code {ran.returncode}) left no report of one test: {problem}")
        return
    result.version = str(record["run"].get("version", ""))
    result.outcome, result.crashes, result.usage = test["outcome"], test["crashes"], test.get("usage", {})
    result.completed = result.outcome in ("correct", "proceed")
    of_report(result, record["run"].get("notices", ()))


def _judge_trace(case: Case, work: Path, places: Places, result: Result) -> None:
    """Completion as it was watched, and similarity to the run of the program without its mistake."""
    counted = counting.counted(work)
    if counted is None:
        result.trace = {"problem": "nobody knows the program without its mistake" if not case.fixed else
                        "the run ended before its trace was written"}
        return
    result.completed = completed(counted, result.crashes)
    result.observed = result.completed is not None
    digest = case.digest + counting.PLUGIN_DIGEST
    found = reference(places.references, f"programs-{case.id}", digest, lambda: _reference(case, digest))
    if found.trace is None:
        result.trace = {"problem": found.problem}
        return
    score = similarity(trace_of(counted), found.trace)
    result.trace = score.to_json() if score is not None else {"problem": "nothing of the program ran"}


def _reference(case: Case, digest: str) -> Reference:
    began = time.monotonic()
    with _laid_out(case, case.fixed) as work:
        options, variables = counting.arrange(work, [MODULE])
        ran = run_in(work, [*_PYTEST, *options, "test_program.py"], **variables)
        counted = counting.counted(work)
    if ran.returncode or counted is None:
        problem = f"without its mistake: pytest ended with {ran.returncode}:\n{(ran.stdout + ran.stderr)[-2000:]}"
        return Reference(case.id, digest, False, None, problem=problem)
    return Reference(case.id, digest, True, trace_of(counted), round(time.monotonic() - began, 3))


def problems(case: Case) -> list[str]:
    """What is not as recorded without healing: the test fails with the error in that line, and passes when mended."""
    found = []
    with _laid_out(case, case.program) as work:
        ran = run_in(work, [*_PYTEST, "test_program.py"])
    if ran.returncode != 1:
        found.append(f"the test should fail, but pytest ended with {ran.returncode}:\n{ran.stdout}")
    elif case.error and not (re.search(rf"^E   (\w+\.)*{re.escape(case.error)}\b", ran.stdout, re.MULTILINE)
                             and f"{MODULE}.py:{case.line}: " in ran.stdout):
        found.append(f"no {case.error} at {MODULE}.py:{case.line}:\n{ran.stdout}")
    if case.fixed:
        with _laid_out(case, case.fixed) as work:
            ran = run_in(work, [*_PYTEST, "test_program.py"])
        if ran.returncode:
            found.append(f"mended, the test should pass, but pytest ended with {ran.returncode}:\n{ran.stdout}")
    return found
