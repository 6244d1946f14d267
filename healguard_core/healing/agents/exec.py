"""The agent ``exec:COMMAND``: any program that speaks JSON lines on standard input and output. May import service.

One process per conversation, in a process group of its own, without the secrets of the environment. See
docs/protocol.md, "Agents as commands".
"""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from healguard_core.healing.pauses import Pause, noting
from healguard_core.healing.processes import LineProcess, ProcessFault, Unreadable, located, scrubbed
from healguard_core.healing.prompts import outcome_text
from healguard_core.healing.service import Service
from healguard_core.protocol import VERSION, ExecuteOutcome

MALFORMED = 3
"""Messages in a row that are not usable, after which a crash is given up."""
LONGEST_LINE = 1 << 20


class Exec:
    """One conversation with a program."""

    side: ClassVar[str] = "healing"
    uses_model: ClassVar[str] = "may"
    takes_argument: ClassVar[bool] = True

    def __init__(self, service: Service) -> None:
        self._service = service
        self._process: LineProcess | None = None

    @staticmethod
    def missing(argument: str, root: Path) -> str:
        """What has to be installed first."""
        try:
            command_of(argument, root, scrubbed(os.environ))
        except ProcessFault as fault:
            return str(fault)
        return ""

    def respond(self, pause: Pause) -> None:
        try:
            process = self._running()
            process.send({"type": "crash", "crash": pause.number, "context": dataclasses.asdict(pause.context)})
            with noting(pause, "the command works"):
                self._converse(pause, process)
            process.send({"type": "end", "crash": pause.number, "reason": pause.why_over})
        except ProcessFault as fault:
            pause.reraise(str(fault))

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send({"type": "bye"})
            process.close()

    # ----------------------------------------------------------------- messages

    def _converse(self, pause: Pause, process: LineProcess) -> None:
        malformed = 0
        while not pause.decided:
            try:
                message = process.receive(0.2)
                if message is None:
                    continue
                problem = self._act(pause, process, message)
            except Unreadable as unreadable:
                problem = str(unreadable)
            malformed = malformed + 1 if problem else 0
            if malformed >= MALFORMED:
                pause.reraise(f"the command sent {malformed} unusable messages in a row; the last one: {problem}")
            elif problem:
                process.send({"type": "error", "crash": pause.number, "message": problem})

    def _act(self, pause: Pause, process: LineProcess, message: dict[str, Any]) -> str:
        """Do what ``message`` asks for; return what is wrong with it, "" for nothing."""
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

    def _execute(self, pause: Pause, process: LineProcess, message: dict[str, Any]) -> str:
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

    # ----------------------------------------------------------------- the program

    def _running(self) -> LineProcess:
        if self._process is None or not self._process.alive():
            self.stop()
            self._process = self._started()
        return self._process

    def _started(self) -> LineProcess:
        service = self._service
        environ = environment(os.environ, service)
        command = command_of(service.argument, service.root, environ)
        process = LineProcess(command, service.root, environ, longest=LONGEST_LINE)
        model = None if service.model is None else service.model.name
        process.send({"type": "hello", "version": VERSION, "root": str(service.root), "model": model})
        return process


def command_of(argument: str, root: Path, environ: Mapping[str, str]) -> list[str]:
    """The command's words, the first of which is a file. Raises `ProcessFault`."""
    try:
        command = shlex.split(argument)
    except ValueError as error:
        raise ProcessFault(f"the command cannot be split as a shell would: {error}") from None
    if not command:
        raise ProcessFault("exec needs a command: exec:COMMAND")
    return [located(command[0], root, environ), *command[1:]]


def result(pause: Pause, asked: dict[str, Any], outcome: ExecuteOutcome) -> dict[str, Any]:
    """What goes back about one ``execute``. ``text`` says the same for a model, fenced."""
    return {"type": "result", "crash": pause.number, "id": asked.get("id"), "decided": pause.decided,
            **dataclasses.asdict(outcome), "text": outcome_text(outcome)}


def environment(environ: Mapping[str, str], service: Service) -> dict[str, str]:
    """The environment without what looks secret, and with the way to the model proxy."""
    kept = scrubbed(environ)
    if service.model is not None:
        kept |= {"OPENAI_BASE_URL": service.proxy, "OPENAI_API_BASE": service.proxy,
                 "OPENAI_API_KEY": service.proxy_key, "HEAL_MODEL": service.model.name}
    return kept
