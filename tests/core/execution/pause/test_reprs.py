"""Texts of live values: bounded, truthful, and made without running any code of the program."""

import array
import ast
import asyncio
import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import os
import pathlib
import re
import sys
import threading
import types
import uuid
import weakref
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.execution.pause import static
from healguard_core.execution.pause.redaction import Redactor
from healguard_core.execution.pause.reprs import cut, safe_repr

ran = []


class Alarm(type):
    """A metaclass whose every method tells that it was called."""

    def __hash__(cls):
        ran.append("metaclass __hash__")
        return 1

    def __eq__(cls, other):
        ran.append("metaclass __eq__")
        return True

    def __getattribute__(cls, name):
        ran.append("metaclass " + name)
        return super().__getattribute__(name)

    def __instancecheck__(cls, instance):
        ran.append("metaclass __instancecheck__")
        return True


def _told(name):
    def method(*_args, **_kwargs):
        ran.append(name)
        raise RuntimeError(name)

    return method


HOOKS = ["__repr__", "__str__", "__len__", "__iter__", "__next__", "__getitem__", "__contains__", "__bool__", "__eq__",
         "__hash__", "__format__", "__call__", "__dir__", "__index__", "__int__", "__float__", "__reduce_ex__", "keys",
         "items", "values", "__getattr__", "__length_hint__", "__sizeof__", "__bytes__", "__fspath__"]


def hostile(*bases):
    """An instance whose class tells of every way to run its code."""
    namespace = {name: _told(name) for name in HOOKS}
    namespace["__class__"] = property(_told("__class__"))
    namespace["__getattribute__"] = _told("__getattribute__")
    namespace["lazy"] = property(_told("lazy"))
    made = Alarm("Hostile", bases, namespace)
    value = bases[0].__new__(made) if bases else object.__new__(made)
    ran.clear()
    return value


@pytest.fixture(autouse=True)
def nothing_of_the_program_ran():
    ran.clear()
    yield
    assert ran == []


class Plain:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self):
        self.x = 1


@dataclasses.dataclass
class Order:
    number: int
    lines: list = dataclasses.field(default_factory=list)


class Level(enum.Enum):
    LOW = 1


class Code(enum.IntFlag):
    A = 1


Point = collections.namedtuple("Point", "x y")


def _generator():
    yield 1
    yield 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"), (True, "True"), (..., "Ellipsis"), (12, "12"), (-1.5, "-1.5"), (2j, "2j"), ("a'b", '"a\'b"'),
        (b"ab", "b'ab'"), (bytearray(b"ab"), "bytearray(b'ab')"), ([1, [2]], "[1, [2]]"), ((1,), "(1,)"), ((), "()"),
        ({}, "{}"), ({"a": [1]}, "{'a': [1]}"), (set(), "set()"), ({1}, "{1}"), (frozenset([1]), "frozenset({1})"),
        (range(3), "range(0, 3)"), (range(1, 9, 2), "range(1, 9, 2)"), (slice(1, None), "slice(1, None, None)"),
        (Point(1, "b"), f"{__name__}.Point(x=1, y='b')"), (collections.deque([1]), "deque([1])"),
        (collections.OrderedDict(a=1), "<collections.OrderedDict {'a': 1}>"),
        (decimal.Decimal("1.50"), "Decimal('1.50')"), (fractions.Fraction(1, 3), "Fraction(1, 3)"),
        (datetime.date(2024, 1, 2), "datetime.date(2024, 1, 2)"), (datetime.timedelta(1), "datetime.timedelta(days=1)"),
        (uuid.UUID(int=5), "UUID('00000000-0000-0000-0000-000000000005')"),
        (pathlib.PurePosixPath("/a/b"), "PurePosixPath('/a/b')"),
        (pathlib.PurePosixPath("a", "b"), "PurePosixPath('a/b')"),
        (pathlib.PurePosixPath(), "PurePosixPath('.')"),
        (re.compile("a+", re.I), "re.compile('a+', flags=2)"),
        (re.match("a", "ab"), "re.Match(span=(0, 1), match='a')"),
        (functools.partial(len, "a"), "functools.partial(<built-in function len>, args=('a',), keywords={})"),
        (len, "<built-in function len>"), ([].append, "<built-in method append of <list>>"),
        (Plain, f"<class {__name__}.Plain>"), (int, "<class int>"), (os, "<module os>"),
        (Plain(), f"<{__name__}.Plain>"), (Plain(a=1, b="x"), f"<{__name__}.Plain a=1, b='x'>"),
        (Slotted(), f"<{__name__}.Slotted x=1>"), (Order(3, [1]), f"<{__name__}.Order number=3, lines=[1]>"),
        (Level.LOW, f"<{__name__}.Level.LOW: 1>"), (Code.A, f"<{__name__}.Code.A: 1>"),
        (ValueError("a", 1), "ValueError('a', 1)"), (types.SimpleNamespace(a=1), "<types.SimpleNamespace a=1>"),
        ({"a": 1}.keys(), "dict_keys(['a'])"), ({"a": 1}.items(), "dict_items([('a', 1)])"),
        (object(), "<object>"), (_generator(), "<generator _generator, not started>"),
        (iter([1]), "<list_iterator>"), (10**30, "1" + "0" * 30),
    ],
)
def test_known_values_are_spelled_plainly(value, text):
    assert safe_repr(value) == text


