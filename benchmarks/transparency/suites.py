"""Environments and test folders of the suites: prepared once, kept in a work directory."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Suite:
    """One released package with its tests."""

    name: str
    requires: list[str]
    args: list[str]
    source: str
    sdist: str = ""
    held_out: bool = False


def load() -> dict[str, Suite]:
    """All suites by name."""
    text = (Path(__file__).parent / "suites.toml").read_text(encoding="utf-8")
    return {name: Suite(name=name, **table) for name, table in tomllib.loads(text).items()}


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A suite that can be run: the environment's Python and the folder to run in."""

    suite: Suite
    python: Path
    folder: Path

    def pytest(self, *args: str, timeout: float, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run the suite's tests with further arguments; output captured as text."""
        command = [str(self.python.with_name("pytest")), "-p", "no:cacheprovider", "-q", *self.suite.args, *args]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | (env or {})
        return subprocess.run(
            command, cwd=self.folder, env=environment, text=True, capture_output=True, timeout=timeout, check=False
        )


def prepare(suite: Suite, work: Path) -> Prepared:
    """Make the suite's environment and folder under ``work`` unless they are there already.

    Raises ``subprocess.CalledProcessError`` when a requirement cannot be installed.
    """
    key = hashlib.sha256(repr((suite.requires, suite.sdist, sys.version_info[:2])).encode()).hexdigest()[:12]
    home = work / f"{suite.name}-{key}"
    python = home / "env" / "bin" / "python"
    folder = home / "run"
    if not (home / "ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        _environment(home / "env", [*suite.requires, "pytest-timeout", "pytest-cov", "-e", str(REPOSITORY)])
        if suite.sdist:
            _unpack(suite.sdist, home, folder)
        else:
            folder.mkdir()
        (home / "ready").touch()
    return Prepared(suite, python, folder)


def _environment(path: Path, requirements: list[str]) -> None:
    uv = shutil.which("uv")
    if uv:
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(path)], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", str(path / "bin/python")]
        subprocess.run([*install, *requirements], check=True)
    else:
        subprocess.run([sys.executable, "-m", "venv", str(path)], check=True)
        subprocess.run([str(path / "bin/python"), "-m", "pip", "install", "--quiet", *requirements], check=True)


def _unpack(requirement: str, home: Path, folder: Path) -> None:
    """Tests from the source distribution, without its copy of the package itself."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
         "--dest", str(home), requirement],
        check=True,
    )
    (archive,) = home.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(home / "sdist", filter="data")
    (unpacked,) = (home / "sdist").iterdir()
    unpacked.rename(folder)
    for entry in folder.iterdir():
        if entry.name not in ("tests", "test", "examples", "docs") and (entry / "__init__.py").exists():
            shutil.rmtree(entry)  # the installed package is the one under test
