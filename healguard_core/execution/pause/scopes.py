"""The variables of a paused frame: reading, running heal code over them, writing. May import flow, heal_code, slots.

Two kinds of scope. A function's variables live in slots and cells; heal code becomes a function nested in it. At module
level, in class bodies and under ``exec`` they live in a mapping; heal code runs over that mapping.
"""

import ctypes
import sys
from collections.abc import MutableMapping
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any, Callable, Dict, FrozenSet, Iterable, Iterator, List, Optional, Set, Union

from healguard_core.execution.pause import flow as flows
from healguard_core.execution.pause import slots
from healguard_core.execution.pause.heal_code import CONTROLS, Parsed, compile_function, compile_module

_PROXY = sys.version_info >= (3, 13)  # frame.f_locals writes through
_exec = exec


class _Unbound:
    """Stands for "no value" in snapshots, and for a deleted extra name where a proxy cannot forget names (3.13)."""

    def __repr__(self) -> str:
        return "<deleted by a heal>"


UNBOUND = _Unbound()


class Places:
    """Bindings that a heal may change while it runs: what they were before, what they are now."""

    def __init__(self, names: Iterable[str], get: Callable[[str], Any], put: Callable[[str, Any], None]) -> None:
        self.get = get
        self.put = put
        self.before = {name: get(name) for name in names}

    def changed(self) -> Dict[str, Any]:
        """Name to new value, `UNBOUND` for deleted ones."""
        now = {name: self.get(name) for name in self.before}
        return {name: value for name, value in now.items() if value is not self.before[name]}

    def undo(self) -> None:
        """Bind every name as before."""
        for name, value in self.before.items():
            if self.get(name) is not value:
                self.put(name, value)


def _in_mapping(mapping: Any, names: Iterable[str]) -> Places:
    def get(name: str) -> Any:
        try:
            return mapping[name]
        except KeyError:
            return UNBOUND

    return Places(names, get, lambda name, value: put_item(mapping, name, value))


def put_item(mapping: Any, name: str, value: Any) -> None:
    """Bind ``name`` in ``mapping``; `UNBOUND` deletes it."""
    if value is not UNBOUND:
        mapping[name] = value
    elif name in mapping:
        del mapping[name]


def cell_value(cell: CellType) -> Any:
    """What a cell holds, `UNBOUND` when it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def put_cell(cell: CellType, value: Any) -> None:
    """Let a cell hold ``value``; `UNBOUND` empties it."""
    if value is not UNBOUND:
        cell.cell_contents = value
    elif cell_value(cell) is not UNBOUND:
        del cell.cell_contents


class Attempt:
    """One run of heal code over a scope: ``call`` runs it, ``locals`` and ``globals`` say what it bound."""

    def __init__(self, call: Callable[[], Any], local: Places, global_: Places) -> None:
        self.call = call
        self.locals = local
        self.globals = global_

    def undo(self) -> None:
        """Put back every binding that running the code has changed."""
        self.locals.undo()
        self.globals.undo()


# --------------------------------------------------------------------------- functions


class FunctionScope:
    """The variables of a function's frame (plain, generator, coroutine, lambda)."""

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame
        self._code = frame.f_code
        self._cells = slots.real_cells(frame)

    def read(self) -> Dict[str, Any]:
        """Every bound variable by name, names that earlier heals added included."""
        values = dict(self._frame.f_locals)
        return {name: value for name, value in values.items() if value is not UNBOUND and name.isidentifier()}

    def attempt(self, parsed: Parsed) -> Attempt:
        """Prepare a run of ``parsed``. Changes nothing yet."""
        frame, names, values = self._frame, parsed.names, self.read()
        assigned = (names.plain | names.passing) - names.asked_global
        variables = self._variables(values, assigned) - names.asked_global
        to_globals = {name for name in names.plain - variables if name in frame.f_globals}
        to_globals = (to_globals | names.asked_global).difference(CONTROLS)
        free = (variables | assigned) - to_globals
        cells = {name: self._cell(name, values) for name in free}
        code = self._code
        first = values.get(code.co_varnames[0]) if code.co_argcount else None
        if "__class__" not in cells and first is not None:
            owner = _class_with(code, first)
            if owner is not None:
                cells["__class__"] = CellType(owner)
        compiled = compile_function(parsed, cells, to_globals, first is not None)
        closure = tuple(cells[name] for name in compiled.co_freevars)
        heal = FunctionType(compiled, frame.f_globals, "<heal>", None, closure)
        return Attempt(
            (lambda: heal(first)) if first is not None else heal,
            Places(free, lambda name: cell_value(cells[name]), lambda name, value: put_cell(cells[name], value)),
            _in_mapping(frame.f_globals, to_globals),
        )

    def _variables(self, values: Dict[str, Any], assigned: FrozenSet[str]) -> Set[str]:
        """The names that mean a variable of the frame, not a global one.

        A name that only an inlined comprehension binds has a slot of the frame and yet means the global elsewhere.
        """
        found = {name for name in slots.slot_names(self._code) if name.isidentifier()}
        for name in slots.own_name_of_comprehension(self._code) - set(values):
            if name not in assigned or name in self._code.co_names:
                found.discard(name)
        return found | set(values)

    def _cell(self, name: str, values: Dict[str, Any]) -> CellType:
        real = self._cells.get(name)
        if real is not None and name not in CONTROLS:
            return real
        return CellType(values[name]) if name in values else CellType()

    def refusal(self, name: str) -> str:
        """Why variable ``name`` cannot be unbound in the running frame, "" when it can."""
        code = self._code
        if name in self._cells or name not in slots.slot_names(code) or sys.version_info < (3, 12):
            return ""
        if slots.available() and not flows.reads_unchecked(code, name, self._frame.f_lasti):
            return ""
        return (
            "local variable {0!r} cannot be deleted here: {1}:{2} {3} reads it without looking whether it is bound. "
            "Assign None to it instead, or leave it".format(name, code.co_filename, code.co_firstlineno, code.co_name)
        )

    def write(self, changed: Dict[str, Any]) -> None:
        """Bind the names of ``changed`` in the running frame, `UNBOUND` deletes; `refusal` has been asked."""
        rest = {}
        for name, value in changed.items():
            if name in self._cells:
                put_cell(self._cells[name], value)
            else:
                rest[name] = value
        if rest:
            mirror = self._frame.f_locals  # read once: up to 3.12 a second reading drops what was not pushed yet
            (_write_through if _PROXY else _write_mirror)(self._frame, mirror, rest)


