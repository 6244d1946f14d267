"""C callables that no audit event announces, watched while a heal runs. May import extent.

On Python 3.12 and newer every call of Python code is seen (`sys.monitoring`); before, calls of C functions of the
healing thread and of threads that it starts (`sys.setprofile`). Calls from C to C are seen only through the callable
handed over as first argument.
"""

import sys
import threading
from typing import Any, Callable, Optional

from healguard_core.execution.guard.extent import is_ours

Check = Callable[[Any, Any], Optional[BaseException]]
"""Called with a callable and its first argument; what it returns is raised in place of the call."""

_monitoring: Any = getattr(sys, "monitoring", None)
_TOOLS = (4, 3)  # the numbers that Python assigns to nobody
_NOTHING = object()


class Watcher:
    """Sees calls between `start` and `stop`. ``active`` says whether it can see any at the moment."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._tool = -1
        self._before: Any = None
        self._before_in_threads: Any = None
        self.active = False
        self.survives = _monitoring is not None  # raising does not end the watch

    def start(self) -> None:
        """Begin to watch."""
        if _monitoring is not None:
            self._start_monitoring()
        else:
            self._before = sys.getprofile()
            self._before_in_threads = getattr(threading, "_profile_hook", None)
            threading.setprofile(self._profiled)
            sys.setprofile(self._profiled)
            self.active = True

    def stop(self) -> None:
        """Watch no more, and let whoever profiled before go on."""
        if not self.active:
            return
        self.active = False
        if _monitoring is not None:
            _monitoring.set_events(self._tool, 0)
            _monitoring.register_callback(self._tool, _monitoring.events.CALL, None)
            _monitoring.free_tool_id(self._tool)
            return
        threading.setprofile(self._before_in_threads)
        enable = getattr(self._before, "enable", None)  # cProfile, which is no function
        if enable is not None:
            sys.setprofile(None)
            enable()
        else:
            sys.setprofile(self._before)

    def _start_monitoring(self) -> None:
        for tool in _TOOLS:
            if _monitoring.get_tool(tool) is None:
                _monitoring.use_tool_id(tool, "healguard")
                self._tool = tool
                _monitoring.register_callback(tool, _monitoring.events.CALL, self._called)
                _monitoring.set_events(tool, _monitoring.events.CALL)
                self.active = True
                return

    def _called(self, code: Any, _offset: int, callee: Any, first: Any) -> None:
        if not is_ours(code):
            problem = self._check(callee, first)
            if problem is not None:
                raise problem

    def _profiled(self, frame: Any, event: str, callee: Any) -> None:
        if event == "c_call" and not is_ours(frame.f_code):
            problem = self._check(callee, _NOTHING)
            if problem is not None:
                raise problem
