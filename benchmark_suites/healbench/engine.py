"""Containers with limits, labels and a verified end. Imports nothing of ours; the docker SDK only when it is used.

Everything that is made here carries `LABEL` with the process that made it, so that what a killed run left behind can
be told from what another run is using.
"""

from __future__ import annotations

import contextlib
import io
import os
import socket
import tarfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LABEL = "org.pytest-heal.owner"
_REMOVING = 10.0  # seconds that removing a container may take until it counts as still there


class EngineUnavailable(Exception):
    """No container can be run; the text says why and what to do."""


@dataclass(frozen=True)
class Limits:
    """What one container may use. ``memory`` in bytes, ``seconds`` of wall time."""

    memory: int = 4 << 30
    cpus: float = 1.0
    pids: int = 512
    seconds: float = 1800.0
    scratch: int = 512 << 20  # bytes of /tmp


@dataclass(frozen=True)
class Ended:
    """How a container ended. ``code`` is None when its time was up or memory ran out (``why`` says which)."""

    code: int | None
    output: str
    why: str = ""


class Engine:
    """The Docker engine that the environment names (``DOCKER_HOST``), or the local one; to be closed after use.

    Raises `EngineUnavailable` when none answers.
    """

    def __init__(self) -> None:
        try:
            import docker
        except ImportError:
            raise EngineUnavailable("the `docker` package is not installed: pip install 'pytest-heal[docker]'"
                                    ) from None
        self._errors: Any = docker.errors
        try:
            _ask(docker)
            self._client: Any = docker.from_env(timeout=120)
        except Exception as problem:  # the SDK raises many kinds, of requests and urllib3 too
            raise EngineUnavailable(f"no Docker engine answers ({problem}); start one, or say where it is in "
                                    "DOCKER_HOST") from None

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the engine."""
        self._client.close()

    def image(self, name: str) -> tuple[str, str]:
        """Id and digest of the image ``name``, which is pulled when it is not there. The digest is "" for a local one.

        Raises `EngineUnavailable`.
        """
        try:
            found = self._client.images.get(name)
        except self._errors.ImageNotFound:
            try:
                repository, _, tag = name.partition("@")[0].rpartition(":") if ":" in name else (name, "", "latest")
                found = self._client.images.pull(repository or name, tag=tag)
            except Exception as problem:
                raise EngineUnavailable(f"the image {name} is not here and cannot be pulled: {problem}") from None
        digests = found.attrs.get("RepoDigests") or [""]
        return str(found.id), str(digests[0]).rpartition("@")[2]

    def run(
        self, image: str, script: Path, mounts: Mapping[Path, tuple[str, str]], limits: Limits,
        writable: bool = False, kept: list[str] | None = None,
    ) -> Ended:
        """Run the mounted shell script ``script`` in a new container and remove that again.

        ``mounts``: host folder to (folder in the container, ``ro`` or ``rw``). Unless ``writable``, the container's
        own file system, the repository included, is read-only. With ``kept`` the container's file system becomes an
        image, whose id is appended. Raises `EngineUnavailable`.
        """
        options: dict[str, Any] = {
            "command": ["sh", str(script)], "entrypoint": "", "labels": {LABEL: _owner()}, "detach": True,
            "network_mode": "none", "mem_limit": limits.memory, "memswap_limit": limits.memory,
            "nano_cpus": int(limits.cpus * 1e9), "pids_limit": limits.pids, "read_only": not writable,
            "cap_drop": ["ALL"], "cap_add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"] if writable else [],
            "security_opt": ["no-new-privileges"], "init": True,
            "tmpfs": {} if writable else {"/tmp": f"size={limits.scratch},mode=1777"},
            "volumes": {str(host): {"bind": there, "mode": mode} for host, (there, mode) in mounts.items()},
        }
        try:
            container = self._client.containers.create(image, **options)
        except Exception as problem:
            raise EngineUnavailable(f"no container of {image} can be made: {problem}") from None
        try:
            ended = self._ended(container, limits)
            if kept is not None and ended.code == 0:
                kept.append(str(container.commit(changes=[f"LABEL {LABEL}={_owner()}"]).id))
        except self._errors.APIError as problem:
            raise EngineUnavailable(f"the container of {image} cannot be run: {problem}") from None
        finally:
            self._remove(container)
        return ended

    def _ended(self, container: Any, limits: Limits) -> Ended:
        container.start()
        until = time.monotonic() + limits.seconds
        while True:
            container.reload()
            if container.status not in ("created", "running"):
                break
            if time.monotonic() > until:
                container.kill()
                return Ended(None, _log(container), f"nothing ended within {limits.seconds:.0f} s")
            time.sleep(0.1)
        state = container.attrs["State"]
        if state.get("OOMKilled"):
            return Ended(None, _log(container), f"more than {limits.memory >> 20} MiB of memory were wanted")
        return Ended(int(state["ExitCode"]), _log(container))

    def copy_out(self, image: str, folder: str, into: Path, largest: int = 2 << 30) -> None:
        """Copy ``folder`` of ``image`` to ``into``: plain files and folders only. Raises `EngineUnavailable`."""
        container = self._client.containers.create(image, command=["true"], entrypoint="", labels={LABEL: _owner()},
                                                   network_mode="none")
        try:
            chunks, _ = container.get_archive(folder)
            with tarfile.open(fileobj=_Stream(chunks, largest), mode="r|") as archive:
                for member in archive:
                    if member.isfile() or member.isdir():
                        member.name = member.name.partition("/")[2]
                        if member.name:
                            archive.extract(member, into, filter="data")
        except (self._errors.APIError, tarfile.TarError, OSError) as problem:
            raise EngineUnavailable(f"{folder} of {image} cannot be copied: {problem}") from None
        finally:
            self._remove(container)

    def remove_image(self, id: str) -> None:
        """Remove an image that `run` kept; it is an error when it stays. Raises `EngineUnavailable`."""
        with contextlib.suppress(self._errors.ImageNotFound):
            self._client.images.remove(id, force=True)
        with contextlib.suppress(self._errors.ImageNotFound):
            self._client.images.get(id)
            raise EngineUnavailable(f"the image {id} of a prepared instance cannot be removed")

    def _remove(self, container: Any) -> None:
        """Remove ``container`` with its volumes, and see that it is gone."""
        until = time.monotonic() + _REMOVING
        while True:
            try:
                container.remove(force=True, v=True)
                self._client.containers.get(container.id)
            except self._errors.NotFound:
                return
            except self._errors.APIError as problem:  # being removed already, or still stopping
                last = str(problem)
            else:
                last = "it is still there"
            if time.monotonic() > until:
                raise EngineUnavailable(f"the container {container.short_id} cannot be removed: {last}")
            time.sleep(0.1)

    def leftovers(self) -> list[str]:
        """Names of the containers and images that runs of this machine left when they were killed."""
        return [name for name, _ in self._left()]

    def remove_leftovers(self) -> list[str]:
        """Remove them; what was removed."""
        removed = []
        for name, thing in self._left():
            if name.startswith("container"):
                self._remove(thing)
            else:
                self.remove_image(str(thing.id))
            removed.append(name)
        return removed

    def _left(self) -> Iterator[tuple[str, Any]]:
        wanted = {"label": LABEL}
        for container in self._client.containers.list(all=True, filters=wanted):
            if _is_gone(container.labels.get(LABEL, "")):
                yield f"container {container.short_id}", container
        for image in self._client.images.list(all=True, filters=wanted):
            if _is_gone(image.labels.get(LABEL, "")):
                yield f"image {image.short_id}", image


class _Stream(io.RawIOBase):
    """The chunks of a download as a file, which ends with an error where it is larger than allowed."""

    def __init__(self, chunks: Any, largest: int) -> None:
        self._chunks, self._left, self._largest, self._read = iter(chunks), b"", largest, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._left) < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            self._read += len(chunk)
            if self._read > self._largest:
                raise OSError(f"more than {self._largest >> 20} MiB")
            self._left += chunk
        taken, self._left = (self._left, b"") if size < 0 else (self._left[:size], self._left[size:])
        return taken


def _ask(docker: Any) -> None:
    """Raise when no engine answers. A client that fails while it negotiates a version cannot be closed any more."""
    client = docker.from_env(version=docker.constants.DEFAULT_DOCKER_API_VERSION, timeout=20)
    try:
        client.version(api_version=False)
    finally:
        client.close()


def _owner() -> str:
    """Host, process and its start, so that a process id that is used again is no owner."""
    return f"{socket.gethostname()}/{os.getpid()}/{_started(os.getpid())}"


def _started(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _is_gone(owner: str) -> bool:
    host, _, process = owner.partition("/")
    pid, _, started = process.partition("/")
    if host != socket.gethostname() or not pid.isdigit():
        return False  # of another machine that uses this engine: it is not ours to judge
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return _started(int(pid)) != started


def _log(container: Any) -> str:
    log: bytes = container.logs(stdout=True, stderr=True, tail=20_000)
    return log.decode("utf-8", "replace")


