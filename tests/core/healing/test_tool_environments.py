"""Environments for agents, really made, of a package that is built here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from healguard_core.healing import tool_environments as tools
from healguard_core.healing.tool_environments import InstallError, Package

WITHOUT_UV = "without uv"


def package(folder: Path, module: str = "toy_agent", body: str = "ANSWER = 42", **more: object) -> Package:
    """An agent's package in a wheel of its own."""
    wheel = folder / f"{module}-1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr(f"{module}.py", body)
        info = f"{module}-1.2.dist-info"
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.2\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return Package("toy", f"{module} @ {wheel.as_uri()}", (module,), **more)  # type: ignore[arg-type]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "HEAL_AGENTS_DIR": str(tmp_path / "agents")}


def without_uv(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment in which uv is not found, and everything else of its folder is."""
    uv = shutil.which("uv", path=environ.get("PATH"))
    if uv is None:
        return dict(environ)
    kept = [entry for entry in environ["PATH"].split(os.pathsep) if not Path(entry, "uv").exists()]
    return {**environ, "PATH": os.pathsep.join(kept)}


@pytest.mark.parametrize("installer", ["uv", WITHOUT_UV])
def test_an_environment_is_made_once(tmp_path: Path, environ: dict[str, str], installer: str) -> None:
    if installer == WITHOUT_UV:
        environ = without_uv(environ)
    elif shutil.which("uv") is None:
        pytest.skip("uv is not installed here")
    wanted = package(tmp_path)
    assert tools.found(wanted, environ) is None
    said: list[str] = []
    python = tools.install(wanted, environ, say=said.append)
    assert said[-1] == "toy: installed toy_agent 1.2"
    ran = subprocess.run([python, "-I", "-c", "import toy_agent; print(toy_agent.ANSWER)"], capture_output=True,
                         text=True, check=True)
    assert ran.stdout == "42\n"
    before = python.stat().st_mtime_ns
    assert tools.install(wanted, environ, say=said.append) == python
    assert said[-1].startswith("toy is installed in ")
    assert python.stat().st_mtime_ns == before
    assert tools.found(wanted, environ) == python
    other = Package("toy", "toy_agent>=9", ("toy_agent",))
    assert tools.found(other, environ) is None, "what another version has made is not taken for this one"


def test_a_package_that_cannot_be_had_leaves_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    absent = Package("toy", f"toy @ {(tmp_path / 'absent-1.0-py3-none-any.whl').as_uri()}", ("toy",))
    with pytest.raises(InstallError, match=r"install .* failed with exit code \d+:(.|\n)*absent-1.0"):
        tools.install(absent, environ)
    assert not (tmp_path / "agents" / "toy").exists()
    assert tools.found(absent, environ) is None


@pytest.mark.real
def test_a_package_that_cannot_be_imported_leaves_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    broken = package(tmp_path, body="raise RuntimeError('it wants a graphics card')")
    with pytest.raises(InstallError, match="it wants a graphics card"):
        tools.install(broken, environ)
    assert not (tmp_path / "agents" / "toy").exists()


def test_a_python_that_is_new_enough_is_needed(tmp_path: Path, environ: dict[str, str]) -> None:
    wanted = package(tmp_path, python=(3, 99))
    with pytest.raises(InstallError, match=r"toy needs Python 3\.99 or newer, and none was found; name one"):
        tools.install(wanted, environ)
    with pytest.raises(InstallError, match=r"is no Python 3\.99 or newer, which toy needs"):
        tools.install(wanted, environ, python=sys.executable)
    with pytest.raises(InstallError, match="'/no/such/python' is no Python"):
        tools.install(package(tmp_path), environ, python="/no/such/python")


def test_a_folder_that_cannot_be_written(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InstallError, match=r"cannot write to .*; name another folder in HEAL_AGENTS_DIR"):
        tools.install(package(tmp_path), {**environ, "HEAL_AGENTS_DIR": str(tmp_path / "file" / "agents")})


def test_what_is_beside_us_needs_no_environment(environ: dict[str, str]) -> None:
    assert tools.found(Package("toy", "pytest>=8", ("pytest",)), environ) == Path(sys.executable)
    assert tools.found(Package("toy", "pytest>=999", ("pytest",)), environ) is None
    assert tools.found(Package("toy", "pytest>=8", ("pytest",), (3, 99)), environ) is None


@pytest.mark.real
def test_two_at_once_make_one(tmp_path: Path, environ: dict[str, str]) -> None:
    wanted = package(tmp_path)
    said: list[str] = []
    threads = [threading.Thread(target=tools.install, args=(wanted, environ), kwargs={"say": said.append})
               for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(text.startswith("making ") for text in said) == 1


@pytest.mark.parametrize(("environ", "place"), [
    ({"HEAL_AGENTS_DIR": "/a"}, "/a"),
    ({"XDG_DATA_HOME": "/data"}, "/data/healguard/agents"),
    ({}, "~/.local/share/healguard/agents"),
])
def test_where_environments_are(environ: dict[str, str], place: str) -> None:
    assert str(tools.folder(environ)) == os.path.expanduser(place)
