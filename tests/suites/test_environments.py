"""Cached environments: built once, found again, built anew when stale, and clear words when they cannot be had."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark_suites.releases import environments, instances

RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def instance() -> instances.Instance:
    """An instance that needs this Python and nothing else."""
    some = next(instances.load_all())
    return dataclasses.replace(some, python=RUNNING, requirements_buggy=(), requirements_fixed=())


@pytest.fixture(params=["uv", "pip"], autouse=True)
def installer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both ways to install, without any network."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    if request.param == "pip":
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    elif shutil.which("uv") is None:
        pytest.skip("uv is not installed here")


def test_built_once_and_found_again(instance: instances.Instance, tmp_path: Path) -> None:
    old, other = tmp_path / f"{instance.id}-buggy-0123456789ab", tmp_path / f"{instance.id}-fixed-0123456789ab"
    old.mkdir()
    other.mkdir()
    first = environments.Environments(tmp_path).get(instance)
    assert first.version == sys.version_info[:2]
    where = subprocess.run([first.python, "-c", "import sys; print(sys.prefix != sys.base_prefix)"],
                           capture_output=True, text=True, check=True)
    assert where.stdout.strip() == "True"
    assert not old.exists(), "an environment for other pins of the same role is out of date"
    assert other.exists()
    (first.path / "kept").touch()
    second = environments.Environments(tmp_path).get(instance)
    assert second.path == first.path
    assert (second.path / "kept").exists()


def test_roles_have_environments_of_their_own(instance: instances.Instance) -> None:
    assert environments.name(instance, "buggy") != environments.name(instance, "fixed")


def test_another_name_for_other_pins_or_python(instance: instances.Instance) -> None:
    others = [dataclasses.replace(instance, requirements_buggy=("a==1",)), dataclasses.replace(instance, python="3.99")]
    names = {environments.name(each, "buggy") for each in [instance, *others]}
    assert len(names) == 3
    mixed = [dataclasses.replace(instance, requirements_buggy=pins) for pins in (("a==1", "b==2"), ("b==2", "a==1"))]
    assert environments.name(mixed[0], "buggy") == environments.name(mixed[1], "buggy")


def test_broken_one_is_built_anew(instance: instances.Instance, tmp_path: Path) -> None:
    builder = environments.Environments(tmp_path)
    half = tmp_path / environments.name(instance, "buggy")
    (half / "bin").mkdir(parents=True)
    (half / environments.READY).write_text("{}", encoding="utf-8")
    found = builder.get(instance)
    assert found.python.exists()
    found.python.unlink()
    assert builder.get(instance).python.exists()


def test_requirement_that_cannot_be_had_is_named(instance: instances.Instance, tmp_path: Path) -> None:
    wrong = dataclasses.replace(instance, requirements_buggy=("no-such-thing-anywhere==1.0",))
    with pytest.raises(environments.EnvironmentUnavailable, match="no-such-thing-anywhere") as caught:
        environments.Environments(tmp_path).get(wrong)
    assert instance.id in str(caught.value)
    assert list(tmp_path.iterdir()) == [], "nothing half done is left behind"


def test_python_that_is_not_there_is_named(instance: instances.Instance, tmp_path: Path) -> None:
    with pytest.raises(environments.EnvironmentUnavailable, match=r"3\.99"):
        environments.Environments(tmp_path).get(dataclasses.replace(instance, python="3.99"))


def test_stand_in_for_a_python_is_no_python(
    instance: instances.Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "python3.99"
    stand_in.write_text("#!/bin/sh\necho not installed >&2\nexit 127\n", encoding="utf-8")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environments.find_python(dataclasses.replace(instance, python="3.99")) is None


def test_portable_pins_fall_back_to_a_newer_python(instance: instances.Instance) -> None:
    older = dataclasses.replace(instance, python="3.1", portable=True)
    assert environments.find_python(older)
    assert environments.find_python(dataclasses.replace(older, portable=False)) is None
