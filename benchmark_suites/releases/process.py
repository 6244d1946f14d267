"""Runs one target test in a folder and a process of its own. Imports instances only."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmark_suites.releases.instances import Instance

TIMEOUT = 900.0  # seconds for one target test; instrumenting a big package for the first time takes a minute

_NOT_INHERITED = frozenset({
    "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_PLUGINS", "PYTEST_XDIST_WORKER",
    "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID", "PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE",
    "VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "COVERAGE_PROCESS_START",
})


def lay_out(instance: Instance, work: Path) -> None:
    """Make ``work`` a project of its own that holds the target test and nothing else."""
    shutil.copy(instance.test, work)
    (work / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")


def run_in(work: Path, command: Sequence[str | Path], **extra: str) -> subprocess.CompletedProcess[str]:
    """Run ``command`` in ``work`` with an environment that this process's own pytest does not shine through."""
    variables = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
    variables.update(extra)
    return subprocess.run(command, cwd=work, env=variables, capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False)
