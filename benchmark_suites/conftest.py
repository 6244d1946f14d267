"""Collects one item per instance of the suite that was asked for, and nothing else below this package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmark_suites import plugin
from benchmark_suites.releases import instances, runner
from benchmark_suites.releases.environments import Environments, default_root
from benchmark_suites.results import Result, Results


class NotRight(Exception):
    """The target test did not pass, or could not be run."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.problem or result.outcome)
        self.result = result


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Target tests run in environments of their own, never here."""
    return True if collection_path.is_file() and collection_path.name != "instance.toml" else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    option = parent.config.option
    if file_path.name != "instance.toml" or option.suite != runner.SUITE:
        return None
    if not instances.matches(file_path.parent.name, option.instances):
        return None
    return InstanceFile.from_parent(parent, path=file_path)


class InstanceFile(pytest.File):
    """The folder of one instance."""

    def collect(self) -> Iterator[pytest.Item]:
        yield InstanceItem.from_parent(self, name=self.path.parent.name, instance=instances.load(self.path.parent))


class InstanceItem(pytest.Item):
    """One instance: passes when its target test passes."""

    def __init__(self, *, instance: instances.Instance, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.instance = instance

    def runtest(self) -> None:
        setting = _setting(self.config)
        store = Results(_folder(self.config, "heal_results"), runner.SUITE, setting.agent, setting.model, setting.guard)
        result = store.read().get(self.instance.id)
        if result is None or result.problem:
            result = runner.run(self.instance, setting, Environments(_environments(self.config)))
            store.append(result)
        else:
            self.add_report_section("call", "suite", f"recorded {result.at} in {store.path}")
        self.user_properties.append((plugin.OUTCOME, result.outcome))
        if not result.right:
            raise NotRight(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, NotRight):
            return super().repr_failure(excinfo, style)
        result = excinfo.value.result
        if result.problem:
            return f"{result.outcome}: {result.problem}\n\n{result.output}"
        return f"{result.outcome}: the target test did not pass\n\n{result.output}"

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"[{self.name}]"  # in brackets, because pytest replaces dots outside of them


def _setting(config: pytest.Config) -> runner.Setting:
    given = {name: getattr(config.option, name, None) for name in plugin.PASSED_ON}
    options = {name: str(value) for name, value in given.items() if value is not None}
    if options.get("heal_guard") not in (None, "off"):
        options["heal_guard"] = str(config.invocation_params.dir / options["heal_guard"])
    return runner.Setting(config.stash[plugin.agent_key] or runner.ORACLE, options)


def _folder(config: pytest.Config, option: str) -> Path:
    folder: str = getattr(config.option, option)
    return config.invocation_params.dir / folder


def _environments(config: pytest.Config) -> Path:
    return _folder(config, "heal_envs") if config.option.heal_envs else default_root()
