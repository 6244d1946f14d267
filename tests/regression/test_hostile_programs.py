"""Programs that are hostile to whoever watches them, and heals that are hostile to the program."""

import os
import re
import subprocess
import sys

import pytest

from healguard_core.execution.pause.trial import Trial

MOCKED = """
import importlib, sys

def boom(*args, **kwargs):
    raise AssertionError("mocked")

def divide(x):
    return 1 / x

def divide_mocked(names):
    places = [name.rpartition(".") for name in names]
    modules = [(vars(importlib.import_module(module)), name) for module, _, name in places]
    saved = [(module, name, module[name]) for module, name in modules]
    for module, name in modules:
        module[name] = boom
    try:
        divide(0)
    finally:
        for module, name, value in saved:
            module[name] = value

class Show:  # nothing can tell beforehand that it takes the error
    def __enter__(self):
        pass

    def __exit__(self, kind, error, tb):
        print(kind.__name__, error)
        return len(repr(error)) > 0

for words in sys.argv[1:]:
    with Show():
        divide_mocked(words.split())
"""

NAMES = [
    "builtins.len", "builtins.isinstance", "builtins.type", "builtins.getattr", "builtins.hasattr", "builtins.repr",
    "builtins.str", "builtins.list", "builtins.dict", "builtins.tuple", "builtins.set", "builtins.id", "builtins.any",
    "builtins.iter", "builtins.next", "builtins.sorted", "builtins.open", "builtins.print", "builtins.compile",
    "builtins.exec", "builtins.eval", "builtins.__import__", "builtins.Exception",
    "traceback.format_exception", "traceback.format_exc", "traceback.extract_tb", "traceback.TracebackException",
    "linecache.getline", "json.dumps", "time.perf_counter", "time.time", "os.fork", "os.getpid", "os.stat", "os.read",
    "threading.Lock", "threading.get_ident", "threading.enumerate", "sys.exc_info", "sys._getframe", "sys.settrace",
    "re.compile", "re.sub", "ast.parse", "ast.walk", "os.path.join", "os.path.exists", "signal.pthread_sigmask",
]
TOGETHER = "traceback.format_exception traceback.format_exc traceback.extract_tb linecache.getline"


def _run(tmp_path, program, *words, runbook="version: 1\nheals: []\n", agent=""):
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "heals.yaml").write_text(runbook)
    environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path / "cache"))
    options = ["--runbook", "heals.yaml", *agent.split()]
    return subprocess.run([sys.executable, "-m", "healguard_core.cli", "run", *options, "program.py", *words],
                          capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)


def test_the_programs_error_stays_its_own_whatever_is_mocked(tmp_path):
    """An error of ours, which the mock causes, must never take the place of the program's error."""
    done = _run(tmp_path, MOCKED, *NAMES, TOGETHER, agent="--agent rules")
    expected = ["ZeroDivisionError division by zero"] * (len(NAMES) + 1)
    assert done.stdout.splitlines() == expected, done.stderr


ENDLESS = "n = 1\nwhile True:\n    n += 1\n    if n < 0:\n        break\n"


def test_code_that_loops_is_an_error_of_the_code(tmp_path):
    """It would loop in the live process too, where nothing could stop it."""

    def loop():
        while True:
            pass

    done = Trial(str(tmp_path), timeout=1.0).run(loop)
    assert (done.ok, done.unusable) == (False, False)
    assert "did not come to an end within 1 seconds" in done.error


def test_the_program_outlives_a_heal_that_loops(tmp_path):
    program = "def f(d):\n    x = d['k']\n    return x\nprint('before', flush=True)\nf({})\n"
    runbook = "version: 1\nheals:\n  - id: endless\n    when: {error: KeyError}\n    do: |\n" + "".join(
        "      " + line + "\n" for line in ENDLESS.splitlines())
    done = _run(tmp_path, program, runbook=runbook)
    assert done.stdout == "before\n"
    assert done.returncode == 1
    assert "KeyError: 'k'" in done.stderr
    assert "the runbook's heal failed: the code did not come to an end" in done.stderr


@pytest.mark.parametrize(("heal", "says"), [
    ("do: x = 1\n    resume: continue", "needs a loop around the statement"),
    ("do: x = nothing_of_that_name", "NameError: name 'nothing_of_that_name' is not defined"),
    ("do: x = d['other']", "KeyError: 'other'"),
], ids=["impossible", "unknown-name", "own-error"])
def test_why_a_runbooks_heal_failed_is_said(tmp_path, heal, says):
    program = "def f(d):\n    x = d['k']\n    return x\nf({})\n"
    runbook = "version: 1\nheals:\n  - id: wrong\n    when: {error: KeyError}\n    " + heal + "\n"
    done = _run(tmp_path, program, runbook=runbook)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if "the runbook's heal failed" in line]
    assert says in line


@pytest.mark.parametrize("base", ["Exception", "BaseException"])
def test_an_error_that_answers_nothing_is_shown_as_python_shows_it(tmp_path, base):
    program = f"""
class Mute({base}):
    def __getattribute__(self, name):
        raise RuntimeError("asked for " + name)
    def __eq__(self, other):
        raise RuntimeError("compared")
    __bool__ = __len__ = __eq__
    __hash__ = None

def f():
    raise Mute("nothing to say")

f()
"""
    healed = _run(tmp_path, program, agent="--agent rules")
    plain = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert _shown(healed, tmp_path) == _shown(plain, tmp_path)
    assert healed.returncode == plain.returncode


def _shown(done, folder):
    """What Python said, without what differs from run to run."""
    text = re.sub("0x[0-9a-f]+", "0x", done.stderr.replace(str(folder) + os.sep, ""))
    return [line for line in text.splitlines() if not line.startswith(("healguard:", "object refcount"))]
