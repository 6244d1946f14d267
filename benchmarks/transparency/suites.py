"""Environments and test folders of the suites: prepared once, kept in a work directory."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
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
    """One released package with its tests.

    ``requires``: what to install; ``args``: pytest's arguments; ``source``: the package under test; ``sdist``: whose
    source distribution has the tests ("": they are installed with the package); ``in_place``: tests inside the package
    need the source distribution's own copy of it; ``env``: further environment variables; ``files``: texts to write
    into the folder; ``held_out``: the decision was never changed because of what this suite showed.
    """

    name: str
    requires: list[str]
    args: list[str]
    source: str
    sdist: str = ""
    in_place: bool = False
    env: dict[str, str] = dataclasses.field(default_factory=dict)
    files: dict[str, str] = dataclasses.field(default_factory=dict)
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
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment |= self.suite.env | (env or {})
        paths = [str(self.folder)] if self.suite.in_place else []
        paths += [values["PYTHONPATH"] for values in (self.suite.env, env or {}) if "PYTHONPATH" in values]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        return subprocess.run(
            command, cwd=self.folder, env=environment, text=True, capture_output=True, timeout=timeout, check=False
        )


def prepare(suite: Suite, work: Path) -> Prepared:
    """Make the suite's environment and folder under ``work`` unless they are there already.

    Raises ``subprocess.CalledProcessError`` when a requirement cannot be installed.
    """
    made_of = (suite.requires, suite.sdist, suite.in_place, sorted(suite.files.items()), sys.version_info[:2])
    key = hashlib.sha256(repr(made_of).encode()).hexdigest()[:12]
    home = work / f"{suite.name}-{key}"
    python = home / "env" / "bin" / "python"
    folder = home / "run"
    if not (home / "ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        _environment(home / "env", [*suite.requires, "pytest-timeout", "pytest-cov", "-e", str(REPOSITORY)])
        if suite.sdist:
            _unpack(suite, home, folder)
        else:
            folder.mkdir()
        for path, text in suite.files.items():
            (folder / path).write_text(text, encoding="utf-8")
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


def _unpack(suite: Suite, home: Path, folder: Path) -> None:
    """Tests from the source distribution, without its copy of the package itself unless they live in it."""
    subprocess.run(
        [*_pip(), "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(home), suite.sdist],
        check=True,
    )
    (archive,) = home.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(home / "sdist", filter="data")
    (unpacked,) = (home / "sdist").iterdir()
    unpacked.rename(folder)
    if suite.in_place:
        return
    for entry in folder.iterdir():
        if entry.name not in ("tests", "test", "examples", "docs") and (entry / "__init__.py").exists():
            shutil.rmtree(entry)  # the installed package is the one under test


def _pip() -> list[str]:
    """The command of a pip: uv cannot download source distributions."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip")
    if found is None:
        raise RuntimeError("pip is needed to download source distributions: install it, or use a Python that has it")
    return [found]