def test_functions_and_methods_say_where_they_come_from():
    assert re.fullmatch(
        r"<function tests\S+\.Plain\.__init__ at test_reprs\.py:\d+>", safe_repr(Plain.__init__)
    )
    assert safe_repr(Plain().__init__) == f"<method Plain.__init__ of <{__name__}.Plain>>"


def test_generators_tell_their_state_and_are_not_advanced():
    generator = _generator()
    assert next(generator) == 1
    assert re.fullmatch(r"<generator _generator, suspended at line \d+>", safe_repr(generator))
    assert list(generator) == [2]
    assert safe_repr(generator) == "<generator _generator, finished>"


def test_coroutines_and_async_generators_tell_their_state():
    async def coroutine():
        return 1

    async def stream():
        yield 1

    waiting = coroutine()
    assert "coroutine" in safe_repr(waiting)
    assert "not started" in safe_repr(waiting)
    assert asyncio.run(waiting) == 1
    assert "finished" in safe_repr(waiting)
    assert safe_repr(stream()).startswith("<async generator ")


@pytest.mark.parametrize("base", [None, list, dict, str, int, float, tuple, set, bytes, collections.deque, Exception])
def test_no_method_of_a_foreign_class_runs(base):
    value = hostile(base) if base is not None else hostile()
    for shown in (value, [value], {1: value}, (value, value), Plain(held=value)):
        assert "Hostile" in safe_repr(shown)


def test_no_method_of_a_hostile_class_object_runs():
    cls = type(hostile())
    ran.clear()
    assert safe_repr(cls).endswith("Hostile>")


def test_properties_and_slots_that_are_not_set_are_left_alone():
    class Lazy:
        __slots__ = ("__dict__", "unset")

        @property
        def loaded(self):
            ran.append("loaded")

        def __getattr__(self, name):
            ran.append(name)

    value = Lazy()
    value.kept = 1
    assert safe_repr(value).endswith("Lazy kept=1>")


def test_a_dict_property_is_not_called():
    class Odd:
        __dict__ = property(lambda _: ran.append("__dict__"))

    assert safe_repr(Odd()).endswith("Odd>")


def test_mocks_are_shown_by_what_they_store():
    value = mock.MagicMock(name="service", return_value=3)
    assert safe_repr(value).startswith("<unittest.mock.MagicMock ")
    assert value.mock_calls == []


def test_a_weak_proxy_is_not_followed():
    target = Plain(a=1)
    assert safe_repr(weakref.proxy(target)) == "<weakref.ProxyType>"
    assert safe_repr(weakref.ref(target)) == "<weakref.ReferenceType>"


def test_recursive_values_are_marked():
    values = [1]
    values.append(values)
    table = {"self": None}
    table["self"] = table
    thing = Plain(a=1)
    thing.me = thing
    assert safe_repr(values) == "[1, [...]]"
    assert safe_repr(table) == "{'self': {...}}"
    assert safe_repr(thing) == f"<{__name__}.Plain a=1, me=<{__name__}.Plain ...>>"


def test_the_same_value_twice_is_not_recursion():
    part = [1]
    assert safe_repr([part, part]) == "[[1], [1]]"


def test_deep_nesting_ends():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    text = safe_repr(deep)
    assert len(text) <= 200
    assert "..." in text
    while deep:  # taken apart by hand, because freeing it in one go recurses
        deep = deep.pop()


def test_huge_containers_are_neither_copied_nor_walked():
    many = dict.fromkeys(range(1_000_000))
    text = safe_repr(many)
    assert text.startswith("{0: None, 1: None")
    assert re.search(r"\.\.\. 9999\d\d more}$", text)
    assert safe_repr(range(10**40)).startswith("range(0, 1000")


def test_long_texts_say_how_long_they_are():
    assert safe_repr("a" * 5000, 60).endswith("a'... (5000 characters)")
    assert safe_repr(b"a" * 5000, 60).endswith("a'... (5000 bytes)")
    assert safe_repr("\x00" * 300, 60).endswith("'... (300 characters)")


def test_numbers_that_python_refuses_to_spell():
    assert safe_repr(10**5000) == "<int of about 5001 digits>"
    assert safe_repr([-(10**5000)]) == "[<int of about 5001 digits>]"
    assert safe_repr(10**300, 50).endswith("... (301 digits)")


