"""``python -m benchmark_suites {list,verify}``. Imports the suites."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmark_suites import SUITES
from benchmark_suites.releases import verify
from benchmark_suites.releases.environments import Environments, default_root
from benchmark_suites.releases.instances import load_all


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when everything is as it should be, 1 otherwise."""
    given = _parser().parse_args(arguments)
    if given.command == "list":
        return _list(given.suite)
    return _verify(given.instances, Path(given.heal_envs) if given.heal_envs else default_root())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmark_suites", description="Suites of real bugs.")
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="name the suites, or the instances of one")
    listing.add_argument("--suite", choices=sorted(SUITES), help="list its instances")
    verifying = commands.add_parser("verify", help="check that buggy releases fail as recorded and fixed ones pass")
    verifying.add_argument("--suite", choices=sorted(SUITES), default="releases")
    verifying.add_argument("--instances", metavar="GLOB", default="*",
                           help="only those whose id matches; several globs are separated by commas")
    verifying.add_argument("--heal-envs", metavar="DIR", help="where environments are kept")
    return parser


def _list(suite: str | None) -> int:
    if suite is None:
        for name, about in SUITES.items():
            print(f"{name:<12} {about}")
        return 0
    for instance in load_all():
        print(f"{instance.id:<55} Python {instance.python:<6} {instance.difficulty:<7} "
              f"{instance.error.type} at {instance.error.file}:{instance.error.line}")
    return 0


def _verify(pattern: str, root: Path) -> int:
    environments = Environments(root)
    checked = wrong = 0
    for instance in load_all(pattern):
        found = verify.problems(instance, environments)
        checked += 1
        wrong += bool(found)
        print(f"{instance.id}: {'as recorded' if not found else 'DIFFERS'}", *found, sep="\n  ", flush=True)
    print(f"{checked - wrong} of {checked} instances are as recorded")
    if not checked:
        print(f"no instance matches {pattern!r}; `python -m benchmark_suites list --suite=releases` names them",
              file=sys.stderr)
    return 0 if checked and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
