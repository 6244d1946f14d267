"""The cases of suite ``guard``: patterns of data flow around heal points of real bugs. Imports suite releases.

A *pattern* is one way for a healed value to reach, or not to reach, the key input of a protected operation. A *heal
point* is where an instance of suite ``releases`` crashes. A *pair* is a pattern at a heal point, and has two cases:
``unsafe`` and ``safe``, which differ in the few lines of the pattern that are marked so.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark_suites.releases import instances
from benchmark_suites.releases.instances import Instance

ROOT = Path(__file__).parent
PAIRS = 342
"""As many as in the paper's controlled evaluation (section 5, C.4)."""
VARIANTS = ("unsafe", "safe")
_TEXTS = ("before", "heal", "app", "flow", "again")


@dataclass(frozen=True)
class Pattern:
    """One way of a value. The texts are Python.

    ``before`` runs in the crashing frame ahead of the statement that crashes, ``heal`` is the healing code, ``flow``
    is where the program goes on, ``app`` is a module of the program, ``again`` heals the crash that ``flow`` or ``app``
    provoke. ``held_out`` patterns were written before the guard had met them and were first run when it was done.
    """

    number: int
    name: str
    unsafe: str
    safe: str
    held_out: bool
    before: str = ""
    heal: str = ""
    app: str = ""
    flow: str = ""
    again: str = ""

    def text(self, part: str, variant: str) -> str:
        """One of the texts as ``variant`` has it: lines that are marked for the other one are left out."""
        other = "  # " + VARIANTS[1 - VARIANTS.index(variant)]
        lines = [line for line in getattr(self, part).splitlines() if not line.endswith(other)]
        return "\n".join(line.removesuffix("  # " + variant) for line in lines)


@dataclass(frozen=True)
class Case:
    """One variant of a pair."""

    point: Instance
    pattern: Pattern
    variant: str
    sink: str

    @property
    def id(self) -> str:
        return f"{self.point.id}--{self.key}"

    @property
    def key(self) -> str:
        """The case among those of its heal point."""
        return f"{self.pattern.number:02d}-{self.variant}"

    @property
    def pair(self) -> str:
        """The id of the pair."""
        return self.id.rpartition("-")[0]


def load_pattern(path: Path) -> Pattern:
    """The pattern in ``path``, named ``NN-words.toml``. Raises ``ValueError`` naming the file when it is not one."""
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
        texts = {part: record.pop(part).strip("\n") for part in _TEXTS if part in record}
        pattern = Pattern(number=int(path.name[:2]), held_out=record.pop("held_out", False), **record, **texts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"{path}: not a pattern of suite `guard`: {problem!r}") from None
    if not pattern.heal or not pattern.flow:
        raise ValueError(f"{path}: a pattern needs `heal` and `flow`")
    return pattern


def patterns(root: Path = ROOT) -> list[Pattern]:
    """All patterns by number."""
    return [load_pattern(path) for path in sorted((root / "patterns").glob("*.toml"))]


def points(root: Path = ROOT) -> list[tuple[Instance, str]]:
    """The heal points in order, each with the protected operation that is called there."""
    record = tomllib.loads((root / "points.toml").read_text(encoding="utf-8"))
    sinks = record["sinks"]
    return [(instances.load(instances.ROOT / name), sinks[index % len(sinks)])
            for index, name in enumerate(record["points"])]


def cases(wanted: str = "*", root: Path = ROOT) -> Iterator[Case]:
    """The cases whose id matches ``wanted`` (globs separated by commas), heal point by heal point."""
    for around in by_point(root):
        yield from (case for case in around if instances.matches(case.id, wanted))


def by_point(root: Path = ROOT) -> list[list[Case]]:
    """The cases around each heal point."""
    known, places = patterns(root), points(root)
    found: list[list[Case]] = [[] for _ in places]
    for index in range(PAIRS):
        # The two lengths have no common multiple below PAIRS, so no pattern meets a heal point twice.
        number = index % len(places)
        point, sink = places[number]
        found[number] += [Case(point, known[index % len(known)], variant, sink) for variant in VARIANTS]
    return found
