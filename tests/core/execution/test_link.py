"""The link to the healing side: it carries out verbs, survives what tests do to their process, and never hangs."""

from __future__ import annotations

import asyncio
import builtins
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from healguard_core.execution import link
from healguard_core.execution.engine import Engine
from healguard_core.execution.link import Address, LinkAgent
from healguard_core.healing.starting import start_healing
from healguard_core.protocol import Config, Healed, Probed, Reraised, Used

CATCHER = [f"{__name__}:call"]

AGENT = """
    import json, sys
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "crash":
            print(json.dumps({"type": "execute", "id": 1, "code": "order", "submit": False}), flush=True)
        elif message["type"] == "result" and not message["submit"]:
            print(json.dumps({"type": "execute", "code": "amount = 21", "submit": True}), flush=True)
"""

PROGRAM = """
    def amount_of(order):
        amount = order["amount"]
        return amount * 2
"""


def call(function: Any, *args: Any) -> Any:
    """What ``function`` returned or raised; the engine is told to look through this handler."""
    try:
        return function(*args)
    except Exception as error:
        return error.with_traceback(None)


class Program:
    """A program that crashes, under an engine whose agent is a link."""

    def __init__(self, folder: Path, address: Address, timeout: float | None = None, trial: str = "auto") -> None:
        self.agent = LinkAgent(f"exec:{sys.executable} agent.py", address, timeout=timeout)
        self.engine = Engine(Config(root=str(folder), catchers=CATCHER, trial=trial), self.agent)
        self.engine.start()
        self.engine.begin("unit")
        self.module = importlib.import_module("link_program")

    def run(self) -> Any:
        return call(self.module.amount_of, {})

    def events(self, kind: type) -> list[Any]:
        return [event for event in self.engine.journal.events() if isinstance(event, kind)]

    @property
    def reason(self) -> str:
        return str(self.events(Reraised)[-1].reason)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "link_program.py").write_text(textwrap.dedent(PROGRAM))
    (tmp_path / "agent.py").write_text(textwrap.dedent(AGENT))
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    programs: list[Program] = []
    make = Program.__init__

    def remember(self: Program, *args: Any, **more: Any) -> None:
        make(self, *args, **more)
        programs.append(self)

    monkeypatch.setattr(Program, "__init__", remember)
    yield tmp_path
    monkeypatch.undo()
    for program in programs:
        program.engine.stop()
    sys.modules.pop("link_program", None)


@pytest.fixture
def address(folder: Path) -> Address:
    return start_healing(agent=f"exec:{sys.executable} agent.py", model=None, root=folder, max_cost=None)


