"""``python -m benchmark_suites {list,verify,select,mine,report,compare}``. Imports the suites and the machinery."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmark_suites import SUITES
from benchmark_suites.compare import compare
from benchmark_suites.releases.environments import default_root
from benchmark_suites.report import write_report
from benchmark_suites.selection import by_suite
from benchmark_suites.suite import Places, WrongRecord, find
from benchmark_suites.tables import outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when everything is as it should be, 1 otherwise, 2 for a wrong command line."""
    given = _parser().parse_args(arguments)
    try:
        return int(given.run(given))
    except ValueError as problem:
        print(f"{given.command}: {problem}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmark_suites", description="Measures healing agents.")
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="name the suites, or the instances of one")
    listing.add_argument("--suite", help="list its instances")
    _add_places(listing)
    listing.set_defaults(run=_list)
    verifying = commands.add_parser("verify", help="check that buggy versions fail as recorded and fixed ones pass")
    verifying.add_argument("--suite", default="releases")
    _add_places(verifying)
    verifying.set_defaults(run=_verify)
    selecting = commands.add_parser("select", help="choose target tests of a public benchmark's records (needs Docker)")
    selecting.add_argument("--out", type=Path, required=True, metavar="FILE.jsonl",
                           help="where the chosen records go; those that are there already are not looked at again")
    _add_places(selecting)
    selecting.set_defaults(run=_select)
    _add_mine(commands.add_parser("mine", help="make a private suite from the history of a git repository"))
    reporting = commands.add_parser("report", help="render the tables and figures of a folder of results")
    reporting.add_argument("results", type=Path, metavar="DIR", help="what --heal-results was")
    reporting.add_argument("--suite", help="only this suite (default: each one that has results)")
    reporting.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: DIR/report)")
    reporting.set_defaults(run=_report)
    comparing = commands.add_parser("compare", help="compare two settings on the instances that both have")
    comparing.add_argument("results", type=Path, metavar="DIR", help="what --heal-results was")
    comparing.add_argument("first", help="a setting: its file's name, or an agent that has only one setting")
    comparing.add_argument("second", help="the other one")
    comparing.add_argument("--suite", help="when the folder holds several")
    comparing.set_defaults(run=_compare)
    return parser


def _add_mine(command: argparse.ArgumentParser) -> None:
    command.add_argument("repository", type=Path, metavar="GIT", help="a git repository on this machine, bare or not")
    command.add_argument("--package", required=True, metavar="FOLDER", help="the package in it, like src/mylib")
    command.add_argument("--out", type=Path, required=True, metavar="DIR",
                         help="where instances, ledger and review file go; commits in its ledger are left alone")
    command.add_argument("--python", default=sys.executable, help="a Python that has pytest and what the tests need, "
                         "but not the package (default: the running one)")
    command.add_argument("--distribution", default="", help="the package's name for pip (default: the folder's name)")
    command.add_argument("--commits", type=int, default=500, metavar="N", help="look at the newest N commits (500)")
    command.add_argument("--grep", default="", metavar="REGEX", help="only commits whose message matches")
    command.add_argument("--since", default="", metavar="DATE", help="only commits after this date")
    command.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS", help="for one run of tests (300)")
    command.add_argument("--no-sandbox", action="store_true",
                         help="run the repository's tests without bubblewrap: with your network, files and rights")
    command.set_defaults(run=_mine)


def _add_places(command: argparse.ArgumentParser) -> None:
    command.add_argument("--instances", metavar="GLOB", default="*",
                         help="only those whose id matches; several globs are separated by commas")
    command.add_argument("--heal-envs", metavar="DIR", type=Path, help="where environments are kept")
    command.add_argument("--heal-records", metavar="FILE", type=Path, action="append", default=[],
                         help="a file of records of a public benchmark (repeatable)")


def _places(given: argparse.Namespace) -> Places:
    return Places(given.heal_envs or default_root(), Path("heal-results") / "references", tuple(given.heal_records))


def _list(given: argparse.Namespace) -> int:
    if given.suite is None:
        for name, about in SUITES.items():
            print(f"{name:<12} {about}")
        return 0
    suite = find(given.suite)
    for instance in suite.load(given.instances, _places(given)):
        print(f"{instance.id}: {instance.problem}" if isinstance(instance, WrongRecord) else suite.describe(instance))
    return 0


def _verify(given: argparse.Namespace) -> int:
    suite, places = find(given.suite), _places(given)
    checked = wrong = 0
    for instance in suite.load(given.instances, places):
        found = [instance.problem] if isinstance(instance, WrongRecord) else suite.verify(instance, places)
        checked += 1
        wrong += bool(found)
        print(f"{instance.id}: {'as recorded' if not found else 'DIFFERS'}", *found, sep="\n  ", flush=True)
    print(f"{checked - wrong} of {checked} instances are as recorded")
    if not checked:
        print(f"no instance matches {given.instances!r}; `python -m benchmark_suites list --suite={given.suite}` "
              f"names them", file=sys.stderr)
    return 0 if checked and not wrong else 1


def _select(given: argparse.Namespace) -> int:
    from benchmark_suites.healbench.choosing import KEPT, select
    from benchmark_suites.healbench.engine import EngineUnavailable, Limits

    if not given.heal_records:
        raise ValueError("say which records to choose from: --heal-records=FILE")
    try:
        ledger = select(given.heal_records, given.out, given.instances, Limits(), sys.stdout)
    except EngineUnavailable as problem:
        raise ValueError(str(problem)) from None
    print("\n".join(f"{count:>6} {verdict}" for verdict, count in ledger.most_common()))
    return 0 if ledger[KEPT] else 1


def _mine(given: argparse.Namespace) -> int:
    from benchmark_suites.mining.history import Repository
    from benchmark_suites.mining.mine import Mining, mine, table
    from benchmark_suites.mining.sandbox import Sandbox

    mining = Mining(Repository(given.repository), given.package.strip("/"), given.out.resolve(), given.python,
                    Sandbox(given.no_sandbox, given.timeout), given.distribution or Path(given.package).name)
    counts, commits = mine(mining, given.commits, given.grep, given.since, sys.stdout)
    print(table(counts, commits))
    return 0


def _report(given: argparse.Namespace) -> int:
    written = write_report(given.results, given.out or given.results / "report", given.suite)
    for name, settings in by_suite(given.results, given.suite).items():
        print(f"{name}\n{outcomes(settings).text()}\n")
    print(*written, sep="\n")
    return 0


def _compare(given: argparse.Namespace) -> int:
    print(compare(given.results, given.first, given.second, given.suite))
    return 0


if __name__ == "__main__":
    sys.exit(main())
