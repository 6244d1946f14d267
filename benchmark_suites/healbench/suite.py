"""Suite ``healbench`` as the machinery sees it. Imports the other modules of this suite and the machinery."""

from __future__ import annotations

from collections.abc import Iterator

from benchmark_suites.healbench import runner
from benchmark_suites.healbench.adapters import adapt
from benchmark_suites.healbench.engine import Limits
from benchmark_suites.healbench.files import read
from benchmark_suites.healbench.records import Record, RecordError
from benchmark_suites.results import Result
from benchmark_suites.setting import Setting
from benchmark_suites.suite import Facts, Places, WrongRecord, blank, matches


class HealBench:
    """The records in the files that the user names (``--heal-records``)."""

    name = "healbench"

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    def load(self, patterns: str, places: Places) -> Iterator[Record | WrongRecord]:
        if not places.records:
            raise ValueError("suite healbench needs the files that hold its records: --heal-records=FILE; "
                             "`python -m benchmark_suites select` makes one of a public benchmark's file")
        known: set[str] = set()
        for path in places.records:
            for where, raw in read(path):
                found = _usable(where, raw, known)
                if matches(found.id, patterns):
                    yield found

    def run(self, instance: Record, setting: Setting, places: Places) -> Result:  # noqa: ARG002
        facts = Facts(instance.repo, instance.error.type if instance.error else "", "", {"source": instance.source})
        result = blank(self, instance, setting, facts)
        runner.run(instance, setting, self._limits, result)
        return result

    def verify(self, instance: Record, places: Places) -> list[str]:  # noqa: ARG002
        return runner.problems(instance, self._limits)

    def describe(self, instance: Record) -> str:
        error = instance.error
        where = f"{error.type} at {error.file}:{error.line}" if error else ""
        return f"{instance.id:<55} {instance.source:<14} {where}"

    def digest(self, instance: Record) -> str:
        return instance.digest


def _usable(where: str, raw: object, known: set[str]) -> Record | WrongRecord:
    """The record, or what is wrong with it. Every one has an id of its own."""
    place = "".join(letter if letter.isalnum() or letter in ".-" else "-" for letter in where)
    try:
        if not isinstance(raw, dict):
            raise RecordError(str(raw))
        record = adapt(raw)
        if not record.target_test:
            raise RecordError("no target test was chosen yet: run `python -m benchmark_suites select "
                              "--heal-records=FILE --out=SELECTED.jsonl` and use that file")
        if record.id in known:
            raise RecordError(f"the id {record.id!r} is used before in these files")
    except RecordError as problem:
        return WrongRecord(place, f"{where}: {problem}")
    known.add(record.id)
    return record


SUITE = HealBench()
