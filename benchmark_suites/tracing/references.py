"""Reference runs: what the target test of an instance runs in its fixed version, kept per instance. Imports points."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark_suites.tracing.points import Trace

SCHEMA = "pytest-heal-reference/1"


@dataclass(frozen=True)
class Reference:
    """A reference run, ``seconds`` of wall time. ``trace`` is None when there is none; ``problem`` says why."""

    instance: str
    digest: str
    passed: bool
    trace: Trace | None
    seconds: float = 0.0
    problem: str = ""


def reference(folder: Path, instance: str, digest: str, run: Callable[[], Reference]) -> Reference:
    """The reference run of ``instance`` in the state ``digest``: the one kept in ``folder``, else made by ``run``.

    A run without a trace is not kept, so the next caller tries again.
    """
    path = folder / f"{instance}.json"
    found = _kept(path)
    if found is not None and found.digest == digest:
        return found
    made = run()
    if made.trace is not None:
        _keep(path, made)
    return made


def _kept(path: Path) -> Reference | None:
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if record.pop("schema") != SCHEMA:
            return None
        return Reference(**{**record, "trace": Trace.from_json(record["trace"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(path: Path, made: Reference) -> None:
    assert made.trace is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"schema": SCHEMA, "instance": made.instance, "digest": made.digest, "passed": made.passed,
              "seconds": made.seconds, "problem": made.problem, "trace": made.trace.to_json()}
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(record, file)
    os.replace(name, path)
