"""Makes the running pytest-heal available inside an instance's environment. Imports environments only.

From Python 3.11 on the distribution itself is installed beside the pins: built once into a wheel where it runs from a
folder, else from the place that it came from. Older Pythons get the execution side as one zip file.
"""

import functools
import hashlib
import importlib.metadata
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from benchmark_suites.releases.environments import Environment, Environments

DISTRIBUTION = "pytest-heal"
PACKAGES = ("healguard_core", "pytest_heal", "benchmark_suites")
PLUGIN_FROM = (3, 11)
_MARKER = "heal-plugin.txt"
_WHEELS = ".wheels"


def install_plugin(environments: Environments, environment: Environment, pins: tuple[str, ...]) -> None:
    """Install the running pytest-heal into ``environment`` unless that very state is there already.

    Raises `EnvironmentUnavailable` when it cannot be built, or not be installed beside ``pins``.
    """
    identity = running_state()
    marker = environment.path / _MARKER
    if marker.is_file() and marker.read_text(encoding="utf-8") == identity:
        return
    environments.install(environment, [requirement(environments, identity)], pins,
                         replace=DISTRIBUTION if marker.is_file() else "")
    marker.write_text(identity, encoding="utf-8")


@functools.cache
def running_state() -> str:
    """A text that differs as soon as the code that is running differs; looked at once per process."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            if "instances" not in path.parts:
                digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def requirement(environments: Environments, identity: str) -> str:
    """What to install to get the code that is running: a wheel, a release, or a revision of a repository."""
    folder, origin = _folder(), _origin()
    if folder is not None:
        return str(_wheel(environments, folder, identity))
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


def _wheel(environments: Environments, folder: Path, identity: str) -> Path:
    """The wheel of ``folder`` in the state ``identity``, built once for all environments."""
    kept = environments.root / _WHEELS / identity
    if not list(kept.glob("*.whl")):
        kept.parent.mkdir(parents=True, exist_ok=True)
        for other in kept.parent.iterdir():
            shutil.rmtree(other, ignore_errors=True)
        building = Path(tempfile.mkdtemp(prefix=".building-", dir=environments.root))
        environments.build_wheel(folder, building)
        try:
            building.rename(kept)
        except OSError:
            shutil.rmtree(building)  # another process was faster
    (wheel,) = kept.glob("*.whl")
    return wheel
