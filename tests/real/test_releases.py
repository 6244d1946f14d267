"""A few instances of suite `releases`, really run: environments from PyPI, the plugin inside them, reviewed heals."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark_suites.releases import instances, runner, verify
from benchmark_suites.releases.environments import Environments, default_root

CHOSEN = "tabulate-0.9.0-*,boltons-25.0.0-*,werkzeug-3.0.4-*,networkx-3.0-*,pandas-1.4.0-loc-*"

pytestmark = pytest.mark.real


@pytest.fixture
def environments() -> Environments:
    return Environments(default_root())


@pytest.mark.parametrize("instance", list(instances.load_all(CHOSEN)), ids=lambda instance: instance.id)
def test_reviewed_heal_makes_the_target_pass(instance: instances.Instance, environments: Environments) -> None:
    result = runner.run(instance, runner.Setting(), environments)
    assert result.outcome == "correct", result.problem + result.output
    assert sum(bool(crash["heal"]) for crash in result.crashes) == instance.hits


@pytest.mark.parametrize("instance", list(instances.load_all("tabulate-0.9.0-*")), ids=lambda instance: instance.id)
def test_instance_is_as_recorded(instance: instances.Instance, environments: Environments) -> None:
    assert verify.problems(instance, environments) == []


def test_wrong_heal_does_not_count(environments: Environments, tmp_path: Path) -> None:
    """Merely leaving the statement out gives this bug a wrong state, so the target test must not pass."""
    (instance,) = instances.load_all("werkzeug-3.0.4-*")
    folder = tmp_path / instance.id
    folder.mkdir()
    for path in instance.folder.iterdir():
        text = path.read_text(encoding="utf-8")
        folder.joinpath(path.name).write_text(text.replace("resume: continue", "resume: next"), encoding="utf-8")
    result = runner.run(instances.load(folder), runner.Setting(), environments)
    assert result.outcome == "proceed", result.problem + result.output
