"""What pytest has to know about the suites before it reads any conftest file. Imports pytest and the list of suites.

A suite runs every instance in a process of its own, so the options of the plugin are meant for those: in this process
healing stays off.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from benchmark_suites import SUITES

PASSED_ON = ("heal_model", "heal_guard", "heal_intercept", "heal_max_calls", "heal_timeout", "heal_protocol",
             "heal_rules", "heal_second_look", "heal_trial")
"""Options of the plugin that every instance is run with."""
OUTCOME = "suite.outcome"

agent_key = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("heal suites", "benchmark suites of pytest-heal (pytest --pyargs benchmark_suites)")
    group.addoption("--suite", metavar="NAME", default="", help="run this suite: " + ", ".join(SUITES))
    group.addoption("--instances", metavar="GLOB", default="*", help="only the instances whose id "
                    "matches (several globs: separate them by commas)")
    group.addoption("--heal-results", metavar="DIR", default="heal-results", help="where results are kept; instances "
                    "that have one there are not run again (default: heal-results)")
    group.addoption("--heal-envs", metavar="DIR", default="", help="where the environments of instances are kept "
                    "(default: in the user's cache folder)")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    _switch_off(early_config.known_args_namespace)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.stash[agent_key] = _switch_off(config.option)
    suite = config.option.suite
    choices = ", ".join(SUITES)
    if suite and suite not in SUITES:
        raise pytest.UsageError(f"--suite={suite}: there is no such suite; choose from: {choices}")
    if not suite and config.option.pyargs and any(argument.startswith("benchmark_suites") for argument in config.args):
        raise pytest.UsageError(f"say which suite to run: --suite=NAME with one of: {choices}")


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


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, str] | None:
    """An instance shows how its target test ended; it counts as passed when that test passed."""
    outcome = _outcome(report) if config.option.suite else ""
    if not outcome or report.outcome not in ("passed", "failed"):
        return None
    return report.outcome, outcome[0].upper(), outcome.upper()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """How many instances ended in which way, and the share of target tests that passed."""
    reports = [report for name in ("passed", "failed") for report in terminalreporter.stats.get(name, [])]
    outcomes = Counter(filter(None, map(_outcome, reports))) if config.option.suite else Counter()
    if not outcomes:
        return
    total = outcomes.total()
    right = outcomes["correct"] + outcomes["passed"]
    terminalreporter.section(f"suite {config.option.suite}")
    for outcome, count in outcomes.most_common():
        terminalreporter.line(f"{outcome:<10} {count:>5}")
    terminalreporter.line(f"target test passed: {right} of {total} ({100 * right / total:.1f} %)")


def _outcome(report: Any) -> str:
    """How the target test of an instance ended, "" for reports of anything else and of setup and teardown."""
    if getattr(report, "when", "") != "call":
        return ""
    return str(dict(getattr(report, "user_properties", ())).get(OUTCOME, ""))
