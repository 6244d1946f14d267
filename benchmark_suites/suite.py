"""What a suite is to the machinery that runs and measures it. Imports results.

A suite is a package ``benchmark_suites.NAME`` whose module ``suite`` has a `Suite` named ``SUITE``; it is listed in
`benchmark_suites.SUITES`. Everything else (items, resuming, progress, tables) is the same for all of them.
"""

import fnmatch
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchmark_suites import SUITES
from benchmark_suites.results import Result
from benchmark_suites.setting import Setting


class Instance(Protocol):
    """One case to measure an agent on. ``id`` is unique in its suite and safe as a file name."""

    @property
    def id(self) -> str: ...


@dataclass(frozen=True)
class WrongRecord:
    """Stands for an instance whose record cannot be used: ``problem`` says what is wrong, where, and what to do."""

    id: str
    problem: str


@dataclass(frozen=True)
class Places:
    """Where a suite finds and keeps things.

    ``environments``: caches that outlive a run. ``references``: traces of fixed versions, one file per instance.
    ``records``: files of public benchmarks that the user has (``--heal-records``). ``trace``: whether executed points
    are to be counted (``--heal-trace``).
    """

    environments: Path
    references: Path
    records: tuple[Path, ...] = ()
    trace: bool = True


class Suite(Protocol):
    """A set of instances and the way to run one of them."""

    name: str

    def load(self, patterns: str, places: Places) -> Iterator[Instance | WrongRecord]:
        """The instances whose id matches ``patterns`` (see `matches`), in a fixed order.

        A record that cannot be read is a `WrongRecord` and stops nobody else. Raises ``ValueError`` only when there is
        nothing to load from at all; the text says what to do.
        """

    def run(self, instance: Any, setting: Setting, places: Places) -> Result:
        """Run ``instance`` once; whatever goes wrong is in the result (`Result.failure`). Start from `blank`."""

    def verify(self, instance: Any, places: Places) -> list[str]:
        """What is not as recorded when the instance runs without healing; empty when everything is."""

    def describe(self, instance: Any) -> str:
        """One line about ``instance`` for ``python -m benchmark_suites list``."""

    def digest(self, instance: Any) -> str:
        """A text that changes when the instance does, so that results of the old one are not taken for new ones."""


@dataclass(frozen=True)
class Facts:
    """What the tables group by; a suite gives it to `blank`. Units are in `Result`."""

    package: str = ""
    error_type: str = ""
    skip_only: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


def blank(suite: Suite, instance: Any, setting: Setting, facts: Facts) -> Result:
    """A result of ``instance`` that still says "not run"."""
    return Result(
        suite=suite.name, instance=instance.id, agent=setting.agent, model=setting.model, guard=setting.guard,
        outcome="not-run", options=dict(setting.options), package=facts.package, error_type=facts.error_type,
        skip_only=facts.skip_only, case=dict(facts.more), digest=suite.digest(instance),
    )


def find(name: str) -> Suite:
    """The suite ``name``: one of `SUITES`, or a folder of instances in the format of ``releases``.

    Raises ``ValueError`` that names the choices.
    """
    if name in SUITES:
        suite: Suite = importlib.import_module(f"benchmark_suites.{name}.suite").SUITE
        return suite
    folder = Path(name)
    if any(folder.glob("*/instance.toml")):
        from benchmark_suites.releases.suite import Releases

        return Releases(folder.resolve())
    raise ValueError(f"--suite={name}: there is no such suite and no folder with */instance.toml; "
                     f"choose from: {', '.join(SUITES)}")


def matches(id: str, patterns: str) -> bool:
    """Whether one of the globs in ``patterns``, separated by commas, matches ``id``."""
    return any(fnmatch.fnmatchcase(id, pattern.strip()) for pattern in patterns.split(","))
