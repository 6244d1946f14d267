"""Imports repository code instrumented: a finder that goes first, and a loader for what it lets through.

May import scope, cache, compiling, rewrite and sites.
"""

import importlib.util
import os
import sys
import threading
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from healguard_core.execution.instrument.adopting import adopt
from healguard_core.execution.instrument.cache import Cache, Stamp
from healguard_core.execution.instrument.compiling import instrumented, rewriter_version
from healguard_core.execution.instrument.rewrite import sites_of
from healguard_core.execution.instrument.scope import Scope
from healguard_core.execution.instrument.sites import Site

Notice = Callable[[str, str, str], None]
"""Called with a code, a message and a place: ``imported-early``, ``left-plain`` or ``cache-not-written``."""

_STANDS_IN_FOR_PLAIN = ("_pytest.assertion.rewrite.AssertionRewritingHook",)
"""Loaders of whole distributions that may be replaced: pytest's explains assertions in the files of its plugins."""

_open = open
_stat = os.stat
_source_hash = importlib.util.source_hash


class HealLoader(SourceFileLoader):
    """Python's own loader of source files, but for the code. Everything else is inherited."""

    def __init__(self, fullname: str, path: str, importer: "Importer") -> None:
        super().__init__(fullname, path)
        self._importer = importer

    def get_code(self, fullname: str) -> CodeType:
        """The module's code, instrumented where that is possible."""
        return self._importer.code(self.get_filename(fullname))

    def __reduce__(self) -> Any:
        return SourceFileLoader, (self.name, self.path)


class _Asking(threading.local):
    def __init__(self) -> None:
        self.names: Set[str] = set()


