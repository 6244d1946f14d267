"""Programs run with healing behave as ``python`` itself runs them."""

import json
import os
import signal
import subprocess
import sys

import pytest

PROGRAMS = {
    "where-it-is": (
        '"""Doc."""\nimport sys, os\n'
        "print(__name__, __doc__, __package__, __spec__, os.path.basename(__file__), sorted(vars()))\n"
        "print(sys.argv, os.path.basename(sys.path[0]), sys.modules['__main__'].__file__ == __file__)"
    ),
    "exit-number": "import sys; sys.exit(3)",
    "exit-text": "import sys; sys.exit('no luck')",
    "exit-none": "import sys; sys.exit()",
    "exit-large": "import sys; sys.exit(256 + 7)",
    "exit-in-function": "def f():\n    raise SystemExit(4)\nf()",
    "uncaught": "def f():\n    raise ValueError('bad')\nf()",
    "uncaught-chain": "try:\n    {}['x']\nexcept KeyError as e:\n    raise ValueError('bad') from e",
    "handled": "try:\n    {}['x']\nexcept KeyError:\n    print('fine')",
    "syntax-error": "x = (1 +\nprint(2",
    "excepthook": "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\n1/0",
    "interrupted": "raise KeyboardInterrupt",
    "atexit": (
        "import atexit, sys\natexit.register(print, 'first registered')\natexit.register(print, 'last registered')\n"
        "sys.exit(5)"
    ),
    "thread": (
        "import threading, time\nt = threading.Thread(target=lambda: (time.sleep(0.2), print('late')))\nt.start()\n"
        "print('main is over')"
    ),
    "thread-pool": (
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"
        "pool.submit(print, 'in the pool')"
    ),
    "stdin": "print(input() + input())",
    "import-beside": "import beside\nprint(beside.value)",
    "os-exit": "import os, sys\nprint('out'); sys.stdout.flush(); os._exit(6)",
    "spawn": (
        "import multiprocessing as m\ndef f(x):\n    return x * 2\nif __name__ == '__main__':\n"
        "    with m.get_context('spawn').Pool(1) as p:\n        print(p.map(f, [1, 2]))"
    ),
    "fork": "import os\npid = os.fork()\nif not pid:\n    raise SystemExit(7)\nprint(os.waitpid(pid, 0)[1] >> 8)",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "globals-kept": "import atexit\nx = 1\natexit.register(lambda: print(x))",
    "encoding": "# coding: latin-1\nprint(ascii('\xe9'))",
}


@pytest.fixture
def run(tmp_path):
    """Run words after ``python``, plainly or with healing, in a directory of its own."""
    (tmp_path / "beside.py").write_text("value = 42\n")
    config = tmp_path / "config.json"

    def run(*words, healing=True, settings=None, flags=(), first=(), **options):
        written = {"root": str(tmp_path), "journal": str(tmp_path / "journal.jsonl")} | (settings or {})
        config.write_text(json.dumps(written))
        healed = ("-m", "healguard_core.execution", str(config), *flags) if healing else ()
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        return subprocess.run([sys.executable, *first, *healed, *words], cwd=tmp_path, capture_output=True, text=True,
                              check=False, env=environment, input="one\ntwo\n", **options)

    return run


def _same(plain, healed):
    assert healed.stdout == plain.stdout
    assert healed.returncode == plain.returncode
    said = [line for line in healed.stderr.splitlines() if not line.startswith("healguard: ")]
    assert said == plain.stderr.splitlines()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_runs_as_with_python(run, tmp_path, name):
    (tmp_path / "program.py").write_text(PROGRAMS[name], encoding="latin-1" if name == "encoding" else "utf-8")
    _same(run("program.py", "-x", "--", "y", healing=False), run("program.py", "-x", "--", "y"))


@pytest.mark.parametrize(
    "words", [("-m", "package"), ("-m", "package.tool", "-q"), ("-m", "no_such"), ("-m", "package.broken"), ("folder",)]
)
def test_modules_and_directories_run_as_with_python(run, tmp_path, words):
    for place in ("package", "folder"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "__main__.py").write_text(
            "import sys, os\nprint(__name__, __package__, bool(__spec__), [os.path.basename(a) for a in sys.argv],\n"
            "      os.path.basename(sys.path[0]), os.path.basename(__file__))\n"
        )
    (tmp_path / "package" / "__init__.py").write_text("import sys\nprint(sys.argv)\n")
    (tmp_path / "package" / "tool.py").write_text(
        "import sys\nprint(__name__, __spec__.name, sys.argv[1:])\nsys.exit(9)\n"
    )
    (tmp_path / "package" / "broken.py").write_text("import no_such_module\n")
    plain, healed = run(*words, healing=False), run(*words)
    if words == ("folder",):  # our __main__ of a directory has no spec, as a script's
        plain.stdout = plain.stdout.replace("__main__  True", "__main__ None False")
    _same(plain, healed)


