"""An agent that is a program: one conversation by JSON lines on its standard input and output.

See docs/protocol.md, "Agents as commands". May import service, prompts and processes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from healguard_core.healing.pauses import Pause, noting
from healguard_core.healing.processes import LineProcess, ProcessFault, Unreadable, direct, scrubbed
from healguard_core.healing.prompts import FENCES, crash_text, explored_text, outcome_text, rules
from healguard_core.healing.service import Service
from healguard_core.protocol import VERSION, CrashContext

MALFORMED = 3
"""Messages in a row that are not usable, after which a crash is given up."""
LONGEST_LINE = 1 << 20


class LineAgent:
    """One conversation with a program in a process group of its own, without the secrets of the environment.

    Subclasses say how the program is started and what it is called in messages.
    """

    title = "the command"

    def __init__(self, service: Service) -> None:
        self._service = service
        self._process: LineProcess | None = None
        self._fresh = True  # whether the program has decided about nothing yet

    def respond(self, pause: Pause) -> None:
        try:
            process = self._running(pause)
            text = crash_text(pause.context)
            process.send({"type": "crash", "crash": pause.number, "context": dataclasses.asdict(pause.context),
                          "text": text})
            with noting(pause, f"{self.title} {'starts' if self._fresh else 'works'}"):
                self._converse(pause, process)
            process.send({"type": "end", "crash": pause.number, "reason": pause.why_over})
            self._fresh = False
        except ProcessFault as fault:
            pause.fail(str(fault))

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send({"type": "bye"})
            self.part(process)

    # ----------------------------------------------------------------- how subclasses differ

    def started(self) -> LineProcess:
        """The program, running. Raises `ProcessFault`."""
        raise NotImplementedError

    def part(self, process: LineProcess) -> None:
        """The conversation is over, as ``process`` was told."""
        process.close()

    def hello(self, context: CrashContext) -> dict[str, Any]:
        """The first message of the conversation."""
        model = None if self._service.model is None else self._service.model.name
        return {"type": "hello", "version": VERSION, "root": str(self._service.root), "model": model,
                "instructions": f"{rules(context.protocol)}\n\n{FENCES}"}

    # ----------------------------------------------------------------- messages

    def _running(self, pause: Pause) -> LineProcess:
        if self._process is None or not self._process.alive():
            self.stop()
            self._fresh = True
            self._process = self.started()
            self._process.send(self.hello(pause.context))
        return self._process

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
                pause.reraise(f"{self.title} sent {malformed} unusable messages in a row; the last one: {problem}")
            elif problem:
                process.send({"type": "error", "crash": pause.number, "message": problem})

    def _act(self, pause: Pause, process: LineProcess, message: dict[str, Any]) -> str:
        """Do what ``message`` asks for; return what is wrong with it, "" for nothing."""
        if message.get("crash", pause.number) != pause.number:
            return ""  # about an earlier crash: too late
        kind = message.get("type")
        if kind == "execute":
            return self._execute(pause, process, message)
        if kind == "explore":
            return self._explore(pause, process, message)
        if kind == "reraise":
            pause.reraise(str(message.get("reason") or f"{self.title} let the error go on")[:2000])
            return ""
        if kind == "log":
            pause.note = str(message.get("message") or "")[:200]
            return ""
        if kind == "usage":
            if self._service.model is None:  # else the proxy has counted it
                self._service.meter.report(pause.spending, message)
            return ""
        return f"type {kind!r} is unknown; use execute, explore, reraise, log or usage"

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
        process.send({"type": "result", "crash": pause.number, "id": message.get("id"), "decided": pause.decided,
                      **dataclasses.asdict(outcome), "text": outcome_text(outcome)})
        return ""

    def _explore(self, pause: Pause, process: LineProcess, message: dict[str, Any]) -> str:
        command = message.get("command")
        if not isinstance(command, str) or not command.strip():
            return "explore needs `command` (text), a command of bash"
        explored = self._service.explore(pause, command)
        process.send({"type": "explored", "crash": pause.number, "id": message.get("id"), "command": command,
                      **dataclasses.asdict(explored), "text": explored_text(explored)})
        return ""


def environment(environ: Mapping[str, str], service: Service) -> dict[str, str]:
    """The environment without what looks secret, and with the way to the model proxy."""
    kept = scrubbed(environ)
    if service.model is not None:
        kept = direct(kept) | {"OPENAI_BASE_URL": service.proxy, "OPENAI_API_BASE": service.proxy,
                 "OPENAI_API_KEY": service.proxy_key, "HEAL_MODEL": service.model.name}
    return kept

