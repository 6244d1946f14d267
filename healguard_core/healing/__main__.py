"""``python -m healguard_core.healing``: the process of the healing side. Started by `starting.start_healing`.

Reads its settings as one JSON object from standard input, prints its address as one line, and goes into the background,
a child of nobody. Until the first connection comes in it has imported next to nothing. It ends with the process that
started it, or by SIGTERM. Needs POSIX.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

BACKLOG = 64


def main() -> None:
    """See the module."""
    settings = json.load(sys.stdin)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.bind(("127.0.0.1", 0))
    listening.listen(BACKLOG)
    local = _local(settings["socket"])
    watched = _Watched(int(settings["watch"]))
    if os.fork():
        os._exit(0)
    os.setsid()
    _close_memory()
    over = _Over()
    signal.signal(signal.SIGTERM, over)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which ends us
    note = _rendezvous(settings, listening.getsockname()[1])
    print(json.dumps({"port": listening.getsockname()[1], "pid": os.getpid()}), flush=True)
    _leave_the_terminal()
    try:
        if _first_connection([listening, *local], watched, over):
            _serve(settings, listening, local, lambda: over.asked or not watched.alive())
    finally:
        if settings["socket"]:
            with contextlib.suppress(OSError):
                os.unlink(settings["socket"])
        if note is not None:
            with contextlib.suppress(OSError):
                note.unlink()


def _local(path: str) -> list[socket.socket]:
    """A socket at ``path``, if one was asked for. Who may enter is for its token and its folder to say."""
    if not path:
        return []
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(path)
    os.chmod(path, 0o666)
    listening.listen(BACKLOG)
    return [listening]


class _Over:
    """Whether the run is over, as a signal says. ``descriptor`` can be read once one has come."""

    def __init__(self) -> None:
        self.asked = False
        self.descriptor, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing)

    def __call__(self, *_: object) -> None:
        self.asked = True


class _Watched:
    """The process whose end is the end of the run."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.descriptor = -1
        opened = getattr(os, "pidfd_open", None)
        if opened is not None:
            with contextlib.suppress(OSError):  # an old kernel
                self.descriptor = opened(pid)

    def alive(self) -> bool:
        if self.descriptor >= 0:
            return not select.select([self.descriptor], [], [], 0)[0]
        try:
            os.kill(self._pid, 0)
        except OSError as error:
            return isinstance(error, PermissionError)
        return True


def _close_memory() -> None:
    """Other processes of this user (agent programs, the program under test) must not read the key out of this one."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


_SET_DUMPABLE = 4  # PR_SET_DUMPABLE


def _leave_the_terminal() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    os.chdir("/")


def _first_connection(listening: list[socket.socket], watched: _Watched, over: _Over) -> bool:
    """Wait until somebody connects (True) or the run is over."""
    descriptors: list[Any] = [*listening, over.descriptor]
    if watched.descriptor >= 0:
        descriptors.append(watched.descriptor)
    while not over.asked and watched.alive():
        ready = select.select(descriptors, [], [], 1.0)[0]
        if any(each in ready for each in listening):
            return True
    return False


def _rendezvous(settings: dict[str, Any], port: int) -> Path | None:
    """Let agents of this user find the run, where the agent is one that comes by itself."""
    if settings["agent"].partition(":")[0] != "mcp":
        return None
    from healguard_core.healing.rendezvous import announce

    return announce(settings["root"], port, settings["agent_token"], settings["watch"])


def _serve(
    settings: dict[str, Any], listening: socket.socket, local: list[socket.socket], until: Any
) -> None:
    from healguard_core.healing.desk import Desk
    from healguard_core.healing.meter import Meter
    from healguard_core.healing.models import Model
    from healguard_core.healing.provider import provider_for
    from healguard_core.healing.repository import RepositoryShell
    from healguard_core.healing.server import HealingServer, serve

    model = Model(**settings["model"]) if settings["model"] else None
    key = settings.pop("key")
    provider = provider_for(model, key) if model is not None else None
    meter = Meter(model, provider, settings["max_cost"])
    root = Path(settings["root"])
    shell = RepositoryShell(root, settings["sandbox"], redact=settings["redact"])
    desk = Desk(meter, root, shell=shell, enclose=shell.enclose, **_cassettes(settings["cassettes"], root, key))
    tell = _Telling(settings["progress"]) if settings["progress"] else None
    with tempfile.TemporaryDirectory(prefix="heal-proxy-", ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "proxy")
        shell.relay = (path, listening.getsockname()[1])
        server, *others = [HealingServer(each, desk, settings["token"], settings["agent_token"])
                           for each in (listening, *local, *_local(path))]
        try:
            serve(server, until, tell=tell, others=others)
        finally:
            shell.close()


def _cassettes(asked: dict[str, str], root: Path, key: str) -> dict[str, Any]:
    """The cassettes of this run by kind; they were looked at before it began."""
    if not asked["actions"] and not asked["exchanges"]:
        return {}
    from healguard_core.healing.cassettes import KINDS, Cassette

    return {kind: Cassette(Path(asked[kind]), kind, asked["mode"], root, key=key) for kind in KINDS if asked[kind]}


class _Telling:
    """Writes what is paused into a file, in one step, where that has changed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._last = ""

    def __call__(self, paused: Any) -> None:
        text = json.dumps(paused)
        if text == self._last:
            return
        self._last = text
        with contextlib.suppress(OSError):  # the run has ended and taken the file with it
            if os.path.exists(self._path):
                Path(self._path + ".new").write_text(text, encoding="utf-8")
                os.replace(self._path + ".new", self._path)


if __name__ == "__main__":
    main()
