"""Makes the running pytest-heal available inside an instance's environment. Imports environments only.

From Python 3.11 on what the distribution requires is installed beside the pins, and the distribution itself comes from
a folder on PYTHONPATH. There is one folder per state of the code; it is made aside, renamed when complete and never
changed. So a newer pytest-heal needs no environment anew, and runs of two states at the same time never see a mixture.
Older Pythons get the execution side as one zip file.
"""

import functools
import hashlib
import importlib.metadata
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from benchmark_suites.releases.environments import Environment, Environments, EnvironmentUnavailable

DISTRIBUTION = "pytest-heal"
PACKAGES = ("healguard_core", "pytest_heal", "benchmark_suites")
PLUGIN_FROM = (3, 11)
STATES = ".states"
"""The folder below the environments that has the states of the code."""
MARKER = "heal-requirements.txt"
"""In an environment: what was installed beside its pins for pytest-heal."""

_INSTALLED_ITSELF = "heal-plugin.txt"  # in environments of an older pytest-heal, which put itself into them
_UNUSED = 7 * 24 * 3600.0  # seconds after which nobody can be running with a state any more
_ATTEMPTS = 5  # at a state of sources that somebody is editing


def install_plugin(environments: Environments, environment: Environment, pins: tuple[str, ...]) -> str:
    """Prepare ``environment`` for the running pytest-heal; the folder that has to be first on its PYTHONPATH.

    Raises `EnvironmentUnavailable` when that folder cannot be made, or when what it requires cannot be installed
    beside ``pins``.
    """
    state = _state(environments.root)
    wanted = requirements()
    marker = environment.path / MARKER
    if not marker.is_file() or marker.read_text(encoding="utf-8").splitlines() != wanted:
        if (environment.path / _INSTALLED_ITSELF).exists():
            environments.uninstall(environment, DISTRIBUTION)
            (environment.path / _INSTALLED_ITSELF).unlink(missing_ok=True)
        environments.install(environment, wanted, pins)
        made = marker.with_name(f"{MARKER}-{os.getpid()}")
        made.write_text("".join(f"{line}\n" for line in wanted), encoding="utf-8")
        made.replace(marker)
    return str(state)


@functools.cache
def requirements() -> list[str]:
    """What the distribution requires without its extras, sorted."""
    declared = importlib.metadata.requires(DISTRIBUTION) or []
    return sorted(text for text in declared if "extra" not in text.partition(";")[2])


def running_state() -> str:
    """A text that differs as soon as any file of the code that is running differs."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in _files(root):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _files(root: Path) -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.is_file() and not {"instances", "__pycache__"}.intersection(path.parts):
                yield path


@functools.cache
def _state(root: Path) -> Path:
    """The folder of the running code below ``root``, made if need be; looked for once per process."""
    states = root / STATES
    states.mkdir(parents=True, exist_ok=True)
    for _ in range(_ATTEMPTS):
        identity = running_state()
        kept = states / identity
        if kept.is_dir() or _make(Environments(root), kept):
            os.utime(kept)
            _remove_unused(states)
            return kept
    raise EnvironmentUnavailable(f"{_folder()} is being changed while it is installed; run again when it is at rest")


def _make(environments: Environments, kept: Path) -> bool:
    """Whether ``kept`` is there now: not when the sources were changed meanwhile, so that neither state was made."""
    making = Path(tempfile.mkdtemp(prefix=".making-", dir=kept.parent))
    try:
        environments.install_into(making, requirement())
        if running_state() != kept.name:
            return False
        making.rename(kept)
    except OSError:
        if not kept.is_dir():  # otherwise another process was faster
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return True


def _remove_unused(states: Path) -> None:
    for other in states.iterdir():
        try:
            unused = time.time() - other.stat().st_mtime > _UNUSED
        except FileNotFoundError:
            continue  # another process removed it
        if unused:
            shutil.rmtree(other, ignore_errors=True)


def requirement() -> str | Path:
    """What to install to get the code that is running: its source tree, a release, or a revision of a repository."""
    folder, origin = _folder(), _origin()
    if folder is not None:
        return folder
    if "vcs_info" in origin:
        return f"{DISTRIBUTION} @ {origin['vcs_info']['vcs']}+{origin['url']}@{origin['vcs_info']['commit_id']}"
    return f"{DISTRIBUTION}=={importlib.metadata.version(DISTRIBUTION)}"


def _folder() -> Path | None:
    """The source tree that the running code is in or was installed from; None when there is none any more."""
    checkout = Path(__file__).resolve().parents[2]
    origin = _origin()
    installed_from = Path(url2pathname(urlsplit(origin["url"]).path)) if "dir_info" in origin else checkout
    return next((place for place in (checkout, installed_from) if (place / "pyproject.toml").is_file()), None)


def _origin() -> dict[str, Any]:
    """Where the distribution was installed from (PEP 610); empty for an index and for a plain checkout."""
    try:
        text = importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        text = None
    found: dict[str, Any] = json.loads(text or "{}")
    return found
