"""The agent that asks the healing side: posts a crash over HTTP and carries out the verbs that come back.

Standard library only. Nothing here looks up a function after import, so a program that patches or forbids sockets,
time, ``open`` or the environment neither breaks nor sees it. Each request has a connection of its own, which is closed
before any verb runs: code of the program never meets a descriptor of ours. See docs/protocol.md.
"""

import _socket
import dataclasses
import json
import os
import signal
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple  # noqa: F401

from healguard_core.execution.session import Session
from healguard_core.protocol import VERSION, ExecuteOutcome, Used

PATIENCE = 30.0
"""Seconds that the healing side may be silent before it counts as dead; it answers every few seconds."""
POLL = 1.0
"""Seconds after which a poll that has nothing to say is answered."""
START = 60.0
"""Seconds that the healing side may take to answer the very first request: it starts then."""
LARGEST = 8 << 20
"""Bytes of the largest answer that is read."""

_KINDS = {"probe", "heal", "reraise", "wait"}


class _System:
    """Functions of the standard library as they were at import; a class, because module globals get patched too."""

    clock = staticmethod(time.monotonic)
    getpid = staticmethod(os.getpid)
    kill = staticmethod(os.kill)
    encode = staticmethod(json.JSONEncoder(ensure_ascii=True).encode)
    decode = staticmethod(json.JSONDecoder().decode)
    asdict = staticmethod(dataclasses.asdict)
    socket = _socket.socket
    family = _socket.AF_INET
    local_family = getattr(_socket, "AF_UNIX", None)
    stream = _socket.SOCK_STREAM
    timeout_error = getattr(_socket, "timeout", OSError)


class LinkError(Exception):
    """The healing side cannot be reached or does not speak the protocol."""


class Address(NamedTuple):
    """Where the healing side listens, and the token that lets a process under test in.

    ``pid`` is the process of the healing side, in the process that started it, else 0. With ``path`` it is reached by
    a unix socket, which needs no network (a container can mount it); ``host`` and ``port`` then say nothing.
    """

    host: str
    port: int
    token: str
    pid: int = 0
    path: str = ""

    def to_json(self) -> Dict[str, Any]:
        """For another process of the same run: without the right to end the healing side."""
        return {"host": self.host, "port": self.port, "token": self.token, "path": self.path}

    @classmethod
    def from_json(cls, record: Dict[str, Any]) -> "Address":
        """What `to_json` gave. Raises ``KeyError`` and ``ValueError``."""
        path = str(record.get("path") or "")
        if path:
            return cls("", 0, str(record["token"]), path=path)
        return cls(str(record["host"]), int(record["port"]), str(record["token"]))

    def __str__(self) -> str:
        return self.path or "{}:{}".format(self.host, self.port)


class Progress(NamedTuple):
    """How far the healing side has come with the crash that is paused. ``cost_usd`` None: not known."""

    unit: str
    agent: str
    model: str
    calls: int
    cost_usd: Optional[float]
    seconds: float
    note: str = ""


class _Answer(NamedTuple):
    """What came of the verb with this ordinal; 0 for none."""

    ordinal: int
    outcome: Optional[ExecuteOutcome]

    def to_json(self) -> Dict[str, Any]:
        outcome = None if self.outcome is None else _System.asdict(self.outcome)
        return {"answered": self.ordinal, "outcome": outcome}


