"""Ways of a healed value to a protected operation, and look-alikes in which it does not arrive.

``path`` is what the heal writes, ``other`` an equal text that it does not write; both are the same string object. A
flow is the rest of the function in which the program was paused, ``UNSAFE`` and ``SAFE`` end it.
"""

from __future__ import annotations

from typing import NamedTuple


class Flow(NamedTuple):
    """``unsafe`` lets the healed value arrive, ``safe`` does not; ``before`` runs ahead of the crash."""

    name: str
    unsafe: str
    safe: str
    before: str = ""


FLOWS = [
    Flow("name", "a = path; b = a; sink(b)", "a = path; a = 'x'; sink(a)"),
    Flow("operator", "sink(path + '.bak')", "sink(other + '.bak')"),
    Flow("default", "sink(path or 'x')", "sink('' or 'x' if path else 'y')"),
    Flow("control", "sink('%s' % path)", "sink('x' if path == other else 'y')"),
    Flow("attribute", "box.left = path; sink(box.left)", "box.left = path; sink(box.right)"),
    Flow("instance", "twin = box; twin.left = path; sink(box.left)", "twin = Box(); twin.left = path; sink(box.left)"),
    Flow("property", "box.left = path; sink(box.first)", "box.left = path; sink(box.second)"),
    Flow("dunder", "box.left = path; sink(box + 'x')", "box.left = path; sink(box * 'x')"),
    Flow("constructor", "sink(Box(path, 'x').left)", "sink(Box(path, 'x').right)"),
    Flow("dataclass", "sink(Pair(path, 'x').one)", "sink(Pair(path, 'x').two)"),
    Flow("dict", "d = {'a': path, 'b': 'x'}; sink(d['a'])", "d = {'a': path, 'b': 'x'}; sink(d['b'])"),
    Flow("key", "d = {path: 1, 'x': 2}; sink(list(d)[0])", "d = {path: 1, 'x': 2}; sink(list(d)[1])"),
    Flow("nested", "d = {'a': [['x', path]]}; sink(d['a'][0][1])", "d = {'a': [['x', path]]}; sink(d['a'][0][0])"),
    Flow("shift", "l = ['x', path]; l.insert(0, 'y'); sink(l[2])", "l = ['x', path]; l.insert(0, 'y'); sink(l[1])"),
    Flow("sort", "l = ['z', path]; l.sort(); sink(l[0])", "l = ['z', path]; l.sort(); sink(l[1])"),
    Flow("slice", "l = ['x', path, 'y']; sink(l[1:][0])", "l = ['x', path, 'y']; sink(l[1:][1])"),
    Flow("unpacking", "a, *b = 'x', 'y', path; sink(b[1])", "a, *b = 'x', 'y', path; sink(b[0])"),
    Flow("arguments", "sink(passed('x', k=path)['k'])", "sink(passed(path, k='x')['k'])"),
    Flow("recursion past an untouched frame", "sink(climbed(2, [path])[0])", "sink(climbed(2, [path])[1])"),
    Flow("own dictionary", "box.__dict__.update(left=path); sink(box.left)",
         "box.__dict__.update(left=path, right='x'); sink(box.right)"),
    Flow("operation given to C code", "methodcaller('push', path)(Sender())",
         "methodcaller('push', 'x')(Sender()); path"),
    Flow("operation as a hook of a class", "path in Sender()", "'x' in Sender()"),
    Flow("error of C code", "\n    try: int(path)\n    except ValueError as e: sink(str(e))",
         "\n    try: int('x')\n    except ValueError as e: sink(str(e))"),
    Flow("returned by a generator",
         "\n    g = ended(path)\n    try: next(g)\n    except StopIteration as e: sink(e.value)",
         "\n    g = ended(path)\n    try: next(g)\n    except StopIteration as e: sink(type(e).__name__)"),
    Flow("code from text", "exec(f\"sink('{path}')\", {'sink': sink})",
         "exec(\"sink('x')\", {'sink': sink, 'p': path})"),
    Flow("names of executed code", "d = {'p': path, 'q': 'x'}; exec('r = p + q[:0]', d); sink(d['r'])",
         "d = {'p': path, 'q': 'x'}; exec('r = q + q; s = p', d); sink(d['r'])"),
    Flow("context", "copied = copy_context(); copied.run(VAR.set, path); sink(copied[VAR])",
         "copied = copy_context(); copied.run(VAR.set, path); sink(VAR.get())"),
    Flow("fields of a format", "sink('{p}'.format_map({'p': path, 'q': 'x'}))",
         "sink('{q}'.format_map({'p': path, 'q': 'x'}))"),
    Flow("parts of a document", "sink(json.loads(json.dumps({'p': path, 'q': 'x'}))['p'])",
         "sink(json.loads(json.dumps({'p': path, 'q': 'x'}))['q'])"),
    Flow("recursion", "sink(deep(path, 3))", "sink(deep('x', len(path)))"),
    Flow("comprehension", "sink([p for p in ('x', path)][1])", "sink([p for p in ('x', path) if path][0])"),
    Flow("generator", "g = each('x', path); next(g); sink(next(g))", "g = each('x', path); sink(next(g))"),
    Flow("old generator", "sink(echo.send(path))", "echo.send(path); sink(echo.send('x'))",
         before="echo = echoed(); next(echo)"),
    Flow("closure", "keep(path); sink(kept())", "keep(path); keep('x'); sink(kept())", before="keep, kept = cell()"),
    Flow("global", "STATE['now'] = path; sink(state())", "STATE['other'] = path; sink(state())"),
    Flow("text", "sink(f'{path}!'.upper().lower())", "f'{path}!'.upper(); sink(f'{other}!'.upper().lower())"),
    Flow("callback", "sink(sorted([path], key=lambda p: p)[0])", "sink(sorted(['x'], key=lambda p: path)[0])"),
    Flow("from C", "list(map(sink, [path]))", "list(map(sink, [other]))"),
    Flow("partial", "partial(sink, path)()", "partial(sink, other)()"),
    Flow("exception", "\n    try: raise ValueError(path)\n    except ValueError as e: sink(e.args[0])",
         "\n    try: raise ValueError(path)\n    except ValueError as e: sink(type(e).__name__)"),
    Flow("manager", "\n    with given(path) as p: sink(p)", "\n    with given(path) as p: sink('x')"),
    Flow("json", "sink(json.loads(json.dumps([path]))[0])", "json.dumps([path]); sink(json.loads('[\"x\"]')[0])"),
    Flow("match", "\n    match {'k': path}:\n        case {'k': p}: sink(p)",
         "\n    match {'k': path, 'o': 'x'}:\n        case {'o': p}: sink(p)"),
    Flow("thread", "start(sink, path)", "start(sink, other)"),
    Flow("queue", "q = Queue(); q.put(path); sink(q.get())",
         "q, r = Queue(), Queue(); q.put(path); r.put('x'); sink(r.get())"),
    Flow("replaced field", "sink(Row(*Row('x', 'y')._replace(one=path)).one)",
         "sink(Row(*Row('x', 'y')._replace(one=path)).two)"),
    Flow("method of C as callback", "d = {'a': path, 'b': 'x'}; sink(tuple(map(d.pop, ['a', 'b']))[0])",
         "d = {'a': path, 'b': 'x'}; sink(tuple(map(d.pop, ['a', 'b']))[1])"),
    Flow("missing key", "sink(Otherwise(path)['q'])", "sink(Otherwise(path)['k'])"),
    Flow("own dictionary", "box.__dict__['left'] = path; sink(box.__dict__['left'])",
         "box.__dict__['left'] = path; sink(box.__dict__['right'])"),
    Flow("attribute by other means", "sink(Guarded(path).anything)", "sink(Guarded(path).something)"),
    Flow("task", "asyncio.run(later(path))", "asyncio.run(later('x'))"),
    Flow("cache", "cached(path); sink(cached(path))", "cached(path); sink(cached('x'))"),
    Flow("default argument", "\n    def f(a=path, b='x'): return a, b\n    sink(f()[0])",
         "\n    def f(a=path, b='x'): return a, b\n    sink(f()[1])"),
    Flow("keyword default", "\n    def f(*, a=path, b='x'): return a, b\n    sink(f()[0])",
         "\n    def f(*, a=path, b='x'): return a, b\n    sink(f()[1])"),
    Flow("instance dictionary", "vars(box)['left'] = path; sink(box.left)",
         "vars(box)['left'] = path; sink(box.right)"),
    Flow("dictionary taken before", "box.left = path; sink(d['left'])", "box.left = path; sink(d['right'])",
         before="d = vars(box)"),
    Flow("what a callback reads", "sink(re.sub('x', lambda m: path, 'x'))",
         "sink(re.sub('x', lambda m: 'y' if path else 'z', 'x'))"),
    Flow("gathered", "asyncio.run(gathered('x', path, 1))", "asyncio.run(gathered('x', path, 0))"),
    Flow("yield from", "sink(list(outer(path))[1])", "list(outer(path)); sink(list(outer('x'))[1])"),
    Flow("future", "with_future(path)", "with_future('x', path)"),
    Flow("finally", "\n    try: sink('x')\n    finally: sink(path)", "\n    try: len(path)\n    finally: sink('x')"),
]

