"""Attributes, classes, descriptors, generated code, copies of objects."""
import copy, dataclasses, functools, types, typing, weakref, abc, contextlib, enum
from lost import lost
from vault import wire, Account

class O:
    z = 'clean'
    def __init__(self, p=None, q=None): self.p, self.q = p, q
    def get_p(self): return self.p
    def get_q(self): return self.q

def unsafe_attr():
    o = O('a', 'b')
    o.p = lost['x']
    wire(o.p)
def safe_attr():
    o = O('a', 'b')
    o.p = lost['x']
    wire(o.q)

def unsafe_object_key():
    o = O('a', 'b')
    o.p = lost['x']
    wire(o)
def safe_object_key():
    o = O('a', 'b'); r = O('c', 'd')
    o.p = lost['x']
    wire(r)

def unsafe_instance_alias():
    o = O('a', 'b'); r = o
    o.p = lost['x']
    wire(r.get_p())
def safe_instance_alias():
    o = O('a', 'b'); r = O('a', 'b')
    o.p = lost['x']
    wire(r.get_p() + o.get_q())

def unsafe_overwritten():
    o = O('a', 'b')
    o.p = lost['x']
    o.q = o.p
    wire(o.q)
def safe_overwritten():
    o = O('a', 'b')
    o.p = lost['x']
    o.p = 'again'
    wire(o.p)

def unsafe_class_attr():
    class C: z = 'a'
    x = lost['x']
    C.z = x
    wire(C().z)
def safe_class_attr():
    class C: z = 'a'
    x = lost['x']
    C.z = x
    c = C(); c.z = 'own'
    wire(c.z)

def unsafe_class_body():
    x = lost['x']
    class C:
        a = x
        b = 'b'
    wire(C.a)
def safe_class_body():
    x = lost['x']
    class C:
        a = x
        b = 'b'
    wire(C.b)

class S:
    __slots__ = ('a', 'b')
    def __init__(self, a, b): self.a = a; self.b = b

def unsafe_slots():
    x = lost['x']
    s = S(x, 'b')
    wire(s.a)
def safe_slots():
    x = lost['x']
    s = S(x, 'b')
    wire(s.b)

def unsafe_setattr():
    o = O()
    x = lost['x']
    setattr(o, 'p', x)
    wire(getattr(o, 'p'))
def safe_setattr():
    o = O()
    x = lost['x']
    setattr(o, 'p', x); setattr(o, 'q', 'n')
    wire(getattr(o, 'q'))

def unsafe_vars():
    o = O()
    x = lost['x']
    vars(o)['p'] = x
    wire(o.p)
def safe_vars():
    o = O('a', 'b')
    x = lost['x']
    o.__dict__['p'] = x
    wire(vars(o)['q'])

def unsafe_dict_update():
    o = O()
    x = lost['x']
    o.__dict__.update(p=x, q='n')
    wire(o.p)
def safe_dict_update():
    o = O()
    x = lost['x']
    o.__dict__.update(p=x, q='n')
    wire(o.q)

class Prop:
    def __init__(self, v, w): self._v = v; self._w = w
    @property
    def v(self): return self._v
    @v.setter
    def v(self, value): self._v = value
    @property
    def w(self): return self._w
    @functools.cached_property
    def c(self): return self._v + '!'
    def __getattr__(self, name):
        if name == 'dyn': return self._v
        if name == 'dyw': return self._w
        raise AttributeError(name)

def unsafe_property():
    x = lost['x']
    p = Prop('a', 'b'); p.v = x
    wire(p.v)
def safe_property():
    x = lost['x']
    p = Prop('a', 'b'); p.v = x
    wire(p.w)

def unsafe_cached_property():
    x = lost['x']
    p = Prop(x, 'b'); p.c
    wire(p.c)
def safe_cached_property():
    x = lost['x']
    p = Prop(x, 'b'); q = Prop('a', 'b')
    p.c
    wire(q.c)

def unsafe_getattr_hook():
    x = lost['x']
    p = Prop(x, 'b')
    wire(p.dyn)
def safe_getattr_hook():
    x = lost['x']
    p = Prop(x, 'b')
    wire(p.dyw)

class D:
    def __set_name__(self, owner, name): self.name = '_' + name
    def __get__(self, obj, cls=None): return getattr(obj, self.name)
    def __set__(self, obj, value): setattr(obj, self.name, value)
class HasD:
    a = D(); b = D()

def unsafe_descriptor():
    x = lost['x']
    h = HasD(); h.a = x; h.b = 'b'
    wire(h.a)
