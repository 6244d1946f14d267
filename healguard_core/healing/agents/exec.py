"""The agent ``exec:COMMAND``: any program that speaks JSON lines on standard input and output. May import service.

One process per conversation, in a process group of its own, without the secrets of the environment. See
docs/protocol.md, "Agents as commands".
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping
from typing import Any, ClassVar

from healguard_core.healing.pauses import Pause, noting
from healguard_core.healing.prompts import outcome_text
from healguard_core.healing.service import Service
from healguard_core.protocol import VERSION, ExecuteOutcome

MALFORMED = 3
LONGEST_LINE = 1 << 20
GRACE = 2.0
"""Seconds that the program has to end by itself once it was told that the conversation is over."""

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|SESSION|PRIVATE|DSN|DATABASE_URL", re.IGNORECASE)
_END = object()  # its output ended


class AgentFault(Exception):
    """The program cannot be started, or ended when it should not; the text says why."""


class Exec:
    """One conversation with a program."""

    side: ClassVar[str] = "healing"
    uses_model: ClassVar[str] = "may"
    takes_argument: ClassVar[bool] = True

    def __init__(self, service: Service) -> None:
        self._service = service
        self._process: _Process | None = None

    def respond(self, pause: Pause) -> None:
        process = self._running()
        process.send({"type": "crash", "crash": pause.number, "context": dataclasses.asdict(pause.context)})
        malformed = 0
        with noting(pause, "the command works"):
            while not pause.decided:
                message = process.receive(pause)
                if message is None:
                    break
                problem = self._act(pause, process, message)
                malformed = malformed + 1 if problem else 0
                if malformed >= MALFORMED:
                    pause.reraise(f"the command sent {malformed} unusable messages in a row; the last one: {problem}")
                elif problem:
                    process.send({"type": "error", "crash": pause.number, "message": problem})
        process.send({"type": "end", "crash": pause.number, "reason": pause.why_over})

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()

    # ----------------------------------------------------------------- messages

    def _act(self, pause: Pause, process: _Process, message: dict[str, Any]) -> str:
        """Do what ``message`` asks for; return what is wrong with it, "" for nothing."""
        if message.get("type") == "unreadable":
            return str(message["problem"])
        if message.get("crash", pause.number) != pause.number:
            return ""  # about an earlier crash: too late
        kind = message.get("type")
        if kind == "execute":
            return self._execute(pause, process, message)
        if kind == "reraise":
            pause.reraise(str(message.get("reason") or "the command let the error go on")[:2000])
            return ""
        if kind == "log":
            pause.note = str(message.get("message") or "")[:200]
            return ""
        if kind == "usage":
            if self._service.model is None:  # else the proxy has counted it
                self._service.meter.report(pause.spending, message)
            return ""
        return f"type {kind!r} is unknown; use execute, reraise, log or usage"

    def _execute(self, pause: Pause, process: _Process, message: dict[str, Any]) -> str:
        code, submit = message.get("code"), message.get("submit", False)
        if not isinstance(code, str) or not code.strip() or not isinstance(submit, bool):
            return "execute needs `code` (text) and may have `submit` (true or false)"
        frame = message.get("frame", 0)
        if type(frame) is not int:
            return "`frame` must be a whole number"
        if submit:
            outcome = pause.heal(code, str(message.get("resume") or "next"), frame,
                                 str(message.get("explanation") or "")[:1000])
        else:
            outcome = pause.probe(code)
        process.send(result(pause, message, outcome))
        return ""

    def _running(self) -> _Process:
        if self._process is None or not self._process.alive():
            if self._process is not None:
                self._process.kill()
            self._process = _Process(self._service)
            self._process.send(self._hello())
        return self._process

    def _hello(self) -> dict[str, Any]:
        model = self._service.model
        return {"type": "hello", "version": VERSION, "root": str(self._service.root),
                "model": None if model is None else model.name}


def result(pause: Pause, asked: dict[str, Any], outcome: ExecuteOutcome) -> dict[str, Any]:
    """What goes back about one ``execute``. ``text`` says the same for a model, fenced."""
    return {"type": "result", "crash": pause.number, "id": asked.get("id"), "decided": pause.decided,
            **dataclasses.asdict(outcome), "text": outcome_text(outcome)}


class _Process:
    """The program, with a thread that reads what it says and one that keeps the end of what it complains about."""

    def __init__(self, service: Service) -> None:
        command = shlex.split(service.argument)
        if not command:
            raise AgentFault("exec needs a command: --heal=exec:COMMAND")
        self._lines: queue.Queue[Any] = queue.Queue(maxsize=1000)
        self._complaints = b""
        environ = environment(os.environ, service)
        command[0] = _located(command[0], service, environ)
        try:
            self._process = subprocess.Popen(
                command, cwd=service.root, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise AgentFault(f"cannot start {command[0]!r}: {error.strerror}") from None
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

    def receive(self, pause: Pause) -> dict[str, Any] | None:
        """The next message; None when the crash is decided meanwhile. Raises `AgentFault` when the program ended."""
        while not pause.decided:
            try:
                line = self._lines.get(timeout=0.2)
            except queue.Empty:
                continue
            if line is _END:
                raise AgentFault(self._ending())
            return _parsed(line)
        return None

    def kill(self) -> None:
        """End the program and everything that it started."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError, ValueError):
            self._process.kill()
        self._process.wait()
        self._hang_up()

    def close(self) -> None:
        """Let it end by itself, then make sure."""
        self.send({"type": "bye"})
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
            while True:
                line = out.readline(LONGEST_LINE)
                if not line:
                    break
                self._lines.put(line)
        self._lines.put(_END)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as err:
            while piece := err.read1(4096):  # type: ignore[attr-defined]
                self._complaints = (self._complaints + piece)[-2000:]

    def _ending(self) -> str:
        code = self._process.wait()
        self._threads[1].join(1.0)
        said = self._complaints.decode("utf-8", "replace").strip().splitlines()[-1:]
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        return f"the command {how} before it decided" + (f": {said[0][:300]}" if said else "")


def environment(environ: Mapping[str, str], service: Service) -> dict[str, str]:
    """The environment without what looks secret, and with the way to the model proxy."""
    kept = {name: value for name, value in environ.items() if not _SECRET.search(name)}
    if service.model is not None:
        kept |= {"OPENAI_BASE_URL": service.proxy, "OPENAI_API_BASE": service.proxy,
                 "OPENAI_API_KEY": service.proxy_key, "HEAL_MODEL": service.model.name}
    return kept


def _located(name: str, service: Service, environ: Mapping[str, str]) -> str:
    """The program's file: relative names mean the project's folder. Raises `AgentFault`."""
    if os.sep in name:
        return str(service.root / os.path.expanduser(name))
    found = shutil.which(name, path=environ.get("PATH"))
    if found is None:
        raise AgentFault(f"there is no program {name!r} on PATH")
    return found


def _parsed(line: bytes) -> dict[str, Any]:
    if len(line) >= LONGEST_LINE:
        return {"type": "unreadable", "problem": f"a line is longer than {LONGEST_LINE} bytes"}
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"type": "unreadable", "problem": f"not JSON: {error}"}
    if not isinstance(message, dict):
        return {"type": "unreadable", "problem": "not a JSON object"}
    return message
