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
import importlib.util
import json
import random
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


def _relation(outcome: BaseException, error: BaseException) -> str:
    """``reached`` if the outcome is the error, ``chain`` if it holds it (cause, context, group), "" otherwise."""
    if outcome is error:
        return "reached"
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [outcome]
    while waiting:
        one = waiting.pop()
        if one is error:
            return "chain"
        if one is not None and not any(one is other for other in seen):
            seen.append(one)
            waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return ""


class Injector:
    """Counts executed points, and raises at the planned one."""

    def __init__(self, sample: tuple[int, int], plan: dict[str, Any], out: Path) -> None:
        self.sample = sample
        self.plan = plan
        self.out = out
        self.count = 0
        self.target = -1
        self.error: BaseException | None = None
        self.kind = ""
        self.site = ""
        self.reached = ""
        self.failed = False
        self.nodeid = ""
        self.events: list[dict[str, Any]] = []

    def point(self) -> None:
        self.count += 1
        if self.count == self.target:
            caller = sys._getframe(1)
            self.site = f"{caller.f_code.co_filename}:{caller.f_lineno}"
            self.error = ERRORS[self.kind](f"injected into {self.nodeid}")
            raise self.error

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        limit, seed = self.sample
        if limit and len(items) > limit:
            names = sorted({item.nodeid for item in items})
            chosen = set(random.Random(seed).sample(names, min(limit, len(names))))
            config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
            items[:] = [item for item in items if item.nodeid in chosen]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.nodeid = item.nodeid
        self.count = 0
        self.error = None
        self.site, self.reached, self.failed, self.events = "", "", False, []
        planned = self.plan.get(item.nodeid)
        self.target, self.kind = (planned["ordinal"], planned["kind"]) if planned else (-1, "")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
        outcome = yield  # pytest's plugin for unittest fills in call.excinfo only now
        if self.error is not None and call.excinfo is not None:
            self.reached = self.reached or _relation(call.excinfo.value, self.error)
        report = outcome.get_result()
        self.failed = self.failed or report.failed
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
            "reached": self.reached or ("failed" if self.failed else "swallowed"),
            "failed": self.failed,
            "heal": self.events,
        }
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


class _Recorder:
    """An agent that lets everything go on: the journal then tells what was offered."""

    name = "recorder"

    def __init__(self, _options: dict[str, Any]) -> None:
        pass

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
    group.addoption("--inject-limit", type=int, default=0, help="run so many tests, chosen by chance")
    group.addoption("--inject-seed", type=int, default=1)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    options = early_config.known_args_namespace
    if not options.inject:
        return
    plan = json.loads(Path(options.inject_plan).read_text()) if options.inject_plan else {}
    sample = (options.inject_limit, options.inject_seed)
    injector = Injector(sample, plan, Path(options.inject_out).resolve())
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
