"""Attacks a sandbox before anybody relies on it. May import view, plans and attack.

The attack runs inside, against a folder that stands for a project and against the project itself; what came of it is
seen from outside. A backend is taken only when nothing came of anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from healguard_core.healing.sandbox.attack import CANARY, DONE, NEW
from healguard_core.healing.sandbox.plans import Unusable
from healguard_core.healing.sandbox.view import View

SECONDS = 20.0
"""Seconds that the attack may take; it takes less than one where nothing hangs."""
_TEXT = "as it was\n"


def weakness(root: Path, backend: str) -> str:
    """What an attack achieved in a sandbox of this kind, "" when nothing. Raises `Unusable` when none can be made."""
    with tempfile.TemporaryDirectory(prefix="heal-proof-") as made, _listeners(Path(made)) as (asked, reached):
        project = Path(made).resolve() / "project"
        project.mkdir()
        (project / CANARY).write_text(_TEXT, encoding="utf-8")
        with contextlib.closing(View(project, backend)) as view:
            place = view.place()
            before = _state(place)
            found = _attack(view, {**asked, "canary": str(place)})
            if _state(place) != before or _state(project)[0] != [CANARY]:
                return "it changed a file that is for reading only"
            if reached():
                return "it reached the network"
    if found or backend == "user":  # the other user never sees the project itself
        return found
    with contextlib.closing(View(root, backend)) as view:
        return _attack(view, {**asked, "canary": ""}) or _left_behind(root.resolve() / NEW)


def _attack(view: View, asked: dict[str, Any]) -> str:
    """Run the attack: what it says that it has seen."""
    folders = {str(view.place()), str(view.root)}
    about = {"folders": sorted(folders), "pid": os.getpid(), "environ": _own_environ()}
    ended = view.attack(json.dumps({**asked, **about}), SECONDS)
    said = ended.output.strip().splitlines()[-1:]
    try:
        record = json.loads(said[0] if said else "")
        done = record["done"] == DONE
    except (ValueError, KeyError, TypeError):
        done = False
    if not done:
        raise Unusable(f"the attack on it did not come to its end: {ended.text[-300:]}")
    if record["settings"]:
        return "it can change settings of the machine: " + ", ".join(record["settings"])
    return "it sees the environment of other processes" if record["seen"] else ""


def _own_environ() -> str:
    """The digest of this process's environment, "" where nobody can read it."""
    try:
        return hashlib.sha256(Path("/proc/self/environ").read_bytes()).hexdigest()
    except OSError:
        return ""


def _state(folder: Path) -> tuple[Any, ...]:
    """What is in the folder, and everything about the canary that an attack might change."""
    if not folder.is_dir():
        return (None,)
    names = sorted(os.listdir(folder))
    if CANARY not in names:
        return names, None
    found = (folder / CANARY).stat()
    attributes = sorted(os.listxattr(folder / CANARY)) if hasattr(os, "listxattr") else []
    about = (found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, attributes, found.st_nlink)
    return names, ((folder / CANARY).read_bytes(), *about)


def _left_behind(path: Path) -> str:
    """What the attack made in the project itself, which is removed."""
    if not os.path.lexists(path):
        return ""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()
    return "it wrote into the project"


@contextlib.contextmanager
def _listeners(folder: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """Two servers to be reached, over TCP and over a file, and whether anybody has come."""
    place = str(folder / "socket")
    with (socket.create_server(("127.0.0.1", 0)) as tcp,
          socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as unix):
        unix.bind(place)
        unix.listen()
        os.chmod(place, 0o777)
        folder.chmod(0o755)

        def reached() -> bool:
            return bool(select.select([tcp, unix], [], [], 0)[0])

        yield {"tcp": tcp.getsockname()[1], "unix": place}, reached
