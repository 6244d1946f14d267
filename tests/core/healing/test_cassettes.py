"""What is recorded is replayed without agent, model and key; everything else is a miss, and said."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.healing.cassettes import Cassette, CassetteError, load, masked, records
from healguard_core.healing.exploring import Explored
from healguard_core.healing.models import Model
from healguard_core.healing.starting import Cassettes
from healguard_core.testing import Call, Cut, Script, ScriptedModel, Status, Text, heal

from .crashes import Side, context, meter_for, outcome, served

KEY = "secret-key"  # of `meter_for`
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2"


def tape(folder: Path, kind: str = "actions", mode: str = "once") -> Cassette:
    return Cassette(folder / "tapes" / "tape.yaml", kind, mode, folder, key=KEY)


def shell(command: str, _seconds: float) -> Explored:
    return Explored(f"output of {command}", 0)


def play(side: Side, results: dict[str, dict[str, str]] | None = None, **more: Any) -> list[tuple[str, str]]:
    """One crash: what the agent asked for, with the reason where it gave up. ``results`` are by code."""
    crash = side.crash("healer", **more)
    asked, answered, came = [], 0, None
    while True:
        verb = side.next(crash, answered, came)
        code = verb.get("code", verb.get("reason", ""))
        asked.append((verb["verb"], code))
        answered, came = verb["id"], None
        if verb["verb"] == "reraise":
            break
        came = outcome(code, submit=verb["verb"] == "heal", **(results or {}).get(code, {}))
        if verb["verb"] == "heal" and not came["error"]:
            break
    side.end(crash, answered, came)
    return asked


def recorded(folder: Path, script: Script, kind: str = "actions", mode: str = "once",
             results: dict[str, dict[str, str]] | None = None, **more: Any) -> list[tuple[str, str]]:
    with (ScriptedModel(script) as model,
          served(meter_for(model), folder, **{kind: tape(folder, kind, mode)}) as side):
        return play(side, results, **more)


def replayed(folder: Path, kind: str = "actions", mode: str = "none",
             results: dict[str, dict[str, str]] | None = None, **more: Any) -> list[tuple[str, str]]:
    with ScriptedModel([Status(500, "nobody is to be asked")]) as model:
        with served(meter_for(model), folder, **{kind: tape(folder, kind, mode)}) as side:
            asked = play(side, results, **more)
        assert not model.requests
    return asked


FAILS = {"amount = nowhere": {"error": "NameError: name 'nowhere' is not defined at 0x7f1234"}}
SCRIPT: list[Any] = [heal("amount = nowhere"), heal("amount = 21", resume="retry", explanation="why")]


@pytest.mark.parametrize("kind", ["actions", "exchanges"])
@pytest.mark.parametrize("mode", ["none", "once", "new", "strict"])
def test_what_was_recorded_is_replayed(tmp_path: Path, kind: str, mode: str) -> None:
    first = recorded(tmp_path, SCRIPT, kind, results=FAILS)
    assert first == [("heal", "amount = nowhere"), ("heal", "amount = 21")]
    path = tmp_path / "tapes" / "tape.yaml"
    stored = path.read_text()
    assert KEY not in stored
    now = {"amount = nowhere": {"error": "NameError: name 'nowhere' is not defined at 0x7f9999"}}
    assert replayed(tmp_path, kind, mode, results=now) == first
    assert path.read_text() == stored


def test_a_cassette_is_for_reading(tmp_path: Path) -> None:
    recorded(tmp_path, SCRIPT, results=FAILS)
    assert yaml.safe_load((tmp_path / "tapes" / "tape.yaml").read_text()) == {
        "version": 1, "kind": "actions", "recordings": [{
            "unit": "test_a.py::test_a", "ordinal": 1, "agent": "healer", "model": "openai/scripted",
            "crash": {"error": "KeyError", "message": "'amount'", "function": "shop.orders.amount_of",
                      "statement": 'amount = order["amount"]'},
            "answers": [
                {"action": "heal", "code": "amount = nowhere", "resume": "next", "frame": 0,
                 "error": "NameError: name 'nowhere' is not defined at 0x..."},
                {"action": "heal", "code": "amount = 21", "resume": "retry", "frame": 0, "explanation": "why"}],
        }]}


def test_streams_and_tools_are_replayed_byte_by_byte(tmp_path: Path) -> None:
    from healguard_core.healing.provider import Abort
    from healguard_core.healing.taped import TapedProvider

    body = {"messages": [{"role": "user", "content": "x"}], "stream": True}
    with ScriptedModel([heal("amount = 1")]) as model:
        provider = meter_for(model).provider
        assert provider is not None
        taped = TapedProvider(tape(tmp_path, "exchanges"), provider, context(), "codex", "m")
        first = b"".join(taped.send("/responses", body, 10, Abort()).pieces)
        again = TapedProvider(tape(tmp_path, "exchanges", "strict"), provider, context(), "codex", "m")
        answer = again.send("/responses", body, 10, Abort())
        pieces = list(answer.pieces)
    assert b"".join(pieces) == first
    assert len(pieces) > 1
    assert answer.streamed
    assert len(model.requests) == 1


@pytest.mark.parametrize("kind", ["actions", "exchanges"])
@pytest.mark.parametrize(("more", "says"), [
    ({"unit": "test_a.py::test_b"}, "no recording of crash 1 of test_a.py::test_b (KeyError in shop.orders.amount_of)"),
    ({"attempt": 2}, "has no recording of crash 2 of test_a.py::test_a"),
    ({"message": "'sum'"}, "message was \"'amount'\" and is \"'sum'\""),
    ({"statement": "x = 1"}, "statement was "), ({"function": "shop.other"}, "function was "),
    ({"qualified_error": "shop.Missing"}, "error was 'KeyError' and is 'shop.Missing'"),
])
def test_another_crash_is_a_miss(tmp_path: Path, kind: str, more: dict[str, Any], says: str) -> None:
    recorded(tmp_path, SCRIPT, kind, results=FAILS)
    [(verb, reason)] = replayed(tmp_path, kind, **more)
    assert verb == "reraise"
    assert "cassette miss: " in reason
    assert says in reason
    assert "--heal-cassette-mode=new" in reason


@pytest.mark.parametrize("kind", ["actions", "exchanges"])
def test_new_adds_and_replaces(tmp_path: Path, kind: str) -> None:
    recorded(tmp_path, SCRIPT, kind, results=FAILS)
    recorded(tmp_path, [heal("amount = 5")], kind, "new", unit="test_a.py::test_b")
    recorded(tmp_path, [heal("amount = 6")], kind, "new", message="'sum'")
    assert len(load(tmp_path / "tapes" / "tape.yaml", kind)) == 2
    assert replayed(tmp_path, kind, unit="test_a.py::test_b") == [("heal", "amount = 5")]
    assert replayed(tmp_path, kind, message="'sum'") == [("heal", "amount = 6")]


def test_strict_wants_the_same_results(tmp_path: Path) -> None:
    recorded(tmp_path, SCRIPT, results=FAILS)
    other = {"amount = nowhere": {"error": "TypeError: something else"}}
    assert replayed(tmp_path, results=other)[-1] == ("heal", "amount = 21")
    verb, reason = replayed(tmp_path, mode="strict", results=other)[-1]
    assert verb == "reraise"
    assert "cassette miss: action 1 of crash 1 came to another end: its error was" in reason


def test_strict_wants_the_same_kind_of_request(tmp_path: Path) -> None:
    recorded(tmp_path, SCRIPT, "exchanges", results=FAILS)
    path = tmp_path / "tapes" / "tape.yaml"
    path.write_text(path.read_text().replace("tools: execute", "tools: execute bash"))
    assert replayed(tmp_path, "exchanges", results=FAILS)[-1] == ("heal", "amount = 21")
    assert "cassette miss: request 1" in replayed(tmp_path, "exchanges", "strict", results=FAILS)[-1][1]


@pytest.mark.parametrize("kind", ["actions", "exchanges"])
def test_a_heal_that_fails_now_is_a_miss(tmp_path: Path, kind: str) -> None:
    recorded(tmp_path, [heal("amount = 21")], kind)
    verb, reason = replayed(tmp_path, kind, results={"amount = 21": {"error": "NameError: gone"}})[-1]
    assert verb == "reraise"
    assert "cassette miss" in reason


@pytest.mark.parametrize("script", [[Status(401)], [Call("execute", "{")], [Cut()], [Text("no")]])
def test_an_agent_that_came_to_nothing_is_not_recorded(tmp_path: Path, script: Script) -> None:
    assert recorded(tmp_path, script, timeout=5, max_calls=2)[-1][0] == "reraise"
    assert not (tmp_path / "tapes" / "tape.yaml").exists()


def test_a_decision_to_let_the_error_go_on_is_recorded(tmp_path: Path) -> None:
    recorded(tmp_path, [heal("raise", explanation="it is right")])
    assert replayed(tmp_path) == [("reraise", "it is right")]


def test_a_credential_is_never_stored(tmp_path: Path) -> None:
    recorded(tmp_path, [heal(f"amount = '{TOKEN}'")])
    assert not (tmp_path / "tapes" / "tape.yaml").exists()
    recorded(tmp_path, [Text(f"{TOKEN} {KEY}"), heal("amount = 1")], "exchanges")
    recorded(tmp_path, [heal("amount = 2", explanation=f"{TOKEN} {KEY}")], "exchanges", "new", attempt=2, unit="b")
    stored = (tmp_path / "tapes" / "tape.yaml").read_text()
    assert TOKEN not in stored
    assert KEY not in stored
    assert "<redacted: github token>" in stored


def test_many_crashes_at_once_are_all_recorded(tmp_path: Path) -> None:
    one, two = tape(tmp_path, mode="new"), tape(tmp_path, mode="new")  # as two runs would have it
    threads = [threading.Thread(target=cassette.add, args=(context(unit=f"{n}"), "a", "m", [{"action": "reraise"}]))
               for n in range(8) for cassette in ((one, two)[n % 2],)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.unit for entry in load(one.path, "actions")] == [str(n) for n in range(8)]


@pytest.mark.parametrize(("text", "says"), [
    ("version: 2", "version"), ("version: 1\nkind: actions\nrecordings: 3", "recordings"), ("[", "is not YAML"),
    ("version: 1\nkind: exchanges\nrecordings: []", "holds exchanges, not actions"), ("x: \xff", "is not YAML"),
    ("version: 1\nkind: actions\nrecordings: []\nmore: 1", "more"), ("", "version"),
    ("!!python/object/apply:os.system ['true']", "is not YAML"),
    ("version: 1\nkind: actions\nrecordings: [&a {unit: x}, *a]", "has aliases"),
])
def test_wrong_files_are_refused_before_the_run(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "tape.yaml"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(CassetteError, match=says) as raised:
        Cassettes(str(path), "", "none").replayed()
    assert "tape.yaml" in str(raised.value)


@pytest.mark.parametrize(("mode", "there", "asks"), [
    ("once", False, True), ("once", True, False), ("new", False, True), ("new", True, True), ("none", True, False),
    ("strict", True, False),
])
def test_when_an_agent_is_asked(tmp_path: Path, mode: str, there: bool, asks: bool) -> None:
    path = tmp_path / "tape.yaml"
    if there:
        path.write_text("version: 1\nkind: actions\nrecordings: []\n")
    assert records(path, mode) is asks
    assert Cassettes(str(path), "", mode).replayed() is not asks


@pytest.mark.parametrize("mode", ["none", "strict"])
def test_there_must_be_something_to_replay(tmp_path: Path, mode: str) -> None:
    with pytest.raises(CassetteError, match=r"there is no cassette .* record it with --heal-cassette-mode=once"):
        records(tmp_path / "tape.yaml", mode)


def test_a_replayed_run_needs_no_key(tmp_path: Path) -> None:
    from healguard_core.healing.models import ModelError
    from healguard_core.healing.starting import start_healing

    (tmp_path / "tape.yaml").write_text("version: 1\nkind: actions\nrecordings: []\n")
    model = Model("gpt", "openai/x", "x", "http://127.0.0.1:9/v1", "NO_SUCH_KEY")
    with pytest.raises(ModelError, match="NO_SUCH_KEY"):
        start_healing(agent="healer", model=model, root=tmp_path, max_cost=None)
    found = start_healing(agent="healer", model=model, root=tmp_path, max_cost=None,
                          cassettes=Cassettes(str(tmp_path / "tape.yaml"), "", "none"))
    os.kill(found.pid, signal.SIGTERM)


VARYING = st.sampled_from([
    ("0x7f{:06x}", 1 << 20), ("/tmp/pytest-of-me/pytest-{}/x.txt", 99), ("2026-11-{:02}T10:00:00Z", 28),
    ("10:{:02}:11", 59), ("pid={}", 32000), ("12345678-1234-1234-1234-1234567{:05}", 99999),
])


@given(before=st.text(max_size=20), kind=VARYING, numbers=st.tuples(st.integers(10, 27), st.integers(10, 27)))
def test_what_differs_from_run_to_run_is_masked(before: str, kind: tuple[str, int], numbers: tuple[int, int]) -> None:
    one, two = (masked(f"{before} {kind[0].format(number)} after", "/work") for number in numbers)
    assert one == two
    assert one.endswith(" after")


@given(st.text(max_size=200))
def test_masking_is_stable(text: str) -> None:
    assert masked(masked(text, "/root/project"), "/root/project") == masked(text, "/root/project")
