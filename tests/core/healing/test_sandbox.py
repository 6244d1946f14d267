"""Whatever a command does in the read-only view, the project stays as it was, and nothing of it runs on.

Every attack is made on every backend that this machine has.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from healguard_core.healing.sandbox import attack, kernel, plans, proof, view
from healguard_core.healing.sandbox.plans import BACKENDS, PROCESSES, Unusable
from healguard_core.healing.sandbox.proof import weakness
from healguard_core.healing.sandbox.view import OUTPUT, View, open_view

TEXT = "VALUE = 1\n"


@pytest.fixture(params=BACKENDS)
def shown(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[View]:
    """A view of a small project by one backend."""
    problem = plans.obstacle(request.param)
    if problem:
        pytest.skip(f"{request.param}: {problem}")
    root = tmp_path / "project"
    (root / "package").mkdir(parents=True)
    (root / "package" / "module.py").write_text(TEXT)
    (root / "link.py").symlink_to("package/module.py")
    with contextlib.closing(View(root, request.param)) as found:
        yield found


def state(root: Path) -> list[tuple[Any, ...]]:
    """Everything that an attack might change."""
    found = []
    for folder, folders, files in os.walk(root):
        for name in [".", *folders, *files]:
            about = os.lstat(os.path.join(folder, name))
            found.append((folder, name, about.st_mode, about.st_uid, about.st_mtime_ns, about.st_size, about.st_nlink))
    return sorted(found)


def test_a_command_reads_the_project(shown: View) -> None:
    ended = shown.run("cat package/module.py link.py; grep -rn VALUE . | wc -l; ls -a; exit 3")
    assert ended.returncode == 3
    assert ended.output.count(TEXT) == 2
    assert "package" in ended.output
    assert "(exit code 3)" in ended.text


ATTACKS = {
    "write": """
        echo x > package/module.py; echo x >> link.py; : > package/module.py; echo x > new; mkdir folder; rm -rf package
        mv package other; cp link.py copy; truncate -s 0 package/module.py; dd if=/dev/zero of=package/module.py count=1
        sed -i s/1/2/ package/module.py; ln -s x y; mkfifo p; mknod n p""",
    "metadata": """
        chmod -R 777 .; chmod 000 package/module.py; chown -R 12345 .; touch package/module.py new
        touch -d 2001-01-01 package/module.py; setfattr -n user.x -v 1 package/module.py; chattr +i link.py""",
    "remount": """
        for place in . / "$PWD" "$(dirname "$PWD")"; do
            mount -o remount,rw,bind "$place"; umount -l "$place"; mount -t tmpfs none "$place"
        done
        echo x > package/module.py
        unshare -Urm sh -c 'mount -o remount,rw,bind "$PWD"; echo x > package/module.py'
        unshare -m sh -c 'mount -o remount,rw,bind /; echo x > package/module.py'
        nsenter -t 1 -a sh -c "echo x > '$PWD/package/module.py'"; chroot / sh -c 'echo x > new'""",
    "links": """
        ln package/module.py $TMPDIR/hard && echo x > $TMPDIR/hard
        ln -s "$PWD/package/module.py" $TMPDIR/soft; echo x > $TMPDIR/soft
        ln -s "$PWD" $TMPDIR/folder; echo x > $TMPDIR/folder/new; mv $TMPDIR/soft "$PWD/new"
        cd $TMPDIR/folder && echo x > package/module.py""",
    "proc": """
        for p in /proc/[0-9]* /proc/self; do
            echo x > $p/root$PWD/package/module.py; echo x > $p/cwd/new; for f in $p/fd/*; do echo x > $f; done
        done
        exec 3<package/module.py; echo x > /proc/self/fd/3; echo x > /dev/fd/3""",
    "setuid": """
        sudo -n sh -c 'echo x > new'; su -c 'echo x > new'; cp /bin/sh $TMPDIR/sh; chmod 4755 $TMPDIR/sh
        $TMPDIR/sh -p -c 'echo x > package/module.py'; setpriv --reuid 0 sh -c 'echo x > new'
        capsh --user=root -- -c 'echo x > new'; newgrp; pkexec sh -c 'echo x > new'""",
}


def test_attacks_change_nothing(shown: View) -> None:
    place = shown.place()
    before, copy = state(shown.root), state(place)
    ended = shown.run("\n".join(f"({commands}\n)\necho tried {name}" for name, commands in ATTACKS.items()), 60)
    assert [name for name in ATTACKS if f"tried {name}" not in ended.output] == [], ended.text
    assert state(shown.root) == before
    assert state(place) == copy
    assert (shown.root / "package" / "module.py").read_text() == TEXT


def test_settings_of_the_machine_cannot_be_opened(shown: View) -> None:
    # Opened only: a write that worked would change this machine.
    paths = " ".join(attack.SETTINGS)
    ended = shown.run(f"for f in {paths}; do (exec 3<>$f) 2>/dev/null && echo OPENED $f; done; echo tried")
    assert ended.output.split() == ["tried"]


NETWORK = """
import socket, sys
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {tcp})),
    (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", {udp})),
    (socket.AF_UNIX, socket.SOCK_STREAM, {unix!r}), (socket.AF_UNIX, socket.SOCK_STREAM, "\\0{name}"),
):
    try:
        made = socket.socket(family, kind)
        made.settimeout(2)
        made.connect(address)
        made.send(b"x")
        print("REACHED", family, kind)
    except OSError as error:
        print(error)
"""


def test_nothing_is_reached(shown: View, tmp_path: Path) -> None:
    name = f"heal-test-{os.getpid()}"
    with (socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
          socket.socket(socket.AF_UNIX) as file, socket.socket(socket.AF_UNIX) as abstract):
        udp.bind(("127.0.0.1", 0))
        path = str(tmp_path / "s")
        for listening, address in ((file, path), (abstract, "\0" + name)):
            listening.bind(address)
            listening.listen()
        script = NETWORK.format(tcp=tcp.getsockname()[1], udp=udp.getsockname()[1], unix=path, name=name)
        port = tcp.getsockname()[1]
        ended = shown.run(f"for p in python3 /usr/bin/python3; do $p -c '{script}' && break; done; "
                          f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo REACHED; echo tried")
        assert "tried" in ended.output
        assert "REACHED" not in ended.output
        for listening in (tcp, file, abstract, udp):
            listening.setblocking(False)
            with pytest.raises(BlockingIOError):
                listening.recv(1) if listening is udp else listening.accept()


def test_no_secret_is_in_sight(shown: View, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDER_KEY", "canary-5d21")
    secret = tmp_path / "outside"
    secret.write_text("canary-" + "77ab")
    secret.chmod(0o600)
    ended = shown.run(f"env; set; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/{os.getpid()}/environ; cat {secret}; "
                      "cat ~/.ssh/* /root/.netrc /etc/shadow; ps aux; echo tried")
    assert "tried" in ended.output
    assert "canary" not in ended.output.replace(str(secret), "")
    assert "root:" not in "\n".join(line for line in ended.output.splitlines() if ":x:" not in line)


# --------------------------------------------------------------------------- nothing runs on, nothing grows


def alive(mark: str) -> list[str]:
    """The processes of this machine in whose command line ``mark`` is."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if mark.encode() in Path("/proc", name, "cmdline").read_bytes():
                found.append(name)
    return found


def gone(mark: str) -> bool:
    end = time.monotonic() + 20
    while alive(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_nothing_survives_its_command(shown: View) -> None:
    mark = f"71{os.getpid()}.5"
    ended = shown.run(f"""
        sleep {mark} &
        setsid sleep {mark} &
        (setsid nohup sh -c 'trap "" TERM HUP INT; sleep {mark}; sleep {mark}' >/dev/null 2>&1 &)
        for i in 1 2 3; do (setsid sleep {mark} &) & done
        echo started; kill -9 $$""")
    assert "started" in ended.output
    assert gone(mark)


def test_time_is_up(shown: View) -> None:
    mark = f"72{os.getpid()}.5"
    ended = shown.run(f"trap '' TERM; setsid sleep {mark} & sleep {mark}; sleep {mark}", 1)
    assert (ended.returncode, ended.stopped) == (None, "it took longer than 1 seconds")
    assert gone(mark)


def test_many_processes_are_ended(shown: View) -> None:
    mark = f"73{os.getpid()}.5"
    ended = shown.run(f"i=0; while [ $i -lt {PROCESSES * 20} ]; do sleep {mark} & i=$((i+1)); done; wait", 60)
    assert ended.stopped == f"it started more than {PROCESSES} processes"
    assert gone(mark)


def test_processes_that_multiply_are_ended(shown: View) -> None:
    with kernel.process_limit(PROCESSES) as group:
        if os.geteuid() == 0 and not group.folder and shown.backend != "user":
            pytest.skip("root can make no control group here, and nothing else bounds its processes at once")
    mark = f"heal_bomb_{os.getpid()}"
    bomb = f"sh -c 'f() {{ f {mark} | f {mark} & f {mark}; }}; f {mark}'"
    ended = shown.run(f"{bomb}; sleep 60", 60)
    assert ended.stopped == f"it started more than {PROCESSES} processes"
    assert gone(mark)


def test_memory_is_bounded(shown: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "Plan", lambda **more: plans.Plan(**more, memory_bytes=200 << 20))
    ended = shown.run("head -c 900000000 /dev/zero | tail; echo over", 30)
    assert "over" not in ended.output or "exhausted" in ended.output or "allocate" in ended.output


def test_the_scratch_folder_is_bounded_and_removed(shown: View) -> None:
    ended = shown.run('echo "$TMPDIR"; echo kept > $TMPDIR/x && cat $TMPDIR/x; '
                      "head -c 200000000 /dev/zero > $TMPDIR/big; stat -c %s $TMPDIR/big", 60)
    place, kept, *_, size = ended.output.split()
    assert kept == "kept"
    assert int(size) <= plans.FILE
    assert place == "/tmp" or not os.path.exists(place)


def test_much_output_is_cut(shown: View) -> None:
    ended = shown.run("echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert ended.output.startswith("first")
    assert ended.output.rstrip().endswith("last")
    assert "bytes left out" in ended.output
    assert len(ended.output) <= OUTPUT + 100
    assert shown.run("yes", 60).stopped == "it wrote more than 16 MB"


def test_stop_ends_what_runs(shown: View) -> None:
    mark = f"74{os.getpid()}.5"
    ends: list[Any] = []
    thread = threading.Thread(target=lambda: ends.append(shown.run(f"sleep {mark}; echo late", 60)))
    thread.start()
    while not alive(mark):
        time.sleep(0.01)
    shown.stop()
    thread.join(30)
    assert gone(mark)
    assert ends[0].stopped == "nobody waits for it any more"


def test_commands_run_at_the_same_time(shown: View) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(lambda n: shown.run(f"echo {n}").output.strip(), range(3))) == ["0", "1", "2"]


def test_nothing_survives_whoever_asked(shown: View, tmp_path: Path) -> None:
    mark = f"75{os.getpid()}.5"
    program = ("import sys; from pathlib import Path; from healguard_core.healing.sandbox.view import View; "
               "mark = sys.argv[3]; "
               "View(Path(sys.argv[1]), sys.argv[2]).run(f'setsid sleep {mark} & sleep {mark}', 60)")
    asker = subprocess.Popen([sys.executable, "-c", program, str(shown.root), shown.backend, mark], cwd=tmp_path)
    while len(alive(mark)) < 4:  # the asker, the watcher and both sleeps
        time.sleep(0.02)
    asker.kill()
    asker.wait()
    assert gone(mark)


# --------------------------------------------------------------------------- the self-test


def test_a_backend_is_attacked_before_it_is_used(shown: View) -> None:
    before = state(shown.root)
    assert weakness(shown.root, shown.backend) == ""
    assert state(shown.root) == before


def open_network(patched: pytest.MonkeyPatch) -> None:
    weak = ("import healguard_core.healing.sandbox.kernel as kernel; kernel._NETWORK.clear(); "
            "kernel.landlock_version = lambda: 3; enclosed.")
    for name in ("_WATCH", "_BECOME"):
        patched.setattr(plans, name, getattr(plans, name).replace("enclosed.", weak, 1))
    bubble = plans.in_bubblewrap

    def on_the_network(plan: plans.Plan, **more: Any) -> plans.Plan:
        made = bubble(plan, **more)
        return dataclasses.replace(made, command=["--unshare-pid" if word == "--unshare-all" else word
                                                  for word in made.command])

    patched.setattr(plans, "in_bubblewrap", on_the_network)


def writable(patched: pytest.MonkeyPatch) -> None:
    bubble = plans.in_bubblewrap

    def bound(plan: plans.Plan, **more: Any) -> plans.Plan:
        made = bubble(plan, **more)
        words = ["--bind" if word == "--ro-bind" else word for word in made.command]
        return dataclasses.replace(made, command=[word.replace('"welcome"', '""') for word in words])

    patched.setattr(plans, "in_bubblewrap", bound)
    patched.setattr(plans, "under_landlock", lambda plan, **_: plan)
    patched.setattr(view, "_stranger", lambda: 0)


@pytest.mark.parametrize(("weaken", "says"), [(open_network, "network"), (writable, "changed a file")])
def test_a_backend_that_does_not_hold_is_refused(
    shown: View, monkeypatch: pytest.MonkeyPatch, weaken: Any, says: str,
) -> None:
    weaken(monkeypatch)
    assert says in weakness(shown.root, shown.backend)
    with pytest.raises(Unusable, match=f"agents get no shell .*{shown.backend}: "):
        open_view(shown.root, shown.backend)


def test_the_strongest_backend_that_holds_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def judged(_root: Path, backend: str) -> str:
        tried.append(backend)
        return "" if backend == "landlock" else "it wrote into the project"

    monkeypatch.setattr(proof, "weakness", judged)
    monkeypatch.setattr(plans, "obstacle", lambda _backend: "")
    with contextlib.closing(open_view(tmp_path)) as found:
        assert found.backend == "landlock"
    assert tried == ["bwrap", "landlock"]


def test_a_machine_without_any_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "obstacle", lambda backend: f"no {backend} here")
    with pytest.raises(Unusable, match="bwrap: no bwrap here; landlock: no landlock here; user: no user here"):
        open_view(tmp_path)
