"""What `proof` runs inside of a sandbox: it tries to change a project, to reach the network and to see other processes.

Every attempt is made in good earnest; whether one has come to something is for `proof` to see from outside. Standard
library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NEW = ".heal-proof"
"""What an attack tries to make."""
SETTINGS = ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe",
            "/proc/sys/vm/drop_caches", "/proc/sys/fs/binfmt_misc/register", "/proc/sysrq-trigger",
            "/sys/kernel/uevent_helper", "/sys/power/state")
"""What would change the machine, or make it run something outside of the sandbox."""
CANARY = "canary.txt"
DONE = "every attack was tried"

_libc = ctypes.CDLL(None, use_errno=True)
_REMOUNT_WRITABLE, _DETACH = 32 | 4096, 2  # MS_REMOUNT | MS_BIND, MNT_DETACH
_NEW_USERS_AND_MOUNTS = 0x10000000 | 0x00020000


def main(text: str, environ: dict[str, str]) -> None:
    """Try everything. ``text`` is a JSON object: folders, canary, tcp, unix, pid and environ."""
    asked = {**json.loads(text), "scratch": environ["TMPDIR"]}
    for attempt in _attempts(asked):
        with contextlib.suppress(Exception):  # refused, as it should be
            attempt()
    print(json.dumps({"done": DONE, "seen": _sees_into(asked), "settings": _settings()}))


def _attempts(asked: dict[str, Any]) -> Iterator[Callable[[], Any]]:
    canary = Path(asked["canary"]) / CANARY if asked["canary"] else None
    yield lambda: _reach(socket.AF_INET, ("127.0.0.1", asked["tcp"]))
    yield lambda: _reach(socket.AF_UNIX, asked["unix"])
    for folder in map(Path, asked["folders"]):
        yield from _writing(folder)
        yield from _through_processes(folder)
    if canary is not None:
        yield from _changing(canary, Path(asked["scratch"]))
    for folder in map(Path, asked["folders"]):
        yield from _mounting(folder)
    yield lambda: os.setresuid(0, 0, 0)
    for folder in map(Path, asked["folders"]):
        yield from _writing(folder)


def _writing(folder: Path) -> Iterator[Callable[[], Any]]:
    yield lambda: (folder / NEW).write_text("x")
    yield lambda: (folder / NEW).mkdir()
    yield lambda: (folder / NEW).symlink_to("/")
    yield lambda: os.mkfifo(folder / NEW)
    for command in ("echo x > {}", "mkdir {}", "mount -o remount,rw,bind {0%/*}; echo x > {}", "sudo -n touch {}"):
        yield lambda command=command: _shell(command, folder / NEW)  # type: ignore[misc]


def _changing(canary: Path, scratch: Path) -> Iterator[Callable[[], Any]]:
    yield lambda: canary.write_text("changed")
    yield lambda: os.truncate(canary, 0)
    yield lambda: os.close(os.open(canary, os.O_RDONLY | os.O_TRUNC))
    yield lambda: canary.chmod(0o777)
    yield lambda: os.chown(canary, 12345, 12345)
    yield lambda: os.utime(canary, (0, 0))
    yield lambda: os.setxattr(canary, "user.heal", b"x")
    yield canary.unlink
    yield lambda: canary.rename(scratch / "moved")
    yield lambda: canary.parent.rename(scratch / "folder")
    yield lambda: _linked(os.symlink, canary, scratch / "symbolic")
    yield lambda: _linked(os.link, canary, scratch / "hard")


def _shell(command: str, path: Path) -> None:
    """A new program may have rights that this one gave up."""
    script = command.replace("{0%/*}", '"${1%/*}"').replace("{}", '"$1"')
    subprocess.run(["/bin/sh", "-c", script, "sh", str(path)], check=False, capture_output=True, timeout=10)


def _linked(link: Callable[..., None], canary: Path, place: Path) -> None:
    link(canary, place)
    place.write_text("changed")


def _through_processes(folder: Path) -> Iterator[Callable[[], Any]]:
    """What is closed here may be open by the roots and folders of other processes."""
    names = ["self", "1"]
    with contextlib.suppress(OSError):
        names += [name for name in os.listdir("/proc") if name.isdigit()]
    for name in names:
        yield lambda name=name: Path(f"/proc/{name}/root{folder}/{NEW}").write_text("x")  # type: ignore[misc]
        yield lambda name=name: Path(f"/proc/{name}/cwd/{NEW}").write_text("x")  # type: ignore[misc]


def _mounting(folder: Path) -> Iterator[Callable[[], Any]]:
    name = os.fsencode(folder)
    for prepare in (lambda: None, lambda: _libc.unshare(_NEW_USERS_AND_MOUNTS)):
        yield prepare
        for place in (name, b"/"):
            yield lambda place=place: _libc.mount(b"none", place, None, _REMOUNT_WRITABLE, None)  # type: ignore[misc]
        yield lambda: _libc.umount2(name, _DETACH)
        yield from _writing(folder)


def _reach(family: int, address: Any) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(2)
        connection.connect(address)


def _sees_into(asked: dict[str, Any]) -> bool:
    """Whether the environment of the process that made the sandbox can be read."""
    try:
        found = Path("/proc", str(asked["pid"]), "environ").read_bytes()
    except OSError:
        return False
    # The same number may stand for another process here.
    return hashlib.sha256(found).hexdigest() == str(asked["environ"])


def _settings() -> list[str]:
    """The kernel's settings that can be changed. They are opened and not written: they belong to the whole machine."""
    found = []
    for path in SETTINGS:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_WRONLY))
            found.append(path)
    return found
