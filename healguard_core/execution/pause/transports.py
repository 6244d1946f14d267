"""Exceptions that are stored in one place and raised again in another: asyncio's tasks. Standard library only."""

import sys
from types import AsyncGeneratorType, CoroutineType, FrameType, FunctionType, GeneratorType
from typing import Any, Callable, List, NamedTuple, Optional

from . import names
from .passage import Passage, passes, swallows, unsure

_COROUTINE = 0x80 | 0x100
_GENERATOR = 0x20
_MAX_TASKS = 10
_ASYNCIO = ("asyncio.events", "asyncio.tasks", "asyncio.base_events", "asyncio.taskgroups")


class Landing(NamedTuple):
    """Where a stored exception comes out: in ``frame`` (whose handlers do not matter), as ``cls``."""

    frame: FrameType
    cls: Optional[type]


Through = Callable[[FrameType, Optional[type]], Passage]


def landing(callee: FrameType, caller: FrameType, cls: Optional[type], through: Through) -> Any:
    """A `Landing`, or the `Passage` that ends the search.

    ``caller`` is a frame that stores what ``callee`` raises.
    """
    if dict.get(caller.f_globals, "__name__") not in _ASYNCIO:
        return unsure("{} stores it for somebody else".format(caller.f_code.co_name))
    if not callee.f_code.co_flags & (_COROUTINE | _GENERATOR):
        return swallows("the event loop only reports errors of callbacks")
    task = _current_task()
    if task is None or _frame_of(_coroutine(task)) is not callee:
        return unsure("which task this is, is not known")
    for _ in range(_MAX_TASKS):
        runner = _runner_of(caller, task)
        if runner is not None:
            return Landing(runner, cls)
        waiter = _waiter(task)
        if waiter is None:
            return unsure("who awaits the task is not known")
        task = waiter
        result = _through_chain(_coroutine(task), cls, through)
        if result.way != "passes":
            return result
        cls = result.cls
    return unsure("too many tasks await each other")


def starts_task(callee: FrameType, caller: FrameType) -> bool:
    """Whether ``caller`` is asyncio creating a task that begins to run at once (an eager task)."""
    return bool(callee.f_code.co_flags & _COROUTINE and not caller.f_code.co_flags & _COROUTINE) and dict.get(
        caller.f_globals, "__name__") in _ASYNCIO


def _current_task() -> Any:
    tasks = sys.modules.get("asyncio.tasks")
    try:
        return None if tasks is None else tasks.current_task()
    except RuntimeError:
        return None


def _coroutine(task: Any) -> Any:
    tasks = sys.modules["asyncio.tasks"]
    return tasks.Task.get_coro(task) if names.derives(type(task), tasks.Task) else None


def _frame_of(coroutine: Any) -> Optional[FrameType]:
    if type(coroutine) is CoroutineType:
        return coroutine.cr_frame
    return coroutine.gi_frame if type(coroutine) is GeneratorType else None


def _runner_of(frame: Optional[FrameType], task: Any) -> Optional[FrameType]:
    """The frame of ``run_until_complete`` that waits for ``task``."""
    while frame is not None:
        if frame.f_code.co_name == "run_until_complete" and names.local_value(frame, "future") is task:
            return frame
        frame = frame.f_back
    return None


def _waiter(task: Any) -> Any:
    """The one task that awaits ``task``, directly or through ``gather``; None if there are several or others."""
    tasks = sys.modules["asyncio.tasks"]
    callbacks = tasks.Task._callbacks.__get__(task) if hasattr(tasks.Task, "_callbacks") else None
    if type(callbacks) is not list or len(callbacks) != 1:
        return None
    callback = callbacks[0][0] if type(callbacks[0]) is tuple else callbacks[0]
    if type(callback) is FunctionType:
        return _gathering(callback)
    owner = getattr(callback, "__self__", None) if type(callback).__module__ in ("builtins", "_asyncio") else None
    return owner if names.derives(type(owner), tasks.Task) else None


def _gathering(callback: Any) -> Any:
    if "gather.<locals>._done_callback" not in callback.__qualname__ or not callback.__closure__:
        return None
    cells = dict(zip(callback.__code__.co_freevars, callback.__closure__))  # noqa: B905 - Python 3.8
    try:
        if cells["return_exceptions"].cell_contents is not False:
            return None
        outer = cells["outer"].cell_contents
    except (KeyError, ValueError):
        return None
    callbacks = sys.modules["asyncio.futures"].Future._callbacks.__get__(outer)
    if type(callbacks) is not list or len(callbacks) != 1:
        return None
    owner = getattr(callbacks[0][0], "__self__", None)
    return owner if names.derives(type(owner), sys.modules["asyncio.tasks"].Task) else None


def _through_chain(coroutine: Any, cls: Optional[type], through: Through) -> Passage:
    """Through the suspended frames of a coroutine, from the innermost await outward."""
    frames: List[FrameType] = []
    while coroutine is not None:
        if type(coroutine) is CoroutineType:
            frame, inner = coroutine.cr_frame, coroutine.cr_await
        elif type(coroutine) is GeneratorType:
            frame, inner = coroutine.gi_frame, coroutine.gi_yieldfrom
        elif type(coroutine) is AsyncGeneratorType:
            frame, inner = coroutine.ag_frame, coroutine.ag_await
        elif type(coroutine).__module__ == "_asyncio":
            break
        else:
            return unsure("what a task awaits is not known")
        if frame is None:
            return unsure("a task's frame is not known")
        frames.append(frame)
        coroutine = inner
    result = passes(cls)
    for frame in reversed(frames):
        result = through(frame, result.cls)
        if result.way != "passes":
            return result
    return result


def greenlet_above() -> bool:
    """Whether this stack belongs to a greenlet, whose errors come out in another one."""
    module = sys.modules.get("greenlet")
    current = getattr(module, "getcurrent", None)
    return current is not None and getattr(current(), "parent", None) is not None
