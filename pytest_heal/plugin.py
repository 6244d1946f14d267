"""Entry point of the pytest plugin: options, ini keys, marker, hooks and fixture, and nothing else until asked.

Imports pytest and this package's light modules; everything that needs healguard_core is imported once
healing is on.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from pytest_heal import options

if TYPE_CHECKING:
    from pytest_heal.fixture import TestRecord


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_heal.hookspecs import HealHooks

    pluginmanager.add_hookspecs(HealHooks)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Instrument before any conftest file imports the code under test."""
    given = early_config.known_args_namespace
    if options.agent_name(early_config, given) and not (given.help or given.version):
        from pytest_heal import lifecycle

        lifecycle.start(early_config, given)
    return (yield)


@pytest.hookimpl(trylast=True)  # the terminal, the cache and JUnit's writer are there by then
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", options.MARKER)
    if options.agent_name(config):
        from pytest_heal import lifecycle

        lifecycle.configure(config)


@pytest.fixture
def heal(request: pytest.FixtureRequest) -> TestRecord:
    """The record of the running test so far: ``crashes``, ``applied`` and ``events`` (all empty without --heal)."""
    from pytest_heal.fixture import TestRecord

    return TestRecord(request.node)
