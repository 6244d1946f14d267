"""Which agent ``healguard run`` uses, and its healing side. May import settings, healing and execution."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from healguard_core.execution.asking import Agent
from healguard_core.execution.link import Address, LinkAgent
from healguard_core.protocol import Config
from healguard_core.settings.errors import Problem, SettingsError, nearest

GROUP = "healguard.agents"
"""The entry points under which packages register agents: factories that take the agent's options."""

RUNBOOK = "runbook"


def chosen(
    config: Config, model: str, aliases: Sequence[str], max_cost: float | None, sandbox: str = "auto"
) -> Agent | None:
    """The agent that ``config`` names, for this process; None for ``runbook``. Raises `SettingsError`."""
    factory = _factory(config.agent)
    if _is_remote(factory):
        address, model_id = _start(config, factory, model, aliases, max_cost, sandbox)
        return LinkAgent(config.agent, address, model=model_id, timeout=config.timeout)
    _refuse_cost(config.agent, max_cost)
    if factory is None:
        return None
    try:
        agent: Agent = factory(dict(config.agent_options))
        problem = str(getattr(agent, "unusable", str)())
    except ValueError as error:
        problem = str(error)
    if problem:
        raise SettingsError([Problem("HF411", "--agent", f"agent {config.agent!r} cannot be used: {problem}")])
    return agent


@contextlib.contextmanager
def started_elsewhere(
    config: Config, model: str, aliases: Sequence[str], max_cost: float | None, sandbox: str = "auto",
    socket: Path | None = None,
) -> Iterator[None]:
    """For a program in another interpreter: start the healing side if the agent has one, and say in ``config`` where.

    With ``socket`` that is a unix socket of this name, which a container without network can mount; where it has
    another name in there, ``config.agent_options["link"]["path"]`` is to be set to that. It ends with the block.
    Agents without one are made over there, where any mistake is noticed.
    """
    found = {point.name for point in entry_points(group=GROUP)}
    factory = _factory(config.agent) if config.agent.partition(":")[0] in found else None
    if not _is_remote(factory):
        _refuse_cost(config.agent, max_cost)
        yield
        return
    address, model_id = _start(config, factory, model, aliases, max_cost, sandbox, socket)
    config.agent_options["link"] = {**address.to_json(), "model": model_id}
    try:
        yield
    finally:
        LinkAgent(config.agent, address).close()


def _factory(agent: str) -> Any:
    if agent == RUNBOOK:
        return None
    known = {point.name: point for point in entry_points(group=GROUP)}
    name = agent.partition(":")[0]
    if name not in known:
        advice = nearest(name, [*known, RUNBOOK])
        raise SettingsError([Problem("HF410", "--agent", f"there is no agent {name!r}", advice)])
    try:
        return known[name].load()
    except ImportError as error:
        problem = Problem("HF411", "--agent", f"agent {name!r} cannot be imported: {error}")
        raise SettingsError([problem]) from error


def _is_remote(factory: Any) -> bool:
    return getattr(factory, "side", "") == "healing"


def _refuse_cost(agent: str, max_cost: float | None) -> None:
    if max_cost is not None:
        problem = Problem("HF411", "--max-cost", f"agent {agent!r} costs nothing that is counted", "leave it out")
        raise SettingsError([problem])


def _start(
    config: Config, factory: Any, asked: str, aliases: Sequence[str], max_cost: float | None, sandbox: str,
    socket: Path | None = None,
) -> tuple[Address, str]:
    """Start the healing side: where it is, and the model's id."""
    from healguard_core.healing.models import ModelError, resolve
    from healguard_core.healing.starting import StartError, start_healing

    problem = _misused(config.agent, factory, asked, Path(config.root))
    if problem is not None:
        raise SettingsError([problem])
    try:
        model = resolve(asked, aliases, os.environ) if asked else None
        if max_cost is not None and (model is None or not model.priced):
            advice = "declare the price: --model-alias 'x = PROVIDER/NAME input=USD output=USD' --model x"
            raise SettingsError([Problem("HF411", "--max-cost", "it cannot hold: the price is not known", advice)])
        address = start_healing(agent=config.agent, model=model, root=Path(config.root), max_cost=max_cost,
                                sandbox=sandbox, socket=socket, redact=config.redact)
    except (ModelError, StartError) as error:
        place = "--model" if isinstance(error, ModelError) else "--agent"
        raise SettingsError([Problem("HF410", place, str(error))]) from error
    if model is not None:
        print(f"healguard: agent {config.agent}, model {model}", file=sys.stderr)
    return address, "" if model is None else model.id


def _misused(agent: str, factory: Any, model: str, root: Path) -> Problem | None:
    """What is wrong with how an agent of the healing side was asked for."""
    from healguard_core.healing.service import missing

    name, _, argument = agent.partition(":")
    if bool(argument.strip()) != factory.takes_argument:
        wanted = f"use {name}:COMMAND" if factory.takes_argument else "leave out what follows the colon"
        return Problem("HF408", "--agent", f"{agent!r} is incomplete or says too much", wanted)
    lacking = missing(factory, argument, root)
    if lacking:
        return Problem("HF411", "--agent", lacking)
    if factory.uses_model == "yes" and not model:
        return Problem("HF403", "--model", f"agent {agent!r} needs a model", "add --model NAME")
    if factory.uses_model == "no" and model:
        return Problem("HF411", "--model", f"agent {agent!r} uses no model", "leave --model out")
    return None
