"""Objects of C types that keep what they are given: buffers, files, queues, variables of contexts, references.

May import iterating. Where such an object tells nothing about positions, it is one location.
"""

import _thread
import asyncio.events
import contextvars
import io
import queue
import types
import weakref
from typing import Any, Optional

from healguard_core.execution.guard.callables import MISSING, class_entry
from healguard_core.execution.tracking.heap import CONTENT, ELEMENTS, attribute
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives import elements
from healguard_core.execution.tracking.natives.call import NOTHING, SHALLOW, After, NativeCall, entry, visible
from healguard_core.execution.tracking.natives.elements import Ahead, Flow, ahead, last, referents
from healguard_core.execution.tracking.natives.lookup import TABLE, is_python_callable
from healguard_core.execution.tracking.natives.pure import buffers
from healguard_core.execution.tracking.slots import same

_FILES = tuple(
    getattr(io, name) for name in (
        "StringIO", "BytesIO", "TextIOWrapper", "BufferedReader", "BufferedWriter", "BufferedRandom", "BufferedRWPair",
        "FileIO",
    )
)
_BASES = tuple({base for kind in _FILES for base in kind.__mro__[1:-1]})
_WRITES = ("write", "writelines")
_READS = ("read", "read1", "readall", "readline", "readlines", "getvalue", "getbuffer", "peek", "__next__", "__iter__",
          "detach")
_TESTS = ("seek", "tell", "close", "flush", "fileno", "isatty", "readable", "writable", "seekable", "__enter__",
          "__exit__", "reconfigure", "__del__")


def _given(call: NativeCall) -> Optional[Mark]:
    return join(*call.marks, *call.named_marks.values(), *call.returned,
                *[visible(call.heap, value) for value in call.args])


def _written(call: NativeCall, _result: Any) -> Optional[Mark]:
    mark = _given(call)
    for layer in _layers(call.receiver):
        call.store(layer, ELEMENTS, mark)
    return None


def _layers(stream: Any) -> Any:
    """A file and the buffers under it."""
    yield stream
    for _ in range(4):
        under = None
        for one in referents(stream):
            if isinstance(one, _FILES):
                under = one
        if under is None:
            return
        yield under
        stream = under


def _read(call: NativeCall, _result: Any) -> Optional[Mark]:
    under = [call.heap.get(layer, ELEMENTS) for layer in _layers(call.receiver)]
    into = [value for value in call.args if isinstance(value, (bytearray, memoryview))]
    mark = join(call.callee_mark, call.receiver_mark, *under, *call.returned)
    for value in into:
        for buffer in buffers(value):
            call.store(buffer, ELEMENTS, mark)
    return mark


def _truncated(call: NativeCall, _result: Any) -> Optional[Mark]:
    if call.args and call.args[0] == 0 and call.marks[0] is None and call.ambient is None:
        call.heap.clear(call.receiver)
    return None


def _register_files() -> None:
    for kind in _FILES + _BASES:
        TABLE.rule(*entry(kind, *_WRITES))(_written)
        TABLE.rule(*entry(kind, *_READS, "readinto", "readinto1"))(_read)
        TABLE.rule(*entry(kind, "truncate"))(_truncated)
        TABLE.add(NOTHING, *entry(kind, *_TESTS))


_register_files()


@TABLE.rule(*_FILES)
def _make_file(call: NativeCall, result: Any) -> Optional[Mark]:
    if isinstance(result, (io.StringIO, io.BytesIO)):
        call.heap.add(result, ELEMENTS, join(_given(call), call.ambient))
        return call.callee_mark
    return call.shallow()


@TABLE.rule(*[found for kind in (io.StringIO, io.BytesIO) for found in entry(kind, "__init__")])
def _init_file(call: NativeCall, _result: Any) -> Optional[Mark]:
    call.heap.clear(call.receiver)
    call.heap.add(call.receiver, ELEMENTS, join(_given(call), call.ambient))
    return None


