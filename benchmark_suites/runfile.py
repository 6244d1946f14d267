"""The run file: everything that is needed to do a run again. Imports setting.

One JSON file per call of pytest in ``DIR/runs``; each result names the run that it came from.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

from benchmark_suites.setting import Setting
from healguard_core import __version__

SCHEMA = "pytest-heal-run/1"
_ROOT = Path(__file__).resolve().parents[1]


def write_run_file(results: Path, config: pytest.Config, suite: str, setting: Setting) -> str:
    """Write the file of this run below ``results`` and return its name. Raises ``OSError``."""
    started = datetime.datetime.now(datetime.UTC)
    folder = results / "runs"
    folder.mkdir(exist_ok=True)
    name = f"{started.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}-{setting.name}.json"
    document = describe(list(config.invocation_params.args), suite, setting, started)
    (folder / name).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return name


def describe(arguments: list[str], suite: str, setting: Setting, started: datetime.datetime) -> dict[str, Any]:
    """What a run was: command, setting, code, packages, machine."""
    return {
        "schema": SCHEMA,
        "started": started.isoformat(timespec="seconds"),
        "command": ["pytest", *map(str, arguments)],
        "suite": suite,
        "agent": setting.agent,
        "model": setting.model,
        "options": dict(setting.options),
        "policy": _policy(setting),
        "prompts": _digest(sorted((_ROOT / "healguard_core" / "healing").rglob("*.py"))),
        "version": __version__,
        "code": _digest(path for package in ("healguard_core", "pytest_heal", "benchmark_suites")
                        for path in sorted((_ROOT / package).rglob("*.py"))),
        "commit": _commit(),
        "packages": {found.name: found.version for found in sorted(distributions(), key=lambda one: one.name or "")},
        "python": sys.version,
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_mb": _memory_mb(),
            "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        },
    }


def _policy(setting: Setting) -> str | None:
    """The text of the policy that guards, None without one."""
    if setting.guard in ("", "off") or not Path(setting.guard).is_file():
        return None
    return Path(setting.guard).read_text(encoding="utf-8")


def _digest(paths: Any) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.relative_to(_ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _commit() -> dict[str, Any] | None:
    """The revision that runs, None outside of a checkout."""
    if not (_ROOT / ".git").exists():
        return None
    revision = _git("rev-parse", "HEAD")
    return {"revision": revision, "changed": bool(_git("status", "--porcelain"))} if revision else None


def _git(*arguments: str) -> str:
    try:
        ran = subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _memory_mb() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (ValueError, OSError, AttributeError):
        return None
