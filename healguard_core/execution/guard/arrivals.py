"""Tells when modules that a policy names have been imported. Imports nothing of ours.

A finder that goes before all others asks them for the module and lets its loader say when it has been executed. Loaders
that cannot be told are no loss: names are looked up again before every heal.
"""

import sys
import threading
from typing import Any, Callable, Iterable, Optional, Set


class _Asking(threading.local):
    def __init__(self) -> None:
        self.names: Set[str] = set()


class Arrivals:
    """Calls ``told`` with the name of every module that was imported and is on the way to a name waited for."""

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told = told
        self._awaited: Set[str] = set()
        self._asking = _Asking()

    def install(self, targets: Iterable[str]) -> None:
        """Begin to wait for the modules in dotted names."""
        for target in targets:
            parts = target.split(".")
            self._awaited.update(".".join(parts[:end]) for end in range(1, len(parts)))
        if self._awaited and self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Wait no more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Optional[Any]:
        """What the other finders say, with a loader that reports."""
        if fullname not in self._awaited or fullname in self._asking.names:
            return None
        self._asking.names.add(fullname)
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                spec = find(fullname, path, target) if find is not None and finder is not self else None
                if spec is not None:
                    self._listen(spec, fullname)
                    return spec
        finally:
            self._asking.names.discard(fullname)
        return None

    def _listen(self, spec: Any, fullname: str) -> None:
        loader = spec.loader
        entries = getattr(loader, "__dict__", None)
        if type(entries) is not dict or "exec_module" in entries:
            return
        told = self._told

        def exec_module(module: Any) -> None:
            del loader.exec_module
            loader.exec_module(module)
            spec_of: Any = getattr(module, "__spec__", None)
            initializing = getattr(spec_of, "_initializing", False)
            if initializing:
                spec_of._initializing = False
            try:
                told(fullname)
            finally:
                if initializing:
                    spec_of._initializing = True

        loader.exec_module = exec_module
