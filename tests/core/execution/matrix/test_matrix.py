"""Every construct can be healed in every way that makes sense there, and the rest is refused clearly."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.execution.matrix.cases import CASES, REFUSED
from tests.core.pythons import other_pythons, run

ROOT = Path(__file__).resolve().parents[4]

@functools.cache
def results(python: str) -> dict:
    done = subprocess.run(
        [python, "-W", "error", "-m", "tests.core.execution.matrix.run_cases"],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


PYTHONS = [
    pytest.param(sys.executable, id="this"),
    *(pytest.param(*other.values, id=other.id, marks=[pytest.mark.pythons, *other.marks])
      for other in other_pythons((3, 8), (3, 14))),
]


@functools.cache
def version(python: str) -> tuple:
    done = run(python, "-c", "import sys; print(*sys.version_info[:2])")
    return tuple(int(number) for number in done.stdout.split())


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_heals(case, python):
    if version(python) < case.since:
        pytest.skip(f"needs Python {case.since[0]}.{case.since[1]}")
    found = results(python)[case.name]
    assert found["faults"] == []
    assert found["result"] == repr(case.expect)
    assert found["unused"] == 0
    assert not found["tracing"]
    assert all(probe == ["2", ""] for probe in found["probes"])


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refuses(case, python):
    if version(python) < case.since:
        pytest.skip(f"needs Python {case.since[0]}.{case.since[1]}")
    found = results(python)[case.name]
    assert found["faults"] == []
    assert found["result"] == repr(case.expect)
    assert found["healed"] == 1
    assert len(found["stumbled"]) == 1
    assert found["unused"] == 0
