"""Rehearsing code in a forked child that leaves nothing behind. May import confine and frame."""

import errno
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
import warnings
from types import FrameType
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from healguard_core.execution.guard.enforcement import Watch
from healguard_core.execution.guard.veto import Stop
from healguard_core.execution.pause.frame import PausedFrame

try:
    import posix as _system  # not `os`: coverage and gevent put functions of their own there

    from healguard_core.execution.pause import confine
except ImportError:  # no POSIX here
    _system = None  # type: ignore[assignment]

MAX_RESULT = 1 << 20
"""Bytes of a child's answer; longer texts in it are cut."""

_open, _read, _write, _close, _pipe = os.open, os.read, os.write, os.close, os.pipe
_pread: Any = getattr(os, "pread", None)
_waitpid, _kill, _setpgid, _listdir = (
    getattr(os, name, None) for name in ("waitpid", "kill", "setpgid", "listdir")
)  # type: Any, Any, Any, Any
_sigmask, _all_signals = (
    getattr(signal, name, None) for name in ("pthread_sigmask", "valid_signals")
)  # type: Any, Any
_poll = getattr(select, "poll", None)
_clock, _sleep = time.monotonic, time.sleep
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_current_frames, _getframe, _threads, _this_thread = (
    sys._current_frames, sys._getframe, threading.enumerate, threading.get_ident
)
_TIMER = threading.Timer.run.__code__
_dumps, _loads = json.dumps, json.loads


class TrialResult(NamedTuple):
    """What came back from a child.

    ``ok``: the work ended by itself and ``value`` is what it returned. ``effect``: the first external effect that was
    stopped, "" for none; the work may have gone on after it. ``error``: why there is no value. ``unusable``: the child
    says nothing about how the work would do in the live process (it was locked up, or it died). Work that was still
    busy when its time was over would be so in the live process too: that is an error.
    """

    ok: bool
    value: Dict[str, Any]
    effect: str
    error: str
    unusable: bool


class Trial:
    """Forks children that may write to ``scratch_dir`` only and have ``timeout`` seconds."""

    def __init__(self, scratch_dir: str, timeout: float = 10.0) -> None:
        self._scratch = scratch_dir
        self._timeout = timeout

    def possible(self) -> Tuple[bool, str]:
        """Whether forking is safe at this moment, and why not."""
        if _system is None or not hasattr(_system, "fork") or _poll is None:
            return False, "this platform has no fork"
        if not sys.platform.startswith("linux"):
            return False, "trials in a forked child need Linux"
        busy = _busy_threads()
        if busy:
            return False, "another thread is running: " + ", ".join(busy)
        shared = _shared_memory()
        if shared:
            return False, "the program shares writable memory with others: " + shared
        if not confine.landlock_version() and _open_database():
            return False, "a database is open, and this kernel has no Landlock to keep its journal from being written"
        return True, ""

    def run(self, work: Callable[[], Dict[str, Any]]) -> TrialResult:
        """Do ``work`` in a child and hand back what it returned; it has to be JSON. Only when `possible`."""
        reading, writing = _pipe()
        pid = 0
        try:
            try:
                pid = _fork(lambda: _child(work, self._scratch, writing, self._timeout))
            except OSError as exc:
                return _useless("no child could be forked: {}".format(exc))
            _close(writing)
            writing = -1
            raw, ended = _answer(reading, _clock() + self._timeout)
            if not ended and not raw and _worked(pid) >= self._timeout / 10:
                return TrialResult(False, {}, "", _ENDLESS.format(self._timeout), False)
            status = _reap(pid, 1.0 if ended else 0.0)
            pid = 0
            return _result(raw, ended, status, self._timeout)
        finally:
            for descriptor in (reading, writing):
                if descriptor >= 0:
                    _close(descriptor)
            if pid:
                _reap(pid, 0.0)


# --------------------------------------------------------------------------- before the fork

_WAITS = {"threading", "queue", "selectors", "socket"}
_HARMLESS = {
    "execnet.gateway_base", "xdist.remote", "pytest_rerunfailures", "pytest_timeout", "tqdm._monitor",
    "concurrent.futures.thread",
}


