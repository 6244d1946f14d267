"""Suite ``releases`` as the machinery sees it. Imports the other modules of this suite and the machinery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmark_suites.releases import runner, verify
from benchmark_suites.releases.environments import Environments
from benchmark_suites.releases.instances import ROOT, Instance, load_each
from benchmark_suites.results import Result
from benchmark_suites.setting import Setting
from benchmark_suites.suite import Facts, Places, WrongRecord, blank


class Releases:
    """The instances below ``root``: the suite's own, or a folder of the same form that a user has."""

    def __init__(self, root: Path = ROOT) -> None:
        self.name = "releases" if root == ROOT else root.name
        self._root = root

    def load(self, patterns: str, places: Places) -> Iterator[Instance | WrongRecord]:  # noqa: ARG002
        for folder, found in load_each(patterns, self._root):
            yield found if isinstance(found, Instance) else WrongRecord(folder.name, str(found))

    def run(self, instance: Instance, setting: Setting, places: Places) -> Result:
        facts = Facts(instance.package, instance.error.type, instance.skip_only)
        result = blank(self, instance, setting, facts)
        runner.run(instance, setting, places, result)
        return result

    def verify(self, instance: Instance, places: Places) -> list[str]:
        return verify.problems(instance, Environments(places.environments))

    def describe(self, instance: Instance) -> str:
        return (f"{instance.id:<55} Python {instance.python:<6} {instance.difficulty:<7} "
                f"{instance.error.type} at {instance.error.file}:{instance.error.line}")

    def digest(self, instance: Instance) -> str:
        return instance.digest


SUITE = Releases()