def gone(pid: int) -> bool:
    """Whether the process ends within a while."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


# --------------------------------------------------------------------------- with a real healing side


def test_a_crash_is_healed_over_the_link(folder: Path, address: Address) -> None:
    program = Program(folder, address)
    assert program.run() == 42
    assert program.run() == 42
    assert [event.value_repr for event in program.events(Probed)] == ["{}", "{}"]
    healed = program.events(Healed)[0]
    assert healed.by == program.agent.name
    used = program.events(Used)
    assert [(event.crash, event.metered, event.cost_usd) for event in used] == [(1, False, None), (2, False, None)]


def test_a_test_may_patch_everything(folder: Path, address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(folder, address, trial="off")

    def forbidden(*_args: Any, **_more: Any) -> Any:
        raise RuntimeError("forbidden by the test")

    with monkeypatch.context() as patched:
        for module, names in {
            socket: "socket create_connection getaddrinfo setdefaulttimeout",
            time: "time monotonic sleep perf_counter",
            os: "open read write close getpid kill urandom",
            json: "dumps loads",
            builtins: "open input print",
            threading: "Thread",
            subprocess: "Popen run",
        }.items():
            for name in names.split():
                patched.setattr(module, name, forbidden)
        patched.setattr(os, "environ", {})
        result = program.run()
    assert result == 42, program.events(Reraised)
    assert len(program.events(Used)) == 1


def test_a_crash_in_an_event_loop(folder: Path, address: Address) -> None:
    program = Program(folder, address)

    async def main() -> Any:
        return program.module.amount_of({})

    assert call(asyncio.run, main()) == 42


def test_no_descriptor_of_ours_is_left_and_none_is_seen_by_verbs(folder: Path, address: Address) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    program = Program(folder, address)
    before = sorted(os.listdir("/proc/self/fd"))
    during = []
    program.engine.on_context.append(lambda _: during.append(sorted(os.listdir("/proc/self/fd"))))
    assert program.run() == 42
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert during == [before]


def test_a_healing_side_that_is_killed_lets_the_error_go_on(folder: Path, address: Address) -> None:
    program = Program(folder, address)
    program.agent.on_progress.append(lambda _: os.kill(address.pid, signal.SIGKILL))
    (folder / "agent.py").write_text("import time; time.sleep(600)")
    assert isinstance(program.run(), KeyError)
    assert program.reason.startswith("the healing side was lost: ")
    assert isinstance(program.run(), KeyError)
    assert program.reason.startswith("the healing side cannot be asked: ")


def test_time_is_used_up_and_the_command_is_killed(folder: Path, address: Address) -> None:
    (folder / "agent.py").write_text(
        "import os, pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "pathlib.Path('pids').write_text(f'{os.getpid()} {child.pid}')\ntime.sleep(600)\n")
    program = Program(folder, address, timeout=3.0)
    assert isinstance(program.run(), KeyError)
    assert program.reason.startswith("budget: ")
    pids = [int(pid) for pid in (folder / "pids").read_text().split()]
    assert all(gone(pid) for pid in pids)


def test_the_healing_side_ends_with_the_run_and_ends_its_commands(folder: Path, address: Address) -> None:
    (folder / "agent.py").write_text(
        "import os, pathlib\npathlib.Path('pids').write_text(str(os.getpid()))\n" + textwrap.dedent(AGENT))
    program = Program(folder, address)
    assert program.run() == 42
    program.agent.close()
    assert gone(address.pid)
    assert gone(int((folder / "pids").read_text()))


def test_the_healing_side_is_no_child_and_loads_nothing_before_a_crash(folder: Path, address: Address) -> None:
    del folder
    with pytest.raises(ChildProcessError):
        os.waitpid(address.pid, os.WNOHANG)
    if os.path.isdir("/proc/self") and os.geteuid() == 0:  # nobody else may look into it
        assert "pydantic" not in Path(f"/proc/{address.pid}/maps").read_text()
    os.kill(address.pid, signal.SIGTERM)
    assert gone(address.pid)


def test_its_memory_is_closed_to_others(folder: Path, address: Address) -> None:
    del folder
    if not sys.platform.startswith("linux") or os.geteuid() == 0:
        pytest.skip("needs Linux and a user who may not read everything anyway")
    with pytest.raises(PermissionError):
        Path(f"/proc/{address.pid}/environ").read_bytes()
    os.kill(address.pid, signal.SIGTERM)


def test_the_healing_side_ends_when_the_run_is_killed(folder: Path) -> None:
    source = (
        "import os, sys\nfrom pathlib import Path\nfrom healguard_core.healing.starting import start_healing\n"
        "print(start_healing(agent='exec:cat', model=None, root=Path(sys.argv[1]), max_cost=None).pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n")
    ran = subprocess.run([sys.executable, "-c", source, str(folder)], capture_output=True, text=True, check=False)
    assert gone(int(ran.stdout))


def test_a_wrong_token_lets_the_error_go_on(folder: Path, address: Address) -> None:
    program = Program(folder, address._replace(token="wrong"))
    assert isinstance(program.run(), KeyError)
    assert program.reason == "the healing side cannot be asked: HTTP 401: the token is wrong or missing"


# --------------------------------------------------------------------------- with something else at the other end


class Stranger:
    """Listens and answers each connection with the next of ``answers``; None keeps silent."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.kept: list[socket.socket] = []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def address(self) -> Address:
        return Address("127.0.0.1", self.socket.getsockname()[1], "token")

    def _serve(self) -> None:
        while self.answers:
            connection, _ = self.socket.accept()
            self.requests.append(connection.recv(1 << 20))
            answer = self.answers.pop(0)
            if answer is None:
                self.kept.append(connection)
                continue
            connection.sendall(answer)
            connection.close()
        self.socket.close()

    def close(self) -> None:
        for connection in self.kept:
            connection.close()