def _busy_threads() -> List[str]:
    """The names of other threads that are not known to be waiting where a fork does no harm."""
    frames = _current_frames()
    names = {thread.ident: thread.name for thread in _threads()}
    me = _this_thread()
    return [
        names.get(ident, "thread {}".format(ident))
        for ident, frame in frames.items()
        if ident != me and not _waits_harmlessly(frame)
    ]


def _waits_harmlessly(frame: FrameType) -> bool:
    """Whether a thread belongs to somebody known whose threads only wait: for a message, for work, for a time.

    That is told by the innermost module that is no wait of the standard library; its timers have none.
    """
    at: Optional[FrameType] = frame
    while at is not None and at.f_globals.get("__name__") in _WAITS:
        if at.f_code is _TIMER:
            return at is not frame
        at = at.f_back
    return at is not None and at.f_globals.get("__name__") in _HARMLESS


def _shared_memory() -> str:
    """The first writable mapping that other processes see too, "" for none."""
    for line in _file("/proc/self/maps").splitlines():
        fields = line.split(None, 5)
        if len(fields) > 1 and fields[1].startswith("rw") and fields[1].endswith("s"):
            return fields[5] if len(fields) > 5 else "anonymous"
    return ""


def _open_database() -> bool:
    for text in _listdir("/proc/self/fd"):
        try:
            if _pread(int(text), 16, 0) == b"SQLite format 3\x00":
                return True
        except OSError:
            continue  # not a file that can be read
    return False


def _file(path: str) -> str:
    descriptor = _open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts: List[bytes] = []
        while True:
            part = _read(descriptor, 1 << 16)
            if not part:
                return b"".join(parts).decode("utf-8", "replace")
            parts.append(part)
    finally:
        _close(descriptor)


def _fork(child: Callable[[], None]) -> int:
    """The process id of a new process that runs ``child``, which never returns.

    Signals wait, so that no handler of the program can raise in the child. The warning about threads (3.12+) is kept
    off, for they have been looked at; its filter is put in by hand, because `warnings.catch_warnings` would make every
    warning that is shown once show again.
    """
    entry = ("ignore", None, DeprecationWarning, None, 0)
    filters: Any = warnings.filters
    before = _sigmask(signal.SIG_BLOCK, _all_signals())
    filters.insert(0, entry)
    try:
        pid = int(_system.fork())
        if pid == 0:
            child()
    finally:
        filters.remove(entry)
        _sigmask(signal.SIG_SETMASK, before)
    try:
        _setpgid(pid, pid)  # the child does the same: whoever comes first
    except OSError:
        pass  # it has ended already
    return pid


# --------------------------------------------------------------------------- the child


def _child(work: Callable[[], Dict[str, Any]], scratch: str, writing: int, seconds: float) -> None:
    """Everything that the child ever does; never returns."""
    try:
        _setpgid(0, 0)
        walls = confine.confine(scratch, writing, seconds)
        answer: Dict[str, Any] = {"value": None, "error": "", "effect": ""}
        try:
            value = work()
            _dumps(value)
            answer["value"] = value
        except confine.Effect:
            pass  # `walls` knows it
        except BaseException as exc:
            answer["error"] = "".join(traceback.format_exception_only(type(exc), exc)).strip()
        answer["effect"] = walls.effect
        _send(writing, answer)
    finally:
        _system._exit(0)


