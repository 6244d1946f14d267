"""Nothing is kept: no object, no memory and no descriptor after many errors, no local longer than in a plain run."""

import contextlib
import gc
import importlib
import os
import sys
import textwrap
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from healguard_core.execution import hooks
from healguard_core.execution.engine import Engine
from healguard_core.protocol import Config, Healed

SHAPES = """
import contextlib

class Local:
    pass

def down(levels, watch):
    local = Local()
    watch(local)
    if levels == 0:
        return {}["missing"]
    return down(levels - 1, watch)

def same_function(watch):
    local = Local()
    watch(local)
    try:
        seen = 1
        return {}["missing"] + seen
    except KeyError:
        return None

def further_out(watch):
    try:
        down(5, watch)
    except KeyError:
        pass

def suppressed(watch):
    with contextlib.suppress(KeyError):
        down(2, watch)

def kept(watch):
    try:
        down(2, watch)
    except KeyError as error:
        return error

def finally_passed(watch):
    try:
        try:
            down(2, watch)
        finally:
            local = Local()
            watch(local)
    except LookupError:
        pass

def generated(watch):
    def numbers():
        local = Local()
        watch(local)
        yield down(1, watch)
    try:
        list(numbers())
    except KeyError:
        pass

def unhandled(watch):
    down(2, watch)

def crash():
    found = {}["missing"]
    return found
"""
CALLS = ["same_function", "further_out", "suppressed", "kept", "finally_passed", "generated", "unhandled"]


class Answering:
    """Heals every crash with ``code``; lets it go without one."""

    name = "answering"

    def __init__(self, code: str = "") -> None:
        self.code = code

    def respond(self, session: Any) -> None:
        if self.code:
            assert session.heal(self.code).error == ""

    def close(self) -> None:
        pass


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(Config(root=str(tmp_path), gate=False, trial="off"), Answering())
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture
def instrumented(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "instrumented_shapes.py").write_text(SHAPES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("instrumented_shapes")
    assert hooks.is_instrumented(module.crash.__code__), f"by {engine}"
    yield module
    del sys.modules["instrumented_shapes"]


@pytest.fixture
def plain() -> ModuleType:
    module = ModuleType("plain_shapes")
    exec(SHAPES, vars(module))
    return module


def alive_after(function: Callable[..., Any]) -> tuple[list[bool], list[bool]]:
    """Which watched locals are alive once ``function`` has ended, and once its result is dropped; no collection."""
    locals_of: list[weakref.ref[Any]] = []

    def watch(local: object) -> None:
        locals_of.append(weakref.ref(local))

    result = None
    with contextlib.suppress(KeyError):
        result = function(watch)
    ended = [reference() is not None for reference in locals_of]
    del result
    return ended, [reference() is not None for reference in locals_of]


@pytest.mark.parametrize("name", CALLS)
def test_locals_die_where_they_die_in_a_plain_run(
    engine: Engine, instrumented: ModuleType, plain: ModuleType, name: str
) -> None:
    engine.begin("unit")
    gc.disable()
    try:
        wanted = alive_after(getattr(plain, name))
        for _ in range(3):  # the first time it is decided, later it is remembered
            assert alive_after(getattr(instrumented, name)) == wanted
    finally:
        gc.enable()
        engine.end("unit")


def measured() -> tuple[int, int, int]:
    """Objects that the collector knows, bytes that Python holds, and open descriptors."""
    gc.collect()
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    return len(gc.get_objects()), tracemalloc.get_traced_memory()[0], descriptors


def growth(work: Callable[[], None], warm: Callable[[], None]) -> tuple[int, int, int]:
    """By how much ``work`` lets objects, bytes and descriptors grow, once ``warm`` has filled the memory."""
    tracemalloc.start()
    try:
        warm()
        before = measured()
        work()
        after = measured()
    finally:
        tracemalloc.stop()
    return after[0] - before[0], after[1] - before[1], after[2] - before[2]


def test_ten_thousand_handled_errors_leave_nothing(engine: Engine, instrumented: ModuleType) -> None:
    calls = [getattr(instrumented, name) for name in CALLS if name not in ("kept", "unhandled")]

    def handled(times: int) -> None:
        engine.begin("unit")
        for _ in range(times):
            for function in calls:
                function(lambda _local: None)
        engine.end("unit")

    objects, size, descriptors = growth(lambda: handled(10_000 // len(calls)), lambda: handled(300))
    assert engine.journal.events("unit") == []
    assert objects < 200, "one object for every fiftieth error would be a leak"
    assert size < 100_000
    assert descriptors == 0


def test_a_thousand_healed_crashes_leave_nothing(engine: Engine, instrumented: ModuleType) -> None:
    engine.agent = Answering("found = 'healed'")
    healed = []

    def heal(times: int) -> None:
        for number in range(times):
            unit = f"unit {number}"
            engine.begin(unit)
            assert instrumented.crash() == "healed"
            healed.append(sum(isinstance(event, Healed) for event in engine.journal.take(unit)))
            engine.end(unit)
        healed[:] = [sum(healed)]

    objects, size, descriptors = growth(lambda: heal(1000), lambda: heal(200))
    assert healed == [1200]
    assert objects < 500, "one object for every second crash would be a leak"
    assert size < 300_000
    assert descriptors == 0


def test_the_shapes_raise(plain: ModuleType) -> None:
    """Else the tests above would pass whatever is kept."""
    seen: list[object] = []
    for name in CALLS:
        before = len(seen)
        try:
            getattr(plain, name)(seen.append)
        except KeyError:
            assert name == "unhandled"
        assert len(seen) > before, textwrap.shorten(name, 40)
