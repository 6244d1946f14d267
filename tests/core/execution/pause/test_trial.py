"""A trial leaves nothing behind: each test tries one way out of the child and looks at the world afterwards."""

# ruff: noqa: ARG001, SIM105, SIM115 - the ways out of a child are one expression each

import ctypes
import logging
import mmap
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import pytest

from healguard_core.execution.pause.frame import PausedFrame
from healguard_core.execution.pause.trial import MAX_RESULT, Trial, rehearse

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="trials need Linux")


@pytest.fixture
def trial(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return Trial(str(scratch), timeout=20.0)


@pytest.fixture
def outside(tmp_path):
    place = tmp_path / "outside"
    place.mkdir()
    (place / "kept").write_text("kept")
    return place


def snapshot(place):
    found = {}
    for root, folders, files in os.walk(str(place)):
        for name in folders + files:
            path = os.path.join(root, name)
            about = os.lstat(path)
            content = open(path, "rb")
            with content:
                found[path] = (about.st_mode, about.st_mtime_ns, about.st_nlink, content.read())
    return found


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


# --------------------------------------------------------------------------- answers


def test_what_work_returns_comes_back(trial):
    assert trial.possible() == (True, "")
    done = trial.run(lambda: {"value": [1, "zwei", None, {"ü": 2.5}]})
    assert done.ok
    assert not done.unusable
    assert done.value == {"value": [1, "zwei", None, {"ü": 2.5}]}
    assert (done.effect, done.error) == ("", "")


def test_an_error_of_the_work_is_told(trial):
    done = trial.run(lambda: {"value": 1 // 0})
    assert not done.ok
    assert not done.unusable
    assert done.error.startswith("ZeroDivisionError")


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_errors_that_would_end_the_process_end_only_the_work(trial, error):
    def work():
        raise error

    done = trial.run(work)
    assert not done.ok
    assert type(error).__name__ in done.error


def test_a_result_that_is_no_json_is_an_error_of_the_work(trial):
    done = trial.run(lambda: {"value": object()})
    assert not done.ok
    assert "TypeError" in done.error


def test_a_long_result_is_cut(trial):
    done = trial.run(lambda: {"short": "s", "long": "x" * (3 * MAX_RESULT)})
    assert done.ok
    assert done.value["short"] == "s"
    assert done.value["long"].startswith("xxx")
    assert done.value["long"].endswith("more characters")
    assert len(done.value["long"]) < MAX_RESULT


def test_work_that_hangs_is_killed_and_says_nothing_about_the_code(tmp_path):
    done = Trial(str(tmp_path), timeout=0.3).run(lambda: {"value": time.sleep(600)})
    assert done.unusable
    assert not done.ok
    assert "did not end within 0.3 seconds" in done.error


def test_work_that_closes_the_pipe_and_hangs_is_killed(tmp_path):
    def work():
        os.closerange(3, 200)
        time.sleep(600)
        return {}

    assert Trial(str(tmp_path), timeout=5.0).run(work).unusable


@pytest.mark.parametrize("way", [os.abort, lambda: os.kill(os.getpid(), signal.SIGKILL)], ids=["abort", "kill"])
def test_a_child_that_dies_by_a_signal_is_reported(trial, way):
    done = trial.run(lambda: {"value": way()})
    assert done.unusable
    assert "SIG" in done.error


def test_memory_stays_as_it_was(trial):
    values, environment = [1], dict(os.environ)
    module = sys.modules[__name__]

    def work():
        values.append(2)
        module.planted = 1
        os.environ["HEAL_PLANTED"] = "1"
        os.chdir("/")
        sys.path.clear()
        return {"seen": values, "env": os.environ["HEAL_PLANTED"], "cwd": os.getcwd()}

    before = os.getcwd()
    done = trial.run(work)
    assert done.value == {"seen": [1, 2], "env": "1", "cwd": "/"}
    assert values == [1]
    assert not hasattr(module, "planted")
    assert dict(os.environ) == environment
    assert os.getcwd() == before
    assert sys.path


# --------------------------------------------------------------------------- ways out


FILES = {
    "create": lambda place: open(str(place / "new"), "w"),
    "exclusive": lambda place: open(str(place / "new"), "x"),
    "append": lambda place: open(str(place / "kept"), "a"),
    "update": lambda place: open(str(place / "kept"), "r+"),
    "by a relative path": lambda place: (os.chdir(str(place)), open("new", "w")),
    "os.open": lambda place: os.open(str(place / "new"), os.O_CREAT | os.O_WRONLY),
    "truncating os.open": lambda place: os.open(str(place / "kept"), os.O_TRUNC | os.O_RDWR),
    "pathlib": lambda place: (place / "new").write_text("x"),
    "remove": lambda place: os.remove(str(place / "kept")),
    "rename": lambda place: os.rename(str(place / "kept"), str(place / "moved")),
    "rename into scratch": lambda place: os.rename(str(place / "kept"), str(place.parent / "scratch" / "moved")),
    "replace": lambda place: os.replace(str(place / "kept"), str(place / "moved")),
    "mkdir": lambda place: os.mkdir(str(place / "new")),
    "rmdir": lambda place: os.rmdir(str(place)),
    "hard link": lambda place: os.link(str(place / "kept"), str(place / "new")),
    "hard link into scratch": lambda place: os.link(str(place / "kept"), str(place.parent / "scratch" / "new")),
    "symbolic link": lambda place: os.symlink(str(place / "kept"), str(place / "new")),
    "chmod": lambda place: os.chmod(str(place / "kept"), 0),
    "utime": lambda place: os.utime(str(place / "kept"), (0, 0)),
    "truncate": lambda place: os.truncate(str(place / "kept"), 0),
    "mkfifo": lambda place: os.mkfifo(str(place / "new")),
    "rmtree": lambda place: shutil.rmtree(str(place)),
    "copy": lambda place: shutil.copy(str(place / "kept"), str(place / "new")),
    "a new database": lambda place: sqlite3.connect(str(place / "new")),
    "removed through a directory descriptor": lambda place: os.remove(
        "kept", dir_fd=os.open(str(place), os.O_RDONLY | os.O_DIRECTORY)
    ),
    "through a link that leads out of scratch": lambda place: open(str(place.parent / "scratch" / "out" / "new"), "w"),
}

PROCESSES = {
    "subprocess": lambda: subprocess.check_call(["true"]),
    "system": lambda: os.system("true"),
    "fork": lambda: os.fork(),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "spawn": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    "a signal to the parent": lambda: os.kill(os.getppid(), signal.SIGTERM),
    "a signal to a group": lambda: os.killpg(os.getpgid(os.getppid()), signal.SIGTERM),
    "connect": lambda: socket.socket().connect(("127.0.0.1", 9)),
    "bind": lambda: socket.socket().bind(("127.0.0.1", 0)),
    "datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9)),
    "resolve": lambda: socket.getaddrinfo("localhost", 80),
    "ctypes": lambda: ctypes.string_at(0),
    "ctypes library": lambda: ctypes.CDLL("libc.so.6").getpid(),
    "semaphore": lambda: __import__("multiprocessing").Lock(),
}


@pytest.mark.parametrize("way", sorted(FILES))
def test_no_file_outside_scratch_changes(trial, outside, way):
    os.symlink(str(outside), str(outside.parent / "scratch" / "out"))
    before = snapshot(outside)
    done = trial.run(lambda: {"value": str(FILES[way](outside))})
    assert not done.ok
    assert done.effect != ""
    assert snapshot(outside) == before


@pytest.mark.parametrize("way", sorted(PROCESSES))
def test_nothing_reaches_other_processes(trial, way):
    done = trial.run(lambda: {"value": str(PROCESSES[way]())})
    assert not done.ok
    assert done.effect != ""


def test_a_swallowed_effect_is_still_told(trial, outside):
    def work():
        try:
            os.remove(str(outside / "kept"))
        except BaseException:
            return {"swallowed": True}
        return {}

    done = trial.run(work)
    assert done.ok
    assert done.value == {"swallowed": True}
    assert done.effect.startswith("os.remove(")
    assert (outside / "kept").exists()


def test_scratch_and_temporary_files_may_be_written(trial, outside):
    def work():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x")
            with open(path, "w") as stream:
                stream.write("temporary")
            with open(path) as stream:
                text = stream.read()
        with tempfile.TemporaryFile() as stream:
            stream.write(b"x")
        return {"text": text, "kept": (outside / "kept").read_text()}

    assert trial.run(work).value == {"text": "temporary", "kept": "kept"}


def test_imports_write_no_bytecode(trial, outside, monkeypatch):
    (outside / "imported_in_a_trial.py").write_text("value = 3")
    monkeypatch.setattr(sys, "path", [str(outside), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = snapshot(outside)
    done = trial.run(lambda: {"value": __import__("imported_in_a_trial").value})
    assert done.value == {"value": 3}
    assert not done.effect
    assert snapshot(outside) == before


def test_open_files_keep_their_content_offset_and_mode(trial, outside):
    path = outside / "kept"
    with open(str(path), "r+") as both, open(str(path), "a") as appending, open(str(path)) as reading:
        assert reading.read(1) == "k"
        appending.write("buffered")
        low = os.lseek(reading.fileno(), 0, os.SEEK_CUR)

        def flush():
            both.write("never")
            both.flush()
            return {}

        def unflushed():
            appending.write("never")
            return {"rest": reading.read()}

        def raw():
            return {"written": os.write(both.fileno(), b"never")}

        def mode():
            return {"value": os.fchmod(both.fileno(), 0)}

        assert not trial.run(flush).ok
        assert trial.run(unflushed).value == {"rest": "ept"}
        assert not trial.run(raw).ok
        assert not trial.run(mode).ok
        assert os.lseek(reading.fileno(), 0, os.SEEK_CUR) == low
        assert reading.read() == "ept"
    assert path.read_text() == "keptbuffered"
    assert path.stat().st_mode & 0o777


def test_open_sockets_and_pipes_stay_silent(trial):
    one, other = socket.socketpair()
    reading, writing = os.pipe()

    def work():
        os.write(writing, b"never")
        try:
            one.send(b"never")
        except OSError:
            pass
        return {}

    try:
        trial.run(work)
        other.setblocking(False)
        os.set_blocking(reading, False)
        with pytest.raises(BlockingIOError):
            other.recv(10)
        with pytest.raises(BlockingIOError):
            os.read(reading, 10)
    finally:
        one.close()
        other.close()
        os.close(reading)
        os.close(writing)


def test_logging_to_a_file_writes_nothing(trial, outside):
    logger = logging.getLogger("heal.trial.test")
    handler = logging.FileHandler(str(outside / "log"))
    logger.addHandler(handler)
    try:
        logger.warning("before")
        trial.run(lambda: {"value": logger.warning("never")})
        logger.warning("after")
    finally:
        logger.removeHandler(handler)
        handler.close()
    assert (outside / "log").read_text() == "before\nafter\n"


def test_an_open_database_stays_as_it_was(trial, outside):
    connection = sqlite3.connect(str(outside / "db"))
    try:
        connection.execute("create table t (x)")
        connection.execute("insert into t values (1)")
        connection.commit()
        before = snapshot(outside)
        if not trial.possible()[0]:
            pytest.skip("this kernel has no Landlock, and without it open databases are not rehearsed")

        def write():
            connection.execute("insert into t values (2)")
            connection.commit()
            return {}

        def read():
            return {"rows": connection.execute("select x from t").fetchall()}

        assert not trial.run(write).ok
        assert snapshot(outside) == before
        assert trial.run(read).value == {"rows": [[1]]}
        connection.execute("insert into t values (3)")
        connection.commit()
        assert connection.execute("select x from t").fetchall() == [(1,), (3,)]
    finally:
        connection.close()


def test_printing_goes_nowhere(trial, capfd):
    def work():
        print("never", flush=True)
        sys.stderr.write("never")
        sys.__stdout__.write("never")
        sys.__stdout__.flush()
        os.write(1, b"never")
        os.write(2, b"never")
        return {"printed": True}

    assert trial.run(work).value == {"printed": True}
    assert capfd.readouterr() == ("", "")


def test_alarms_and_handlers_of_the_program_do_not_run_in_the_child(trial):
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        done = trial.run(lambda: {"value": time.sleep(0.5), "seen": seen})
        assert done.value == {"value": None, "seen": []}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_interrupt_kills_the_child_and_goes_on(tmp_path):
    before = descriptors()

    def interrupt(*_):
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            Trial(str(tmp_path), timeout=60.0).run(lambda: {"value": time.sleep(600)})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert descriptors() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_many_trials_leave_no_descriptors_and_no_processes(trial):
    before, filters = descriptors(), list(warnings.filters)
    for number in range(50):
        assert trial.run(lambda number=number: {"value": number}).value == {"value": number}
    assert descriptors() == before
    assert warnings.filters == filters
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


# --------------------------------------------------------------------------- when it is not possible


class Waiting:
    """A thread that waits in a function of this module until told to end."""

    def __init__(self):
        self._ready, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._wait, name="waiting")

    def _wait(self):
        self._ready.set()
        self._end.wait()

    def __enter__(self):
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()


def test_another_thread_of_the_program_makes_it_impossible(trial):
    with Waiting():
        possible, why = trial.possible()
    assert not possible
    assert why == "another thread is running: waiting"
    assert trial.possible() == (True, "")


def test_a_waiting_timer_is_harmless_and_no_warning_reaches_the_program(trial):
    timer = threading.Timer(600, lambda: None)
    timer.start()
    try:
        deadline = time.monotonic() + 60
        while not trial.possible()[0] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert trial.possible() == (True, "")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert trial.run(lambda: {"value": 1}).ok
    finally:
        timer.cancel()
        timer.join()


def test_shared_memory_makes_it_impossible(trial, tmp_path):
    with open(str(tmp_path / "mapped"), "wb+") as stream:
        stream.write(b"x" * 100)
        stream.flush()
        with mmap.mmap(stream.fileno(), 100):
            possible, why = trial.possible()
    assert not possible
    assert "mapped" in why
    assert trial.possible() == (True, "")


# --------------------------------------------------------------------------- heal code


def paused(values):
    total = len(values)
    frame = PausedFrame(sys._getframe())
    return frame, lambda: (values, total)


def test_a_rehearsal_tells_what_the_code_would_do_and_changes_nothing(trial):
    values = [1, 2]
    frame, state = paused(values)
    done = rehearse(trial, frame, "values.append(3)\nprint('hello')\ntotal = sum(values)\ntotal")
    assert done == ("hello\n", "6", "", "", "", [])
    assert state() == ([1, 2], 2)


def test_a_rehearsal_that_raises_shows_the_line(trial):
    done = rehearse(trial, paused([1])[0], "x = 1\nvalues['a']", label="<heal 7>")
    assert "values['a']" in done.error
    assert 'File "<heal 7>", line 2' in done.error
    assert done.effect == done.unusable == ""


def test_a_rehearsal_stops_at_an_effect(trial, outside):
    path = str(outside / "kept")
    frame = paused([path])[0]
    done = rehearse(trial, frame, "import os\nos.remove(values[0])")
    assert done.effect.startswith("os.remove(")
    assert done.error == ""
    assert os.path.exists(path)


def test_writing_to_an_open_file_counts_as_an_effect(trial, outside):
    with open(str(outside / "kept"), "a") as stream:
        frame = wrap(stream)
        done = rehearse(trial, frame, "stream.write('x')\nstream.flush()")
        assert done.effect != ""
        assert done.error == ""
    assert (outside / "kept").read_text() == "kept"


def test_a_rehearsal_that_loops_is_an_error_of_the_code(tmp_path):
    done = rehearse(Trial(str(tmp_path), timeout=1.0), paused([1])[0], "while True: pass")
    assert "did not come to an end" in done.error
    assert not done.unusable


def test_a_rehearsal_that_only_waits_is_unusable(tmp_path):
    done = rehearse(Trial(str(tmp_path), timeout=0.3), paused([1])[0], "import time; time.sleep(600)")
    assert "did not end" in done.unusable


def wrap(stream):
    return PausedFrame(sys._getframe())
