"""The machine-readable report (`--heal-report`): its document and how it is written. Imports healguard_core."""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from healguard_core import __version__
from pytest_heal.categories import not_accepted
from pytest_heal.records import Record, add_usage, applied, no_usage

if TYPE_CHECKING:
    from pytest_heal.run import Run

SCHEMA = "pytest-heal/1"
SCHEMA_FILE = Path(__file__).with_name("schema") / "report.schema.json"


def document(
    run: Run, tests: list[Record], marks: dict[str, Record], notices: list[Record], exit_status: int, started: float
) -> Record:
    """The report; see ``schema/report.schema.json``. ``started`` is seconds since the epoch."""
    settings = run.settings
    return {
        "schema": SCHEMA,
        "run": {
            "agent": settings.agent,
            "model": run.healing.model,
            "guarded": settings.guarded,
            "accept": settings.accept,
            "intercept": settings.core.intercept,
            "protocol": settings.core.protocol,
            "second_look": settings.second_look,
            "root": settings.core.root,
            "version": __version__,
            "python": platform.python_version(),
            "pytest": pytest.__version__,
            "exit_status": exit_status,
            "started": started,
            "seconds": round(time.time() - started, 3),
            "notices": notices,
        },
        "tests": tests,
        "totals": totals(tests, len(not_accepted(marks))),
    }


def totals(tests: list[Record], not_accepted: int) -> Record:
    """The sums over ``tests``."""
    spent: Record = {}
    for test in tests:
        add_usage(spent, test["usage"])
    return {
        "tests": len(tests),
        "outcomes": dict(sorted(Counter(test["outcome"] for test in tests).items())),
        "crashes": sum(len(test["crashes"]) for test in tests),
        "applied": sum(applied(test) for test in tests),
        "not_accepted": not_accepted,
        "usage": no_usage() | spent,
    }


def write_report(path: Path, report: Record) -> None:
    """Write the report in one step: readers see the old file or the whole new one."""
    write_text(path, json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write ``text`` by atomic rename, making the folder where needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
