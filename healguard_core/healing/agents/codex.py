"""The agents ``codex`` and ``codex-tools``: OpenAI's Codex, by its app server. May import service, processes, prompts.

``codex`` answers with one JSON object per turn, as in the paper; ``codex-tools`` is given the verbs as tools. Both keep
one thread over all crashes of a test and read the repository through Codex's own read-only sandbox, without network.
Needs the program ``codex`` (HEAL_CODEX_BIN, PATH, or `PACKAGE`) and a provider with the
Responses API.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from healguard_core.healing import tool_environments
from healguard_core.healing.conversation import CONVERSATION
from healguard_core.healing.exploring import NoSandbox
from healguard_core.healing.pauses import Pause, PauseOver, noting
from healguard_core.healing.processes import LineProcess, ProcessFault, Unreadable, direct, located, scrubbed
from healguard_core.healing.prompts import FENCES, crash_text, outcome_text, rules
from healguard_core.healing.service import Service
from healguard_core.healing.tool_environments import Package
from healguard_core.protocol import FULL, PAPER

PACKAGE = Package("codex", "openai-codex-cli-bin>=0.163,<0.200", ("codex_cli_bin",))
MALFORMED = 3
"""Turns in a row without a usable decision after which a crash is given up."""
BINARY = "HEAL_CODEX_BIN"
KEY = "HEAL_PROXY_KEY"
"""The variable in which Codex finds its key for the model proxy. Its shell does not inherit it."""

_TASK = """\
A Python program is paused at an exception that nothing would handle. Heal the state of the running program, so that \
it goes on and computes what its author meant. The repository in the working directory is for reading only; the \
running program would not notice an edit."""


def instructions(protocol: str = FULL) -> str:
    """What Codex is told once."""
    return "\n\n".join((_TASK, rules(protocol), FENCES))


ANSWER = """\
Answer with one JSON object and nothing else:
- {"action": "execute", "code": "...", "submit": false, "reason": "..."} looks at live state and keeps nothing;
- {"action": "execute", "code": "...", "submit": true, "reason": "..."} is the heal;
- {"action": "reraise", "code": "", "submit": false, "reason": "..."} lets the original exception go on, because no \
heal would be safe and correct, or because the exception is right."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["execute", "reraise"]},
        "code": {"type": "string"},
        "submit": {"type": "boolean"},
        "reason": {"type": "string"},
    },
    "required": ["action", "code", "submit", "reason"],
    "additionalProperties": False,
}

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "name": "execute",
        "description": "Run Python code in the crashed frame: submit=false looks at live state and keeps nothing; "
                       "submit=true is the heal, after which the program goes on.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "submit": {"type": "boolean"},
                "resume": {"type": "string", "enum": ["next", "retry", "return", "continue", "break"]},
                "frame": {"type": "integer"},
            },
            "required": ["code", "submit"],
            "additionalProperties": False,
        },
    },
    {
        "type": "function",
        "name": "reraise",
        "description": "Let the original exception go on.",
        "inputSchema": {"type": "object", "properties": {"reason": {"type": "string"}}, "additionalProperties": False},
    },
]


_CHOICES = ("resume", "frame")


def tools(protocol: str = FULL) -> list[dict[str, Any]]:
    """`TOOLS`, as far as ``protocol`` offers them."""
    if protocol != PAPER:
        return TOOLS
    schema = TOOLS[0]["inputSchema"]
    properties = {name: value for name, value in schema["properties"].items() if name not in _CHOICES}
    return [{**TOOLS[0], "inputSchema": {**schema, "properties": properties}}, *TOOLS[1:]]


