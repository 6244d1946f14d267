"""The command ``healguard``."""

import json
import os
import shutil
import subprocess
import sys
import venv

import pytest

from healguard_core.cli import main

from .pythons import other_pythons

HEALS = "version: 1\nheals:\n  - when: {error: KeyError, function: f}\n    do: x = 3\n"
PROGRAM = "import sys\ndef f(d):\n    x = d['Amount']\n    return x\nprint(f({'amount': 5}), sys.argv[1:])\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The current directory, with a program that crashes and a runbook that heals it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "heals.yaml").write_text(HEALS)
    return tmp_path


def healguard(*words, **options):
    """The command in a process of its own, which does not know that a test started it."""
    environment = dict(options.pop("env", os.environ))
    environment.pop("PYTEST_CURRENT_TEST", None)
    return subprocess.run([sys.executable, "-m", "healguard_core.cli", *words], capture_output=True, text=True,
                          check=False, env=environment, **options)


@pytest.mark.usefixtures("project")
class TestRun:
    def test_rules_are_the_default(self):
        done = healguard("run", "program.py", "-q", "--agent", "x")
        assert (done.stdout, done.returncode) == ("5 ['-q', '--agent', 'x']\n", 0)
        assert "healed by rules" in done.stderr

    def test_a_runbook_answers_alone_or_before_the_agent(self):
        assert healguard("run", "--runbook", "heals.yaml", "program.py").stdout == "3 []\n"
        assert healguard("run", "--runbook", "heals.yaml", "--agent", "rules", "program.py").stdout == "3 []\n"

    def test_a_module_with_options_of_its_own(self):
        done = healguard("run", "--agent", "rules", "-m", "program", "-m", "x", "--quiet")
        assert done.stdout == "5 ['-m', 'x', '--quiet']\n"

    def test_journal_and_report(self, project):
        done = healguard("run", "--journal", "j.jsonl", "--report", "r.json", "--quiet", "program.py")
        assert (done.stderr, done.returncode) == ("", 0)
        events = [json.loads(line)["event"] for line in (project / "j.jsonl").read_text().splitlines()]
        assert events == ["Started", "Crashed", "Healed", "UnitEnded", "Stopped"]
        report = json.loads((project / "r.json").read_text())
        assert report["totals"] == {"tests": 1, "crashes": 1, "applied": 1}
        (test,) = report["tests"]
        assert (test["nodeid"], test["outcome"]) == ("program.py", "correct")
        assert test["crashes"][0]["heal"]["code"] == "x = d['amount']"

    def test_the_report_of_a_runner_has_one_record_per_test(self, project):
        (project / "test_it.py").write_text(
            "import unittest, code_of_it\nclass T(unittest.TestCase):\n"
            "    def test_a(self): self.assertEqual(code_of_it.f({'amount': 5}), 5)\n"
            "    def test_b(self): self.assertRaises(KeyError, code_of_it.f, {})\n"
        )
        (project / "code_of_it.py").write_text(PROGRAM.partition("print")[0])
        done = healguard("run", "--report", "r.json", "-m", "unittest", "test_it")
        assert done.returncode == 0, done.stderr
        tests = json.loads((project / "r.json").read_text())["tests"]
        assert [(test["nodeid"], test["outcome"]) for test in tests] == [
            ("test_it.T.test_a", "correct"), ("-m unittest", "passed"),
        ]

    def test_fail_on_heal(self):
        assert healguard("run", "--fail-on-heal", "program.py").returncode == 1

    def test_the_bytecode_is_kept_for_the_next_run(self, project):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        for _ in range(2):
            assert healguard("run", "program.py", env=environment).stdout == "5 []\n"
        assert list((project / "cache" / "healguard").iterdir())

    def test_an_option_of_the_agent(self, project):
        (project / "program.py").write_text("v = [1]\nv.remove(2)\nprint('went on')\n")
        assert healguard("run", "program.py").returncode == 1
        assert healguard("run", "--agent-option", "rules=all", "program.py").stdout == "went on\n"

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (["--agent", "rulse", "program.py"], "HF410 there is no agent 'rulse'; did you mean 'rules'?"),
            (["--agent-option", "rules=most", "program.py"], "must be one of all, safe; got 'most'"),
            (["--agent-option", "rules", "program.py"], "HF404 'rules' is not of the form KEY=VALUE"),
            (["--model", "gpt", "program.py"], "HF411 agent 'rules' uses no model; leave --model out"),
            (["--runbook", "none.yaml", "program.py"], "none.yaml:1: HF400 cannot read the file"),
            (["--python", "no-such-python", "program.py"], "HF400 cannot start 'no-such-python'"),
            (["--source", "no_such_package", "program.py"], "no_such_package"),
            (["none.py"], "there is no such file"),
            ([], "the following arguments are required"),
        ],
    )
    def test_wrong_settings_exit_2_with_the_reason(self, words, says):
        done = healguard("run", *words)
        assert done.returncode == 2
        assert says in done.stderr
        assert "Traceback" not in done.stderr

    def test_the_python_of_a_virtual_environment_is_another_one(self, project):
        venv.create("venv", symlinks=os.name != "nt", with_pip=False)
        (project / "program.py").write_text("import sys\nprint(sys.prefix)\n")
        python = shutil.which("python", path=str(project / "venv" / ("Scripts" if os.name == "nt" else "bin")))
        assert healguard("run", "--python", python, "program.py").stdout.strip() == str(project / "venv")
        assert healguard("run", "--python", sys.executable, "program.py").stdout.strip() == sys.prefix

    @pytest.mark.pythons
    @pytest.mark.parametrize("python", other_pythons((3, 8), (3, 10)))
    def test_another_python(self, project, python):
        (project / "program.py").write_text(
            PROGRAM + "import os, subprocess\nprint(os.environ.get('PYTHONPATH'), flush=True)\n"
            "sys.exit(subprocess.call([sys.executable, '-c', 'import healguard_core']) and 7)\n"
        )
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = healguard("run", "--python", python, "--runbook", "heals.yaml", "--report", "r.json", "program.py", "a",
                         env=environment)
        assert done.stdout == "3 ['a']\nNone\n", done.stderr
        assert done.returncode == 7  # the program's own children know nothing of the bundle
        assert json.loads((project / "r.json").read_text())["totals"]["applied"] == 1


