"""Tells when modules that a policy names have been imported. Imports nothing of ours.

The import hook shows every spec that it hands out, and the loader of an awaited module is made to say when the module
has been executed. Loaders that cannot be told are no loss: names are looked up again before every heal.
"""

from typing import Any, Callable, Iterable, Set


class Arrivals:
    """Calls ``told`` with the name of every module that was imported and is on the way to a name waited for."""

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told = told
        self._awaited: Set[str] = set()

    def wait_for(self, targets: Iterable[str]) -> None:
        """Wait for the modules in these dotted names."""
        for target in targets:
            parts = target.split(".")
            self._awaited.update(".".join(parts[:end]) for end in range(1, len(parts)))

    def listen(self, spec: Any) -> None:
        """A module with this spec is about to be loaded."""
        loader = spec.loader
        entries = getattr(loader, "__dict__", None)
        if spec.name not in self._awaited or type(entries) is not dict or "exec_module" in entries:
            return
        told, name = self._told, spec.name

        def exec_module(module: Any) -> None:
            del loader.exec_module
            loader.exec_module(module)
            complete = getattr(module, "__spec__", None) is spec and getattr(spec, "_initializing", False)
            if complete:  # as far as its own code goes
                spec._initializing = False
            try:
                told(name)
            finally:
                if complete:
                    spec._initializing = True

        loader.exec_module = exec_module
