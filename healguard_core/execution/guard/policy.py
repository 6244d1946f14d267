"""A policy as live objects: which callables and locations it protects, found among the imported modules.

May import callables and groups. Nothing is imported here and no code of the program runs; an entry whose module has
not arrived yet is pending.
"""

import builtins
import difflib
import sys
import types
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from healguard_core.execution.guard import callables, groups
from healguard_core.execution.guard.callables import MISSING, Candidate, class_entry, is_class

_MODULE_DICT = vars(types.ModuleType)["__dict__"].__get__


class Entry(NamedTuple):
    """One protected operation or condition as it was declared.

    ``target`` is the dotted name; ``key`` holds names, positions, ``"*"`` and ``"self"``; ``place`` is ``file:line``.
    ``group`` is the ready-made group that it comes from; ``writes_only`` entries count only when a file is opened for
    writing.
    """

    id: str
    kind: str  # "call" or "condition"
    target: str
    key: Tuple[Any, ...] = ()
    place: str = ""
    group: str = ""
    writes_only: bool = False


class Allow(NamedTuple):
    """Values that may reach an operation all the same: ``when`` is an expression over its parameters."""

    id: str
    when: str
    reason: str = ""


class Operation(NamedTuple):
    """A protected callable that was found.

    ``callee`` is the raw object (function, descriptor or class), ``owner`` the class it was found in. ``functions`` are
    Python functions whose bodies are the operation; ``events`` the audit events that announce it; ``names`` its
    parameters, None where nobody knows them.
    """

    entry: Entry
    callee: Any
    owner: Optional[type]
    functions: Tuple[types.FunctionType, ...]
    events: Tuple[str, ...]
    names: Optional[List[str]]

    @property
    def silent(self) -> bool:
        """Whether neither a Python body nor an audit event announces it."""
        return not self.functions and not self.events

    def applies_to(self, receiver: Any) -> bool:
        """Whether a call with this receiver (`MISSING` for none) is the operation, not one of another class."""
        if self.owner is None or receiver is MISSING:
            return True
        mro = type.__dict__["__mro__"].__get__
        return self.owner in mro(type(receiver)) or (is_class(receiver) and self.owner in mro(receiver))

    def key_of(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
        """The key input of one call; ``args`` begin with the receiver of a method."""
        return callables.key_values(self.names, self.entry.key, args, kwargs)


class Condition(NamedTuple):
    """A location that a security check reads: ``name`` of the module or class ``owner``."""

    entry: Entry
    owner: Any
    name: str


class Policy:
    """Everything that is protected, as far as its modules are imported.

    ``declared`` is the plain JSON that settings made. ``problems`` says which entries name nothing, in words.
    """

    def __init__(self, declared: Dict[str, Any]) -> None:
        self.entries = _entries(declared)
        self.allow = [Allow(item["id"], item["when"], item.get("reason", "")) for item in declared.get("allow", ())]
        self.operations: List[Operation] = []
        self.conditions: List[Condition] = []
        self.problems: List[str] = []
        self.events: Dict[str, Entry] = {}
        self.pending: List[Entry] = list(self.entries)
        self._by_identity: Dict[int, List[Operation]] = {}
        for group in declared.get("include", ()):
            for event in groups.extra_events(group):
                self.events.setdefault(event, Entry("builtin:" + group, "call", event, ("*",), "", group))

    def extended(self, entries: Iterable[Dict[str, Any]]) -> "Policy":
        """This policy and more entries (plain, as in the declaration)."""
        more = Policy({"protect": list(entries)})
        made = Policy({})
        made.entries = self.entries + more.entries
        made.allow = self.allow
        made.events = dict(self.events)
        made.pending = list(made.entries)
        made.resolve()
        return made

    def resolve(self) -> List[Operation]:
        """Look for pending entries among the imported modules. Returns the operations that are new."""
        before = len(self.operations)
        waiting, self.pending = self.pending, []
        for entry in waiting:
            found = find(entry.target)
            if isinstance(found, NotYet):
                self.pending.append(entry)
            elif isinstance(found, Nothing):
                if not entry.group:  # ready-made groups name functions that some platforms lack
                    self.problems.append(_problem(entry, found.why))
            elif entry.kind == "condition":
                self._add_condition(entry, found)
            else:
                self._add_operation(entry, found)
        return self.operations[before:]

    def match(self, callee: Any) -> Optional[Operation]:
        """The operation that calling ``callee`` would be, through whatever it is wrapped in."""
        if not self._by_identity:
            return None
        for layer in callables.layers(callee):
            operation = self._match_layer(layer)
            if operation is not None:
                return operation
        return None

    def _match_layer(self, layer: Candidate) -> Optional[Operation]:
        for operation in self._by_identity.get(id(layer.callee), ()):
            if operation.applies_to(layer.receiver):
                return operation
        if is_class(layer.callee):
            for base in type.__dict__["__mro__"].__get__(layer.callee):
                for operation in self._by_identity.get(id(base), ()):
                    return operation  # making an instance of a subclass makes one of the class
        return None

    # ----------------------------------------------------------------- what was found

    def _add_operation(self, entry: Entry, found: "Found") -> None:
        raw = found.value.__func__ if type(found.value) in (staticmethod, classmethod) else found.value
        if not callable(raw):
            self.problems.append(_problem(entry, "{} cannot be called".format(entry.target)))
            return
        names = callables.parameters(raw)
        wrong = wrong_keys(entry.key, names, found.receiver_counts)
        if wrong and not entry.group:
            self.problems.append(_problem(entry, wrong))
            return
        functions = callables.constructors(raw) if is_class(raw) else callables.python_functions(raw)
        owner = raw if is_class(raw) else found.owner if found.receiver_counts else None
        event = groups.EVENTS.get(entry.target)
        operation = Operation(entry, raw, owner, tuple(functions), (event,) if event else (), names)
        self.operations.append(operation)
        for layer in callables.layers(raw):
            self._by_identity.setdefault(id(layer.callee), []).append(operation)
        if event:
            known = self.events.get(event)
            if known is None or known.writes_only or (known.group and not entry.group):
                self.events[event] = entry

    def _add_condition(self, entry: Entry, found: "Found") -> None:
        self.conditions.append(Condition(entry, found.holder, found.name))


def wrong_keys(key: Iterable[Any], names: Optional[List[str]], receiver_counts: bool) -> str:
    """What is wrong with the key of a callable with these parameters, "" for nothing; unknown ones allow anything."""
    plain = [name.lstrip("*") for name in names or ()]
    open_ended = names is None or any(name.startswith("**") for name in names)
    positions = len(plain) if names is not None and not any(n.startswith("*") for n in names) else sys.maxsize
    for part in key:
        if part == "*":
            continue
        if part == "self":
            if not receiver_counts:
                return "key self: it is no method of a class"
        elif isinstance(part, int):
            if part >= positions - (1 if receiver_counts else 0):
                return "key {}: it has {} parameters".format(part, positions - (1 if receiver_counts else 0))
        elif part not in plain and not open_ended:
            near = difflib.get_close_matches(str(part), plain, 1)
            hint = "did you mean {!r}?".format(near[0]) if near else "its parameters: " + (", ".join(plain) or "none")
            return "key {!r}: there is no such parameter; {}".format(part, hint)
    return ""


def _entries(declared: Dict[str, Any]) -> List[Entry]:
    own = [
        Entry(item["id"], item["kind"], item["target"], tuple(item.get("key", ())), item.get("place", ""))
        for item in declared.get("protect", ())
    ]
    ready = [
        Entry("builtin:" + group, "call", target, tuple(key.split(",")), "", group, target in groups.WRITES_ONLY)
        for group in declared.get("include", ())
        for target, key in groups.GROUPS.get(group, {}).items()
    ]
    return own + ready


def _problem(entry: Entry, why: str) -> str:
    place = entry.place + ": " if entry.place else ""
    return "{}{} {!r} protects nothing: {}".format(place, entry.kind, entry.target, why)


# --------------------------------------------------------------------------- names


class Found(NamedTuple):
    """What a dotted name stands for: the raw entry ``value`` named ``name`` in the module or class ``holder``."""

    value: Any
    holder: Any
    name: str

    @property
    def owner(self) -> Optional[type]:
        """The class it was found in, None in a module."""
        return self.holder if is_class(self.holder) else None

    @property
    def receiver_counts(self) -> bool:
        """Whether a call has a receiver: methods, not static ones or what modules define."""
        return self.owner is not None and type(self.value) is not staticmethod and not is_class(self.value)


class NotYet(NamedTuple):
    """The module has not been imported (or not to its end)."""

    module: str


class Nothing(NamedTuple):
    """There is no such name; ``why`` says so and names the nearest."""

    why: str


def find(target: str) -> Any:
    """`Found`, `NotYet` or `Nothing` for a dotted name. A name without a dot is a builtin."""
    parts = target.split(".")
    if len(parts) == 1:
        parts = ["builtins"] + parts
    module, rest = _longest_module(parts)
    if module is None:
        return NotYet(".".join(parts[:-1]))
    path = ".".join(parts[: len(parts) - len(rest)])
    if not rest:
        return Nothing("{} is a module".format(target))
    value, holder = module, module  # type: Any, Any
    for position, name in enumerate(rest):
        holder, value = value, _member(value, name)
        if value is MISSING:
            if position == 0 and _may_come(module, rest):
                return NotYet(path + "." + name)
            last = position == len(rest) - 1
            if last and is_class(holder) and _set_by_methods(holder, name):
                return Found(MISSING, holder, name)
            return Nothing(_not_there(holder, name))
    return Found(value, holder, rest[-1])


def _longest_module(parts: List[str]) -> Tuple[Optional[types.ModuleType], List[str]]:
    for end in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:end]))
        if isinstance(module, types.ModuleType):
            return module, parts[end:]
    return None, parts


