"""Shows a repository to agents: every command runs where it can read the project and change nothing.

`open_view` tries the backends from the strongest to the weakest, and takes the first one that withstands an attack
(`proof`). May import plans and proof.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

from healguard_core.healing.sandbox import plans
from healguard_core.healing.sandbox.plans import BACKENDS, Plan, Unusable

OUTPUT = 30_000
"""Characters of a command's output that are kept: the beginning and the end."""
FLOOD = 16 << 20
"""Bytes of output after which a command is ended."""
SECONDS = 30.0
"""Seconds that a command may take where nothing else is said."""
GRACE = 10.0
"""Seconds that the sandbox itself may take to end after the command's time is up."""


@dataclasses.dataclass(frozen=True)
class Shown:
    """What a command showed. ``returncode`` is None when it was stopped; ``stopped`` then says why."""

    output: str  # standard output and standard error together
    returncode: int | None = None
    stopped: str = ""

    @property
    def text(self) -> str:
        """The whole as text for a model."""
        end = f"(stopped: {self.stopped})" if self.returncode is None else f"(exit code {self.returncode})"
        return f"{self.output}\n{end}" if self.output.strip() else end


class View:
    """A read-only view of the project ``root`` by one backend. Close it when the run is over."""

    def __init__(self, root: Path, backend: str) -> None:
        problem = plans.obstacle(backend)
        if problem:
            raise Unusable(problem)
        self.backend = backend
        self.root = root.resolve()
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._copy: Path | None = None
        self._shell = shutil.which("bash", path="/usr/bin:/bin:/usr/local/bin") or "/bin/sh"

    def run(self, command: str, seconds: float = SECONDS) -> Shown:
        """Run ``command`` in a shell, in the project's folder. Raises `Unusable` when the sandbox does not start."""
        return self._run([self._shell, "-c", command], seconds)

    def attack(self, asked: str, seconds: float) -> Shown:
        """Run `attack` in place of a command; ``asked`` is what it reads."""
        return self._run(["(attack)", asked], seconds)

    def place(self) -> Path:
        """Where the project is for a command: another user reads a copy, made when it is first needed."""
        if self.backend != "user":
            return self.root
        with self._lock:
            if self._copy is None:
                self._copy = _copied(self.root)
            return self._copy / self.root.name

    def program(
        self, words: list[str], home: Path, readable: list[str], relay: tuple[str, int] | None
    ) -> list[str]:
        """The command line that runs an agent's program in this view; see `plans.program_in_bubblewrap`.

        Raises `Unusable` where the backend cannot hold a program with a network of its own.
        """
        if self.backend != "bwrap":
            raise Unusable(f"the sandbox {self.backend!r} holds commands only, no programs with a way to their model")
        everything = [*plans.system_paths(), *plans.own_paths(), *readable, str(self.root)]
        return plans.program_in_bubblewrap(words, readable=everything, home=str(home), relay=relay)

    def stop(self) -> None:
        """End every command that runs now."""
        with self._lock:
            running = list(self._running)
        for process in running:
            _hang_up(process)

    def close(self) -> None:
        """End everything and remove what was made."""
        self.stop()
        with self._lock:
            copy, self._copy = self._copy, None
        if copy is not None:
            shutil.rmtree(copy, ignore_errors=True)

    # ----------------------------------------------------------------- starting

    def _run(self, words: list[str], seconds: float) -> Shown:
        seconds = max(0.1, seconds)
        with tempfile.TemporaryDirectory(prefix="heal-scratch-", ignore_cleanup_errors=True) as scratch:
            return self._finished(self._argv(words, seconds, scratch), seconds)

    def _argv(self, words: list[str], seconds: float, scratch: str) -> list[str]:
        if self.backend == "bwrap":
            scratch = "/tmp"
        folder = str(self.place())
        plan = Plan(command=words, folder=folder, environ=_environ(scratch, folder), seconds=seconds)
        readable = [*plans.system_paths(), *plans.own_paths(), folder]
        if self.backend == "bwrap":
            return plans.watched(plans.in_bubblewrap(plan, readable=readable, scratch=scratch))
        if self.backend == "landlock":
            return plans.watched(plans.under_landlock(plan, readable=readable, scratch=scratch))
        user = _stranger()
        os.chown(scratch, user, user)
        return plans.watched(plans.as_stranger(plan, user))

    # ----------------------------------------------------------------- running

    def _finished(self, argv: list[str], seconds: float) -> Shown:
        try:
            process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       cwd="/", env={"PATH": "/usr/bin:/bin"}, start_new_session=True)
        except OSError as error:
            raise Unusable(f"{argv[0]} cannot be started: {error.strerror}") from None
        with self._lock:
            self._running.add(process)
        told = _Listener(process.stderr, 20_000, None)
        shown = _Listener(process.stdout, OUTPUT, lambda: _hang_up(process))
        timer = threading.Timer(seconds + GRACE, process.kill)
        timer.start()
        try:
            shown.join()
            told.join()
            process.wait()
        finally:
            timer.cancel()
            _hang_up(process)
            with self._lock:
                self._running.discard(process)
        end = _ending(told.text(), process.returncode)
        if shown.flooded:
            end = {"returncode": None, "stopped": f"it wrote more than {FLOOD >> 20} MB"}
        return Shown(shown.text(), end["returncode"], end["stopped"])


