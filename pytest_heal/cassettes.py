"""What a run has to say about its cassettes: crashes that they do not hold, and recordings that nobody asked for.

May import healguard_core.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_heal.records import Record

NOTICE = "cassette"
"""The code of these notices; each one fails the run."""
_MISS = "cassette miss: "


def differences(settings: Any, tests: dict[str, Record]) -> list[Record]:
    """A notice for every miss and, in strict mode, for every recording that a test of this run did not come to."""
    found = [
        {"code": NOTICE, "message": reason.partition(_MISS)[2], "where": f"{crash['file']}:{crash['line']}"}
        for row in tests.values() for crash in row["crashes"] if _MISS in (reason := str(crash.get("reason") or ""))
    ]
    if settings.cassette_mode == "strict":
        for path, kind in ((settings.cassette, "actions"), (settings.http_cassette, "exchanges")):
            if path is not None:
                found += _unused(path, kind, tests)
    return found


def _unused(path: Path, kind: str, tests: dict[str, Record]) -> list[Record]:
    from healguard_core.healing.cassettes import load

    found = []
    for entry in load(path, kind):
        row = tests.get(entry.unit)
        if row is not None and row["outcome"] != "skipped" and entry.ordinal > len(row["crashes"]):
            message = (f"{path.name} has crash {entry.ordinal} of {entry.unit} ({entry.crash.error} in "
                       f"{entry.crash.function}), which did not happen; delete the recording if that is right")
            found.append({"code": NOTICE, "message": message, "where": str(path)})
    return found
