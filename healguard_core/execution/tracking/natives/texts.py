"""Code that is made from text: what it does comes from that text as well. May import lookup.

A code object whose text is marked is marked itself, with all code inside of it; `execution.tracking.calls` has its
frames push marked constants and names.
"""

from types import CodeType
from typing import Any, Optional

from healguard_core.execution.tracking.heap import WHOLE, Heap
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import NativeCall
from healguard_core.execution.tracking.natives.lookup import TABLE


def written(heap: Heap, code: CodeType, mark: Mark) -> None:
    """``code`` was made from a text with ``mark``."""
    heap.add(code, WHOLE, mark)
    for one in code.co_consts:
        if type(one) is CodeType:
            written(heap, one, mark)


@TABLE.rule(compile)
def _compile(call: NativeCall, result: Any) -> Optional[Mark]:
    mark = join(call.mark(0, "source"), call.heap.reach(call.argument(0, "source")))
    if mark is not None and type(result) is CodeType:
        written(call.heap, result, mark)
    return join(mark, call.callee_mark)


@TABLE.rule(exec, eval)
def _run(call: NativeCall, _result: Any) -> Optional[Mark]:
    """The names that it binds, and the value that it gives, are followed in the frame that runs it."""
    return join(call.callee_mark, *call.returned[-1:])


def text_of(call: NativeCall) -> Optional[Mark]:
    """The mark of the text that a running `exec` or `eval` was given."""
    return call.mark(0) if call.callee is exec or call.callee is eval else None
