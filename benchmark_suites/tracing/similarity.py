"""Trace Similarity: how closely an execution follows the reference run. Imports points."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from benchmark_suites.tracing.points import Trace


@dataclass(frozen=True)
class Similarity:
    """Two traces compared (seed paper, section 5 and C.3).

    - ``overlap``: direct count overlap, sum of the smaller over sum of the larger count of every point, 0 to 1.
    - ``equal``: the share of the reference's points whose counts are equal, 0 to 1.
    - ``points`` and ``reference_points``: how many each side has; ``files`` and ``functions``: of the execution.
    - ``complete``: both traces are whole.
    """

    overlap: float
    equal: float
    points: int
    reference_points: int
    files: int
    functions: int
    complete: bool

    def to_json(self) -> dict[str, Any]:
        """The figures as plain JSON."""
        return asdict(self)


def similarity(execution: Trace, reference: Trace) -> Similarity | None:
    """How closely ``execution`` follows ``reference``; None when one of them is empty, which is no similarity of 0."""
    if not execution.points or not reference.points:
        return None
    every = execution.points.keys() | reference.points.keys()
    pairs = [(execution.points.get(point, 0), reference.points.get(point, 0)) for point in every]
    equal = sum(execution.points.get(point) == count for point, count in reference.points.items())
    return Similarity(
        overlap=sum(map(min, pairs)) / sum(map(max, pairs)),
        equal=equal / len(reference.points),
        points=len(execution.points),
        reference_points=len(reference.points),
        files=len(execution.files),
        functions=len(execution.functions),
        complete=execution.complete and reference.complete,
    )
