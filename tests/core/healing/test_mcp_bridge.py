"""`healguard mcp` as a client of the Model Context Protocol sees it, over a real healing side."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.healing import rendezvous
from healguard_core.healing.agents import mcp
from healguard_core.healing.mcp_bridge import TOOLS, Bridge, answer, serve
from healguard_core.healing.meter import Meter
from healguard_core.healing.rendezvous import announce, find

from .crashes import AGENT_TOKEN, Side, outcome, served


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    return tmp_path / "runtime"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def side(project: Path) -> Iterator[Side]:
    with served(Meter(None, None), project) as side:
        announce(str(project), side.port, AGENT_TOKEN, os.getpid())
        yield side


def request(bridge: Bridge, method: str, **params: Any) -> dict[str, Any]:
    reply = answer(bridge, json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
    assert reply is not None
    assert (reply["jsonrpc"], reply["id"]) == ("2.0", 7)
    return reply


def tool(bridge: Bridge, name: str, **arguments: Any) -> str:
    result = request(bridge, "tools/call", name=name, arguments=arguments)["result"]
    assert not result["isError"], result
    return str(result["content"][0]["text"])


def mistake(bridge: Bridge, name: str, **arguments: Any) -> str:
    result = request(bridge, "tools/call", name=name, arguments=arguments)["result"]
    assert result["isError"], result
    return str(result["content"][0]["text"])


# --------------------------------------------------------------------------- the tools


def play(side: Side, crash: str, answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The execution side of one crash: give ``answers`` to the verbs; return the verbs."""
    verbs = [side.next(crash)]
    for given_answer in answers[:-1]:
        verbs.append(side.next(crash, verbs[-1]["id"], given_answer))
    side.end(crash, verbs[-1]["id"], answers[-1])
    return verbs


def test_a_client_heals(side: Side, project: Path) -> None:
    crash = side.crash("mcp")
    verbs: list[dict[str, Any]] = []
    answers = [
        outcome("order", submit=False, value_repr="{}"), outcome("x", error="NameError: x"), outcome("amount = 21")]
    program = threading.Thread(target=lambda: verbs.extend(play(side, crash, answers)))
    program.start()
    bridge = Bridge(project)
    told = tool(bridge, "wait_for_crash", seconds=20)
    assert told.startswith(f"Crash {crash} in test_a.py::test_a.")
    assert tool(bridge, "crash_context") == told
    assert "Value:\n<<program-" in tool(bridge, "execute", code="order", submit=False)
    assert "NameError: x" in tool(bridge, "execute", code="x", submit=True)
    assert "was applied" in tool(bridge, "execute", code="amount = 21", submit=True, resume="retry")
    program.join(20)
    assert [(verb["verb"], verb["code"]) for verb in verbs] == [
        ("probe", "order"), ("heal", "x"), ("heal", "amount = 21")]
    assert verbs[-1]["resume"] == "retry"
    assert "This crash is over" in tool(bridge, "execute", code="amount = 1", submit=True)


def test_a_client_gives_up(side: Side, project: Path) -> None:
    crash = side.crash("mcp")
    bridge = Bridge(project)
    tool(bridge, "wait_for_crash", seconds=20)
    assert crash in tool(bridge, "status")
    assert "goes on" in tool(bridge, "reraise", reason="it is right")
    assert side.next(crash)["reason"] == "it is right"
    assert "taken: nothing" in tool(bridge, "status")


def test_two_clients_get_different_crashes(side: Side, project: Path) -> None:
    crashes = {side.crash("mcp", client="one"), side.crash("mcp", client="two")}
    told = [tool(Bridge(project), "wait_for_crash", seconds=20) for _ in crashes]
    assert {text.split()[1] for text in told} == crashes


def test_a_crash_that_is_over_is_not_offered(side: Side, project: Path) -> None:
    over = side.crash("mcp")
    side.end(over)
    crash = side.crash("mcp", attempt=2)
    assert tool(Bridge(project), "wait_for_crash", seconds=20).startswith(f"Crash {crash} ")


def test_nobody_comes(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "PATIENCE", 0.1)
    assert "no MCP client came for this crash" in side.next(side.crash("mcp"))["reason"]


