"""Chooses target tests and their errors, as HealBench did (sections 3.1 and B.1). Imports container and records.

A test is a candidate when it fails before and passes after the fix, and while it runs before it, an error that nobody
handles is raised in the repository's own code. The last step of the paper, a person's review, stays with the user.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from benchmark_suites.healbench import commands, container
from benchmark_suites.healbench.adapters import adapt
from benchmark_suites.healbench.engine import Engine, EngineUnavailable, Limits
from benchmark_suites.healbench.files import read
from benchmark_suites.healbench.records import Record, RecordError
from benchmark_suites.suite import matches
from healguard_core import protocol

OBSERVER = "reraise"  # the agent that lets every error go on: the pauses are what is wanted

WRONG, NOT_RUN, NO_ERROR, STILL_FAILS, KEPT = (
    "wrong record", "could not be run", "no error in repository code", "fails after the fix, too", "kept")


@dataclass(frozen=True)
class Chosen:
    """What became of one record: ``record`` is the enriched one when it was kept."""

    id: str
    verdict: str
    told: str
    record: dict[str, Any] | None = None


def select(paths: Iterable[Path], out: Path, patterns: str, limits: Limits, said: TextIO) -> Counter[str]:
    """Append the records that can be instances to ``out``, with ``target_test`` and ``error``; count the verdicts.

    Records that ``out`` has already are left alone, so that a killed selection goes on. Raises ``ValueError`` for
    unreadable files and `EngineUnavailable` without an engine.
    """
    done = {record.get("instance_id", record.get("docker_image")) for _, record in read(out) if isinstance(record, dict)
            } if out.is_file() else set()
    ledger: Counter[str] = Counter()
    with Engine() as engine:
        for where, raw in (found for path in paths for found in read(path)):
            if isinstance(raw, dict) and raw.get("instance_id", raw.get("docker_image")) in done:
                continue
            chosen = _choose(engine, where, raw, patterns, limits)
            if chosen is None:
                continue
            ledger[chosen.verdict] += 1
            print(f"{chosen.id}: {chosen.verdict}{': ' if chosen.told else ''}{chosen.told}", file=said, flush=True)
            if chosen.record is not None:
                with open(out, "a", encoding="utf-8") as file:
                    file.write(json.dumps(chosen.record, sort_keys=True) + "\n")
    return ledger


def _choose(engine: Engine, where: str, raw: dict[str, Any] | str, patterns: str, limits: Limits) -> Chosen | None:
    try:
        if isinstance(raw, str):
            raise RecordError(raw)
        record = adapt(raw)
        if not matches(record.id, patterns):
            return None
        return _chosen(engine, record, limits)
    except RecordError as problem:
        return Chosen(where, WRONG, str(problem))
    except (EngineUnavailable, container.NotPrepared) as problem:
        return Chosen(where, NOT_RUN, str(problem))


def _chosen(engine: Engine, record: Record, limits: Limits) -> Chosen:
    config = protocol.Config(root=record.workdir, agent=OBSERVER, undecided="pause")
    with container.prepared(engine, record, container.BUGGY, limits) as image:
        found = next(_candidates(engine, record, image, limits, config), None)
    if found is None:
        return Chosen(record.id, NO_ERROR, f"looked at {len(record.should_fail)} tests")
    test, error = found
    with container.prepared(engine, record, container.FIXED, limits) as image:
        ran = container.run_tests(engine, record, image, limits, target=test)
    status = commands.status_of(test, ran.ended.output, record.runner)
    if status not in commands.GOOD:
        return Chosen(record.id, STILL_FAILS, f"{test}: {status or ran.ended.why or 'no result'}")
    enriched = {**record.raw, "target_test": test, "error": error}
    return Chosen(record.id, KEPT, f"{test}: {error['type']} at {error['file']}:{error['line']}", enriched)


def _candidates(
    engine: Engine, record: Record, image: str, limits: Limits, config: protocol.Config
) -> Iterator[tuple[str, dict[str, Any]]]:
    for test in record.should_fail:
        ran = container.run_tests(engine, record, image, limits, target=test, config=config)
        if ran.problem:
            raise container.NotPrepared(ran.problem)
        status = commands.status_of(test, ran.ended.output, record.runner)
        crashes = [event for event in ran.events if isinstance(event, protocol.Crashed)]
        if status in ("FAILED", "ERROR") and crashes:
            last = crashes[-1]
            yield test, {"type": last.error, "message": last.message, "file": _relative(last.file, record.workdir),
                         "line": last.line}


def _relative(file: str, workdir: str) -> str:
    return file.removeprefix(workdir.rstrip("/") + "/")