def test_a_dictionary_that_another_thread_changes():
    shared = {number: number for number in range(100)}
    stop = threading.Event()

    def churn():
        number = 100
        while not stop.is_set():
            shared[number] = number
            shared.pop(number - 100, None)
            number += 1

    worker = threading.Thread(target=churn)
    worker.start()
    try:
        for _ in range(200):
            assert len(safe_repr(shared)) <= 200
    finally:
        stop.set()
        worker.join()


def test_classes_derived_from_builtins_show_content_and_attributes():
    class Row(dict):
        pass

    class Name(str):
        __slots__ = ()

    row = Row(a=1)
    row.source = "x"
    assert safe_repr(row).endswith("Row {'a': 1}, source='x'>")
    assert safe_repr(Name("n")).endswith("Name 'n'>")
    assert safe_repr(os.stat_result(range(10))) == "<os.stat_result (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)>"


def test_values_under_secret_names_are_withheld_at_any_depth():
    redactor = Redactor()
    value = {
        "user": "bob",
        "password": "hunter2",
        "nested": [{"api_key": "abc", "page": 2}],
        b"secret": b"bytes",
        "headers": [("Authorization", "Basic xyz"), ("Accept", "text/html")],
        "credentials": {"name": "bob", "pin": 12345},
        "empty": {"password": "", "token": None},
    }
    text = safe_repr(value, 2000, redactor=redactor)
    for secret in ("hunter2", "'abc'", "b'bytes'", "xyz", "12345"):
        assert secret not in text
    assert redactor.count == 6
    assert "'user': 'bob'" in text
    assert "('Accept', 'text/html')" in text
    assert "'empty': {'password': '', 'token': None}" in text


def test_attributes_fields_and_variables_with_secret_names():
    assert safe_repr(Plain(password="hunter2")).endswith("password=<redacted: password>>")
    assert "hunter2" not in safe_repr(collections.namedtuple("Login", "user password")("bob", "hunter2"))
    assert safe_repr("hunter2", name="db_password") == "<redacted: db password>"
    assert safe_repr(["hunter2"], name="passwords") == "[<redacted: passwords>]"
    assert safe_repr(12345, name="secret") == "<redacted: secret>"
    assert safe_repr(Plain(user="bob", page=2), name="session").endswith("Plain user='bob', page=2>")


def test_the_value_of_an_object_that_is_a_secret_by_its_class():
    class Cookie:
        def __init__(self):
            self.name, self.value = "sid", "a1b2c3d4"

    assert "a1b2c3d4" not in safe_repr(Cookie())
    assert "name='sid'" in safe_repr(Cookie())


def test_a_secret_is_not_laid_open_by_being_cut():
    key = "ghp_" + "a1B2" * 9
    for start in range(150, 220):
        text = safe_repr("x " * (start // 2) + key + " y" * 5000, 200)
        assert "a1B2a1B2" not in text
        assert "ghp_a" not in text
    window_edge = safe_repr(" " * 780 + "Zq8" * 300 + "w" * 2000, 200)
    assert "Zq8" not in window_edge


def test_redaction_can_be_switched_off():
    assert safe_repr({"password": "x"}, redactor=Redactor(on=False)) == "{'password': 'x'}"


def test_the_environment_is_shown_without_its_secrets():
    with mock.patch.dict(os.environ, {"MY_API_KEY": "canary-4711"}, clear=True):
        text = safe_repr(os.environ, 1000)
    assert "MY_API_KEY" in text
    assert "canary" not in text


def test_buffers_arrays_and_files_are_named(tmp_path):
    with open(tmp_path / "f", "w") as file:
        assert safe_repr(file).startswith("<_io.TextIOWrapper")
    assert safe_repr(memoryview(b"ab")) == "<memoryview>"
    assert safe_repr(array.array("i", [1])) == "<array.array>"
    assert safe_repr(sys.version_info).startswith("<sys.version_info (3, ")


def test_cut():
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abc..."
    assert cut("abc", 0) == ""


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals()
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
    | st.builds(lambda held: Plain(a=held), inner),
    max_leaves=40,
)


@given(VALUES, st.integers(0, 400))
def test_the_limit_always_holds(value, limit):
    assert len(safe_repr(value, limit)) <= limit


BUILTIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("abc xyz\n\\'\"é", max_size=8)
    | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner)
    | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(BUILTIN)
def test_showing_changes_nothing(value):
    before = copy.deepcopy(value)
    safe_repr(value)
    assert value == before


@given(BUILTIN)
def test_builtin_values_read_back_as_themselves_when_they_fit(value):
    text = safe_repr(value, 100_000, redactor=Redactor(on=False))
    if "..." not in text:
        assert ast.literal_eval(text) == value


def test_static_reading_of_names_and_bases():
    assert static.qualified_name(int) == "int"
    assert static.qualified_name(collections.deque) == "collections.deque"
    assert static.derives(bool, int)
    assert not static.derives(int, str)
    assert static.attribute(Slotted(), "x") == 1
    assert static.attribute(Slotted(), "y") is None
    assert static.attribute(object(), "x") is None
    assert static.module_name(os) == "os"
    assert static.instance_dict(3) is None
