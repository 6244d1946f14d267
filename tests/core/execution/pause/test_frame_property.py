"""A heal of a statement sequence has the effect that the same statements have when they stand in the program."""

import sys
import textwrap

import pytest

from healguard_core.execution.pause.frame import PausedFrame

hypothesis = pytest.importorskip("hypothesis")
st = pytest.importorskip("hypothesis.strategies")

NAMES = ("local", "argument", "captured", "free", "GLOBAL")

PROGRAM = """
GLOBAL = 4
def outer():
    free = 5
    def program(argument):
        {declared}
        nonlocal free
        local = 1
        captured = 2
        get = lambda: (captured, free)
{body}
        return local, argument, captured, free, GLOBAL, get()
    try:
        return program(3), free, GLOBAL
    except Exception as exc:
        return type(exc).__name__
"""

expressions = st.recursive(
    st.sampled_from(NAMES) | st.integers(-3, 3).map("({})".format),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//"]), inner).map(lambda p: "({} {} {})".format(*p)),
        st.tuples(inner, inner).map("sum([{0[0]} + i for i in range(2) if {0[1]} != i])".format),
        st.tuples(inner, inner).map("(lambda x: x + {0[0]})({0[1]})".format),
        st.tuples(inner, inner, inner).map("({0[0]} if {0[1]} > 0 else {0[2]})".format),
    ),
    max_leaves=6,
)
simple = st.one_of(
    st.tuples(st.sampled_from(NAMES), expressions).map("{0[0]} = {0[1]}".format),
    st.tuples(st.sampled_from(NAMES), st.sampled_from("+-*"), expressions).map("{0[0]} {0[1]}= {0[2]}".format),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).map("{0[0]}, {0[1]} = {0[1]}, {0[0]}".format),
    expressions.map("fresh = {}".format),
)
blocks = st.lists(simple, min_size=1, max_size=3).map("\n".join)
compound = st.one_of(
    st.tuples(expressions, blocks).map(lambda p: "if {} > 1:\n{}".format(p[0], textwrap.indent(p[1], "    "))),
    blocks.map(lambda b: "for step in range(3):\n{}".format(textwrap.indent(b, "    "))),
    blocks.map(lambda b: "try:\n{}\nexcept ZeroDivisionError as error:\n    fresh = str(error)".format(
        textwrap.indent(b, "    "))),
)
codes = st.lists(simple | compound, min_size=1, max_size=5).map("\n".join)


def heal(code):
    frame = PausedFrame(sys._getframe(1))
    before = {name: frame.read()[name] for name in NAMES[:-1]}
    done = frame.run(code)
    after = {name: frame.read()[name] for name in NAMES[:-1]}
    assert before == after, "a run binds nothing before it is written back"
    if done.exception is not None:
        raise done.exception
    assert done.error == ""
    frame.write_back(done)


def outcome(body, declared):
    space = {"heal": heal}
    exec(PROGRAM.format(body=textwrap.indent(body, " " * 8), declared=declared), space)
    return space["outer"]()


@hypothesis.settings(max_examples=150, deadline=None)
@hypothesis.given(codes)
def test_a_heal_equals_the_statements_in_place(code):
    assert outcome(f"heal({code!r})", "pass") == outcome(code, "global GLOBAL")
