"""Starts the healing side for a run and hands the provider's key over to it. May import models and execution.link.

The key leaves this process: it goes through a pipe, and the variable is removed from the environment, the block that
the kernel shows in ``/proc/PID/environ`` included. What is paused here later cannot read it.
"""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import secrets
import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import healguard_core
from healguard_core.execution.link import Address
from healguard_core.healing.models import Model, key_of

START = 30.0
"""Seconds that the process may take to say where it listens."""

_BOOT = """\
import sys
sys.path.append(sys.argv.pop(1))
from healguard_core.healing.__main__ import main
main()
"""


LONGEST_SOCKET = 100
"""Bytes of the name of a unix socket; the kernel takes few more."""


@dataclasses.dataclass(frozen=True)
class Cassettes:
    """Files with recordings of a run, "" for none: what agents did (``actions``), what a provider answered."""

    actions: str = ""
    exchanges: str = ""
    mode: str = "once"

    def replayed(self) -> bool:
        """Whether everything comes from them. Raises `cassettes.CassetteError` for a file that cannot be used."""
        if not self.actions and not self.exchanges:
            return False
        from healguard_core.healing.cassettes import KINDS, load, records

        asked = []
        for kind in KINDS:
            path = Path(getattr(self, kind))
            if getattr(self, kind):
                asked.append(records(path, self.mode))
                if path.exists():
                    load(path, kind)
        return not all(asked)


class StartError(RuntimeError):
    """The healing side did not start; the text says why."""


def start_healing(
    *, agent: str, model: Model | None, root: Path, max_cost: float | None,
    progress: Path | None = None, environ: MutableMapping[str, str] | None = None, socket: Path | None = None,
    sandbox: str = "auto", redact: bool = True, cassettes: Cassettes | None = None,
) -> Address:
    """Start the process and return where it listens. ``agent`` may hold an argument (``exec:COMMAND``);
    ``progress`` is a file into which it is to write what is paused. With ``socket`` it also listens on a unix socket
    of that name, and that is the address. ``sandbox`` is one of `repository.CHOICES`; ``redact`` as for the program.

    Almost nothing is loaded there until somebody connects. Raises `models.ModelError` for a missing key and
    `StartError`. Removes the key from ``environ`` (the process's own by default).
    """
    surroundings = os.environ if environ is None else environ
    if not hasattr(os, "fork"):
        raise StartError(f"agent {agent!r} needs a healing side of its own, which this platform cannot start")
    replayed = cassettes is not None and cassettes.replayed()  # then nobody is asked, and no key is needed
    key = "" if model is None or replayed else key_of(model, surroundings)
    if socket is not None and len(os.fsencode(socket)) > LONGEST_SOCKET:
        raise StartError(f"the name of the unix socket is longer than {LONGEST_SOCKET} bytes: {str(socket)!r}")
    token = secrets.token_urlsafe(32)
    settings = {
        "agent": agent,
        "model": None if model is None else dataclasses.asdict(model),
        "key": key,
        "root": str(root),
        "max_cost": max_cost,
        "progress": None if progress is None else str(progress),
        "token": token,
        "agent_token": secrets.token_urlsafe(32),
        "watch": os.getpid(),
        "socket": "" if socket is None else str(socket),
        "sandbox": sandbox,
        "redact": redact,
        "cassettes": dataclasses.asdict(cassettes or Cassettes()),
    }
    if model is not None and model.key_variable:
        forget(model.key_variable, surroundings)
    said = _launched(settings, dict(surroundings))
    return Address("127.0.0.1", int(said["port"]), token, int(said["pid"]), "" if socket is None else str(socket))


def _launched(settings: dict[str, Any], environ: dict[str, str]) -> dict[str, Any]:
    home = str(Path(healguard_core.__file__).resolve().parents[1])
    # Isolated: what the program under test has put on PYTHONPATH must not be imported there.
    command = [sys.executable, "-I", "-c", _BOOT, home]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environ, close_fds=True, start_new_session=True)
        out, err = process.communicate(json.dumps(settings).encode("ascii"), timeout=START)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise StartError(f"the healing side said nothing for {START:g} seconds") from None
    except OSError as error:
        raise StartError(f"the healing side cannot be started: {error}") from error
    try:
        said: dict[str, Any] = json.loads(out.decode("utf-8", "replace").splitlines()[-1])
        return said
    except (ValueError, IndexError):
        last = err.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it ended without a word"]
        raise StartError(f"the healing side did not start: {last[0]}") from None


def forget(variable: str, environ: MutableMapping[str, str]) -> None:
    """Remove a variable, and overwrite its value where the process keeps what it was started with."""
    if environ is os.environ and os.name == "posix":
        library = ctypes.CDLL(None)
        library.getenv.restype = ctypes.c_void_p
        library.getenv.argtypes = [ctypes.c_char_p]
        place = library.getenv(os.fsencode(variable))
        if place:
            ctypes.memset(place, 0x78, len(ctypes.string_at(place)))
    environ.pop(variable, None)
