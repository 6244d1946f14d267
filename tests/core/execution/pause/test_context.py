"""What an agent is told about a crash, in programs that are paused for real."""

import sys
import textwrap
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healguard_core.execution.pause.context import Limits

from .pausing import paused


def lines_marked(text):
    return [line.split(" | ", 1)[1] for line in text.split("\n") if line.startswith(">>>")]


SHOP = '''
import json

class Order:
    def __init__(self, rows):
        self.rows = rows
        self.password = "hunter2"

    def total(self, key):
        out = 0
        for i, row in enumerate(self.rows):
            if row:
                out += (1 +
                    json.loads(row)[key])
        return out

def price(key):
    unused = [1, 2]
    def inner(order):
        return order.total(key)
    return inner(Order(['{"a": 1}', '', '{"b": 2}']))

def run():
    answer = price("a")
    return answer
'''


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return paused(tmp_path_factory.mktemp("shop"), SHOP).context


def test_the_error_and_its_place(shop):
    assert (shop.error, shop.qualified_error, shop.message) == ("KeyError", "KeyError", "'a'")
    assert (shop.function, shop.line, shop.end_line) == ("program.Order.total", 12, 13)
    assert shop.file.endswith("program.py")
    assert (shop.crash, shop.unit, shop.resumes, shop.attempt) == (1, "tests.py::test", ["next"], 1)


def test_the_statement_is_exact(shop):
    assert shop.statement == "out += (1 +\n                    json.loads(row)[key])"


def test_the_part_that_raised(shop):
    assert shop.failing_expression == "json.loads(row)[key]"


def test_the_function_with_the_statement_marked(shop):
    marked = shop.frames[0].marked_source
    assert lines_marked(marked) == ["                out += (1 +", "                    json.loads(row)[key])"]
    assert marked.startswith("     8 |     def total(self, key):\n")
    assert marked.endswith("    14 |         return out")


def test_the_frames_that_called_it(shop):
    assert [(f.index, f.function, f.line) for f in shop.frames] == [
        (0, "program.Order.total", 13), (1, "program.price.<locals>.inner", 19), (2, "program.price", 20),
        (3, "program.run", 23),
    ]
    assert [f.statement for f in shop.frames[1:]] == [
        "return order.total(key)", """return inner(Order(['{"a": 1}', '', '{"b": 2}']))""", 'answer = price("a")',
    ]
    assert lines_marked(shop.frames[3].marked_source) == ['    answer = price("a")']


def test_locals_with_free_variables_and_without_secrets(shop):
    crash, inner, outer, _ = (frame.locals for frame in shop.frames)
    assert set(list(crash)[:3]) == {"out", "row", "key"}, "the names of the statement come first"
    assert crash["row"] == "'{\"b\": 2}'"
    assert crash["self"].endswith("password=<redacted: password>>")
    assert inner["key"] == "'a'"
    assert outer["unused"] == "[1, 2]"
    assert "hunter2" not in str(shop.frames)
    assert shop.redacted > 0


def test_how_far_the_loop_has_come(shop):
    assert shop.frames[0].loop == (
        "for i, row in enumerate(self.rows): (line 10): i=2, row='{\"b\": 2}'; element 3 of 3"
    )


def test_names_that_the_statement_would_have_bound(shop):
    assert shop.skipped == (
        "The statement would have bound out (keeps its earlier value); with `next` the healing code has to."
    )


def test_the_traceback_runs_from_the_test_to_the_error(shop):
    assert shop.traceback.startswith("Traceback (most recent call last):\n")
    assert 'line 23, in run\n    answer = price("a")' in shop.traceback
    assert shop.traceback.endswith("KeyError: 'a'")
    assert "pluggy" not in shop.traceback
    assert "healguard_core" not in shop.traceback
    assert "tests/core/execution/pause/pausing.py" in shop.traceback


# --------------------------------------------------------------------------- kinds of statements


