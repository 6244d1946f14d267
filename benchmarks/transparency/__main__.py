"""``python -m benchmarks.transparency {outcomes,inject} [SUITE...]``: see CONTRIBUTING."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from . import inject, outcomes
from .suites import load, prepare


def main() -> None:
    """Prepare the named suites (all by default) and print one table row or confusion table for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transparency", description=__doc__)
    parser.add_argument("what", choices=("outcomes", "inject"))
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache" / "pytest-heal" / "suites")
    parser.add_argument("--pairs", type=int, default=3, help="outcomes: measured pairs of runs (0: only the first)")
    parser.add_argument("--seed", type=int, default=1, help="inject: seed of the plan")
    parser.add_argument("--limit", type=int, default=None, help="inject: run so many tests, chosen by chance")
    parser.add_argument("--coverage", action="store_true", help="outcomes: compare covered lines and branches, too")
    parser.add_argument("--heal", default="--heal=rules", help="outcomes: options of the instrumented run")
    options = parser.parse_args()
    known = load()
    unknown = sorted(set(options.suites) - set(known))
    if unknown:
        parser.error(f"unknown suite {', '.join(unknown)}; known: {', '.join(known)}")
    for name in options.suites or known:
        prepared = prepare(known[name], options.work)
        if options.what == "outcomes":
            found = outcomes.compare(prepared, options.pairs, options.heal.split(), options.coverage)
            print(found.line(), flush=True)
            for test, (before, after) in sorted(found.changed.items()):
                print(f"    changed: {test}: {before} -> {after}")
            for test in found.pauses_in_passing:
                print(f"    paused although it passes: {test}")
            for place in found.coverage_changed:
                print(f"    covered only in one of them: {place}")
        else:
            confusion = inject.measure(prepared, options.seed, options.limit)
            print(confusion.table(), flush=True)
            for case in confusion.wrong:
                print("    " + json.dumps(case))


if __name__ == "__main__":
    main()
