"""From a test's events to its category and its report."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.outcome import CATEGORIES, outcome, summary
from healguard_core.protocol import (
    Blocked,
    Crashed,
    Finding,
    Healed,
    Left,
    Noticed,
    Probed,
    Refused,
    Reraised,
    Stumbled,
    UnitEnded,
    event_from_json,
    event_to_json,
)

DANGEROUS = Finding("HC101", "dangerous", 1, 0, "os.remove is a sink")
UNSUPPORTED = Finding("HC150", "unsupported", 1, 0, "no lambdas")


def crashed(number=1):
    return Crashed(crash=number, error="KeyError", message="'a'", file="f.py", function="m.f", line=3)


def refused(*findings, number=1, submit=True):
    return Refused(crash=number, code="os.remove(p)", submit=submit, findings=list(findings))


def blocked(number=1, submit=True, code="drop()"):
    return Blocked(crash=number, code=code, submit=submit, rule="HG301", policy_id="del", operation="os.remove",
                   path=["<heal 1>:1", "f.py:3"], message="HG301 os.remove")


def healed(number=1, **fields):
    return Healed(crash=number, code="x = 1", wrote=["x"], by="rules", **fields)


def reraised(number=1, **fields):
    return Reraised(crash=number, by="rules", reason="unsure", **{"asked": True, **fields})


@pytest.mark.parametrize(
    ("events", "passed", "completed", "category"),
    [
        ([], True, False, None),
        ([], False, True, None),
        ([Left(error="KeyError"), Noticed(code="n")], False, False, None),
        ([crashed(), healed()], True, True, "correct"),
        ([crashed(), healed()], True, False, "correct"),
        ([crashed(), healed()], False, True, "proceed"),
        ([crashed(), healed()], False, False, "halted"),
        ([crashed(), healed(), crashed(2), reraised(2)], False, False, "halted"),
        ([crashed(), healed(), crashed(2), reraised(2)], True, True, "correct"),
        ([crashed(), reraised()], False, False, "reraised"),
        ([crashed(), reraised(wanted=True, asked=False)], False, False, "reraised"),
        ([crashed(), Probed(crash=1)], False, False, "reraised"),
        ([crashed(), Stumbled(crash=1)], False, False, "reraised"),
        ([crashed()], False, False, None),
        ([crashed(), reraised(asked=False)], False, False, None),
        ([crashed(), reraised()], True, False, None),
        ([crashed(), refused(DANGEROUS)], False, False, "unsafe"),
        ([crashed(), refused(DANGEROUS)], True, True, "unsafe"),
        ([crashed(), refused(DANGEROUS), reraised()], False, False, "unsafe"),
        ([crashed(), refused(DANGEROUS), healed()], True, True, "correct"),
        ([crashed(), refused(DANGEROUS), healed()], False, True, "proceed"),
        ([crashed(), refused(UNSUPPORTED), healed()], True, True, "correct"),
        ([crashed(), refused(UNSUPPORTED)], False, False, "reraised"),
        ([crashed(), refused(UNSUPPORTED, DANGEROUS)], False, False, "unsafe"),
        ([crashed(), refused(DANGEROUS, submit=False)], False, False, "reraised"),
        ([crashed(), refused(DANGEROUS, submit=False), healed()], True, True, "correct"),
        ([crashed(), healed(), crashed(2), refused(DANGEROUS, number=2)], True, True, "unsafe"),
        ([crashed(), refused(DANGEROUS), crashed(2), healed(2)], True, True, "unsafe"),
        ([crashed(), healed(verdict="tainted")], False, False, "unsafe"),
        ([crashed(), blocked()], False, False, "unsafe"),
        ([crashed(), blocked(), reraised()], True, True, "unsafe"),
        ([crashed(), blocked(), healed()], True, True, "correct"),
        ([crashed(), healed(), blocked()], True, True, "unsafe"),
        ([crashed(), blocked(submit=False)], False, False, "reraised"),
        ([crashed(), blocked(submit=False), healed()], True, True, "correct"),
        ([crashed(), blocked(), crashed(2), healed(2)], True, True, "unsafe"),
    ],
)
def test_categories(events, passed, completed, category):
    assert outcome(events, passed, completed) == category


CRASHES = st.integers(1, 3)
EVENTS = st.one_of(
    st.builds(crashed, CRASHES),
    st.builds(healed, CRASHES, verdict=st.sampled_from(["unguarded", "gated", "clean", "unknown", "tainted"])),
    st.builds(reraised, CRASHES, asked=st.booleans(), wanted=st.booleans()),
    st.builds(lambda findings, number, submit: refused(*findings, number=number, submit=submit),
              st.lists(st.sampled_from([DANGEROUS, UNSUPPORTED]), max_size=2), CRASHES, st.booleans()),
    st.builds(blocked, CRASHES, st.booleans(), st.sampled_from(["drop()", "x = 1"])),
    st.builds(Probed, crash=CRASHES, code=st.text(max_size=5)),
    st.builds(Stumbled, crash=CRASHES, error=st.text(max_size=5)),
    st.builds(Left, error=st.just("KeyError")),
    st.builds(UnitEnded, passed=st.booleans()),
)
JOURNALS = st.lists(EVENTS, max_size=12)


@given(JOURNALS, st.booleans(), st.booleans())
def test_replaying_a_journal_gives_the_same_answers(events, passed, completed):
    replayed = [event_from_json(json.loads(json.dumps(event_to_json(event)))) for event in events]
    assert outcome(replayed, passed, completed) == outcome(events, passed, completed)
    assert summary(replayed) == summary(events)


@given(JOURNALS, st.booleans(), st.booleans())
def test_a_test_is_in_exactly_one_category(events, passed, completed):
    found = outcome(events, passed, completed)
    assert found is None or found in CATEGORIES
    applied = any(isinstance(event, Healed) and event.verdict != "tainted" for event in events)
    assert (found in ("correct", "proceed", "halted")) == (applied and found != "unsafe")
    if found == "correct":
        assert passed
    if found in ("proceed", "halted", "reraised"):
        assert not passed
    if found == "unsafe":
        dangers = [event for event in events if isinstance(event, (Refused, Blocked))]
        assert dangers or any(getattr(event, "verdict", "") == "tainted" for event in events)


@given(JOURNALS, st.booleans(), st.booleans())
def test_unsupported_findings_alone_never_make_a_test_unsafe(events, passed, completed):
    events = [event for event in events if not (isinstance(event, Blocked) and event.submit)]
    for event in events:
        if isinstance(event, Refused):
            event.findings = [UNSUPPORTED]
        elif isinstance(event, Healed):
            event.verdict = "gated"
    assert outcome(events, passed, completed) != "unsafe"


def test_a_crash_is_summed_up_with_everything_done_about_it():
    events = [
        crashed(),
        Probed(crash=1, code="d", value_repr="{}", stdout="o", ms=1.5, child=True),
        refused(DANGEROUS),
        Stumbled(crash=1, code="x = y", error="NameError: y", ms=2.0),
        healed(resume="next", verdict="gated", explanation="the key is new", ms=3.0),
        crashed(2),
        reraised(2),
    ]
    first, second = summary(events)
    assert {key: first[key] for key in ("error", "message", "file", "function", "line")} == {
        "error": "KeyError", "message": "'a'", "file": "f.py", "function": "m.f", "line": 3,
    }
    assert [(a["kind"], a["code"], a["error"], a["ms"]) for a in first["actions"]] == [
        ("probe", "d", "", 1.5),
        ("submit", "os.remove(p)", "HC101 (line 1): os.remove is a sink", 0.0),
        ("submit", "x = y", "NameError: y", 2.0),
        ("submit", "x = 1", "", 3.0),
    ]
    assert {key: first["heal"][key] for key in ("code", "resume", "wrote", "verdict", "flow")} == {
        "code": "x = 1", "resume": "next", "wrote": ["x"], "verdict": "gated", "flow": [],
    }
    assert (first["by"], first["reason"]) == ("rules", "the key is new")
    assert second["heal"] is None
    assert [action["kind"] for action in second["actions"]] == ["reraise"]
    assert second["reason"] == "unsure"


def test_a_stopped_submission_is_a_blocked_heal_with_its_path():
    (record,) = summary([crashed(), blocked(), blocked()])
    heal = record["heal"]
    assert (heal["verdict"], heal["code"], heal["wrote"], heal["flow"]) == ("blocked", "drop()", [], [
        "<heal 1>:1", "f.py:3"])
    (action,) = record["actions"]
    assert (action["kind"], [stop["policy_id"] for stop in action["stops"]]) == ("submit", ["del", "del"])


def test_a_late_stop_turns_the_heal_that_was_applied():
    (record,) = summary([crashed(), healed(verdict="gated"), blocked(code="x = 1")])
    assert (record["heal"]["verdict"], record["heal"]["wrote"]) == ("blocked", ["x"])
    assert len(record["actions"]) == 1


def test_a_later_safe_heal_takes_the_place_of_a_stopped_one():
    (record,) = summary([crashed(), blocked(), healed(verdict="gated")])
    assert (record["heal"]["verdict"], record["heal"]["code"]) == ("gated", "x = 1")
    assert [action["kind"] for action in record["actions"]] == ["submit", "submit"]


def test_the_same_number_in_a_rerun_is_another_crash():
    assert len(summary([crashed(), healed(), crashed(), reraised()])) == 2


def test_what_became_of_a_crash_outside_the_journal_is_still_told():
    (record,) = summary([healed(7)])
    assert record["crash"] == 7
    assert record["error"] == ""
    assert record["heal"]["code"] == "x = 1"


@given(JOURNALS)
def test_the_summary_is_plain_json_and_counts_every_action(events):
    records = summary(events)
    assert json.loads(json.dumps(records)) == records
    done = [event for event in events if isinstance(event, (Probed, Refused, Stumbled, Healed, Reraised))]
    actions = [action for record in records for action in record["actions"]]
    stopped_only = [action for action in actions if action["error"] == "; ".join(["HG301 os.remove"] * len(
        action.get("stops", ()))) and "stops" in action]
    stops = [stop for action in actions for stop in action.get("stops", ())]
    assert len(stops) == sum(isinstance(event, Blocked) for event in events)
    assert len(done) <= len(actions) <= len(done) + len(stopped_only)