def _member(holder: Any, name: str) -> Any:
    if isinstance(holder, types.ModuleType):
        return _MODULE_DICT(holder).get(name, MISSING)
    if is_class(holder):
        return class_entry(holder, name)
    entries = callables.instance_dict(holder) or {}
    return entries.get(name, MISSING)


def _may_come(module: types.ModuleType, rest: List[str]) -> bool:
    """Whether a name that a module lacks may appear: a submodule, a lazy attribute, or the rest of its import."""
    entries = _MODULE_DICT(module)
    spec = entries.get("__spec__")
    if getattr(spec, "_initializing", False):
        return True
    return "__getattr__" in entries or ("__path__" in entries and len(rest) > 1)


def _set_by_methods(cls: type, name: str) -> bool:
    """Whether instances get ``name`` in a method: some function of the class mentions it."""
    for base in type.__dict__["__mro__"].__get__(cls):
        for value in list(type.__dict__["__dict__"].__get__(base).values()):
            if type(value) is types.FunctionType and name in value.__code__.co_names:
                return True
            if name == getattr(value, "__name__", None) and type(value) is types.MemberDescriptorType:
                return True
    return False


def _not_there(holder: Any, name: str) -> str:
    if isinstance(holder, types.ModuleType):
        what, names = "module {}".format(holder.__name__), list(_MODULE_DICT(holder))
        if holder is builtins:
            return "there is no builtin {!r}{}".format(name, _hint(name, names))
    elif is_class(holder):
        what = "class {}".format(type.__getattribute__(holder, "__qualname__"))
        mro = type.__dict__["__mro__"].__get__(holder)
        names = [entry for base in mro for entry in type.__dict__["__dict__"].__get__(base)]
    else:
        what, names = "a {}".format(type(holder).__name__), []
    return "{} has no {!r}{}".format(what, name, _hint(name, names))


def _hint(name: str, names: List[str]) -> str:
    near = difflib.get_close_matches(name, [n for n in names if not n.startswith("__")], 1, 0.6)
    return "; did you mean {!r}?".format(near[0]) if near else ""
