"""Starts healing in the test process of a container, whatever runner it uses. Standard library only.

Python imports this module by itself, since its folder is on PYTHONPATH. It looks at the command line: the process that
runs the tests (pytest, unittest, Django's, SymPy's) is instrumented, every other one is left alone. A ``sitecustomize``
of the image's own runs afterwards. Kept to a syntax that old Pythons read, so that they can say that they are too old.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_RUNNERS = ("pytest", "py.test", "unittest", "nose", "trial")
_SCRIPTS = ("pytest", "py.test", "runtests.py", "runtests", "test", "unittest_custom_runner.py",
            "tornado_unittest_runner.py")


def _command() -> "list[str]":
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[1:]]
    except OSError:
        return list(getattr(sys, "orig_argv", [""]))[1:]


def _runs_tests(words: "list[str]") -> bool:
    """Whether ``words`` (what follows the interpreter) run tests."""
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
        elif word == "-m":
            return index + 1 < len(words) and words[index + 1].split(".")[0] in _RUNNERS
        elif word == "-c":
            return False
        elif word in ("-W", "-X"):
            skip = True
        elif not word.startswith("-"):
            return os.path.basename(word) in _SCRIPTS
    return False


def _tell(text: str) -> None:
    with open(os.path.join(os.environ["HEALGUARD_OUT"], "problem"), "a") as file:
        file.write(text + "\n")


def _start(path: str) -> None:
    if sys.version_info < (3, 8):
        _tell("Python %d.%d of this image is too old: healing needs 3.8 or newer" % sys.version_info[:2])
        return
    import atexit

    from healguard_core.execution.engine import Engine
    from healguard_core.execution.run import load_config, local_agent

    config = load_config(path)
    engine = Engine(config, local_agent(config))
    engine.start()
    owner = os.getpid()

    def stop() -> None:
        if os.getpid() == owner:  # a forked child of the tests inherits this function
            engine.stop()

    atexit.register(stop)


def _chain() -> None:
    """Import the module of the same name that would have been found without ours."""
    path = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != _HERE]
    try:
        from importlib.machinery import PathFinder
        from importlib.util import module_from_spec

        spec = PathFinder.find_spec("sitecustomize", path)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module(module_from_spec(spec))
    except ImportError:
        return


_config = os.environ.get("HEALGUARD_CONFIG", "")
if _config and _runs_tests(_command()):
    try:
        _start(_config)
    except Exception as error:  # the tests must run as they would, and the caller must know
        _tell("healing did not start: %s: %s" % (type(error).__name__, error))
_chain()
