"""What runs in a sandbox, and how each backend is started. Standard library only.

Three backends, from the strongest to the weakest. ``bwrap``: a file system of its own in which everything but a
scratch folder is read-only, no network, no sight of other processes. ``landlock``: the kernel lets it open the project
and the system's programs for reading and nothing else. ``user``: another user, who reads a copy. In all three a filter
of system calls takes network, mounts and other processes away, and no capability is left.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import healguard_core
from healguard_core.healing.sandbox import kernel

BACKENDS = ("bwrap", "landlock", "user")
"""From the strongest to the weakest."""

PROCESSES = 256
"""Processes and threads that one command may have at a time."""
MEMORY = 4 << 30
"""Bytes of memory of one command, all its processes together."""
FILE = 64 << 20
"""Bytes of one file in the scratch folder, and of the whole folder where it is in memory."""

_BOOT = """\
import sys
sys.path.insert(0, sys.argv[1])
from healguard_core.healing.sandbox import enclosed
"""
_RELAY = _BOOT + "from healguard_core.healing.sandbox import relay; relay.main(sys.argv[2:])"
_WATCH = _BOOT + "enclosed.watch(sys.argv[2])"
_BECOME = _BOOT + "import json; enclosed.become(json.loads(sys.argv[2]))"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt/homebrew")
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
             "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/os-release", "/etc/mime.types")
_DEVICES = ("/dev/zero", "/dev/random", "/dev/urandom")


class Unusable(Exception):
    """A backend cannot be used here; the text says why."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """One command in a sandbox, as `enclosed` reads it. ``command[0]`` is an absolute path."""

    command: list[str]
    folder: str
    environ: dict[str, str]
    seconds: float
    readable: list[str] = dataclasses.field(default_factory=list)
    writable: list[str] = dataclasses.field(default_factory=list)
    gives_up: bool = True  # else the command does so itself
    landlock: str = ""  # or "needed", or "welcome" where something else holds already
    user: int | None = None
    namespaces: bool = False
    processes: int = PROCESSES
    memory_bytes: int = MEMORY
    file_bytes: int = FILE


def obstacle(backend: str) -> str:
    """Why this machine has no such backend, "" when it may have. Whether it holds, only an attack can tell."""
    if not sys.platform.startswith("linux"):
        return "it needs Linux"
    if backend == "bwrap":
        return "" if bubblewrap() else "there is no program bwrap (Debian: apt install bubblewrap)"
    if backend == "landlock":
        version = kernel.landlock_version()
        least = kernel.LEAST_LANDLOCK
        return "" if version >= least else f"the kernel offers landlock version {version}; {least} is needed"
    return "" if os.geteuid() == 0 else "only root can become another user"


def bubblewrap() -> str:
    """The program ``bwrap``, "" when there is none."""
    found = shutil.which("bwrap") or ""
    return found if os.path.isabs(found) else ""  # a relative entry of PATH may be the project's


def interpreter() -> str:
    """The Python that runs inside: the one that environments are made of, whose folder is readable there."""
    return os.path.realpath(sys.executable)


def system_paths() -> list[str]:
    """What a command may read beside the project: programs, libraries and this Python with its packages."""
    prefixes = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, sys.base_exec_prefix)}
    prefixes.add(str(Path(interpreter()).parent.parent))
    return [path for path in (*_SYSTEM, *_SETTINGS, *sorted(prefixes)) if os.path.exists(path)]


def own_paths() -> list[str]:
    """The files of this package that run inside."""
    package = Path(healguard_core.__file__).resolve().parent
    healing = package / "healing"
    return [str(package / "__init__.py"), str(healing / "__init__.py"), str(healing / "sandbox")]


def watched(plan: Plan) -> list[str]:
    """The command line that runs ``plan`` and leaves nothing of it running."""
    return _python(_WATCH, plan)


def _python(program: str, plan: Plan) -> list[str]:
    home = str(Path(healguard_core.__file__).resolve().parents[1])
    return [interpreter(), "-I", "-S", "-B", "-c", program, home, json.dumps(dataclasses.asdict(plan))]


def in_bubblewrap(plan: Plan, *, readable: Iterable[str], scratch: str) -> Plan:
    """The plan in a file system of its own: ``readable`` at their places, and an empty ``scratch`` in memory.

    ``/proc`` is read-only, too: root outside is root inside as far as the kernel's settings are concerned.
    """
    words = [bubblewrap(), "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    words += ["--proc", "/proc", "--dev", "/dev", "--size", str(FILE), "--tmpfs", scratch]
    seen: set[str] = set()
    for path in readable:
        words += _bound(path, seen)
    for place in ("/proc", "/dev", "/"):
        words += ["--remount-ro", place]
    everything = ["/proc", *readable, *_DEVICES]
    inner = dataclasses.replace(plan, landlock="welcome", readable=everything, writable=[scratch, os.devnull])
    return dataclasses.replace(plan, command=[*words, "--", *_python(_BECOME, inner)], gives_up=False, folder="/",
                               environ={"PATH": "/usr/bin:/bin"})


def program_in_bubblewrap(
    words: list[str], *, readable: Iterable[str], home: str, relay: tuple[str, int] | None
) -> list[str]:
    """The command line of an agent's program: only ``home`` is writable, and nothing but the model proxy is reachable.

    ``relay`` is a unix socket that leads to the proxy, and the port under which the program finds it. The program may
    make a sandbox of its own inside; the covers of ``/proc/sys`` keep it from having a ``/proc`` of its own there,
    whose settings root could change. The environment is what the command line is started with.
    """
    # No --die-with-parent: to the kernel the parent is the thread that started it, and the program outlives that one.
    # It ends with its process group, or when its standard input does.
    options = [bubblewrap(), "--unshare-all", "--cap-drop", "ALL"]
    options += ["--uid", str(_SOMEBODY), "--gid", str(_SOMEBODY)]  # root without rights could make no sandbox inside
    options += ["--proc", "/proc", "--dev", "/dev", "--size", str(FILE), "--tmpfs", "/tmp"]
    options += [word for place in _COVERED if os.path.exists(place) for word in ("--ro-bind", place, place)]
    seen: set[str] = set()
    for path in readable:
        options += _bound(path, seen)
    options += ["--bind", home, home]
    inside = list(words)
    if relay is not None:
        folder = str(Path(relay[0]).parent)
        options += ["--ro-bind", folder, folder]
        base = str(Path(healguard_core.__file__).resolve().parents[1])
        inside = [interpreter(), "-I", "-S", "-B", "-c", _RELAY, base, relay[0], str(relay[1]), *words]
    return [*options, "--remount-ro", "/", "--", *inside]


_SOMEBODY = 1000
_COVERED = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")


def _bound(path: str, seen: set[str]) -> list[str]:
    """Options that show ``path``; a symbolic link as what it is, and what it leads to as well."""
    if path in seen:
        return []
    seen.add(path)
    if os.path.islink(path):
        target = os.path.realpath(path)
        return [*(_bound(target, seen) if os.path.exists(target) else []), "--symlink", os.readlink(path), path]
    return ["--ro-bind", path, path]


def under_landlock(plan: Plan, *, readable: Iterable[str], scratch: str) -> Plan:
    """The plan with what the kernel is to let it open: ``readable``, and ``scratch`` for writing."""
    return dataclasses.replace(plan, landlock="needed", namespaces=os.geteuid() == 0,
                               readable=[*readable, *_DEVICES], writable=[scratch, os.devnull])


def as_stranger(plan: Plan, user: int) -> Plan:
    """The plan under another user's name."""
    return dataclasses.replace(plan, user=user, namespaces=True)