@pytest.mark.usefixtures("project")
class TestChecks:
    @pytest.mark.parametrize(
        ("code", "exit_code", "says"),
        [("x = 1\n", 0, ""), ("x = 1\nimport os\n", 1, "heal.py:2:1: HC120 dangerous"), ("x = (", 1, "heal.py:1")],
    )
    def test_gate(self, project, capsys, code, exit_code, says):
        (project / "heal.py").write_text(code)
        assert main(["gate", "heal.py"]) == exit_code
        assert capsys.readouterr().out.startswith(says)

    def test_gate_reads_standard_input(self):
        assert healguard("gate", "-", input="x = y['a']").returncode == 0
        assert "<stdin>:1:1" in healguard("gate", "-", "--purpose", "expression", input="x = 1").stdout

    def test_a_file_that_cannot_be_read(self, project, capsys):
        (project / "latin.py").write_bytes(b"x = '\xe9'\n")
        assert main(["gate", "none.py"]) == 2
        assert main(["gate", "latin.py"]) == 2
        said = capsys.readouterr().err
        assert "none.py:1: HF400 cannot read the file" in said
        assert "latin.py:1: HF400 cannot read the file" in said

    def test_runbook(self, project, capsys):
        assert main(["runbook", "check", "heals.yaml"]) == 0
        assert capsys.readouterr().out == "1 entry, nothing wrong\n"
        (project / "heals.yaml").write_text(HEALS.replace("do:", "doo:"))
        assert main(["runbook", "check", "heals.yaml"]) == 2
        assert capsys.readouterr().err.startswith("heals.yaml:4: HF402 unknown key 'doo'; did you mean 'do'?")

    def test_instrument(self, project, capsys):
        assert main(["instrument", "program.py"]) == 0
        assert "x = d['Amount']" in capsys.readouterr().out
        (project / "program.py").write_text("x = (")
        assert main(["instrument", "program.py"]) == 2
        assert "program.py:1: HF400 not Python" in capsys.readouterr().err

    def test_output_that_nobody_reads_to_the_end(self, project):
        (project / "program.py").write_text("x = 1\n" * 20_000)
        with subprocess.Popen([sys.executable, "-m", "healguard_core.cli", "instrument", "program.py"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""

    def test_a_policy_is_enforced(self, project):
        (project / "program.py").write_text(
            "import os, sys\ndef drop(path):\n    os.remove(path)\ndef f(d):\n    x = d['Amount']\n    return x\n"
            "print(f({'amount': 5}))\n"
        )
        (project / "heals.yaml").write_text(
            "version: 1\nheals:\n  - when: {error: KeyError}\n    do: |\n      drop('program.py')\n      x = 3\n"
        )
        (project / "sinks.yaml").write_text("version: 1\nprotect:\n  - {id: del, call: os.remove, key: path}\n")
        guarded = ("--policy", "sinks.yaml", "--runbook", "heals.yaml", "--journal", "j.jsonl")
        done = healguard("run", *guarded, "program.py")
        assert (done.stdout, done.returncode) == ("", 1)
        assert "stopped: HG301 a protected operation while a heal runs: os.remove" in done.stderr
        assert (project / "program.py").exists()
        events = [json.loads(line) for line in (project / "j.jsonl").read_text().splitlines()]
        (blocked,) = [event for event in events if event["event"] == "Blocked"]
        assert (blocked["policy_id"], blocked["submit"], blocked["exact"]) == ("del", True, True)

    def test_a_policy_that_names_nothing_fails_the_run(self, project):
        (project / "late.py").write_text("globals()['there'] = 1\n")
        (project / "program.py").write_text("import late\nprint(1)\n")
        (project / "sinks.yaml").write_text("version: 1\nprotect:\n  - {id: g, call: late.gone, key: '*'}\n")
        done = healguard("run", "--policy", "sinks.yaml", "program.py")
        assert (done.stdout, done.returncode) == ("1\n", 2)
        assert "sinks.yaml:3: call 'late.gone' protects nothing: module late has no 'gone'" in done.stderr

    def test_policies_are_checked(self, project, capsys):
        (project / "good.yaml").write_text("version: 1\ninclude: [builtin:process]\n")
        (project / "bad.yaml").write_text("version: 1\nprotect:\n  - {id: a, call: os.remov, key: path}\n")
        assert main(["policy", "check", "good.yaml"]) == 0
        assert capsys.readouterr().out == "1 entry, nothing wrong\n"
        assert main(["policy", "check", "good.yaml", "bad.yaml", "absent.yaml"]) == 2
        assert capsys.readouterr().err.splitlines() == [
            "bad.yaml:3: HF410 module os has no 'remov'; did you mean 'remove'?",
            "absent.yaml:1: HF400 cannot read the file: No such file or directory; check the path",
        ]

    def test_bundle(self, project, capsys):
        assert main(["bundle", "out.zip"]) == 0
        assert (project / "out.zip").stat().st_size > 10_000
        assert main(["bundle", "missing/out.zip"]) == 2
        assert "HF400 cannot write the file" in capsys.readouterr().err

    def test_help_names_every_command(self, capsys):
        with pytest.raises(SystemExit):
            main(["--help"])
        said = capsys.readouterr().out
        for command in ("run", "gate", "runbook", "policy", "instrument", "bundle"):
            assert command in said