class _Listener(threading.Thread):
    """Reads a pipe to its end and keeps the beginning and the end of it."""

    def __init__(self, pipe: IO[bytes] | None, most: int, flood: Any) -> None:
        super().__init__(daemon=True)
        assert pipe is not None
        self._pipe, self._half, self._flood = pipe, most // 2, flood
        self._first, self._last, self._size = b"", b"", 0
        self.flooded = False
        self.start()

    def run(self) -> None:
        with self._pipe as pipe:
            while piece := pipe.read1(65536):  # type: ignore[attr-defined]
                self._size += len(piece)
                room = self._half - len(self._first)
                self._first += piece[:max(0, room)]
                self._last = (self._last + piece[max(0, room):])[-self._half:]
                if self._size > FLOOD and self._flood is not None and not self.flooded:
                    self.flooded = True
                    self._flood()

    def text(self) -> str:
        """What was read, with a mark where something is missing."""
        missing = self._size - len(self._first) - len(self._last)
        between = f"\n... ({missing} bytes left out) ...\n".encode() if missing else b""
        return (self._first + between + self._last).decode("utf-8", "replace")


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    """Tell the sandbox that nobody waits any more."""
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):
        process.stdin.close()


def _ending(told: str, returncode: int | None) -> dict[str, Any]:
    """How the command ended, as `enclosed` says. Raises `Unusable` when it never began."""
    lines = told.strip().splitlines()
    records = []
    for line in lines:
        with contextlib.suppress(ValueError):
            records.append(json.loads(line))
    problems = [record["problem"] for record in records if isinstance(record, dict) and "problem" in record]
    problems += [line for line in lines if line.startswith("bwrap: ")]
    if problems:
        raise Unusable(str(problems[0])[:300])
    endings = [record for record in records if isinstance(record, dict) and "stopped" in record]
    if endings:
        return endings[-1]
    if returncode is not None and returncode < 0 and not lines:
        return {"returncode": None, "stopped": f"it was ended by signal {-returncode}"}
    raise Unusable(lines[-1][:300] if lines else f"the sandbox ended with code {returncode} and said nothing")


def _environ(scratch: str, folder: str) -> dict[str, str]:
    """The whole environment of a command. Nothing of the run's own is in it."""
    git = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    paths = [str(Path(plans.interpreter()).parent), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
    return {"PATH": ":".join(dict.fromkeys(paths)), "HOME": scratch, "TMPDIR": scratch, "PWD": folder,
            "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat",
            "PAGER": "cat", "TERM": "dumb", **git}


def _stranger() -> int:
    """A user id that nobody has and that owns no process."""
    taken = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                taken.add(os.stat(f"/proc/{name}").st_uid)
    return next(number for number in range(62_000, 65_000) if number not in taken)


def _copied(root: Path) -> Path:
    """A folder with a copy of ``root`` that everybody may read and only root may write."""
    place = Path(tempfile.mkdtemp(prefix="heal-view-"))
    try:
        shutil.copytree(root, place / root.name, symlinks=True, ignore=_specials, ignore_dangling_symlinks=True)
        for folder, _, files in os.walk(place):
            os.chmod(folder, 0o755)
            for name in files:
                path = os.path.join(folder, name)
                if not os.path.islink(path):
                    os.chown(path, 0, 0)
                    os.chmod(path, 0o755 if os.stat(path).st_mode & 0o100 else 0o644)
    except OSError as error:
        shutil.rmtree(place, ignore_errors=True)
        raise Unusable(f"the project cannot be copied: {error}") from None
    return place


def _specials(folder: str, names: list[str]) -> list[str]:
    """What is neither file, folder nor link: sockets, pipes and devices."""
    kinds = {entry.name for entry in os.scandir(folder)
             if entry.is_symlink() or entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)}
    return [name for name in names if name not in kinds]


def open_view(root: Path, wanted: str = "auto") -> View:
    """A view by the strongest backend that holds here, or by the ``wanted`` one. Raises `Unusable` with the reasons."""
    from healguard_core.healing.sandbox.proof import weakness

    reasons = []
    for backend in BACKENDS if wanted == "auto" else (wanted,):
        try:
            found = weakness(root, backend)
        except Unusable as problem:
            found = str(problem)
        if not found:
            return View(root, backend)
        reasons.append(f"{backend}: {found}")
    raise Unusable("no sandbox holds on this machine, so agents get no shell ({})".format("; ".join(reasons)))