def safe_descriptor():
    x = lost['x']
    h = HasD(); h.a = x; h.b = 'b'
    wire(h.b)

class Num:
    def __init__(self, v, w='w'): self.v = v; self.w = w
    def __add__(self, o): return Num(self.v + getattr(o, 'v', o))
    def __radd__(self, o): return self.v
    def __getitem__(self, k): return self.v if k == 'v' else self.w
    def __call__(self, k): return self.v if k else self.w
    def __str__(self): return str(self.v)
    def __repr__(self): return self.w
    def __len__(self): return 3
    def __iter__(self): yield self.w; yield self.v
    def __eq__(self, o): return self.v == getattr(o, 'v', o)
    def __hash__(self): return hash(self.w)
    def __contains__(self, k): return True
    def __format__(self, spec): return self.v if spec else self.w
    def __enter__(self): return self.v
    def __exit__(self, *a): return False
    def __bool__(self): return True

def unsafe_add():
    n = lost['n']
    wire((Num(1) + Num(n)).v)
def safe_add():
    n = lost['n']
    a = Num(1) + Num(n)
    wire((Num(1) + Num(2)).v)

def unsafe_getitem():
    x = lost['x']
    wire(Num(x)['v'])
def safe_getitem():
    x = lost['x']
    wire(Num(x)['w'])

def unsafe_call():
    x = lost['x']
    wire(Num(x)(1))
def safe_call():
    x = lost['x']
    wire(Num(x)(0))

def unsafe_str():
    x = lost['x']
    wire(str(Num(x)))
def safe_str():
    x = lost['x']
    wire(repr(Num(x)))

def unsafe_format():
    x = lost['x']
    wire(f'{Num(x):v}')
def safe_format():
    x = lost['x']
    wire(f'{Num(x)}')

def unsafe_iter():
    x = lost['x']
    a, b = Num(x)
    wire(b)
def safe_iter():
    x = lost['x']
    a, b = Num(x)
    wire(a)

def unsafe_list_of_iter():
    x = lost['x']
    wire(list(Num(x))[1])
def safe_list_of_iter():
    x = lost['x']
    wire(list(Num(x))[0])

def unsafe_with():
    x = lost['x']
    with Num(x) as v: wire(v)
def safe_with():
    x = lost['x']
    with Num(x), Num('a') as v: wire(v)

class Base:
    def __init__(self, a, b='b'): self.a = a; self.b = b
class Child(Base):
    def __init__(self, a, c): super().__init__(a); self.c = c
    def both(self): return super().__getattribute__('a')

def unsafe_super():
    x = lost['x']
    wire(Child(x, 'c').both())
def safe_super():
    x = lost['x']
    k = Child(x, 'c')
    wire(k.c + k.b)

@dataclasses.dataclass
class Data:
    a: str
    b: str = 'b'
    c: list = dataclasses.field(default_factory=list)

def unsafe_dataclass():
    x = lost['x']
    wire(Data(x).a)
def safe_dataclass():
    x = lost['x']
    d = Data(x); d.c.append('n')
    wire((d.b, d.c))

def unsafe_replace():
    x = lost['x']
    wire(dataclasses.replace(Data('a'), b=x).b)
def safe_replace():
    x = lost['x']
    wire(dataclasses.replace(Data('a'), b=x).a)

def unsafe_asdict():
    x = lost['x']
    wire(dataclasses.asdict(Data(x))['a'])
def safe_asdict():
    x = lost['x']
    wire(dataclasses.asdict(Data(x))['b'])

def unsafe_dataclass_eq():
    x = lost['x']
    wire(Data(x) == Data('hot'))
def safe_dataclass_eq():
    x = lost['x']
    Data(x) == Data('hot')
    wire(Data('a') == Data('b'))

class NT(typing.NamedTuple):
    a: str
    b: str = 'b'

def unsafe_namedtuple():
    x = lost['x']
    wire(NT(x)._asdict()['a'])
def safe_namedtuple():
    x = lost['x']
    wire(NT(x)._asdict()['b'] + NT(x).b)

def unsafe_namespace():
    x = lost['x']
    wire(types.SimpleNamespace(a=x, b='b').a)
def safe_namespace():
    x = lost['x']
    wire(types.SimpleNamespace(a=x, b='b').b)

def unsafe_copy_object():
    x = lost['x']
    wire(copy.copy(O(x, 'q')).p)
def safe_copy_object():
    x = lost['x']
    wire(copy.copy(O(x, 'q')).q)

def unsafe_deepcopy_object():
    x = lost['x']
    wire(copy.deepcopy(O([x], ['q'])).p[0])
