"""What exceptions as control flow cost in instrumented code: ``python benchmarks/control_flow.py``.

Each shape is a small function that raises and handles errors in a loop. It is compiled twice from one text, plainly and
as the import hook would, and both are run in turns in one process with a started engine. Printed are the medians of
the ratios of neighbouring runs, by the processor time of this thread. Only ratios of one run mean anything.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from healguard_core.execution.engine import Engine
from healguard_core.execution.instrument import compiling
from healguard_core.protocol import Config

LIMIT = 1.5
"""The ratio that no shape should exceed."""

SHAPES = {
    "handler around the statement": """
def run(times, table={}):
    for _ in range(times):
        try:
            table["key"]
        except KeyError:
            pass
""",
    "handler in the same function, further out": """
def run(times, table={}):
    for number in range(times):
        try:
            seen = number
            if seen >= 0:
                seen = table[number]
        except KeyError:
            seen = None
""",
    "handler that reads locals": """
def run(times, table={}, strict=False):
    for number in range(times):
        try:
            seen = number
            seen = table[number]
        except KeyError as error:
            if strict:
                raise
            seen = str(error)
""",
    "handler one frame up": """
def find(table, key):
    found = table[key]
    return found

def run(times):
    table = {}
    for number in range(times):
        try:
            found = number
            found = find(table, number)
        except KeyError:
            found = None
""",
    "through 10 frames": """
def down(levels):
    if levels == 0:
        raise ValueError("bottom")
    down(levels - 1)

def run(times):
    caught = 0
    for _ in range(times):
        try:
            down(10)
            caught -= 1
        except ValueError:
            caught += 1
""",
    "AttributeError, duck typing": """
class Plain:
    pass

def width(value):
    try:
        size = value.width
        return size
    except AttributeError:
        return 0

def run(times):
    value = Plain()
    for _ in range(times):
        width(value)
""",
    "__getattr__ asked by getattr with a default": """
class Lazy:
    def __getattr__(self, name):
        raise AttributeError(name)

def run(times):
    value = Lazy()
    for _ in range(times):
        getattr(value, "missing", None)
""",
    "StopIteration of next": """
def run(times):
    for _ in range(times):
        numbers = iter(())
        try:
            first = None
            first = next(numbers)
        except StopIteration:
            first = 0
""",
    "iterator class that ends": """
class Count:
    def __init__(self):
        self.left = 2

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left

def run(times):
    for _ in range(times):
        for _number in Count():
            pass
""",
    "generator that fails": """
def numbers(table):
    yield 1
    yield table["key"]

def run(times):
    table = {}
    for _ in range(times):
        try:
            total = 0
            for number in numbers(table):
                total += number
        except KeyError:
            total = -1
""",
    "generator that is closed": """
def numbers():
    try:
        yield 1
        yield 2
    finally:
        seen = True

def run(times):
    for _ in range(times):
        running = numbers()
        next(running)
        running.close()
""",
    "with suppress": """
from contextlib import suppress

def run(times, table={}):
    for number in range(times):
        with suppress(KeyError):
            found = number
            found = table[number]
""",
    "try and finally": """
def find(table, key):
    try:
        found = table[key]
        return found
    finally:
        found = None

def run(times):
    table = {}
    for number in range(times):
        try:
            found = number
            found = find(table, number)
        except KeyError:
            found = None
""",
    "handler that raises again": """
def find(table, key):
    try:
        found = table[key]
        return found
    except KeyError:
        found = None
        raise

def run(times):
    table = {}
    for number in range(times):
        try:
            found = number
            found = find(table, number)
        except KeyError:
            found = None
""",
    "handler that translates": """
class Missing(Exception):
    pass

def find(table, key):
    try:
        found = table[key]
        return found
    except KeyError as error:
        raise Missing(key) from error

def run(times):
    table = {}
    for number in range(times):
        try:
            found = number
            found = find(table, number)
        except Missing:
            found = None
""",
    "conversion that may fail": """
def convert(text):
    for kind in (int, float):
        try:
            value = kind(text)
            return value
        except (TypeError, ValueError):
            continue
    return text

def run(times):
    for _ in range(times):
        convert("1.5x")
""",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the shapes and print their table; 1 when one of them exceeds its limit and ``--check`` was given."""
    given = _parser().parse_args(arguments)
    shapes = {title: source for title, source in SHAPES.items() if given.only in title}
    ratios: dict[str, list[float]] = {}
    print(f"Python {sys.version.split()[0]}, {given.rounds} rounds of {given.times} errors, ratios to plain code")
    for title, source in shapes.items():
        values, spent, asked = measure(source, given.times, given.rounds)
        ratios[title] = values
        print(f"  {title:<44} {statistics.median(values):5.2f}  ({min(values):.2f} to {max(values):.2f})"
              f"  {spent:5.1f} us more per error, {asked:.2f} decisions")
        sys.stdout.flush()
    over = [title for title, values in ratios.items() if statistics.median(values) > LIMIT]
    print(f"median of all: {statistics.median(statistics.median(values) for values in ratios.values()):.2f}; "
          f"over {LIMIT}: {', '.join(over) or 'none'}")
    return 1 if over and given.check else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="What exceptions as control flow cost in instrumented code.")
    parser.add_argument("--rounds", type=int, default=25, help="pairs of runs per shape (default: %(default)s)")
    parser.add_argument("--times", type=int, default=2000, help="errors per run (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only shapes with TEXT in their titles")
    parser.add_argument("--check", action="store_true", help=f"end with 1 when a shape costs more than {LIMIT}")
    return parser


def measure(source: str, times: int, rounds: int) -> tuple[list[float], float, float]:
    """The ratios of all rounds, the median of the microseconds that an error costs more, the decisions per error."""
    with tempfile.TemporaryDirectory(prefix="heal-control-flow-") as folder:
        path = Path(folder) / "shape.py"
        path.write_text(source, encoding="utf-8")
        engine = Engine(Config(root=folder))
        engine.start()
        engine.begin("benchmark")
        try:
            plain = _loaded("plain_shape", compiling.plain(path.read_bytes(), str(path)))
            ours = _loaded("shape", _instrumented(path))
            pairs = [(_took(plain, times), _took(ours, times)) for _ in range(rounds + 2)][2:]
            asked = engine.decisions["decisions"] / (times * (rounds + 2))
        finally:
            engine.end("benchmark")
            engine.stop()
    more = statistics.median(after - before for before, after in pairs) / times / 1000
    return [after / before for before, after in pairs], more, asked


def _instrumented(path: Path) -> CodeType:
    code, reason = compiling.instrumented(path.read_bytes(), str(path))
    if reason:
        raise ValueError(f"{path} cannot be instrumented: {reason}")
    return code


def _loaded(name: str, code: CodeType) -> Any:
    module = sys.modules[name] = ModuleType(name)  # as an import would leave it
    exec(code, vars(module))
    return vars(module)["run"]


def _took(run: Any, times: int) -> int:
    began = time.thread_time_ns()
    run(times)
    return time.thread_time_ns() - began


if __name__ == "__main__":
    sys.exit(main())
