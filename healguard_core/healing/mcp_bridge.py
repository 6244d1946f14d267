"""``healguard mcp``: a Model Context Protocol server on standard input and output, for any MCP client.

Passes what the client asks for on to the healing side of a running ``pytest --heal=mcp`` (or ``healguard run --agent
mcp``) of the same project. Standard library only, and prompts. May import rendezvous and prompts.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from healguard_core import __version__
from healguard_core.healing.prompts import FENCES, RULES, crash_text, outcome_text
from healguard_core.healing.rendezvous import Meeting, find
from healguard_core.protocol import VERSION, CrashContext, ExecuteOutcome, FrameView

PROTOCOLS = ("2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of MCP that are spoken, the newest first."""
LONGEST_WAIT = 60.0
LOOKING = 0.5
"""Seconds between two looks for a run to join."""

INSTRUCTIONS = f"""\
A Python program that runs under `pytest --heal=mcp` pauses at each exception that nothing would handle. Call \
wait_for_crash, look at live state with execute (submit=false), then heal with execute (submit=true) or give up with \
reraise. Read the repository's files by your own means; do not edit them: the running program would not notice.

{RULES}

{FENCES}"""

_CODE = {"code": {"type": "string", "description": "Python code, from the first column."}}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "wait_for_crash",
        "description": "Wait until a program is paused at an exception, and describe the crash.",
        "inputSchema": {"type": "object", "properties": {
            "seconds": {"type": "number", "description": "How long to wait (20; at most 60)."}}},
    },
    {
        "name": "crash_context",
        "description": "Describe the crash that is paused once more.",
        "inputSchema": {"type": "object", "properties": {}},
    },
    {
        "name": "execute",
        "description": "Run Python code in the crashed frame: submit=false looks at live state and keeps nothing; "
                       "submit=true is the heal, after which the program goes on.",
        "inputSchema": {"type": "object", "required": ["code", "submit"], "properties": {
            **_CODE,
            "submit": {"type": "boolean"},
            "resume": {"type": "string", "enum": ["next", "retry", "return", "continue", "break"]},
            "frame": {"type": "integer", "description": "0 (where it crashed) if left out; 1 is its caller, ..."},
            "explanation": {"type": "string", "description": "One sentence: why this is right."},
        }},
    },
    {
        "name": "reraise",
        "description": "Let the original exception go on: no heal would be safe and correct, or it is right.",
        "inputSchema": {"type": "object", "properties": {"reason": {"type": "string"}}},
    },
    {
        "name": "status",
        "description": "Which run was joined, and whether a crash is paused.",
        "inputSchema": {"type": "object", "properties": {}},
    },
]


class Unreachable(Exception):
    """There is no run, or it does not answer; the text says what to do."""


