"""What the fixture `heal` gives. Imports pytest; what needs healguard_core only once healing is on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

    def protect(
        self, *operations: object, key: str | int | list[str | int] = "*", condition: str | None = None
    ) -> None:
        """Protect more until this test ends: callables or their dotted names, with the ``key`` that decides about their
        effect, or a ``condition``: the dotted name of a value that a security check reads.

        Raises ``pytest.UsageError`` for what is no such name. Does nothing without ``--heal``.
        """
        if not self.enabled:
            return
        from pytest_heal.run import protect

        protect(self._item, operations, key if isinstance(key, list) else [key], condition)