@pytest.mark.parametrize(
    ("body", "statement", "skipped", "expression"),
    [
        (
            "for x in 5:\n    print(x)\n    y = 1",
            "for x in 5:\n|    print(x)\n|    y = 1",
            "With `next` the body of `for x in 5:`, lines 3-4, will not run. "
            "The statement would have bound x (not bound yet); with `next` the healing code has to.",
            None,
        ),
        ("if d['a']:\n    print(1)\nelse:\n    print(2)", None,
         "With `next` the body of `if d['a']:`, lines 3-5, will not run.", "d['a']"),
        ("while d['a'] or (\n        1):\n    print(1)", "while d['a'] or (\n        1):\n|    print(1)",
         "With `next` the body of `while d['a'] or ( 1):`, line 4, will not run.", "d['a']"),
        ("with d['a'] as f, d['b']:\n    # why\n    f()", None,
         "With `next` the body of `with d['a'] as f, d['b']:`, lines 3-4, will not run. "
         "The statement would have bound f (not bound yet); with `next` the healing code has to.", "d['a']"),
        ("return d['a']", "return d['a']", "This is a return: the function returns None unless `_eh_rtn` is set.",
         "d['a']"),
        ("raise ValueError('no')", "raise ValueError('no')", "", "raise ValueError('no')"),
        ("x, (y, *z) = d['a'], 1", None,
         "The statement would have bound x (not bound yet), y (not bound yet), z (not bound yet); "
         "with `next` the healing code has to.", "d['a']"),
        ("import no_such_module.deeper", None,
         "The statement would have bound no_such_module (not bound yet); with `next` the healing code has to.", None),
        ("@d['a']\ndef f(): pass", None,
         "The statement would have bound f (not bound yet); with `next` the healing code has to.", "d['a']"),
        ("y = [x for x in d['a'] if (z := x)]", None,
         "The statement would have bound y (not bound yet), z (not bound yet); with `next` the healing code has to.",
         "d['a']"),
        ("d.update(a=d['a'])", "d.update(a=d['a'])", "", "d['a']"),
        ("del d['a']", "del d['a']", "", None),
        ("d = d['a']", "d = d['a']",
         "The statement would have bound d (keeps its earlier value); with `next` the healing code has to.", "d['a']"),
    ],
)
def test_statements(tmp_path, body, statement, skipped, expression):
    found = paused(tmp_path, "def run(d={}):\n" + textwrap.indent(body, "    ")).context
    if statement is not None:
        lines = [line if n == 0 or line.startswith("|") else line.replace("    ", "", 1)
                 for n, line in enumerate(found.statement.split("\n"))]
        assert "\n".join(lines) == statement
    start = found.line
    assert found.skipped == skipped
    assert start == (3 if body.startswith("@") else 2)
    if expression is not None and sys.version_info >= (3, 11):
        assert found.failing_expression == expression


@pytest.mark.parametrize(
    ("source", "function", "marked", "names"),
    [
        ("limit = 3\nimport os\nvalue = {}['a']\nrun = int\n", "program", ["value = {}['a']"], {"limit": "3"}),
        ("class A:\n    x = 1\n    def f(self): pass\n    y = {}['a']\nrun = int\n", "program.A", ["    y = {}['a']"],
         {"x": "1"}),
        ("f = lambda: {}['a']\ndef run():\n    return f()\n", "program.<lambda>", None, None),
        ("def run():\n    k = 1\n    return [{}[i] for i in [k]]\n", None, ["    return [{}[i] for i in [k]]"], None),
        ("def g():\n    yield {}['a']\ndef run():\n    return list(g())\n", "program.g", ["    yield {}['a']"], {}),
        ("import asyncio\nasync def g(n):\n    await asyncio.sleep(0)\n    return {}[n]\n"
         "def run():\n    asyncio.run(g(1))\n", "program.g", ["    return {}[n]"], {"n": "1"}),
    ],
)
def test_places(tmp_path, source, function, marked, names):
    found = paused(tmp_path, source).context
    if function is not None and "<lambda>" not in function:
        assert found.function == function
    if marked is not None:
        assert lines_marked(found.frames[0].marked_source) == marked
    if names is not None:
        assert found.frames[0].locals == names


def test_a_class_body_in_a_mapping_of_its_own(tmp_path):
    source = """
        import enum
        class Level(enum.Enum):
            LOW = 1
            HIGH = {}['a']
    """
    found = paused(tmp_path, source).context
    assert found.function == "program.Level"
    assert found.frames[0].locals["LOW"] == "1"


def test_errors_of_other_peoples_code_are_told_at_our_statement(tmp_path):
    found = paused(tmp_path, "import json\ndef run(text='{'):\n    return json.loads(text)\n").context
    assert found.function == "program.run"
    assert found.qualified_error == "json.decoder.JSONDecodeError"
    assert found.message.startswith("Expecting property name")
    assert "in loads" in found.traceback
    assert "in raw_decode" in found.traceback
    assert len(found.frames) == 1