class Codex:
    """One conversation by JSON objects."""

    side: ClassVar[str] = "healing"
    uses_model: ClassVar[str] = "yes"
    takes_argument: ClassVar[bool] = False
    summary: ClassVar[str] = "OpenAI's Codex, which answers with one JSON object per turn"
    package: ClassVar[Package] = PACKAGE
    with_tools: ClassVar[bool] = False

    def __init__(self, service: Service) -> None:
        self._service = service
        self._server: AppServer | None = None
        self._before = ""  # what came of the last heal, which Codex has not been told yet

    @staticmethod
    def missing(argument: str, root: Path) -> str:
        """What has to be installed first."""
        del argument
        try:
            binary(root, os.environ)
        except ProcessFault as fault:
            return str(fault)
        return ""

    def respond(self, pause: Pause) -> None:
        try:
            with noting(pause, "codex works"):
                self._converse(pause, self._running(pause.context.protocol))
        except ProcessFault as fault:
            pause.fail(str(fault))

    def stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.kill()

    def close(self) -> None:
        self.stop()

    def _running(self, protocol: str) -> AppServer:
        if self._server is None or not self._server.alive():
            self.stop()
            self._server = AppServer(self._service, instructions(protocol), tools(protocol) if self.with_tools else [])
        return self._server

    def _converse(self, pause: Pause, server: AppServer) -> None:
        text = f"{self._before}{crash_text(pause.context)}\n\n{ANSWER}"
        self._before = ""
        malformed = 0
        while not pause.decided:
            said = server.turn(text, pause, schema=SCHEMA)
            action = decision(said)
            if isinstance(action, str):
                malformed += 1
                if malformed >= MALFORMED:
                    pause.reraise(f"codex gave {malformed} unusable answers in a row; the last one: {action}")
                text = f"That was not a usable answer: {action}.\n\n{ANSWER}"
                continue
            malformed = 0
            if action["action"] == "reraise":
                pause.reraise(action["reason"] or "codex let the error go on")
            elif action["submit"]:
                text = outcome_text(pause.heal(action["code"], explanation=action["reason"][:1000]))
                self._before = f"{text}\n\nThen it crashed again.\n\n" if pause.decided else ""
            else:
                text = outcome_text(pause.probe(action["code"]))


class CodexTools(Codex):
    """One conversation with the verbs as tools."""

    summary: ClassVar[str] = "OpenAI's Codex, with the verbs as its tools"
    with_tools: ClassVar[bool] = True

    def _converse(self, pause: Pause, server: AppServer) -> None:
        text = f"{crash_text(pause.context)}\n\nDecide by the tools `execute` and `reraise`."
        for _ in range(MALFORMED):
            server.turn(text, pause, calls=True)
            if pause.decided:
                return
            text = "The program is still paused. Decide by the tools `execute` (submit=true) or `reraise`."
        pause.reraise(f"codex ended {MALFORMED} turns without a decision")


def decision(text: str) -> dict[str, Any] | str:
    """The action in an answer, or what is wrong with it."""
    start, end = text.find("{"), text.rfind("}")
    try:
        action = json.loads(text[start:end + 1])
    except (ValueError, RecursionError):
        return "it is not one JSON object"
    if not isinstance(action, dict) or action.get("action") not in ("execute", "reraise"):
        return "`action` must be execute or reraise"
    for name, kind in (("code", str), ("submit", bool), ("reason", str)):
        if type(action.get(name)) is not kind:
            return f"`{name}` is missing or of the wrong kind"
    if action["action"] == "execute" and not action["code"].strip():
        return "`code` is empty"
    return action


# --------------------------------------------------------------------------- the app server


