"""Bounded texts of live values, made without running the program's code. May import static, arrays, redaction.

A ``__repr__`` written in Python is never called: in a paused program it could load a lazy object, query a database,
consume an iterator or raise. Builtin types are spelled as Python spells them; every other object is shown as
``<package.Class attribute=..., ...>`` from what it stores. Work is bounded by the length of the result.
"""

import collections
import datetime
import decimal
import enum
import fractions
import functools
import itertools
import pathlib
import re
import types
import uuid
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from healguard_core.execution.pause import arrays, redaction, static
from healguard_core.execution.pause.redaction import OPEN, Redactor

MOST_ELEMENTS = 25
DEEPEST = 6
WINDOW = 600
"""How far beyond its limit a long string is read, so that a secret at the cut is seen whole."""
_LEAST = 24
_LARGEST_INT_BITS = 2000  # Python may refuse to spell larger ones in decimal
_VALUE_NAMES = frozenset(("value", "_value", "coded_value", "content"))

Piece = Callable[[int], str]


def safe_repr(value: object, limit: int = 200, name: str = "", redactor: Optional[Redactor] = None) -> str:
    """At most ``limit`` characters that tell what ``value`` is. Never raises and changes nothing.

    ``name`` is the variable, key or attribute that holds the value: secrets are withheld by it. ``redactor`` says
    whether secrets are withheld at all (default: yes) and counts them.
    """
    renderer = _Renderer(redactor if redactor is not None else Redactor())
    secrecy = redaction.name_secrecy(name)
    try:
        text = renderer.render(value, limit, 0, secrecy, name)
    except RecursionError:
        text = "<{}>".format(static.qualified_name(type(value)))
    except Exception as error:  # what cannot be shown must not take the rest of the crash context with it
        text = "<{}, not shown: {}>".format(static.qualified_name(type(value)), static.simple_name(type(error)))
    return cut(text, limit)


def cut(text: str, limit: int) -> str:
    """``text``, shortened to ``limit`` characters with ``...`` at its end when it is longer."""
    if len(text) <= limit:
        return text
    return text[: max(limit - 3, 0)] + "..."[: max(limit, 0)]


