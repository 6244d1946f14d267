"""The shell that agents get over the project: read-only, enforced, and without secrets. May import sandbox, exploring.

The sandbox is found and attacked when the first agent looks; all agents of a run share it.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path

from healguard_core.execution.pause.redaction import Redactor
from healguard_core.healing.exploring import Explored, NoSandbox
from healguard_core.healing.sandbox.plans import BACKENDS, Unusable
from healguard_core.healing.sandbox.view import View, open_view

CHOICES = ("auto", *BACKENDS, "none")
"""What a user may ask for: the strongest sandbox that holds, one by name, or no shell for agents."""

_SETTING = re.compile(r"(?m)^(?:[^\s:]+:(?:\d+:)?)?\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*[=:]\s*[^\s(){}\[\]]+\s*$")
"""A line that is nothing but a name and a value, as in a settings file (or one that grep found in it)."""


class RepositoryShell:
    """Runs commands of bash in a read-only view of ``root``. What looks secret is withheld from their output."""

    def __init__(self, root: Path, wanted: str = "auto", *, redact: bool = True) -> None:
        self._root = root
        self._wanted = wanted
        self._redact = redact
        self._lock = threading.Lock()
        self._view: View | None = None
        self._problem = "agents get no shell in this run (--heal-sandbox=none)" if wanted == "none" else ""
        self._closed = False
        self.relay: tuple[str, int] | None = None  # the proxy's unix socket, and its port

    def __call__(self, command: str, seconds: float) -> Explored:
        """What the command shows within so many seconds, or why there is no shell. Never raises."""
        try:
            shown = self._opened().run(command, seconds)
        except (Unusable, OSError) as problem:  # also no room for a scratch folder
            return Explored(problem=str(problem))
        return Explored(self._cleared(shown.output), shown.returncode, shown.stopped)

    def enclose(self, words: list[str], home: Path, readable: list[str]) -> list[str]:
        """The command line that runs an agent's program in the same sandbox. Raises `NoSandbox`."""
        try:
            return self._opened().program(words, home, readable, self.relay)
        except Unusable as problem:
            raise NoSandbox(str(problem)) from None

    @property
    def backend(self) -> str:
        """Which sandbox is in use, "" as long as nobody has looked."""
        return "" if self._view is None else self._view.backend

    def close(self) -> None:
        """End every command."""
        with self._lock:
            self._closed = True
            view = self._view
        if view is not None:
            view.close()

    def _opened(self) -> View:
        with self._lock:
            if self._closed:
                raise Unusable("the run is over")
            if self._problem:
                raise Unusable(self._problem)
            if self._view is None:
                try:
                    self._view = open_view(self._root, self._wanted)
                except Unusable as problem:
                    self._problem = str(problem)
                    raise
            return self._view

    def _cleared(self, text: str) -> str:
        """Program text stays readable: only literals under secret names are withheld, and values in settings files."""
        redactor = Redactor(self._redact)
        return _SETTING.sub(lambda line: redactor.text(line.group()), redactor.source(text))
