"""The running code in the environments of instances: one folder per state, never changed, never a mixture."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from benchmark_suites.releases import provision
from benchmark_suites.releases.environments import Environment, Environments, EnvironmentUnavailable


class Copying(Environments):
    """Environments that install without any installer: a source tree is copied, and what was asked for is kept."""

    edit: Path | None = None
    asked: list[list[str]]
    made = 0

    def install_into(self, folder: Path, requirement: str | Path) -> None:
        type(self).made += 1
        for package in provision.PACKAGES:
            shutil.copytree(Path(requirement) / package, folder / package)
        if self.edit is not None:
            self.edit.write_text(f"# edited {time.monotonic_ns()}\n", encoding="utf-8")

    def install(self, environment: Environment, arguments: Sequence[str], pins: Sequence[str]) -> None:
        assert list(pins) == ["a==1"]
        self.asked.append([str(environment.path), *arguments])

    def uninstall(self, environment: Environment, distribution: str) -> None:
        self.asked.append([str(environment.path), "without", distribution])


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A source tree of three small packages that stands for the running code."""
    tree = tmp_path / "tree"
    for package in provision.PACKAGES:
        (tree / package).mkdir(parents=True)
        (tree / package / "__init__.py").write_text("VALUE = 1\n", encoding="utf-8")
    (tree / "pytest_heal" / "schema.json").write_text("{}", encoding="utf-8")
    (tree / "benchmark_suites" / "releases").mkdir()
    (tree / "pyproject.toml").touch()
    monkeypatch.setattr(provision, "__file__", str(tree / "benchmark_suites" / "releases" / "provision.py"))
    monkeypatch.setattr(provision, "Environments", Copying)
    monkeypatch.setattr(Copying, "asked", [], raising=False)
    monkeypatch.setattr(Copying, "made", 0)
    yield tree
    provision._state.cache_clear()


@pytest.fixture
def environments(tree: Path, tmp_path: Path) -> Copying:
    assert (tree / "pyproject.toml").exists()
    return Copying(tmp_path / "envs")


@pytest.fixture
def environment(environments: Copying) -> Environment:
    path = environments.root / "some"
    path.mkdir(parents=True)
    return Environment(path, (3, 11))


def state(environments: Copying, environment: Environment) -> Path:
    """Where another process would find the running code."""
    provision._state.cache_clear()
    return Path(provision.install_plugin(environments, environment, ("a==1",)))


@pytest.mark.parametrize("name", ["healguard_core/__init__.py", "pytest_heal/schema.json", "benchmark_suites/new.toml"])
def test_every_changed_file_makes_another_state_and_leaves_the_first_alone(
    tree: Path, environments: Copying, environment: Environment, name: str
) -> None:
    first = state(environments, environment)
    before = {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}
    (tree / name).write_text("VALUE = 2\n", encoding="utf-8")
    second = state(environments, environment)
    assert second != first
    assert (second / name).read_text(encoding="utf-8") == "VALUE = 2\n"
    assert before == {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}


def test_a_state_is_made_once_and_nothing_is_left_beside_it(
    environments: Copying, environment: Environment
) -> None:
    assert state(environments, environment) == state(environments, environment)
    assert Copying.made == 1
    assert len(list((environments.root / provision.STATES).iterdir())) == 1


def test_sources_that_change_while_they_are_installed_are_never_taken(
    tree: Path, environments: Copying, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Copying, "edit", tree / "pytest_heal" / "edited.py")
    with pytest.raises(EnvironmentUnavailable, match="is being changed"):
        state(environments, environment)
    assert list((environments.root / provision.STATES).iterdir()) == []
    monkeypatch.setattr(Copying, "edit", None)
    assert state(environments, environment).is_dir()


def test_processes_at_once_get_the_same_whole_state(environments: Copying) -> None:
    environments.root.mkdir()
    found: list[Path] = []

    def look() -> None:
        found.append(provision._state.__wrapped__(environments.root))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert {path.name for path in found[0].iterdir()} == set(provision.PACKAGES)


def test_what_it_requires_is_installed_once_whatever_the_state(
    tree: Path, environments: Copying, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (tree / "pytest_heal" / "__init__.py").write_text(f"VALUE = {number}\n", encoding="utf-8")
        state(environments, environment)
    assert Copying.asked == [[str(environment.path), *provision.requirements()]]
    assert not any("extra" in text for text in provision.requirements())
    monkeypatch.setattr(provision, "requirements", lambda: ["another>=1"])
    state(environments, environment)
    assert Copying.asked[1:] == [[str(environment.path), "another>=1"]]


def test_an_older_pytest_heal_is_removed_from_an_environment(environments: Copying, environment: Environment) -> None:
    (environment.path / "heal-plugin.txt").write_text("0123456789abcdef", encoding="utf-8")
    state(environments, environment)
    state(environments, environment)
    assert Copying.asked == [[str(environment.path), "without", provision.DISTRIBUTION],
                             [str(environment.path), *provision.requirements()]]


def test_only_states_that_nobody_used_for_long_are_removed(
    tree: Path, environments: Copying, environment: Environment
) -> None:
    first = state(environments, environment)
    (tree / "pytest_heal" / "__init__.py").write_text("VALUE = 2\n", encoding="utf-8")
    second = state(environments, environment)
    assert first.is_dir()
    os.utime(first, (0, 0))
    state(environments, environment)
    assert not first.exists()
    assert second.is_dir()


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_the_whole_plugin_works_from_its_folder_alone(
    installer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if installer == "pip":
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
            pytest.skip("pip is not installed in this environment")
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    elif shutil.which("uv") is None:
        pytest.skip("uv is not installed here")
    monkeypatch.setenv("UV_OFFLINE", "1")
    package, into = tmp_path / "package", tmp_path / "into"
    package.mkdir()
    (package / "pyproject.toml").write_text("[project]\nname = 'small'\nversion = '1'\n"
                                            "[project.entry-points.pytest11]\nsmall = 'small'\n", encoding="utf-8")
    (package / "small.py").write_text("VALUE = 1\n", encoding="utf-8")
    try:
        Environments(tmp_path).install_into(into, package)
    except EnvironmentUnavailable as problem:
        if "setuptools" in str(problem):
            pytest.skip("setuptools cannot be had offline")
        raise
    ran = subprocess.run(
        [sys.executable, "-c", "import small; from importlib.metadata import entry_points; "
         "print(small.__file__, [one.value for one in entry_points(group='pytest11') if one.name == 'small'])"],
        env={**os.environ, "PYTHONPATH": str(into)}, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(into / "small.py"), "['small']"]
