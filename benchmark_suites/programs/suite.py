"""Suite ``programs`` as the machinery sees it. Imports the other modules of this suite and the machinery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmark_suites.programs import public, runner
from benchmark_suites.programs.cases import Case, load_each
from benchmark_suites.results import Result
from benchmark_suites.setting import Setting
from benchmark_suites.suite import Facts, Places, WrongRecord, blank, matches


class Programs:
    """The suite's own programs, or those in the files that the user names (``--heal-records``)."""

    name = "programs"

    def load(self, patterns: str, places: Places) -> Iterator[Case | WrongRecord]:
        found: Iterator[tuple[str, Case | ValueError]]
        if places.records:
            found = (each for path in places.records for each in _public(path, patterns))
        else:
            found = ((id, case) for id, case in load_each(patterns))
        for id, case in found:
            yield case if isinstance(case, Case) else WrongRecord(id, str(case))

    def run(self, instance: Case, setting: Setting, places: Places) -> Result:
        result = blank(self, instance, setting, Facts(instance.source, instance.error, instance.skip_only))
        runner.run(instance, setting, places, result)
        return result

    def verify(self, instance: Case, places: Places) -> list[str]:  # noqa: ARG002
        return runner.problems(instance)

    def describe(self, instance: Case) -> str:
        return f"{instance.id:<40} {instance.error:<20} {instance.about}"

    def digest(self, instance: Case) -> str:
        return instance.digest


def _public(path: Path, patterns: str) -> Iterator[tuple[str, Case | ValueError]]:
    return ((id, case) for id, case in public.read(path) if matches(id, patterns))


SUITE = Programs()
