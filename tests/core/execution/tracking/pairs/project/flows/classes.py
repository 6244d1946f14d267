"""Classes: dataclasses, enums, typed records, descriptors, metaclasses, hooks of class creation, patterns."""
import dataclasses
import enum
import functools
import types
import typing
import weakref

from lost import lost
from vault import wire


@dataclasses.dataclass(slots=True)
class Slotted:
    p: str
    q: str = "kept"
    made: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    p: str
    q: str = "kept"

    def with_q(self, q):
        return dataclasses.replace(self, q=q)


class Typed(typing.NamedTuple):
    p: str
    q: str = "kept"


class Record(typing.TypedDict):
    p: str
    q: str


class Colour(enum.Enum):
    HOT = "hot"
    KEPT = "kept"

    @classmethod
    def _missing_(cls, value):
        return cls.KEPT


class Right(enum.IntFlag):
    READ = 1
    WRITE = 2
    RUN = 4


class Upper:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        return self if instance is None else getattr(instance, self.name).upper()

    def __set__(self, instance, value):
        setattr(instance, self.name, value)


class Described:
    p = Upper()
    q = Upper()


class Registry:
    known = {}

    def __init_subclass__(cls, tag="none", **more):
        super().__init_subclass__(**more)
        Registry.known[tag] = cls


class Meta(type):
    def __new__(mcs, name, bases, namespace, **more):
        cls = super().__new__(mcs, name, bases, namespace)
        cls.extra = more.get("extra")
        return cls

    def __init__(cls, name, bases, namespace, **more):
        super().__init__(name, bases, namespace)

    def __call__(cls, *args):
        made = super().__call__(*args)
        made.called_with = args
        return made


class Box:
    def __init__(self, p=None, q=None):
        self.p, self.q = p, q


class Cached:
    def __init__(self, p, q):
        self._p, self._q = p, q

    @functools.cached_property
    def p(self):
        return self._p + "!"

    @functools.cached_property
    def q(self):
        return self._q + "!"


@functools.total_ordering
class Ranked:
    def __init__(self, rank, label):
        self.rank, self.label = rank, label

    def __eq__(self, other):
        return self.rank == other.rank

    def __lt__(self, other):
        return self.rank < other.rank


class Dynamic:
    def __init__(self, values):
        self.__dict__["values"] = values

    def __getattr__(self, name):
        return self.values[name]

    def __setattr__(self, name, value):
        self.values[name] = value


def unsafe_slots_replace():
    x = lost['x']
    wire(dataclasses.replace(Slotted("p"), p=x).p)
def safe_slots_replace():
    x = lost['x']
    wire(dataclasses.replace(Slotted("p"), p=x).q)

def unsafe_slots_factory():
    x = lost['x']
    one = Slotted("p")
    one.made.append(x)
    wire(one.made[0])
def safe_slots_factory():
    x = lost['x']
    one, other = Slotted("p"), Slotted("p")
    one.made.append(x)
    other.made.append("kept")
    wire(other.made[0])

def unsafe_frozen_replace():
    x = lost['x']
    wire(Frozen("p").with_q(x).q)
def safe_frozen_replace():
    x = lost['x']
    wire(Frozen("p").with_q(x).p)

def unsafe_asdict():
    x = lost['x']
    wire(dataclasses.asdict(Frozen(x))["p"])
def safe_asdict():
    x = lost['x']
    wire(dataclasses.asdict(Frozen(x))["q"])

def unsafe_astuple():
    x = lost['x']
    wire(dataclasses.astuple(Frozen("p", x))[1])
def safe_astuple():
    x = lost['x']
    wire(dataclasses.astuple(Frozen("p", x))[0])

def unsafe_named_tuple():
    x = lost['x']
    wire(Typed(x)._asdict()["p"])
def safe_named_tuple():
    x = lost['x']
    wire(Typed(x)._asdict()["q"])

def unsafe_typed_dict():
    x = lost['x']
    wire(Record(p=x, q="kept")["p"])
def safe_typed_dict():
    x = lost['x']
    wire(Record(p=x, q="kept")["q"])

def unsafe_enum_missing():
    x = lost['x']
    wire(Colour(x).value)
def safe_enum_missing():
    x = lost['x']
    Colour(x)
    wire(Colour("other").value)

def unsafe_enum_name():
    x = lost['x']
    wire(Colour[x.upper()].name)
def safe_enum_name():
    x = lost['x']
    Colour[x.upper()]
    wire(Colour["KEPT"].name)

def unsafe_flags():
    n = lost['n']
    wire((Right(n) & Right.WRITE | Right.READ).value)
def safe_flags():
    n = lost['n']
    Right(n)
    wire((Right.RUN | Right.READ).value)

def unsafe_descriptor():
    x = lost['x']
    d = Described()
    d.p, d.q = x, "kept"
    wire(d.p)
def safe_descriptor():
    x = lost['x']
    d = Described()
    d.p, d.q = x, "kept"
    wire(d.q)

def unsafe_init_subclass():
    x = lost['x']
    class Kid(Registry, tag="kid"):
        p, q = x, "kept"
    wire(Registry.known["kid"].p)
def safe_init_subclass():
    x = lost['x']
    class Kid(Registry, tag="kid"):
        p, q = x, "kept"
    wire(Registry.known["kid"].q)