class LinkAgent:
    """Passes every crash on to the healing side.

    ``name`` is the agent there (``healer``, ``exec:COMMAND``, ...), ``model`` the resolved id, for messages only.
    ``chosen`` is the id of an offered model that this agent asks instead of the run's.
    ``timeout`` is in seconds per crash. Any failure of the link lets the error go on, with the reason on record.
    """

    def __init__(
        self, name: str, address: Address, *, model: str = "", timeout: Optional[float] = None, chosen: str = ""
    ) -> None:
        self.name = name
        self.model = model
        self.on_progress = []  # type: List[Callable[[Progress], None]]
        self._address = address
        self._timeout = timeout
        self._chosen = chosen
        self._client = os.urandom(8).hex()
        self._asked = False
        self._pid = os.getpid()

    def respond(self, session: Session) -> None:
        """Decide about one crash by asking."""
        began = _System.clock()
        try:
            number = self._post_crash(session)
        except LinkError as problem:
            session.reraise("the healing side cannot be asked: {}".format(problem))
            return
        last = _Answer(0, None)
        try:
            for answer in self._verbs(session, number, began):
                last = answer
                if session.decided:
                    break
        except LinkError as problem:
            session.reraise("the healing side was lost: {}".format(problem))
        finally:
            self._end(session, number, last)

    def offer(self, model: Dict[str, Any], key: str) -> None:
        """Tell the healing side of a model that crashes may choose, as `models.Model` in JSON. Raises `LinkError`."""
        self._asked = True
        self._request("/v1/models", {"model": model, "key": key}, START)

    def close(self) -> None:
        """The run is over, for this process; in the one that started the healing side, for all."""
        if _System.getpid() != self._pid:
            return
        if self._address.pid:
            try:
                _System.kill(self._address.pid, signal.SIGTERM)
            except OSError:
                return  # it is gone already
        elif self._asked:
            try:
                self._request("/v1/bye", {"client": self._client}, 2.0)
            except LinkError:
                return  # nobody is left to say good-bye to

    # ----------------------------------------------------------------- one crash

    def _post_crash(self, session: Session) -> str:
        context = _System.asdict(session.context)
        body = {
            "version": VERSION,
            "client": self._client,
            "pid": self._pid,
            "agent": self.name,
            "max_calls": session.budget_left(),
            "timeout": self._timeout,
            "model": self._chosen,
            "context": context,
        }
        first, self._asked = not self._asked, True
        reply = self._request("/v1/crashes", body, START if first else PATIENCE)
        number = reply.get("crash")
        if not isinstance(number, str) or not number.isalnum():
            raise LinkError("its answer names no crash")
        return number

    def _verbs(self, session: Session, number: str, began: float) -> "Iterator[_Answer]":
        """Carry out the verbs that are asked for, one after the other, and yield what came of each."""
        path = "/v1/crashes/{}/next".format(number)
        answer = _Answer(0, None)
        while True:
            body = answer.to_json()
            body["wait"] = POLL
            verb = self._request(path, body, PATIENCE)
            kind = verb.get("verb")
            if kind not in _KINDS:
                raise LinkError("it asked for {!r}; this version knows probe, heal, reraise and wait".format(kind))
            _put_on_record(session, verb)
            if kind == "wait":
                self._waiting(session, verb, began)
                answer = _Answer(0, None)
            else:
                ordinal = verb.get("id")
                answer = _Answer(ordinal if type(ordinal) is int else 0, self._carry_out(session, verb))
            yield answer

    def _waiting(self, session: Session, verb: Dict[str, Any], began: float) -> None:
        seconds = _System.clock() - began
        if self._timeout is not None and seconds > self._timeout:
            session.reraise("budget: {:g} seconds for this crash are used up".format(self._timeout))
            return
        cost = verb.get("cost_usd")
        progress = Progress(
            unit=session.context.unit,
            agent=self.name,
            model=self.model,
            calls=int(verb.get("calls") or 0),
            cost_usd=float(cost) if isinstance(cost, (int, float)) else None,
            seconds=seconds,
            note=_text(verb, "note"),
        )
        for observer in self.on_progress:
            observer(progress)

    def _carry_out(self, session: Session, verb: Dict[str, Any]) -> Optional[ExecuteOutcome]:
        code = _text(verb, "code")
        if not code.strip() and verb["verb"] != "reraise":
            raise LinkError("it asked for a {} without code".format(verb["verb"]))
        if verb["verb"] == "probe":
            return session.probe(code)
        if verb["verb"] == "reraise":
            session.reraise(_text(verb, "reason"))
            return None
        frame = verb.get("frame", 0)
        return session.heal(
            code,
            resume=_text(verb, "resume") or "next",
            frame=frame if type(frame) is int else -1,
            explanation=_text(verb, "explanation"),
        )

    def _end(self, session: Session, number: str, last: "_Answer") -> None:
        """Tell the healing side that this crash is over, and put on record what it cost."""
        resolution = session.resolution
        body = last.to_json()
        body["healed"] = resolution is not None and resolution.way != "original"
        try:
            reply = self._request("/v1/crashes/{}/end".format(number), body, 5.0)
        except LinkError:
            return  # whoever is lost cannot say what was spent; the reason is on record already
        _put_on_record(session, reply)
        used = reply.get("used")
        known = {field.name for field in dataclasses.fields(Used)} - {"at", "unit", "crash"}
        if isinstance(used, dict):
            session.spent(Used(**{key: value for key, value in used.items() if key in known}))

    # ----------------------------------------------------------------- HTTP

    def _request(self, path: str, body: Dict[str, Any], patience: float) -> Dict[str, Any]:
        """The answer to one POST. Raises `LinkError`; never takes longer than ``patience`` seconds."""
        deadline = _System.clock() + patience
        try:
            family = _System.local_family if self._address.path else _System.family
            if family is None:
                raise LinkError("this Python has no unix sockets")
            connection = _System.socket(family, _System.stream)
        except OSError as error:
            raise LinkError("no socket could be opened ({})".format(error)) from None
        try:
            status, raw = _exchange(connection, self._address, path, _System.encode(body).encode("ascii"), deadline)
        except _System.timeout_error:
            raise LinkError("it did not answer within {:g} seconds".format(patience)) from None
        except OSError as error:
            raise LinkError("{}: {}".format(self._address, error)) from None
        finally:
            connection.close()
        try:
            reply = _System.decode(raw.decode("utf-8"))
        except (ValueError, RecursionError):
            raise LinkError("its answer is not JSON") from None
        if not isinstance(reply, dict):
            raise LinkError("its answer is not a JSON object")
        if status != 200:
            raise LinkError("HTTP {}: {}".format(status, _text(reply, "error") or "no reason given"))
        return reply


