"""One pytest item per instance of a suite. Imports session, suite and results."""

from __future__ import annotations

import dataclasses
import datetime
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmark_suites.results import BROKEN, BUDGET, OURS, RECORD, Result
from benchmark_suites.session import Session
from benchmark_suites.suite import Instance, WrongRecord

KEPT_OUTPUT = 6000  # characters of the run's output that a result keeps


class NotRight(Exception):
    """The target test did not pass, or could not be run."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.problem or result.outcome)
        self.result = result


class SuiteCollector(pytest.Directory):
    """All instances of the suite that the user named."""

    def __init__(self, *, suite_session: Session, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.suite_session = suite_session

    def collect(self) -> Iterator[pytest.Item]:
        session = self.suite_session
        try:
            for instance in session.suite.load(self.config.option.instances, session.places):
                # in brackets, because pytest replaces dots outside of them
                yield InstanceItem.from_parent(self, name=f"[{instance.id}]", instance=instance)
        except ValueError as problem:
            raise self.CollectError(str(problem)) from None


class InstanceItem(pytest.Item):
    """One instance: passes when its target test passes."""

    def __init__(self, *, instance: Instance | WrongRecord, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.instance = instance
        self.result: Result | None = None
        self.earlier = False  # whether the result was there before this run

    def runtest(self) -> None:
        session = self.parent.suite_session  # type: ignore[union-attr]
        recorded = session.recorded(self.instance)
        self.earlier = recorded is not None
        self.result = recorded or measure(session, self.instance)
        if self.earlier:
            self.add_report_section("call", "suite", f"recorded {self.result.at}; not run again")
        if not self.result.right:
            raise NotRight(self.result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, NotRight):
            return super().repr_failure(excinfo, style)
        result = excinfo.value.result
        told = f"{result.failure}: {result.problem}" if result.problem else "the target test did not pass"
        return f"{result.outcome}: {told}\n\n{result.output}"

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


def measure(session: Session, instance: Instance | WrongRecord) -> Result:
    """Run ``instance``; every fault, ours included, ends up in the result."""
    began = time.monotonic()
    result = _nothing_yet(session, instance)
    setting = session.affordable()
    if isinstance(instance, WrongRecord):
        result.broke(RECORD, instance.problem)
    elif setting is None:
        result.broke(BUDGET, "the run's --heal-max-cost is used up; a later run with more of it goes on here")
    else:
        try:
            result = session.suite.run(instance, setting, session.places)
        except Exception:  # a bug in a suite must not end the run, and must not go unseen
            result.broke(OURS, traceback.format_exc())
    result.options = dict(session.setting.options)
    result.seconds = round(time.monotonic() - began, 3)
    result.at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    result.run = session.run_name
    result.output = result.output[-KEPT_OUTPUT:]
    return result


def _nothing_yet(session: Session, instance: Instance | WrongRecord) -> Result:
    setting = session.setting
    return Result(session.suite.name, instance.id, setting.agent, setting.model, setting.guard, BROKEN,
                  options=dict(setting.options))


def to_json(result: Result) -> dict[str, Any]:
    """The result as it travels with a report between processes."""
    return dataclasses.asdict(result)