def _send(writing: int, answer: Dict[str, Any]) -> None:
    text = _dumps(answer)
    if len(text) > MAX_RESULT:
        text = _dumps(_cut(answer, MAX_RESULT // 100))
    if len(text) > MAX_RESULT:
        text = _dumps(dict(answer, value=None, error="the answer is longer than {} bytes".format(MAX_RESULT)))
    rest = text.encode("ascii")
    while rest:
        rest = rest[_write(writing, rest):]


def _cut(value: Any, length: int) -> Any:
    if isinstance(value, str) and len(value) > length:
        return value[:length] + "... {} more characters".format(len(value) - length)
    if isinstance(value, dict):
        return {key: _cut(item, length) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item, length) for item in value]
    return value


# --------------------------------------------------------------------------- the parent


def _answer(reading: int, deadline: float) -> Tuple[bytes, bool]:
    """All that the child sends, and whether it closed its end in time."""
    assert _poll is not None
    poll = _poll()
    poll.register(reading, select.POLLIN | select.POLLHUP)
    parts: List[bytes] = []
    while True:
        left = deadline - _clock()
        if left <= 0:
            return b"".join(parts), False
        if poll.poll(left * 1000):
            part = _read(reading, 1 << 16)
            if not part:
                return b"".join(parts), True
            parts.append(part)


_ENDLESS = "the code did not come to an end within {:g} seconds; it loops, or does too much for a heal"


def _worked(pid: int) -> float:
    """Seconds of processor time that the child has used: one that loops works, one that is locked up only waits."""
    try:
        fields = _file("/proc/{}/stat".format(pid)).rpartition(")")[2].split()
    except OSError:  # somebody else took the child
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS if len(fields) > 12 else 0.0


def _reap(pid: int, patience: float) -> Optional[int]:
    """Wait ``patience`` seconds for the child's end, then kill it. Its status, None if somebody else took it."""
    deadline = _clock() + patience
    try:
        while True:
            ended, status = _waitpid(pid, os.WNOHANG)
            if ended:
                return int(status)
            if _clock() >= deadline:
                break
            _sleep(0.002)
        _kill(pid, signal.SIGKILL)
        return int(_waitpid(pid, 0)[1])
    except ChildProcessError:
        return None


def _result(raw: bytes, ended: bool, status: Optional[int], timeout: float) -> TrialResult:
    try:
        answer = _loads(raw.decode("ascii")) if raw else None
    except ValueError:
        answer = None
    if answer is not None:
        value = answer["value"]
        return TrialResult(value is not None, value or {}, answer["effect"], answer["error"], False)
    if not ended:
        return _useless("the rehearsal did not end within {:g} seconds".format(timeout))
    if status is not None and os.WIFSIGNALED(status):
        return _useless("the rehearsal ended by signal {}".format(signal.Signals(os.WTERMSIG(status)).name))
    return _useless("the rehearsal ended without an answer")


def _useless(why: str) -> TrialResult:
    return TrialResult(False, {}, "", why, True)


# --------------------------------------------------------------------------- heal code


class Rehearsal(NamedTuple):
    """What heal code did in a child.

    ``error``: a traceback of the heal's own lines; ``effect``: the external effect at which it was stopped;
    ``unusable``: why the rehearsal says nothing about the code, "" when it does. ``stops``: what the guard stopped.
    """

    stdout: str
    value_repr: str
    error: str
    effect: str
    unusable: str
    stops: List[Stop]


def rehearse(
    trial: Trial, paused: PausedFrame, code: str, label: str = "<heal>", watch: Optional[Watch] = None
) -> Rehearsal:
    """Run ``code`` in the paused frame of a child of ``trial``. Only when ``trial.possible()``."""
    done = trial.run(lambda: _rehearsed(paused, code, label, watch))
    if done.unusable:
        return Rehearsal("", "", "", "", done.error, [])
    value = done.value
    stops = [Stop(**stop) for stop in value.get("stops", ())]
    effect = done.effect or value.get("effect", "")
    error = "" if effect else done.error or value.get("error", "")
    return Rehearsal(value.get("stdout", ""), value.get("value_repr", ""), error, effect, "", stops)


def _rehearsed(paused: PausedFrame, code: str, label: str, watch: Optional[Watch]) -> Dict[str, Any]:
    ran = paused.run(code, label=label, echo=False, watch=watch)
    effect = _met_a_wall(ran.exception)
    stops = [stop.as_json() for stop in watch.stops] if watch is not None else []
    return {
        "stdout": ran.stdout, "value_repr": ran.value_repr, "error": ran.error, "effect": effect, "stops": stops,
    }


def _met_a_wall(exc: Optional[BaseException]) -> str:
    """The effect behind an error that only the child's cut-off descriptors can have caused, "" for another one."""
    seen: List[BaseException] = []
    while exc is not None and exc not in seen:
        seen.append(exc)
        if isinstance(exc, OSError) and exc.errno in (errno.EBADF, errno.EROFS):
            return "a write to a file that was open already"
        if isinstance(exc, OSError) and exc.errno == errno.ENOTSOCK:
            return "the use of a socket that was open already"
        if type(exc).__module__ == "sqlite3" and any(words in str(exc) for words in _DATABASE_WALLS):
            return "a write to a database that was open already"
        exc = exc.__cause__ or exc.__context__
    return ""


_DATABASE_WALLS = ("unable to open database file", "readonly database", "disk I/O error")
