"""Random nests of blocks, functions and generators: what is said is what then happens, and little is left undecided."""

import textwrap

import pytest

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from . import programs  # noqa: E402

KINDS = ("KeyError", "LookupError", "ValueError", "OSError", "Exception")
RAISED = ("KeyError", "ValueError", "OSError", "IndexError")

kinds = st.sampled_from(KINDS)
clauses = st.one_of(
    kinds.map(lambda kind: f"except {kind}:"),
    st.tuples(kinds, kinds).map(lambda pair: f"except ({pair[0]}, {pair[1]}):"),
    kinds.map(lambda kind: f"except {kind} as e:"),
)
handler_bodies = st.sampled_from([
    "pass",
    "raise",
    "return 1",
    "x = 1; y = x",
    "raise OSError('new')",
    "raise ValueError('new') from None",
    "raise NEW('new')",
    "quiet()",
    "loud()",
    "if FLAG: raise",
    "if not FLAG: raise",
    "for i in (1, 2):\n    if i: continue\n    break",
    "try:\n    quiet()\nfinally:\n    raise",
    "try:\n    quiet()\nexcept ValueError:\n    quiet()\nraise",
    "with contextlib.suppress(TypeError):\n    quiet()",
])
final_bodies = st.sampled_from(["pass", "quiet()", "return 2", "x = 1", "raise ValueError('final')",
                                "for i in (1,):\n    if FLAG: break\n    return 4"])
managers = st.sampled_from([
    "contextlib.suppress(KeyError)", "contextlib.suppress(OSError, ValueError)", "contextlib.nullcontext()",
    "plain()", "catching(KeyError)", "catching(ValueError)", "translating(KeyError)", "finishing()",
    "Passing()", "Swallowing()", "Choosing(LookupError)", "io.StringIO()", "threading.Lock()", "stack(OSError)",
])
PREAMBLE = """
import contextlib, io, threading
FLAG = True
class NEW(LookupError): pass
def quiet(): return 1
def loud(): raise OSError("loud")
@contextlib.contextmanager
def plain():
    yield
@contextlib.contextmanager
def catching(kind):
    try:
        yield
    except kind:
        pass
@contextlib.contextmanager
def translating(kind):
    try:
        yield
    except kind as e:
        raise OSError("translated") from e
@contextlib.contextmanager
def finishing():
    try:
        with contextlib.nullcontext():
            yield
    finally:
        quiet()
def stack(kind):
    one = contextlib.ExitStack()
    one.enter_context(contextlib.suppress(kind))
    one.callback(quiet)
    return one
class Passing:
    def __enter__(self): return self
    def __exit__(self, *a): self.done = True
class Swallowing(Passing):
    def __exit__(self, *a): return True
class Choosing(Passing):
    def __init__(self, kind): self.kind = kind
    def __exit__(self, kind, value, tb): return kind is not None and issubclass(kind, self.kind)
"""


def indent(text):
    return textwrap.indent(text, "    ")


@st.composite
def around(draw, inner):
    """Source text with one more thing around the statements ``inner``."""
    shape = draw(st.sampled_from(["except", "except", "finally", "both", "else", "handler", "with", "with2", "loop",
                                  "function", "generator", "lambda", "comprehension", "nested", "in finally"]))
    body = indent(inner)
    clause = draw(clauses) + "\n" + indent(draw(handler_bodies))
    final = "finally:\n" + indent(draw(final_bodies))
    if shape == "except":
        more = draw(st.booleans())
        return f"try:\n{body}\n{clause}" + (f"\n{draw(clauses)}\n{indent(draw(handler_bodies))}" if more else "")
    if shape == "finally":
        return f"try:\n{body}\n{final}"
    if shape == "both":
        return f"try:\n{body}\n{clause}\n{final}"
    if shape == "else":
        return f"try:\n    x = 1\n{clause}\nelse:\n{body}"
    if shape == "handler":
        return f"try:\n    raise IndexError\nexcept IndexError:\n{body}\n{final}"
    if shape == "in finally":
        return f"try:\n    x = 1\nfinally:\n{body}"
    if shape == "with":
        return f"with {draw(managers)}:\n{body}"
    if shape == "with2":
        return f"with {draw(managers)}, {draw(managers)} as m:\n{body}"
    if shape == "loop":
        return f"for j in (1,):\n{body}"
    if shape == "nested":
        return f"if FLAG:\n{body}"
    if shape == "generator":
        return f"def gen():\n    yield 1\n{body}\n    yield 2\nfor j in gen():\n    pass"
    name = {"function": "f()", "lambda": "(lambda: f())()", "comprehension": "x = [f() for j in (1,)]"}[shape]
    return f"def f():\n{body}\n{name}"


@st.composite
def nests(draw):
    text = f"boom({draw(st.sampled_from(RAISED))})"
    for _ in range(draw(st.integers(min_value=1, max_value=6))):
        text = draw(around(text))
    return PREAMBLE + "def main():\n" + indent(text)


EXAMPLES = 400


def test_said_is_what_happens():
    """Every condition in these nests can be known, so nearly all answers should be."""
    undecided = []

    @given(nests())
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
    def measure(text):
        decision, reached, boom = programs.measure(text)
        assert boom.decider.counters["failures"] == 0, decision
        if decision.answer == "undecided":
            undecided.append(decision.why)
        else:
            assert reached is (decision.answer == "unhandled"), (decision, text)

    measure()
    assert len(undecided) <= EXAMPLES * 0.05, undecided
