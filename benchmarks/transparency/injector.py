"""A pytest plugin that raises one error per test at one executed statement, and records what became of it.

Modes: ``count`` (how many statements each test executes), ``truth`` (raise, in code without our handlers: does
the error reach the test's outcome?), ``decide`` (raise, in instrumented code: what is decided?). The statement
is given by its ordinal among the executed ones, so the modes agree on it as long as the test is deterministic.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

INJECT = "@inject"
ERRORS: dict[str, type[Exception]] = {
    error.__name__: error for error in (KeyError, TypeError, AttributeError, ValueError, IndexError)
}
_SKIPPED = (ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue)


def add_points(tree: ast.Module) -> ast.Module:
    """Put a call of the injector before every statement inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _in_block(node.body, is_function=True)
    return tree


def _in_block(body: list[ast.stmt], is_function: bool = False) -> None:
    points: list[ast.stmt] = []
    for index, statement in enumerate(body):
        docstring = (
            is_function and index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        )
        if not docstring and not isinstance(statement, _SKIPPED):
            points.append(_point(statement))
        points.append(statement)
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for block in _blocks(statement):
                _in_block(block)
    body[:] = points


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if block:
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _point(statement: ast.stmt) -> ast.stmt:
    where = {
        "lineno": statement.lineno,
        "col_offset": statement.col_offset,
        "end_lineno": statement.lineno,
        "end_col_offset": statement.col_offset + 1,
    }
    return ast.Expr(ast.Call(ast.Name(INJECT, ast.Load(), **where), [], [], **where), **where)


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:
        tree = add_points(ast.parse(data))
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)


class _Finder(importlib.abc.MetaPathFinder):
    """Plain injection, without our handlers."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.busy = False

    def find_spec(self, fullname: str, *_: Any) -> Any:
        if self.busy or fullname.split(".")[0] != self.package or ".tests" in fullname or ".testing" in fullname:
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.busy = False
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class Injector:
    """Counts executed points, and raises at the planned one."""

    def __init__(self, mode: str, plan: dict[str, Any], out: Path) -> None:
        self.mode = mode
        self.plan = plan
        self.out = out
        self.count = 0
        self.target = -1
        self.error: BaseException | None = None
        self.kind = ""
        self.site = ""
        self.reached = ""
        self.nodeid = ""
        self.events: list[dict[str, Any]] = []

    def point(self) -> None:
        self.count += 1
        if self.count == self.target:
            caller = sys._getframe(1)
            self.site = f"{caller.f_code.co_filename}:{caller.f_lineno}"
            self.error = ERRORS[self.kind](f"injected into {self.nodeid}")
            raise self.error

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.nodeid = item.nodeid
        self.count = 0
        self.error = None
        planned = self.plan.get(item.nodeid)
        self.target, self.kind = (planned["ordinal"], planned["kind"]) if planned else (-1, "")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
        if self.error is not None and call.excinfo is not None:
            error: BaseException | None = call.excinfo.value
            how = "reached"
            seen: list[BaseException] = []
            while error is not None and error not in seen:
                if error is self.error:
                    self.reached = self.reached or how
                seen.append(error)
                error, how = error.__cause__ or error.__context__, "chain"
        outcome = yield
        report = outcome.get_result()
        heal = getattr(report, "heal", None)
        if heal:
            self.events.append(heal)
        if call.when == "teardown":
            self._write(item)

    def _write(self, item: pytest.Item) -> None:
        record = {
            "nodeid": item.nodeid,
            "count": self.count,
            "raised": self.error is not None,
            "site": self.site,
            "kind": self.kind,
            "reached": self.reached or "swallowed",
            "heal": self.events,
        }
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        self.site, self.reached, self.events = "", "", []


class _Recorder:
    """An agent that lets everything go on: the journal then tells what was offered."""

    name = "recorder"

    def respond(self, session: Any) -> None:
        session.reraise("recorded")

    def close(self) -> None:
        pass


class _Agents:
    """Registered only with the plugin under measurement, whose hook this is."""

    def pytest_heal_agents(self) -> dict[str, Any]:
        return {"recorder": _Recorder}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("inject")
    group.addoption("--inject", choices=("count", "truth", "decide"))
    group.addoption("--inject-package", default="")
    group.addoption("--inject-plan", default="")
    group.addoption("--inject-out", default="inject.jsonl")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    options = early_config.known_args_namespace
    if not options.inject:
        return
    plan = json.loads(Path(options.inject_plan).read_text()) if options.inject_plan else {}
    injector = Injector(options.inject, plan, Path(options.inject_out).resolve())
    setattr(builtins, INJECT, injector.point)
    early_config.pluginmanager.register(injector, "injector")
    if options.inject == "decide":
        _inject_below_ours()
        early_config.pluginmanager.register(_Agents(), "injector-agents")
    else:
        sys.meta_path.insert(0, _Finder(options.inject_package))


def _inject_below_ours() -> None:
    """Let our own transformer see the injection points as statements of the program."""
    from healguard_core.execution.instrument import rewrite as module

    original = module.rewrite

    def rewrite(tree: ast.Module, source: str, **options: Any) -> Any:
        return original(add_points(tree), source, **options)

    for name, loaded in list(sys.modules.items()):
        if name.startswith("healguard_core.") and getattr(loaded, "rewrite", None) is original:
            loaded.rewrite = rewrite  # type: ignore[attr-defined]
