"""Runs the tests of a foreign repository where they can do no harm. Imports nothing of ours.

With bubblewrap: no network, everything read-only but the work folder, nothing of the environment, no capabilities.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MEMORY = 4 * 2**20
"""KiB that a process may fill with data of its own, as much as a container of `healbench` has."""

_LIMITED = ["/bin/sh", "-c", f'ulimit -d {MEMORY} && exec "$@"', "sh"]


class NoSandbox(ValueError):
    """There is no sandbox here; the text says what to do."""


@dataclass(frozen=True)
class Ended:
    """How a process ended; ``code`` is None when its time was up."""

    code: int | None
    output: str


class Sandbox:
    """Runs commands inside of bubblewrap, or bare when the user asked for that. Raises `NoSandbox` otherwise."""

    def __init__(self, bare: bool = False, timeout: float = 300.0) -> None:
        self._timeout = timeout
        self._bwrap = None if bare else shutil.which("bwrap")
        if bare:
            return
        if self._bwrap is None:
            raise NoSandbox("mining runs foreign tests, for which bubblewrap (bwrap) is needed and not installed; "
                            "install it, or say --no-sandbox if you trust the repository")
        proof = self.run(["/bin/sh", "-c", "echo x > /etc/heal-proof"], Path("/tmp"), {})
        if proof.code in (0, None) or "ead-only" not in proof.output:
            raise NoSandbox(f"bubblewrap does not work here: {proof.output.strip()[:300] or proof.code}; "
                            "say --no-sandbox if you trust the repository")

    def run(self, command: Sequence[str], work: Path, variables: Mapping[str, str]) -> Ended:
        """Run ``command`` in ``work``, the only folder that it may write to, with `MEMORY` for each process.

        Without bubblewrap it may write anywhere.
        """
        command = [*_LIMITED, *command]
        given = {"PATH": os.defpath, "HOME": str(work), "TMPDIR": str(work), "LANG": "C.UTF-8", **variables}
        if self._bwrap:
            settings = [word for name, value in given.items() for word in ("--setenv", name, value)]
            command = [self._bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
                       "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                       *(() if work == Path("/tmp") else ("--bind", str(work), str(work))), "--chdir", str(work),
                       "--clearenv", *settings, "--", *command]
        with subprocess.Popen(command, cwd=work, env=given, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=self._timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                return Ended(None, output.decode("utf-8", "replace"))
        return Ended(process.returncode, output.decode("utf-8", "replace"))
