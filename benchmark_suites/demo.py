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
from typing import Any

from benchmark_suites.results import Results
from benchmark_suites.setting import Setting

EXAMPLE = Path(__file__).resolve().parents[1] / "conftest_examples" / "runbook"
BUGS = ("boltons-25.0.0-parsed-exception-cut", "tabulate-0.9.0-empty-maxwidths", "werkzeug-3.0.4-auth-nameless-param")
WANTED = {"passed": 2, "correct": 2, "proceed": 1, "reraised": 1}


def main() -> int:
    """Run both parts; 1 when a bug was not healed or the example did not end as its README says."""
    with tempfile.TemporaryDirectory(prefix="heal-demo-") as folder:
        healed = real_bugs(Path(folder))
        found = example(Path(folder) / "report.json")
    say("What was shown")
    print(f"real bugs healed: {healed} of {len(BUGS)}")
    print("example project: " + ", ".join(f"{count} {name}" for name, count in sorted(found.items())))
    right = healed == len(BUGS) and found == WANTED
    print("all as it should be" if right else f"wanted were {len(BUGS)} healed bugs and {WANTED}")
    return 0 if right else 1


def real_bugs(results: Path) -> int:
    """Run the target tests of `BUGS` in the buggy releases with their reviewed heals; how many passed."""
    say(f"Real bugs of released packages, each in an environment of its own: {len(BUGS)}")
    pytest("--pyargs", "benchmark_suites", "--suite=releases", "--instances=" + ",".join(BUGS),
           "--heal-trace=off", f"--heal-results={results}", cwd=results)
    found = Results(results, "releases", Setting()).read()
    for bug in BUGS:
        for text, times in collections.Counter(map(told, found[bug].crashes if bug in found else ())).items():
            print(f"{bug}: {text}" + (f"\n  ({times} times)" if times > 1 else ""))
    return sum(result.right for result in found.values())


def told(crash: dict[str, Any]) -> str:
    """What happened at one crash, in words."""
    lines = [f"{crash['error']}: {crash['message']}", f"  in {crash['function']}, line {crash['line']}"]
    if crash["heal"]:
        code = crash["heal"]["code"].strip().replace("\n", "\n" + 13 * " ")
        lines += [f"  healed by: {code}", f"  and went on with: {crash['heal']['resume']}"]
    return "\n".join(lines)


def example(report: Path) -> dict[str, int]:
    """Run the example project; how many of its tests ended in which category."""
    say("A project of ours: one test each passes, is healed, goes on to a wrong result, and keeps its error")
    pytest(f"--heal-report={report}", cwd=EXAMPLE)
    if not report.is_file():
        return {}
    record = json.loads(report.read_text(encoding="utf-8"))
    return dict(collections.Counter(test["outcome"] for test in record["tests"]))


def pytest(*arguments: str, cwd: Path) -> int:
    """Run pytest with ``arguments`` as a user would, and show it; its exit code."""
    command: Sequence[str] = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    print("$ pytest " + " ".join(arguments), flush=True)
    return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, check=False).returncode


def say(text: str) -> None:
    """Print a heading."""
    print(f"\n=== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
