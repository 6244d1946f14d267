"""Futures and tasks of `asyncio`, and calls in a context. May import lookup.

The C types of `asyncio` are known once the program has imported it.
"""

import contextvars
import operator
import sys
import types
from typing import Any, Dict, List, Optional

from healguard_core.execution.guard.callables import MISSING, class_entry
from healguard_core.execution.guard.kinds import Kinds
from healguard_core.execution.tracking.heap import CONTENT, Heap
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import NOTHING, After, NativeCall, Summary, entry
from healguard_core.execution.tracking.natives.elements import referents
from healguard_core.execution.tracking.natives.lookup import TABLE, applied, is_python_callable


@TABLE.rule(*entry(contextvars.Context, "run"))
def _run(call: NativeCall, result: Any) -> Optional[Mark]:
    """``context.run(f, *args)``; the event loop runs callbacks so, and steps of C tasks."""
    func, mark = call.args[0], call.marks[0]
    if _is_step(func):
        return None  # the result of the task is noted when its coroutine returns, see `task_result`
    if is_python_callable(func):
        return join(call.callee_mark, mark, *call.returned[-1:])
    return applied(call, func, mark, call.args[1:], call.marks[1:], result, call.returned)


def hands_on(callee: Any) -> int:
    """The position of the argument that calling ``callee`` calls with those after it; -1 for anything else."""
    if callee is _run_in_context:
        return 1
    bound = isinstance(callee, types.BuiltinMethodType) and type(callee.__self__) is contextvars.Context
    return 0 if callee is _call or (bound and callee.__name__ == "run") else -1


_run_in_context = contextvars.Context.run
_call: Any = getattr(operator, "call", MISSING)


def _is_step(func: Any) -> bool:
    """Whether ``func`` is the step or the wake-up of a C task."""
    bound = isinstance(func, types.BuiltinMethodType)
    return (bound or type(func).__name__ == "TaskStepMethWrapper") and is_handle(func)


def task_result(heap: Heap, frame: types.FrameType, mark: Optional[Mark]) -> None:
    """The coroutine of ``frame`` returns a value with ``mark``: where it is a C task's own, that is its result."""
    asyncio, tasks = sys.modules.get("_asyncio"), sys.modules.get("asyncio.tasks")
    if asyncio is None or tasks is None:
        return
    try:
        task = tasks.current_task()
    except RuntimeError:  # no event loop runs in this thread
        return
    if isinstance(task, asyncio.Task):
        coroutine = asyncio.Task.get_coro(task)
        if type(coroutine) is types.CoroutineType and coroutine.cr_frame is frame:
            heap.put(task, CONTENT, mark)


_HANDLES = frozenset((  # the interpreter's own
    "TaskStepMethWrapper", "TaskWakeupMethWrapper", "Task", "Future", "FutureIter", "Context", "coroutine",
    "generator", "async_generator", "async_generator_asend", "async_generator_athrow", "coroutine_wrapper",
))


def is_handle(value: Any) -> bool:
    """Whether ``value`` is one of the interpreter's own objects that only stand for running code: what these carry is
    in their frames and results, not in the reference.
    """
    kind = type(value)
    made_in_c = not kind.__flags__ & 1 << 9 or kind.__module__ in ("_asyncio", "_contextvars")
    if isinstance(value, types.BuiltinMethodType):
        return is_handle(value.__self__)
    return kind.__name__ in _HANDLES and made_in_c


def awaited(iterator: Any) -> List[Any]:
    """The futures whose result awaiting ``iterator`` gives (`CONTENT` has its mark). To be asked before it is over."""
    if type(iterator).__name__ != "FutureIter":
        return []
    return [one for one in referents(iterator) if not isinstance(one, type)]


def _result(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(call.callee_mark, call.receiver_mark, call.heap.get(call.receiver, CONTENT))


def _set(call: NativeCall, _result: Any) -> Optional[Mark]:
    call.store(call.receiver, CONTENT, call.mark(0))
    return None


def _future_iter(call: NativeCall, result: Any) -> Optional[Mark]:
    return call.shallow()


_RULES: Dict[str, Summary] = {
    "result": After(_result, harmless=True),
    "exception": After(_result, harmless=True),
    "set_result": After(_set),
    "set_exception": After(_set),
    "__await__": After(_future_iter, harmless=True),
    "__iter__": After(_future_iter, harmless=True),
}


def find(callee: Any) -> Optional[Summary]:
    """The summary of a method of a C future or task, and of making one; None for other callables."""
    asyncio = sys.modules.get("_asyncio")
    if asyncio is None:
        return None
    owners = Kinds(asyncio.Future, asyncio.Task)
    if callee in owners:
        return After(lambda call, result: call.callee_mark)
    owner: Any = getattr(callee, "__objclass__", MISSING) if type(callee) in _DESCRIPTORS else MISSING
    if owner in owners and class_entry(owner, callee.__name__) is callee:
        return _RULES.get(callee.__name__, NOTHING)
    if isinstance(callee, types.BuiltinFunctionType) and callee.__self__ is asyncio:
        return NOTHING
    return None


_DESCRIPTORS = Kinds(types.MethodDescriptorType, types.WrapperDescriptorType)
