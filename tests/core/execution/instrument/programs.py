"""Programs for the rewriter's tests: compiled plain or instrumented, run, and compared by what they did."""

import ast
import asyncio
import contextlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

from healguard_core.execution import hooks
from healguard_core.execution.instrument.rewrite import Rewritten, rewrite

FILE = "<program>"


def instrument(source: str) -> Rewritten:
    source = textwrap.dedent(source)
    return rewrite(ast.parse(source, FILE), source)


def compile_instrumented(source: str, *, optimize: int = -1) -> CodeType:
    return compile(instrument(source).tree, FILE, "exec", dont_inherit=True, optimize=optimize)


def compile_plain(source: str, *, optimize: int = -1) -> CodeType:
    return compile(textwrap.dedent(source), FILE, "exec", dont_inherit=True, optimize=optimize)


@contextlib.contextmanager
def answering(caught: hooks.Caught) -> Iterator[None]:
    """Let ``caught`` decide about every error, as the engine does."""
    hooks.install(caught)
    try:
        yield
    finally:
        hooks.disable()


class Recorder:
    """A context manager, plain and async, that writes down how it was left."""

    def __init__(self, log: list[Any], name: Any) -> None:
        self.log = log
        self.name = name

    def __enter__(self) -> "Recorder":
        self.log.append(("enter", self.name))
        return self

    def __exit__(self, kind: Any, value: Any, tb: Any) -> None:
        self.log.append(("exit", self.name, kind))

    async def __aenter__(self) -> "Recorder":
        return self.__enter__()

    async def __aexit__(self, kind: Any, value: Any, tb: Any) -> None:
        self.__exit__(kind, value, tb)


def never(_number: int) -> bool:
    """No call of ``boom`` crashes."""
    return False


def decline(_site: int, _frame: FrameType, _exc: BaseException) -> tuple[()]:
    """Let every error go on."""
    return ()


async def _counting(count: int) -> Any:
    for number in range(count):
        yield number


def run(code: CodeType, call: str = "f", crashing: Callable[[int], bool] = never) -> list[Any]:
    """What the program's function ``call`` did, item by item: its log, then what it returned or raised."""
    log: list[Any] = []
    try:
        log.append(("returned", execute(code, call, log, crashing)))
    except Exception as error:
        log.append(("raised", type(error), error.args, type(error.__context__)))
    return log


def execute(code: CodeType, call: str, log: list[Any], crashing: Callable[[int], bool]) -> Any:
    """What ``call`` returned; generators and coroutines are run to their end."""

    def boom(number: int) -> None:
        log.append(("boom", number))
        if crashing(number):
            raise LookupError(number)

    def recorder(name: Any) -> Recorder:
        return Recorder(log, name)

    namespace: dict[str, Any] = {
        "__name__": "program",
        "log": log.append,
        "boom": boom,
        "recorder": recorder,
        "counting": _counting,
    }
    exec(code, namespace)
    return _finished(namespace[call]()) if call else None


def _finished(result: Any) -> Any:
    if inspect.isgenerator(result):
        return _drain(result)
    if inspect.iscoroutine(result):
        return asyncio.run(result)
    if inspect.isasyncgen(result):
        return asyncio.run(_collected(result))
    return result


def _drain(generator: Any) -> Any:
    yielded = []
    while True:
        try:
            yielded.append(next(generator))
        except StopIteration as stop:
            return yielded, stop.value


async def _collected(generator: Any) -> list[Any]:
    return [item async for item in generator]


def once(answer: Callable[[int, FrameType, BaseException], Any]) -> hooks.Caught:
    """Answer the first error with ``answer`` and decline every other one."""
    asked: list[int] = []

    def caught(site: int, frame: FrameType, exc: BaseException) -> Any:
        if asked or not isinstance(exc, LookupError):
            return ()
        asked.append(site)
        return answer(site, frame, exc)

    return caught
