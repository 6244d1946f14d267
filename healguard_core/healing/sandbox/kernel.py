"""What the Linux kernel offers a process that wants to give up rights: landlock, seccomp, namespaces, limits.

Standard library only, by ctypes: it runs on the near side of a sandbox, where nothing else of this package is loaded.
Every function changes the calling process for good and raises ``OSError`` where the kernel refuses.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import resource
import struct
from collections.abc import Iterable, Iterator, Sequence

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

_READ_BOUNDING_SET, _DROP_BOUNDING_SET = 23, 24
_SET_PDEATHSIG, _SET_SECCOMP, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 1, 22, 36, 38  # prctl
NEW_PROCESSES, NEW_NETWORK = 0x20000000, 0x40000000  # CLONE_NEWPID, CLONE_NEWNET

# --------------------------------------------------------------------------- landlock

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
_ON_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
_ALL = (1 << 13) - 1  # what the first version knows: also write, remove and make anything
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
LEAST_LANDLOCK = 3
"""The first version that stops ``truncate``, without which a file could be emptied."""
SIGNALS_SCOPED = 6
"""The first version that keeps signals inside."""


def landlock_version() -> int:
    """The version of landlock that the kernel offers, 0 for none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1))))


def restrict_files(readable: Iterable[str], writable: Iterable[str]) -> None:
    """From now on only what lies under these paths can be opened; also no TCP and no signals to others (newer kernels).

    Nothing can be moved or linked from one place to another. Paths that do not exist are left out.
    """
    version = landlock_version()
    if version < LEAST_LANDLOCK:
        raise OSError(f"landlock version {LEAST_LANDLOCK} is needed; the kernel offers {version}")
    handled = _ALL | _REFER | _TRUNCATE | (_IOCTL if version >= 5 else 0)
    network = 3 if version >= 4 else 0
    scoped = 3 if version >= SIGNALS_SCOPED else 0
    attributes = struct.pack("=QQQ", handled, network, scoped)[:8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _checked(_libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0)))
    try:
        for path in readable:
            _allow(ruleset, path, READ & handled)
        for path in writable:
            _allow(ruleset, path, handled & ~_REFER)
        no_new_privileges()
        _checked(_libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0)))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        if not os.path.isdir(path):
            access &= _ON_FILES
        rule = struct.pack("=Qi", access, place)
        _checked(_libc.syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint(0)))
    finally:
        os.close(place)


# --------------------------------------------------------------------------- seccomp

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_Table = dict[str, tuple[int, int | None]]  # by name: the number on x86_64 and on aarch64, None where there is none
_NETWORK: _Table = {"socket": (41, 198), "io_uring_setup": (425, 425)}  # rings open sockets behind the filter's back
_METADATA: _Table = {  # what landlock does not cover
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469),
}
_MOUNTS: _Table = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467), "swapon": (167, 224), "swapoff": (168, 225),
}
_OTHERS: _Table = {  # other processes, the kernel, and files by handle instead of by name
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "kcmp": (312, 272), "bpf": (321, 280), "perf_event_open": (298, 241), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "userfaultfd": (323, 282), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "reboot": (169, 142),
    "syslog": (103, 116), "acct": (163, 89), "open_by_handle_at": (304, 265), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "sethostname": (170, 161), "setdomainname": (171, 162),
}
_SIGNALS: _Table = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424),
}
_CLONE, _CLONE3 = (56, 220), (435, 435)
_NEW_USERS = 0x10000000  # CLONE_NEWUSER
_EPERM, _ENOSYS = 1, 38
_LOAD, _IS, _ANY_BIT, _LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def forbid_calls(*, metadata: bool, signals: bool) -> None:
    """From now on system calls for network, mounts, namespaces, other processes and the kernel fail with EPERM.

    ``metadata``: also those that change modes, owners, times and attributes. ``signals``: also those that send any.
    """
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(f"no system call filter is known for {machine!r}")
    tables = [_NETWORK, _MOUNTS, _OTHERS, *([_METADATA] if metadata else []), *([_SIGNALS] if signals else [])]
    which = 0 if machine == "x86_64" else 1
    numbers = sorted({number for table in tables for pair in table.values() if (number := pair[which]) is not None})
    steps = [(_LOAD, 0, 0, 4), (_IS, 1, 0, _ARCHITECTURES[machine]), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if machine == "x86_64":  # the same calls under the numbers of another interface
        steps += [(_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _ERROR | _EPERM)]
    for number in numbers:
        steps += [(_IS, 0, 1, number), (_RETURN, 0, 0, _ERROR | _EPERM)]
    steps += [(_IS, 0, 1, _CLONE3[which]), (_RETURN, 0, 0, _ERROR | _ENOSYS)]  # its flags cannot be read by a filter
    steps += [(_IS, 0, 3, _CLONE[which]), (_LOAD, 0, 0, 16), (_ANY_BIT, 0, 1, _NEW_USERS),
              (_RETURN, 0, 0, _ERROR | _EPERM), (_RETURN, 0, 0, _ALLOW)]
    _filter(steps)


def _filter(steps: Sequence[tuple[int, int, int, int]]) -> None:
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(steps), ctypes.addressof(buffer))
    no_new_privileges()
    _checked(_libc.prctl(_SET_SECCOMP, 2, program, 0, 0))


