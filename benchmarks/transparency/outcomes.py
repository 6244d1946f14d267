"""Run a suite plain and instrumented, in turn, and compare outcomes, pauses and processor time."""

from __future__ import annotations

import dataclasses
import itertools
import json
import resource
import statistics
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from .suites import Prepared

TIMEOUT = 1800.0  # seconds for one run of a suite


@dataclasses.dataclass
class Run:
    """One run: outcome by test, processor seconds of the whole process."""

    outcomes: dict[str, str]
    seconds: float
    tail: str


@dataclasses.dataclass
class Comparison:
    """What differs between plain and instrumented runs of one suite."""

    suite: str
    tests: int
    changed: dict[str, tuple[str, str]]
    unstable: list[str]
    pauses: int
    pauses_in_passing: list[str]
    ratio: float
    plain_ratio: float
    seconds: float
    covered: int = 0
    coverage_changed: list[str] = dataclasses.field(default_factory=list)

    def line(self) -> str:
        """One row of the table."""
        return (
            f"{self.suite:<15} tests {self.tests:>6}  changed {len(self.changed):>3}  "
            f"unstable {len(self.unstable):>3}  "
            f"pauses {self.pauses:>4}  in passing tests {len(self.pauses_in_passing):>3}  "
            f"cpu ratio {self.ratio:.3f}  plain/plain {self.plain_ratio:.3f}  plain {self.seconds:.1f} s"
            + (f"  covered {self.covered}  changed {len(self.coverage_changed)}" if self.covered else "")
        )


def run(prepared: Prepared, *args: str) -> Run:
    """Run the suite once and read its outcomes from JUnit."""
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder) / "junit.xml"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = prepared.pytest(f"--junitxml={junit}", *args, timeout=TIMEOUT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not junit.exists():
            said = done.stdout[-3000:] + done.stderr[-3000:]
            raise RuntimeError(f"{prepared.suite.name}: no result of {args}:\n{said}")
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Run(_outcomes(junit), seconds, done.stdout[-2000:])


def _outcomes(junit: Path) -> dict[str, str]:
    """Outcome by test; tests that share one name are counted together."""
    found: dict[str, Counter[str]] = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found.setdefault(name, Counter())[",".join(kinds) or "passed"] += 1
    return {name: json.dumps(counts, sort_keys=True) for name, counts in found.items()}


def compare_coverage(prepared: Prepared, heal: list[str]) -> tuple[int, list[str]]:
    """How many lines and branches the plain run covers, and which of them an instrumented run does otherwise.

    What already differs between two plain runs is left out.
    """
    source = f"--heal-source={prepared.suite.source}"
    plain, again, healed = (_covered(prepared, *args) for args in (("-p", "no:heal"),) * 2 + ((*heal, source),))
    return len(plain), sorted((healed ^ plain) - (plain ^ again))


def _covered(prepared: Prepared, *args: str) -> set[str]:
    """``file:line`` and ``file:from->to`` of everything that one run of the suite executes in its package."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        cov = [f"--cov={prepared.suite.source}", "--cov-branch", f"--cov-report=json:{report}", "--cov-fail-under=0"]
        done = prepared.pytest(*cov, *args, timeout=TIMEOUT, env={"COVERAGE_FILE": str(Path(folder) / "data")})
        if not report.exists():
            raise RuntimeError(f"{prepared.suite.name}: no coverage with {args}:\n{done.stdout[-3000:]}{done.stderr}")
        files = json.loads(report.read_text())["files"]
    lines = {f"{name}:{line}" for name, file in files.items() for line in file["executed_lines"]}
    branches = {f"{name}:{a}->{b}" for name, file in files.items() for a, b in file["executed_branches"]}
    return lines | branches


def compare(prepared: Prepared, pairs: int, heal: list[str], coverage: bool = False) -> Comparison:
    """Run ``pairs`` pairs after a first one (which fills the caches); with ``coverage``, see there."""
    source = f"--heal-source={prepared.suite.source}"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        instrumented_args = (*heal, source, f"--heal-report={report}")
        plain = [run(prepared, "-p", "no:heal")]
        healed = [run(prepared, *instrumented_args)]
        for _ in range(pairs):
            plain.append(run(prepared, "-p", "no:heal"))
            healed.append(run(prepared, *instrumented_args))
        tests = json.loads(report.read_text())["tests"]
    stable = {name: outcome for name, outcome in plain[0].outcomes.items()
              if all(other.outcomes.get(name) == outcome for other in plain)}
    names = {name for one in (*plain, *healed) for name in one.outcomes}
    changed = {
        name: (stable.get(name, "absent"), one.outcomes.get(name, "absent"))
        for one in healed for name in names
        if (name in stable or name not in plain[0].outcomes) and one.outcomes.get(name) != stable.get(name)
    }
    covered = compare_coverage(prepared, heal) if coverage else (0, [])
    paused = [test for test in tests if test["crashes"]]
    return Comparison(
        suite=prepared.suite.name,
        tests=len(plain[0].outcomes),
        changed=changed,
        unstable=sorted(set(plain[0].outcomes) - set(stable)),
        pauses=sum(len(test["crashes"]) for test in paused),
        pauses_in_passing=[test["nodeid"] for test in paused if test["outcome"] in ("passed", "correct")],
        ratio=statistics.median(h.seconds / p.seconds for p, h in zip(plain[-pairs:], healed[-pairs:], strict=True)),
        plain_ratio=statistics.median(b.seconds / a.seconds for a, b in itertools.pairwise(plain)) if pairs else 1.0,
        seconds=statistics.median(p.seconds for p in plain),
        covered=covered[0],
        coverage_changed=covered[1],
    )
