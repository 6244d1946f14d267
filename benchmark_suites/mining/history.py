"""Reads a git repository: which commits change a package and its tests, and their files. Imports nothing of ours.

Nothing of the repository is run by it: no hooks, no filters, no configuration of the user's.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_PLAIN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
          "GIT_OPTIONAL_LOCKS": "0", "GIT_ATTR_NOSYSTEM": "1"}
_SAFE = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "safe.directory=*"]


@dataclass(frozen=True)
class Commit:
    """A commit with one parent. ``code`` and ``tests``: the Python files that it adds or changes; ``data``:
    what else it changes among the tests.
    """

    id: str
    parent: str
    subject: str
    code: tuple[str, ...]
    tests: tuple[str, ...]
    data: tuple[str, ...] = ()


class Repository:
    """The git repository at ``path`` (bare or not). Raises ``ValueError`` when there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        try:
            self._git("rev-parse", "--git-dir")
        except ValueError as problem:
            raise ValueError(f"{path} is no git repository: {problem}") from None

    def candidates(self, package: str, limit: int, grep: str = "", since: str = "") -> Iterator[Commit]:
        """Commits, newest first, that change files of ``package`` and of tests. ``package`` is a folder."""
        options = [f"--grep={grep}", "--extended-regexp", "--regexp-ignore-case"] if grep else []
        if since:
            options.append(f"--since={since}")
        log = self._git("log", "--no-merges", f"--max-count={limit}", "--format=%x00%H %P%x09%s", "--name-only",
                        "--diff-filter=AM", *options, "HEAD", "--")
        for entry in filter(None, log.split("\0")):
            head, *names = [line for line in entry.splitlines() if line]
            ids, _, subject = head.partition("\t")
            id, *parents = ids.split()
            files = [name for name in names if name.endswith(".py")]
            tests = [name for name in files if is_test(name) and PurePosixPath(name).name != "conftest.py"]
            code = [name for name in files if name.startswith(package.rstrip("/") + "/") and not is_test(name)]
            if code and tests and len(parents) == 1:
                data = [name for name in names if is_test(name) and name not in tests]
                yield Commit(id, parents[0], subject, tuple(code), tuple(tests), tuple(data))

    def lay_out(self, commit: str, into: Path) -> None:
        """Write the files of ``commit`` to the empty folder ``into``."""
        into.mkdir(parents=True)
        index = into.parent / f"{into.name}.index"
        try:
            self._git("--work-tree", str(into), "read-tree", commit, index=index)
            self._git("--work-tree", str(into), "checkout-index", "--all", "--force", index=index)
        finally:
            index.unlink(missing_ok=True)

    def show(self, commit: str, file: str) -> str:
        """The text of ``file`` in ``commit``."""
        return self._git("show", f"{commit}:{file}")

    def _git(self, *words: str, index: Path | None = None) -> str:
        variables = {**os.environ, **_PLAIN, **({"GIT_INDEX_FILE": str(index)} if index else {})}
        folder = ["-C", str(self.path)] if index is None else [
            "--git-dir", str(self.path / ".git" if (self.path / ".git").exists() else self.path)]
        ran = subprocess.run(["git", *_SAFE, *folder, *words], capture_output=True, env=variables, check=False,
                             stdin=subprocess.DEVNULL)
        if ran.returncode:
            raise ValueError(f"git {words[0]}: {ran.stderr.decode('utf-8', 'replace').strip()}")
        return ran.stdout.decode("utf-8", "replace")


def is_test(name: str) -> bool:
    """Whether ``name`` is a file of tests, by the names that pytest collects and the usual folders."""
    path = PurePosixPath(name)
    return path.name.startswith("test_") or path.stem.endswith("_test") or any(
        part.lower() in ("tests", "test") for part in path.parts[:-1])


def import_roots(package: str) -> tuple[str, str]:
    """The name to import ``package`` (a folder like ``src/x``) by, and the folder to put on the path."""
    path = PurePosixPath(package)
    return path.name, str(path.parent)


def changed(files: Sequence[str]) -> str:
    """``files`` in a few words."""
    return ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
