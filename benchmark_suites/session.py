"""One run of a suite under pytest: what is recorded already, and who writes down what comes. Imports the machinery.

Results are written by the process that reports to the user, so that workers on other machines need no shared folder.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from benchmark_suites import plugin
from benchmark_suites.agents import check_agent
from benchmark_suites.progress import Progress
from benchmark_suites.releases.environments import default_root
from benchmark_suites.results import BROKEN, OURS, Result, Results
from benchmark_suites.runfile import write_run_file
from benchmark_suites.setting import ORACLE, Setting
from benchmark_suites.suite import Instance, Places, WrongRecord, find

_SHOWN = ("outcome", "problem", "failure", "completed", "digest", "at", "output")
"""What a worker has to know about a result that is there already."""


class Session:
    """The suite, the setting, and the results so far.

    Raises ``pytest.UsageError`` for a suite or agent that does not exist and a folder that cannot be written.
    """

    def __init__(self, config: pytest.Config, agent: str) -> None:
        self.config = config
        self.setting = _setting(config, agent or ORACLE)
        try:
            check_agent(self.setting.agent)
            self.suite = find(_path_or_name(config))
        except ValueError as problem:
            raise pytest.UsageError(str(problem)) from None
        self._folder = _folder(config, "heal_results")
        self.store = Results(self._folder, Path(self.suite.name).name, self.setting)
        self.places = _places(config, self._folder, self.suite.name)
        self._worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.run_name = ""
        self._recorded = self._read() if self._worker is None else self._handed_over(self._worker)
        self.progress: Progress | None = None

    def _read(self) -> dict[str, Result]:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self.run_name = write_run_file(self._folder, self.config, self.suite.name, self.setting)
        except OSError as problem:
            raise pytest.UsageError(f"--heal-results={self._folder}: cannot be written: {problem.strerror}; "
                                    f"choose another folder") from None
        return {name: result for name, result in self.store.read().items() if result.final}

    def _handed_over(self, given: dict[str, Any]) -> dict[str, Result]:
        self.run_name = given["suite_run"]
        setting = self.setting
        return {name: Result(self.suite.name, name, setting.agent, setting.model, setting.guard, **shown)
                for name, shown in given["suite_recorded"].items()}

    def recorded(self, instance: Instance | WrongRecord) -> Result | None:
        """The result of ``instance`` that an earlier run left, when it is of the same state of the instance."""
        result = self._recorded.get(instance.id)
        if result is None or isinstance(instance, WrongRecord):
            return None
        return result if result.digest == self.suite.digest(instance) else None

    def affordable(self) -> Setting | None:
        """The setting for the next instance: of a cost for the whole run, what this run has not spent; None when that
        is nothing. Workers read it from the results, so on machines that do not share their folder each has all of it.
        """
        given = self.setting.options.get("heal_max_cost")
        if not given:
            return self.setting
        spent = sum(result.usage.get("cost_usd") or 0 for result in self.store.read().values()
                    if result.run == self.run_name)
        left = float(given) - spent
        if left <= 0:
            return None
        return Setting(self.setting.agent, {**self.setting.options, "heal_max_cost": f"{left:.6f}"})

    # ----------------------------------------------------------------- hooks

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A worker of pytest-xdist begins, here or on another machine."""
        node.workerinput["suite_run"] = self.run_name
        node.workerinput["suite_recorded"] = {
            name: {field: getattr(result, field) for field in _SHOWN} for name, result in self._recorded.items()}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if self._worker is None and reporter is not None:
            self.progress = Progress(self.config, reporter, self.suite.name, self.setting, self._expected_seconds())
            self.config.pluginmanager.register(self.progress, "heal-suite-progress")
            if self.store.unreadable:
                reporter.write_line(f"{self.store.path}: {len(self.store.unreadable)} lines are no results of this "
                                    f"version and are left out (line {self.store.unreadable[0]}, ...)")

    def _expected_seconds(self) -> dict[str, float]:
        """How long instances took in any setting that is recorded beside this one."""
        from benchmark_suites.results import read_file

        found: dict[str, float] = {}
        for path in sorted(self._folder.glob(f"{Path(self.suite.name).name}-*.jsonl")):
            for name, result in read_file(path)[0].items():
                found[name] = result.seconds
        return found

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        result = getattr(item, "result", None)
        if call.when == "call" and result is not None:
            from benchmark_suites.items import to_json

            report.suite_result = to_json(result)  # type: ignore[attr-defined]
            report.suite_earlier = item.earlier  # type: ignore[attr-defined]
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down what is new, before anything else is done with the report."""
        if self._worker is not None:
            return
        given = getattr(report, "suite_result", None)
        if given is not None and not report.suite_earlier:
            self.store.append(Result(**given))
        elif given is None and report.when not in ("setup", "call", "teardown"):
            self._lost(report)

    def _lost(self, report: pytest.TestReport) -> None:
        """A worker died while it ran an instance."""
        named = re.search(r"\[(.+)\]$", report.nodeid)
        setting = self.setting
        result = Result(self.suite.name, named.group(1) if named else report.nodeid, setting.agent, setting.model,
                        setting.guard, BROKEN, options=dict(setting.options), run=self.run_name)
        self.store.append(result.broke(OURS, f"its worker ended: {report.longrepr}"))


def _setting(config: pytest.Config, agent: str) -> Setting:
    given = {name: getattr(config.option, name, None) for name in plugin.PASSED_ON}
    options = {name: str(value) for name, value in given.items() if value is not None}
    if options.get("heal_guard") not in (None, "off"):
        options["heal_guard"] = str(config.invocation_params.dir / options["heal_guard"])
    return Setting(agent, options)


def _path_or_name(config: pytest.Config) -> str:
    """The suite as it was asked for; a relative folder counts from where pytest was called."""
    given: str = config.option.suite
    folder = config.invocation_params.dir / given
    return str(folder) if "/" in given or "\\" in given or folder.is_dir() else given


def _places(config: pytest.Config, results: Path, suite: str) -> Places:
    option = config.option
    return Places(
        environments=_folder(config, "heal_envs") if option.heal_envs else default_root(),
        references=results / "references" / Path(suite).name,
        records=tuple(config.invocation_params.dir / name for name in option.heal_records),
        trace=option.heal_trace == "on",
    )


def _folder(config: pytest.Config, option: str) -> Path:
    folder: str = getattr(config.option, option)
    return config.invocation_params.dir / folder
