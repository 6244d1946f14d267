"""What pytest has to know about the suites before it reads any conftest file. Imports pytest and, for a suite, items.

A suite runs every instance in a process of its own, so the options of the plugin are meant for those: in this process
healing stays off.
"""

from __future__ import annotations

import argparse
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from benchmark_suites import SUITES

PASSED_ON = ("heal_model", "heal_guard", "heal_guard_mode", "heal_guard_budget", "heal_intercept", "heal_max_calls",
             "heal_max_cost", "heal_timeout", "heal_protocol", "heal_rules", "heal_second_look", "heal_trial")
"""Options of the plugin that every instance is run with."""

_HERE = Path(__file__).resolve().parent

agent_key = pytest.StashKey[str]()
session_key = pytest.StashKey[Any]()  # the `benchmark_suites.session.Session` of this run


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("heal suites", "benchmark suites of pytest-heal (pytest --pyargs benchmark_suites)")
    group.addoption("--suite", metavar="NAME", default="", help="run this suite: " + ", ".join(SUITES)
                    + ", or a folder of instances")
    group.addoption("--instances", metavar="GLOB", default="*", help="only the instances whose id "
                    "matches (several globs: separate them by commas)")
    group.addoption("--heal-results", metavar="DIR", default="heal-results", help="where results are kept; instances "
                    "that have one there are not run again (default: heal-results)")
    group.addoption("--heal-envs", metavar="DIR", default="", help="where the environments of instances are kept "
                    "(default: in the user's cache folder)")
    group.addoption("--heal-records", metavar="FILE", action="append", default=[], help="a file of records of a public "
                    "benchmark, for the suites that read such (repeatable)")
    group.addoption("--heal-trace", choices=("on", "off"), default="on", help="count the executed points of the target "
                    "test and of the fixed version, for trace similarity and observed completion (default: on)")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    _switch_off(early_config.known_args_namespace)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.stash[agent_key] = _switch_off(config.option)
    if config.option.suite:
        from benchmark_suites.session import Session

        config.stash[session_key] = session = Session(config, config.stash[agent_key])
        config.pluginmanager.register(session, "heal-suite")
    elif any(_is_here(argument, config) for argument in config.args):
        raise pytest.UsageError(f"say which suite to run: --suite=NAME with one of: {', '.join(SUITES)}")


def _is_here(argument: str, config: pytest.Config) -> bool:
    """Whether an argument of pytest means this package."""
    if config.option.pyargs and argument.partition(".")[0] == _HERE.name:
        return True
    return (config.invocation_params.dir / argument.partition("::")[0]).resolve() == _HERE


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Target tests run in environments of their own, never here."""
    return True if collection_path.name == "test_target.py" and _HERE in collection_path.parents else None


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The package stands for the suite that was asked for; target tests are never collected here."""
    if path != _HERE or session_key not in parent.config.stash:
        return None
    from benchmark_suites.items import SuiteCollector

    return SuiteCollector.from_parent(parent, path=path, suite_session=parent.config.stash[session_key])


def _switch_off(given: argparse.Namespace) -> str:
    """Keep the plugin out of this process when a suite runs; the agent that was asked for.

    The agent moves to an attribute of its own, which xdist carries to its workers with all the others.
    """
    if not getattr(given, "suite", ""):
        return ""
    if not hasattr(given, "suite_agent"):
        given.suite_agent = getattr(given, "heal", None) or ""
        given.heal = "off"
    return str(given.suite_agent)
