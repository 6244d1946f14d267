"""The rewriter and the importer on every Python that is installed here."""

import sys
from pathlib import Path

import pytest

from tests.core.pythons import other_pythons, run

HERE = Path(__file__).parent
ROOT = HERE.parents[3]


def check(python: str, step: int) -> None:
    path = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    done = run(python, str(HERE / "on_any_python.py"), str(step), env=path)
    assert done.returncode == 0, done.stderr


def test_this_python() -> None:
    check(sys.executable, 40)


@pytest.mark.pythons
@pytest.mark.parametrize("python", other_pythons((3, 8), (3, 14)))
def test_every_other_python(python: str) -> None:
    check(python, 4)


PROGRAM = """
import runpy, sys
sys.path[:0] = [{root!r}, {project!r}]
from healguard_core.execution import hooks
from healguard_core.execution.instrument.importer import Importer
from healguard_core.execution.instrument.scope import Scope
hooks.install(lambda site, frame, exc: ())
Importer(Scope({project!r}), None, print).install()
runpy.run_module("tool.run", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("flags", [(), ("-O",), ("-OO",)])
def test_a_module_run_as_a_program_is_instrumented(tmp_path: Path, flags: tuple[str, ...]) -> None:
    package = tmp_path / "tool"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "run.py").write_text(
        "def main():\n    'text'\n    assert __name__ == 'other'\n    print(__name__, __debug__, main.__doc__,"
        " '@heal' in main.__code__.co_names)\n    missing()\nmain()\n"
    )
    done = run(sys.executable, *flags, "-c", PROGRAM.format(root=str(ROOT), project=str(tmp_path)))
    lines = done.stderr.split("\n")
    if not flags:
        assert lines[-2] == "AssertionError"
    else:
        assert done.stdout.split() == ["__main__", "False", "None" if flags == ("-OO",) else "text", "True"]
        assert "NameError: name 'missing' is not defined" in lines
    assert "healguard_core" not in done.stderr