# --------------------------------------------------------------------------- loops


@pytest.mark.parametrize(
    ("loop", "told"),
    [
        ("for x in rows:", "x=30; element 3 of 4"),
        ("for n, x in enumerate(rows, 5):", "n=7, x=30; element 3 of 4"),
        ("for n, x in enumerate(iter(rows)):", "n=2, x=30; element 3"),
        ("for n in range(len(rows)):\n        x = rows[n]", "n=2; element 3 of 4"),
        ("for n in range(0, 8, 2):\n        x = rows[n // 2]", "n=4; element 3 of 4"),
        ("for key, x in table.items():", "key='c', x=30; element 3 of 4"),
        ("for x in table.values():", "x=30; element 3 of 4"),
        ("for x in iter(rows):", "x=30"),
        ("for x in repeated:", "x=30; of 3 elements"),
        ("for (x, *rest) in pairs:", "x=30, rest=[]; of 2 elements"),
    ],
)
def test_loops(tmp_path, loop, told):
    source = f"""
def run(rows=[10, 20, 30, 40], repeated=[10, 30, 30], pairs=((10,), (30,))):
    table = dict(zip("abcd", rows))
    {loop}
        if x == 30:
            raise ValueError(x)
"""
    assert paused(tmp_path, source).context.frames[0].loop.split(": ", 1)[1].split("): ")[-1] == told


def test_nested_loops_outermost_first_and_only_those_of_the_frame(tmp_path):
    source = """
        def run():
            for a in [1, 2]:
                while True:
                    for b in "xy":
                        deeper(b)

        def deeper(c):
            for d in [c]:
                {}[d]
    """
    inner, outer = paused(tmp_path, source).context.frames
    assert inner.loop == "for d in [c]: (line 8): d='x'"
    assert outer.loop.split("\n") == [
        "for a in [1, 2]: (line 2): a=1", "while True: (line 3)", 'for b in "xy": (line 4): b=\'x\'',
    ]


def test_telling_about_a_loop_consumes_nothing(tmp_path):
    source = """
        def run():
            left = iter([1, 2, 3])
            got = []
            for x in left:
                try:
                    got.append(x)
                    {}[x]
                except KeyError:
                    pass
            return got
        def check():
            assert run() == [1, 2, 3]
    """
    found = paused(tmp_path, source, call="check()")
    assert len(found.contexts) == 3
    assert found.error is None


# --------------------------------------------------------------------------- bounds


def test_long_functions_keep_their_head_and_a_window(tmp_path):
    lines = ["def run(first,", "        second=2):", '    """What it does."""']
    lines += [f"    x{n} = {n}" for n in range(300)]
    lines.insert(200, "    {}['a']")
    found = paused(tmp_path, "\n".join(lines), call="run(1)", limits=Limits(source_lines=40)).context
    shown = found.frames[0].marked_source.split("\n")
    assert shown[0].endswith("def run(first,")
    assert lines_marked(found.frames[0].marked_source) == ["    {}['a']"]
    assert sum("lines left out" in line for line in shown) == 1
    assert 35 <= len(shown) <= 45


def test_bodies_of_compound_statements_are_cut(tmp_path):
    source = "def run():\n    for x in 5:\n" + "        print(x)\n" * 50
    statement = paused(tmp_path, source).context.statement.split("\n")
    assert statement[0] == "for x in 5:"
    assert statement[-1] == "| ... 38 more lines"
    assert len(statement) == 14


def test_deep_recursion_is_cut_in_the_middle(tmp_path):
    source = "def run(n=200):\n    return {}['a'] if n == 0 else run(n - 1)\n"
    found = paused(tmp_path, source, limits=Limits(frames=5, traceback_entries=12)).context
    assert len(found.frames) == 5
    assert found.traceback.count("in run") < 12
    assert "frames left out ..." in found.traceback
    assert found.traceback.endswith("KeyError: 'a'")


def test_everything_has_a_bound(tmp_path):
    source = """
        def run():
            big = "x" * 10_000_000
            many = {n: big for n in range(1000)}
            raise ValueError(big)
    """
    found = paused(tmp_path, source).context
    assert len(found.message) <= Limits().message
    assert len(found.traceback) <= Limits().traceback + 100
    assert all(len(text) <= Limits().value for text in found.frames[0].locals.values())


