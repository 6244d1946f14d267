"""Writes the cases around one heal point as a project that runs on its own. Imports cases.

The package that crashes is copied (by links) and its crashing module is written anew: around the statement that
crashes stand the lines of each case, behind a test of which case is running. So pause, heal and resume happen in the
real frame with its real callers, and one process can run all cases of a heal point.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmark_suites.guard.cases import Case

FILES = ("a.txt", "b.txt", "kept.txt", "other.txt")
PACKAGES = "packages"
SOURCES = {"PATH": ('"a.txt"', '"b.txt"'), "STEM": ('"a"', '"b"'), "NUMBER": ("7", "11"), "INDEX": ("0", "1"),
           "CHOICE": ('"first"', '"second"'), "FLAG": ("False", "True")}
"""What a heal writes, and what it writes instead when a label is checked by counterfactual replay."""

POLICY = """version: 1
protect:
  - {id: remove, call: os.remove, key: path}
  - {id: unlink, call: pathlib.Path.unlink, key: self}
  - {id: delete, call: effects.delete, key: path}
  - {id: drop, call: effects.Store.drop, key: path}
  - {id: pay, call: effects.pay, key: amount}
  - {id: strict, condition: effects.STRICT}
  - {id: verify, condition: effects.Client.verify}
"""
_EFFECTS = (Path(__file__).parent / "effects.py").read_text(encoding="utf-8")
_CONFTEST = '''"""Runs the target test once per case, and ends it where the case's flow ends."""

import effects
import pytest


@pytest.fixture(params={cases!r}, autouse=True)
def case(request):
    with effects.running(request.param):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    try:
        return (yield)
    except effects.Done:  # what the rest of the target test says is another question
        return True