TABLE.add(SHALLOW, open)


def _file_ahead(heap: Any, stream: Any, mark: Optional[Mark]) -> Ahead:
    return Ahead(None, rest=join(mark, *[heap.get(layer, ELEMENTS) for layer in _layers(stream)]))


def _file_last(heap: Any, stream: Any, mark: Optional[Mark], value: Any, _returned: Any) -> Flow:
    return Flow(value, join(mark, *[heap.get(layer, ELEMENTS) for layer in _layers(stream)]))


for _kind in _FILES:
    elements.known(_kind, _file_ahead, _file_last)


@TABLE.rule(print)
def _print(call: NativeCall, _result: Any) -> Optional[Mark]:
    target = call.kwargs.get("file")
    if isinstance(target, _FILES) and not is_python_callable(class_entry(type(target), "write")):
        for layer in _layers(target):
            call.store(layer, ELEMENTS, join(*call.marks, call.named_marks.get("sep"), call.named_marks.get("end"),
                                             *call.returned, *[visible(call.heap, value) for value in call.args]))
    return None


# --------------------------------------------------------------------------- csv


def csv_rule(callee: Any) -> Any:
    """The summary of the C parts of `csv`, once they are imported; None for other callables."""
    if type(callee) is types.MethodDescriptorType:
        owner: Any = callee.__objclass__
        named = type.__getattribute__(owner, "__module__"), type.__getattribute__(owner, "__name__")
        return _ROWS if named == ("_csv", "writer") and callee.__name__ in ("writerow", "writerows") else None
    if isinstance(callee, types.BuiltinFunctionType) and isinstance(callee.__self__, types.ModuleType):
        return _READER if (callee.__self__.__name__, callee.__name__) == ("_csv", "reader") else None
    return None


def _writes_row(call: NativeCall, _result: Any) -> Optional[Mark]:
    mark = _given(call)
    for one in referents(call.receiver):
        target = one.__self__ if isinstance(one, types.BuiltinMethodType) else None
        if isinstance(target, _FILES):
            for layer in _layers(target):
                call.store(layer, ELEMENTS, mark)
    return None


def _makes_reader(call: NativeCall, result: Any) -> Optional[Mark]:
    call.heap.add(result, ELEMENTS, join(*call.marks, *call.named_marks.values()))
    elements.known(type(result), _csv_ahead, _csv_last)
    return call.callee_mark


def _csv_source(reader: Any) -> Any:
    for one in referents(reader):
        if hasattr(type(one), "__next__"):
            return one
    return MISSING


def _csv_ahead(heap: Any, reader: Any, mark: Optional[Mark]) -> Ahead:
    source = _csv_source(reader)
    found = join(mark, heap.get(reader, ELEMENTS))
    if source is MISSING:
        return Ahead(None, rest=join(found, heap.reach(reader)))
    return Ahead(None, rest=ahead(heap, source, found).union())


def _csv_last(heap: Any, reader: Any, mark: Optional[Mark], value: Any, returned: Any) -> Flow:
    """A row that spans several lines carries what the iterator has given since the row before."""
    source, found = _csv_source(reader), join(mark, heap.get(reader, ELEMENTS))
    lines, seen = reader.line_num, heap.note(reader)
    heap.set_note(reader, lines)
    if source is MISSING or (seen is not None and lines - seen > 1) or (seen is None and lines > 1):
        return Flow(value, join(found, heap.reach(reader), *returned))
    return Flow(value, last(heap, source, found, MISSING, returned).union())


_ROWS, _READER = After(_writes_row), After(_makes_reader)


# --------------------------------------------------------------------------- queues, contexts, references, locks


_Simple: Any = queue.SimpleQueue


@TABLE.rule(*entry(_Simple, "put", "put_nowait"))
def _put(call: NativeCall, _result: Any) -> Optional[Mark]:
    call.store(call.receiver, ELEMENTS, call.mark(0, "item"))
    return None


