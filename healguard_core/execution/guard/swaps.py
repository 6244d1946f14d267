"""Protected Python functions stop at their first instruction while a heal runs. May import extent.

For that time a function's code is exchanged for a few instructions that ask who is calling, so every alias, bound
method and callback of the function is covered. When no heal runs the function is exactly what its module made it:
identity, signature, code, tracebacks.
"""

import os
import threading
from types import CodeType, FunctionType
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from healguard_core.execution.guard import extent as extents
from healguard_core.execution.guard.veto import Veto

_FUNCTION = FunctionType

Judge = Callable[[FunctionType, Tuple[Any, ...], Dict[str, Any]], Optional[Veto]]


class _Sentry:
    """What the exchanged code calls; a constant of that code, so no name leads to it."""

    __slots__ = ("_code", "_function", "_judge")

    def __init__(self, function: FunctionType, judge: Judge) -> None:
        self._function = function
        self._code = function.__code__
        self._judge = judge

    def ask(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        function = self._function
        if extents.current() is not None:
            veto = self._judge(function, args, kwargs)
            if veto is not None:
                raise veto
        original = _FUNCTION(
            self._code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        original.__kwdefaults__ = function.__kwdefaults__
        original.__qualname__ = function.__qualname__
        return original(*args, **kwargs)


class _Swapped(NamedTuple):
    function: FunctionType
    before: CodeType
    sentry: CodeType


class Swaps:
    """Exchanges the code of functions while at least one holder wants it."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._lock = threading.RLock()
        self._holders = 0
        self._functions: List[FunctionType] = []
        self._swapped: List[_Swapped] = []

    def add(self, functions: Tuple[FunctionType, ...]) -> None:
        """Guard these as well, at once when a heal is running."""
        with self._lock:
            new = [function for function in functions if not any(function is known for known in self._functions)]
            self._functions.extend(new)
            if self._holders:
                for function in new:
                    self._swap(function)

    def hold(self) -> None:
        """A heal begins."""
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                for function in self._functions:
                    self._swap(function)

    def release(self) -> None:
        """A heal has ended, and with it every thread that it started."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                swapped, self._swapped = self._swapped, []
                for function, before, sentry in swapped:
                    if function.__code__ is sentry:  # else the program has exchanged it itself
                        function.__code__ = before

    def _swap(self, function: FunctionType) -> None:
        before = function.__code__
        sentry = _sentry_code(before, _Sentry(function, self._judge))
        function.__code__ = sentry
        self._swapped.append(_Swapped(function, before, sentry))


_MARK = "@sentry"
_GENERATOR, _COROUTINE, _ITERABLE_COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x100, 0x200
_PLAIN = ("def", "return {}")
_KINDS = {
    _GENERATOR: ("def", "return (yield from {})"),
    _COROUTINE: ("async def", "return await {}"),
    _ASYNC_GENERATOR: ("async def", "async for item in {}: yield item"),
}


def _sentry_code(code: CodeType, sentry: _Sentry) -> CodeType:
    """Code that hands its arguments to ``sentry``; of the same kind as ``code`` and with as many free variables, as
    Python demands.
    """
    free = ["f{}".format(index) for index in range(len(code.co_freevars))]
    kind, body = _KINDS.get(code.co_flags & (_GENERATOR | _COROUTINE | _ASYNC_GENERATOR), _PLAIN)
    text = "def scope({}):\n {} stub(*args, **kwargs):\n  {}\n  {}\n".format(
        ", ".join(free), kind, body.format("'{}'.ask(args, kwargs)".format(_MARK)), ", ".join(free) or "pass"
    )
    module = compile(text, _HERE, "exec", 0, True)
    stub = _inner(_inner(module))
    consts = tuple(sentry if const == _MARK else const for const in stub.co_consts)
    flags = stub.co_flags | code.co_flags & _ITERABLE_COROUTINE
    return stub.replace(co_consts=consts, co_name=code.co_name, co_flags=flags)


_HERE = os.path.join(os.path.dirname(__file__), "<sentry>")


def _inner(code: CodeType) -> CodeType:
    return next(const for const in code.co_consts if isinstance(const, CodeType))
