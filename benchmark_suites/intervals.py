"""Intervals and tests for shares and paired results. Standard library only; each says which method it is."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

LEVEL = 0.95
"""Confidence level of every interval in the tables."""


@dataclass(frozen=True)
class Share:
    """``hits`` of ``total``, with its Wilson score interval."""

    hits: int
    total: int

    @property
    def percent(self) -> float:
        """The share in percent; 0 of nothing is 0."""
        return 100 * self.hits / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The Wilson score interval at `LEVEL`, in percent. (0, 100) when there is nothing."""
        return wilson(self.hits, self.total)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.percent:.1f} % [{low:.1f}, {high:.1f}]"


def wilson(hits: int, total: int, level: float = LEVEL) -> tuple[float, float]:
    """Wilson score interval (Wilson 1927) of ``hits`` of ``total``, in percent."""
    if not 0 <= hits <= total:
        raise ValueError(f"{hits} of {total} is no share")
    if not total:
        return 0.0, 100.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share = hits / total
    middle = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 100 / (1 + z * z / total)
    return max(0.0, scale * (middle - half)), min(100.0, scale * (middle + half))


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided p value of McNemar's exact (binomial) test, from the two counts of discordant pairs."""
    discordant = only_first + only_second
    if not discordant:
        return 1.0
    tail: int = sum(math.comb(discordant, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / float(2**discordant))


def paired_bootstrap(
    differences: Sequence[float], *, rounds: int = 10_000, seed: int = 20_240_801, level: float = LEVEL
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of ``differences``, one per instance, which are drawn as a whole.

    The seed is fixed, so the same results give the same interval. (0, 0) for no differences at all.
    """
    if not differences:
        return 0.0, 0.0
    drawn = random.Random(seed)
    means = sorted(fmean(drawn.choices(differences, k=len(differences))) for _ in range(rounds))
    tail = (1 - level) / 2
    return means[int(tail * rounds)], means[min(rounds - 1, int((1 - tail) * rounds))]
