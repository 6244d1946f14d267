"""What a forked child does before it runs anything: cut every way out of its own memory. Standard library only.

Walls, from the outside in: inherited descriptors lead nowhere; Landlock, where the kernel has it, denies writing below
anything but the scratch directory; an audit hook stops every operation with an external effect before it happens.
"""

import ctypes
import gc
import os
import resource
import signal
import stat
import struct
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Dict, List, Set, Tuple

_open_fd, _close, _dup2, _lseek, _fstat, _read = os.open, os.close, os.dup2, os.lseek, os.fstat, os.read
_listdir, _readlink, _fspath, _fsdecode, _getpid = os.listdir, os.readlink, os.fspath, os.fsdecode, os.getpid
_realpath, _abspath, _dirname = os.path.realpath, os.path.abspath, os.path.dirname
_basename, _join = os.path.basename, os.path.join
_cpu_time, _this_thread = time.process_time, threading.get_ident


class Effect(BaseException):
    """Raised in place of an operation that would have left something behind outside the child."""


class Walls:
    """The audit hook of one child. ``effect`` is the first operation that it stopped, "" so far."""

    def __init__(self, scratch: str) -> None:
        self.effect = ""
        self._scratch = _realpath(scratch)
        self._asking: Set[int] = set()

    def __call__(self, event: str, args: Any) -> None:
        rule = _RULES.get(event) or _RULES.get(event.partition(".")[0] + ".*")
        thread = _this_thread()
        if rule is None or thread in self._asking:
            return
        self._asking.add(thread)
        try:
            text = _shown(event, args) if rule(self, args) else ""
        finally:
            self._asking.discard(thread)
        if text:
            self.stop(text)

    def stop(self, effect: str) -> None:
        """Remember ``effect`` and raise `Effect`."""
        self.effect = self.effect or effect
        raise Effect(effect)

    def inside(self, path: Any, directory: Any = -1) -> bool:
        """Whether ``path`` is below the scratch directory, or keeps nothing.

        It may be a descriptor, or relative to the descriptor ``directory``.
        """
        try:
            if isinstance(path, int):
                name = _readlink("/proc/self/fd/{}".format(path))
            else:
                name = _fsdecode(_fspath(path))
                if isinstance(directory, int) and directory >= 0:
                    name = _join(_readlink("/proc/self/fd/{}".format(directory)), name)
        except (TypeError, ValueError, OSError):
            return False
        real = _realpath(name)
        if real == os.devnull:
            return True
        # The name itself has to be inside as well: removing or renaming does not follow a link.
        return self._below(real) and self._below(_join(_realpath(_dirname(_abspath(name))), _basename(name)))

    def _below(self, path: str) -> bool:
        return path == self._scratch or path.startswith(self._scratch + "/")


_Rule = Callable[[Walls, Any], bool]
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND  # O_TMPFILE comes with one of them


def _open(walls: Walls, args: Any) -> bool:
    path, mode, flags = args
    writes = bool(flags & _WRITES) if isinstance(flags, int) else False
    if isinstance(mode, str) and set(mode) & set("wax+"):
        writes = True
    return writes and not isinstance(path, int) and not walls.inside(path)


def _deny(_walls: Walls, _args: Any) -> bool:
    return True


def _paths(*places: Tuple[int, int]) -> _Rule:
    """Deny unless every path is inside. ``places``: which argument is a path, and which its directory's descriptor."""

    def rule(walls: Walls, args: Any) -> bool:
        return not all(
            walls.inside(args[path], args[directory] if 0 <= directory < len(args) else -1)
            for path, directory in places
        )

    return rule


def _others(_walls: Walls, args: Any) -> bool:
    return bool(args[0] != _getpid())


def _database(walls: Walls, args: Any) -> bool:
    name = args[0]
    return name not in (":memory:", b":memory:", "") and not walls.inside(name)