# --------------------------------------------------------------------------- smaller things


def no_new_privileges() -> None:
    """No program that is started from now on gains rights, whatever its file says (setuid)."""
    _checked(_libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def drop_bounding_set() -> None:
    """No program that is started from now on gets a capability, root's included."""
    capability = 0
    while _libc.prctl(_READ_BOUNDING_SET, capability, 0, 0, 0) >= 0:
        if _libc.prctl(_DROP_BOUNDING_SET, capability, 0, 0, 0) < 0 and ctypes.get_errno() != errno.EPERM:
            _checked(-1)  # EPERM: whoever may not drop them is nobody who would get them
        capability += 1


def drop_capabilities() -> None:
    """Keep no capability."""
    header = struct.pack("=Ii", 0x20080522, 0)
    _checked(_libc.capset(header, bytes(24)))


def die_with_parent(signal: int) -> None:
    """Get ``signal`` when the parent ends."""
    _checked(_libc.prctl(_SET_PDEATHSIG, signal, 0, 0, 0))


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _checked(_libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def unshare(flags: int) -> None:
    """Leave the namespaces that ``flags`` names; for processes that holds for children."""
    _checked(_libc.unshare(ctypes.c_int(flags)))


class _Group:
    """A control group that bounds how many processes there are; without a folder it bounds nothing."""

    def __init__(self, folder: str = "") -> None:
        self.folder = folder

    def join(self) -> None:
        """Put the calling process in."""
        if self.folder:
            _write(os.path.join(self.folder, "cgroup.procs"), str(os.getpid()))


@contextlib.contextmanager
def process_limit(most: int) -> Iterator[_Group]:
    """Bound the processes of whoever joins. Root needs a control group for it; where none can be made nothing is bound.

    Another user's processes are bound together with all else that the user runs.
    """
    if os.geteuid() != 0:
        with contextlib.suppress(OSError, ValueError):
            limit("NPROC", _own_processes() + most)
        yield _Group()
        return
    folder = _made_group(most)
    try:
        yield _Group(folder)
    finally:
        if folder:
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _own_processes() -> int:
    """How many processes and threads this user has."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == os.getuid():
                    count += len(os.listdir(f"/proc/{name}/task"))
    return count


def _made_group(most: int) -> str:
    """A new control group below this process's own, "" where that is not possible."""
    with contextlib.suppress(OSError):
        with open("/proc/self/cgroup", encoding="ascii") as file:
            rows = [line.strip().split(":", 2) for line in file]
        for _, controllers, place in rows:
            base = "/sys/fs/cgroup" if not controllers else f"/sys/fs/cgroup/{controllers}"
            if controllers and "pids" not in controllers.split(","):
                continue
            folder = f"{base}{place.rstrip('/')}/healguard-{os.getpid()}"
            try:
                os.mkdir(folder)
                _write(os.path.join(folder, "pids.max"), str(most))
            except OSError:
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
                continue
            return folder
    return ""


def _write(path: str, text: str) -> None:
    with open(path, "r+", encoding="ascii") as file:
        file.write(text)


def limit(name: str, most: int) -> None:
    """Lower a resource limit (``"CPU"``, ``"FSIZE"``, ...), never raise it."""
    kind = getattr(resource, f"RLIMIT_{name}")
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
