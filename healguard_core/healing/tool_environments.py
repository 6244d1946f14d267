"""Where agents that are packages of their own live: in this Python, or in an environment made for one agent.

``pytest-heal agents install NAME`` makes such an environment; nothing of it touches the code under test. Standard
library and packaging only.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

FOLDER = "HEAL_AGENTS_DIR"
"""The variable that names another folder for environments."""
_MARKER = "heal-agent.json"
_NEWEST = 14  # minor version of the newest Python that is looked for
_SILENT = 20.0  # seconds that a Python may take to say its version


class InstallError(RuntimeError):
    """An environment could not be made; the text says why and what to do."""


@dataclass(frozen=True)
class Package:
    """What an agent needs: a requirement as for pip, modules that must be importable, and the oldest Python."""

    agent: str
    requirement: str
    modules: tuple[str, ...]
    python: tuple[int, int] = (3, 10)

    @property
    def needs(self) -> str:
        return f"{self.requirement} on Python {self.python[0]}.{self.python[1]} or newer"


def folder(environ: Mapping[str, str]) -> Path:
    """Where environments are kept: `FOLDER`, else below XDG_DATA_HOME (by default ~/.local/share)."""
    named = environ.get(FOLDER)
    if named:
        return Path(os.path.abspath(os.path.expanduser(named)))
    return Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "healguard" / "agents"


def found(package: Package, environ: Mapping[str, str]) -> Path | None:
    """A Python that has ``package``: this one, or the one of the agent's environment."""
    if here(package):
        return Path(sys.executable)
    return installed(package, environ)


def here(package: Package) -> bool:
    """Whether this Python has it, in a version that fits."""
    if sys.version_info[:2] < package.python:
        return False
    wanted = Requirement(package.requirement)
    try:
        version = importlib.metadata.version(wanted.name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return wanted.specifier.contains(version, prereleases=True)


def installed(package: Package, environ: Mapping[str, str]) -> Path | None:
    """The Python of the environment that was made for ``package`` as it is wanted now."""
    place = folder(environ) / package.agent
    try:
        marker = json.loads((place / _MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    python = place / "bin" / "python"
    return python if marker.get("requirement") == package.requirement and python.exists() else None


def absent(package: Package) -> str:
    """What to say about a package that is nowhere."""
    return (f"{package.agent} is not installed (it needs {package.needs}): "
            f"pytest-heal agents install {package.agent}")


def install(
    package: Package, environ: Mapping[str, str], *, python: str = "", again: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Make the environment of ``package``, unless it is there already, and return its Python.

    ``python`` is a program or version to make it from; by default a fitting one is looked for. ``again`` makes it anew.
    Raises `InstallError`.
    """
    place = folder(environ) / package.agent
    with _alone(place):
        there = installed(package, environ)
        if there is not None and not again and _runs(there):
            say(f"{package.agent} is installed in {place}")
            return there
        base = _base(package, environ, python)
        say(f"making {place} with {base} (this takes a minute or more)")
        shutil.rmtree(place, ignore_errors=True)
        try:
            made = _made(place, base, package, environ)
        except InstallError:
            shutil.rmtree(place, ignore_errors=True)
            raise
        marker = {"requirement": package.requirement, "python": base, "version": _version(made, package)}
        (place / _MARKER).write_text(json.dumps(marker), encoding="utf-8")
        say(f"{package.agent}: installed {marker['version']}")
        return made


# --------------------------------------------------------------------------- making


def _made(place: Path, base: str, package: Package, environ: Mapping[str, str]) -> Path:
    clean = {name: value for name, value in environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    python = place / "bin" / "python"
    uv = shutil.which("uv", path=environ.get("PATH"))
    if uv is not None:
        _run([uv, "venv", "--quiet", "--no-project", "--python", base, str(place)], clean)
        _run([uv, "pip", "install", "--quiet", "--python", str(python), package.requirement], clean)
    else:
        _run([base, "-m", "venv", str(place)], clean)
        _run([str(python), "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check",
              package.requirement], clean)
    # Whether it works; and what is imported is compiled now, not while a test waits.
    _run([str(python), "-I", "-c", "; ".join(f"import {module}" for module in package.modules) or "pass"],
         {**clean, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HOME": str(place)})
    return python


def _run(command: list[str], environ: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(command, env=dict(environ), capture_output=True, text=True, check=False, cwd="/")
    except OSError as error:
        raise InstallError(f"cannot run {command[0]}: {error.strerror}") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing")[-2000:]
        shown = " ".join(command[:4] if len(command) > 8 else command)
        raise InstallError(f"{shown} ... failed with exit code {done.returncode}:\n{said}")


def _version(python: Path, package: Package) -> str:
    name = Requirement(package.requirement).name
    code = f"import importlib.metadata as m; print(m.version({name!r}))"
    done = subprocess.run([str(python), "-I", "-c", code], capture_output=True, text=True, check=False)
    return f"{name} {done.stdout.strip()}"


def _runs(python: Path) -> bool:
    return _minor(str(python)) is not None


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Only one process at a time makes an environment."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = (place.parent / f".{place.name}.lock").open("w")
    except OSError as error:
        advice = f"name another folder in {FOLDER}"
        raise InstallError(f"cannot write to {place.parent}: {error.strerror}; {advice}") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# --------------------------------------------------------------------------- a Python to start from


def _base(package: Package, environ: Mapping[str, str], asked: str) -> str:
    wanted = f"Python {package.python[0]}.{package.python[1]} or newer"
    if asked:
        name = f"python{asked}" if re.fullmatch(r"3\.\d+", asked) else asked
        candidates: Iterable[str] = [path for path in _pythons(environ) if Path(path).name == name] or [name]
        fitting = _first(candidates, package)
        if fitting is None:
            raise InstallError(f"{asked!r} is no {wanted}, which {package.agent} needs")
        return fitting
    fitting = _first([sys.executable, *_pythons(environ)], package)
    if fitting is None:
        raise InstallError(f"{package.agent} needs {wanted}, and none was found; name one: "
                           f"pytest-heal agents install {package.agent} --python=PATH")
    return fitting


def _first(candidates: Iterable[str], package: Package) -> str | None:
    for path in candidates:
        minor = _minor(path)
        if minor is not None and minor >= package.python:
            return path
    return None


def _pythons(environ: Mapping[str, str]) -> Iterator[str]:
    """Programs that may be a Python: on PATH, and pyenv's, whose stand-ins on PATH work only where they are chosen."""
    path = environ.get("PATH")
    for minor in (13, 12, 11, _NEWEST, 10):
        program = shutil.which(f"python3.{minor}", path=path)
        if program is not None:
            yield program
        versions = Path(environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
        for place in sorted(versions.glob(f"3.{minor}.*"), reverse=True):
            yield str(place / "bin" / f"python3.{minor}")
    program = shutil.which("python3", path=path)
    if program is not None:
        yield program


@functools.cache
def _minor(program: str) -> tuple[int, int] | None:
    """The version of a Python; None when it does not run."""
    code = "import sys, venv; print(sys.version_info[0], sys.version_info[1])"
    try:
        done = subprocess.run([program, "-I", "-c", code], capture_output=True, text=True, timeout=_SILENT, check=False)
        major, minor = done.stdout.split()
        return int(major), int(minor)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
