"""What an agent's look at the repository gives. Imports nothing.

Whoever can run a shell command on a read-only copy of the repository provides a `Shell`; without one every look is
answered by the reason why there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Explored:
    """What came of one command. ``exit_code`` is None where it did not run or did not end; ``problem`` says why."""

    output: str = ""  # standard output and error, cut to a bounded length
    exit_code: int | None = None
    problem: str = ""


Shell = Callable[[str, float], Explored]
"""Runs a command of bash for at most so many seconds, with as much output as the shell allows."""

Enclose = Callable[[list[str], Path, list[str]], list[str]]
"""The command line that runs a program in the sandbox: the program's words, the one folder that it may write to, and
what it has to read beside the project. Raises `NoSandbox`."""


class NoSandbox(Exception):
    """No sandbox can hold a program here; the text says why."""


SECONDS = 30.0
"""Seconds that one look may take."""

NO_SHELL = "there is no read-only shell on this machine; decide by the crash's description and by probes"


def no_enclosure(words: list[str], home: Path, readable: list[str]) -> list[str]:
    """The `Enclose` of a machine that has none."""
    del words, home, readable
    raise NoSandbox(NO_SHELL)


def no_shell(command: str, seconds: float) -> Explored:
    """The shell of a machine that has none."""
    del command, seconds
    return Explored(problem=NO_SHELL)
