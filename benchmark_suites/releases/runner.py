"""Runs the target test of one instance in its environment. Imports the other modules of this suite and results."""

import dataclasses
import datetime
import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmark_suites.releases import older_python, provision
from benchmark_suites.releases.environments import Environment, Environments, EnvironmentUnavailable
from benchmark_suites.releases.instances import Instance
from benchmark_suites.releases.process import TIMEOUT, lay_out, run_in
from benchmark_suites.results import BROKEN, Result

SUITE = "releases"
ORACLE = "oracle"
KEPT_OUTPUT = 6000  # characters of the run's output that a result keeps


@dataclasses.dataclass(frozen=True)
class Setting:
    """What the instances are run with. ``options`` are further options of the plugin by ini name.

    The agent ``oracle`` is each instance's own runbook: what the framework can reach at best.
    """

    agent: str = ORACLE
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def model(self) -> str:
        return self.options.get("heal_model", "")

    @property
    def guard(self) -> str:
        return self.options.get("heal_guard", "")


def run(instance: Instance, setting: Setting, environments: Environments) -> Result:
    """Run the target test of ``instance`` in its buggy release; whatever goes wrong ends up in the result."""
    began = time.monotonic()
    result = Result(SUITE, instance.id, setting.agent, setting.model, setting.guard, BROKEN)
    try:
        if setting.agent == ORACLE and instance.runbook is None:
            raise EnvironmentUnavailable(f"{instance.folder} has no heals.yaml: nobody knows a right heal yet")
        environment = environments.get(instance)
        result.python = ".".join(map(str, environment.version))
        with tempfile.TemporaryDirectory(prefix="heal-instance-") as folder:
            work = Path(folder)
            lay_out(instance, work)
            if environment.version >= provision.PLUGIN_FROM:
                provision.install_plugin(environments, environment, instance.requirements_buggy)
                _run_plugin(instance, setting, environment, work, result)
            else:
                agent = "" if setting.agent == ORACLE else setting.agent
                older_python.run(instance, agent, setting.options, environment, work, result)
    except EnvironmentUnavailable as problem:
        result.problem = str(problem)
    except subprocess.TimeoutExpired:
        result.problem = f"the target test gave no result within {TIMEOUT:.0f} s"
    result.seconds = round(time.monotonic() - began, 3)
    result.at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    result.output = result.output[-KEPT_OUTPUT:]
    return result


def _run_plugin(instance: Instance, setting: Setting, environment: Environment, work: Path, result: Result) -> None:
    report = work / "report.json"
    command = [str(environment.python), "-m", "pytest", "-q", "-o", f"cache_dir={environment.path / 'heal-cache'}",
               *plugin_options(instance, setting), f"--heal-report={report}", instance.test.name]
    ran = run_in(work, command)
    result.output = ran.stdout + ran.stderr
    try:
        record = json.loads(report.read_text(encoding="utf-8"))
        (test,) = [test for test in record["tests"] if "::" in test["nodeid"]]  # others are crashes while collecting
    except (OSError, ValueError, KeyError) as problem:
        result.problem = f"the run (exit code {ran.returncode}) left no report of one test: {problem}"
        return
    result.version = str(record["run"].get("version", ""))
    result.outcome, result.crashes, result.usage = test["outcome"], test["crashes"], test.get("usage", {})


def plugin_options(instance: Instance, setting: Setting) -> list[str]:
    """The options of the plugin for ``instance``."""
    agent = "runbook" if setting.agent == ORACLE else setting.agent
    given = [*instance.pytest_options, f"--heal={agent}", *(f"--heal-source={root}" for root in instance.import_roots)]
    if setting.agent == ORACLE:
        given.append(f"--heal-runbook={instance.runbook}")
    return given + [f"--{key.replace('_', '-')}={value}" for key, value in setting.options.items()]
