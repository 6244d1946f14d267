"""One cached virtual environment per pinned set of requirements. Imports instances only.

An environment is found by what it holds: its name carries a hash of the Python version and of the pins. It is built
aside and renamed when complete, so a killed build or two builders at once leave nothing half done.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark_suites.releases.instances import Instance

READY = "heal-ready.json"
BUILD_TIMEOUT = 1800.0  # seconds for one call of an installer
_WINDOWS = os.name == "nt"


class EnvironmentUnavailable(Exception):
    """An environment cannot be had here; the text says what is missing and what to do."""


@dataclass(frozen=True)
class Environment:
    """A complete environment. ``version`` is (major, minor) of its Python."""

    path: Path
    version: tuple[int, int]

    @property
    def python(self) -> Path:
        return interpreter(self.path)


def default_root() -> Path:
    """Where environments are kept unless the user says otherwise: in the user's folder for caches."""
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if _WINDOWS else None)
    return (Path(base) if base else Path.home() / ".cache") / "pytest-heal" / "environments"


def interpreter(path: Path) -> Path:
    """The Python of the virtual environment at ``path``."""
    return path / ("Scripts/python.exe" if _WINDOWS else "bin/python")


def name(instance: Instance, role: str) -> str:
    """The folder of the environment: readable, and another one as soon as a pin or the Python differs."""
    wanted = json.dumps([instance.python, sorted(instance.requirements(role))])
    return f"{instance.id}-{role}-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"


