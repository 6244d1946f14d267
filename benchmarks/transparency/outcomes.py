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

    def line(self) -> str:
        """One row of the table."""
        return (
            f"{self.suite:<15} tests {self.tests:>6}  changed {len(self.changed):>3}  "
            f"unstable {len(self.unstable):>3}  "
            f"pauses {self.pauses:>4}  in passing tests {len(self.pauses_in_passing):>3}  "
            f"cpu ratio {self.ratio:.3f}  plain/plain {self.plain_ratio:.3f}  plain {self.seconds:.1f} s"
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


def compare(prepared: Prepared, pairs: int, heal: list[str]) -> Comparison:
    """Run ``pairs`` pairs after a warm-up (which fills the caches) of each kind."""
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
    paused = [test for test in tests if test["crashes"]]
    return Comparison(
        suite=prepared.suite.name,
        tests=len(plain[0].outcomes),
        changed=changed,
        unstable=sorted(set(plain[0].outcomes) - set(stable)),
        pauses=sum(len(test["crashes"]) for test in paused),
        pauses_in_passing=[test["nodeid"] for test in paused if test["outcome"] in ("passed", "correct")],
        ratio=statistics.median(h.seconds / p.seconds for p, h in zip(plain[1:], healed[1:], strict=True)),
        plain_ratio=statistics.median(b.seconds / a.seconds for a, b in itertools.pairwise(plain)),
        seconds=statistics.median(p.seconds for p in plain),
    )
