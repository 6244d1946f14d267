"""What the plugin costs, as ratios within one run: ``python benchmarks/overhead.py``.

Every round runs the same suite once per setting, in an order that rotates, and divides by what the plainest setting
took in that same round; printed are the median of these ratios and their span. Processor time of the child process is
compared where the system tells it, else wall time. Only ratios of one run mean anything: nothing is said about seconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

ABSENT, OFF, COLD, WARM = "plugin absent", "plugin off", "on, cold cache", "on, warm cache"
SETTINGS = (ABSENT, OFF, COLD, WARM)
EMPTY_TESTS, PLAIN_TESTS, RAISING_TESTS = "test_empty.py", "test_plain.py", "test_raising.py"
MODULES = 100

MODULE = '''
def spread(values):
    total = 0
    for number, value in enumerate(values):
        if value % 3 == 0:
            total += value * number
        elif value % 3 == 1:
            total -= value
        else:
            total ^= value
    return total


def words(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items())


def climb(steps):
    return steps if steps < 2 else climb(steps - 1) + climb(steps - 2)


def pairs(limit):
    for first in range(limit):
        for second in range(first):
            yield first, second


class Account:
    def __init__(self, owner):
        self.owner = owner
        self.entries = []

    def post(self, amount):
        self.entries.append(amount)
        return self

    @property
    def balance(self):
        return sum(self.entries)


def lookups(keys, table):
    found = 0
    for key in keys:
        try:
            found += table[key]
        except KeyError:
            found -= 1
    return found


def deep(levels):
    if levels == 0:
        raise ValueError("bottom")
    deep(levels - 1)


def from_the_bottom(times):
    caught = 0
    for _ in range(times):
        try:
            deep(10)
        except ValueError:
            caught += 1
    return caught
'''
EMPTY = """
def test_empty():
    pass
"""
PLAIN = '''
import importlib
import pytest

@pytest.mark.parametrize("number", range({modules}))
def test_plain(number):
    module = importlib.import_module(f"load.part{{number}}")
    assert module.spread(range(60000)) is not None
    assert module.words("one two one three " * 4000)
    assert module.climb(17) == 1597
    assert sum(1 for _ in module.pairs(250)) == 31125
    account = module.Account("x")
    for amount in range(8000):
        account.post(amount)
    assert account.balance == 31996000
'''
RAISING = '''
import importlib
import pytest

@pytest.mark.parametrize("number", range({modules}))
def test_raising(number):
    module = importlib.import_module(f"load.part{{number}}")
    assert module.lookups(range(4000), {{}}) == -4000
    assert module.from_the_bottom(300) == 300
'''


@dataclass(frozen=True)
class Workload:
    """A suite to run: pytest arguments, what to instrument, and where to run it."""

    title: str
    arguments: tuple[str, ...]
    source: str
    folder: Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every workload and print its table; 1 when a suite did not pass."""
    given = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="heal-overhead-") as name:
        folder = Path(name)
        generate(folder, given.modules)
        loads = [
            Workload("one empty test: what starting costs", (EMPTY_TESTS,), "load", folder),
            Workload("generated project", (PLAIN_TESTS,), "load", folder),
            Workload("generated project, exceptions as control flow", (RAISING_TESTS,), "load", folder),
        ]
        root = given.real.partition(".")[0]
        if importlib.util.find_spec(root) is not None:
            loads.append(Workload(f"the suite of {given.real}", ("--pyargs", given.real), root, folder))
        else:
            print(f"{root} is not installed here, so no real suite is measured (--real names another one)")
        for load in loads:
            try:
                table(load, given.rounds, folder)
            except subprocess.CalledProcessError as problem:
                print(f"{load.title}: pytest ended with {problem.returncode}\n{problem.stdout[-3000:]}")
                return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="What the plugin costs, as ratios within one run.")
    parser.add_argument("--rounds", type=int, default=5, help="rounds per suite (default: 5)")
    parser.add_argument("--modules", type=int, default=MODULES, help="modules of the generated project")
    parser.add_argument("--real", metavar="PACKAGE", default="networkx.algorithms.shortest_paths",
                        help="an installed package that carries its tests (default: %(default)s)")
    return parser


def generate(folder: Path, modules: int) -> None:
    """Write the generated project into ``folder``."""
    (folder / "load").mkdir()
    (folder / "load" / "__init__.py").touch()
    for number in range(modules):
        (folder / "load" / f"part{number}.py").write_text(MODULE, encoding="utf-8")
    (folder / EMPTY_TESTS).write_text(EMPTY, encoding="utf-8")
    (folder / PLAIN_TESTS).write_text(PLAIN.format(modules=modules), encoding="utf-8")
    (folder / RAISING_TESTS).write_text(RAISING.format(modules=modules), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")


def table(load: Workload, rounds: int, folder: Path) -> None:
    """Measure ``load`` and print one line per setting."""
    ratios: dict[str, list[float]] = {setting: [] for setting in SETTINGS}
    for setting in SETTINGS:
        measure(load, setting, folder)  # bytecode and caches of everything else are there from now on
    for number in range(rounds):
        order = SETTINGS[number % len(SETTINGS):] + SETTINGS[:number % len(SETTINGS)]
        took = {setting: measure(load, setting, folder) for setting in order}
        for setting in SETTINGS:
            ratios[setting].append(took[setting] / took[ABSENT])
    print(f"\n{load.title}: {rounds} rounds, {'processor' if resource else 'wall'} time by that of `{ABSENT}`")
    for setting in SETTINGS:
        values = ratios[setting]
        print(f"  {setting:<16} {statistics.median(values):6.2f}   ({min(values):.2f} to {max(values):.2f})")
    sys.stdout.flush()


def measure(load: Workload, setting: str, folder: Path) -> float:
    """Run ``load`` once. Raises ``CalledProcessError`` when its tests do not pass: then there is nothing to compare."""
    cache = folder / "cache" / load.title.replace(" ", "-")
    if setting == COLD:
        cache = cache.with_name(cache.name + "-cold")
        shutil.rmtree(cache, ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-q", "-o", f"cache_dir={cache}", "-p", "no:randomly",
               *_plugin(load, setting), *load.arguments]
    unwanted = ("PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS")
    variables = {key: value for key, value in os.environ.items() if key not in unwanted}
    before, began = _processor_time(), time.perf_counter()
    subprocess.run(command, cwd=load.folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                   stderr=subprocess.STDOUT, text=True, check=True)
    return (_processor_time() - before) if resource else (time.perf_counter() - began)


def _plugin(load: Workload, setting: str) -> list[str]:
    if setting == ABSENT:
        return ["-p", "no:heal", "-p", "no:heal-suites"]  # the nearest thing to its not being installed
    return [] if setting == OFF else ["--heal=rules", f"--heal-source={load.source}"]


def _processor_time() -> float:
    """Seconds of processor time that finished child processes took; 0.0 where the system does not tell."""
    if resource is None:
        return 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
