"""Two settings on the same instances. Imports selection, metrics and intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmark_suites import selection
from benchmark_suites.intervals import LEVEL, Share, mcnemar, paired_bootstrap
from benchmark_suites.metrics import proceeded
from benchmark_suites.results import Result
from benchmark_suites.tables import Table

Pair = tuple[Result, Result]


def compare(folder: Path, first: str, second: str, suite: str | None = None) -> str:
    """The comparison as Markdown. Raises ``ValueError`` for settings that are not there or have nothing in common."""
    suites = selection.by_suite(folder, suite)
    if len(suites) > 1:
        raise ValueError(f"{folder} holds several suites; name one: --suite=NAME with one of {', '.join(suites)}")
    (settings,) = suites.values()
    one, two = selection.one_setting(settings, first), selection.one_setting(settings, second)
    pairs = pairs_of(one, two)
    if not pairs:
        raise ValueError(f"{first} and {second} have no instance in common")
    alone = len(one) + len(two) - 2 * len(pairs)
    names = (selection.label(one), selection.label(two))
    parts = [f"# {names[0]} and {names[1]}, {next(iter(suites))}",
             f"{len(pairs)} instances that both have" + (f"; {alone} of one alone are left out." if alone else "."),
             table(pairs, names).markdown(), METHODS]
    parts += [_changed(pairs, names)]
    return "\n\n".join(part for part in parts if part)


METHODS = (f"p: McNemar's exact (binomial) test, two-sided. Shares: Wilson score intervals. Differences: percentile "
           f"bootstrap over instances, which are drawn in pairs (10,000 rounds, fixed seed). All at {LEVEL:.0%}. TS "
           f"and costs are compared on the instances where both are known.")


def pairs_of(one: Sequence[Result], two: Sequence[Result]) -> list[Pair]:
    """The results of both about the same instance in the same state, by instance."""
    other = {(result.instance, result.digest): result for result in two}
    found = [(result, other[result.instance, result.digest]) for result in one
             if (result.instance, result.digest) in other]
    return sorted(found, key=lambda pair: pair[0].instance)


def table(pairs: Sequence[Pair], names: tuple[str, str]) -> Table:
    """One row per measure."""
    rows = [_share("PR", pairs, proceeded), _share("CR", pairs, lambda result: result.right)]
    rows += [row for row in (_mean("TS", pairs, _overlap, 100, " %"), _mean("crashes", pairs, _crashes),
                             _mean("seconds", pairs, lambda result: result.seconds),
                             _mean("cost, USD", pairs, _cost)) if row]
    return Table("Comparison", ["measure", *names, "difference", "only first", "only second", "p"], rows)


def _share(name: str, pairs: Sequence[Pair], holds: Callable[[Result], bool]) -> list[str]:
    truth = [(holds(one), holds(two)) for one, two in pairs]
    only_first, only_second = sum(a and not b for a, b in truth), sum(b and not a for a, b in truth)
    shares = [Share(sum(column), len(pairs)) for column in zip(*truth, strict=True)]
    low, high = paired_bootstrap([100.0 * (b - a) for a, b in truth])
    change = shares[1].percent - shares[0].percent
    return [name, str(shares[0]), str(shares[1]), f"{change:+.1f} [{low:+.1f}, {high:+.1f}]", str(only_first),
            str(only_second), f"{mcnemar(only_first, only_second):.3g}"]


def _mean(
    name: str, pairs: Sequence[Pair], value: Callable[[Result], float | None], scale: float = 1, unit: str = ""
) -> list[str] | None:
    known = [(scale * a, scale * b) for a, b in ((value(one), value(two)) for one, two in pairs)
             if a is not None and b is not None]
    if not known:
        return None
    means = [sum(column) / len(known) for column in zip(*known, strict=True)]
    low, high = paired_bootstrap([b - a for a, b in known])
    return [f"{name} (n={len(known)})", f"{means[0]:.4g}{unit}", f"{means[1]:.4g}{unit}",
            f"{means[1] - means[0]:+.3g} [{low:+.3g}, {high:+.3g}]", "", "", ""]


def _overlap(result: Result) -> float | None:
    return (result.trace or {}).get("overlap")


def _crashes(result: Result) -> float:
    return float(len(result.crashes))


def _cost(result: Result) -> float | None:
    return result.usage.get("cost_usd") or None


def _changed(pairs: Sequence[Pair], names: tuple[str, str]) -> str:
    """Which instances only one of the two got right."""
    lines = []
    for name, one, two in ((names[0], 0, 1), (names[1], 1, 0)):
        found = [pair[0].instance for pair in pairs if pair[one].right and not pair[two].right]
        if found:
            lines.append(f"Right only with {name}: {', '.join(found)}.")
    return "\n\n".join(lines)
