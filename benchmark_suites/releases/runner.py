"""Runs the target test of one instance in its environment. Imports all of this suite, and the machinery."""

import dataclasses
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmark_suites.failures import of_report, of_usage_error
from benchmark_suites.releases import older_python, provision
from benchmark_suites.releases.environments import Environment, Environments, EnvironmentUnavailable
from benchmark_suites.releases.instances import Instance
from benchmark_suites.releases.process import TIMEOUT, lay_out, run_in
from benchmark_suites.results import BUDGET, ENVIRONMENT, OURS, RECORD, TIMED_OUT, Result
from benchmark_suites.setting import ORACLE, Setting
from benchmark_suites.suite import Places
from benchmark_suites.tracing import counting
from benchmark_suites.tracing.completion import completed
from benchmark_suites.tracing.points import trace_of
from benchmark_suites.tracing.references import Reference, reference
from benchmark_suites.tracing.similarity import similarity

USAGE_ERROR = 4  # pytest's exit code for a wrong command line


def run(instance: Instance, setting: Setting, places: Places, result: Result) -> None:
    """Run the target test of ``instance`` in its buggy release and fill ``result``, whatever goes wrong."""
    environments = Environments(places.environments)
    if setting.agent == ORACLE and instance.runbook is None:
        result.broke(RECORD, f"{instance.folder} has no heals.yaml: nobody knows a right heal yet")
        return
    try:
        environment = environments.get(instance)
        result.python = ".".join(map(str, environment.version))
        with tempfile.TemporaryDirectory(prefix="heal-instance-") as folder:
            work = Path(folder)
            lay_out(instance, work)
            if environment.version >= provision.PLUGIN_FROM:
                plugin = provision.install_plugin(environments, environment, instance.requirements_buggy)
                _run_plugin(instance, setting, environment, work, result, places.trace, plugin)
            else:
                older_python.run(instance, setting, environment, work, result, places.trace)
            if places.trace:
                _judge_trace(instance, environments, places, counting.counted(work), result)
    except EnvironmentUnavailable as problem:
        result.broke(ENVIRONMENT, str(problem))
    except subprocess.TimeoutExpired:
        result.broke(BUDGET, f"the target test gave no result within {TIMEOUT:.0f} s")
        result.outcome = TIMED_OUT


def _run_plugin(
    instance: Instance, setting: Setting, environment: Environment, work: Path, result: Result, trace: bool, plugin: str
) -> None:
    report = work / "report.json"
    options, variables = counting.arrange(work, instance.import_roots) if trace else ([], {})
    command = [str(environment.python), "-m", "pytest", "-q", "-o", f"cache_dir={environment.path / 'heal-cache'}",
               *options, *plugin_options(instance, setting), f"--heal-report={report}", instance.test.name]
    ran = run_in(work, command, PYTHONPATH=plugin, **variables)
    result.output = ran.stdout + ran.stderr
    if ran.returncode == USAGE_ERROR:
        result.broke(*of_usage_error(result.output))
        return
    try:
        record = json.loads(report.read_text(encoding="utf-8"))
        (test,) = [test for test in record["tests"] if "::" in test["nodeid"]]  # others are crashes while collecting
    except (OSError, ValueError, KeyError) as problem:
        result.broke(OURS, f"the run (exit code {ran.returncode}) left no report of one test: {problem}")
        return
    result.version = str(record["run"].get("version", ""))
    result.outcome, result.crashes, result.usage = test["outcome"], test["crashes"], test.get("usage", {})
    result.completed = result.outcome in ("correct", "proceed")
    of_report(result, record["run"].get("notices", ()))


def _judge_trace(
    instance: Instance, environments: Environments, places: Places, counted: dict[str, Any] | None, result: Result
) -> None:
    """Completion as it was watched, and similarity to the reference run."""
    if counted is None:
        result.trace = {"problem": "the run ended before its trace was written"}
        result.completed = True if result.right else None
        return
    result.completed = completed(counted, result.crashes)
    result.observed = result.completed is not None
    found = reference_of(instance, environments, places)
    if found.trace is None:
        result.trace = {"problem": found.problem}
        return
    score = similarity(trace_of(counted), found.trace)
    result.trace = score.to_json() if score is not None else {"problem": "nothing of the package ran"}


def reference_of(instance: Instance, environments: Environments, places: Places) -> Reference:
    """The reference run of ``instance``: its target test in the fixed release, without healing."""
    digest = instance.digest + counting.PLUGIN_DIGEST
    return reference(places.references, instance.id, digest, lambda: _run_reference(instance, environments, digest))


def _run_reference(instance: Instance, environments: Environments, digest: str) -> Reference:
    began = time.monotonic()
    nothing = Reference(instance.id, digest, False, None)
    try:
        environment = environments.get(instance, "fixed")
        with tempfile.TemporaryDirectory(prefix="heal-reference-") as folder:
            work = Path(folder)
            lay_out(instance, work)
            options, variables = counting.arrange(work, instance.import_roots)
            ran = run_in(work, [environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options,
                                *instance.pytest_options, instance.test.name], **variables)
            counted = counting.counted(work)
    except EnvironmentUnavailable as problem:
        return dataclasses.replace(nothing, problem=f"fixed version: {problem}")
    except subprocess.TimeoutExpired:
        return dataclasses.replace(nothing, problem=f"fixed version: no result within {TIMEOUT:.0f} s")
    if ran.returncode or counted is None:
        said = (ran.stdout + ran.stderr)[-2000:]
        return dataclasses.replace(nothing, problem=f"fixed version: pytest ended with {ran.returncode}:\n{said}")
    return Reference(instance.id, digest, True, trace_of(counted), round(time.monotonic() - began, 3))


def plugin_options(instance: Instance, setting: Setting) -> list[str]:
    """The options of the plugin for ``instance``."""
    agent = "runbook" if setting.agent == ORACLE else setting.agent
    given = [*instance.pytest_options, f"--heal={agent}", *(f"--heal-source={root}" for root in instance.import_roots)]
    if setting.agent == ORACLE:
        given.append(f"--heal-runbook={instance.runbook}")
    return given + [f"--{key.replace('_', '-')}={value}" for key, value in setting.options.items()]
