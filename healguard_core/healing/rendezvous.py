"""How an agent that comes by itself finds a run: a file of this user alone. Standard library only."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Meeting:
    """A run that can be joined."""

    root: Path
    port: int
    token: str
    pid: int
    started: float


def folder() -> Path:
    """Where runs are announced."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    base = Path(runtime) if runtime else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "healguard" / "runs"


def announce(root: str, port: int, token: str, pid: int) -> Path:
    """Write the file for the run of process ``pid`` and return it. Raises ``OSError``."""
    place = folder()
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = place / f"{pid}-{port}.json"
    record = {"root": root, "port": port, "token": token, "pid": pid, "started": time.time()}
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(record, file)
    return path


def find(where: Path) -> Meeting | None:
    """The newest run whose project is ``where``, lies in it or holds it. Files of runs that are gone are removed."""
    here = where.resolve()
    fitting = [meeting for meeting in _running() if _related(meeting.root, here)]
    return max(fitting, key=lambda meeting: meeting.started, default=None)


def _related(root: Path, here: Path) -> bool:
    return here.is_relative_to(root) or root.is_relative_to(here)


def _running() -> Iterator[Meeting]:
    for path in sorted(folder().glob("*.json")):
        try:
            if path.stat().st_uid != os.getuid():
                continue  # somebody else's: it must not lead us anywhere
            record = json.loads(path.read_text(encoding="utf-8"))
            meeting = Meeting(Path(record["root"]).resolve(), int(record["port"]), str(record["token"]),
                              int(record["pid"]), float(record["started"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # being written, or not ours
        try:
            os.kill(meeting.pid, 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
            continue
        except OSError:
            continue
        yield meeting
