"""The command ``pytest-heal``: what belongs to the plugin but to no run of pytest. May import healguard_core."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from healguard_core import __version__
from healguard_core.healing import tool_environments
from healguard_core.healing.service import missing
from healguard_core.settings.errors import nearest

GROUP = "healguard.agents"
OK, FAILED, WRONG = 0, 1, 2
"""Exit codes: done; it could not be done; the command line is wrong."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line ``arguments`` (by default the process's) and return the exit code."""
    words = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = words.run
    return run(words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("pytest-heal", description="Look after the agents of pytest-heal.")
    parser.add_argument("--version", action="version", version=f"pytest-heal {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    agents = commands.add_parser("agents", help="list agents, and install what they need")
    verbs = agents.add_subparsers(metavar="COMMAND", required=True)
    listing = verbs.add_parser("list", help="say which agents are usable here, and why others are not")
    listing.set_defaults(run=_list)
    install = verbs.add_parser("install", help="make an environment of its own for an agent's package")
    install.add_argument("name", metavar="NAME")
    install.add_argument("--python", default="", metavar="VERSION_OR_PATH",
                         help="the Python to make it from (default: a fitting one is looked for)")
    install.add_argument("--again", action="store_true", help="make it anew, also where it exists")
    install.set_defaults(run=_install)
    return parser


# --------------------------------------------------------------------------- list


def _list(_words: argparse.Namespace) -> int:
    rows = [("runbook", "yes", "heals that somebody reviewed (--heal-runbook=FILE)"), *map(_row, _points())]
    widths = [max(len(row[column]) for row in [("agent", "usable"), *rows]) for column in (0, 1)]
    print(f"{'agent':{widths[0]}}  {'usable':{widths[1]}}")
    for name, usable, remark in rows:
        print(f"{name:{widths[0]}}  {usable:{widths[1]}}  {remark}".rstrip())
    print(f"\nEnvironments of agents are in {tool_environments.folder(os.environ)}")
    return OK


def _row(point: EntryPoint) -> tuple[str, str, str]:
    """Name, whether it is usable, and what it is or why it is not."""
    try:
        factory = point.load()
    except Exception as error:  # of a package that is not ours
        return point.name, "no", f"it cannot be imported: {type(error).__name__}: {error}"
    takes_argument = bool(getattr(factory, "takes_argument", False))
    name = f"{point.name}:COMMAND" if takes_argument else point.name
    problem = "" if takes_argument else missing(factory, "", Path.cwd())
    if problem:
        return name, "no", problem
    remark = str(getattr(factory, "summary", "")) or (factory.__doc__ or "").partition(".")[0].strip()
    package = getattr(factory, "package", None)
    python = None if package is None else tool_environments.found(package, os.environ)
    return name, "yes", f"{remark} (by {python})" if python else remark


def _points() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


# --------------------------------------------------------------------------- install


def _install(words: argparse.Namespace) -> int:
    factory = _factory(words.name)
    if isinstance(factory, str):
        print(factory, file=sys.stderr)
        return WRONG
    package = getattr(factory, "package", None)
    if package is None:
        print(f"agent {words.name!r} needs no package")
        return OK
    if tool_environments.here(package) and not (words.again or words.python):
        print(f"{package.requirement} is installed beside pytest-heal already; {words.name} is usable")
        return OK
    try:
        tool_environments.install(package, os.environ, python=words.python, again=words.again, say=_say)
    except tool_environments.InstallError as error:
        print(f"pytest-heal: {error}", file=sys.stderr)
        return FAILED
    problem = missing(factory, "", Path.cwd())
    if problem:
        print(f"pytest-heal: {problem}", file=sys.stderr)
        return FAILED
    return OK


def _factory(name: str) -> Any:
    """The agent's class, or what is wrong with its name."""
    known = {point.name: point for point in _points()}
    if name not in known:
        return f"pytest-heal: there is no agent {name!r}; {nearest(name, list(known))}"
    try:
        return known[name].load()
    except ImportError as error:
        return f"pytest-heal: agent {name!r} cannot be imported: {error}"


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
