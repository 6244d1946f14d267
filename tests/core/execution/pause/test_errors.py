"""Messages and tracebacks, read without asking the objects in an exception."""

import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.execution.pause.context import message_of
from healguard_core.execution.pause.errors import traceback_text
from healguard_core.execution.pause.redaction import Redactor


def raised(make):
    try:
        make()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    "make",
    [
        lambda: {}["a"], lambda: {}[3], lambda: [][1], lambda: 1 / 0, lambda: int("x"), lambda: None.x, lambda: len(3),
        lambda: os.remove("/no/such/file"), lambda: os.rename("/no/a", "/no/b"), lambda: os.listdir("/no/such"),
        lambda: b"\xff".decode(),
        lambda: "é".encode("ascii"), lambda: compile("a b", "f", "exec"), lambda: exec("x_y_z"),
        lambda: __import__("no_such_module"), lambda: json.loads("{"), lambda: (_ for _ in ()).throw(ValueError),
        lambda: next(iter([])), lambda: "".join([1]), lambda: int("9" * 5000), lambda: [].remove(3),
    ],
)
def test_messages_of_real_errors_are_what_python_prints(make):
    error = raised(make)
    assert message_of(error, redact=False) == str(error)


PLAIN = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text("abc'\n", max_size=8)


@given(st.sampled_from([ValueError, KeyError, OSError, RuntimeError, StopIteration]), st.lists(PLAIN, max_size=4))
def test_messages_of_plain_arguments_are_what_python_prints(kind, args):
    error = kind(*args)
    assert message_of(error, redact=False) == str(error)


class Object:
    def __str__(self):
        raise AssertionError("asked")

    __repr__ = __str__


class Worded(Exception):
    def __str__(self):
        return "worded: " + self.args[0]


class Broken(Exception):
    def __str__(self):
        raise SystemExit(1)


class Text(str):
    def __str__(self):
        raise AssertionError("asked")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError(Object()), f"<{__name__}.Object>"),
        (KeyError(Object()), f"<{__name__}.Object>"),
        (ValueError("a", Object()), f"('a', <{__name__}.Object>)"),
        (ValueError(Text("text")), "text"),
        (OSError(2, "gone", Object()), f"[Errno 2] gone: <{__name__}.Object>"),
        (ImportError(Object()), f"<{__name__}.Object>"),
        (ValueError(KeyError("inner")), "'inner'"),
        (Worded("x"), "worded: x"),
        (Broken("x"), "<__str__ raised SystemExit> ('x',)"),
        (ValueError(), ""),
        (ValueError("password=hunter2"), "password=<redacted: password>"),
    ],
)
def test_objects_in_an_error_are_not_asked(error, message):
    assert message_of(error) == message


def test_an_error_that_holds_itself():
    error = ValueError()
    error.args = (error,)
    assert "ValueError" in message_of(error)


def test_long_messages_are_cut():
    assert len(message_of(ValueError("x" * 10_000_000))) == 2000
    assert message_of(ValueError("x" * 30), limit=10) == "xxxxxxx..."


def caught(make):
    """The error and the frame that it came up to, as at a pause."""
    try:
        make()
    except Exception as error:
        return error, sys._getframe()
    raise AssertionError("nothing was raised")


def text_of(make, most=40, limit=12000):
    error, frame = caught(make)
    return traceback_text(error, frame, Redactor(), most, limit)


def translate():
    try:
        {}["key"]
    except KeyError as error:
        raise ValueError("translated") from error


def stumble():
    try:
        {}["key"]
    except KeyError:
        raise ValueError("stumbled")  # noqa: B904


def hide():
    try:
        {}["key"]
    except KeyError:
        raise ValueError("alone") from None


def test_causes_come_first():
    text = text_of(translate)
    assert text.index("KeyError: 'key'") < text.index("direct cause") < text.index("ValueError: translated")
    assert "During handling of the above exception" in text_of(stumble)
    assert "KeyError: 'key'" not in text_of(hide).split("\n")


def test_the_lines_are_those_of_the_source():
    text = text_of(hide)
    assert '    raise ValueError("alone") from None\n' in text
    assert text.split("\n")[0] == "Traceback (most recent call last):"
    assert text.endswith("ValueError: alone")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes came with Python 3.11")
def test_notes_are_kept():
    def noted():
        error = ValueError("x")
        error.add_note("while reading password=hunter2")
        raise error

    assert text_of(noted).endswith("ValueError: x\nwhile reading password=<redacted: password>")


def test_a_ring_of_contexts_ends():
    first, second = ValueError("1"), ValueError("2")
    first.__context__, second.__context__ = second, first

    def ring():
        raise first

    assert text_of(ring).split("\n").count("ValueError: 2") == 1


def test_long_tracebacks_keep_both_ends():
    def dive(depth):
        return 1 / 0 if depth == 0 else dive(depth - 1)

    text = text_of(lambda: dive(300), most=20)
    assert text.count("  File ") == 20
    assert "frames left out" in text
    assert text.endswith("ZeroDivisionError: division by zero")
    short = text_of(lambda: dive(300), most=400, limit=1000)
    assert len(short) < 1100
    assert "characters left out" in short


def test_literals_under_secret_names_in_source_lines():
    def login():
        connect = {}
        connect["x"](user="bob", password="hunter2")

    text = text_of(login)
    assert '(user="bob", password="<redacted: password>")' in text
    assert "KeyError: " in text
    assert 'password="hunter2"' not in text
