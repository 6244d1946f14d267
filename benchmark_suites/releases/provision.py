"""Makes the running pytest-heal available inside an instance's environment. Imports environments only.

From Python 3.11 on the distribution itself is installed beside the pins, from the place that the running one came
from. Older Pythons get the execution side as one zip file.
"""

import hashlib
import importlib.metadata
import json
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from benchmark_suites.releases.environments import Environment, Environments

DISTRIBUTION = "pytest-heal"
PACKAGES = ("healguard_core", "pytest_heal", "benchmark_suites")
PLUGIN_FROM = (3, 11)
_MARKER = "heal-plugin.json"


def install_plugin(environments: Environments, environment: Environment, pins: tuple[str, ...]) -> None:
    """Install the running pytest-heal into ``environment`` unless that very state is there already.

    Raises `EnvironmentUnavailable` when it cannot be installed beside ``pins``.
    """
    arguments, identity = source()
    marker = environment.path / _MARKER
    if marker.is_file() and marker.read_text(encoding="utf-8") == identity:
        return
    environments.install(environment, arguments, pins, replace=DISTRIBUTION if marker.is_file() else "")
    marker.write_text(identity, encoding="utf-8")


def source() -> tuple[list[str], str]:
    """How to install what is running now, and a text that differs as soon as that differs.

    An editable install or a plain checkout is installed editable, so it needs no second look at its files.
    """
    root = Path(__file__).resolve().parents[2]
    if (root / "pyproject.toml").is_file():
        return ["-e", str(root)], f"editable {root} {_hash([root / 'pyproject.toml'])}"
    distribution = importlib.metadata.distribution(DISTRIBUTION)
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    place = Path(url2pathname(urlsplit(origin.get("url", "")).path)) if "dir_info" in origin else None
    files = [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
    if place is not None and (place / "pyproject.toml").is_file():
        return [str(place)], f"folder {place} {_hash(files)}"
    if "vcs_info" in origin:
        pinned = f"{DISTRIBUTION} @ {origin['vcs_info']['vcs']}+{origin['url']}@{origin['vcs_info']['commit_id']}"
        return [pinned], pinned
    return [f"{DISTRIBUTION}=={distribution.version}"], f"release {distribution.version} {_hash(files)}"


def _hash(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