def _exchange(
    connection: Any, address: Address, path: str, body: bytes, deadline: float
) -> Tuple[int, bytes]:
    """Send one request and read the whole answer: HTTP/1.1 with a length, and the connection ends with it."""
    host = "localhost" if address.path else "{}:{}".format(address.host, address.port)
    head = (
        "POST {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nHeal-Protocol: {}\r\n"
        "Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n"
    ).format(path, host, address.token, VERSION, len(body))
    _within(connection, deadline)
    connection.connect(address.path or (address.host, address.port))
    message = memoryview(head.encode("ascii") + body)
    while message:
        _within(connection, deadline)
        message = message[connection.send(message):]
    parts = []  # type: List[bytes]
    size = 0
    while True:
        _within(connection, deadline)
        part = connection.recv(65536)
        if not part:
            break
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise LinkError("its answer is longer than {} bytes".format(LARGEST))
    received = b"".join(parts)
    head_end = received.find(b"\r\n\r\n")
    words = received[:head_end].split(b"\r\n", 1)[0].split()
    if head_end < 0 or len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise LinkError("it closed the connection without an answer" if not received else "its answer is not HTTP")
    content = received[head_end + 4:]
    if len(content) != _length(received[:head_end]):
        raise LinkError("its answer was cut off")
    return int(words[1]), content


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    return -1


def _within(connection: Any, deadline: float) -> None:
    left = deadline - _System.clock()
    if left <= 0:
        raise _System.timeout_error("timed out")
    connection.settimeout(left)


def _put_on_record(session: Session, reply: Dict[str, Any]) -> None:
    """The agent's looks at the repository, which a reply tells of."""
    looks = reply.get("explored")
    for look in looks if isinstance(looks, list) else ():
        if isinstance(look, dict):
            code, ms = look.get("exit_code"), look.get("ms")
            session.explored(_text(look, "command"), code if type(code) is int else None, _text(look, "problem"),
                             float(ms) if isinstance(ms, (int, float)) else 0.0)


def _text(record: Dict[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""