@TABLE.rule(*entry(_Simple, "get", "get_nowait"))
def _get(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(call.receiver_mark, call.heap.get(call.receiver, ELEMENTS))


TABLE.add(NOTHING, *entry(_Simple, "qsize", "empty"))
TABLE.rule(_Simple)(lambda call, result: call.callee_mark)


@TABLE.rule(*entry(contextvars.ContextVar, "set"))
def _set_variable(call: NativeCall, result: Any) -> Optional[Mark]:
    """Contexts cannot be told apart from outside, but what they hold can: a mark goes with the very object."""
    value, mark = call.args[0], join(call.marks[0], call.ambient)
    slot, before = same(value), call.heap.get(call.receiver, same(value))
    if before is not None:
        call.heap.put(result, CONTENT, before)
    if mark is not None or _alone():
        call.heap.put(call.receiver, slot, mark)
    return call.callee_mark


def _alone() -> bool:
    """Whether no other task or thread can have the same object in the same variable."""
    return asyncio.events._get_running_loop() is None and _thread._count() <= 1


@TABLE.rule(*entry(contextvars.ContextVar, "get"))
def _get_variable(call: NativeCall, result: Any) -> Optional[Mark]:
    mark = join(call.callee_mark, call.receiver_mark, call.heap.get(call.receiver, same(result)))
    if call.args and result is call.args[0]:
        mark = join(mark, call.marks[0])
    return join(mark, call.heap.get(call.receiver, attribute("default")))


@TABLE.rule(*entry(contextvars.Context, "get", "__getitem__"), reads=True)
def _get_of_context(call: NativeCall, result: Any) -> Optional[Mark]:
    mark = join(call.receiver_mark, call.marks[0], call.heap.get(call.args[0], same(result)))
    return join(mark, call.marks[1]) if len(call.args) > 1 and result is call.args[1] else mark


@TABLE.rule(*entry(contextvars.Context, "values", "items"), reads=True)
def _values_of_context(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(call.receiver_mark, *[call.heap.any(variable) for variable in contextvars.Context.keys(call.receiver)])


@TABLE.rule(*entry(contextvars.ContextVar, "reset"))
def _reset_variable(call: NativeCall, _result: Any) -> Optional[Mark]:
    token, heap = call.args[0], call.heap
    before = join(heap.get(token, CONTENT), call.ambient)
    if before is not None and token.old_value is not contextvars.Token.MISSING:
        heap.add(call.receiver, same(token.old_value), before)
    return None


@TABLE.rule(contextvars.ContextVar)
def _make_variable(call: NativeCall, result: Any) -> Optional[Mark]:
    default = call.named_marks.get("default")
    if default is not None:
        call.heap.put(result, attribute("default"), default)
    return call.callee_mark


TABLE.add(NOTHING, contextvars.copy_context,
          *entry(contextvars.Context, "copy", "keys", "__iter__", "__len__", "__contains__"))


@TABLE.rule(weakref.ref, *entry(weakref.ref, "__new__", "__init__"))
def _make_reference(call: NativeCall, _result: Any) -> Optional[Mark]:
    return call.shallow()


@TABLE.kind(weakref.ref, weakref.WeakMethod)
def _dereferenced(call: NativeCall, _result: Any) -> Optional[Mark]:
    return join(call.callee_mark, *call.returned)


TABLE.add(SHALLOW, weakref.proxy)

_LOCKS = (_thread.LockType, _thread.RLock)
for _kind in _LOCKS:
    TABLE.add(NOTHING, *entry(
        _kind, "acquire", "release", "locked", "__enter__", "__exit__", "acquire_lock", "release_lock", "_is_owned",
        "_release_save", "_acquire_restore", "__repr__",
    ))
TABLE.add(NOTHING, _thread.allocate_lock, _thread.RLock, _thread.get_ident, _thread.start_new_thread)
