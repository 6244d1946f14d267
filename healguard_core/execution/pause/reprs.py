"""Bounded texts of live values, made without running the program's code. May import static, shapes, arrays, redaction.

A ``__repr__`` written in Python is never called: in a paused program it could load a lazy object, query a database,
consume an iterator or raise. Builtin types are spelled as Python spells them; every other object is shown as
``<package.Class attribute=..., ...>`` from what it stores. Work is bounded by the length of the result.
"""

import collections
import decimal
import enum
import itertools
import re
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from healguard_core.execution.pause import arrays, redaction, shapes, static
from healguard_core.execution.pause.redaction import OPEN, STRONG, Redactor
from healguard_core.execution.pause.shapes import Shape

MOST_ELEMENTS = 25
DEEPEST = 6
WINDOW = 320
"""How far beyond its limit a long string is read, so that a secret at the cut is seen whole."""
_LEAST = 24
_LARGEST_INT_BITS = 2000  # Python may refuse to spell larger ones in decimal
_VALUE_NAMES = frozenset(("value", "_value", "coded_value", "content"))


def safe_repr(value: object, limit: int = 200, name: str = "", redactor: Optional[Redactor] = None) -> str:
    """At most ``limit`` characters that tell what ``value`` is. Never raises and changes nothing.

    ``name`` is the variable, key or attribute that holds the value: secrets are withheld by it. ``redactor`` says
    whether secrets are withheld at all (default: yes) and counts them.
    """
    renderer = _Renderer(redactor if redactor is not None else Redactor())
    try:
        text = renderer.render(value, _At(limit, 0, redaction.name_secrecy(name), name))
    except Exception as error:  # what cannot be shown must not take the rest of the crash context with it
        text = "<{}, not shown: {}>".format(static.qualified_name(type(value)), static.simple_name(type(error)))
    return cut(text, limit)


def cut(text: str, limit: int) -> str:
    """``text``, shortened to ``limit`` characters with ``...`` at its end when it is longer."""
    if len(text) <= limit:
        return text
    return text[: max(limit - 3, 0)] + "..."[: max(limit, 0)]


class _At(NamedTuple):
    """Where in the text a value is shown: ``room`` is how many characters it should not exceed by much."""

    room: int
    depth: int
    secrecy: int
    name: str

    def inside(self, room: int, secrecy: int, name: str) -> "_At":
        return _At(room, self.depth + 1, secrecy, name)


Piece = Callable[[int], str]


