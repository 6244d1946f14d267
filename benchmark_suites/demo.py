"""The demonstration: real bugs of released packages healed by reviewed heals, then a small project of our own.

``python -m benchmark_suites.demo`` in a checkout. Exits with 0 when everything ended as it should.
"""

import collections
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "conftest_examples" / "runbook"
BUGS = ("boltons-26.1.0-multireplace-empty", "tabulate-0.9.0-empty-maxwidths", "werkzeug-3.0.4-auth-nameless-param")
WANTED = {"passed": 2, "correct": 2, "proceed": 1, "reraised": 1}


def main() -> int:
    """Run both parts; 1 when a bug was not healed or the example did not end as its README says."""
    with tempfile.TemporaryDirectory(prefix="heal-demo-") as folder:
        wrong = [bug for bug in BUGS if not heals(bug, Path(folder))]
        found = example(Path(folder) / "report.json")
    say("What was shown")
    print(f"real bugs healed: {len(BUGS) - len(wrong)} of {len(BUGS)}" + (f"; not healed: {wrong}" if wrong else ""))
    print("example project: " + ", ".join(f"{count} {name}" for name, count in sorted(found.items())))
    right = not wrong and found == WANTED
    print("all as it should be" if right else f"that differs from what was wanted: {len(BUGS)} healed and {WANTED}")
    return 0 if right else 1


def heals(bug: str, results: Path) -> bool:
    """Run the target test of ``bug`` in its buggy release with its reviewed heals."""
    say(f"A real bug: {bug}")
    return pytest("--pyargs", "benchmark_suites", "--suite=releases", f"--instances={bug}",
                  f"--heal-results={results}") == 0


def example(report: Path) -> dict[str, int]:
    """Run the example project; how many of its tests ended in which category."""
    say("A project of ours: one test each passes, is healed, goes on to a wrong result, and keeps its error")
    pytest(f"--heal-report={report}", cwd=EXAMPLE)
    record = json.loads(report.read_text(encoding="utf-8"))
    return dict(collections.Counter(test["outcome"] for test in record["tests"]))


def pytest(*arguments: str, cwd: Path | None = None) -> int:
    """Run pytest with ``arguments`` as a user would, and show it; its exit code."""
    command: Sequence[str] = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    print("$ pytest " + " ".join(arguments), flush=True)
    return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, check=False).returncode


def say(text: str) -> None:
    """Print a heading."""
    print(f"\n=== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
