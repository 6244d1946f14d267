"""The plots of a report as SVG. Imports metrics and selection, and matplotlib (extra ``bench``) when there is one."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from benchmark_suites import metrics, selection
from benchmark_suites.intervals import Share
from benchmark_suites.tables import Settings, decisions

MISSING = "Plots need matplotlib: python -m pip install 'pytest-heal[bench]'"

_Draw = Callable[[Any, Settings], bool]


def figures(settings: Settings) -> dict[str, str] | None:
    """SVG text by title; None when matplotlib is not installed."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        return None
    found = {}
    with matplotlib.rc_context({"svg.hashsalt": "pytest-heal", "font.size": 9, "svg.fonttype": "none"}):
        for title, draw in _FIGURES.items():
            figure = Figure(figsize=(8, 1.2 + 0.45 * max(3, len(settings))), layout="constrained")
            if draw(figure.add_subplot(), settings):
                out = io.StringIO()
                figure.savefig(out, format="svg", metadata={"Date": None})
                text = out.getvalue()
                found[title] = text[text.index("<svg"):]
    return found


def _labels(axes: Any, settings: Settings) -> list[int]:
    places = list(range(len(settings)))
    axes.set_yticks(places, [selection.label(results) for results in settings.values()])
    axes.invert_yaxis()
    return places


def _rates(axes: Any, settings: Settings) -> bool:
    places = _labels(axes, settings)
    every = [metrics.rates(results) for results in settings.values()]
    for offset, name, shares in ((-0.2, "PR", [each.pr for each in every]), (0.2, "CR", [each.cr for each in every])):
        values = [share.percent for share in shares]
        errors = list(zip(*(_error(share) for share in shares), strict=True))
        axes.barh([place + offset for place in places], values, 0.38, xerr=errors, label=name, error_kw={"lw": 0.8})
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of all instances, with Wilson intervals at 95 %")
    axes.legend()
    return True


def _error(share: Share) -> tuple[float, float]:
    low, high = share.interval
    return max(0.0, share.percent - low), max(0.0, high - share.percent)


def _actions(axes: Any, settings: Settings) -> bool:
    places = _labels(axes, settings)
    every = [metrics.actions(results) for results in settings.values()]
    if not any(found.total() for found in every):
        return False
    left = [0.0] * len(places)
    for action in metrics.ACTIONS:
        widths = [100 * found[action] / (found.total() or 1) for found in every]
        axes.barh(places, widths, 0.7, left=left, label=action)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_xlabel("% of all actions")
    axes.legend(ncols=len(metrics.ACTIONS), loc="lower center", bbox_to_anchor=(0.5, 1))
    return True


def _crashes(axes: Any, settings: Settings) -> bool:
    counts = [metrics.crash_counts(results) or [0.0] for results in settings.values()]
    axes.boxplot(counts, orientation="horizontal", widths=0.6, positions=range(len(counts)))
    _labels(axes, settings)
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlabel("recorded crashes per execution: quartiles, 1.5 IQR whiskers, outliers")
    return True


def _costs(axes: Any, settings: Settings) -> bool:
    drawn = False
    for results in settings.values():
        cost, _ = metrics.mean_usage(results, "cost_usd")
        if cost:
            drawn = True
            share = metrics.rates(results).cr
            axes.errorbar(cost, share.percent, yerr=[[error] for error in _error(share)], fmt="o")
            axes.annotate(selection.label(results), (cost, share.percent), xytext=(4, 4), textcoords="offset points")
    axes.set_xlabel("mean cost per instance, USD")
    axes.set_ylabel("CR, %")
    return drawn


def _roc(axes: Any, settings: Settings) -> bool:
    table = decisions(settings)
    for row in table.rows:
        if row[8] and row[10]:
            axes.plot(float(row[10]), float(row[8]), "o", label=f"{row[0]}: {row[1]}")
    axes.set_xlim(-2, 102)
    axes.set_ylim(-2, 102)
    axes.set_xlabel("false positive rate, %")
    axes.set_ylabel("recall, %")
    if table.rows:
        axes.legend()
    return bool(table.rows)


_FIGURES: dict[str, _Draw] = {
    "PR and CR": _rates, "Actions": _actions, "Crashes per execution": _crashes, "Cost and CR": _costs,
    "Guard: recall and false positives": _roc,
}