def test_the_script_itself_is_healed(run, tmp_path):
    (tmp_path / "program.py").write_text("row = {'amount': 3}\ndef f():\n    return row['Amount']\nprint(f())\n")
    done = run("program.py", settings={"agent": "rules"})
    assert (done.stdout, done.returncode) == ("3\n", 0)
    assert "KeyError at" in done.stderr
    assert "healed by rules: _eh_rtn = row['amount']" in done.stderr
    events = [json.loads(line)["event"] for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert events == ["Started", "Crashed", "Healed", "UnitEnded", "Stopped"]


def test_a_module_and_what_it_imports_is_healed(run, tmp_path):
    (tmp_path / "beside.py").write_text("def f(row):\n    x = row['Amount']\n    return x\n")
    (tmp_path / "program.py").write_text("import beside\nprint(beside.f({'amount': 3}))\nprint({'row': 1}['Row'])\n")
    done = run("-m", "program", settings={"agent": "rules"})
    assert (done.stdout, done.returncode) == ("3\n1\n", 0)
    assert done.stderr.count("healed by rules") == 2


def test_a_script_that_is_none_of_the_sources_is_left_alone(run, tmp_path):
    (tmp_path / "program.py").write_text("{'row': 1}['Row']\n")
    done = run("program.py", settings={"agent": "rules", "sources": ["beside"]})
    assert done.returncode == 1
    assert "healed" not in done.stderr


def test_a_runbook_answers_without_an_agent(run, tmp_path):
    (tmp_path / "program.py").write_text("def f(d):\n    retries = d['retries']\n    return retries\nprint(f({}))\n")
    entry = {"id": "retries", "error": "KeyError", "function": "program.f", "do": "retries = 3"}
    done = run("program.py", settings={"runbook": [entry]})
    assert (done.stdout, done.returncode) == ("3\n", 0)
    assert "healed by runbook:retries" in done.stderr


def test_fail_on_heal(run, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("print({'row': 1}['Row'])\n")
    assert run("program.py", settings={"agent": "rules"}, flags=("--fail-on-heal",)).returncode == 1
    program.write_text("print({'row': 1}['Row'])\nraise SystemExit(5)\n")
    assert run("program.py", settings={"agent": "rules"}, flags=("--fail-on-heal",)).returncode == 5
    program.write_text("print({'row': 1}['row'])\n")
    assert run("program.py", settings={"agent": "rules"}, flags=("--fail-on-heal",)).returncode == 0


def test_a_heal_after_the_main_thread_fails_too_and_is_on_record(run, tmp_path):
    (tmp_path / "program.py").write_text(
        "import threading, time\ndef f():\n    time.sleep(0.3)\n    print({'row': 1}['Row'])\n"
        "threading.Thread(target=f).start()\n"
    )
    done = run("program.py", settings={"agent": "rules"}, flags=("--fail-on-heal",))
    assert (done.stdout, done.returncode) == ("1\n", 1)
    assert "healed by rules" in done.stderr
    assert json.loads((tmp_path / "journal.jsonl").read_text().splitlines()[-1])["exit_code"] == 1


def test_quiet(run, tmp_path):
    (tmp_path / "program.py").write_text("print({'row': 1}['Row'])\n")
    assert run("program.py", settings={"agent": "rules"}, flags=("--quiet",)).stderr == ""


def test_spawned_children_are_not_healed(run, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAMS["spawn"].replace("x * 2", "{'row': 1}['Row']"))
    done = run("program.py", settings={"agent": "rules"})
    assert done.returncode == 1
    assert "KeyError: 'Row'" in done.stderr


def test_safe_path_is_respected(run, tmp_path):
    (tmp_path / "program.py").write_text("import sys, os\nprint(os.getcwd() in sys.path, '' in sys.path)\n")
    assert run("program.py", first=("-P",)).stdout == run("program.py", first=("-P",), healing=False).stdout


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupted_program_ends_by_the_signal(run, tmp_path):
    (tmp_path / "program.py").write_text(
        "import os, signal, atexit\natexit.register(print, 'cleaned up')\nos.kill(os.getpid(), signal.SIGINT)\n"
        "import time\ntime.sleep(60)\n"
    )
    done = run("program.py")
    assert done.returncode == -signal.SIGINT
    assert done.stdout == "cleaned up\n"
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize(
    ("content", "words", "says"),
    [
        ("{}", (), "there is no program to run"),
        ("{}", ("-m",), "there is no program to run"),
        ("{}", ("--fast", "program.py"), "there is no program to run"),
        ("{", ("program.py",), "is not JSON"),
        ("[]", ("program.py",), "must be a JSON object"),
        ('{"runbok": []}', ("program.py",), "unknown key 'runbok'; did you mean 'runbook'?"),
        ('{"agent": "codex"}', ("program.py",), "'codex' cannot run inside the program; use one of: runbook, human"),
        ('{"agent": "rules", "agent_options": {"rules": "some"}}', ("program.py",), "must be one of all, safe"),
        ('{"sources": ["no_such_package"]}', ("program.py",), "no_such_package"),
        ('{"runbook": [{"id": "a", "error": "E", "message": "("}]}', ("program.py",), "runbook entry 'a'"),
        ("{}", ("missing.py",), "there is no such file"),
    ],
)
def test_wrong_settings_exit_2_with_the_reason(tmp_path, content, words, says):
    config = tmp_path / "config.json"
    config.write_text(content)
    done = subprocess.run([sys.executable, "-m", "healguard_core.execution", str(config), *words], cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