def test_many_names(tmp_path):
    source = "def run():\n" + "".join(f"    a{n} = {n}\n" for n in range(200)) + "    {}[a150]\n"
    names = paused(tmp_path, source).context.frames[0].locals
    assert len(names) == Limits().names
    assert "a150" in names


# --------------------------------------------------------------------------- nothing of the program runs


def test_hostile_locals_change_nothing(tmp_path):
    source = """
        ran = []
        class Trap:
            def __getattribute__(self, name): ran.append(name); raise RuntimeError(name)
            def __repr__(self): ran.append("repr"); raise RuntimeError
            def __len__(self): ran.append("len"); raise RuntimeError
            def __iter__(self): ran.append("iter"); raise RuntimeError
            def __eq__(self, other): ran.append("eq"); raise RuntimeError
            def __bool__(self): ran.append("bool"); raise RuntimeError
            __class__ = property(lambda self: ran.append("class"))
        def run():
            trap = Trap()
            values = [trap, {"trap": trap}]
            for one in values:
                for other in [trap]:
                    {}["a"]
        def check():
            try:
                run()
            except KeyError:
                pass
            assert ran == [], ran
    """
    found = paused(tmp_path, source, call="check()")
    assert found.error is None
    assert found.context.frames[0].locals["trap"] == "<program.Trap>"


def test_a_custom_exception_with_lazy_arguments(tmp_path):
    source = """
        ran = []
        class Lazy:
            def __str__(self): ran.append(1); return "loaded"
            __repr__ = __str__
        def run():
            raise ValueError(Lazy())
        def check():
            try: run()
            except ValueError: pass
            assert ran == []
    """
    found = paused(tmp_path, source, call="check()")
    assert found.error is None
    assert found.context.message == "<program.Lazy>"


def test_the_program_cannot_hide_its_source_or_break_the_reading(tmp_path):
    source = "def run():\n    return {}['a']\n"
    (tmp_path / "program.py").write_text(source)
    broken = mock.Mock(side_effect=AssertionError("the program's own double was called"))
    with mock.patch.multiple("os", open=broken, stat=broken, read=broken), mock.patch("builtins.open", broken):
        found = paused(tmp_path, source, write=False)
    assert lines_marked(found.context.frames[0].marked_source) == ["    return {}['a']"]
    assert found.context.statement == "return {}['a']"


# --------------------------------------------------------------------------- source that is not there


def test_code_without_a_file(tmp_path):
    found = paused(tmp_path, "def run(x=1):\n    return {}['a']\n", write=False).context
    assert found.statement == ""
    assert found.frames[0].marked_source == ""
    assert found.frames[0].locals == {"x": "1"}
    assert found.failing_expression == ""
    assert found.traceback.endswith("in run\nKeyError: 'a'")


def test_secrets_in_source_messages_and_names(tmp_path):
    key = "ghp_" + "a1B2" * 9
    source = f"""
        def run(token="{key}"):
            password = "hunter2"
            raise ValueError("bad key " + token)
    """
    open_text = str(paused(tmp_path, source, redact=False).context)
    closed = paused(tmp_path, source).context
    assert key in open_text
    assert "hunter2" in open_text
    assert key not in str(closed)
    assert "hunter2" not in str(closed)
    assert closed.message == "bad key <redacted: github token>"
    assert closed.redacted >= 4


PIECES = st.lists(
    st.sampled_from([
        "x = d['a']", "for i in range(3):\n    x = d[i]", "if d['a']:\n    pass\nelif y:\n    pass",
        "with d as e:\n    pass", "try:\n    d['a']\nfinally:\n    z = 1", "return d['a']",
        "é = '\\u2028\\x0c'; d[é]", "while d['q']:\n    break", "x = (\n  d\n  ['a'])", "class A(d['b']):\n    pass",
        "assert d['a']", "raise d", "x = [\n i for i in d['l']\n]", "x: int = d['a']", "d['a'] += 1",
        "lambda: 1; d['a']",
        "print(f'{d[1]}')", "if d['a']: pass", "for x in d[1]: pass", "with (\n    d['a']\n) as e:  # a: b\n    pass",
    ]),
    min_size=1, max_size=4,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(PIECES)
def test_any_statement_can_be_described(tmp_path, pieces):
    source = "def run(d={}):\n" + textwrap.indent("\n".join(pieces), "    ") + "\n"
    for found in paused(tmp_path, source).contexts:
        assert found.statement
        assert "not available" not in str(found)
        assert found.line <= found.end_line
        assert lines_marked(found.frames[0].marked_source)
