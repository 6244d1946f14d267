"""A run that was recorded is replayed by pytest without agent, model, key and network. See core/healing for more."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from healguard_core.testing import ScriptedModel, heal

from .conftest import Project, Result

KEY = "canary-" + "51e7d0"
TESTS = """
    from shop import orders

    def test_two():
        assert orders.amount_of({}) == 42
        assert orders.ship({}) == "X"

    def test_wanted():
        orders.parse("x")

    def test_third():
        assert orders.amount_of({}) == 42
"""
OUTCOMES = {"test_two": "correct", "test_wanted": "reraised", "test_third": "correct"}


def run(shop: Project, *arguments: str, url: str = "http://127.0.0.1:9/v1", key: str = "") -> Result:
    line = f"scripted = openai/scripted base_url={url} key=SCRIPTED_KEY input=2 output=10"
    shop.write({"pytest.ini": f"[pytest]\nheal = healer\nheal_model = scripted\nheal_models =\n    {line}\n"})
    return shop.run("--heal-report=report.json", "--heal-cassette=tape.yaml", *arguments, env={"SCRIPTED_KEY": key})


def by_crash(body: dict[str, Any]) -> Any:
    crash = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
    if "street" in crash:
        return heal("street = 'x'")
    return heal("raise", explanation="no text is a number") if "ValueError" in crash else heal("amount = 21")


def test_two_workers_record_and_replay(shop: Project) -> None:
    shop.write({"test_shop.py": TESTS})
    with ScriptedModel(by_crash) as model:
        assert run(shop, "-n2", url=model.url, key=KEY).by_name() == OUTCOMES
        assert len(model.requests) == 4
    stored = (shop.folder / "tape.yaml").read_text()
    assert stored.count("- unit: ") == 4
    assert KEY not in stored
    again = run(shop, "-n2", "--heal-cassette-mode=strict", "--heal-accept=correct")
    assert again.by_name() == OUTCOMES, again.out
    assert again.report()["totals"]["usage"]["calls"] == 0
    assert (shop.folder / "tape.yaml").read_text() == stored


TAPE = """
    version: 1
    kind: actions
    recordings:
      - unit: test_shop.py::test_two
        ordinal: 1
        crash:
          {error: KeyError, message: "'amount'", function: shop.orders.amount_of, statement: 'amount = order["amount"]'}
        answers: [{action: heal, code: amount = 21}]
      - unit: test_shop.py::test_third
        ordinal: 2
        crash:
          {error: KeyError, message: "'street'", function: shop.orders.ship, statement: 'street = order["street"]'}
        answers: [{action: heal, code: street = "x"}]
"""


def test_misses_and_unused_recordings_fail_the_run(shop: Project) -> None:
    shop.write({"tape.yaml": TAPE, "test_shop.py": """
        from shop import orders

        def test_two():
            assert orders.amount_of({}) == 42

        def test_third():
            pass

        def test_swallowed():
            try:
                orders.parse("x")
            except ZeroDivisionError:
                pass
            finally:
                return
    """})
    result = run(shop, "--heal-accept=correct", "--heal-cassette-mode=strict", "--heal-intercept=all", "-Wignore")
    assert result.ret == 1
    assert result.by_name()["test_two"] == "correct", result.out
    notices = [notice["message"] for notice in result.report()["run"]["notices"] if notice["code"] == "cassette"]
    assert any("no recording of crash 1 of test_shop.py::test_swallowed (ValueError in shop.orders.parse)" in notice
               for notice in notices), result.out
    assert any("has crash 2 of test_shop.py::test_third (KeyError in shop.orders.ship), which did not happen" in notice
               for notice in notices)
    assert "note: " in result.out


def test_looks_and_probes_of_a_command_are_replayed(shop: Project) -> None:
    shop.write({"agent.py": """
        import json, sys
        def ask(**message):
            print(json.dumps(message), flush=True)
            return json.loads(sys.stdin.readline())
        for line in sys.stdin:
            if json.loads(line)["type"] == "crash":
                looked = ask(type="explore", command="cat shop/orders.py | head -1; touch new")
                assert "def amount_of" in looked["output"], looked
                ask(type="execute", code="order")
                print(json.dumps({"type": "execute", "code": "amount = 21", "submit": True}), flush=True)
    """})
    kinds = []
    for _ in range(2):
        result = run(shop, f"--heal=exec:{sys.executable} agent.py", "--heal-model=", "-k", "test_correct")
        assert result.by_name() == {"test_correct": "correct"}, result.out
        crash = result.report()["tests"][0]["crashes"][0]
        kinds.append([(action["kind"], action["code"]) for action in crash["actions"]])
        (shop.folder / "agent.py").unlink(missing_ok=True)  # nobody needs it any more
    assert kinds[0] == kinds[1] == [("explore", "cat shop/orders.py | head -1; touch new"), ("probe", "order"),
                                    ("submit", "amount = 21")]
    assert not (shop.folder / "new").exists()


@pytest.mark.parametrize(("arguments", "says"), [
    (("--heal-cassette-mode=none",), "there is no cassette"), (("--heal=rules", "--heal-model="), "--heal-cassette"),
])
def test_a_cassette_that_cannot_be_used_ends_the_run(shop: Project, arguments: tuple[str, ...], says: str) -> None:
    result = run(shop, *arguments)
    assert result.ret == 4
    assert says in result.err
