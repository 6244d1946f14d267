"""The healing side of a run, as one process of pytest reaches it. May import healguard_core.

The process that reports to the user (pytest, or the controller of pytest-xdist) starts it and tells its workers.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from healguard_core.execution.link import Address, LinkAgent, LinkError, Progress
from pytest_heal.progress import WorkersProgress
from pytest_heal.settings import Settings

LINK = "heal_link"  # under this key of a worker's input
SIDE = "healing"  # what an agent's class says in ``side`` when it belongs there


class Healing:
    """Starts the healing side when its first agent is made, and makes the agents that ask it."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._address: Address | None = None
        self.model = ""  # the resolved id
        self.shown = ""  # the same with the name that was asked for
        self.made: list[LinkAgent] = []
        self.observers: list[Callable[[Progress], None]] = []
        self.workers: WorkersProgress | None = None  # in the controller of pytest-xdist

    def too_early(self) -> bool:
        """Whether this process is a worker that has not been told yet where the healing side is."""
        return "PYTEST_XDIST_WORKER" in os.environ and not hasattr(self._config, "workerinput")

    def agent(self, name: str, factory: Any, asked_by: str, asked: str = "") -> LinkAgent:
        """The agent ``name`` (with its argument); ``asked`` is a model other than the run's, for some tests.

        Raises ``pytest.UsageError`` naming ``asked_by``.
        """
        argument = name.partition(":")[2]
        if bool(argument.strip()) != factory.takes_argument:
            wanted = f"needs an argument: {name.partition(':')[0]}:COMMAND" if factory.takes_argument else "takes none"
            raise pytest.UsageError(f"{asked_by}: the agent {wanted}")
        self._check_installed(argument, factory, asked_by)
        if self._address is None:
            self._address = self._told() or self._start(name, factory, asked_by, asked)
        if factory.uses_model == "yes" and not self.model and not asked:
            raise pytest.UsageError(f"{asked_by}: agent {name!r} needs a model: add --heal-model=NAME")
        timeout = self._settings.core.timeout
        if asked:
            model = self._other_model(name, factory, asked_by, asked)
            agent = LinkAgent(name, self._address, model=model.id, timeout=timeout, chosen=model.id)
            self._offer(agent, model, asked_by)
        else:
            agent = LinkAgent(name, self._address, model=self.model, timeout=timeout)
        agent.on_progress = self.observers
        self.made.append(agent)
        return agent

    def hand_over(self) -> dict[str, Any]:
        """What a worker needs to know; empty when there is no healing side."""
        if self._address is None:
            return {}
        return {**self._address.to_json(), "model": self.model, "shown": self.shown}

    def close(self) -> None:
        """The run is over. The agents are closed by whoever uses them."""
        if self.workers is not None:
            self.workers.close()

    # ----------------------------------------------------------------- models of single tests

    def _other_model(self, name: str, factory: Any, asked_by: str, asked: str) -> Any:
        """The model that a mark names."""
        from healguard_core.healing.models import ModelError, resolve

        if factory.uses_model == "no":
            raise pytest.UsageError(f"{asked_by}: agent {name!r} uses no model; leave model out")
        try:
            model = resolve(asked, self._settings.models, os.environ)
        except ModelError as error:
            raise pytest.UsageError(f"{asked_by}: {error}") from error
        self._check_cost(name, model)
        return model

    def _offer(self, agent: LinkAgent, model: Any, asked_by: str) -> None:
        """Hand a model and its key over; the key then leaves this process. Where it has left already, it is there."""
        from healguard_core.healing.starting import forget

        key = os.environ.get(model.key_variable, "").strip() if model.key_variable else ""
        try:
            agent.offer(dataclasses.asdict(model), key)
        except LinkError as error:
            raise pytest.UsageError(f"{asked_by}: {error}") from error
        if key:
            forget(model.key_variable, os.environ)

    # ----------------------------------------------------------------- starting

    def _told(self) -> Address | None:
        told = getattr(self._config, "workerinput", {}).get(LINK)
        if not told:
            return None
        self.model, self.shown = told["model"], told["shown"]
        return Address.from_json(told)

    def _start(self, name: str, factory: Any, asked_by: str, asked: str) -> Address:
        from healguard_core.healing.cassettes import CassetteError
        from healguard_core.healing.models import ModelError
        from healguard_core.healing.starting import StartError, start_healing

        if hasattr(self._config, "workerinput"):
            raise pytest.UsageError(f"{asked_by}: an agent with a healing side of its own must be named for the whole "
                                    f"run (--heal={name}) when tests run in several processes")
        settings = self._settings
        try:
            model = self._model(name, factory, asked_by, given=bool(asked))
            if model is not None:
                self.model, self.shown = model.id, str(model)
            if not asked:
                self._check_cost(name, model)
            return start_healing(agent=name, model=model, root=self._config.rootpath, max_cost=settings.max_cost,
                                 progress=self._progress(), sandbox=settings.sandbox, redact=settings.core.redact,
                                 cassettes=self._cassettes())
        except CassetteError as error:
            raise pytest.UsageError(str(error)) from error
        except ModelError as error:
            raise pytest.UsageError(f"--heal-model={settings.model}: {error}") from error
        except StartError as error:
            raise pytest.UsageError(f"{asked_by}: {error}") from error

    def _check_installed(self, argument: str, factory: Any, asked_by: str) -> None:
        from healguard_core.healing.service import missing

        if self._replayed():
            return  # nobody is asked
        problem = missing(factory, argument, self._config.rootpath)
        if problem:
            raise pytest.UsageError(f"{asked_by}: {problem}")

    def _cassettes(self) -> Any:
        from healguard_core.healing.starting import Cassettes

        settings = self._settings
        return Cassettes(str(settings.cassette or ""), str(settings.http_cassette or ""), settings.cassette_mode)

    def _replayed(self) -> bool:
        """Whether what agents do comes from a cassette alone."""
        from healguard_core.healing.cassettes import CassetteError, records

        settings = self._settings
        try:
            return settings.cassette is not None and not records(settings.cassette, settings.cassette_mode)
        except CassetteError as error:
            raise pytest.UsageError(f"--heal-cassette: {error}") from error

    def _progress(self) -> Path | None:
        """Where the healing side is to write what is paused, when tests run in workers that have no terminal."""
        given = getattr(self._config, "known_args_namespace", self._config.option)
        if not (getattr(given, "numprocesses", None) or getattr(given, "tx", None)):
            return None
        self.workers = WorkersProgress()
        return self.workers.path

    def _model(self, name: str, factory: Any, asked_by: str, *, given: bool) -> Any:
        """The run's model; a test that has been ``given`` one of its own needs none."""
        from healguard_core.healing.models import resolve

        asked = self._settings.model
        if factory.uses_model == "no" and asked:
            raise pytest.UsageError(f"--heal-model={asked}: agent {name!r} uses no model; leave --heal-model out")
        if factory.uses_model == "yes" and not asked and not given:
            raise pytest.UsageError(f"{asked_by}: agent {name!r} needs a model: add --heal-model=NAME")
        return resolve(asked, self._settings.models, os.environ) if asked else None

    def _check_cost(self, name: str, model: Any) -> None:
        if self._settings.max_cost is None:
            return
        if model is None:
            raise pytest.UsageError(f"--heal-max-cost cannot hold: what {name!r} spends is not seen without "
                                    "--heal-model=NAME")
        if not model.priced:
            raise pytest.UsageError(f"--heal-max-cost cannot hold: the price of {model.id} is not known; declare it: "
                                    f"heal_models = {model.asked.replace('/', '-')} = {model.id} input=USD output=USD "
                                    "(per million tokens)")


class HandOver:
    """Tells workers of pytest-xdist where the healing side is."""

    def __init__(self, healing: Healing) -> None:
        self._healing = healing

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[LINK] = self._healing.hand_over()
