"""What a heal goes straight on to is found while the program is paused, and the heal is rejected."""

from __future__ import annotations

import pytest

from .conftest import Project

SHOP = """
    import queue
    from shop.bank import wire

    QUEUE = queue.SimpleQueue()
    LOST = {}

    def straight():
        amount = LOST["amount"]
        wire(amount)

    def computed():
        amount = LOST["amount"]
        total = amount * 2 + 1
        text = f"{total:>4}"
        wire(text)

    def through_a_helper():
        amount = LOST["amount"]
        _pay(amount, "note")

    def _pay(value, note):
        wire(value, note)

    def _asked():
        return LOST["amount"]

    def through_the_caller():
        total = _asked() + 1
        wire(total)

    def in_a_list():
        amount = LOST["amount"]
        wire([1, amount])

    def forked():
        amount = LOST["amount"]
        if amount > 100:
            amount = 100
        wire(amount)

    def looped():
        amount = LOST["amount"]
        for _ in range(2):
            wire(amount)

    def caught():
        amount = LOST["amount"]
        try:
            _check()
            wire(amount)
        except ValueError:
            pass

    def _check():
        raise ValueError("not today")

    def not_reached():
        amount = LOST["amount"]
        _leave()
        wire(amount)

    def _leave():
        raise RuntimeError("closed")

    def other_value():
        amount = LOST["amount"]
        wire(7)

    def note_only():
        amount = LOST["amount"]
        wire(7, amount)

    def branch_only():
        amount = LOST["amount"]
        wire(1 if amount > 2 else 2)

    def overwritten():
        amount = LOST["amount"]
        amount = 4
        wire(amount)

    def item_of_a_list():
        amount = LOST["amount"]
        wire([1, amount][0])

    def stored():
        amount = LOST["amount"]
        BOOK["last"] = amount
        wire(3)

    BOOK = {}

    def queued():
        amount = LOST["amount"]
        QUEUE.put(amount)
        wire(QUEUE.empty())
"""
BANK = """
    SENT = []

    def wire(value, note=None):
        SENT.append(value)
"""
SINKS = """
    version: 1
    protect:
      - {id: wire, call: shop.bank.wire, key: value}
"""
HEALS = """
    version: 1
    heals:
      - {when: {error: KeyError, statement: 'amount = LOST["amount"]'}, do: "amount = 5"}
      - {when: {error: KeyError, statement: 'return LOST["amount"]'}, do: "_eh_rtn = 5"}
"""
TESTS = """
    import pytest
    from shop import bank, flows

    FLOWS = sorted(name for name, value in vars(flows).items()
                   if not name.startswith("_") and getattr(value, "__module__", "") == "shop.flows")

    @pytest.mark.parametrize("name", FLOWS)
    def test_flow(name):
        before = len(bank.SENT)
        getattr(flows, name)()
        print("SENT", name, bank.SENT[before:])
"""
MUST = {"straight", "computed", "through_a_helper", "through_the_caller", "in_a_list"}
CLEAN = {"other_value", "branch_only", "overwritten"}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    project = Project(tmp_path_factory.mktemp("static"))
    project.write({"shop/__init__.py": "", "shop/bank.py": BANK, "shop/flows.py": SHOP, "sinks.yaml": SINKS,
                   "heals.yaml": HEALS, "test_flows.py": TESTS})
    result = project.run("--heal=runbook", "--heal-runbook=heals.yaml", "--heal-guard=sinks.yaml",
                         "--heal-report=report.json")
    return {test["nodeid"].rpartition("[")[2].rstrip("]"): test for test in result.report()["tests"]}


def heal_of(test: dict) -> dict:
    return test["crashes"][0]["heal"]


def test_what_must_happen_is_rejected_before_the_program_goes_on(verdicts: dict[str, dict]) -> None:
    for name in MUST:
        test = verdicts[name]
        stops = test["crashes"][0]["actions"][0]["stops"]
        assert (test["outcome"], heal_of(test)["verdict"]) == ("unsafe", "rejected"), name
        assert [(stop["rule"], stop["policy_id"]) for stop in stops] == [("HG201", "wire")], name
        assert heal_of(test)["wrote"] == []


def test_only_what_must_happen_is_rejected(verdicts: dict[str, dict]) -> None:
    assert {name for name, test in verdicts.items() if heal_of(test)["verdict"] == "rejected"} == MUST
    assert heal_of(verdicts["forked"])["verdict"] == "blocked"  # by following the value
    assert heal_of(verdicts["not_reached"])["verdict"] == "gated"  # an error is in the way


def test_clean_is_said_where_all_that_lies_ahead_is_known(verdicts: dict[str, dict]) -> None:
    assert {name for name, test in verdicts.items() if heal_of(test)["verdict"] == "clean"} >= CLEAN
    for name in CLEAN | {"note_only", "item_of_a_list", "stored", "queued"}:
        assert verdicts[name]["outcome"] == "correct", name
    assert heal_of(verdicts["stored"])["verdict"] == "gated"  # others can read it