class Importer:
    """Import hook for the files that ``scope`` wants instrumented.

    ``cache_dir`` is where bytecode is kept between runs, None for nowhere. ``notice`` is told what a user should know.
    ``every_error`` as for `rewrite.rewrite`.
    """

    def __init__(self, scope: Scope, cache_dir: Optional[str], notice: Notice, every_error: bool = False) -> None:
        self._scope = scope
        self._notice = notice
        self._every_error = every_error
        self._cache: Optional[Cache] = None
        if cache_dir is not None:
            version = rewriter_version(every_error)
            self._cache = Cache(cache_dir, version, lambda message: notice("cache-not-written", message, cache_dir))
        self.listeners: List[Callable[[ModuleSpec], None]] = []  # are shown every spec that is handed out
        self._asking = _Asking()
        self._digests: Dict[str, bytes] = {}
        self._tables: Dict[str, Tuple[bytes, Tuple[Site, ...]]] = {}
        self._left: Set[str] = set()

    # ------------------------------------------------------------- lifecycle

    def install(self) -> None:
        """Go first among the finders, and say which repository modules were imported too early."""
        sys.meta_path.insert(0, self)
        early = self.early_modules()
        if early:
            self._adopt(early)

    def _adopt(self, early: List[str]) -> None:
        """Instrument the functions of modules that were imported too early, and say so."""
        found = []
        for name in early:
            module = sys.modules[name]
            path = vars(module)["__file__"]
            try:
                found.append((module, self.code(path)))
            except (OSError, SyntaxError, ValueError) as error:
                self._leave(path, "it was imported before healing was switched on, and its file cannot be read now: "
                            "{}".format(error))
        _, left = adopt(found)
        message = (
            "imported before healing was switched on: {}; their functions were instrumented in place, errors at "
            "their module level are left alone".format(", ".join(early))
        )
        if left:
            message += ", and so are those in functions that differ from their file now: " + ", ".join(left)
        self._notice("imported-early", message, "")

    def remove(self) -> None:
        """Import plainly from now on. Modules that are loaded stay as they are."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def early_modules(self) -> List[str]:
        """Names of the loaded modules that are repository code but not instrumented, sorted."""
        found = []
        main = sys.modules.get("__main__")
        for name, module in list(sys.modules.items()):
            names = vars(module) if isinstance(module, ModuleType) else {}
            path = names.get("__file__")
            if module is main or not isinstance(path, str) or not path.endswith(".py"):
                continue
            if not isinstance(names.get("__loader__"), HealLoader) and self._scope.decide(name, path).instrument:
                found.append(name)
        return sorted(found)

    # ------------------------------------------------------------- what was instrumented

    def instrumented_files(self) -> Tuple[str, ...]:
        """Paths of the files whose code was handed out instrumented so far, in that order."""
        return tuple(self._digests)

    def sites(self, filename: str) -> Tuple[Site, ...]:
        """The sites of an instrumented file; none when it is not one or has been changed since it was imported."""
        digest = self._digests.get(filename)
        if digest is None:
            return ()
        known = self._tables.get(filename)
        if known is None or known[0] != digest:
            known = digest, _sites_if_unchanged(filename, digest, self._every_error)
            self._tables[filename] = known
        return known[1]

    # ------------------------------------------------------------- finder

    def find_spec(self, fullname: str, path: Any = None, target: Optional[ModuleType] = None) -> Optional[ModuleSpec]:
        """What the finders after this one say, with our loader where the file is to be instrumented."""
        asking = self._asking.names
        if sys.meta_path and sys.meta_path[0] is not self:
            self._go_first()
        if fullname in asking:
            return None  # a finder asks the import system about the very module it is asked about
        asking.add(fullname)
        try:
            spec = self._ask_others(fullname, path, target)
        finally:
            asking.discard(fullname)
        if spec is not None:
            self._take(spec)
            for listener in self.listeners:
                listener(spec)
        return spec

    def _go_first(self) -> None:
        """A finder that came later (pytest's) would keep some files of the repository from us."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)

    def _ask_others(self, fullname: str, path: Any, target: Optional[ModuleType]) -> Optional[ModuleSpec]:
        finders = list(sys.meta_path)
        behind = finders.index(self) + 1 if self in finders else 0
        for finder in finders[behind:]:
            find_spec = getattr(finder, "find_spec", None)
            if find_spec is None:
                return None  # a finder of the old kind, which the import system itself knows how to ask
            spec = find_spec(fullname, path, target)
            if spec is not None:
                return spec  # type: ignore[no-any-return]
        return None

    def _take(self, spec: ModuleSpec) -> None:
        loader = spec.loader
        origin = spec.origin
        if loader is None or origin is None or not origin.endswith(".py"):
            return
        if not self._scope.decide(spec.name, origin).instrument:
            return
        if type(loader) is SourceFileLoader:
            spec.loader = HealLoader(loader.name, loader.path, self)
        elif _name_of(type(loader)) in _STANDS_IN_FOR_PLAIN:
            spec.loader = HealLoader(spec.name, origin, self)
        elif type(loader) is not HealLoader:
            self._leave(origin, "it is loaded by {}".format(type(loader).__name__))

    def _leave(self, path: str, reason: str) -> None:
        if path not in self._left:
            self._left.add(path)
            self._notice("left-plain", "not instrumented, so errors in it are left alone: {}".format(reason), path)

    # ------------------------------------------------------------- code

    def code(self, path: str) -> CodeType:
        """The code of the source file at ``path``, instrumented, from the cache where that is possible.

        Raises what reading and compiling it plainly raises.
        """
        status = _stat(path)
        stamp = Stamp(status.st_mtime_ns, status.st_size)
        entry = self._cache.load(path, stamp, lambda: _read(path)) if self._cache is not None else None
        if entry is not None:
            self._digests[path] = entry.digest
            return entry.code
        data = _read(path)
        code, reason = instrumented(data, path, self._every_error)
        if reason:
            self._digests.pop(path, None)
            self._leave(path, reason)
            return code
        digest = self._digests[path] = _source_hash(data)
        if self._cache is not None:
            self._cache.store(path, stamp, digest, code)
        return code


def _name_of(cls: type) -> str:
    return "{}.{}".format(cls.__module__, cls.__qualname__)


def _read(path: str) -> bytes:
    with _open(path, "rb") as file:
        return file.read()


def _sites_if_unchanged(filename: str, digest: bytes, every_error: bool) -> Tuple[Site, ...]:
    try:
        data = _read(filename)
    except OSError:
        return ()
    if _source_hash(data) != digest:
        return ()
    return sites_of(importlib.util.decode_source(data), filename, every_error=every_error)
