"""Documents that are written and read again: JSON and pickles keep the marks of their parts. May import call.

What was written is noted beside the text, which is a fresh object, and only as long as that very object is read again.
Whoever reads another text, or one that a heal touched since, gets the mark of the whole.
"""

import sys
from typing import Any, Dict, Iterator, NamedTuple, Optional, Tuple

from healguard_core.execution.guard.kinds import Kinds
from healguard_core.execution.tracking.heap import KEY, Heap, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import After, NativeCall, Summary, visible

_MOST_PARTS = 20000
_CONTAINERS = Kinds(dict, list, tuple)
_STEPS = Kinds(str, int, tuple)
Path = Tuple[Any, ...]


class Document(NamedTuple):
    """The marks of the parts of what was written, by path; ``whole`` is their union."""

    parts: Dict[Path, Mark]
    whole: Mark


def _walk(heap: Heap, value: Any, mark: Optional[Mark], path: Path, found: Dict[Path, Mark], met: Any) -> bool:
    """Note the marks under ``value``; False where the document cannot be told apart into parts."""
    if type(value) not in _CONTAINERS:
        mark = join(mark, heap.reach(value))
    if mark is not None:
        found[path] = mark
    if type(value) not in _CONTAINERS:
        return True
    if len(found) > _MOST_PARTS or any(value is one for one in met):
        return False
    for step, slot, one in _parts(value):
        if type(step) not in _STEPS:
            return False  # what such a key becomes depends on the kind of document
        if not _walk(heap, one, heap.get(value, slot), path + (step,), found, met + (value,)):
            return False
    return True


def _parts(value: Any) -> Iterator[Tuple[Any, Any, Any]]:
    """The parts of a container: a step, the slot, and what is there. A key itself is the step ``(key,)``."""
    if type(value) is dict:
        for key, one in list(value.items()):
            yield (key,) if type(key) is str else None, KEY(key), key
            yield key, item(key), one
    else:
        for number, one in enumerate(value):
            yield number, item(number), one


def note(call: NativeCall, value: Any, mark: Optional[Mark], text: Any) -> None:
    """``text`` is the document that was written about ``value``."""
    found: Dict[Path, Mark] = {}
    if _walk(call.heap, value, mark, (), found, ()) and found:
        whole = join(*found.values())
        if whole is not None:
            call.heap.set_note(text, Document(found, whole))


def read(call: NativeCall, text: Any, mark: Optional[Mark], result: Any) -> Optional[Mark]:
    """The mark of ``result``, which was read from ``text``; its parts get theirs in the heap."""
    known = call.heap.note(text)
    if mark is None or not isinstance(known, Document) or mark.heals != known.whole.heals or call.returned:
        return join(mark, visible(call.heap, text), *call.returned)
    _spread(call.heap, result, (), known.parts)
    return known.parts.get(())


def _spread(heap: Heap, value: Any, path: Path, parts: Dict[Path, Mark]) -> None:
    if type(value) not in _CONTAINERS:
        return
    for step, slot, one in _parts(value):
        heap.put(value, slot, parts.get(path + (step,)))
        _spread(heap, one, path + (step,), parts)


# --------------------------------------------------------------------------- JSON


def _json_written(call: NativeCall, result: Any) -> Optional[Mark]:
    """The C encoder gives the text as the only piece of it; joining one piece gives that piece."""
    mark = join(call.visible(), *call.returned)
    if mark is not None and call.args and not call.returned and isinstance(result, (list, tuple)) and len(result) == 1:
        note(call, call.args[0], call.marks[0], result[0])
    return mark


def _json_read(call: NativeCall, result: Any) -> Optional[Mark]:
    """The C scanner gives the value and where it ends."""
    text, mark = call.argument(0, "string"), call.mark(0, "string")
    if type(result) is not tuple or len(result) != 2:
        return join(mark, *call.returned)
    found = read(call, text, mark, result[0])
    if found is not None:
        call.heap.put(result, item(0), found)
    end = join(mark, call.mark(1, "idx"))
    if end is not None:
        call.heap.put(result, item(1), end)
    return call.callee_mark


# --------------------------------------------------------------------------- pickles


def _pickled(call: NativeCall, result: Any) -> Optional[Mark]:
    mark = join(call.visible(), call.heap.reach(call.argument(0, "obj", None)), *call.returned)
    if mark is not None and call.args and not call.returned:
        note(call, call.args[0], call.marks[0], result)
    return mark


def _unpickled(call: NativeCall, result: Any) -> Optional[Mark]:
    return join(call.callee_mark, read(call, call.argument(0, "data"), call.mark(0, "data"), result))


_JSON: Dict[str, Summary] = {"Encoder": After(_json_written), "Scanner": After(_json_read)}
_PICKLE: Dict[str, Summary] = {"dumps": After(_pickled), "loads": After(_unpickled)}


def find(callee: Any) -> Optional[Summary]:
    """The summary of the C functions of json and pickle, once they have been imported; None for others."""
    name = type(callee).__name__
    if name in _JSON and type(callee).__module__ == "_json":
        return _JSON[name]
    pickle = sys.modules.get("_pickle")
    if pickle is not None and getattr(callee, "__self__", None) is pickle:
        return _PICKLE.get(callee.__name__)
    return None