_RULES: Dict[str, _Rule] = {
    "open": _open,
    "os.remove": _paths((0, 1)), "os.rmdir": _paths((0, 1)), "os.mkdir": _paths((0, 2)), "os.chmod": _paths((0, 2)),
    "os.chown": _paths((0, 3)), "os.utime": _paths((0, 3)), "os.truncate": _paths((0, -1)),
    "os.chflags": _paths((0, -1)), "os.setxattr": _paths((0, -1)), "os.removexattr": _paths((0, -1)),
    "os.rename": _paths((0, 2), (1, 3)), "os.link": _paths((0, 2), (1, 3)), "os.symlink": _paths((1, 2)),
    "os.lockf": _deny,
    "os.system": _deny, "os.exec": _deny, "os.posix_spawn": _deny, "os.spawn": _deny, "os.startfile": _deny,
    "os.startfile/2": _deny, "os.fork": _deny, "os.forkpty": _deny, "subprocess.Popen": _deny, "pty.spawn": _deny,
    "os.kill": _others, "os.killpg": _deny, "os.chroot": _deny,
    "socket.connect": _deny, "socket.bind": _deny, "socket.sendto": _deny, "socket.sendmsg": _deny,
    "socket.getaddrinfo": _deny, "socket.gethostbyname": _deny, "socket.gethostbyaddr": _deny,
    "socket.getnameinfo": _deny, "socket.sethostname": _deny,
    "sqlite3.connect": _database, "sqlite3.enable_load_extension": _deny, "sqlite3.load_extension": _deny,
    "fcntl.flock": _deny, "fcntl.lockf": _deny, "fcntl.ioctl": _deny,
    "resource.prlimit": _deny, "syslog.*": _deny, "ctypes.*": _deny, "winreg.*": _deny, "msvcrt.*": _deny,
    "webbrowser.open": _deny, "ftplib.*": _deny, "smtplib.*": _deny,
}

# Operations without an audit event. Replacing them is possible because the child never becomes the program again.
_SILENT = (
    ("os", "mkfifo"), ("os", "mknod"), ("os", "setns"), ("os", "unshare"), ("os", "pidfd_open"),
    ("posix", "mkfifo"), ("posix", "mknod"), ("posix", "pidfd_open"),
    ("signal", "pidfd_send_signal"), ("_posixshmem", "shm_open"), ("_posixshmem", "shm_unlink"),
    ("_multiprocessing", "SemLock"),
)


def _shown(event: str, args: Any) -> str:
    texts = []
    for arg in args:
        if arg is None or (isinstance(arg, int) and event == "open"):
            continue
        text = repr(arg) if isinstance(arg, (str, bytes, int, list, tuple)) else "<{}>".format(type(arg).__name__)
        texts.append(text if len(text) <= 120 else text[:117] + "...")
    return "{}({})".format(event, ", ".join(texts))


# --------------------------------------------------------------------------- the child


def confine(scratch: str, keep: int, seconds: float) -> Walls:
    """Cut this process off. ``keep`` is the descriptor that stays open, ``seconds`` the processor time allowed."""
    sys.settrace(None)
    sys.setprofile(None)
    gc.disable()
    sys.dont_write_bytecode = True
    _quiet_signals()
    tempfile.tempdir = scratch
    os.environ["TMPDIR"] = scratch
    _cut_descriptors(keep)
    _limit(seconds)
    landlock(scratch)
    walls = Walls(scratch)
    for module, name in _SILENT:
        _replace(walls, module, name)
    sys.addaudithook(walls)
    return walls


def _replace(walls: Walls, module: str, name: str) -> None:
    try:
        loaded = __import__(module)
    except ImportError:
        return
    real = getattr(loaded, name, None)

    def stop(*_args: Any, **_more: Any) -> Any:
        walls.stop("{}.{}(...)".format(module, name))

    if isinstance(real, type):
        setattr(loaded, name, type(name, (real,), {"__new__": stop}))
    elif real is not None:
        setattr(loaded, name, stop)