class AppServer:
    """One ``codex app-server`` with one thread, spoken to by JSON-RPC lines."""

    def __init__(self, service: Service, told: str, tools: list[dict[str, Any]]) -> None:
        self._home = private_folder()
        try:
            words, environ = enclosed(service, self._home, os.environ)
            self._process = LineProcess(words, service.root, environ, title="codex")
        except ProcessFault:
            shutil.rmtree(self._home, ignore_errors=True)
            raise
        self._number = 0
        try:
            self._thread = self._begun(service, told, tools)
        except ProcessFault:
            self.kill()
            raise

    def _begun(self, service: Service, told: str, tools: list[dict[str, Any]]) -> str:
        """Open the thread and return its id."""
        self._ask("initialize", {"clientInfo": {"name": "pytest-heal", "version": "1"},
                                 "capabilities": {"experimentalApi": True}})
        self._process.send({"method": "initialized"})
        assert service.model is not None
        settings: dict[str, Any] = {
            "model": service.model.name, "cwd": str(service.root), "approvalPolicy": "never", "sandbox": "read-only",
            "ephemeral": True, "developerInstructions": told,
        }
        if tools:
            settings["dynamicTools"] = tools
        return str(self._ask("thread/start", settings)["thread"]["id"])

    def alive(self) -> bool:
        return self._process.alive()

    def kill(self) -> None:
        self._process.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def turn(self, text: str, pause: Pause, *, schema: dict[str, Any] | None = None, calls: bool = False) -> str:
        """One turn: what Codex said last. With ``calls`` its tool calls are carried out; a decision ends the turn.

        Raises `ProcessFault` when Codex fails, and `PauseOver` when the crash is decided meanwhile.
        """
        asked: dict[str, Any] = {"threadId": self._thread, "input": [{"type": "text", "text": text}]}
        if schema is not None:
            asked["outputSchema"] = schema
        turn = str(self._ask("turn/start", asked)["turn"]["id"])
        said = ""
        while True:
            message = self._next(0.2)
            if pause.decided:
                self._interrupt(turn)
                if calls:
                    return said
                raise PauseOver(pause.why_over)
            if message is None:
                continue
            method, params = message.get("method"), message.get("params") or {}
            if "id" in message and method:
                self._serve(message["id"], str(method), params, pause if calls else None)
            elif method == "item/completed" and params["item"].get("type") == "agentMessage":
                said = str(params["item"].get("text", ""))
            elif method == "turn/completed" and params["turn"]["id"] == turn:
                problem = params["turn"].get("error")
                if params["turn"].get("status") == "failed":
                    raise ProcessFault(f"codex: {(problem or {}).get('message', 'the turn failed')}"[:600])
                return said

    # ----------------------------------------------------------------- JSON-RPC

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._process.send({"id": self._number, "method": method, "params": params})
        for _ in range(600):
            message = self._next(0.1)
            if message is not None and message.get("id") == self._number and "method" not in message:
                if "error" in message:
                    raise ProcessFault(f"codex refused {method}: {message['error'].get('message')}"[:600])
                result: dict[str, Any] = message["result"]
                return result
        raise ProcessFault(f"codex did not answer {method} within a minute")

    def _next(self, seconds: float) -> dict[str, Any] | None:
        try:
            return self._process.receive(seconds)
        except Unreadable as unreadable:
            raise ProcessFault(f"codex said something that cannot be read: {unreadable}") from None

    def _interrupt(self, turn: str) -> None:
        """The crash is decided: whatever Codex still wants to say about it is not paid for."""
        with contextlib.suppress(ProcessFault):
            self._ask("turn/interrupt", {"threadId": self._thread, "turnId": turn})

    def _serve(self, number: Any, method: str, params: dict[str, Any], pause: Pause | None) -> None:
        """Answer a request of Codex: tool calls; everything else (approvals) is denied."""
        if method != "item/tool/call" or pause is None:
            self._process.send({"id": number, "error": {"code": -32601, "message": f"{method} is not possible here"}})
            return
        text, good = carried_out(str(params.get("tool")), params.get("arguments"), pause)
        answer = {"contentItems": [{"type": "inputText", "text": text}], "success": good}
        self._process.send({"id": number, "result": answer})


