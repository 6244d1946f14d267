"""A program that is spoken to by lines of JSON, in a process group of its own. Imports redaction."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from healguard_core.execution.pause.redaction import redact_shapes

LONGEST_LINE = 8 << 20
GRACE = 2.0
"""Seconds that a program has to end by itself once its input was closed."""

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|SESSION|PRIVATE|DSN|DATABASE_URL", re.IGNORECASE)
_LOGIN = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_END = object()  # its output ended


class ProcessFault(Exception):
    """The program cannot be started, or ended when it should not; the text says why."""


class Unreadable(ValueError):
    """A line is not usable; the text says why, for whoever wrote it."""


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables whose names or values look secret."""
    return {name: value for name, value in environ.items()
            if not _SECRET.search(name) and not _LOGIN.search(value) and redact_shapes(value) == value}


def direct(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which no proxy stands between the program and this machine's own addresses."""
    own = ",".join(filter(None, [environ.get("no_proxy") or environ.get("NO_PROXY"), "127.0.0.1", "localhost"]))
    return {**environ, "no_proxy": own, "NO_PROXY": own}


def located(name: str, root: Path, environ: Mapping[str, str]) -> str:
    """The file of a program: on PATH, or relative to ``root``. Raises `ProcessFault`."""
    path = root / os.path.expanduser(name)
    found = shutil.which(path if os.sep in name else name, path=environ.get("PATH"))
    if found is None:
        where = f"at {str(path)!r}" if os.sep in name else "on PATH"
        raise ProcessFault(f"there is no program {name!r} {where}")
    return found


class Spares:
    """Programs that wait for another conversation, because starting them takes long. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[str, list[LineProcess]] = {}
        self._closed = False

    def take(self, kind: str) -> LineProcess | None:
        """An idle program of this kind that still runs."""
        with self._lock:
            idle = self._idle.get(kind, [])
            while idle:
                process = idle.pop()
                if process.alive():
                    return process
                process.kill()
        return None

    def give(self, kind: str, process: LineProcess) -> None:
        """Keep ``process`` for whoever comes next; at the end of the run it is ended."""
        with self._lock:
            if not self._closed and process.alive():
                self._idle.setdefault(kind, []).append(process)
                return
        process.kill()

    def close(self) -> None:
        """The run is over."""
        with self._lock:
            self._closed = True
            ending = [process for idle in self._idle.values() for process in idle]
            self._idle.clear()
        for process in ending:
            process.kill()


class LineProcess:
    """The program, with a thread that reads what it says and one that keeps the end of what it complains about.

    ``title`` names it in messages. ``scratch`` is a folder of its own, removed when it ends.
    """

    def __init__(
        self, command: Sequence[str], root: Path, environ: Mapping[str, str], *,
        title: str = "the command", longest: int = LONGEST_LINE, scratch: Path | None = None,
    ) -> None:
        self._title = title
        self._scratch = scratch
        self._longest = longest
        self._lines: queue.Queue[Any] = queue.Queue(maxsize=1000)
        self._complaints = b""
        try:
            self._process = subprocess.Popen(
                list(command), cwd=root, env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            self._clear()
            raise ProcessFault(f"cannot start {command[0]!r}: {error.strerror}") from None
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._read, self._listen)]
        for thread in self._threads:
            thread.start()

    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, message: dict[str, Any]) -> None:
        """Write one line. A program that has ended is noticed by `receive`."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(message).encode("ascii") + b"\n")
            self._process.stdin.flush()

    def receive(self, seconds: float) -> dict[str, Any] | None:
        """The next message, None when there is none in time. Raises `ProcessFault` at its end, and `Unreadable`."""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return None
        if line is _END:
            self._lines.put(_END)
            raise ProcessFault(self._ending())
        return _parsed(line, self._longest)

    def kill(self) -> None:
        """End the program and everything that it started."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        self._hang_up()
        self._clear()

    def _clear(self) -> None:
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def close(self) -> None:
        """Let it end by itself, then make sure."""
        self._hang_up()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        self.kill()

    def _hang_up(self) -> None:
        """The reading threads close the other pipes."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as out:
            while line := out.readline(self._longest):
                self._lines.put(line)
        self._lines.put(_END)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as err:
            while piece := err.read1(4096):  # type: ignore[attr-defined]
                self._complaints = (self._complaints + piece)[-2000:]

    def _ending(self) -> str:
        code = _waited(self._process)
        self._threads[1].join(1.0)
        said = self._complaints.decode("utf-8", "replace").strip().splitlines()[-1:]
        if code is None:
            how = "closed its output"
        else:
            how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        return f"{self._title} {how} before it decided" + (f": {said[0][:300]}" if said else "")


def _waited(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code of a process whose output has ended; None when it lives on."""
    end = time.monotonic() + 1.0
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    return process.poll()


def _parsed(line: bytes, longest: int) -> dict[str, Any]:
    if len(line) >= longest:
        raise Unreadable(f"a line is longer than {longest} bytes")
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise Unreadable("not a JSON object")
    return message
