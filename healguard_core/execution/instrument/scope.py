"""Which files count as repository code, each answer with its reason. May import sources."""

import os
import re
import sysconfig
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from healguard_core.execution.instrument.sources import Source, resolve, under


class Disposition(NamedTuple):
    """Whether a file is instrumented; ``reason`` completes the sentence "because it ..."."""

    instrument: bool
    reason: str


_OURS = ("healguard_core", "pytest_heal", "_pytest", "pytest", "pluggy")
_DIRECTORIES = {
    "tests": "lies in a directory of tests",
    "docs": "lies in a directory of documentation",
    "examples": "lies in a directory of examples",
    "benchmarks": "lies in a directory of benchmarks",
    "vendored": "is vendored code of another project",
    "installed": "belongs to an installed package",
    "built": "lies in a directory of build results",
}
_MEANING: Dict[str, str] = {
    "tests": "tests", "test": "tests", "testsuite": "tests",
    "docs": "docs", "doc": "docs",
    "examples": "examples", "example": "examples",
    "benchmarks": "benchmarks", "benchmark": "benchmarks", "asv_bench": "benchmarks",
    "_vendor": "vendored", "vendor": "vendored", "_vendored": "vendored", "vendored": "vendored", "extern": "vendored",
    "externals": "vendored", "third_party": "vendored",
    "site-packages": "installed", "dist-packages": "installed",
    "node_modules": "installed", "__pycache__": "built",
}
_BUILD = ("build", "dist")
_TEST_FILE = re.compile(r"(test_.*|.*_test|tests|conftest)\.py$")
_TOOL_FILE = ("setup.py", "noxfile.py", "conftest.py")

_isfile = os.path.isfile
_islink = os.path.islink
_realpath = os.path.realpath
_abspath = os.path.abspath


class Scope:
    """Decides about files by their path.

    ``root`` is the project's directory. ``sources`` are names of packages or modules, or paths of files or
    directories; none means the packages under ``root``. Raises ``ValueError`` for a source that cannot be found.
    """

    def __init__(self, root: str, sources: Sequence[str] = ()) -> None:
        self.root = _abspath(root or os.curdir)
        self._asked: List[Source] = []
        for item in sources:
            self._asked.extend(resolve(self.root, item))
        if not sources:
            self._asked.append(Source(self.root, True, ""))
        self._outside = Disposition(False, self._reason_outside())
        self._reals = [(source, _realpath(source.path)) for source in self._asked]
        self._stdlib = tuple(
            {_realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib") if sysconfig.get_path(name)}
        )
        self._real_directories: Dict[str, str] = {}
        self._directories: Dict[Tuple[str, str], str] = {}

    def decide(self, module: str, path: str) -> Disposition:
        """Whether the file at ``path`` is instrumented when it is imported as ``module``."""
        if module.partition(".")[0] in _OURS:
            return Disposition(False, "belongs to the machinery that runs and heals tests")
        path = _abspath(path)
        best = self._outside
        for source, real in self._reals:
            answer = self._within(source, real, path)
            if answer is not None and answer.instrument:
                return answer
            best = answer or best
        return best

    def _reason_outside(self) -> str:
        if len(self._asked) == 1 and not self._asked[0].asked:
            return "lies outside of {} (name it as a source to include it)".format(self.root)
        return "lies outside of the sources {}".format(", ".join(sorted({source.asked for source in self._asked})))

    def _within(self, source: Source, real: str, path: str) -> Optional[Disposition]:
        """The answer as far as ``source`` is concerned; None when the file has nothing to do with it."""
        base, parts = source.path, under(path, source.path)
        if parts is None:
            path = self._real_path(path)
            base, parts = real, under(path, real)
        if parts is None or (parts and not source.is_directory):
            return None
        if not source.module and self._is_stdlib(path):
            return Disposition(False, "is part of the standard library")
        if parts:
            no = self._excluded(base, parts)
            if no:
                return Disposition(False, no)
        if source.asked:
            return Disposition(True, "belongs to the source {}".format(source.asked))
        return Disposition(True, "belongs to a package under {}".format(self.root))

    def _real_path(self, path: str) -> str:
        """``path`` with symbolic links resolved in its directory, not in its name."""
        directory, name = os.path.split(path)
        if directory not in self._real_directories:
            self._real_directories[directory] = _realpath(directory)
        return os.path.join(self._real_directories[directory], name)

    def _is_stdlib(self, path: str) -> bool:
        real = self._real_path(path)
        for directory in self._stdlib:
            parts = under(real, directory)
            if parts is not None and parts[:1] not in (("site-packages",), ("dist-packages",)):
                return True
        return False

    def _excluded(self, base: str, parts: Tuple[str, ...]) -> str:
        """Why the file ``parts`` below ``base`` is none of the code under test; "" when it is."""
        directory = base
        for part in parts[:-1]:
            no = self._excluded_directory(directory, part, directory == base)
            if no:
                return no
            directory = os.path.join(directory, part)
        name = parts[-1]
        if name in _TOOL_FILE:
            return "configures a tool"
        if _TEST_FILE.match(name):
            return "is a file of tests"
        if _islink(os.path.join(directory, name)):
            return "is a symbolic link"
        return ""

    def _excluded_directory(self, parent: str, name: str, first: bool) -> str:
        key = parent, name
        if key not in self._directories:
            self._directories[key] = _judge(os.path.join(parent, name), name, first)
        return self._directories[key]


def _judge(path: str, name: str, first: bool) -> str:
    if name in _MEANING:
        return _DIRECTORIES[_MEANING[name]]
    if name.startswith("."):
        return "lies in a hidden directory"
    if first and name in _BUILD and not _isfile(os.path.join(path, "__init__.py")):
        return _DIRECTORIES["built"]
    if _isfile(os.path.join(path, "pyvenv.cfg")):
        return "lies in a virtual environment"
    if _islink(path):
        return "is reached through a symbolic link"
    return ""
