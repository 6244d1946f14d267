"""Following ends where nothing marked can be used any more, and begins again with the next heal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .test_tracking import function, lay_out, one, rules, run

_ASK = '''
    def following():
        import threading
        return getattr(sys.settrace, "__module__", "").startswith("healguard_core")
'''


def followed(expected: bool) -> str:
    """Lines that fail unless values are followed, or are not."""
    return "\n    import sys" + _ASK + f"\n    assert following() is {expected}"


@pytest.mark.parametrize(("flow", "expected"), [
    ("len(path); len('x'); str()" + followed(False), "correct"),  # nobody uses it any more
    ("kept = path; kept = None; len('x')" + followed(False), "correct"),
    ("len('x')" + followed(True) + "\n    len(path)", "correct"),
    ("box.path = path; len('x')" + followed(True), "correct"),
    ("keep = lambda: path; len('x')" + followed(True), "correct"),
    ("ways = (sink(one) for one in [path]); len('x')" + followed(True) + "\n    list(ways)", "unsafe"),
    ("import itertools; one, two = itertools.tee(iter([path])); path = ''; len('x')" + followed(True)
     + "\n    sink(next(two))", "unsafe"),
    ("len('x')" + followed(True) + "\n    sink(locals()['path'])", "unsafe"),
    ("len('x')\n    try: raise KeyError\n    except KeyError: sink(path)", "unsafe"),
    ("\n    for one in 'ab':\n        len(one)\n        if one == 'b': sink(path)", "unsafe"),
])
def test_following_lasts_as_long_as_something_marked_can_be_used(tmp_path: Path, flow: str, expected: str) -> None:
    assert one(tmp_path, flow, before="box = Box()")["outcome"] == expected


def test_what_was_taken_for_settrace_works_when_following_is_over(tmp_path: Path) -> None:
    flow = """
    import sys, threading
    here, asked, new = sys.settrace, sys.gettrace, threading.settrace
    seen = []
    def trace(frame, event, arg): seen.append(frame.f_code.co_name)
    def work(): return 1
    len(path)
    len('x'); len('y')""" + followed(False) + """
    new(trace); late = threading.Thread(target=work); late.start(); late.join(); new(None)
    before = asked(); here(trace); work(); here(before)
    assert asked() is before and seen.count('work') == 2, seen"""
    assert one(tmp_path, flow)["outcome"] == "correct"


def test_the_next_heal_is_followed_again(tmp_path: Path) -> None:
    before = "\n    def inner():\n        path = 'b'\n        value = {}['missing']\n        sink(path)\n    pass"
    flow = "len(path); len('x')" + followed(False) + "\n    inner()"
    assert one(tmp_path, flow, before=before)["outcome"] == "unsafe"


@pytest.mark.parametrize(("flow", "expected"), [
    ("sink(locals()['path'])", "unsafe"),
    ("sink(vars()['path'])", "unsafe"),
    ("sink('{path}'.format(**locals()))", "unsafe"),
    ("sink('%(path)s' % locals())", "unsafe"),
    ("sink(eval('path'))", "unsafe"),
    ("exec('import sinks; sinks.sink(path)')", "unsafe"),
    ("sink(eval('path', globals(), locals()))", "unsafe"),
    ("sink(__import__('sys')._getframe().f_locals['path'])", "unsafe"),
    ("sink(__import__('inspect').currentframe().f_locals['path'])", "unsafe"),
    ("\n    class Odd:\n        def __eq__(self, _): raise RuntimeError\n        def __call__(self): return path"
     "\n    vars(); odd = Odd(); sink(odd())", "unsafe"),  # whose comparison is none of our business
    ("len(locals()); sink(eval('path + other'))", "unsafe"),
    ("sink(locals()['other'])", "correct"),
    ("box.path = path; sink(eval('other'))", "correct"),
    ("sink('%(other)s' % locals())", "correct"),
    ("sink(eval('other'))", "correct"),
    ("exec('import sinks; sinks.sink(other)')", "correct"),
    ("here = locals(); here = dict(here); sink(here['other'])", "correct"),
])
def test_variables_are_followed_as_a_mapping(tmp_path: Path, flow: str, expected: str) -> None:
    assert one(tmp_path, flow)["outcome"] == expected


@pytest.mark.parametrize("broken", ["entering.fill", "tracer.Machine.left"])
def test_where_following_fails_the_literal_rule_holds(tmp_path: Path, broken: str) -> None:
    (tmp_path / "conftest.py").write_text(
        "from healguard_core.execution.tracking import entering, tracer\n"
        f"def fail(*_): raise RuntimeError('a fault of ours')\n{broken} = fail\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="a fault of ours"):  # the notice that no other test may give
        one(tmp_path, "\n    def inner(value): return value\n    inner(path)\n    sink(other)")
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    (test,) = [test for test in report["tests"] if test["nodeid"].endswith("test_go")]
    assert (test["outcome"], rules(test)) == ("unsafe", ["HG309"])


USES = ["odd.value", "[odd][0].value", "{'k': odd}['k'].value", "box.odd.value",
        "[one.value for one in map(Odd, [VALUE])][0]"]


@pytest.mark.parametrize("comparison", ["raise RuntimeError", "return True", "return type.__eq__(self, other)"])
def test_classes_may_compare_as_they_like(tmp_path: Path, comparison: str) -> None:
    """Such classes cannot be hashed either, and what their metaclass says is none of our business."""
    flow = f"""
    class Meta(type):
        def __eq__(self, other): {comparison}
    class Odd(metaclass=Meta):
        def __init__(self, value=None): self.value = value
    odd = Odd(VALUE); box.odd = odd
    sink(USE)"""
    expected = {}
    functions = tests = ""
    for value, outcome in (("path", "unsafe"), ("other", "correct")):
        for number, use in enumerate(USES):
            name = f"{value}_{number}"
            expected[f"test_{name}"] = outcome
            functions += function(name, flow.replace("USE", use).replace("VALUE", value))
            tests += f"\ndef test_{name}():\n    flows.{name}()\n"
    lay_out(tmp_path, functions, tests)
    assert {name: test["outcome"] for name, test in run(tmp_path).items()} == expected
