"""The agent ``exec:COMMAND``: any program that speaks JSON lines on standard input and output. May import line_agent.

One process per conversation. See docs/protocol.md, "Agents as commands".
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from healguard_core.healing.line_agent import LONGEST_LINE, LineAgent, environment
from healguard_core.healing.processes import LineProcess, ProcessFault, located, scrubbed


class Exec(LineAgent):
    """One conversation with a program."""

    side: ClassVar[str] = "healing"
    uses_model: ClassVar[str] = "may"
    takes_argument: ClassVar[bool] = True
    summary: ClassVar[str] = "any command that speaks JSON lines"

    @staticmethod
    def missing(argument: str, root: Path) -> str:
        """What has to be installed first."""
        try:
            command_of(argument, root, scrubbed(os.environ))
        except ProcessFault as fault:
            return str(fault)
        return ""

    def started(self) -> LineProcess:
        environ = environment(os.environ, self._service)
        command = command_of(self._service.argument, self._service.root, environ)
        return LineProcess(command, self._service.root, environ, longest=LONGEST_LINE)


def command_of(argument: str, root: Path, environ: Mapping[str, str]) -> list[str]:
    """The command's words, the first of which is a file. Raises `ProcessFault`."""
    try:
        command = shlex.split(argument)
    except ValueError as error:
        raise ProcessFault(f"the command cannot be split as a shell would: {error}") from None
    if not command:
        raise ProcessFault("exec needs a command: exec:COMMAND")
    return [located(command[0], root, environ), *command[1:]]
