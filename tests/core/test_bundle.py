"""The zip that puts the execution side into another Python."""

import json
import os
import zipfile

import pytest

from healguard_core.bundle import build_bundle

from .pythons import other_pythons, run

PROGRAM = """\
import sys
def retries(section):
    value = section["retries"]
    return value
print(retries({}), sys.version_info[:2])
"""
TESTS = """\
import unittest
import program_code
class T(unittest.TestCase):
    def test_default(self):
        self.assertEqual(program_code.retries({}), 3)
    def test_key(self):
        self.assertRaises(KeyError, program_code.retries, {})
"""
PYTEST_TESTS = """\
import program_code, pytest
def test_default():
    assert program_code.retries({}) == 3
def test_key():
    with pytest.raises(KeyError):
        program_code.retries({})
"""


@pytest.fixture
def project(tmp_path):
    """A folder with a bundle, a configuration, a script and tests."""
    build_bundle(tmp_path / "bundle.zip")
    entry = {"id": "retries", "error": "KeyError", "function": "retries", "do": "value = 3", "statement": "value = ..."}
    config = {"root": str(tmp_path), "runbook": [entry], "journal": str(tmp_path / "journal.jsonl")}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "program_code.py").write_text(PROGRAM.partition("print")[0])
    (tmp_path / "test_unit.py").write_text(TESTS)
    (tmp_path / "test_funcs.py").write_text(PYTEST_TESTS)
    return tmp_path


def _events(project):
    return [json.loads(line)["event"] for line in (project / "journal.jsonl").read_text().splitlines()]


def test_the_same_sources_give_the_same_bytes(tmp_path):
    for name in ("a.zip", "b.zip"):
        build_bundle(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_only_the_execution_side_travels(tmp_path):
    build_bundle(tmp_path / "bundle.zip")
    names = zipfile.ZipFile(tmp_path / "bundle.zip").namelist()
    assert {"healguard_core/__init__.py", "healguard_core/protocol.py", "healguard_core/execution/run.py"} < set(names)
    assert all(name.startswith("healguard_core/execution/") or name.count("/") == 1 for name in names)
    assert all(name.endswith(".py") for name in names)
    assert "healguard_core/cli.py" not in names


@pytest.mark.pythons
@pytest.mark.parametrize("python", other_pythons((3, 8), (3, 14)))
class TestOtherPythons:
    def _run(self, python, project, *words):
        environment = dict(os.environ, PYTHONPATH=str(project / "bundle.zip"))
        return run(python, "-m", "healguard_core.execution", str(project / "config.json"), *words, cwd=project,
                   env=environment)

    def test_a_script(self, python, project):
        done = self._run(python, project, "program.py")
        assert done.stdout.startswith("3 (3, "), done.stderr
        assert "healed by runbook:retries" in done.stderr
        assert done.returncode == 0
        assert _events(project) == ["Started", "Crashed", "Healed", "UnitEnded", "Stopped"]

    def test_unittest(self, python, project):
        done = self._run(python, project, "-m", "unittest", "-v", "test_unit")
        assert done.returncode == 0, done.stderr
        assert _events(project).count("Healed") == 1

    def test_pytest_where_there_is_one(self, python, project):
        if run(python, "-c", "import pytest").returncode:
            pytest.skip("this Python has no pytest")
        done = self._run(python, project, "-m", "pytest", "-q", "test_funcs.py")
        assert done.returncode == 0, done.stdout + done.stderr
        assert _events(project).count("Healed") == 1