class Bridge:
    """The tools, over the healing side of the run at ``where``."""

    def __init__(self, where: Path, sleep: Callable[[float], None] = time.sleep) -> None:
        self._where = where
        self._sleep = sleep
        self._crash = ""
        self._context: CrashContext | None = None
        self._meeting: Meeting | None = None  # of the crash

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Carry out a tool. Raises `Unreachable`, and ``ValueError`` for arguments that cannot be used."""
        tools: dict[str, Callable[[dict[str, Any]], str]] = {
            "wait_for_crash": self._wait, "crash_context": self._describe, "execute": self._execute,
            "reraise": self._reraise, "status": self._status,
        }
        if name not in tools:
            raise ValueError(f"there is no tool {name!r}; use {', '.join(tools)}")
        return tools[name](arguments)

    # ----------------------------------------------------------------- tools

    def _wait(self, arguments: dict[str, Any]) -> str:
        asked = arguments.get("seconds", 20)
        if not isinstance(asked, (int, float)) or isinstance(asked, bool):
            raise ValueError("seconds must be a number")
        end = time.monotonic() + min(max(float(asked), 0.0), LONGEST_WAIT)
        while True:
            meeting = find(self._where)
            if meeting is not None:
                reply = self._ask(meeting, "/v1/agent/wait", {"wait": max(0.0, end - time.monotonic())})
                if reply.get("crash"):
                    self._crash, self._context, self._meeting = reply["crash"], _context(reply["context"]), meeting
                    return self._describe({})
            if time.monotonic() >= end:
                return self._status({})
            self._sleep(LOOKING)

    def _describe(self, _arguments: dict[str, Any]) -> str:
        if self._context is None:
            return "No crash is paused. Call wait_for_crash."
        return f"Crash {self._crash} in {self._context.unit or 'the program'}.\n\n{crash_text(self._context)}"

    def _execute(self, arguments: dict[str, Any]) -> str:
        code, submit = arguments.get("code"), arguments.get("submit")
        if not isinstance(code, str) or not code.strip() or not isinstance(submit, bool):
            raise ValueError("execute needs `code` (text) and `submit` (true or false)")
        names = ("code", "submit", "resume", "frame", "explanation")
        reply = self._about("execute", {name: arguments[name] for name in names if name in arguments})
        if reply.get("outcome") is None:
            return f"This crash is over: {reply.get('over')}. Call wait_for_crash."
        outcome = outcome_text(ExecuteOutcome(**reply["outcome"]))
        return f"{outcome}\n\nCall wait_for_crash for the next one." if reply.get("over") else outcome

    def _reraise(self, arguments: dict[str, Any]) -> str:
        reason = str(arguments.get("reason") or "")[:2000]
        self._about("reraise", {"reason": reason})
        return "The original exception goes on. Call wait_for_crash for the next one."

    def _status(self, _arguments: dict[str, Any]) -> str:
        meeting = find(self._where)
        if meeting is None:
            return f"No run is waiting for an agent in {self._where}. Start one: pytest --heal=mcp"
        reply = self._ask(meeting, "/v1/agent/status", {})
        paused = ", ".join(f"{crash['crash']} ({crash['error']} in {crash['unit']})" for crash in reply["paused"])
        return f"Joined the run in {meeting.root}. Paused and taken: {paused or 'nothing'}."

    # ----------------------------------------------------------------- HTTP

    def _about(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        if self._meeting is None:
            raise ValueError("no crash is paused; call wait_for_crash first")
        return self._ask(self._meeting, f"/v1/agent/crashes/{self._crash}/{verb}", body)

    def _ask(self, meeting: Meeting, path: str, body: dict[str, Any]) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", meeting.port)
        headers = {"Authorization": f"Bearer {meeting.token}", "Heal-Protocol": str(VERSION)}
        try:
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            reply: dict[str, Any] = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"the run in {meeting.root} does not answer ({error}); has it ended?") from None
        finally:
            connection.close()
        if response.status != 200:
            raise Unreachable(f"the run in {meeting.root}: {reply.get('error')}")
        return reply


def _context(record: dict[str, Any]) -> CrashContext:
    frames = [FrameView(**frame) for frame in record.pop("frames")]
    return CrashContext(**record, frames=frames)


# --------------------------------------------------------------------------- JSON-RPC


def serve(bridge: Bridge, source: TextIO, target: TextIO) -> None:
    """Answer requests line by line until ``source`` ends."""
    for line in source:
        if not line.strip():
            continue
        reply = answer(bridge, line)
        if reply is not None:
            target.write(json.dumps(reply) + "\n")
            target.flush()


def answer(bridge: Bridge, line: str) -> dict[str, Any] | None:
    """The answer to one message; None for a notification."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, -32700, "this is not JSON")
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return _error(None, -32600, "this is not a request")
    if "id" not in message:
        return None
    given = message.get("params")
    params: dict[str, Any] = given if isinstance(given, dict) else {}
    method, number = message["method"], message["id"]
    if method == "initialize":
        asked = params.get("protocolVersion")
        return _result(number, {
            "protocolVersion": asked if asked in PROTOCOLS else PROTOCOLS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "healguard", "version": __version__},
            "instructions": INSTRUCTIONS,
        })
    if method == "ping":
        return _result(number, {})
    if method == "tools/list":
        return _result(number, {"tools": TOOLS})
    if method == "tools/call":
        return _result(number, _called(bridge, params))
    return _error(number, -32601, f"there is no method {method!r}")


def _called(bridge: Bridge, params: dict[str, Any]) -> dict[str, Any]:
    arguments = params.get("arguments")
    try:
        text = bridge.call(str(params.get("name")), arguments if isinstance(arguments, dict) else {})
    except (Unreachable, ValueError) as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    return {"content": [{"type": "text", "text": text}], "isError": False}


def _result(number: Any, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _error(number: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def main(where: Path) -> None:
    """Serve the client at the other end of standard input and output."""
    serve(Bridge(where), sys.stdin, sys.stdout)