class _Renderer:
    """One walk over one value."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._open: List[int] = []  # ids of the containers that are being shown

    def render(self, value: Any, at: _At) -> str:
        cls = type(value)
        content = _CONTENT.get(id(cls))
        if content is not None:
            return content(self, value, at)
        exact = shapes.EXACT.get(id(cls))
        if exact is not None:
            return self._shape(exact(value), value, at)
        seen = arrays.view(value)
        if seen is not None:
            return self._array(seen, at)
        return self._by_base(value, cls, at)

    def _by_base(self, value: Any, cls: type, at: _At) -> str:
        if static.derives(cls, enum.Enum):
            return self._enum(value, at)
        for base in static.mro(cls):
            if id(base) in _CONTENT:
                return self._derived(value, _CONTENT[id(base)], at)
            if id(base) in shapes.BY_BASE:
                return self._shape(shapes.BY_BASE[id(base)](value), value, at)
            if base is BaseException:
                return self._exception(value, at)
        return self._object(value, "<" + static.qualified_name(cls), at)

    # ------------------------------------------------------------- plain values

    def string(self, value: Any, at: _At) -> str:
        size = str.__len__(value)
        window = str.__getitem__(value, slice(0, max(at.room, 0) + WINDOW))
        if self._redactor.withholds(at.secrecy, window):
            return self._redactor.withheld(redaction.kind_of_name(at.name))
        shown = self._cleared(window, size)
        return _fitted(shown, repr, size, len(window) < size, at.room, "characters")

    def octets(self, value: Any, at: _At) -> str:
        """Bytes or a bytearray."""
        cls: Any = bytes if static.derives(type(value), bytes) else bytearray
        size = cls.__len__(value)
        window = bytes(cls.__getitem__(value, slice(0, max(at.room, 0) + WINDOW))).decode("latin-1")
        if self._redactor.withholds(at.secrecy, window):
            return self._redactor.withheld(redaction.kind_of_name(at.name))
        shown = self._cleared(window, size)
        spelled = _fitted(shown, _spelled_bytes, size, len(window) < size, at.room, "bytes")
        return spelled if cls is bytes else "bytearray({})".format(spelled)

    def _cleared(self, window: str, size: int) -> str:
        """``window`` without secrets; where it ends short of ``size``, without the word that may be half of one."""
        shown = self._redactor.text(window)
        return shown if len(window) == size else re.sub(r"\S{1,320}$", "", shown) or shown[:-WINDOW]

    def integer(self, value: Any, at: _At) -> str:
        bits = int.bit_length(value)
        if bits > _LARGEST_INT_BITS:
            return "<int of about {} digits>".format(bits * 30103 // 100000 + 1)
        return self._number(int.__repr__(value), at)

    def floating(self, value: Any, at: _At) -> str:
        return self._number(float.__repr__(value), at)

    def imaginary(self, value: Any, at: _At) -> str:
        return self._number(complex.__repr__(value), at)

    def exact_decimal(self, value: Any, at: _At) -> str:
        return "Decimal('{}')".format(self._number(decimal.Decimal.__str__(value), at))

    def _number(self, text: str, at: _At) -> str:
        if len(text) > 2 and at.secrecy == STRONG and self._redactor.on:
            return self._redactor.withheld(redaction.kind_of_name(at.name))
        shown = self._redactor.text(text)
        if len(shown) <= max(at.room, _LEAST):
            return shown
        return "{}... ({} digits)".format(shown[: max(at.room - 16, 6)], len(text))

    # ------------------------------------------------------------- containers

    def a_list(self, value: Any, at: _At) -> str:
        return self._elements("[", "]", value, list, at)

    def a_tuple(self, value: Any, at: _At) -> str:
        return self._elements("(", ",)" if tuple.__len__(value) == 1 else ")", value, tuple, at)

    def a_set(self, value: Any, at: _At) -> str:
        cls: Any = set if static.derives(type(value), set) else frozenset
        if not cls.__len__(value):
            return "{}()".format(cls.__name__)
        text = self._elements("{", "}", value, cls, at)
        return text if cls is set else "frozenset({})".format(text)

    def a_deque(self, value: Any, at: _At) -> str:
        return "deque({})".format(self._elements("[", "]", value, collections.deque, at))

    def _elements(self, opening: str, closing: str, value: Any, cls: Any, at: _At) -> str:
        """A sequence or set; ``cls`` is the builtin type whose methods read it."""
        size = cls.__len__(value)
        called = _name(cls.__getitem__(value, 0)) if cls in (list, tuple) and size == 2 else ""
        if called and at.secrecy == OPEN and redaction.name_secrecy(called):
            # A pair such as ("Authorization", "...") in a list of headers.
            first, second = cls.__getitem__(value, 0), cls.__getitem__(value, 1)
            pieces = [self._piece(first, at), self._piece(second, at, redaction.name_secrecy(called), called)]
            return self._joined(opening, closing, value, pieces, size, at)
        each = (self._piece(item, at, at.secrecy, at.name) for item in cls.__iter__(value))
        return self._joined(opening, closing, value, each, size, at)

    def a_dict(self, value: Any, at: _At) -> str:
        pieces = (self._pair(key, item, at) for key, item in dict.items(value))
        return self._joined("{", "}", value, pieces, dict.__len__(value), at)

    def _pair(self, key: Any, item: Any, at: _At) -> Piece:
        called = _name(key)
        own = redaction.name_secrecy(called) if called else OPEN
        secrecy, name = (own, called) if own and own >= at.secrecy else (at.secrecy, at.name)

        def piece(room: int) -> str:
            spelled = self.render(key, at.inside(max(room // 2, _LEAST), OPEN, ""))
            return "{}: {}".format(spelled, self.render(item, at.inside(room - len(spelled) - 2, secrecy, name)))

        return piece

    def _piece(self, item: Any, at: _At, secrecy: int = OPEN, name: str = "", label: str = "") -> Piece:
        def piece(room: int) -> str:
            return label + self.render(item, at.inside(room - len(label), secrecy, name))

        return piece

    def _labelled(self, label: str, item: Any, at: _At, secrecy: int = OPEN) -> Piece:
        own = redaction.name_secrecy(label)
        return self._piece(item, at, max(own, secrecy), label, label + "=" if label else "")

    def _joined(
        self, opening: str, closing: str, owner: object, pieces: Iterable[Piece], size: int, at: _At
    ) -> str:
        """Pieces between brackets: as many as there is room for, and how many there are besides."""
        if id(owner) in self._open:
            return "{}...{}".format(opening, closing[-1:])
        if at.depth >= DEEPEST or at.room < 6:
            return "{}{}{}".format(opening, "... {}".format(size) if size else "", closing[-1:])
        self._open.append(id(owner))
        try:
            shown = self._fill(pieces, size, at.room - len(opening) - len(closing))
        finally:
            self._open.pop()
        return opening + ", ".join(shown) + closing

    def _fill(self, pieces: Iterable[Piece], size: int, left: int) -> List[str]:
        shown: List[str] = []
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

    # ------------------------------------------------------------- objects

    def _shape(self, shape: Union[str, Shape], owner: object, at: _At) -> str:
        if isinstance(shape, str):
            return shape
        pieces = [self._labelled(label, part, at, at.secrecy) for label, part in shape.parts]
        return self._joined(shape.opening, shape.closing, owner, pieces, shape.size, at)

    def _array(self, seen: arrays.View, at: _At) -> str:
        pieces = [self._part(part, at) for part in seen.parts]
        if not pieces:
            return "<{}>".format(seen.title)
        return self._joined("<{} ".format(seen.title), ">", seen, pieces, len(pieces), at)

    def _part(self, part: arrays.Part, at: _At) -> Piece:
        called = _name(part.name)
        secrecy = redaction.name_secrecy(called)
        title = " ".join(word for word in (called, part.dtype) if word)

        def piece(room: int) -> str:
            inner = at.inside(room, secrecy, called)
            if not part.dtype:
                return self.render(part.elements[0], inner)
            pieces = [self._piece(item, inner, secrecy, called) for item in part.elements]
            return self._joined(title + " [", "]", part, pieces, part.size, inner)

        return piece

    def _exception(self, value: Any, at: _At) -> str:
        arguments = static.exception_args(value)
        pieces = [self._piece(item, at) for item in itertools.islice(arguments, MOST_ELEMENTS)]
        pieces.extend(self._held(value, at))
        size = max(len(arguments), len(pieces))
        return self._joined(static.qualified_name(type(value)) + "(", ")", value, pieces, size, at)

    def _enum(self, value: Any, at: _At) -> str:
        called = static.attribute(value, "_name_")
        title = "<{}.{}: ".format(static.qualified_name(type(value)), called if type(called) is str else "?")
        return self._joined(title, ">", value, [self._piece(static.attribute(value, "_value_"), at)], 1, at)

    def _derived(self, value: Any, show: "_Show", at: _At) -> str:
        """An instance of a class that inherits from a builtin value type: its content, then its own attributes."""
        cls = type(value)
        fields = static.class_attribute(cls, "_fields")
        if type(fields) is tuple and show is _Renderer.a_tuple and tuple.__len__(value) == len(fields):
            pairs = ((str(label), item) for label, item in zip(fields, tuple.__iter__(value)))  # noqa: B905
            parts = list(itertools.islice(pairs, MOST_ELEMENTS))
            shape = Shape(static.qualified_name(cls) + "(", ")", parts, len(fields))
            return self._shape(shape, value, at._replace(secrecy=max(at.secrecy - 1, OPEN)))
        title = "<{} ".format(static.qualified_name(cls))
        if id(value) in self._open:
            return title + "...>"
        is_record = static.class_attribute(cls, "n_sequence_fields") is not None  # os.stat_result and its like
        held = [] if is_record else self._held(value, at)
        room = at.room - len(title) - 1
        content = show(self, value, at._replace(room=room // 2 if held else room))
        if not held:
            return title + content + ">"
        return self._joined(title + content + ", ", ">", value, held, len(held), at)

    def _object(self, value: Any, title: str, at: _At) -> str:
        pieces = self._held(value, at)
        return self._joined(title + " ", ">", value, pieces, len(pieces), at) if pieces else title + ">"

    def _held(self, value: Any, at: _At) -> List[Piece]:
        """A piece for every attribute that ``value`` stores. Secrecy of its own name weakens on the way in."""
        inner = max(at.secrecy - 1, OPEN)
        secretive = redaction.name_secrecy(static.simple_name(type(value)))
        pieces: List[Piece] = []
        try:
            for label, item in itertools.islice(static.attributes(value), MOST_ELEMENTS):
                pieces.append(self._labelled(label, item, at, max(inner, secretive if label in _VALUE_NAMES else OPEN)))
        except RuntimeError:
            return pieces  # another thread adds attributes; what was read until then is right
        return pieces


# --------------------------------------------------------------------------- small things


def _name(key: Any) -> str:
    if type(key) is str:
        return key[:100]
    return key[:100].decode("ascii", "replace") if type(key) is bytes else ""


def _spelled_bytes(text: str) -> str:
    return repr(text.encode("latin-1", "replace"))


def _fitted(shown: str, spell: Callable[[str], str], size: int, is_cut: bool, room: int, unit: str) -> str:
    """The literal of ``shown`` in at most ``room`` characters, with the full size told when it is not whole."""
    whole = spell(shown)
    if not is_cut and len(whole) <= max(room, 8):
        return whole
    tail = "... ({} {})".format(size, unit)
    wanted = max(room - len(tail), 6)
    keep = wanted
    spelled = spell(shown[:keep])
    while len(spelled) > wanted and keep > 1:
        keep = min(keep - 1, keep * wanted // len(spelled) + 1)
        spelled = spell(shown[:keep])
    return spelled + tail


_Show = Callable[[_Renderer, Any, _At], str]
_SHOWN: List[Tuple[Tuple[Any, ...], _Show]] = [
    ((str,), _Renderer.string), ((int,), _Renderer.integer), ((float,), _Renderer.floating),
    ((complex,), _Renderer.imaginary), ((bytes, bytearray), _Renderer.octets), ((list,), _Renderer.a_list),
    ((tuple,), _Renderer.a_tuple), ((dict,), _Renderer.a_dict), ((set, frozenset), _Renderer.a_set),
    ((collections.deque,), _Renderer.a_deque), ((decimal.Decimal,), _Renderer.exact_decimal),
]
_CONTENT: Dict[int, _Show] = {id(cls): show for classes, show in _SHOWN for cls in classes}
