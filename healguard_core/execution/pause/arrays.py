"""What can be told of numpy and pandas objects by reading their storage. May import static.

Neither package is ever imported, and no Python function of theirs is called: the paused program may be standing in
the middle of one of them. Only C level accessors of exact types are used.
"""

import sys
import types
from typing import Any, List, NamedTuple, Optional, Tuple

from healguard_core.execution.pause import static

_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex", "O": "object", "U": "str", "S": "bytes",
          "M": "datetime64", "m": "timedelta64", "V": "void"}
_SIZED = "iufc"
MOST_ELEMENTS = 8
MOST_COLUMNS = MOST_ELEMENTS

_modules = sys.modules


class Part(NamedTuple):
    """Some elements of an array: ``name`` of the column (or ""), its type, the first elements, how many there are."""

    name: object
    dtype: str
    elements: List[Any]
    size: int


class View(NamedTuple):
    """What to show of an array or frame. ``title`` is plain text, safe as it is."""

    title: str
    parts: List[Part]


def view(value: object) -> Optional[View]:
    """The storage of a numpy or pandas object in parts; None for everything else."""
    cls = type(value)
    ndarray = _numpy("ndarray")
    if ndarray is not None:
        if static.derives(cls, ndarray):
            part = _array_part(value, ndarray, cls is ndarray)
            return View("{} shape={}".format(static.qualified_name(cls), _shape(value, ndarray)), [part])
        generic = _numpy("generic")
        if generic is not None and static.derives(cls, generic) and static.is_compiled(cls):
            element = static.class_dict(generic)["item"](value)
            if not static.derives(type(element), generic):  # a long double stays what it is
                return View(static.qualified_name(cls), [Part("", "", [element], 1)])
            return View(static.qualified_name(cls), [])
    return _pandas_view(value, cls)


def _class(module: str, name: str) -> Any:
    """What an imported module calls ``name``; None when it is not imported or has no such name."""
    loaded = _modules.get(module)
    held = static.instance_dict(loaded) if loaded is not None else None
    return None if held is None else dict.get(held, name)


def _numpy(name: str) -> Optional[type]:
    found = _class("numpy", name)
    return found if type(found) is type and static.is_compiled(found) else None


def _get(cls: type, name: str, value: object) -> Any:
    return static.class_dict(cls)[name].__get__(value)


def _shape(value: object, ndarray: type) -> Tuple[int, ...]:
    shape: Tuple[int, ...] = _get(ndarray, "shape", value)
    return shape


def _dtype(value: object, ndarray: type) -> str:
    dtype = _get(ndarray, "dtype", value)
    base = static.mro(type(dtype))[-2]  # numpy.dtype itself; newer releases have a subclass for every type
    kind, size = str(_get(base, "kind", dtype)), int(_get(base, "itemsize", dtype))
    name = _KINDS.get(kind, kind)
    return "{}{}".format(name, size * 8) if kind in _SIZED else name


def _array_part(value: object, ndarray: type, exact: bool, name: object = "") -> Part:
    size = int(_get(ndarray, "size", value))
    elements: List[Any] = []
    if exact:  # a subclass may be a file that is mapped into memory, or hide some of its elements
        item = static.class_dict(ndarray)["item"]
        elements = [item(value, index) for index in range(min(size, MOST_ELEMENTS))]
    return Part(name, _dtype(value, ndarray), elements, size)


# --------------------------------------------------------------------------- pandas


def _pandas_view(value: object, cls: type) -> Optional[View]:
    ndarray = _numpy("ndarray")
    kind = next((name for name in ("DataFrame", "Series", "Index") if static.derives(cls, _class("pandas", name))), "")
    if not kind or ndarray is None:
        return None
    title = static.qualified_name(cls)
    try:
        if kind == "Index":
            part = _index_part(value, ndarray)
            return View("{} size={}".format(title, part.size), [part])
        return _frame_view(value, title, ndarray) if kind == "DataFrame" else _series_view(value, title, ndarray)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        return View(title, [])  # half built, or stored in a way that is not known here: its type is all there is to say


def _stored(value: object, name: str) -> Any:
    """A field of one of pandas' own storage classes, whose extension types expose theirs as C getters."""
    found = static.attribute(value, name)
    if found is None:
        descriptor = static.class_attribute(type(value), name)
        if type(descriptor) is types.GetSetDescriptorType:
            return descriptor.__get__(value)
    return found


def _index_part(index: object, ndarray: type) -> Part:
    span = static.attribute(index, "_range")
    if type(span) is range:
        return Part("", "range", list(span[:MOST_ELEMENTS]), len(span))
    codes = static.attribute(index, "_codes")
    if codes is not None:
        first = codes[0] if static.derives(type(codes), list) else None
        return Part("", "multi", [], int(_get(ndarray, "size", first)))
    return _values_part(static.attribute(index, "_data"), ndarray)


def _values_part(values: object, ndarray: type, name: object = "", row: Optional[int] = None) -> Part:
    """One column's values: a numpy array (``row`` of it), or an extension array over some."""
    if static.derives(type(values), ndarray):
        if row is not None and len(_shape(values, ndarray)) == 2:
            values = static.class_dict(ndarray)["__getitem__"](values, row)
        return _array_part(values, ndarray, type(values) is ndarray, name)
    kind = static.simple_name(type(values))
    mask, data = _stored(values, "_mask"), _stored(values, "_data")
    if mask is not None and data is not None:
        held, hidden = _array_part(data, ndarray, True), _array_part(mask, ndarray, True)
        shown = [None if hidden.elements[n] else element for n, element in enumerate(held.elements)]
        return Part(name, kind, shown, held.size)
    inner = _stored(values, "_ndarray")
    if inner is not None and static.derives(type(inner), ndarray):
        held = _values_part(inner, ndarray, name, row)
        return Part(name, "{} over {}".format(kind, held.dtype), held.elements, held.size)
    return Part(name, kind, [], 0)


def _series_view(series: object, title: str, ndarray: type) -> View:
    manager = static.attribute(series, "_mgr")
    label = static.attribute(series, "_name")
    part = _values_part(_stored(_stored(manager, "blocks")[0], "values"), ndarray, "" if label is None else label)
    size = _index_part(_stored(manager, "axes")[0], ndarray).size
    return View("{} size={}".format(title, size), [part])


def _frame_view(frame: object, title: str, ndarray: type) -> View:
    manager = static.attribute(frame, "_mgr")
    columns, rows = (_index_part(axis, ndarray) for axis in _stored(manager, "axes"))
    parts: List[Tuple[int, Part]] = []
    for block in _stored(manager, "blocks"):
        values = _stored(block, "values")
        for row, place in enumerate(_places(_stored(block, "_mgr_locs"), ndarray)):
            if place < MOST_COLUMNS:
                name = columns.elements[place] if place < len(columns.elements) else place
                parts.append((place, _values_part(values, ndarray, name, row)))
    parts.sort(key=lambda placed: placed[0])
    return View("{} shape=({}, {})".format(title, rows.size, columns.size), [part for _, part in parts])


def _places(placement: object, ndarray: type) -> List[int]:
    """Which columns a block holds."""
    indexer = _stored(placement, "indexer")
    if type(indexer) is slice:
        return list(range(indexer.start, indexer.stop, indexer.step or 1)[:MOST_COLUMNS])
    return [int(element) for element in _array_part(indexer, ndarray, True).elements]
