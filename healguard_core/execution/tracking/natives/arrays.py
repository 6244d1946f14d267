"""Arrays of numpy, and what compiled packages make of them: coarse, but with their shared memory. May import call.

Views share the memory of the array that they were made from, so an array's marks are those of the array at the end of
its chain of bases. numpy is never imported here.
"""

import sys
import types
from typing import Any, Iterator, Optional

from healguard_core.execution.guard.callables import is_class
from healguard_core.execution.guard.kinds import Kinds
from healguard_core.execution.tracking.heap import WHOLE, Heap
from healguard_core.execution.tracking.labels import Mark, coarse, join
from healguard_core.execution.tracking.natives.call import After, NativeCall, Summary, visible

_WRITES = frozenset((
    "fill", "put", "sort", "partition", "itemset", "resize", "setflags", "setfield", "byteswap", "__setitem__",
    "__delitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__",
    "__ilshift__", "__irshift__", "__iand__", "__ior__", "__ixor__", "__imatmul__", "__setstate__", "at",
))
_WRITING_FUNCTIONS = frozenset(("copyto", "put", "putmask", "place", "fill_diagonal", "put_along_axis", "shuffle"))
_DESCRIPTORS = Kinds(types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
_DEEPEST = 16


def _array_type() -> Any:
    numpy = sys.modules.get("numpy")
    return types.ModuleType.__getattribute__(numpy, "__dict__").get("ndarray", ()) if numpy is not None else ()


def root(value: Any) -> Any:
    """The array whose memory ``value`` shares; other objects as they are."""
    kind = _array_type()
    if not kind:
        return value
    for _ in range(_DEEPEST):
        if not isinstance(value, kind):
            return value
        under = kind.base.__get__(value)
        if under is None or not isinstance(under, kind):
            return value
        value = under
    return value


def content(heap: Heap, value: Any) -> Optional[Mark]:
    """What is in an array, with what is in the objects that it holds."""
    kind = _array_type()
    if not kind or not isinstance(value, kind):
        return visible(heap, value)
    owner = root(value)
    found = join(heap.any(owner), heap.any(value))
    if kind.dtype.__get__(value).hasobject and kind.size.__get__(value) <= 10000:
        found = join(found, *[heap.reach(one) for one in kind.ravel(value).tolist()])
    return found


def _everything(call: NativeCall) -> Optional[Mark]:
    values = (call.receiver,) + tuple(call.args) + tuple(call.kwargs.values())
    inside = [content(call.heap, one) for value in values for one in _flat(value)]
    return join(call.deep(), *inside, *call.returned)


def _flat(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, (list, tuple)):
        yield from value


def _computes(call: NativeCall, result: Any) -> Optional[Mark]:
    """Everything given goes into the result, and into what ``out`` names."""
    mark = coarse(_everything(call))
    out = call.kwargs.get("out")
    for target in _flat(out):
        if isinstance(target, _array_type() or ()):
            call.store(root(target), WHOLE, mark)
    return mark


def _writes(call: NativeCall, result: Any) -> Optional[Mark]:
    mark = coarse(_everything(call))
    target = call.receiver if isinstance(call.receiver, _array_type() or ()) else call.args[0] if call.args else None
    if target is not None:
        call.store(root(target), WHOLE, coarse(call.ambient) if mark is None else mark)
    return mark if result is not None else None


COMPUTES, WRITES = After(_computes, harmless=True), After(_writes)


def find(callee: Any) -> Optional[Summary]:
    """The summary of a callable of numpy; None for others."""
    if "numpy" not in sys.modules:
        return None
    kind: Any = type(callee)
    if kind in _DESCRIPTORS:
        defined_in: Any = callee.__objclass__
        if _of_numpy(defined_in):
            return WRITES if callee.__name__ in _WRITES else COMPUTES
        return None
    if is_class(callee):
        return COMPUTES if _of_numpy(callee) else None
    if isinstance(callee, types.BuiltinFunctionType):
        owner: Any = callee.__self__
        named = owner.__name__ if isinstance(owner, types.ModuleType) else ""
        if not named and owner is not None and _of_numpy(owner if is_class(owner) else type(owner)):
            return WRITES if callee.__name__ in _WRITES | _WRITING_FUNCTIONS else COMPUTES
        if _named_numpy(named or str(getattr(callee, "__module__", ""))):
            return WRITES if callee.__name__ in _WRITING_FUNCTIONS else COMPUTES
        return None
    return COMPUTES if _of_numpy(kind) else None  # ufuncs


def _of_numpy(kind: type) -> bool:
    return _named_numpy(str(type.__getattribute__(kind, "__module__")))


def _named_numpy(name: str) -> bool:
    return name == "numpy" or name.startswith("numpy.")