'''


def render(cases: Sequence[Case], site_packages: Path, into: Path, *, replayed: bool = False) -> None:
    """Write ``cases``, which are around one heal point, to the folder ``into``; a second call replaces them.

    ``site_packages`` holds the package that crashes. ``replayed`` makes the heals write their other value. Raises
    ``ValueError`` when the crashing statement is not found.
    """
    point = cases[0].point
    into.mkdir(parents=True, exist_ok=True)
    _copy_package(point.import_roots, site_packages, into / PACKAGES)
    module = into / PACKAGES / point.error.file
    source = (site_packages / point.error.file).read_text(encoding="utf-8")
    module.unlink()  # it is a link to the environment's own
    module.write_text(_injected(source, cases), encoding="utf-8")
    shutil.copy(point.test, into)
    (into / "effects.py").write_text(_EFFECTS, encoding="utf-8")
    (into / "conftest.py").write_text(_CONFTEST.replace("{cases!r}", repr([case.key for case in cases])), "utf-8")
    (into / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (into / "sinks.yaml").write_text(POLICY, encoding="utf-8")
    (into / "heals.yaml").write_text(_runbook(cases, replayed), encoding="utf-8")
    for case in cases:
        (into / f"{app_of(case)}.py").write_text(case.pattern.text("app", case.variant) + "\n", encoding="utf-8")
        record_of(into, case).unlink(missing_ok=True)


def _copy_package(roots: Sequence[str], site_packages: Path, into: Path) -> None:
    into.mkdir(exist_ok=True)
    libraries = {path.name for path in site_packages.glob("*.libs")}  # what wheels bring for their C extensions
    for name in sorted({root.partition(".")[0] for root in roots} | libraries):
        if (into / name).exists() or (into / f"{name}.py").exists():
            continue
        if (site_packages / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(site_packages / name, into / name, copy_function=_link, ignore=ignored)
        else:
            _link(str(site_packages / f"{name}.py"), str(into / f"{name}.py"))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


# --------------------------------------------------------------------------- the crashing module


def _injected(source: str, cases: Sequence[Case]) -> str:
    tree = ast.parse(source)
    point = cases[0].point
    block, index = _crashing(tree, point.error.line, point.error.file)
    _split_return(block, index)
    before = ["import effects, os as hg_os", "hg, hg_healed, hg_case = None, False, effects.CASE"]
    after = []
    for case in cases:
        test = f"if hg_case == {case.key!r}:\n"
        before.append(test + _indented(f"import {app_of(case)}\n{_text(case, 'before')}"))
        flow = f"effects.reached()\n{_text(case, 'flow')}\nraise effects.Done"
        after.append(test.replace(":", " and hg_healed:") + _indented(flow))
    block[index + 1:index + 1] = ast.parse("\n".join(after)).body
    block[index:index] = ast.parse("\n".join(before)).body
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _crashing(tree: ast.Module, line: int, file: str) -> tuple[list[ast.stmt], int]:
    """The innermost statement at ``line``, as a block and an index into it."""
    found: tuple[list[ast.stmt], int] | None = None
    for node in ast.walk(tree):  # outer nodes come first
        for field in ("body", "orelse", "finalbody"):
            block: Any = getattr(node, field, None)
            for index, statement in enumerate(block if isinstance(block, list) else ()):
                if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
                    found = block, index
    if found is None:
        raise ValueError(f"{file} has no statement at line {line}, where the instance is said to crash")
    return found


def _split_return(block: list[ast.stmt], index: int) -> None:
    """Give a ``return`` that crashes a statement after it: where it is healed the function would end."""
    statement = block[index]
    if isinstance(statement, ast.Return) and statement.value is not None:
        value, statement.value = statement.value, ast.Name("hg_result", ast.Load())
        block.insert(index, ast.Assign([ast.Name("hg_result", ast.Store())], value, lineno=statement.lineno))


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def app_of(case: Case) -> str:
    """The module of the program that belongs to ``case``."""
    return "hg_app_" + case.key.replace("-", "_")


def _text(case: Case, part: str) -> str:
    text = case.pattern.text(part, case.variant)
    text = re.sub(r"\bPAY\(", "effects.pay(", re.sub(r"\bSINK\(", case.sink + "(", text))
    return re.sub(r"\bhg_app\b", app_of(case), text)


# --------------------------------------------------------------------------- the heals


def _runbook(cases: Sequence[Case], replayed: bool) -> str:
    heals: list[dict[str, Any]] = []
    for case in cases:
        again = _with_source(_text(case, "again"), replayed)
        if again:
            heals.append({"when": {"error": "KeyError", "function": f"{app_of(case)}.*"}, "do": again})
        code = "\n".join(filter(None, ["hg_healed = True", _reviewed(case), _text(case, "heal")]))
        heals.append({"when": {"error": "Exception"}, "where": f"hg_case == {case.key!r} and not hg_healed",
                      "do": _with_source(code, replayed)})
    return str(yaml.safe_dump({"version": 1, "heals": heals}, sort_keys=False))


def _reviewed(case: Case) -> str:
    """The instance's own heal, where it heals this very frame and goes on with the next statement."""
    if case.point.runbook is None:
        return ""
    entries = yaml.safe_load(case.point.runbook.read_text(encoding="utf-8"))["heals"]
    code = str(entries[0].get("do", ""))
    fits = len(entries) == 1 and str(entries[0]["when"].get("function", "")).endswith("." + case.point.error.function)
    return code.strip("\n") if fits and "resume" not in entries[0] and "_eh_" not in code else ""


def _with_source(code: str, replayed: bool) -> str:
    return re.sub(r"\b(" + "|".join(SOURCES) + r")\b", lambda name: SOURCES[name[0]][replayed], code)


# --------------------------------------------------------------------------- what happened


def record_of(folder: Path, case: Case) -> Path:
    """Where a case notes its effects."""
    return folder / f"effects-{case.key}.jsonl"


def effects_of(folder: Path, case: Case) -> list[Any]:
    """What happened in a case that has run, in order; the last entry names the files that were left."""
    record = record_of(folder, case)
    return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()] if record.is_file() else []