def _quiet_signals() -> None:
    """No handler of the program runs here: a timer's or a debugger's signal is not meant for the child.

    All signals are blocked since before the fork; from here on they are safe.
    """
    signal.set_wakeup_fd(-1)
    for name in ("SIGALRM", "SIGVTALRM", "SIGPROF", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP", "SIGPIPE"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    for name in ("SIGTERM", "SIGCHLD"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _limit(seconds: float) -> None:
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, int(_cpu_time() + seconds) + 2)
    _lower(resource.RLIMIT_FSIZE, 64 << 20)
    sizes = _open_fd("/proc/self/statm", os.O_RDONLY)
    used = int(_read(sizes, 200).split()[0]) * resource.getpagesize()
    _close(sizes)
    _lower(resource.RLIMIT_AS, used + (2 << 30))


def _lower(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(limit, (value, value))


def _cut_descriptors(keep: int) -> None:
    null = _open_fd(os.devnull, os.O_RDWR)
    printed = _standard_descriptors()
    for text in _listdir("/proc/self/fd"):
        descriptor = int(text)
        if descriptor in (keep, null):
            continue
        try:
            mode = _fstat(descriptor).st_mode
        except OSError:
            continue  # the one that listed the directory
        if descriptor in printed or not _reopen_for_reading(descriptor, mode):
            _dup2(null, descriptor)
    _close(null)


def _standard_descriptors() -> Set[int]:
    """Where the program's output goes. Printing there must go nowhere rather than fail."""
    found = {0, 1, 2}
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            found.add(stream.fileno())  # type: ignore[union-attr]
        except Exception:
            continue  # a stream of the program without a descriptor
    return found


def _reopen_for_reading(descriptor: int, mode: int) -> bool:
    """Replace a file's descriptor by one of the child's own at the same offset that cannot write."""
    if stat.S_ISDIR(mode):
        return True
    if not stat.S_ISREG(mode):
        return False
    try:
        own = _open_fd("/proc/self/fd/{}".format(descriptor), os.O_RDONLY)
        _lseek(own, _lseek(descriptor, 0, os.SEEK_CUR), os.SEEK_SET)
    except OSError:
        return False
    _dup2(own, descriptor)
    _close(own)
    return True


# --------------------------------------------------------------------------- Landlock

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls; the same numbers on every architecture
_RIGHTS_BY_VERSION = (0b1111111110010, 1 << 13, 1 << 14)  # write, remove and make; refer (2); truncate (3)
_NO_NEW_PRIVILEGES = 38
_libc: List[Any] = [None]


def landlock_version() -> int:
    """The kernel's Landlock version, 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    if _libc[0] is None:
        _libc[0] = ctypes.CDLL(None, use_errno=True)
    version = _libc[0].syscall(ctypes.c_long(_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(0, int(version))


def landlock(scratch: str) -> bool:
    """Deny this process every change of files outside ``scratch``; whether the kernel took it on."""
    version = landlock_version()
    if not version:
        return False
    rights = 0
    for bits in _RIGHTS_BY_VERSION[:version]:
        rights |= bits
    libc = _libc[0]
    attributes = ctypes.create_string_buffer(struct.pack("Q", rights))
    ruleset = libc.syscall(ctypes.c_long(_CREATE), attributes, ctypes.c_size_t(8), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    for path, allowed in ((scratch, rights), (os.devnull, rights & 0b10 | rights & 1 << 14)):
        descriptor = _open_fd(path, os.O_PATH | os.O_CLOEXEC)
        rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed, descriptor))
        libc.syscall(ctypes.c_long(_ADD), ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
        _close(descriptor)
    libc.prctl(ctypes.c_int(_NO_NEW_PRIVILEGES), ctypes.c_ulong(1), *[ctypes.c_ulong(0)] * 3)
    restricted = libc.syscall(ctypes.c_long(_RESTRICT), ctypes.c_int(ruleset), ctypes.c_uint32(0))
    _close(ruleset)
    return bool(restricted == 0)
