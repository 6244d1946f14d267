"""Hooks that other plugins and conftest files may implement. Imports pytest and names for types only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from healguard_core.execution.asking import Agent
    from healguard_core.protocol import CrashContext, Event


class HealHooks:
    """Specifications; see docs/pytest.md for examples."""

    @pytest.hookspec
    def pytest_heal_agents(self, config: pytest.Config) -> dict[str, Callable[[dict[str, Any]], Agent]]:  # type: ignore[empty-body]
        """Return agents by name: each a callable that takes a dictionary of options and returns the agent.

        Called once per process, after conftest files were loaded and before the first test is collected.
        """

    @pytest.hookspec
    def pytest_heal_context(self, context: CrashContext, config: pytest.Config) -> None:
        """See or alter (in place) what is told about a crash before an agent gets it.

        Called in the process of the test while the program is paused. An exception counts as a fault of
        the agent: the crash is not healed.
        """

    @pytest.hookspec
    def pytest_heal_applied(self, event: Event, item: pytest.Item | None, config: pytest.Config) -> None:
        """A heal was applied (``event`` is a `healguard_core.protocol.Healed`); called after the test's phase."""

    @pytest.hookspec
    def pytest_heal_refused(self, event: Event, item: pytest.Item | None, config: pytest.Config) -> None:
        """The gate refused code (``event`` is a `healguard_core.protocol.Refused`); called after the phase."""

    @pytest.hookspec
    def pytest_heal_blocked(self, event: Event, item: pytest.Item | None, config: pytest.Config) -> None:
        """The guard stopped an operation (``event`` is a `healguard_core.protocol.Blocked`); called after the phase."""

    @pytest.hookspec
    def pytest_heal_report(self, record: dict[str, Any], item: pytest.Item, config: pytest.Config) -> None:
        """Add fields to the record of a test that crashed; values are turned into JSON (others by ``repr``)."""