class _Renderer:
    """One walk over one value. ``room`` is how many characters a part should not exceed by much."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._open = []  # type: List[int]  # ids of the containers that are being shown

    def render(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        cls = type(value)
        exact = _EXACT.get(id(cls))
        if exact is not None:
            return exact(self, value, room, depth, secrecy, name)
        seen = arrays.view(value)
        if seen is not None:
            return self._array(seen, room, depth)
        if static.derives(cls, enum.Enum):
            return self._enum(value, room, depth, secrecy, name)
        for base in static.mro(cls):
            by_base = _BY_BASE.get(id(base))
            if by_base is not None:
                return by_base(self, value, room, depth, secrecy, name)
        return self._object(value, room, depth, secrecy)

    # ------------------------------------------------------------- plain values

    def _constant(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        return str(value)

    def _string(self, value: str, room: int, depth: int, secrecy: int, name: str) -> str:
        size = str.__len__(value)
        window = str.__getitem__(value, slice(0, max(room, 0) + WINDOW))
        if self._redactor.withholds(secrecy, window):
            return self._redactor.withheld(redaction.kind_of_name(name))
        shown = self._redactor.text(window)
        if size > len(window):
            shown = _without_last_word(shown)
        return _quoted(shown, size, size > len(window), room, "characters")

    def _bytes(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        cls = bytes if static.derives(type(value), bytes) else bytearray
        size = cls.__len__(value)
        window = bytes(cls.__getitem__(value, slice(0, max(room, 0) + WINDOW)))
        text = window.decode("latin-1")
        if self._redactor.withholds(secrecy, text):
            return self._redactor.withheld(redaction.kind_of_name(name))
        shown = self._redactor.text(text)
        if size > len(window):
            shown = _without_last_word(shown)
        spelled = _quoted(shown, size, size > len(window), room, "bytes", b"")
        return spelled if cls is bytes else "bytearray({})".format(spelled)

    def _int(self, value: int, room: int, depth: int, secrecy: int, name: str) -> str:
        bits = int.bit_length(value)
        if bits > _LARGEST_INT_BITS:
            return "<int of about {} digits>".format(bits * 30103 // 100000 + 1)
        return self._number(int.__repr__(value), room, secrecy, name)

    def _float(self, value: float, room: int, depth: int, secrecy: int, name: str) -> str:
        return self._number(float.__repr__(value), room, secrecy, name)

    def _complex(self, value: complex, room: int, depth: int, secrecy: int, name: str) -> str:
        return self._number(complex.__repr__(value), room, secrecy, name)

    def _decimal(self, value: decimal.Decimal, room: int, depth: int, secrecy: int, name: str) -> str:
        return "Decimal('{}')".format(self._number(decimal.Decimal.__str__(value), room, secrecy, name))

    def _number(self, text: str, room: int, secrecy: int, name: str) -> str:
        if len(text) > 2 and secrecy == redaction.STRONG and self._redactor.on:
            return self._redactor.withheld(redaction.kind_of_name(name))
        shown = self._redactor.text(text)
        if len(shown) <= max(room, _LEAST):
            return shown
        return "{}... ({} digits)".format(shown[: max(room - 16, 6)], len(text))

    def _range(self, value: range, room: int, depth: int, secrecy: int, name: str) -> str:
        parts = [value.start, value.stop] + ([] if value.step == 1 else [value.step])
        return self._call("range", [("", part) for part in parts], room, depth)

    def _slice(self, value: slice, room: int, depth: int, secrecy: int, name: str) -> str:
        return self._call("slice", [("", value.start), ("", value.stop), ("", value.step)], room, depth)

    def _time(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        zone = getattr(value, "tzinfo", None)
        if zone is None or type(zone) is datetime.timezone:
            return repr(value)
        naive = value.replace(tzinfo=None)
        return "<{!r} tzinfo={}>".format(naive, static.qualified_name(type(zone)))

    def _uuid(self, value: uuid.UUID, room: int, depth: int, secrecy: int, name: str) -> str:
        number = static.attribute(value, "int")
        if type(number) is not int:
            return self._object(value, room, depth, secrecy)
        digits = "{:032x}".format(number)
        return "UUID('{}')".format("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))

    def _path(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        text = static.attribute(value, "_str")
        if type(text) is not str:
            raw = static.attribute(value, "_raw_paths")
            parts = raw if type(raw) is list else static.attribute(value, "_parts")
            text = _joined(parts if type(parts) is list else [])
        return "{}({})".format(static.simple_name(type(value)), self._string(text, room, depth, secrecy, name))

    def _fraction(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        parts = [("", static.attribute(value, "_numerator")), ("", static.attribute(value, "_denominator"))]
        return self._call("Fraction", parts, room, depth)

    def _pattern(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        flags = [("flags", value.flags & ~32)] if value.flags & ~32 else []
        return self._call("re.compile", [("", value.pattern)] + flags, room, depth)

    def _match(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        subject = value.string
        start, end = value.span()
        text = subject[start:end] if type(subject) in (str, bytes) else None
        return self._call("re.Match", [("span", (start, end)), ("match", text)], room, depth)

    # ------------------------------------------------------------- code

    def _class(self, value: type, room: int, depth: int, secrecy: int, name: str) -> str:
        return "<class {}>".format(static.qualified_name(value))

    def _module(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        called = static.attribute(value, "__name__") or "?"
        return "<module {}>".format(called if type(called) is str else "?")

    def _function(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        code = value.__code__
        module = value.__module__
        prefix = module + "." if type(module) is str else ""
        return "<function {}{} at {}:{}>".format(
            prefix, value.__qualname__, code.co_filename.rpartition("/")[2], code.co_firstlineno)

    def _builtin(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        owner = value.__self__
        of = "" if owner is None or type(owner) is types.ModuleType else " of <{}>".format(
            static.qualified_name(type(owner)))
        return "<built-in function {}{}>".format(value.__name__, of)

    def _method(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        function = value.__func__
        called = function.__qualname__ if type(function) is types.FunctionType else "?"
        return "<method {} of <{}>>".format(called, static.qualified_name(type(value.__self__)))

    def _partial(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        parts = [("", value.func), ("args", value.args), ("keywords", value.keywords)]
        return self._call("functools.partial", parts, room, depth)

    def _generator(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        kind, prefix = _SUSPENDABLE[id(type(value))]
        frame = getattr(value, prefix + "_frame")
        suspended = getattr(value, prefix + "_suspended", None)  # Python 3.11, of async generators 3.12
        if suspended is None and frame is not None:
            suspended = frame.f_lasti >= 0 and frame.f_lineno != frame.f_code.co_firstlineno
        if frame is None:
            state = "finished"
        elif getattr(value, prefix + "_running"):
            state = "running at line {}".format(frame.f_lineno)
        else:
            state = "suspended at line {}".format(frame.f_lineno) if suspended else "not started"
        return "<{} {}, {}>".format(kind, value.__qualname__, state)

    # ------------------------------------------------------------- containers

    def _list(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        return self._elements("[", "]", value, list, room, depth, secrecy, name)

    def _tuple(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        cls = type(value)
        fields = static.class_attribute(cls, "_fields") if cls is not tuple else None
        if type(fields) is tuple and len(fields) == tuple.__len__(value) and all(type(f) is str for f in fields):
            pairs = list(itertools.islice(zip(fields, tuple.__iter__(value)), MOST_ELEMENTS))
            return self._call(static.qualified_name(cls), pairs, room, depth, max(secrecy - 1, OPEN))
        closing = ",)" if tuple.__len__(value) == 1 else ")"
        return self._elements("(", closing, value, tuple, room, depth, secrecy, name)

    def _set(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        cls = set if static.derives(type(value), set) else frozenset
        if not cls.__len__(value):
            return "{}()".format(cls.__name__)
        text = self._elements("{", "}", value, cls, room, depth, secrecy, name)
        return text if cls is set else "frozenset({})".format(text)

    def _deque(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        kind = collections.deque
        return "deque({})".format(self._elements("[", "]", value, kind, room - 7, depth, secrecy, name))

    def _elements(
        self, opening: str, closing: str, value: Any, cls: Any, room: int, depth: int, secrecy: int, name: str
    ) -> str:
        """A sequence or set; ``cls`` is the builtin type whose methods read it."""
        size = cls.__len__(value)
        if cls in (list, tuple) and size == 2 and secrecy == OPEN:
            key = cls.__getitem__(value, 0)  # ("Authorization", "...") in a list of headers
            if type(key) in (str, bytes) and type(cls.__getitem__(value, 1)) in (str, bytes):
                own = redaction.secrecy_of([key])
                if own:
                    pieces = [self._piece(key, depth, OPEN, ""), self._piece(cls.__getitem__(value, 1), depth, own, _name(key))]
                    return self._joined(opening, closing, value, pieces, size, room, depth)
        pieces = (self._piece(item, depth, secrecy, name) for item in cls.__iter__(value))  # type: Iterable[Piece]
        return self._joined(opening, closing, value, pieces, size, room, depth)

    def _dict_part(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        pieces = (self._piece(item, depth, secrecy, name) for item in iter(value))
        return self._joined(static.simple_name(type(value)) + "([", "])", value, pieces, len(value), room, depth)

    def _dict(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        pieces = (self._pair(key, item, depth, secrecy, name) for key, item in dict.items(value))
        return self._joined("{", "}", value, pieces, dict.__len__(value), room, depth)

    def _pair(self, key: Any, item: Any, depth: int, secrecy: int, name: str) -> Piece:
        called = _name(key)
        own = redaction.name_secrecy(called) if called else OPEN
        held, title = (own, called) if own >= secrecy and own else (secrecy, name)

        def piece(room: int) -> str:
            spelled = self.render(key, max(room // 2, _LEAST), depth + 1, OPEN, "")
            return "{}: {}".format(spelled, self.render(item, room - len(spelled) - 2, depth + 1, held, title))

        return piece

    def _piece(self, item: Any, depth: int, secrecy: int, name: str, label: str = "") -> Piece:
        def piece(room: int) -> str:
            return label + self.render(item, room - len(label), depth + 1, secrecy, name)

        return piece

    def _joined(
        self, opening: str, closing: str, owner: object, pieces: Iterable[Piece], size: int, room: int, depth: int
    ) -> str:
        """Pieces between brackets: as many as there is room for, and how many there are besides."""
        if id(owner) in self._open:
            return "{}...{}".format(opening, closing[-1:])
        if depth >= DEEPEST or room < 6:
            return "{}{}{}".format(opening, "... {}".format(size) if size else "", closing[-1:])
        self._open.append(id(owner))
        try:
            shown = self._fill(pieces, size, room - len(opening) - len(closing))
        finally:
            self._open.pop()
        return opening + ", ".join(shown) + closing

    def _fill(self, pieces: Iterable[Piece], size: int, left: int) -> List[str]:
        shown = []  # type: List[str]
        awaited = min(size, MOST_ELEMENTS)
        try:
            for piece in itertools.islice(pieces, MOST_ELEMENTS):
                if shown and left < _LEAST and len(shown) < size - 1:
                    break
                share = max(left * 2 // (awaited - len(shown) + 1), min(left, _LEAST * 2))
                shown.append(piece(min(share, left)))
                left -= len(shown[-1]) + 2
        except RuntimeError:
            shown.append("... changed while it was read")
            return shown
        if len(shown) < size:
            shown.append("... {} more".format(size - len(shown)))
        return shown

    def _call(self, title: str, parts: Iterable[Tuple[str, Any]], room: int, depth: int, secrecy: int = OPEN) -> str:
        pairs = list(parts)
        pieces = [self._labelled(label, item, depth, secrecy) for label, item in pairs]
        return self._joined(title + "(", ")", pairs, pieces, len(pairs), room, depth)

    def _labelled(self, label: str, item: Any, depth: int, secrecy: int) -> Piece:
        own = redaction.name_secrecy(label)
        return self._piece(item, depth, max(own, secrecy), label, label + "=" if label else "")

    # ------------------------------------------------------------- objects

    def _array(self, seen: arrays.View, room: int, depth: int) -> str:
        pieces = []  # type: List[Piece]
        for part in seen.parts:
            pieces.append(self._part(part, depth))
        return self._joined("<{} ".format(seen.title), ">", seen, pieces, len(pieces), room, depth)

    def _part(self, part: arrays.Part, depth: int) -> Piece:
        called = _name(part.name)
        title = " ".join(word for word in (called, part.dtype) if word)

        def piece(room: int) -> str:
            secrecy = redaction.name_secrecy(called)
            if not part.dtype:
                return self.render(part.elements[0], room, depth + 1, secrecy, called)
            pieces = [self._piece(item, depth + 1, secrecy, called) for item in part.elements]
            return self._joined(title + " [", "]", part, pieces, part.size, room, depth + 1)

        return piece

    def _exception(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        arguments = _exception_args(value)
        pieces = [self._piece(item, depth, OPEN, "") for item in itertools.islice(arguments, MOST_ELEMENTS)]
        pieces.extend(self._held(value, depth, OPEN))
        return self._joined(
            static.qualified_name(type(value)) + "(", ")", value, pieces, max(len(arguments), len(pieces)), room, depth)

    def _enum(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        called = static.attribute(value, "_name_")
        title = "{}.{}".format(static.qualified_name(type(value)), called if type(called) is str else "?")
        content = static.attribute(value, "_value_")
        return self._joined("<{}: ".format(title), ">", value, [self._piece(content, depth, OPEN, "")], 1, room, depth)

    def _derived(self, value: Any, room: int, depth: int, secrecy: int, name: str) -> str:
        """An instance of a class that inherits from a builtin value type: its content, then its own attributes."""
        show = next(_CONTENT[id(base)] for base in static.mro(type(value)) if id(base) in _CONTENT)
        title = "<{} ".format(static.qualified_name(type(value)))
        if static.class_attribute(type(value), "_fields") is not None and show is _Renderer._tuple:
            return self._tuple(value, room, depth, secrecy, name)
        if id(value) in self._open:
            return title + "...>"
        if static.class_attribute(type(value), "n_sequence_fields") is not None:
            return title + show(self, value, room - len(title) - 1, depth, secrecy, name) + ">"
        held = self._held(value, depth, secrecy)
        content = show(self, value, room - len(title) - 1 if not held else room // 2, depth, secrecy, name)
        if not held:
            return title + content + ">"
        return self._joined(
            "{}{}, ".format(title, content), ">", value, held, len(held), room - len(content), depth)

    def _object(self, value: Any, room: int, depth: int, secrecy: int) -> str:
        title = "<{}".format(static.qualified_name(type(value)))
        pieces = self._held(value, depth, secrecy)
        if not pieces:
            return title + ">"
        return self._joined(title + " ", ">", value, pieces, len(pieces), room, depth)

    def _held(self, value: Any, depth: int, secrecy: int) -> List[Piece]:
        """A piece for every attribute that ``value`` stores. Secrecy of its own name weakens on the way in."""
        inner = max(secrecy - 1, OPEN)
        secretive = redaction.name_secrecy(static.simple_name(type(value)))
        pieces = []  # type: List[Piece]
        try:
            for label, item in itertools.islice(static.attributes(value), MOST_ELEMENTS):
                own = max(inner, secretive) if label in _VALUE_NAMES else inner
                pieces.append(self._labelled(label, item, depth, own))
        except RuntimeError:
            return pieces  # another thread adds attributes; what was read until then is right
        return pieces


# --------------------------------------------------------------------------- small things


def _name(key: Any) -> str:
    if type(key) is str:
        return key[:100]
    return key[:100].decode("ascii", "replace") if type(key) is bytes else ""


def _without_last_word(text: str) -> str:
    """``text``, whose end was cut at an arbitrary place, without the word that may be half a secret."""
    return re.sub(r"\S{1,600}$", "", text) or text[:-WINDOW]


def _quoted(shown: str, size: int, windowed: bool, room: int, unit: str, empty: Any = "") -> str:
    spell = (lambda text: repr(text)) if empty == "" else (lambda text: repr(text.encode("latin-1", "replace")))
    whole = spell(shown)
    if not windowed and len(whole) <= max(room, 8):
        return str(whole)
    tail = "... ({} {})".format(size, unit)
    keep = max(room - len(tail) - 2, 4)
    spelled = spell(shown[:keep])
    while len(spelled) > max(room - len(tail), 6) and keep > 1:
        keep = min(keep - 1, keep * max(room - len(tail), 1) // len(spelled) + 1)
        spelled = spell(shown[:keep])
    return str(spelled) + tail


def _joined(parts: Iterable[Any]) -> str:
    texts = [part for part in parts if type(part) is str]
    text = "/".join(texts) or "."
    return text[1:] if text.startswith("//") else text


def _exception_args(value: BaseException) -> Tuple[Any, ...]:
    arguments = _args_of(value)
    return arguments if type(arguments) is tuple else ()


_args_of = BaseException.__dict__["args"].__get__
_SUSPENDABLE = {
    id(types.GeneratorType): ("generator", "gi"),
    id(types.CoroutineType): ("coroutine", "cr"),
    id(types.AsyncGeneratorType): ("async generator", "ag"),
}

_Show = Callable[[_Renderer, Any, int, int, int, str], str]


def _table(entries: Iterator[Tuple[Iterable[type], _Show]]) -> Dict[int, _Show]:
    """By identity of the type, because hashing a class may run its metaclass."""
    return {id(cls): show for classes, show in entries for cls in classes}


_R = _Renderer
_CONTENT = _table(iter([
    ((str,), _R._string), ((int,), _R._int), ((float,), _R._float), ((complex,), _R._complex),
    ((bytes, bytearray), _R._bytes), ((list,), _R._list), ((tuple,), _R._tuple), ((dict,), _R._dict),
    ((set, frozenset), _R._set), ((collections.deque,), _R._deque), ((decimal.Decimal,), _R._decimal),
]))  # type: Dict[int, _Show]
_EXACT = dict(_CONTENT)
_EXACT.update(_table(iter([
    ((bool, type(None), type(...), type(NotImplemented)), _R._constant),
    ((type({}.keys()), type({}.values()), type({}.items())), _R._dict_part),
    ((range,), _R._range), ((slice,), _R._slice),
    ((datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone), _R._time),
    ((uuid.UUID,), _R._uuid), ((fractions.Fraction,), _R._fraction),
    ((pathlib.PosixPath, pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath), _R._path),
    ((re.compile("").__class__,), _R._pattern), ((type(re.match("", "")),), _R._match),
    ((types.FunctionType,), _R._function), ((types.BuiltinFunctionType,), _R._builtin),
    ((types.MethodType,), _R._method), ((functools.partial,), _R._partial), ((type,), _R._class),
    ((types.ModuleType,), _R._module),
    ((types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType), _R._generator),
])))
_BY_BASE = {key: _R._derived for key in _CONTENT}  # type: Dict[int, _Show]
_BY_BASE.update(_table(iter([
    ((BaseException,), _R._exception), ((type,), _R._class), ((types.ModuleType,), _R._module),
])))
