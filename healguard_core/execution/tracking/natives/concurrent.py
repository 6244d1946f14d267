"""Futures and tasks of `asyncio`, and calls in a context. May import lookup.

The C types of `asyncio` are known once the program has imported it.
"""

import contextvars
import sys
import types
from typing import Any, Dict, List, Optional

from healguard_core.execution.guard.callables import MISSING, class_entry
from healguard_core.execution.tracking.heap import CONTENT, Heap
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import NOTHING, After, NativeCall, Summary, entry
from healguard_core.execution.tracking.natives.elements import referents
from healguard_core.execution.tracking.natives.lookup import TABLE, applied, is_python_callable


@TABLE.rule(*entry(contextvars.Context, "run"))
def _run(call: NativeCall, result: Any) -> Optional[Mark]:
    """``context.run(f, *args)``; the event loop runs callbacks so, and steps of C tasks."""
    func, mark = call.args[0], call.marks[0]
    task = _task_of(func)
    if task is not None:
        if task.done() and not task.cancelled():
            call.store(task, CONTENT, join(*call.returned[-1:]))
        return None
    if is_python_callable(func):
        return join(call.callee_mark, mark, *call.returned[-1:])
    return applied(call, func, mark, call.args[1:], call.marks[1:], result, call.returned)


def _task_of(func: Any) -> Any:
    """The C task whose step or wake-up ``func`` is, None for other callables."""
    asyncio = sys.modules.get("_asyncio")
    if asyncio is None:
        return None
    kind = type(func)
    if kind.__name__ in ("TaskStepMethWrapper", "TaskWakeupMethWrapper"):
        candidates = referents(func)
    elif isinstance(func, types.BuiltinMethodType):
        candidates = [func.__self__]
    else:
        return None
    found = [one for one in candidates if isinstance(one, asyncio.Task)]
    return found[0] if found else None


def awaited(heap: Heap, iterator: Any) -> Optional[Mark]:
    """The mark of the result that awaiting ``iterator`` (of a future) gives."""
    return join(*[heap.get(one, CONTENT) for one in referents(iterator)])


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
    owners: List[Any] = [asyncio.Future, asyncio.Task]
    if callee in owners:
        return After(lambda call, result: call.callee_mark)
    owner: Any = getattr(callee, "__objclass__", MISSING) if type(callee) in _DESCRIPTORS else MISSING
    if owner in owners and class_entry(owner, callee.__name__) is callee:
        return _RULES.get(callee.__name__, NOTHING)
    if isinstance(callee, types.BuiltinFunctionType) and callee.__self__ is asyncio:
        return NOTHING
    return None


_DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType)
