"""A driver's end of the JSON lines: messages in, verbs out. Standard library only.

Standard output is kept for the protocol alone: whatever else is printed goes to standard error.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

GIVEN_UP = 3
"""Replies of a model in a row that decide and ask nothing, after which a crash is given up."""


class Over(Exception):
    """The crash is decided; nothing more can be asked about it."""


@dataclass(frozen=True)
class Hello:
    """A conversation begins. ``base_url`` and ``key`` lead to the model proxy."""

    root: str
    model: str
    base_url: str
    key: str
    instructions: str


@dataclass(frozen=True)
class Answer:
    """What came of one verb. ``text`` is for the model."""

    text: str
    decided: bool = False


class Conversation(Protocol):
    """All crashes of one test."""

    def decide(self, crash: Crash) -> None:
        """Decide by the verbs of ``crash``."""


class Channel:
    """The lines to and from the healing side. The process ends with the input."""

    def __init__(self) -> None:
        self._out: TextIO = os.fdopen(os.dup(1), "w", encoding="ascii")
        os.dup2(2, 1)
        self._messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def receive(self) -> dict[str, Any]:
        """The next message."""
        return self._kept.pop(0) if self._kept else self._messages.get()

    def put_back(self, message: dict[str, Any]) -> None:
        """Let ``message`` be the next one."""
        self._kept.insert(0, message)

    def say(self, **message: Any) -> None:
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()

    def _read(self) -> None:
        for line in sys.stdin:
            self._messages.put(json.loads(line))
        os._exit(0)  # whatever runs is for nobody any more


class Crash:
    """One paused program. Every verb raises `Over` when the crash is decided meanwhile."""

    def __init__(self, channel: Channel, message: dict[str, Any]) -> None:
        self.number = str(message["crash"])
        self.text = str(message["text"])
        self.paper = message["context"].get("protocol") == "paper"
        self._channel = channel
        self._asked = 0
        self.decided = False

    def execute(self, code: str, *, submit: bool, resume: str = "next", frame: int = 0) -> Answer:
        """Probe or heal."""
        reply = self._ask("result", type="execute", code=code, submit=submit, resume=resume, frame=frame)
        self.decided = bool(reply.get("decided"))
        return Answer(str(reply["text"]), self.decided)

    def explore(self, command: str) -> Answer:
        """Look at the repository."""
        return Answer(str(self._ask("explored", type="explore", command=command)["text"]))

    def reraise(self, reason: str) -> Answer:
        """Let the original exception go on."""
        if not self.decided:
            self._channel.say(type="reraise", crash=self.number, reason=reason)
            self.decided = True
        return Answer("The original exception goes on.", decided=True)

    def note(self, text: str) -> None:
        """Say what the agent is doing."""
        self._channel.say(type="log", crash=self.number, message=text)

    def _ask(self, kind: str, **message: Any) -> dict[str, Any]:
        if self.decided:
            raise Over
        self._asked += 1
        self._channel.say(crash=self.number, id=self._asked, **message)
        while True:
            reply = self._channel.receive()
            told = reply.get("type")
            if told in ("hello", "crash", "bye"):
                self._channel.put_back(reply)
            if told in ("hello", "crash", "bye") or (told == "end" and reply.get("crash") == self.number):
                self.decided = True
                raise Over
            if reply.get("crash") != self.number:
                continue
            if told == kind and reply.get("id") == self._asked:
                return reply
            if told == "error":
                return {"text": f"That was not possible: {reply.get('message')}"}


def serve(begin: Callable[[Hello], Conversation], channel: Channel) -> None:
    """Carry on one conversation after the other, until the input ends."""
    conversation: Conversation | None = None
    while True:
        message = channel.receive()
        kind = message.get("type")
        if kind == "hello":
            conversation = begin(Hello(**{name: str(message.get(name) or "") for name in Hello.__annotations__}))
        elif kind == "bye":
            conversation = None
        elif kind == "crash" and conversation is not None:
            _decide(conversation, Crash(channel, message))


def _decide(conversation: Conversation, crash: Crash) -> None:
    try:
        conversation.decide(crash)
        crash.reraise("the agent ended without a decision")
    except Over:
        return
    except Exception as error:  # of a package that is not ours
        crash.reraise(f"agent error: {type(error).__name__}: {error}"[:600])
