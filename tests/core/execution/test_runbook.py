"""Which entry of a runbook answers a crash."""

import json
import sys

import pytest

from healguard_core.execution.patterns import parse_statement
from healguard_core.execution.runbook import Runbook, function_names, matches_error, matches_function


class Frame:
    """A repository frame as matching sees it."""

    def __init__(self, function, statement="x = row['k']", **values):
        self.function = function
        self.statement_node = parse_statement(statement)
        self.frame = sys._getframe()
        self._values = values

    def read(self):
        return self._values


INNER = Frame("app.jar.fill", "target.put(Cookie(key, cookies[key]))", key="sid", cookies={})
CALLER = Frame("app.views.Orders.show", "fill(jar, order)", order={"Amount": 3})
OUTER = Frame("app.views.main.<locals>.run", "show(order)", order={})
STACK = [INNER, CALLER, OUTER]


def _match(entry, error=None, stack=STACK, notes=None):
    given = {"id": "e", "do": "pass", "error": "KeyError"}
    given.update(entry)
    return Runbook([given]).match(error or KeyError("Amount"), stack, notes)


class NotFound(LookupError):
    pass


class Unprintable(KeyError):
    def __str__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("name", "error", "answer"),
    [
        ("KeyError", KeyError, True),
        ("LookupError", KeyError, True),
        ("Exception", KeyError, True),
        ("IndexError", KeyError, False),
        ("builtins.KeyError", KeyError, True),
        ("NotFound", NotFound, True),
        (__name__ + ".NotFound", NotFound, True),
        ("other.NotFound", NotFound, False),
        ("json.JSONDecodeError", json.JSONDecodeError, True),
        ("json.decoder.JSONDecodeError", json.JSONDecodeError, True),
        ("JSONDecodeError", json.JSONDecodeError, True),
        ("ValueError", json.JSONDecodeError, True),
        ("json.loads", json.JSONDecodeError, False),
        ("object", KeyError, False),
        ("OSError", FileNotFoundError, True),
        ("IOError", FileNotFoundError, False),
        ("builtins.IOError", FileNotFoundError, True),
    ],
)
def test_error_matches_as_except_would(name, error, answer):
    assert matches_error(name, error) is answer


@pytest.mark.parametrize(
    ("pattern", "function", "answer"),
    [
        ("app.views.Orders.show", "app.views.Orders.show", True),
        ("Orders.show", "app.views.Orders.show", True),
        ("show", "app.views.Orders.show", True),
        ("how", "app.views.Orders.show", False),
        ("app.views.*", "app.views.Orders.show", True),
        ("app.*.show", "app.views.Orders.show", True),
        ("app.views", "app.views.Orders.show", False),
        ("app.views.main.run", "app.views.main.<locals>.run", True),
        ("app.views.main.<locals>.run", "app.views.main.<locals>.run", True),
        ("app.rows", "app.rows.<listcomp>", True),
        ("main.run", "app.main.<locals>.run.<genexpr>", True),
        ("app.[v]iews.f", "app.views.f", False),
    ],
)
def test_function_matches_by_its_dotted_name_or_the_tail_of_it(pattern, function, answer):
    assert matches_function(pattern, function) is answer


def test_spellings_of_a_function():
    assert function_names("m.f") == ["m.f"]
    assert function_names("m.f.<locals>.g")[-1] == "m.f.g"


@pytest.mark.parametrize(
    ("entry", "frame"),
    [
        ({}, 0),
        ({"function": "fill"}, 0),
        ({"function": "app.views.*"}, 1),
        ({"function": "app.views.main.run"}, 2),
        ({"function": "app.*", "statement": "show(...)"}, 2),
        ({"function": "app.*", "where": "'Amount' in order"}, 1),
        ({"message": "^'Am.*t'$"}, 0),
        ({"statement": "target.put(...)"}, 0),
        ({"where": "key == 'sid' and not cookies"}, 0),
    ],
)
def test_an_entry_applies_to_the_first_frame_that_fits(entry, frame):
    found = _match(entry)
    assert found is not None
    assert found.frame_index == frame
    assert found.entry.id == "e"


@pytest.mark.parametrize(
    "entry",
    [
        {"error": "IndexError"},
        {"message": "price"},
        {"function": "elsewhere"},
        {"statement": "show(...)"},
        {"where": "key == 'other'"},
        {"function": "fill", "where": "'Amount' in order"},
    ],
)
def test_an_entry_that_does_not_fit(entry):
    assert _match(entry) is None


def test_the_first_entry_in_file_order_wins():
    book = Runbook([
        {"id": "narrow", "error": "KeyError", "message": "price", "do": "pass"},
        {"id": "first", "error": "LookupError", "do": "pass"},
        {"id": "second", "error": "KeyError", "do": "pass"},
    ])
    assert book.match(KeyError("Amount"), STACK).entry.id == "first"


def test_a_condition_that_raises_does_not_apply_and_says_so():
    notes = []
    assert _match({"id": "odd", "where": "nothing_here > 1"}, notes=notes) is None
    assert notes == ["runbook entry 'odd' does not apply: `where` raised NameError: name 'nothing_here' is not defined"]


def test_a_condition_reads_the_module_too_and_leaves_the_frame_alone():
    frame = Frame("m.f", value=[1])
    before = dict(frame.read())
    assert _match({"where": "len(value) == 1 and [v for v in value] and STACK is not None"}, stack=[frame]) is not None
    assert frame.read() == before


def test_a_condition_without_a_truth_value_does_not_apply():
    class Table:
        def __bool__(self):
            raise ValueError("ambiguous")

    notes = []
    assert _match({"where": "table"}, stack=[Frame("m.f", table=Table())], notes=notes) is None
    assert "ambiguous" in notes[0]


def test_an_error_that_cannot_be_printed_has_no_message():
    assert _match({"message": "."}, Unprintable("x")) is None
    assert _match({}, Unprintable("x")) is not None


def test_the_main_file_is_known_by_the_name_it_is_imported_by():
    frame = Frame("__main__.Job.run")
    assert _match({"function": "test_runbook.Job.run"}, stack=[frame]) is not None
    assert _match({"function": "other.Job.run"}, stack=[frame]) is None


def test_nothing_matches_an_empty_runbook_or_stack():
    assert Runbook([]).match(KeyError("x"), STACK) is None
    assert _match({}, stack=[]) is None


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"message": "("}, "unterminated subpattern"),
        ({"statement": "a; b"}, "not one statement"),
        ({"where": "a ="}, "where"),
        ({"where": "order.pop('x')"}, "where"),
    ],
)
def test_an_unusable_entry_is_named(entry, says):
    with pytest.raises(ValueError, match=r"heals\.yaml:7: runbook entry 'bad'") as caught:
        Runbook([dict({"id": "bad", "error": "KeyError", "location": "heals.yaml:7"}, **entry)])
    assert says in str(caught.value)
