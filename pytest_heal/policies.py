"""The policies of a run: its own and those that marks name, each read once. Imports healguard_core."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from healguard_core.execution.guard.callables import qualified
from pytest_heal.settings import Settings, policy_of


class Policies:
    """Reads policies, and knows what is wrong with the run's own once tests are collected."""

    def __init__(self, config: pytest.Config, settings: Settings, problems: Callable[[], list[str]]) -> None:
        self._config = config
        self._settings = settings
        self._problems = problems
        self._read: dict[str, dict[str, Any]] = {}

    def of(self, guard: str, asked_by: str) -> dict[str, Any] | None:
        """The policy in the file ``guard``; None for the run's own and for ``off``. Raises ``pytest.UsageError``."""
        if guard in ("", "off"):
            return None
        if guard not in self._read:
            self._read[guard] = policy_of(self._config, Path(guard), asked_by, complete=True)
        return self._read[guard]

    def check(self) -> None:
        """Tests are imported: every name of the run's policy must be known. Raises ``pytest.UsageError``."""
        if self._settings.policy is not None:
            policy_of(self._config, self._settings.policy, "--heal-guard", complete=True)
        problems = self._problems()
        if problems:
            raise pytest.UsageError("--heal-guard is wrong:\n" + "\n".join(problems))


def extra_entries(operations: tuple[object, ...], key: list[str | int], condition: str | None) -> list[dict[str, Any]]:
    """What the fixture's `protect` was given, as entries of a policy."""
    named = [("call", operation if isinstance(operation, str) else qualified(operation)) for operation in operations]
    if condition is not None:
        named.append(("condition", condition))
    if not named:
        raise pytest.UsageError("heal.protect() needs a callable, its dotted name, or condition=...")
    return [
        {"id": target, "kind": kind, "target": target, "key": key if kind == "call" else [], "place": "heal.protect()"}
        for kind, target in named
    ]
