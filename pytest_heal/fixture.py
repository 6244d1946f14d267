"""What the fixture `heal` gives. Imports pytest; what needs healguard_core only once healing is on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_heal import options

if TYPE_CHECKING:
    from healguard_core.protocol import Event


class TestRecord:
    """The record of the running test so far; empty without ``--heal``."""

    __test__ = False

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self.enabled = bool(options.agent_name(item.config))

    @property
    def events(self) -> list[Event]:
        """The journal of the running attempt."""
        if not self.enabled:
            return []
        from pytest_heal.run import events_so_far

        return events_so_far(self._item)

    @property
    def crashes(self) -> list[dict[str, Any]]:
        """One record per crash, as in the JSON report."""
        if not self.enabled:
            return []
        from healguard_core.outcome import summary

        return summary(self.events)

    @property
    def applied(self) -> int:
        """How many heals were applied."""
        return sum(type(event).__name__ == "Healed" for event in self.events)

    def protect(self, *operations: object, **keys: object) -> NoReturn:  # noqa: ARG002
        """Declare extra protected operations for this test; needs HealGuard, which this version does not have."""
        raise pytest.UsageError("heal.protect() is not available in this version of pytest-heal: it needs HealGuard")