class Environments:
    """The environments under ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._uv = shutil.which("uv")

    def get(self, instance: Instance, role: str = "buggy") -> Environment:
        """The environment of ``instance``, built if need be.

        Raises `EnvironmentUnavailable` when its Python or one of its requirements cannot be had.
        """
        path = self.root / name(instance, role)
        found = _ready(path)
        if found is None:
            self.root.mkdir(parents=True, exist_ok=True)
            self._build(instance, role, path)
            found = _ready(path)
            if found is None:
                raise EnvironmentUnavailable(f"{path} was built but does not start; remove it and try again")
            self._remove_older(instance, role, path)
        return found

    def install(self, environment: Environment, arguments: Sequence[str], pins: Sequence[str]) -> None:
        """Install ``arguments`` beside the ``pins``, none of which may change.

        Raises `EnvironmentUnavailable` when that is impossible.
        """
        self._prepare_pip(environment)
        with _pins_file(pins) as constraints:
            self._run([*self._installer(environment.path), "-c", constraints, *arguments],
                      f"{' '.join(arguments)} cannot be installed beside the pins in {environment.path}")

    def uninstall(self, environment: Environment, distribution: str) -> None:
        """Remove ``distribution``, which may be absent. Raises `EnvironmentUnavailable` when that is impossible."""
        self._prepare_pip(environment)
        python = str(environment.python)
        command = [self._uv, "pip", "uninstall", "--quiet", "--python", python] if self._uv else [
            python, "-m", "pip", "uninstall", "--quiet", "--yes"]
        self._run([*command, distribution], f"{distribution} cannot be removed from {environment.path}")

    def install_into(self, folder: Path, requirement: str | Path) -> None:
        """Install ``requirement`` alone, a source tree when it is a path, into ``folder``, which goes on PYTHONPATH.

        Raises `EnvironmentUnavailable` when that is impossible.
        """
        with tempfile.TemporaryDirectory(prefix="heal-wheel-") as wheels:
            if isinstance(requirement, Path):
                requirement = self._wheel(requirement, Path(wheels))
            command = [self._uv, "pip", "install", "--quiet", "--python", sys.executable] if self._uv else [
                sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
            self._run([*command, "--no-deps", "--target", str(folder), str(requirement)],
                      f"{requirement} cannot be installed into {folder} (uv, or pip in this environment, has to do it)")

    def _wheel(self, tree: Path, into: Path) -> Path:
        """The wheel of a source tree, always built anew: uv keeps those of trees until their pyproject.toml changes."""
        if self._uv:
            command = [self._uv, "build", "--quiet", "--wheel", "--python", sys.executable, "--out-dir", str(into)]
        else:
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(into)]
        self._run([*command, str(tree)],
                  f"{tree} cannot be built into a wheel (uv, or pip in this environment, has to do it)")
        (wheel,) = into.glob("*.whl")
        return wheel

    def _prepare_pip(self, environment: Environment) -> None:
        """Without uv: give pip to an environment that uv made."""
        if not self._uv:
            self._run([str(environment.python), "-m", "ensurepip"], f"pip cannot be had in {environment.path}")

    def _build(self, instance: Instance, role: str, path: Path) -> None:
        building = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=self.root))
        try:
            self._create(instance, building)
            with _pins_file(instance.requirements(role)) as pins:
                self._run([*self._installer(building), "--no-deps", "-r", pins],
                          f"{instance.id}: the {role} requirements cannot be installed")
            _mark_ready(building)
            if path.exists():
                shutil.rmtree(path)  # not ready: its Python is gone or it was left half done
            try:
                building.rename(path)
            except OSError:
                if _ready(path) is None:  # otherwise somebody else was faster, which is as good
                    raise
        finally:
            shutil.rmtree(building, ignore_errors=True)

    def _create(self, instance: Instance, path: Path) -> None:
        python = find_python(instance)
        if python is not None:
            command = [python, "-m", "venv", "--clear", *(["--without-pip"] if self._uv else []), str(path)]
        elif self._uv:
            command = [self._uv, "venv", "--clear", "--python", instance.python, str(path)]
        else:
            raise EnvironmentUnavailable(
                f"{instance.id} needs Python {instance.python}, which is not on PATH; "
                f"install it, or install uv, which fetches it"
            )
        self._run(command, f"{instance.id}: no environment with Python {instance.python} can be made")

    def _installer(self, path: Path) -> list[str]:
        if self._uv:
            return [self._uv, "pip", "install", "--quiet", "--python", str(interpreter(path))]
        return [str(interpreter(path)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]

    def _remove_older(self, instance: Instance, role: str, keep: Path) -> None:
        for other in self.root.glob(f"{instance.id}-{role}-*"):
            if other != keep and not other.is_symlink():
                shutil.rmtree(other, ignore_errors=True)

    @staticmethod
    def _run(command: Sequence[str], problem: str) -> None:
        try:
            ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                 timeout=BUILD_TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            raise EnvironmentUnavailable(f"{problem}: no answer within {BUILD_TIMEOUT:.0f} s") from None
        if ran.returncode:
            said = "\n".join((ran.stderr or ran.stdout).strip().splitlines()[-12:])
            raise EnvironmentUnavailable(f"{problem}:\n{said}")


def find_python(instance: Instance) -> str | None:
    """A Python for ``instance``: the running one, one on PATH, or for portable pins any newer running one."""
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    base = getattr(sys, "_base_executable", None) or sys.executable
    if running == instance.python:
        return base
    found = shutil.which(f"python{instance.python}")
    if found is not None and _version_of(Path(found)) != list(_version(instance.python)):
        found = None  # a version manager's stand-in for a Python that is not installed
    if found is None and instance.portable and sys.version_info[:2] > _version(instance.python):
        return base
    return found


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _ready(path: Path) -> Environment | None:
    """The environment at ``path`` when it is complete and its Python still starts."""
    try:
        marker = json.loads((path / READY).read_text(encoding="utf-8"))
        wanted = [int(part) for part in marker["version"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Environment(path, (wanted[0], wanted[1])) if _version_of(interpreter(path)) == wanted else None


def _version_of(python: Path) -> list[int]:
    """Major and minor version of ``python``; empty when it does not start."""
    try:
        ran = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"],
                             capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except OSError:
        return []
    return [int(part) for part in ran.stdout.split()] if ran.returncode == 0 else []


def _mark_ready(path: Path) -> None:
    (path / READY).write_text(json.dumps({"version": _version_of(interpreter(path))}), encoding="utf-8")


@contextlib.contextmanager
def _pins_file(pins: Sequence[str]) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="heal-pins-") as folder:
        path = Path(folder) / "pins.txt"
        path.write_text("\n".join(pins) + "\n", encoding="utf-8")
        yield str(path)
