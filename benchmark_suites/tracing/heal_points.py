"""A pytest plugin that stands alone: counts which lines of some packages a test runs, and how its calls into them end.

It is copied beside a target test and used with ``-p heal_points``, in any environment with Python 3.6 and pytest 6 or
newer, with or without pytest-heal. HEAL_POINTS holds JSON: ``roots`` (importable packages) and ``out`` (the file to
write). Only the call phase of the test counts; when a test is run again, its last run does. Standard library only.

The file: ``roots`` (name to place), ``files`` (path below the place's parent, to line, to count) and ``calls``: each
entry into the packages from code that is in none of them, in order, with ``ended`` (``returned``, ``yielded``,
``raised``, or ``running`` at the end) and the errors that were ``raised`` inside it as [file, line, class name].
``complete``: nobody took the trace function away.
"""

import dis
import importlib.util
import json
import os
import sys
import threading

import pytest

_LEAVES = {"RETURN_VALUE": "returned", "RETURN_CONST": "returned", "YIELD_VALUE": "yielded", "YIELD_FROM": "yielded",
           "SEND": "yielded", "RETURN_GENERATOR": "yielded"}
_GENERATORS = 0x20 | 0x80 | 0x200


class Counter:
    """Counts in one process. ``roots`` are the names of the packages."""

    def __init__(self, roots):
        self.roots = {}
        for root in roots:
            spec = importlib.util.find_spec(root)
            if spec is not None:
                places = list(spec.submodule_search_locations or ())
                self.roots[root] = places[0] if places else spec.origin
        self._inside = [(place, os.path.dirname(place)) for place in self.roots.values()]
        self._tracers = {}  # by co_filename: the local trace function, None for files of nobody
        self._local = threading.local()
        self._pid = os.getpid()
        self.begin()

    def begin(self):
        """Forget everything: the test begins (again)."""
        self.files = {}
        self.calls = []
        self._open = {}  # by id of a suspended generator's frame: its call
        self._tracers.clear()
        self._local = threading.local()

    def trace(self, frame, _event, _argument, _generators=_GENERATORS):
        """The global trace function."""
        filename = frame.f_code.co_filename
        try:
            tracer = self._tracers[filename]
        except KeyError:
            tracer = self._tracers[filename] = self._tracer(filename)
        if tracer is not None and getattr(self._local, "outer", None) is None:
            self._local.outer = frame
            again = self._open.get(id(frame)) if frame.f_code.co_flags & _generators else None
            if again is None:
                again = {"file": tracer.name, "function": frame.f_code.co_name, "ended": "running", "raised": []}
                self.calls.append(again)
            self._local.call = again
        return tracer

    def _tracer(self, filename):
        for place, parent in self._inside:
            if filename == place or filename.startswith(place + os.sep):
                return _Tracer(os.path.relpath(filename, parent).replace(os.sep, "/"), self)
        return None

    def left(self, frame):
        """The outermost frame of a thread is left; an error leaves it at an instruction that is no return."""
        local = self._local
        ended = _LEAVES.get(_opname(frame.f_code, frame.f_lasti), "raised")
        local.call["ended"] = ended
        if ended == "yielded":
            self._open[id(frame)] = local.call
        else:
            self._open.pop(id(frame), None)
        local.outer = local.call = None

    def write(self, path, complete):
        """Write what was counted; a forked child writes nothing."""
        if os.getpid() != self._pid:
            return
        document = {"roots": self.roots, "complete": complete, "python": list(sys.version_info[:2]),
                    "files": self.files, "calls": self.calls}
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(document, file)
        os.replace(path + ".part", path)


class _Tracer:
    """The local trace function of one file."""

    def __init__(self, name, counter):
        self.name = name
        self._counts = counter.files.setdefault(name, {})
        self._counter = counter
        self._local = counter._local
        self._error = None  # id of the frame that the last error passes through, and the line that it has come to

    def _is_handler(self, frame, line):
        """Whether an error passes through the handlers of its statement and of those around it (instrumented code has
        them) or through the end of a with block: no statement is executed anew. A handler of the program stands below.
        """
        passes, came_to = self._error
        if passes == id(frame) and line <= came_to:
            self._error = passes, line
            return True
        self._error = None
        return False

    def __call__(self, frame, event, argument):
        if event == "line":
            line = frame.f_lineno
            if not line or (self._error is not None and self._is_handler(frame, line)):
                return self  # 0 or None: an instruction that stands nowhere in the source
            counts = self._counts
            counts[line] = counts.get(line, 0) + 1
        elif event == "exception":
            self._error = id(frame), frame.f_lineno
            call = getattr(self._local, "call", None)
            if call is not None:
                found = [self.name, frame.f_lineno, getattr(argument[0], "__name__", "")]
                if found not in call["raised"]:
                    call["raised"].append(found)
        elif event == "return" and frame is getattr(self._local, "outer", None):
            self._counter.left(frame)
        return self


def _opname(code, offset):
    return dis.opname[code.co_code[offset]] if 0 <= offset < len(code.co_code) else ""


class Plugin:
    """Counts during the call phase."""

    def __init__(self, counter, out):
        self._counter = counter
        self._out = out

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self):
        counter = self._counter
        counter.begin()
        before = sys.gettrace()
        threads = threading.gettrace() if hasattr(threading, "gettrace") else threading._trace_hook  # 3.10 has it
        function = counter.trace
        threading.settrace(function)
        sys.settrace(function)
        yield
        complete = sys.gettrace() is function
        sys.settrace(before)
        threading.settrace(threads)
        counter.write(self._out, complete)


def pytest_configure(config):
    given = json.loads(os.environ["HEAL_POINTS"])
    config.pluginmanager.register(Plugin(Counter(given["roots"]), given["out"]), "heal-points")
