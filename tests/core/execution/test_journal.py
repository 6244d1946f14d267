"""The record of what happened: complete, in order, and out of reach of the tests that are being recorded."""

import builtins
import enum
import json
import math
import multiprocessing
import os
import sys
import threading
import time
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.execution import journal as journals
from healguard_core.execution.journal import MOST_TEXT, Journal, read
from healguard_core.protocol import (
    EVENTS,
    Crashed,
    Event,
    Finding,
    Healed,
    Noticed,
    Probed,
    Refused,
    Started,
    event_to_json,
)


def noticed(number, unit=""):
    return Noticed(unit=unit, code="n", message=str(number))


def messages(events):
    return [event.message for event in events]


def test_events_come_back_in_order_and_stamped(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))
    before = time.time()
    journal.record(noticed(1, "a"))
    journal.record(noticed(2, "b"))
    journal.record(noticed(3, "a"))
    journal.close()
    assert messages(journal.events()) == ["1", "2", "3"]
    assert messages(journal.events("a")) == ["1", "3"]
    assert all(before <= event.at <= time.time() for event in journal.events())
    assert messages(read(journal.path)) == ["1", "2", "3"]


def test_taking_a_unit_empties_it(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))
    journal.record(noticed(1, "a"))
    journal.record(noticed(2, "b"))
    assert messages(journal.take("a")) == ["1"]
    assert journal.take("a") == journal.events("a") == []
    assert messages(journal.events()) == ["2"]
    assert messages(read(journal.path)) == ["1", "2"]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(journals, "MOST_WITHOUT_UNIT", 50)
    monkeypatch.setattr(journals, "MOST_UNITS", 20)


@pytest.mark.usefixtures("small")
def test_without_a_path_everything_is_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    journal = Journal(None)
    for number in range(journals.MOST_WITHOUT_UNIT + 5):
        journal.record(noticed(number))
    assert len(journal.events()) == journals.MOST_WITHOUT_UNIT + 5
    journal.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small")
def test_with_a_file_memory_is_bounded_and_units_are_kept_whole(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))
    journal.record(noticed("first", "a"))
    for number in range(journals.MOST_WITHOUT_UNIT + 5):
        journal.record(noticed(number))
    assert len(journal.events("")) == journals.MOST_WITHOUT_UNIT
    assert messages(journal.events(""))[0] == "5"
    assert messages(journal.events("a")) == ["first"]
    for number in range(journals.MOST_UNITS + 5):
        journal.record(noticed(number, f"unit {number}"))
    assert journal.events("a") == []
    assert messages(journal.events(f"unit {journals.MOST_UNITS}")) == [str(journals.MOST_UNITS)]
    assert len(journal.events("")) == journals.MOST_WITHOUT_UNIT
    assert sum(1 for _ in read(journal.path)) == journals.MOST_WITHOUT_UNIT + journals.MOST_UNITS + 11


def test_a_file_that_nothing_is_written_to_is_not_made(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))
    journal.close()
    assert not (tmp_path / "j.jsonl").exists()


def test_the_path_does_not_follow_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    journal = Journal("j.jsonl")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    journal.record(noticed(1))
    assert messages(read(str(tmp_path / "j.jsonl"))) == ["1"]


def test_tests_that_patch_the_standard_library_neither_see_nor_break_it(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))
    broken = mock.Mock(side_effect=AssertionError("the program's own double was called"))
    with (
        mock.patch.multiple(os, open=broken, write=broken, close=broken, fstat=broken, getpid=broken),
        mock.patch.object(time, "time", broken),
        mock.patch.object(builtins, "open", broken),
        mock.patch.multiple(json, dumps=broken, dump=broken, JSONEncoder=broken),
        mock.patch.object(threading, "Lock", broken),
    ):
        journal.record(noticed(1))
        journal.close()
        journal.record(noticed(2))
    assert messages(read(journal.path)) == ["1", "2"]


def test_doubles_put_into_every_module_do_not_reach_it(tmp_path):
    """As time-freezing packages do: whatever holds ``time.time`` as an attribute gets a double."""
    journal = Journal(str(tmp_path / "j.jsonl"))
    real = time.time
    frozen = []
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            if value is real:
                setattr(module, name, lambda: 0.0)
                frozen.append((module, name))
    try:
        event = journal.record(noticed(1))
    finally:
        for module, name in frozen:
            setattr(module, name, real)
    assert event.at > 1_000_000_000


def test_a_program_that_closes_every_descriptor(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))
    journal.record(noticed(1))
    journal_fd = journal._fd
    os.close(journal_fd)
    stolen = tmp_path / "the program's own"
    fd = os.open(stolen, os.O_CREAT | os.O_RDWR)
    assert fd == journal_fd, "the program's file has the number that the journal had"
    try:
        journal.record(noticed(2))
        journal.close()
        os.fstat(fd)
    finally:
        os.close(fd)
    assert stolen.read_bytes() == b""
    assert messages(read(journal.path)) == ["1", "2"]


