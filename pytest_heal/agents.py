"""Which agent answers: built in, registered by a package (entry points) or by a plugin (hook), by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import pytest

from healguard_core.execution.asking import Agent
from healguard_core.settings.errors import nearest
from pytest_heal.healing import SIDE, Healing

GROUP = "healguard.agents"
HUMAN = "human"
RUNBOOK = "runbook"  # no agent at all: only the runbook answers

Factory = Callable[[dict[str, Any]], Agent]


class Agents:
    """The agents of one process, each made when first asked for."""

    def __init__(self, config: pytest.Config, options: dict[str, Any], healing: Healing) -> None:
        self._config = config
        self._healing = healing
        self._options = options
        self._made: dict[tuple[str, str], Agent] = {}
        self._registered: dict[str, Factory] = {}

    def early(self, name: str) -> Agent | None:
        """The agent, when it can be had before conftest files are loaded (they may register agents)."""
        found = {point.name: point for point in entry_points(group=GROUP)}
        if name in (RUNBOOK, HUMAN) or _base(name) not in found:
            return None
        if self._healing.too_early():
            return None
        return self.get(name, f"--heal={name}")

    def register(self) -> None:
        """Ask plugins and conftest files for their agents."""
        for found in self._config.hook.pytest_heal_agents(config=self._config):
            self._registered.update(found)

    def get(self, name: str, asked_by: str, model: str = "") -> Agent | None:
        """The agent called ``name``, with a ``model`` other than the run's; None for ``runbook``.

        Raises ``pytest.UsageError`` naming ``asked_by``.
        """
        if name == RUNBOOK and not model:
            return None
        if (name, model) not in self._made:
            self._made[name, model] = self._make(name, asked_by, model)
        return self._made[name, model]

    def _make(self, name: str, asked_by: str, model: str) -> Agent:
        if name == RUNBOOK:
            raise pytest.UsageError(f"{asked_by}: the agent 'runbook' uses no model; name another agent")
        if name == HUMAN and name not in self._registered:
            return self._human(asked_by)
        factory = self._registered.get(name) or self._entry_point(name, asked_by)
        if getattr(factory, "side", "") == SIDE:
            return self._healing.agent(name, factory, asked_by, model)
        if model:
            raise pytest.UsageError(f"{asked_by}: agent {name!r} uses no model; name another agent")
        try:
            return factory(dict(self._options))
        except ValueError as error:
            raise pytest.UsageError(f"{asked_by}: agent {name!r} cannot be used: {error}") from error

    def _entry_point(self, name: str, asked_by: str) -> Factory:
        found = {point.name: point for point in entry_points(group=GROUP)}
        if _base(name) in found:
            try:
                factory: Factory = found[_base(name)].load()
            except ImportError as error:
                raise pytest.UsageError(f"{asked_by}: agent {name!r} cannot be imported: {error}") from error
            return factory
        known = [*found, *self._registered, RUNBOOK]
        raise pytest.UsageError(f"{asked_by}: there is no agent {name!r}; {nearest(name, known)} "
                                f"(agents: {', '.join(sorted(set(known)))})")

    def _human(self, asked_by: str) -> Agent:
        """Whoever sits at the terminal; captured output waits while they are asked."""
        from healguard_core.execution.local_agents.human import HumanAgent

        option = self._config.option
        if getattr(option, "numprocesses", None) or getattr(option, "tx", None) or is_worker(self._config):
            raise pytest.UsageError(f"{asked_by}: a human cannot answer for several processes; run without -n")
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        agent = HumanAgent(
            before=None if capture is None else lambda: capture.suspend(in_=True),
            after=None if capture is None else capture.resume,
        )
        problem = agent.unusable()
        if problem:
            raise pytest.UsageError(f"{asked_by}: {problem}")
        return agent

    def close(self, but: Agent | None) -> None:
        """The run is over. ``but`` is closed by the engine."""
        for agent in self._made.values():
            if agent is not but:
                agent.close()


def _base(name: str) -> str:
    """The agent's own name in ``name:ARGUMENT``."""
    return name.partition(":")[0]


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")