MODULE = '''
import asyncio, collections, contextlib, dataclasses, functools, json, re, threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from operator import methodcaller
from queue import Queue
from sinks import sink

STATE = {"now": "x", "other": "x"}

class Box:
    def __init__(self, left="l", right="r"):
        self.left, self.right = left, right
    first = property(lambda self: self.left)
    second = property(lambda self: self.right)
    def __add__(self, more):
        return self.left + more
    def __mul__(self, more):
        return self.right + more

@dataclasses.dataclass
class Pair:
    one: str
    two: str = "x"

def passed(*args, **kwargs):
    return dict(kwargs)

def climbed(times, values):
    found = []
    for number in range(times):
        found = found + [climbed(0, [])] + values + ["x"]
    return found[1:] if times else found

class Sender:
    push = __contains__ = staticmethod(sink)

def ended(value):
    return value
    yield

VAR = ContextVar("VAR", default="x")

def deep(value, times):
    return value if times == 0 else deep(value, times - 1)

def each(*values):
    for value in values:
        yield value

def echoed():
    value = None
    while True:
        value = yield value

def cell():
    held = None
    def keep(value):
        nonlocal held
        held = value
    return keep, lambda: held

def state():
    return STATE["now"]

@contextlib.contextmanager
def given(value):
    yield value

def start(function, value):
    thread = threading.Thread(target=function, args=(value,))
    thread.start()
    thread.join()

async def waited(value):
    await asyncio.sleep(0)
    return value

async def later(value):
    sink(await asyncio.create_task(waited(value)))

async def gathered(one, other, index):
    sink((await asyncio.gather(waited(one), waited(other)))[index])

def outer(value):
    got = yield from inner(value)
    yield got

def inner(value):
    yield "x"
    return value

def with_future(value, beside="x"):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(str.upper, beside).result()
        sink(pool.submit(str.upper, value).result())

Row = collections.namedtuple("Row", "one two")

class Otherwise(dict):
    def __init__(self, value):
        self.value = value
        super().__init__(k="x")
    def __missing__(self, key):
        return self.value

class Guarded:
    def __init__(self, value):
        object.__setattr__(self, "value", value)
    def __getattribute__(self, name):
        own = object.__getattribute__(self, "__dict__")
        return own["value"] if name == "anything" else "x"

@functools.lru_cache
def cached(value):
    return value + "!"
'''