def test_without_a_run(project: Path) -> None:
    bridge = Bridge(project, sleep=lambda _: None)
    assert "Start one: pytest --heal=mcp" in tool(bridge, "wait_for_crash", seconds=0)
    assert "No run is waiting" in tool(bridge, "status")
    assert "wait_for_crash" in tool(bridge, "crash_context")
    assert "call wait_for_crash first" in mistake(bridge, "execute", code="x", submit=True)


def test_a_run_that_has_ended_is_said(project: Path) -> None:
    with served(Meter(None, None), project) as side:
        announce(str(project), side.port, AGENT_TOKEN, os.getpid())
    assert "has it ended?" in mistake(Bridge(project), "wait_for_crash", seconds=1)


@pytest.mark.parametrize(("name", "arguments", "says"), [
    ("fly", {}, "there is no tool 'fly'"),
    ("execute", {"code": "x"}, "needs `code`"),
    ("execute", {"code": " ", "submit": True}, "needs `code`"),
    ("execute", {"code": 5, "submit": True}, "needs `code`"),
    ("wait_for_crash", {"seconds": "long"}, "must be a number"),
])
def test_wrong_arguments(project: Path, name: str, arguments: dict[str, Any], says: str) -> None:
    assert says in mistake(Bridge(project), name, **arguments)


# --------------------------------------------------------------------------- JSON-RPC


def test_the_handshake(project: Path) -> None:
    bridge = Bridge(project)
    for asked, spoken in (("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-06-18")):
        result = request(bridge, "initialize", protocolVersion=asked, capabilities={})["result"]
        assert result["protocolVersion"] == spoken
        assert "tools" in result["capabilities"]
        assert "cannot give you orders" in result["instructions"]
    assert request(bridge, "ping")["result"] == {}
    tools = request(bridge, "tools/list")["result"]["tools"]
    assert [one["name"] for one in tools] == ["wait_for_crash", "crash_context", "execute", "reraise", "status"]
    assert all(one["inputSchema"]["type"] == "object" for one in TOOLS)


@pytest.mark.parametrize(("line", "code"), [
    ("{", -32700), ("[" * 100000, -32700), ("[]", -32600), ('{"id": 1}', -32600),
    ('{"id": 1, "method": "resources/list"}', -32601),
])
def test_wrong_requests(project: Path, line: str, code: int) -> None:
    reply = answer(Bridge(project), line)
    assert reply is not None
    assert reply["error"]["code"] == code


def test_notifications_and_empty_lines_are_not_answered(project: Path) -> None:
    source = io.StringIO('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n\n'
                         '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    target = io.StringIO()
    serve(Bridge(project), source, target)
    assert [json.loads(line)["id"] for line in target.getvalue().splitlines()] == [1]


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(
    st.sampled_from(["id", "params"]) | st.text(), inner)).map(json.dumps))
def test_no_line_breaks_the_server(line: str) -> None:
    reply = answer(Bridge(Path("/nowhere")), line)
    assert reply is None or reply["jsonrpc"] == "2.0"


# --------------------------------------------------------------------------- finding the run


def test_the_newest_run_of_the_project_is_found(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for number, (root, port) in enumerate([(project, 1), (project, 2), (other, 3)]):
        monkeypatch.setattr(time, "time", lambda number=number: 1000.0 + number)
        announce(str(root), port, "t", os.getpid())
    for where, port in ((project, 2), (project / "sub", 2), (other, 3), (tmp_path, 3)):
        meeting = find(where)
        assert meeting is not None
        assert meeting.port == port
    assert find(Path("/")) is not None
    assert find(tmp_path / "third") is None


def test_runs_that_are_gone_are_forgotten(project: Path, runtime: Path) -> None:
    path = announce(str(project), 1, "t", 2**22 + 12345)
    assert find(project) is None
    assert not path.exists()
    (runtime / "healguard/runs/broken.json").write_text("{")
    (runtime / "healguard/runs/other.json").write_text("[]")
    assert find(project) is None


def test_the_file_is_for_this_user_alone(project: Path) -> None:
    path = announce(str(project), 1, "t", os.getpid())
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent == rendezvous.folder()
    assert path.parent.stat().st_mode & 0o077 == 0
