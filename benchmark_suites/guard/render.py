"""Writes one case as a folder that runs on its own, for the runner and for people to read. Imports cases.

The package that crashes is copied (by links) and its crashing module is written anew with the pattern's lines around
the statement that crashes, so pause, heal and resume happen in the real frame with its real callers.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import textwrap
from pathlib import Path

import yaml

from benchmark_suites.guard.cases import Case

FILES = ("a.txt", "b.txt", "kept.txt", "other.txt")
RECORD = "effects.jsonl"
PACKAGES = "packages"
SOURCES = {"PATH": ('"a.txt"', '"b.txt"'), "STEM": ('"a"', '"b"'), "NUMBER": ("7", "11"), "INDEX": ("0", "1"),
           "CHOICE": ('"first"', '"second"'), "FLAG": ("False", "True")}
"""What a heal writes, and what it writes instead when a label is checked by counterfactual replay."""

_EFFECTS = (Path(__file__).parent / "effects.py").read_text(encoding="utf-8")
_CONFTEST = '''"""Ends a case where its flow ends. The rest of the target test is another question."""

import effects
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    try:
        return (yield)
    except effects.Done:
        return True
'''
POLICY = """version: 1
protect:
  - {id: remove, call: os.remove, key: path}
  - {id: unlink, call: pathlib.Path.unlink, key: self}
  - {id: delete, call: effects.delete, key: path}
  - {id: drop, call: effects.Store.drop, key: path}
  - {id: pay, call: effects.pay, key: amount}
"""


def render(case: Case, site_packages: Path, into: Path, *, replayed: bool = False) -> None:
    """Write ``case`` to ``into``; ``site_packages`` holds the package that crashes. A second call replaces the case.

    ``replayed`` makes the heal write its other value. Raises ``ValueError`` when the crashing statement is not found.
    """
    into.mkdir(parents=True, exist_ok=True)
    module = into / PACKAGES / case.point.error.file
    _copy_package(case, site_packages, into / PACKAGES)
    source = (site_packages / case.point.error.file).read_text(encoding="utf-8")
    module.unlink()  # it is a link to the environment's own
    module.write_text(_injected(source, case), encoding="utf-8")
    shutil.copy(case.point.test, into)
    (into / "effects.py").write_text(_EFFECTS, encoding="utf-8")
    (into / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    (into / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (into / "hg_app.py").write_text(case.pattern.text("app", case.variant) + "\n", encoding="utf-8")
    (into / "heals.yaml").write_text(_runbook(case, replayed), encoding="utf-8")
    policy = case.pattern.text("policy", case.variant)
    (into / "sinks.yaml").write_text(POLICY + (policy + "\n" if policy else ""), encoding="utf-8")
    for name in FILES:
        (into / name).write_text(name, encoding="utf-8")
    (into / RECORD).unlink(missing_ok=True)


def _copy_package(case: Case, site_packages: Path, into: Path) -> None:
    into.mkdir(exist_ok=True)
    for name in case.point.import_roots:
        top = name.partition(".")[0]
        package = site_packages / top
        if (into / top).exists() or (into / f"{top}.py").exists():
            continue
        if package.is_dir():
            shutil.copytree(package, into / top, copy_function=_link, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            _link(str(site_packages / f"{top}.py"), str(into / f"{top}.py"))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


# --------------------------------------------------------------------------- the crashing module


def _injected(source: str, case: Case) -> str:
    tree = ast.parse(source)
    block, index = _crashing(tree, case.point.error.line, case.point.error.file)
    _split_return(block, index)
    before = ["hg, hg_healed = None, False", "import os, effects, hg_app", case.pattern.text("before", case.variant)]
    flow = "\n".join(["effects.reached()", case.pattern.text("flow", case.variant), "raise effects.Done"])
    after = "if hg_healed:\n" + textwrap.indent(_with_sinks(flow, case.sink), "    ")
    block[index + 1:index + 1] = ast.parse(after).body
    block[index:index] = ast.parse("\n".join(before)).body
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _crashing(tree: ast.Module, line: int, file: str) -> tuple[list[ast.stmt], int]:
    """The innermost statement at ``line``, as a block and an index into it."""
    found: tuple[list[ast.stmt], int] | None = None
    for node in ast.walk(tree):  # outer nodes come first
        for field in ("body", "orelse", "finalbody"):
            block: list[ast.stmt] = getattr(node, field, None) or []
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


def _with_sinks(text: str, sink: str) -> str:
    return re.sub(r"\bPAY\(", "effects.pay(", re.sub(r"\bSINK\(", sink + "(", text))


# --------------------------------------------------------------------------- the heals


def _runbook(case: Case, replayed: bool) -> str:
    code = "\n".join(filter(None, ["hg_healed = True", _reviewed(case), case.pattern.text("heal", case.variant)]))
    heals = [{"when": {"error": "Exception"}, "where": "not hg_healed", "do": _with_source(code, replayed)}]
    again = case.pattern.text("again", case.variant)
    if again:
        heals.insert(0, {"when": {"error": "KeyError", "function": "hg_app.*"}, "do": _with_source(again, replayed)})
        if "_eh_rtn" in again:
            heals[0]["resume"] = "return"
    return yaml.safe_dump({"version": 1, "heals": heals}, sort_keys=False)


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


def effects_of(folder: Path) -> list[object]:
    """What happened in a rendered case that has run: its effects in order, and which of its files are left."""
    record = folder / RECORD
    lines = record.read_text(encoding="utf-8").splitlines() if record.is_file() else []
    return [*map(json.loads, lines), sorted(name for name in FILES if (folder / name).exists())]
