"""Instrumented bytecode on disk: found again when it is right, ignored whenever it is not."""

import importlib.util
import os
import sys
import threading
from pathlib import Path
from types import CodeType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healguard_core.execution.instrument.cache import Cache, Stamp

OLD = Stamp(10**18, 5)
HASH = b"12345678"


@pytest.fixture(autouse=True)
def writing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def code(text: str) -> CodeType:
    return compile(text, "<cached>", "exec")


def cache_at(directory: Path, version: int = 1) -> tuple[Cache, list[str]]:
    complaints: list[str] = []
    return Cache(str(directory), version, complaints.append), complaints


def unread() -> bytes:
    raise AssertionError("the source need not be read")


def content_of(text: bytes) -> tuple[bytes, bytes]:
    return text, importlib.util.source_hash(text)


def test_what_was_stored_is_found_without_reading_the_source(tmp_path: Path) -> None:
    cache, _ = cache_at(tmp_path / "made" / "on demand")
    cache.store("/a.py", OLD, HASH, code("x = 1"))
    entry = cache.load("/a.py", OLD, unread)
    assert entry is not None
    assert entry.code == code("x = 1")
    assert entry.digest == HASH


def test_another_file_version_or_size_is_not_found(tmp_path: Path) -> None:
    cache, _ = cache_at(tmp_path)
    cache.store("/a.py", OLD, HASH, code("x = 1"))
    assert cache.load("/b.py", OLD, unread) is None
    assert cache.load("/a.py", Stamp(OLD.mtime, 6), unread) is None
    assert cache_at(tmp_path, version=2)[0].load("/a.py", OLD, unread) is None


def test_a_new_time_with_the_same_content_is_found_and_remembered(tmp_path: Path) -> None:
    cache, _ = cache_at(tmp_path)
    text, digest = content_of(b"x = 1")
    touched = Stamp(OLD.mtime + 7, len(text))
    cache.store("/a.py", Stamp(OLD.mtime, len(text)), digest, code("x = 1"))
    assert cache.load("/a.py", touched, lambda: text) is not None
    assert cache.load("/a.py", touched, unread) is not None


def test_a_new_time_with_other_content_of_the_same_size_is_not_found(tmp_path: Path) -> None:
    cache, _ = cache_at(tmp_path)
    _, digest = content_of(b"x = 1")
    cache.store("/a.py", Stamp(OLD.mtime, 5), digest, code("x = 1"))
    assert cache.load("/a.py", Stamp(OLD.mtime + 7, 5), lambda: b"x = 2") is None


def test_a_time_that_was_fresh_when_stored_is_not_believed(tmp_path: Path) -> None:
    cache, _ = cache_at(tmp_path)
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1")
    status = path.stat()
    _, digest = content_of(b"x = 1")
    cache.store(str(path), Stamp(status.st_mtime_ns, 5), digest, code("x = 1"))
    # the file is changed again within the granularity of its time stamp
    path.write_bytes(b"x = 2")
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert cache.load(str(path), Stamp(status.st_mtime_ns, 5), path.read_bytes) is None


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_entry_is_ignored_and_can_be_replaced(tmp_path: Path, data: st.DataObject) -> None:
    cache, complaints = cache_at(tmp_path)
    cache.store("/a.py", OLD, HASH, code("x = 1"))
    [file] = tmp_path.iterdir()
    good = file.read_bytes()
    position = data.draw(st.integers(0, len(good) - 1))
    damaged = data.draw(
        st.sampled_from([good[:position], good[:position] + bytes([good[position] ^ 0x41]) + good[position + 1 :], b""])
    )
    file.write_bytes(damaged)
    entry = cache.load("/a.py", OLD, lambda: b"12345")
    assert entry is None or (entry.code, entry.digest) == (code("x = 1"), HASH)
    cache.store("/a.py", OLD, HASH, code("x = 1"))
    assert cache.load("/a.py", OLD, unread) is not None
    assert complaints == []


def test_nothing_is_written_when_python_may_not_write_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    cache, complaints = cache_at(tmp_path / "new")
    cache.store("/a.py", OLD, HASH, code("x = 1"))
    assert not (tmp_path / "new").exists()
    assert complaints == []


def test_a_directory_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache, complaints = cache_at(tmp_path / "file" / "cache")
    cache.store("/a.py", OLD, HASH, code("x = 1"))
    cache.store("/b.py", OLD, HASH, code("x = 1"))
    assert len(complaints) == 1
    assert "make the directory writable" in complaints[0]
    assert cache.load("/a.py", OLD, unread) is None


def test_optimisation_levels_have_entries_of_their_own(tmp_path: Path) -> None:
    cache, _ = cache_at(tmp_path)
    cache.store("/a.py", OLD, HASH, code("x = 1"))
    [file] = tmp_path.iterdir()
    assert f".{sys.implementation.cache_tag}-{sys.flags.optimize}." in file.name


def test_writers_at_the_same_time_leave_whole_entries_only(tmp_path: Path) -> None:
    texts = [f"x = {'1 + ' * number}1" for number in range(1, 200, 20)]
    wrong: list[str] = []

    def work(text: str) -> None:
        cache, complaints = cache_at(tmp_path)
        for _ in range(40):
            cache.store("/a.py", OLD, HASH, code(text))
            entry = cache.load("/a.py", OLD, unread)
            if entry is None or entry.code not in [code(one) for one in texts]:
                wrong.append(text)
        wrong.extend(complaints)

    threads = [threading.Thread(target=work, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(list(tmp_path.iterdir())) == 1