def carried_out(tool: str, arguments: Any, pause: Pause) -> tuple[str, bool]:
    """What a tool call gives, and whether it was usable."""
    given: dict[str, Any] = arguments if isinstance(arguments, dict) else {}
    if tool == "reraise":
        pause.reraise(str(given.get("reason") or "codex let the error go on")[:2000])
        return "The original exception goes on.", True
    code, submit, frame = given.get("code"), given.get("submit"), given.get("frame", 0)
    if tool != "execute" or not isinstance(code, str) or not code.strip() or not isinstance(submit, bool):
        return "Use execute with `code` (text) and `submit` (true or false), or reraise.", False
    if type(frame) is not int:
        return "`frame` must be a whole number.", False
    outcome = pause.heal(code, str(given.get("resume") or "next"), frame) if submit else pause.probe(code)
    return outcome_text(outcome), not outcome.error


def enclosed(service: Service, home: Path, environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """How the app server is started in the sandbox, and its environment. Raises `ProcessFault` without a Codex.

    Codex has a sandbox of its own for its shell. That one shows the whole machine, though, and lets root change the
    kernel's settings; so without ours around it Codex gets no shell.
    """
    given = {**direct(scrubbed(environ)), "CODEX_HOME": str(home), KEY: service.proxy_key}
    program = binary(service.root, environ)
    try:
        words = service.enclose(command(service, program), home, needed(program, environ))
    except NoSandbox:
        return [*command(service, program), *_NO_SHELL], given
    return words, {**given, "HOME": str(home), "TMPDIR": "/tmp"}


_NO_SHELL = ("-c", "features.shell_tool=false", "-c", "features.unified_exec=false")


def needed(program: str, environ: Mapping[str, str]) -> list[str]:
    """The folders that ``program`` is made of: of an npm package all packages beside it, and node."""
    found = Path(os.path.realpath(program))
    packages = [parent for parent in found.parents if parent.name == "node_modules"]
    if not packages:
        return [str(found.parent)]
    node = shutil.which("node", path=environ.get("PATH"))
    return [str(packages[-1]), *([str(Path(os.path.realpath(node)).parents[1])] if node else [])]


def command(service: Service, program: str) -> list[str]:
    """The command line of the app server."""
    provider = (f'{{name="heal",base_url="{service.proxy}",env_key="{KEY}",wire_api="responses",'
                "request_max_retries=0,stream_max_retries=0,stream_idle_timeout_ms=300000}")
    settings = {
        "model_provider": "heal", "model_providers.heal": provider, "approval_policy": "never",
        "sandbox_mode": "read-only", "web_search": "disabled", "analytics.enabled": "false",
        "check_for_update_on_startup": "false", "shell_environment_policy.inherit": "core",
        "project_doc_max_bytes": "0", "model_auto_compact_token_limit": str(CONVERSATION),
    }
    features = ("multi_agent", "goals", "apps", "plugins", "hooks")
    words = [f"{name}={value}" for name, value in settings.items()]
    words += [f"features.{name}=false" for name in features]
    return [program, "app-server", *(part for word in words for part in ("-c", word))]


def binary(root: Path, environ: Mapping[str, str]) -> str:
    """The program ``codex``. Raises `ProcessFault`."""
    named = environ.get(BINARY)
    if named:
        return located(named, root, environ)
    with contextlib.suppress(ProcessFault):
        return located("codex", root, environ)
    for path in _packaged(environ):
        if path.exists():
            return str(path)
    raise ProcessFault(
        f"codex is not installed: put it on PATH, name it in {BINARY}, or: pytest-heal agents install codex")


def _packaged(environ: Mapping[str, str]) -> Iterator[Path]:
    """Where the program of the package may be: beside us, and in the agent's environment."""
    (module,) = PACKAGE.modules
    spec = importlib.util.find_spec(module)
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        yield Path(place, "bin", "codex")
    python = tool_environments.installed(PACKAGE, environ)
    if python is not None:
        yield from python.parents[1].glob(f"lib/python3*/site-packages/{module}/bin/codex")


def private_folder() -> Path:
    """A new CODEX_HOME. Codex refuses to run its sandbox out of a folder for temporary files."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "healguard"
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Path(tempfile.mkdtemp(prefix="codex-", dir=base))