def reply(body: Any, status: str = "200 OK", length: int | None = None) -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(raw) if length is None else length}\r\n\r\n"
    return head.encode() + raw


CRASH = reply({"crash": "c1"})


@pytest.mark.parametrize(("answers", "says"), [
    ([b""], "cannot be asked: it closed the connection without an answer"),
    ([b"SSH-2.0-x\r\n"], "cannot be asked: its answer is not HTTP"),
    ([reply({"crash": "c1"}, length=999)], "cannot be asked: its answer was cut off"),
    ([b"HTTP/1.1 200 OK\r\n\r\n{}"], "cannot be asked: its answer was cut off"),
    ([reply(b"<html>")], "cannot be asked: its answer is not JSON"),
    ([reply(b"\xff\xfe")], "cannot be asked: its answer is not JSON"),
    ([reply(b"[" * 100000)], "cannot be asked: its answer is not JSON"),
    ([reply([1])], "cannot be asked: its answer is not a JSON object"),
    ([reply({"crash": "../x"})], "cannot be asked: its answer names no crash"),
    ([reply({"error": "busy"}, "503 No")], "cannot be asked: HTTP 503: busy"),
    ([CRASH, reply({"verb": "eval", "code": "1"}), b""], "was lost: it asked for 'eval'"),
    ([CRASH, reply({}), b""], "was lost: it asked for None"),
    ([CRASH, reply({"verb": "heal", "id": 1}), b""], "was lost: it asked for a heal without code"),
    ([CRASH, reply({"verb": "probe", "code": 5, "id": 1}), b""], "was lost: it asked for a probe without code"),
    ([CRASH, b"", b""], "was lost: it closed the connection"),
])
def test_strange_answers(folder: Path, answers: list[bytes], says: str) -> None:
    stranger = Stranger(*answers)
    program = Program(folder, stranger.address)
    assert isinstance(program.run(), KeyError)
    assert says in program.reason
    stranger.thread.join(10)


@pytest.mark.parametrize("verb", [
    {"verb": "heal", "code": "amount = 21", "frame": "x"}, {"verb": "heal", "code": "amount = 21", "frame": 99},
    {"verb": "heal", "code": "amount = 21", "resume": "sideways"}, {"verb": "heal", "code": "amount = (", "resume": 7},
])
def test_strange_verbs_are_answered_with_an_error(folder: Path, verb: dict[str, Any]) -> None:
    done = reply({"verb": "reraise", "reason": "enough", "id": 2})
    stranger = Stranger(CRASH, reply({**verb, "id": 1}), done,
                        reply({"used": {"calls": 3, "unknown": 1, "cost_usd": None}}))
    program = Program(folder, stranger.address)
    assert isinstance(program.run(), KeyError)
    assert program.reason == "enough"
    stranger.thread.join(10)
    answered = json.loads(stranger.requests[2].partition(b"\r\n\r\n")[2])
    assert answered["answered"] == 1
    assert answered["outcome"]["error"]
    assert [(event.calls, event.cost_usd) for event in program.events(Used)] == [(3, None)]


def test_silence_counts_as_dead(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "START", 0.3)
    stranger = Stranger(None)
    program = Program(folder, stranger.address)
    assert isinstance(program.run(), KeyError)
    assert "did not answer within 0.3 seconds" in program.reason
    stranger.close()


def test_a_trickle_does_not_outlast_the_deadline(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "START", 0.5)
    server = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def trickle() -> None:
        connection, _ = server.accept()
        with connection:
            while not over.wait(0.05):
                try:
                    connection.sendall(b"H")
                except OSError:
                    return

    thread = threading.Thread(target=trickle, daemon=True)
    thread.start()
    program = Program(folder, Address("127.0.0.1", server.getsockname()[1], "t"))
    assert isinstance(program.run(), KeyError)
    assert "did not answer within" in program.reason
    over.set()
    thread.join(10)
    server.close()


def test_an_endless_answer_is_not_read_to_its_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "LARGEST", 1000)
    program = Program(folder, Stranger(b"x" * 100_000).address)
    assert isinstance(program.run(), KeyError)
    assert "longer than 1000 bytes" in program.reason
