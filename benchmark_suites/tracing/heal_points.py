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

_RETURNS = ("RETURN_VALUE", "RETURN_CONST")
_YIELDS = ("YIELD_VALUE", "YIELD_FROM")
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
        self.suspended = {}  # by id of a suspended generator's frame: its call
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
            again = self.suspended.get(id(frame)) if frame.f_code.co_flags & _generators else None
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

    def left(self, frame, by_error):
        """The outermost frame of a thread is left; ``by_error``: an error was on its way through it."""
        local = self._local
        ended = _how_left(frame.f_code.co_code, frame.f_lasti)
        if ended == "yielded" and by_error:
            ended = "raised"  # an error that was thrown in where it was suspended
        local.call["ended"] = ended
        if ended == "yielded":
            self.suspended[id(frame)] = local.call
        else:
            self.suspended.pop(id(frame), None)
        local.outer = local.call = None

    def thrown_out(self, frame, by_error):
        """A suspended generator was closed, or left by an error that was thrown in. Neither has a call event."""
        call = self.suspended.pop(id(frame))
        if by_error:
            call["ended"] = "raised"

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
        self._error = None  # of the last error: the id of the frame that it passes, the line it has come to, its class

    def _is_handler(self, frame, line):
        """Whether an error passes through the handlers of its statement and of those around it (instrumented code has
        them) or through the end of a with block: no statement is executed anew. A handler of the program stands below.
        """
        passes, came_to, kind = self._error
        if passes == id(frame) and line <= came_to:
            self._error = passes, line, kind
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
            self._error = id(frame), frame.f_lineno, argument[0]
            call = getattr(self._local, "call", None)
            if call is not None:
                found = [self.name, frame.f_lineno, getattr(argument[0], "__name__", "")]
                if found not in call["raised"]:
                    call["raised"].append(found)
        elif event == "return":
            by_error = False
            if self._error is not None and self._error[0] == id(frame):
                by_error = self._error[2] is not GeneratorExit  # which closes a generator
                self._error = None  # another frame may get the id
            if frame is getattr(self._local, "outer", None):
                self._counter.left(frame, by_error)
            elif id(frame) in self._counter.suspended:
                self._counter.thrown_out(frame, by_error)
        return self


def _how_left(code, offset):
    """How a frame was left whose last instruction is at ``offset``; an error leaves it at one that is no return."""
    here = _opname(code, offset)
    if here in _RETURNS:
        return "returned"
    if here in _YIELDS or (here == "RESUME" and _opname(code, offset - 2) in _YIELDS):  # since 3.13 it is past it
        return "yielded"
    if _opname(code, offset + 2) == "YIELD_FROM":  # up to 3.10 it stands before it, to be done again
        return "yielded"
    return "raised"


def _opname(code, offset):
    return dis.opname[code[offset]] if 0 <= offset < len(code) else ""


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