def safe_deepcopy_object():
    x = lost['x']
    wire(copy.deepcopy(O([x], ['q'])).q[0])

def unsafe_weakref():
    x = lost['x']
    o = O(x, 'q'); r = weakref.ref(o)
    wire(r().p)
def safe_weakref():
    x = lost['x']
    o = O(x, 'q'); r = weakref.ref(o)
    wire(r().q)

def unsafe_weakdict():
    x = lost['x']
    o = O(x, 'q'); d = weakref.WeakValueDictionary(); d['k'] = o
    wire(d['k'].p)
def safe_weakdict():
    x = lost['x']
    o = O(x, 'q'); d = weakref.WeakValueDictionary(); d['k'] = o
    wire(d['k'].q)

class Meta(type):
    def __getattr__(cls, name): return cls.store[name]
class WithMeta(metaclass=Meta):
    store = {}

def unsafe_metaclass():
    x = lost['x']
    WithMeta.store = {'a': x, 'b': 'y'}
    wire(WithMeta.a)
def safe_metaclass():
    x = lost['x']
    WithMeta.store = {'a': x, 'b': 'y'}
    wire(WithMeta.b)

class Plugin(abc.ABC):
    @abc.abstractmethod
    def run(self, v): ...
class One(Plugin):
    def run(self, v): return v
class Two(Plugin):
    def run(self, v): return 'two'

def unsafe_dispatch():
    x = lost['x']
    for p in (Two(), One()): r = p.run(x)
    wire(r)
def safe_dispatch():
    x = lost['x']
    for p in (One(), Two()): r = p.run(x)
    wire(r)

@functools.singledispatch
def sd(v): return 'any'
@sd.register
def _(v: str): return v + '!'

def unsafe_singledispatch():
    x = lost['x']
    wire(sd(x))
def safe_singledispatch():
    n = lost['n']
    wire(sd(n))

class Singleton:
    inst = None
    def __new__(cls, *a):
        if cls.inst is None: cls.inst = super().__new__(cls)
        return cls.inst

def unsafe_singleton():
    Singleton.inst = None
    x = lost['x']
    Singleton().v = x
    wire(Singleton().v)
def safe_singleton():
    Singleton.inst = None
    x = lost['x']
    Singleton().v = x; Singleton().w = 'n'
    wire(Singleton().w)

def unsafe_receiver():
    x = lost['x']
    Account(x).close()
def safe_receiver():
    x = lost['x']
    a = Account(x)
    Account('me').close()

def unsafe_kwarg_key():
    n = lost['n']
    Account('me').pay(to='y', amount=n)
def safe_kwarg_key():
    x = lost['x']
    Account('me').pay(5, to=x)

class Sub(Account):
    def pay(self, amount, to='s'): return super().pay(amount, to)

def unsafe_subclass_sink():
    n = lost['n']
    Sub('me').pay(n)
def safe_subclass_sink():
    x = lost['x']
    Sub('me').pay(4, to=x)

class StrSub(str):
    def shout(self): return self.upper()
class DictSub(dict):
    def __getitem__(self, k): return dict.__getitem__(self, k)
class ListSub(list):
    def first(self): return self[0]

def unsafe_str_subclass():
    x = lost['x']
    wire(StrSub(x).shout())
def safe_str_subclass():
    x = lost['x']
    StrSub(x)
    wire(StrSub('a').shout())

def unsafe_dict_subclass():
    x = lost['x']
    d = DictSub(a=x, b='y')
    wire(d['a'])
def safe_dict_subclass():
    x = lost['x']
    d = DictSub(a=x, b='y')
    wire(d['b'])

def unsafe_list_subclass():
    x = lost['x']
    d = ListSub([x, 'b'])
    wire(d.first())
def safe_list_subclass():
    x = lost['x']
    d = ListSub(['a', x])
    wire(d.first())

def unsafe_linked_list():
    x = lost['x']
    head = None
    for v in ['a', x] + ['n'] * 40: head = O(v, head)
    while head.q.q is not None: head = head.q
    wire(head.p)
def safe_linked_list():
    x = lost['x']
    head = None
    for v in ['a', x] + ['n'] * 40: head = O(v, head)
    wire(head.p)

def unsafe_deep_sink_key():
    x = lost['x']
    head = None
    for v in [x] + ['n'] * 40: head = O(v, head)
    wire(head)
def safe_deep_sink_key():
    x = lost['x']
    head = None
    for v in ['m'] + ['n'] * 40: head = O(v, head)
    wire(head)
