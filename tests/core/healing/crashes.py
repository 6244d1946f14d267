"""Crash contexts, models and desks for the tests of the healing side."""

from __future__ import annotations

import contextlib
import json
import socket
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from healguard_core.healing.desk import Desk, Factory
from healguard_core.healing.meter import Meter
from healguard_core.healing.models import Model
from healguard_core.healing.provider import HttpProvider
from healguard_core.healing.repository import RepositoryShell
from healguard_core.healing.server import HealingServer, serve
from healguard_core.protocol import CrashContext, FrameView
from healguard_core.testing import ScriptedModel

TOKEN, AGENT_TOKEN = "run-token", "agent-token"


def context(unit: str = "test_a.py::test_a", attempt: int = 1, **more: Any) -> CrashContext:
    frame = FrameView(0, "shop/orders.py", "shop.orders.amount_of", 2, 'amount = order["amount"]',
                      '>>> 2 |     amount = order["amount"]', {"order": "{}"})
    values: dict[str, Any] = {
        "crash": attempt, "unit": unit, "error": "KeyError", "qualified_error": "KeyError", "message": "'amount'",
        "traceback": "Traceback (most recent call last):\nKeyError: 'amount'", "file": "shop/orders.py",
        "function": "shop.orders.amount_of", "line": 2, "end_line": 2, "statement": 'amount = order["amount"]',
        "failing_expression": 'order["amount"]', "skipped": "", "frames": [frame], "resumes": ["next", "retry"],
        "attempt": attempt,
    }
    return CrashContext(**{**values, **more})


def model_at(url: str, **more: Any) -> Model:
    return Model(**{"asked": "scripted", "id": "openai/scripted", "name": "scripted", "base_url": url,
                    "input_price": 1.0, "output_price": 10.0, **more})


def _at_once(_seconds: float, _spending: object) -> None:
    """Stands in for the pause between two tries."""


def meter_for(model: ScriptedModel, max_cost: float | None = None, **more: Any) -> Meter:
    """A meter that does not wait between tries."""
    resolved = model_at(model.url, **more)
    return Meter(resolved, HttpProvider(resolved, "secret-key"), max_cost, pause=_at_once)


@contextlib.contextmanager
def served(meter: Meter, root: Path, factories: dict[str, Factory] | None = None, **more: Any) -> Iterator[Side]:
    """A healing side in a thread of this process. ``more`` is what a `Desk` may have."""
    listening = socket.create_server(("127.0.0.1", 0))
    desk = Desk(meter, root, factories, **more)
    server = HealingServer(listening, desk, TOKEN, AGENT_TOKEN)
    over = threading.Event()
    thread = threading.Thread(target=serve, args=(server, over.is_set, 0.02))
    thread.start()
    try:
        yield Side(listening.getsockname()[1], desk)
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def enclosed(meter: Meter, root: Path) -> Iterator[Side]:
    """A healing side whose agents have the read-only view, and reach their model through it."""
    shell = RepositoryShell(root)
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as local:
        local.bind(f"{folder}/proxy")
        local.listen()
        try:
            with served(meter, root, shell=shell, enclose=shell.enclose) as side:
                shell.relay = (f"{folder}/proxy", side.port)
                server = HealingServer(local, side.desk, TOKEN, AGENT_TOKEN)
                threading.Thread(target=server.serve_forever, daemon=True).start()
                yield side
                server.shutdown()
        finally:
            shell.close()


class Side:
    """Speaks to a healing side as an execution side does."""

    def __init__(self, port: int, desk: Desk) -> None:
        self.port = port
        self.desk = desk

    def post(self, path: str, body: Any, token: str = TOKEN, **headers: str) -> tuple[int, dict[str, Any]]:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", raw, method="POST",
                                         headers={"Authorization": f"Bearer {token}", **headers})
        try:
            with urllib.request.urlopen(request) as reply:
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def crash(self, agent: str = "healer", client: str = "one", **more: Any) -> str:
        """Post a crash and return its number."""
        known = ("max_calls", "timeout", "pid")
        body = {"version": 1, "client": client, "agent": agent, "max_calls": 100,
                **{name: more.pop(name) for name in known if name in more},
                "context": vars(context(**more)) | {"frames": [vars(frame) for frame in context(**more).frames]}}
        status, reply = self.post("/v1/crashes", body)
        assert status == 200, reply
        return str(reply["crash"])

    def next(self, crash: str, answered: int = 0, outcome: dict[str, Any] | None = None) -> dict[str, Any]:
        """The next verb, however long it takes; ``outcome`` answers the one before."""
        while True:
            body = {"answered": answered, "outcome": outcome, "wait": 5}
            status, verb = self.post(f"/v1/crashes/{crash}/next", body)
            assert status == 200, verb
            if verb["verb"] != "wait":
                return verb
            answered, outcome = 0, None

    def end(self, crash: str, answered: int = 0, outcome: dict[str, Any] | None = None) -> dict[str, Any]:
        """The crash is over: what it cost."""
        status, reply = self.post(f"/v1/crashes/{crash}/end", {"answered": answered, "outcome": outcome})
        assert status == 200, reply
        used: dict[str, Any] = reply["used"]
        return used


def outcome(code: str, submit: bool = True, error: str = "", **more: str) -> dict[str, Any]:
    return {"code": code, "submit": submit, "stdout": "", "value_repr": "", "error": error, **more}
