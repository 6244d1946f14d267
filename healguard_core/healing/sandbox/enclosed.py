"""The near side of a sandbox: watches one command from outside, or gives up rights and becomes it.

`watch` runs a `plans.Plan` in a process of its own, writes what the command writes to standard output and, when it is
over, one JSON object about its end to standard error. It ends the command when its time is up, when it becomes too
large, and when standard input ends, which tells that nobody waits any more; then nothing of it is left. `become` is the
process itself. Standard library only; imports kernel and attack.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import Any

from healguard_core.healing.sandbox import attack, kernel

ATTACK = "(attack)"
"""In place of a program's name: run `attack` here, after every right was given up."""
TICK = 0.02
"""Seconds between two looks at how many processes there are."""
SPARE = 32
"""Processes beyond the limit that are possible, so that a command which wants more is noticed and ended."""


def watch(text: str) -> None:
    """Run the plan in ``text`` to its end, whatever it does."""
    plan = json.loads(text)
    kernel.adopt_orphans()  # whoever started this one may be killed: then standard input ends
    with contextlib.suppress(OSError):  # only root may; then whoever multiplies cannot keep us from looking
        os.nice(-10)
    if plan["namespaces"]:
        with contextlib.suppress(OSError):  # not allowed here; the search for descendants is left
            kernel.unshare(kernel.NEW_PROCESSES)
    with kernel.process_limit(plan["processes"] + SPARE) as group:
        child = os.fork()
        if child == 0:
            os.nice(15)
            group.join()
            become(plan)
        over = _watched(child, plan)
        _end_all(child)
    os.write(2, json.dumps(over).encode("ascii"))
    os._exit(0)


def become(plan: dict[str, Any]) -> None:
    """Turn into the command. Does not return."""
    complaints = 2
    try:
        os.setsid()
        kernel.die_with_parent(signal.SIGKILL)
        program = plan["command"][0]
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(plan["folder"])
        if plan["gives_up"]:
            complaints = os.dup(2)  # closed by exec
            os.dup2(1, 2)
            _give_up(plan)
            kernel.die_with_parent(signal.SIGKILL)  # again: becoming another user has undone it
        os.closerange(3, complaints)
        os.closerange(max(complaints + 1, 3), 4096)
        if program == ATTACK:
            attack.main(plan["command"][1], plan["environ"])
            sys.stdout.flush()
            os._exit(0)
        os.execve(program, plan["command"], plan["environ"])
    except BaseException as error:
        os.write(complaints, json.dumps({"problem": f"{type(error).__name__}: {error}"}).encode("ascii") + b"\n")
    finally:
        os._exit(126)


def _give_up(plan: dict[str, Any]) -> None:
    kernel.limit("CORE", 0)
    kernel.limit("FSIZE", plan["file_bytes"])
    kernel.limit("AS", plan["memory_bytes"])
    kernel.limit("NOFILE", 1024)
    kernel.limit("CPU", int(plan["seconds"]) + 2)
    kernel.drop_bounding_set()
    if plan["user"] is not None:
        kernel.limit("NPROC", plan["processes"] + SPARE)
        os.setgroups([])
        os.setresgid(plan["user"], plan["user"], plan["user"])
        os.setresuid(plan["user"], plan["user"], plan["user"])
    kernel.drop_capabilities()
    kernel.no_new_privileges()
    version = kernel.landlock_version()
    usable = version >= kernel.LEAST_LANDLOCK
    if plan["landlock"] == "needed" or (plan["landlock"] == "welcome" and usable):
        kernel.restrict_files(plan["readable"], plan["writable"])
    alone = plan["landlock"] == "needed"  # else the mounts are read-only, and other processes are out of sight
    kernel.forbid_calls(metadata=alone, signals=alone and version < kernel.SIGNALS_SCOPED)


# --------------------------------------------------------------------------- watching


def _watched(child: int, plan: dict[str, Any]) -> dict[str, Any]:
    """Wait until the command is over, whatever the reason."""
    deadline = time.monotonic() + plan["seconds"]
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return {"returncode": os.waitstatus_to_exitcode(status), "stopped": ""}
        if time.monotonic() >= deadline:
            return {"returncode": None, "stopped": f"it took longer than {plan['seconds']:g} seconds"}
        if select.select([0], [], [], TICK)[0] and not os.read(0, 64):
            return {"returncode": None, "stopped": "nobody waits for it any more"}
        processes, memory = _size(_descendants())
        if processes > plan["processes"]:
            return {"returncode": None, "stopped": f"it started more than {plan['processes']} processes"}
        if memory > plan["memory_bytes"]:
            return {"returncode": None, "stopped": f"it used more than {plan['memory_bytes'] >> 20} MB"}


def _end_all(child: int) -> None:
    """Kill every descendant, again and again until none is left.

    Of a namespace of processes the first one takes all others along; elsewhere all are stopped before they are killed,
    so that few more are born.
    """
    while True:
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
        found = list(_descendants())
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in found:
                with contextlib.suppress(OSError):
                    os.kill(process, number)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(TICK / 4)


def _descendants() -> dict[int, list[bytes]]:
    """The fields after the name in ``/proc/PID/stat`` of every process below this one."""
    fields: dict[int, list[bytes]] = {}
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    found = file.read().rpartition(b")")[2].split()
                below.setdefault(int(found[1]), []).append(int(name))
                fields[int(name)] = found
    known: dict[int, list[bytes]] = {}
    open_ends = list(below.get(os.getpid(), ()))
    while open_ends:
        process = open_ends.pop()
        if process not in known:
            known[process] = fields[process]
            open_ends += below.get(process, ())
    return known


def _size(descendants: dict[int, list[bytes]]) -> tuple[int, int]:
    """Processes and threads, and bytes of memory."""
    threads = sum(max(1, int(found[17])) for found in descendants.values())
    return threads, sum(int(found[21]) for found in descendants.values()) * os.sysconf("SC_PAGE_SIZE")
