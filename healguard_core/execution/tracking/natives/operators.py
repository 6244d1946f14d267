"""The interpreter's operators, as the functions of `operator`, and the callables that module makes. May import lookup.

An operator is what the method of its operands' types does: a Python method's result is followed, a C method has its
own summary.
"""

import operator
import types
from typing import Any, Generator, List, Optional, Sequence, Tuple

from healguard_core.execution.guard.callables import MISSING, class_entry
from healguard_core.execution.tracking.heap import ELEMENTS, item
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.attributes import load, plain_attribute
from healguard_core.execution.tracking.natives.call import NOTHING, SHALLOW, NativeCall, Summary
from healguard_core.execution.tracking.natives.lookup import TABLE, applied
from healguard_core.execution.tracking.natives.pure import buffers

Steps = Generator[None, Any, Optional[Mark]]

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and", "or", "xor")
_UNARY = ("neg", "pos", "abs", "invert", "index")
_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")
_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_SEQUENCES = (list, tuple)


def _function(name: str) -> Any:
    return getattr(operator, name, None) or getattr(operator, name + "_")


def _is_python(value: Any, name: str) -> bool:
    return type(class_entry(type(value), name)) is types.FunctionType


def _method(call: NativeCall, names: Sequence[str]) -> Tuple[Optional[Summary], Optional[NativeCall]]:
    """The summary, and the call, of the first method among ``names`` that the left operand's type has."""
    left = call.args[0]
    for name in names:
        found = class_entry(type(left), name)
        if found is not MISSING:
            summary = TABLE.find(found)
            if summary is None:
                return None, None
            inner = NativeCall(
                call.heap, found, call.args[1:], call.marks[1:], {}, {}, left, call.marks[0], call.callee_mark,
                call.ambient,
            )
            inner.returned, inner.values = call.returned, call.values
            return summary, inner
    return None, None


def _operation(call: NativeCall, names: Sequence[str], reflected: Sequence[str]) -> Steps:
    """A binary operation by one of the methods ``names`` of the left, or ``reflected`` of the right operand."""
    left, right = call.args[0], call.args[1] if len(call.args) > 1 else None
    python = any(_is_python(left, name) for name in names) or any(_is_python(right, name) for name in reflected)
    if isinstance(right, _SEQUENCES) and "__mul__" in names and not isinstance(left, _SEQUENCES):
        call.args, call.marks = call.args[::-1], call.marks[::-1]
    summary, inner = (None, None) if python else _method(call, names)
    if summary is not None and inner is not None:
        summary.before(inner)
    result = yield
    if summary is not None and inner is not None:
        return summary.after(inner, result)
    if python:
        return join(call.callee_mark, *call.returned)
    return call.visible()


def _register_operators() -> None:
    for name in _BINARY:
        dunder, reflected, inplace = "__{}__".format(name), "__r{}__".format(name), "__i{}__".format(name)
        TABLE.rule(_function(name), reads=True)(_steps((dunder,), (reflected,)))
        in_place = getattr(operator, "i" + name, None)
        TABLE.rule(in_place)(_steps((inplace, dunder), (reflected,)))
    for name in _COMPARED:
        TABLE.rule(_function(name), reads=True)(_steps(("__{}__".format(name),), ("__{}__".format(_REFLECTED[name]),)))
    for name in _UNARY:
        TABLE.rule(_function(name), reads=True)(_steps(("__{}__".format(name),), ()))
    TABLE.rule(operator.concat, reads=True)(_steps(("__add__",), ()))
    TABLE.rule(operator.iconcat)(_steps(("__iadd__", "__add__"), ()))


def _steps(names: Sequence[str], reflected: Sequence[str]) -> Any:
    def rule(call: NativeCall) -> Steps:
        return (yield from _operation(call, names, reflected))

    return rule


_register_operators()
TABLE.add(NOTHING, operator.contains)
TABLE.add(SHALLOW, operator.is_, operator.is_not, operator.not_, operator.truth)


def _subscript(name: str) -> Any:
    def rule(call: NativeCall) -> Steps:
        owner = call.args[0]
        if _is_python(owner, name):
            yield
            return join(call.callee_mark, *call.returned)
        summary, inner = _method(call, (name,))
        if summary is None or inner is None:
            result = yield
            if name == "__getitem__":
                return join(call.deep(), *call.returned)
            for buffer in buffers(owner):
                call.heap.add(buffer, ELEMENTS, join(call.shallow(), call.ambient, *call.returned))
            return None if result is None else call.shallow()
        summary.before(inner)
        result = yield
        return summary.after(inner, result)

    return rule


for _name in ("__getitem__", "__setitem__", "__delitem__"):
    TABLE.rule(getattr(operator, _name), reads=_name == "__getitem__")(_subscript(_name))


@TABLE.rule(operator.length_hint, operator.countOf, operator.indexOf)
def _counted(call: NativeCall, _result: Any) -> Optional[Mark]:
    return call.visible()


# --------------------------------------------------------------------------- itemgetter, attrgetter, methodcaller


TABLE.add(SHALLOW, operator.itemgetter, operator.attrgetter, operator.methodcaller)


def _parts(getter: Any) -> Tuple[Any, ...]:
    made: Tuple[Any, ...] = getter.__reduce__()
    return tuple(made[1])


@TABLE.kind(operator.itemgetter)
def _itemgetter(call: NativeCall) -> Steps:
    result = yield
    keys, owner, mark = _parts(call.callee), call.args[0], join(call.callee_mark, call.marks[0])
    results = result if len(keys) > 1 else (result,)
    marks = [_picked(call, owner, mark, key, one) for key, one in zip(keys, results)]
    return _one_or_tuple(call, result, marks)


def _picked(call: NativeCall, owner: Any, mark: Optional[Mark], key: Any, result: Any) -> Optional[Mark]:
    if _is_python(owner, "__getitem__"):
        return join(mark, *call.returned)
    inner = NativeCall(call.heap, operator.getitem, (owner, key), (mark, None), ambient=call.ambient)
    summary, method = _method(inner, ("__getitem__",))
    if summary is None or method is None:
        return join(inner.deep(), *call.returned)
    summary.before(method)
    return summary.after(method, result)


def _one_or_tuple(call: NativeCall, result: Any, marks: List[Optional[Mark]]) -> Optional[Mark]:
    if len(marks) == 1:
        return marks[0]
    for index, mark in enumerate(marks):
        if mark is not None:
            call.heap.put(result, item(index), mark)
    return call.callee_mark


@TABLE.kind(operator.attrgetter)
def _attrgetter(call: NativeCall, result: Any) -> Optional[Mark]:
    names = _parts(call.callee)
    marks = []
    for path in names:
        owner, mark = call.args[0], join(call.callee_mark, call.marks[0])
        for name in path.split("."):
            mark = load(call.heap, owner, mark, name, call.returned)
            owner = plain_attribute(owner, name)
        marks.append(mark)
    return _one_or_tuple(call, result, marks)


@TABLE.kind(operator.methodcaller)
def _methodcaller(call: NativeCall, result: Any) -> Optional[Mark]:
    if call.returned:
        return join(call.callee_mark, *call.returned)
    made: Tuple[Any, ...] = call.callee.__reduce__()
    name, args = (made[1][0], made[1][1:]) if type(made[0]) is type else (made[0].args[0], made[1])
    method = class_entry(type(call.args[0]), name)
    marks = (call.marks[0],) + (call.callee_mark,) * len(args)
    if method is MISSING:
        return join(call.deep(), call.heap.reach(call.callee))
    return applied(call, method, call.callee_mark, (call.args[0],) + tuple(args), marks, result, ())


