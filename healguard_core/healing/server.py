"""HTTP in front of the desk: crashes and verbs, the model proxy, and agents that come by themselves (MCP).

See docs/protocol.md. May import desk and messages. Three kinds of tokens let in three kinds of callers: the run's token
processes under test, the agent token an MCP client, and each conversation's key the agent program that was given it.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any

from healguard_core.healing.desk import Desk
from healguard_core.healing.messages import (
    LARGEST,
    BadMessage,
    ByePosted,
    ClaimAsked,
    CrashPosted,
    EndPosted,
    ModelPosted,
    NextAsked,
    VerbPosted,
    parse,
)
from healguard_core.healing.meter import BudgetSpent
from healguard_core.healing.models import Model
from healguard_core.healing.pauses import Pause, PauseOver
from healguard_core.healing.provider import ProviderFault
from healguard_core.protocol import VERSION

READ_TIMEOUT = 30.0


class _Refused(Exception):
    """The request is answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class HealingServer(ThreadingMixIn, HTTPServer):
    """Serves ``desk`` on a socket that listens already."""

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, listening: socket.socket, desk: Desk, token: str, agent_token: str) -> None:
        address = listening.getsockname()
        super().__init__(address, _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_address = address
        self.desk = desk
        self.token = token
        self.agent_token = agent_token
        self.local = listening.family == getattr(socket, "AF_UNIX", None)
        if not self.local:
            desk.proxy = f"http://127.0.0.1:{address[1]}/llm/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is the caller's affair; what else fails is answered with status 500."""


class _Handler(BaseHTTPRequestHandler):
    server: HealingServer
    protocol_version = "HTTP/1.1"
    timeout = READ_TIMEOUT

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads this process's standard error."""

    def do_POST(self) -> None:
        self.close_connection = True
        self._begun = False
        try:
            body = self._body()
            if self.path.startswith("/llm/v1/"):
                self._proxy(body)
                return
            self._answer(200, self._route()(body))
        except _Refused as refused:
            self._answer(refused.status, {"error": str(refused)})
        except (BadMessage, LookupError) as error:
            self._answer(400, {"error": str(error)})
        except OSError:
            raise  # the caller hung up
        except Exception as error:
            self._answer(500, {"error": f"{type(error).__name__}: {error}"})

    # ----------------------------------------------------------------- requests

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            raise _Refused(411, "Content-Length is required")
        if int(length) > LARGEST:
            raise _Refused(413, f"the body is larger than {LARGEST} bytes")
        return self.rfile.read(int(length))

    def _bearer(self) -> str:
        return self.headers.get("Authorization", "").removeprefix("Bearer ").strip()

    def _admit(self, token: str) -> None:
        """Let in whoever knows ``token`` and means this address (a browser that was lured here means another)."""
        host = self.headers.get("Host", "").rpartition(":")[0]
        if not self.server.local and host not in ("127.0.0.1", "localhost", "host.docker.internal"):
            raise _Refused(403, f"this server is not {host!r}")
        if not secrets.compare_digest(self._bearer().encode(), token.encode()):
            raise _Refused(401, "the token is wrong or missing")

    def _route(self) -> Callable[[bytes], dict[str, Any]]:
        parts = self.path.strip("/").split("/")
        agents = parts[:2] == ["v1", "agent"]
        self._admit(self.server.agent_token if agents else self.server.token)
        spoken = self.headers.get("Heal-Protocol", str(VERSION))
        if spoken != str(VERSION):
            raise _Refused(400, f"protocol version {spoken!r} is not supported; this side speaks {VERSION}")
        if parts == ["v1", "crashes"]:
            return self._crash
        if parts == ["v1", "models"]:
            return self._model
        if parts == ["v1", "bye"]:
            return self._bye
        if len(parts) == 4 and parts[:2] == ["v1", "crashes"] and parts[3] in ("next", "end"):
            pause = self._paused(parts[2])
            return partial(self._next if parts[3] == "next" else self._end, pause)
        if parts == ["v1", "agent", "wait"]:
            return self._claim
        if parts == ["v1", "agent", "status"]:
            return self._status
        if agents and len(parts) == 5 and parts[2] == "crashes" and parts[4] in ("execute", "reraise"):
            claimed = self.server.desk.exchange.claimed(parts[3])
            if claimed is None:
                raise _Refused(404, f"there is no crash {parts[3]!r}; wait for one first")
            return partial(_execute if parts[4] == "execute" else _reraise, claimed)
        raise _Refused(404, f"there is nothing at {self.path!r}")

    def _paused(self, number: str) -> Pause:
        pause = self.server.desk.pause(number)
        if pause is None:
            raise _Refused(404, f"there is no paused crash {number!r}")
        return pause

    # ----------------------------------------------------------------- the execution side

    def _crash(self, body: bytes) -> dict[str, Any]:
        posted = parse(CrashPosted, body)
        if self.server.local:  # the number that a container gives means nothing out here; the kernel knows
            posted = posted.model_copy(update={"pid": _peer(self.connection)})
        return {"crash": self.server.desk.open(posted).number}

    def _next(self, pause: Pause, body: bytes) -> dict[str, Any]:
        asked = parse(NextAsked, body)
        pause.answer(asked.answered, asked.outcome)
        return pause.next(asked.wait)

    def _end(self, pause: Pause, body: bytes) -> dict[str, Any]:
        ended = parse(EndPosted, body)
        pause.answer(ended.answered, ended.outcome)
        return self.server.desk.end(pause)

    def _model(self, body: bytes) -> dict[str, Any]:
        posted = parse(ModelPosted, body)
        self.server.desk.meter.offer(Model(**posted.model.model_dump()), posted.key)
        return {}

    def _bye(self, body: bytes) -> dict[str, Any]:
        self.server.desk.bye(parse(ByePosted, body).client)
        return {}

    # ----------------------------------------------------------------- agents that come by themselves

    def _claim(self, body: bytes) -> dict[str, Any]:
        pause = self.server.desk.exchange.claim(parse(ClaimAsked, body).wait)
        if pause is None:
            return {"crash": None}
        return {"crash": pause.number, "context": dataclasses.asdict(pause.context)}

    def _status(self, _body: bytes) -> dict[str, Any]:
        total = self.server.desk.meter.total
        return {
            "paused": [{"crash": pause.number, "unit": pause.context.unit, "error": pause.context.error}
                       for pause in self.server.desk.exchange.open()],
            "calls": total.calls,
            "cost_usd": total.cost_usd,
        }

    # ----------------------------------------------------------------- the model proxy

    def _proxy(self, raw: bytes) -> None:
        paying = self.server.desk.paying(self._bearer())
        if paying is None:
            raise _Refused(401, "the key is wrong or missing")
        pause, conversation = paying
        path = self.path.removeprefix("/llm/v1").partition("?")[0]
        if path not in ("/chat/completions", "/responses"):
            raise _Refused(404, f"the proxy has no {path!r}; use /chat/completions or /responses")
        try:
            body = json.loads(raw)
            if not isinstance(body, dict):
                raise ValueError("it is not an object")
        except (ValueError, RecursionError) as error:
            raise _Refused(400, f"the body is not JSON: {error}") from None
        try:
            answer = self.server.desk.meter.relay(pause.spending, path, body)
        except BudgetSpent as spent:
            if str(spent).startswith("budget:") and not pause.decided:
                conversation.stop(str(spent))  # before the agent can give up for a reason of its own
            self._answer(403, {"error": {"message": str(spent), "type": "heal_budget", "code": "heal_budget"}})
            return
        except ProviderFault as fault:
            status = fault.status if 400 <= fault.status < 600 else 502
            self._answer(status, {"error": {"message": str(fault), "type": "provider", "code": None}})
            return
        self._hand_on(answer.content_type, answer.pieces)

    def _hand_on(self, content_type: str, pieces: Any) -> None:
        """Pass a provider's answer on as it arrives. What breaks off there breaks off here."""
        try:
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Connection", "close")
            self.end_headers()
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()
        except ProviderFault:
            self.connection.shutdown(socket.SHUT_RDWR)
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()

    def _answer(self, status: int, record: dict[str, Any]) -> None:
        raw = json.dumps(record).encode("ascii")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(raw)


def _peer(connection: socket.socket) -> int | None:
    """The process at the other end of a unix socket, as this process sees it; None where it cannot."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    pid = int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)
    return pid or None


def _execute(pause: Pause, body: bytes) -> dict[str, Any]:
    asked = parse(VerbPosted, body)
    try:
        if asked.submit:
            outcome = pause.heal(asked.code, asked.resume, asked.frame, asked.explanation)
        else:
            outcome = pause.probe(asked.code)
    except PauseOver as over:
        return {"outcome": None, "over": str(over)}
    return {"outcome": dataclasses.asdict(outcome), "over": pause.why_over}


def _reraise(pause: Pause, body: bytes) -> dict[str, Any]:
    asked = parse(VerbPosted, body)
    if pause.decided:
        return {"over": pause.why_over}
    pause.reraise(asked.reason or "the agent let the error go on")
    return {"over": pause.why_over}


def serve(
    server: HealingServer, until: Callable[[], bool], tick: float = 0.25, tell: Callable[[Any], None] | None = None,
    others: Sequence[HealingServer] = (),
) -> None:
    """Answer requests until ``until`` says that the run is over; then close every conversation.

    ``tell`` is called with what is paused, every ``tick`` seconds. ``others`` serve the same desk elsewhere.
    """
    servers = (server, *others)
    for each in servers:
        threading.Thread(target=each.serve_forever, kwargs={"poll_interval": 0.5}, daemon=True).start()
    pause = threading.Event()
    try:
        while not until():
            server.desk.look_around()
            if tell is not None:
                tell(server.desk.paused())
            pause.wait(tick)
    finally:
        server.desk.close()
        for each in servers:
            each.shutdown()
            each.server_close()
