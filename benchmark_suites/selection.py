"""Which results a report or comparison is about. Imports results and setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark_suites.results import Result, read_all
from benchmark_suites.setting import BASELINES
from healguard_core.settings.errors import nearest


def by_suite(folder: Path, suite: str | None = None) -> dict[str, dict[str, list[Result]]]:
    """The results in ``folder`` by suite, then by the name of their setting, baselines first.

    Raises ``ValueError`` when there is none, or none of ``suite``.
    """
    found: dict[str, dict[str, list[Result]]] = {}
    for result in read_all(folder):
        if suite in (None, result.suite):
            found.setdefault(result.suite, {}).setdefault(result.setting.name, []).append(result)
    if not found:
        raise ValueError(f"{folder} holds no results of suite {suite!r}")
    return {name: dict(sorted(settings.items(), key=_order)) for name, settings in sorted(found.items())}


def _order(item: tuple[str, list[Result]]) -> tuple[int, str]:
    first = item[1][0]
    place = BASELINES.index(first.agent) if first.agent in BASELINES else len(BASELINES)
    return place, first.setting.label


def one_setting(settings: dict[str, list[Result]], wanted: str) -> list[Result]:
    """The results of the setting called ``wanted``, or of the only setting of the agent ``wanted``.

    Raises ``ValueError`` that names the nearest or all choices.
    """
    if wanted in settings:
        return settings[wanted]
    of_agent = [name for name, results in settings.items() if results[0].agent == wanted]
    if len(of_agent) == 1:
        return settings[of_agent[0]]
    if of_agent:
        raise ValueError(f"agent {wanted!r} has several settings here; name one: {', '.join(of_agent)}")
    raise ValueError(f"there are no results of a setting {wanted!r}; {nearest(wanted, settings)}")


def label(results: Sequence[Result]) -> str:
    """The setting of ``results`` in words."""
    return results[0].setting.label


def runs_of(settings: Mapping[str, Sequence[Result]]) -> str:
    """Which versions and run files the results come from, in one sentence."""
    every = [result for results in settings.values() for result in results]
    versions = sorted({result.version for result in every if result.version})
    runs = {result.run for result in every if result.run}
    return (f"{len(every)} results in {len(settings)} settings, from {len(runs)} runs (see `runs/`), "
            f"with pytest-heal {', '.join(versions) or '(no version on record)'}.")
