"""After a heal: what C code does with healed values, what a policy allows, and programs that fight their guard."""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_tracking import POLICY, one, rules

ALLOW = POLICY + "allow:\n  - {id: sink, when: \"path.startswith('a')\", reason: scratch}\n"


def test_an_allowed_value_passes(tmp_path: Path) -> None:
    test = one(tmp_path, "sink(path)", policy=ALLOW)
    assert (test["outcome"], rules(test)) == ("correct", [])


@pytest.mark.parametrize("value", ["'b'", "None"])
def test_what_the_entry_does_not_speak_for_is_stopped(tmp_path: Path, value: str) -> None:
    assert one(tmp_path, "sink(path)", policy=ALLOW, crash=f"path = {value}")["outcome"] == "unsafe"


def test_files_are_safe_from_c_code_with_healed_paths(tmp_path: Path) -> None:
    """No name leads to the operation here: C code calls C code."""
    kept = tmp_path / "kept"
    kept.write_text("", encoding="utf-8")
    policy = "version: 1\ninclude: [builtin:filesystem]\n"
    flow = "list(map(__import__('os').remove, [path]))"
    test = one(tmp_path, flow, policy=policy, crash=f"path = {str(kept)!r}")
    assert test["outcome"] == "unsafe"
    assert kept.exists()


@pytest.mark.parametrize("way", ["sys.settrace(None)", "threading.settrace(None); sys.settrace(None)",
                                 "getattr(sys, 'settrace')(None)", "list(map(sys.settrace, [None]))"])
def test_following_goes_on_when_the_program_ends_tracing(tmp_path: Path, way: str) -> None:
    test = one(tmp_path, f"\n    import sys, threading\n    {way}\n    sink(path)")
    assert test["outcome"] == "unsafe"
    assert rules(test) == ["HG307"]


TRACED = """
    import sys, threading
    seen, before = [], sys.gettrace()
    def trace(frame, event, arg):
        seen.append((threading.current_thread().name, frame.f_code.co_name, event))
        return trace
    def traced(): return 1
    sys.settrace(trace); threading.settrace(trace)
    assert sys.gettrace() is trace and (sys.version_info < (3, 10) or threading.gettrace() is trace)
    traced(); late = threading.Thread(target=traced, name='late'); late.start(); late.join()
    sys.settrace(before); threading.settrace(None)
    traced()
    assert sys.gettrace() is before
    names = [name for name, function, event in seen if function == 'traced' and event == 'call']
    assert names == ['MainThread', 'late'], seen
"""


@pytest.mark.parametrize(("end", "outcome"), [("sink(path)", "unsafe"), ("sink(other)", "correct")])
def test_trace_functions_of_the_program_work_beside_the_following(tmp_path: Path, end: str, outcome: str) -> None:
    assert one(tmp_path, TRACED + "    " + end)["outcome"] == outcome


def test_a_trace_function_that_a_heal_decided_about_is_a_finding(tmp_path: Path) -> None:
    test = one(tmp_path, "\n    import sys\n    sys.settrace(path)", crash="path = None")
    assert (test["outcome"], rules(test)) == ("unsafe", ["HG310"])


@pytest.mark.parametrize(("end", "outcome"), [("sink(other)", "unsafe"), ("sink('x')", "correct")])
def test_where_following_is_displaced_the_literal_rule_holds(tmp_path: Path, end: str, outcome: str) -> None:
    test = one(tmp_path, "settrace(None); " + end + "; str(path)", before="settrace = __import__('sys').settrace")
    assert test["outcome"] == outcome
    assert rules(test) == ["HG309"] * (outcome == "unsafe")


def test_no_heal_sets_a_trace_function_through_what_it_calls(tmp_path: Path) -> None:
    flow = "\n    value = {}['again']\n    sink('x')"
    before = "\n    import sys\n    def untrace(): sys.settrace(None)\n    pass"
    test = one(tmp_path, flow, before=before, crash="untrace()")
    assert test["outcome"] == "unsafe"
    assert set(rules(test)) == {"HG305"}


@pytest.mark.parametrize("place", [
    "\n    class Late:\n        def __del__(self): sink(path)\n    Late()",
    "\n    class Late:\n        def __enter__(self): pass\n        def __exit__(self, *e): sink(path)"
    "\n    with Late(): pass",
    "\n    def late(*_): sink(path)\n    import signal\n    signal.signal(signal.SIGUSR1, late)"
    "\n    signal.raise_signal(signal.SIGUSR1)",
    "\n    import weakref\n    late = Box(); weakref.finalize(late, sink, path)\n    del late",
])
def test_late_places_are_followed(tmp_path: Path, place: str) -> None:
    test = one(tmp_path, place + "\n    assert not __import__('sinks').DONE")
    assert test["outcome"] == "unsafe"


def test_a_condition_that_a_heal_decided_about_is_stopped_at_its_test(tmp_path: Path) -> None:
    flow = "\n    import sinks\n    sinks.STRICT = flag\n    if sinks.STRICT: raise RuntimeError"
    test = one(tmp_path, flow, before="flag = True", crash="flag = False")
    assert test["outcome"] == "unsafe"
    assert rules(test) == ["HG308"]
