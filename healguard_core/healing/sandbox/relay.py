"""The only way out of a sandbox without network: a port that leads to a unix socket. Standard library only."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading

from healguard_core.healing.sandbox import kernel


def main(words: list[str]) -> None:
    """``words`` are the unix socket, the port, and the program to become once the port is open. Does not return."""
    path, port, *command = words
    listening = socket.create_server(("127.0.0.1", int(port)))
    if os.fork() == 0:
        kernel.die_with_parent(signal.SIGKILL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        _serve(listening, path)
    listening.close()
    os.execvp(command[0], command)


def _serve(listening: socket.socket, path: str) -> None:
    while True:
        inner, _ = listening.accept()
        outer = socket.socket(socket.AF_UNIX)
        try:
            outer.connect(path)
        except OSError:
            inner.close()
            outer.close()
            continue
        for source, target in ((inner, outer), (outer, inner)):
            threading.Thread(target=_pass_on, args=(source, target), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):  # one side has hung up, which the other is told
        while piece := source.recv(65536):
            target.sendall(piece)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_WR if end is target else socket.SHUT_RD)
