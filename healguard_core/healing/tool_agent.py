"""An agent whose package runs in a process of its own, in whatever Python has it. May import line_agent.

The process serves one conversation after the other, because importing such a package takes seconds.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import healguard_core
from healguard_core.healing import tool_environments
from healguard_core.healing.line_agent import LineAgent
from healguard_core.healing.processes import LineProcess, ProcessFault, direct, scrubbed
from healguard_core.protocol import CrashContext

_BOOT = """\
import sys, types
package = types.ModuleType("healguard_core")
package.__path__ = [sys.argv.pop(1)]
sys.modules["healguard_core"] = package
import importlib
importlib.import_module("healguard_core.healing.drivers.{driver}").main()
"""


def boot(driver: str) -> str:
    """Code that runs a driver in another Python; its argument is the folder of healguard_core.

    It makes our modules importable there without the folder around them, where other versions of packages may be.
    """
    return _BOOT.format(driver=driver)


class ToolAgent(LineAgent):
    """One conversation with a driver. ``package`` is what it needs, ``driver`` a module of `drivers`."""

    side: ClassVar[str] = "healing"
    uses_model: ClassVar[str] = "yes"
    takes_argument: ClassVar[bool] = False
    package: ClassVar[tool_environments.Package]
    driver: ClassVar[str]

    @classmethod
    def missing(cls, argument: str, root: Path) -> str:
        """What has to be installed first."""
        del argument, root
        return "" if tool_environments.found(cls.package, os.environ) else tool_environments.absent(cls.package)

    def hello(self, context: CrashContext) -> dict[str, Any]:
        return {**super().hello(context), "base_url": self._service.proxy, "key": self._service.proxy_key}

    def started(self) -> LineProcess:
        spare = self._service.spares.take(self.title)
        return spare if spare is not None else self._launched()

    def part(self, process: LineProcess) -> None:
        self._service.spares.give(self.title, process)

    def _launched(self) -> LineProcess:
        python = tool_environments.found(self.package, os.environ)
        if python is None:
            raise ProcessFault(tool_environments.absent(self.package))
        home = Path(tempfile.mkdtemp(prefix="healguard-agent-"))
        environ = direct(scrubbed(os.environ)) | {"HOME": str(home), "TMPDIR": str(home)}
        command = [str(python), "-I", "-c", boot(self.driver), str(Path(healguard_core.__file__).parent)]
        return LineProcess(command, home, environ, title=self.title, scratch=home)