def test_a_place_that_cannot_be_written_is_told_and_memory_goes_on(tmp_path):
    journal = Journal(str(tmp_path / "missing" / "j.jsonl"))
    journal.record(noticed(1))
    assert messages(journal.events()) == ["1"]
    assert "missing" in journal.problem
    assert "cannot append" in journal.problem


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_leaves_nothing(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))
    journal.record(noticed("parent"))
    child = multiprocessing.get_context("fork").Process(target=journal.record, args=(noticed("child"),))
    with journal._lock:  # whatever the parent's threads hold at the fork must not stop the child
        child.start()
        child.join(30)
    assert child.exitcode == 0
    assert messages(journal.events()) == messages(read(journal.path)) == ["parent"]


def test_threads_lose_nothing(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))

    def write(who):
        for number in range(200):
            journal.record(noticed(number, who))

    threads = [threading.Thread(target=write, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(4):
        assert messages(journal.events(f"t{n}")) == [str(number) for number in range(200)]
    assert sum(1 for _ in read(journal.path)) == 800


class Opaque:
    def __repr__(self):
        raise AssertionError("asked")


class Word(str):
    def __str__(self):
        raise AssertionError("asked")


class Level(enum.IntEnum):
    HIGH = 3


def test_what_json_cannot_carry_is_shown_by_its_type(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))
    endless = []
    endless.append(endless)
    values = [Opaque(), Word("w"), Level.HIGH, math.nan, b"x", {1: "a", "k": {2}}, 10**5000, ("t", None, True), endless]
    event = journal.record(Healed(unit="u", wrote=values))
    (stored,) = read(journal.path)
    assert event.wrote[:8] == [
        "<Opaque>", "w", 3, "<float>", "<bytes>", {"<int>": "a", "k": "<set>"}, "<int>", ["t", None, True]
    ]
    assert type(event.wrote[1]) is str
    assert stored == event


def test_long_strings_are_cut_and_say_so(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))
    journal.record(Probed(stdout="x" * (MOST_TEXT + 7)))
    (stored,) = read(journal.path)
    assert stored.stdout.endswith("x... (7 more characters)")
    assert len(stored.stdout) == MOST_TEXT + len("... (7 more characters)")
    assert stored == journal.events()[0]


def test_one_line_per_event_whatever_its_text(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))
    odd = "a\nb\r\u2028\x00\ud800é"
    journal.record(noticed(odd))
    data = (tmp_path / "j.jsonl").read_bytes()
    assert data.count(b"\n") == 1
    assert data.isascii()
    assert messages(read(journal.path)) == [odd]


def test_two_journals_share_a_file(tmp_path):
    path = str(tmp_path / "j.jsonl")
    first, second = Journal(path), Journal(path)
    for number in range(5):
        first.record(noticed(number, "first"))
        second.record(noticed(number, "second"))
    assert len(list(read(path))) == 10


def test_a_line_that_is_no_event_is_named(tmp_path):
    path = tmp_path / "j.jsonl"
    good = json.dumps(event_to_json(noticed(1)))
    for bad in ("{", "[]", '{"event": "Nonsense"}', '{"event": "Refused", "findings": [{"odd": 1}]}', "\xff"):
        path.write_bytes((good + "\n").encode() + bad.encode("latin-1") + b"\n" + good.encode() + b"\n")
        reader = read(str(path))
        assert messages([next(reader)]) == ["1"]
        with pytest.raises(ValueError, match=r"j\.jsonl:2: not a journal event: .*Delete that line"):
            next(reader)


def test_an_unfinished_last_line_is_counted_and_skipped(tmp_path):
    path = tmp_path / "j.jsonl"
    good = json.dumps(event_to_json(noticed(1)))
    path.write_text(good + "\n\n" + good[:-5])
    reader = read(str(path))
    assert messages(reader) == ["1"]
    assert reader.cut == 1
    path.write_text(good + "\n" + good)
    whole = read(str(path))
    assert messages(whole) == ["1", "1"]
    assert whole.cut == 0


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(read(str(tmp_path / "none")))


TEXT = st.text(max_size=20)
FINDINGS = st.lists(st.builds(Finding, TEXT, TEXT, st.integers(), st.integers(), TEXT), max_size=2)
FIELDS = st.one_of(
    st.builds(Started, version=TEXT, gate=st.booleans()),
    st.builds(Crashed, crash=st.integers(), error=TEXT, unit=TEXT),
    st.builds(Refused, crash=st.integers(), submit=st.booleans(), findings=FINDINGS),
    st.builds(Healed, wrote=st.lists(TEXT), ms=st.floats(allow_nan=False, allow_infinity=False)),
)


@given(st.lists(FIELDS, max_size=8))
def test_what_is_read_is_what_was_recorded(tmp_path_factory, events):
    path = str(tmp_path_factory.mktemp("journal") / "j.jsonl")
    journal = Journal(path)
    for event in events:
        assert isinstance(journal.record(event), Event)
    journal.close()
    assert journal.events() == events
    assert not events or list(read(path)) == events


def test_every_kind_of_event_survives(tmp_path):
    journal = Journal(str(tmp_path / "j.jsonl"))
    for kind in EVENTS.values():
        journal.record(kind())
    assert [type(event) for event in read(journal.path)] == list(EVENTS.values())