def _write_through(frame: FrameType, proxy: Any, changed: Dict[str, Any]) -> None:
    known = slots.slot_names(frame.f_code)
    for name, value in changed.items():
        if value is UNBOUND and name in known:
            slots.unbind(frame, name)
        else:
            proxy[name] = value  # an extra name cannot be taken out of a proxy: `UNBOUND` marks it


def _write_mirror(frame: FrameType, mirror: Dict[str, Any], changed: Dict[str, Any]) -> None:
    known = slots.slot_names(frame.f_code)
    unbind = [name for name, value in changed.items() if value is UNBOUND]
    by_slot = sys.version_info >= (3, 12)  # there the push below binds None instead of nothing
    for name, value in changed.items():
        put_item(mirror, name, value)
    _push(frame, clear=bool(unbind) and not by_slot)
    if by_slot:
        for name in unbind:
            if name in known:
                slots.unbind(frame, name)


def _push(frame: FrameType, clear: bool) -> None:
    push = ctypes.pythonapi.PyFrame_LocalsToFast
    push.restype = None
    push(ctypes.py_object(frame), ctypes.c_int(clear))


def _class_with(code: CodeType, first: Any) -> Optional[type]:
    """The class whose method ``code`` is, looked up in the classes of its first argument without running any code."""
    for start in (type(first), first):
        if not isinstance(start, type):
            continue
        for owner in type.__dict__["__mro__"].__get__(start):
            for value in type.__dict__["__dict__"].__get__(owner).values():
                if isinstance(value, (staticmethod, classmethod)):
                    value = value.__func__
                elif isinstance(value, property):
                    value = value.fget
                if isinstance(value, FunctionType) and value.__code__ is code:
                    return owner  # type: ignore[no-any-return]
    return None


# --------------------------------------------------------------------------- modules, class bodies, exec


class Overlay(MutableMapping):  # type: ignore[type-arg]
    """A class body's namespace as heal code sees it: writes stay here, reads fall through to the real one."""

    def __init__(self, base: Any, cells: Dict[str, CellType]) -> None:
        self._base = base
        self._cells = cells
        self._own: Dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value = self._own.get(name, self)
        if value is self:
            try:
                return self._base[name]
            except KeyError:
                value = cell_value(self._cells[name])
        if value is UNBOUND:
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        self._own[name] = value

    def __delitem__(self, name: str) -> None:
        self[name]
        self._own[name] = UNBOUND

    def __iter__(self) -> Iterator[str]:
        names = list(self._base) + [name for name in self._own if name not in self._base]
        names += [name for name in self._cells if name not in names]
        return iter([name for name in names if name in self])

    def __len__(self) -> int:
        return len(list(iter(self)))


class MappingScope:
    """The names at module level, in a class body, or in code run by ``exec``."""

    def __init__(self, frame: FrameType) -> None:
        self._globals = frame.f_globals
        self._names = frame.f_locals  # the live namespace itself, on every version
        self._cells = slots.real_cells(frame)

    def read(self) -> Dict[str, Any]:
        """Every name of the namespace, free variables of an enclosing function included."""
        values = {name: cell_value(cell) for name, cell in self._cells.items()}
        values = {name: value for name, value in values.items() if value is not UNBOUND}
        values.update(self._names)
        return values

    def attempt(self, parsed: Parsed) -> Attempt:
        """Prepare a run of ``parsed``. Changes nothing yet."""
        names = parsed.names
        code = compile_module(parsed)
        assigned = (names.plain | names.passing) - names.asked_global
        space: Any = self._globals if self._names is self._globals else Overlay(self._names, self._cells)
        return Attempt(
            lambda: _exec(code, self._globals, space),
            _in_mapping(space, assigned),
            _in_mapping(self._globals, names.asked_global),
        )

    def refusal(self, _name: str) -> str:
        """Names of a namespace can always be deleted."""
        return ""

    def write(self, changed: Dict[str, Any]) -> None:
        """Bind the names of ``changed``; `UNBOUND` deletes."""
        for name, value in changed.items():
            put_item(self._names, name, value)


Scope = Union[FunctionScope, MappingScope]


def scope_of(frame: FrameType) -> Scope:
    """The scope that heal code of ``frame`` runs in."""
    return FunctionScope(frame) if frame.f_code.co_flags & 1 else MappingScope(frame)  # 1: CO_OPTIMIZED


def wrote(local: Dict[str, Any], global_: Dict[str, Any]) -> List[str]:
    """Readable locations of changed bindings."""
    found = []
    for prefix, changed in (("", local), ("global ", global_)):
        for name in sorted(changed):
            found.append("{}{}{}".format("del " if changed[name] is UNBOUND else "", prefix, name))
    return found