def unsafe_metaclass_keyword():
    x = lost['x']
    class Made(metaclass=Meta, extra=x):
        pass
    wire(Made.extra)
def safe_metaclass_keyword():
    x = lost['x']
    class Made(metaclass=Meta, extra="kept"):
        p = x
    wire(Made.extra)

def unsafe_metaclass_call():
    x = lost['x']
    class Made(metaclass=Meta):
        def __init__(self, p, q):
            self.p, self.q = p, q
    wire(Made(x, "kept").called_with[0])
def safe_metaclass_call():
    x = lost['x']
    class Made(metaclass=Meta):
        def __init__(self, p, q):
            self.p, self.q = p, q
    wire(Made(x, "kept").called_with[1])

def unsafe_cached_property():
    x = lost['x']
    c = Cached(x, "kept")
    c.p
    wire(c.p)
def safe_cached_property():
    x = lost['x']
    c = Cached(x, "kept")
    c.p
    wire(c.q)

def unsafe_total_ordering():
    n = lost['n']
    wire(max(Ranked(n, n), Ranked(3, "kept")).label)
def safe_total_ordering():
    x = lost['x']
    wire(max(Ranked(1, x), Ranked(3, "kept")).label)

def unsafe_dynamic_attributes():
    x = lost['x']
    d = Dynamic({})
    d.p, d.q = x, "kept"
    wire(d.p)
def safe_dynamic_attributes():
    x = lost['x']
    d = Dynamic({})
    d.p, d.q = x, "kept"
    wire(d.q)

def unsafe_match_class():
    x = lost['x']
    match Box(x, "kept"):
        case Box(p=found, q="kept"):
            wire(found)
def safe_match_class():
    x = lost['x']
    match Box(x, "kept"):
        case Box(q=found):
            wire(found)

def unsafe_match_positional():
    x = lost['x']
    match Frozen("p", x):
        case Frozen(_, found):
            wire(found)
def safe_match_positional():
    x = lost['x']
    match Frozen("p", x):
        case Frozen(found, _):
            wire(found)

def unsafe_match_rest():
    x = lost['x']
    match {"a": 1, "p": x, "q": "kept"}:
        case {"a": 1, **rest}:
            wire(rest["p"])
def safe_match_rest():
    x = lost['x']
    match {"a": 1, "p": x, "q": "kept"}:
        case {"a": 1, **rest}:
            wire(rest["q"])

def unsafe_match_star():
    x = lost['x']
    match ["a", "kept", x, "z"]:
        case [_, *middle, _]:
            wire(middle[1])
def safe_match_star():
    x = lost['x']
    match ["a", "kept", x, "z"]:
        case [_, *middle, _]:
            wire(middle[0])

def unsafe_match_or():
    x = lost['x']
    match ("p", x):
        case ["q", found] | ["p", found]:
            wire(found)
def safe_match_or():
    x = lost['x']
    match (("p", "kept"), x):
        case [["q", found], _] | [["p", found], _]:
            wire(found)

def unsafe_match_capture_of_class():
    x = lost['x']
    match [3, x]:
        case [int(n), str(found)]:
            wire(found)
def safe_match_capture_of_class():
    x = lost['x']
    match [3, x]:
        case [int(found), str(s)]:
            wire(found)

def unsafe_match_guard():
    x = lost['x']
    match {"k": (x, "kept")}:
        case {"k": (a, b)} if b == "kept":
            wire(a)
def safe_match_guard():
    x = lost['x']
    match {"k": (x, "kept")}:
        case {"k": (a, b)} if a:
            wire(b)

def unsafe_weak_value():
    x = lost['x']
    one, other = Box(x), Box("kept")
    known = weakref.WeakValueDictionary(one=one, other=other)
    wire(known["one"].p)
def safe_weak_value():
    x = lost['x']
    one, other = Box(x), Box("kept")
    known = weakref.WeakValueDictionary(one=one, other=other)
    wire(known["other"].p)

def unsafe_weak_key():
    x = lost['x']
    one, other = Box(), Box()
    notes = weakref.WeakKeyDictionary()
    notes[one], notes[other] = x, "kept"
    wire(notes[one])
def safe_weak_key():
    x = lost['x']
    one, other = Box(), Box()
    notes = weakref.WeakKeyDictionary()
    notes[one], notes[other] = x, "kept"
    wire(notes[other])

def unsafe_namespace():
    x = lost['x']
    n = types.SimpleNamespace(p=x, q="kept")
    wire(n.p)
def safe_namespace():
    x = lost['x']
    n = types.SimpleNamespace(p=x, q="kept")
    wire(n.q)

def unsafe_new_class():
    x = lost['x']
    made = types.new_class("Made", (), {}, lambda ns: ns.update(p=x, q="kept"))
    wire(made.p)
def safe_new_class():
    x = lost['x']
    made = types.new_class("Made", (), {}, lambda ns: ns.update(p=x, q="kept"))
    wire(made.q)

def unsafe_delegated_property():
    x = lost['x']
    class Made:
        value = property(lambda self: self.__dict__["v"], lambda self, v: self.__dict__.update(v=v))
    one = Made()
    one.value = x
    wire(one.value)
def safe_delegated_property():
    x = lost['x']
    class Made:
        value = property(lambda self: self.__dict__["v"], lambda self, v: self.__dict__.update(v=v))
    one, other = Made(), Made()
    one.value, other.value = x, "kept"
    wire(other.value)
