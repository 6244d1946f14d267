"""The healing side is reached by a unix socket, which needs no network, as well as over loopback."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from healguard_core.bundle import build_bundle
from healguard_core.execution.link import Address
from healguard_core.healing.starting import StartError, start_healing

PROGRAM = """
import json, socket, sys

def forbidden(*_args, **_more):
    raise RuntimeError("no network here")

socket.socket.connect = forbidden
def amount_of(order):
    amount = order["amount"]
    return amount * 2

print("result", amount_of({}))
"""
AGENT = """
import json, sys
for line in sys.stdin:
    if json.loads(line)["type"] == "crash":
        print(json.dumps({"type": "execute", "code": "amount = 21", "submit": True}), flush=True)
"""


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose name is short enough for a socket in it."""
    return tmp_path_factory.mktemp("s")


def started(folder: Path, **more: Any) -> Address:
    (folder / "agent.py").write_text(AGENT)
    return start_healing(agent=f"exec:{sys.executable} agent.py", model=None, root=folder, max_cost=None,
                         socket=folder / "heal", **more)


class Local(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


def posted(path: str, where: str, body: Any, token: str) -> tuple[int, dict[str, Any]]:
    connection = Local(path)
    connection.request("POST", where, json.dumps(body), {"Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    found = response.status, json.loads(response.read())
    connection.close()
    return found


def test_a_program_is_healed_over_it(folder: Path) -> None:
    address = started(folder)
    try:
        assert str(address) == address.path == str(folder / "heal")
        assert stat.S_ISSOCK(os.stat(address.path).st_mode)
        (folder / "program.py").write_text(PROGRAM)
        build_bundle(folder / "execution.zip")
        config = {"root": str(folder), "sources": [str(folder)], "agent": f"exec:{sys.executable} agent.py",
                  "agent_options": {"link": address.to_json()}, "journal": str(folder / "journal.jsonl")}
        (folder / "config.json").write_text(json.dumps(config))
        words = [sys.executable, "-m", "healguard_core.execution", "config.json", "program.py"]
        environ = {**os.environ, "PYTHONPATH": str(folder / "execution.zip")}
        ran = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=False)
        assert "result 42" in ran.stdout, ran.stdout + ran.stderr
    finally:
        os.kill(address.pid, signal.SIGTERM)
    end = time.monotonic() + 20
    while os.path.exists(address.path):
        assert time.monotonic() < end, "the socket is left behind"
        time.sleep(0.02)


def test_tokens_hold_there_too_and_the_kernel_says_who_asks(folder: Path) -> None:
    address = started(folder)
    try:
        for token in ("", "wrong"):
            assert posted(address.path, "/v1/bye", {"client": "one"}, token)[0] == 401
        assert posted(address.path, "/llm/v1/responses", {}, address.token)[0] == 401
        assert posted(address.path, "/v1/bye", {"client": "one"}, address.token) == (200, {})
    finally:
        os.kill(address.pid, signal.SIGTERM)


def test_a_name_that_is_too_long_is_said(folder: Path) -> None:
    with pytest.raises(StartError, match="the name of the unix socket is longer than 100 bytes"):
        start_healing(agent="mcp", model=None, root=folder, max_cost=None, socket=folder / ("x" * 100))


def test_a_socket_that_is_taken_is_said(folder: Path) -> None:
    (folder / "heal").write_text("")
    with pytest.raises(StartError, match="Address already in use"):
        started(folder)


@pytest.mark.parametrize("address", [Address("127.0.0.1", 80, "t", 7), Address("", 0, "t", 7, "/run/heal")])
def test_an_address_travels_without_the_right_to_end_the_run(address: Address) -> None:
    assert Address.from_json(address.to_json()) == address._replace(pid=0)
