"""What the agent ``rules`` says about small crashing programs."""

import pytest

from healguard_core.execution.guard import gate
from healguard_core.execution.local_agents.rules.agent import RULES, RulesAgent, decide
from healguard_core.execution.local_agents.rules.crash import SURE
from healguard_core.execution.local_agents.rules.rule import folded, is_misspelling

from .crashes import crash_of, healed
from .rule_cases import ALL, RERAISED, SAFE


def _named(cases):
    return [pytest.param(*case[1:], id=case[0]) for case in cases]


@pytest.mark.parametrize(("source", "code"), _named(SAFE))
def test_certain_crashes_are_healed(source, code):
    found, reason = decide(crash_of(source))
    assert found is not None, reason
    assert found.code == code
    assert found.confidence >= SURE
    assert found.explanation.endswith(".")
    assert found.rule in {rule.name for rule in RULES}


@pytest.mark.parametrize("source", [pytest.param(case[1], id=case[0]) for case in SAFE + ALL])
def test_suggested_code_runs_in_the_crashed_frame(source):
    crash = crash_of(source)
    found, reason = decide(crash, 0.0)
    assert found is not None, reason
    names = healed(crash, found)
    assert found.resume == ("return" if "_eh_rtn" in names else "next" if crash.simple else "retry")


@pytest.mark.parametrize("source", [pytest.param(case[1], id=case[0]) for case in SAFE + ALL])
def test_the_gate_accepts_suggested_code(source):
    found, reason = decide(crash_of(source), 0.0)
    assert found is not None, reason
    assert gate.check(found.code) == []


@pytest.mark.parametrize("source", _named(RERAISED))
def test_uncertain_and_wanted_errors_go_on(source):
    found, reason = decide(crash_of(source))
    assert found is None
    assert reason


@pytest.mark.parametrize(("source", "code"), _named(ALL))
def test_all_rules_heal_what_is_only_likely(source, code):
    found, reason = decide(crash_of(source), 0.0)
    assert found is not None, reason
    assert found.code == code


def test_levels():
    assert RulesAgent().name == "rules"
    RulesAgent({"rules": "all"}).close()
    with pytest.raises(ValueError, match="must be one of all, safe; got 'some'"):
        RulesAgent({"rules": "some"})


@pytest.mark.parametrize(
    ("written", "meant", "slip"),
    [
        ("recieved", "received", True), ("adress", "address", True), ("Amount", "amount", True),
        ("unit-price", "unit_price", True), ("lenght", "length", True), ("colour", "color", True),
        ("item", "items", False), ("x1", "x2", False), ("sum_x", "sum_y", False), ("start", "smart", False),
        ("color1", "color2", False), ("a", "A", False), ("same", "same", False), ("post", "port", False),
    ],
)
def test_misspellings(written, meant, slip):
    assert is_misspelling(written, meant) is slip
    assert is_misspelling(meant, written) is slip


def test_folding_drops_case_and_separators():
    assert folded(" Unit-Price_ ") == folded("unitprice") == "unitprice"
