"""What must be healable, as programs: source text, what to call, one heal per crash, and what must come out.

Read by `run_cases`, which runs on every Python from 3.8 on, so sources that need newer syntax say so.
"""

from typing import Any, List, NamedTuple, Tuple


class Case(NamedTuple):
    """``source`` defines ``run()``. ``heals`` answers the crashes in order, as (code, resume) or (code, resume, frame).

    ``expect`` is what ``run()`` returns, or the text of the exception it raises as ``raises TYPE: MESSAGE``.
    """

    name: str
    source: str
    heals: List[Tuple[Any, ...]]
    expect: Any
    since: Tuple[int, int] = (3, 8)


def _case(name: str, source: str, *heals: Tuple[Any, ...], expect: Any, since: Tuple[int, int] = (3, 8)) -> Case:
    return Case(name, source, list(heals), expect, since)


CASES = [
    # ------------------------------------------------------------- plain statements
    _case("assign-next", """
def run():
    x = 0
    x = {}["a"]
    return x
""", ("x = 5", "next"), expect=5),
    _case("assign-retry", """
def run():
    d = {}
    x = d["a"]
    return x
""", ("d['a'] = 7", "retry"), expect=7),
    _case("expression-next", """
def run():
    out = []
    out.append(1 / 0)
    out.append(2)
    return out
""", ("out.append(-1)", "next"), expect=[-1, 2]),
    _case("augmented-assignment", """
def run():
    n = 1
    n += "a"
    return n
""", ("n += 1", "next"), expect=2),
    _case("annotated-assignment", """
def run():
    n: int = int("x")
    return n
""", ("n = 3", "next"), expect=3),
    _case("tuple-unpacking", """
def run():
    a, b = (1,)
    return a, b
""", ("a = 1\nb = None", "next"), expect=(1, None)),
    _case("delete", """
def run():
    d = {}
    del d["a"]
    return "gone"
""", ("pass", "next"), expect="gone"),
    _case("delete-local-then-rebind", """
def run():
    x = 1
    y = {}["a"]
    try:
        x
    except NameError:
        x = "unbound"
    return x
""", ("x = 2\ny = 0", "next"), expect=2),
    _case("raise-statement", """
def run():
    n = -1
    if n < 0:
        raise ValueError("negative")
    return n
""", ("n = 0", "next"), expect=0),
    _case("walrus", """
def run():
    total = 0
    if (n := int("x")) > 0:
        total = n
    return total
""", ("total = 9", "next"), expect=9),
    _case("import-in-function", """
def run():
    import a_module_that_is_not_there as m
    return m
""", ("m = None", "next"), expect=None),
    _case("new-name-seen-by-later-heal", """
def run():
    a = {}["a"]
    b = {}["b"]
    return a, b
""", ("a = 1\nkept = 41", "next"), ("b = kept + 1", "next"), expect=(1, 42)),
    _case("print-in-heal", """
def run():
    x = {}["a"]
    return x
""", ("print('healing')\nx = 1", "next"), expect=1),
    # ------------------------------------------------------------- returns
    _case("return-expression-set", """
def run():
    return {}["a"]
""", ("_eh_rtn = 3", "next"), expect=3),
    _case("return-expression-unset-is-none", """
def run():
    if True:
        return {}["a"]
    return "fell through"
""", ("pass", "next"), expect=None),
    _case("return-expression-retry", """
def run():
    d = {}
    return d["a"]
""", ("d['a'] = 4", "retry"), expect=4),
    _case("leave-from-the-middle", """
def run():
    x = {}["a"]
    return "not this"
""", ("_eh_rtn = 'left'", "next"), expect="left"),
    _case("explicit-resume-return", """
def run():
    x = {}["a"]
    return "not this"
""", ("_eh_rtn = 1", "return"), expect=1),
    _case("recursion", """
def down(n):
    if n == 0:
        return {}["bottom"]
    return n + down(n - 1)

def run():
    return down(4)
""", ("_eh_rtn = 100", "next"), expect=110),
    # ------------------------------------------------------------- loops
    _case("for-body-continue", """
def run():
    out = []
    for i in range(4):
        out.append(10 // (i - 2))
    return out
""", ("pass", "continue"), expect=[-5, -10, 10]),
    _case("for-body-break", """
def run():
    out = []
    for i in range(4):
        out.append(10 // (i - 2))
    else:
        out.append("else")
    return out
""", ("pass", "break"), expect=[-5, -10]),
    _case("for-else-after-continue", """
def run():
    out = []
    for i in range(2):
        out.append({}[i])
    else:
        out.append("else")
    return out
""", ("pass", "continue"), ("pass", "continue"), expect=["else"]),
    _case("nested-loops-innermost", """
def run():
    out = []
    for a in range(2):
        for b in range(3):
            if b == 1:
                {}[b]
            out.append((a, b))
        out.append(a)
    return out
""", ("pass", "break"), ("pass", "continue"), expect=[(0, 0), 0, (1, 0), (1, 2), 1]),
    _case("return-from-nested-loops", """
def run():
    for a in range(2):
        for b in range(3):
            while True:
                {}[b]
    return "end"
""", ("_eh_rtn = (a, b)", "next"), expect=(0, 0)),
    _case("while-body-retry", """
def run():
    d = {}
    n = 0
    while n < 2:
        x = d["a"]
        n += 1
    return x, n
""", ("d['a'] = 'ok'", "retry"), expect=("ok", 2)),
    _case("for-body-retry", """
def run():
    d = {}
    out = []
    for k in "ab":
        out.append(d[k])
    return out
""", ("d[k] = k * 2", "retry"), ("d[k] = k * 3", "retry"), expect=["aa", "bbb"]),
    _case("for-header-next-skips-the-loop", """
def run():
    out = []
    for i in None:
        out.append(i)
    out.append("after")
    return out
""", ("pass", "next"), expect=["after"]),
    _case("for-header-retry", """
def run():
    items = None
    out = []
    for i in items:
        out.append(i)
    return out
""", ("items = [1, 2]", "retry"), expect=[1, 2]),
    _case("while-header-retry", """
def run():
    d = {}
    n = 0
    while d["go"] and n < 2:
        n += 1
    return n
""", ("d['go'] = True", "retry"), expect=2),
    _case("while-header-next", """
def run():
    n = 0
    while {}["go"]:
        n += 1
    return n
""", ("n = 7", "next"), expect=7),
    _case("unpacking-for-target", """
def run():
    out = []
    for a, b in [(1, 2), (3,)]:
        out.append(a + b)
    return out
""", ("out.append(0)", "next"), expect=[3, 0]),
    # ------------------------------------------------------------- if
    _case("if-header-retry", """
def run():
    d = {}
    if d["flag"]:
        return "then"
    return "else"
""", ("d['flag'] = 1", "retry"), expect="then"),
    _case("if-header-next-skips-both", """
def run():
    out = []
    if {}["flag"]:
        out.append("then")
    else:
        out.append("else")
    return out
""", ("out.append('healed')", "next"), expect=["healed"]),
    _case("elif-header", """
def run():
    d = {}
    if False:
        return 1
    elif d["x"]:
        return 2
    return 3
""", ("d['x'] = True", "retry"), expect=2),
    _case("inside-if-body", """
def run():
    if True:
        x = {}["a"]
        x += 1
    return x
""", ("x = 1", "next"), expect=2),
    # ------------------------------------------------------------- try
    _case("try-body-next", """
def run():
    out = []
    try:
        out.append({}["a"])
        out.append("body")
    except ValueError:
        out.append("handler")
    else:
        out.append("else")
    finally:
        out.append("finally")
    return out
""", ("pass", "next"), expect=["body", "else", "finally"]),
    _case("try-body-return-runs-finally", """
OUT = []

def work():
    try:
        OUT.append({}["a"])
        OUT.append("body")
    finally:
        OUT.append("finally")
    return "end"

def run():
    return work(), OUT
""", ("_eh_rtn = 'left'", "next"), expect=("left", ["finally"])),
    _case("try-body-retry", """
def run():
    d = {}
    out = []
    try:
        out.append(d["a"])
    finally:
        out.append("finally")
    return out
""", ("d['a'] = 1", "retry"), expect=[1, "finally"]),
    _case("except-body-next", """
def run():
    out = []
    try:
        int("x")
    except ValueError as e:
        out.append({}["a"])
        out.append(type(e).__name__)
    return out
""", ("pass", "next"), expect=["ValueError"]),
    _case("except-body-return", """
def run():
    try:
        int("x")
    except ValueError:
        {}["a"]
    return "end"
""", ("_eh_rtn = 'left'", "next"), expect="left"),
    _case("else-body-continue", """
def run():
    out = []
    for i in range(2):
        try:
            pass
        except ValueError:
            pass
        else:
            {}[i]
        out.append(i)
    return out
""", ("pass", "continue"), ("pass", "next"), expect=[1]),
    _case("finally-body-next", """
def run():
    out = []
    try:
        out.append("body")
    finally:
        out.append({}["a"])
        out.append("finally")
    return out
""", ("pass", "next"), expect=["body", "finally"]),
    _case("guarded-statement-next", """
def run():
    try:
        x = {}["a"]
    except ValueError:
        x = "handler"
    return x
""", ("x = 'healed'", "next"), expect="healed"),
    _case("deliberate-raise-reaches-the-handler", """
def run():
    try:
        x = {}["a"]
    except LookupError:
        raise
    except ValueError as e:
        x = "handled " + str(e)
    return x
""", ("_eh_raise = ValueError('wanted')", "next"), expect="handled wanted"),
    _case("deliberate-raise-from-callee", """
def inner():
    return {}["a"]

def run():
    try:
        return inner()
    except ValueError as e:
        return "handled " + str(e) + " after " + type(e.__context__).__name__
""", ("_eh_raise = ValueError('wanted')", "next"), expect="handled wanted after KeyError"),
    _case("return-in-finally", """
def run():
    out = []
    try:
        pass
    finally:
        out.append({}["a"])
    return out
""", ("_eh_rtn = 1", "next"), expect=1),
    # ------------------------------------------------------------- with
    _case("with-body-next", """
from contextlib import contextmanager

@contextmanager
def room(out):
    out.append("in")
    yield
    out.append("out")

def run():
    out = []
    with room(out):
        out.append({}["a"])
        out.append("body")
    return out
""", ("pass", "next"), expect=["in", "body", "out"]),
    _case("with-body-return-leaves-orderly", """
class Room:
    def __init__(self, out):
        self.out = out

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        self.out.append(kind)

OUT = []

def work():
    with Room(OUT):
        {}["a"]
    return "end"

def run():
    return work(), OUT
""", ("_eh_rtn = 1", "next"), expect=(1, [None])),
    _case("with-body-continue", """
class Room:
    def __init__(self, out):
        self.out = out

    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        self.out.append(kind)

def run():
    out = []
    for i in range(2):
        with Room(out):
            {}[i]
            out.append("not this")
        out.append("nor this")
    return out
""", ("pass", "continue"), ("pass", "break"), expect=[None, None]),
    _case("with-header-next-skips-the-body", """
def run():
    out = []
    with {}["a"] as x:
        out.append(x)
    out.append("after")
    return out
""", ("pass", "next"), expect=["after"]),
    _case("with-header-retry", """
import contextlib

def run():
    d = {}
    with d["a"] as x:
        return x
""", ("d['a'] = contextlib.nullcontext(5)", "retry"), expect=5),
    _case("with-body-retry", """
import contextlib

def run():
    d = {}
    with contextlib.nullcontext():
        x = d["a"]
    return x
""", ("d['a'] = 8", "retry"), expect=8),
    # ------------------------------------------------------------- match
    _case("match-subject-retry", """
def run():
    d = {}
    match d["kind"]:
        case 1:
            return "one"
        case _:
            return "other"
""", ("d['kind'] = 1", "retry"), expect="one", since=(3, 10)),
    _case("match-case-body", """
def run():
    match [1, 2]:
        case [a, b]:
            x = {}["a"]
            return x + a + b
    return None
""", ("x = 10", "next"), expect=13, since=(3, 10)),
    _case("match-guard", """
def run():
    match 3:
        case n if {}["limit"] < n:
            return "big"
        case _:
            return "small"
    return "after"
""", ("pass", "next"), expect="after", since=(3, 10)),
    # ------------------------------------------------------------- expressions with frames of their own
    _case("list-comprehension", """
def run():
    rows = [{"a": 1}, {}]
    found = [row["a"] for row in rows]
    return found
""", ("found = [row.get('a', 0) for row in rows]", "next"), expect=[1, 0]),
    _case("generator-expression", """
def run():
    rows = [{"a": 1}, {}]
    total = sum(row["a"] for row in rows)
    return total
""", ("total = sum(row.get('a', 0) for row in rows)", "next"), expect=1),
    _case("lambda", """
def run():
    rows = [{"k": 2}, {}]
    rows.sort(key=lambda row: row["k"])
    return rows
""", ("rows.sort(key=len)", "next"), expect=[{}, {"k": 2}]),
    _case("conditional-expression", """
def run():
    d = {}
    x = 1 if d["a"] else 2
    return x
""", ("x = 2", "next"), expect=2),
    # ------------------------------------------------------------- scopes
    _case("cell-variable", """
def run():
    n = 1
    def inner():
        return n
    x = {}["a"]
    return inner(), x
""", ("n = 5\nx = 0", "next"), expect=(5, 0)),
    _case("free-variable", """
def run():
    n = 1
    def inner():
        nonlocal n
        x = {}["a"]
        return x
    return inner(), n
""", ("n = 6\nx = 0", "next"), expect=(0, 6)),
    _case("free-variable-is-written-without-nonlocal", """
def run():
    n = 1
    def inner():
        x = n + {}["a"]
        return x
    return inner(), n
""", ("n = 6\nx = n", "next"), expect=(6, 6)),
    _case("global-variable", """
LIMIT = 1

def run():
    x = {}["a"] + LIMIT
    return x, LIMIT
""", ("LIMIT = 9\nx = LIMIT", "next"), expect=(9, 9)),
    _case("declared-global", """
COUNT = 0

def run():
    global COUNT
    COUNT = COUNT + {}["a"]
    return COUNT
""", ("COUNT = 3", "next"), expect=3),
    _case("global-seen-by-callee-while-healing", """
STRICT = True

def check(n):
    return "strict" if STRICT else n

def run():
    x = {}["a"]
    return x, STRICT
""", ("STRICT = False\nx = check(1)", "next"), expect=(1, False)),
    _case("comprehension-in-heal-sees-locals", """
def run():
    rows, factor = [1, 2], 3
    x = {}["a"]
    return x
""", ("x = [r * factor for r in rows]", "next"), expect=[3, 6]),
    _case("class-body", """
def run():
    class Settings:
        size = {}["a"]
        double = size * 2
    return Settings.size, Settings.double
""", ("size = 4", "next"), expect=(4, 8)),
    _case("class-body-retry", """
D = {}

def run():
    class Settings:
        size = D["a"]
    return Settings.size
""", ("D['a'] = 5", "retry"), expect=5),
    _case("module-level", """
VALUE = {}["a"]
TWICE = VALUE * 2

def run():
    return VALUE, TWICE
""", ("VALUE = 2", "next"), expect=(2, 4)),
    _case("module-level-loop-continue", """
OUT = []
for i in range(3):
    OUT.append(1 // (i - 1))

def run():
    return OUT
""", ("pass", "continue"), expect=[-1, 1]),
    # ------------------------------------------------------------- methods
    _case("method", """
class Box:
    def __init__(self):
        self.items = None

    def first(self):
        return self.items[0]

def run():
    return Box().first()
""", ("_eh_rtn = None", "next"), expect=None),
    _case("init", """
class Box:
    def __init__(self, size):
        self.size = int(size)
        self.ready = True

def run():
    box = Box("x")
    return box.size, box.ready
""", ("self.size = 0", "next"), expect=(0, True)),
    _case("property", """
class Box:
    @property
    def area(self):
        return self.width * 2

def run():
    return Box().area
""", ("_eh_rtn = 0", "next"), expect=0),
    _case("super-in-heal", """
class Base:
    def name(self):
        return "base"

class Child(Base):
    def name(self):
        x = {}["a"]
        return super().name() + x

def run():
    return Child().name()
""", ("x = '!'", "next"), expect="base!"),
    _case("decorated-function-definition", """
def run():
    def broken(f):
        return f.missing
    @broken
    def g():
        return 1
    return g
""", ("_eh_rtn = f", "next"), expect="<function>"),
    _case("decorator-itself", """
def run():
    @{}["decorator"]
    def g():
        return 1
    return g
""", ("g = None", "next"), expect=None, since=(3, 9)),
    _case("default-argument", """
def run():
    def g(x={}["a"]):
        return x
    return g
""", ("g = 0", "next"), expect=0),
    # ------------------------------------------------------------- generators and coroutines
    _case("generator-next", """
def numbers():
    yield 1
    x = {}["a"]
    yield x

def run():
    return list(numbers())
""", ("x = 2", "next"), expect=[1, 2]),
    _case("generator-return-ends-it", """
def numbers():
    yield 1
    {}["a"]
    yield 2

def run():
    return list(numbers())
""", ("_eh_rtn = None", "next"), expect=[1]),
    _case("generator-retry", """
D = {}

def numbers():
    yield 1
    x = D["a"]
    yield x

def run():
    return list(numbers())
""", ("D['a'] = 3", "retry"), expect=[1, 3]),
    _case("coroutine", """
import asyncio

async def work():
    await asyncio.sleep(0)
    x = {}["a"]
    return x

def run():
    return asyncio.run(work())
""", ("x = 2", "next"), expect=2),
    _case("coroutine-return", """
import asyncio

async def work():
    {}["a"]
    return "end"

def run():
    return asyncio.run(work())
""", ("_eh_rtn = 'left'", "next"), expect="left"),
    _case("async-with-and-for", """
import asyncio

class Room:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc):
        return None

async def items():
    for i in range(3):
        yield i

async def work():
    out = []
    async with Room():
        async for i in items():
            out.append(10 // (i - 1))
    return out

def run():
    return asyncio.run(work())
""", ("pass", "continue"), expect=[-10, 10]),
    _case("async-generator-next", """
import asyncio

async def items():
    yield 1
    x = {}["a"]
    yield x

async def work():
    return [i async for i in items()]

def run():
    return asyncio.run(work())
""", ("x = 2", "next"), expect=[1, 2]),
    _case("async-generator-end", """
import asyncio

async def items():
    yield 1
    {}["a"]
    yield 2

async def work():
    return [i async for i in items()]

def run():
    return asyncio.run(work())
""", ("_eh_rtn = None", "next"), expect=[1]),
    _case("thread", """
import threading

OUT = []

def work():
    x = {}["a"]
    OUT.append(x)

def run():
    t = threading.Thread(target=work)
    t.start()
    t.join()
    return OUT
""", ("x = 'healed'", "next"), expect=["healed"]),
    # ------------------------------------------------------------- several, and outer frames
    _case("two-crashes", """
def run():
    a = {}["a"]
    b = {}["b"]
    return a, b
""", ("a = 1", "next"), ("b = 2", "next"), expect=(1, 2)),
    _case("failing-heal-is-answered-and-revised", """
def run():
    x = {}["a"]
    return x
""", ("x = {}['b']", "next"), ("x = 3", "next"), expect=3),
    _case("caller-frame", """
OUT = []

def look_up(d, k):
    try:
        return d[k]
    finally:
        OUT.append("unwound")

def run():
    x = look_up({}, "a")
    return x, OUT
""", ("x = 'default'", "next", 1), expect=("default", ["unwound"])),
    _case("caller-frame-continue", """
def look_up(d, k):
    return d[k]

def run():
    out = []
    for k in "ab":
        out.append(look_up({"b": 2}, k))
    return out
""", ("pass", "continue", 1), expect=[2]),
    _case("caller-frame-return", """
def look_up(d, k):
    return d[k]

def middle():
    x = look_up({}, "a")
    return x

def run():
    return middle(), "after"
""", ("_eh_rtn = 0", "next", 1), expect=(0, "after")),
    _case("reraise", """
def run():
    return {}["a"]
""", expect="raises KeyError: 'a'"),
]

REFUSED = [
    _case("return-at-module-level", """
VALUE = {}["a"]

def run():
    return VALUE
""", ("_eh_rtn = 1", "next"), ("VALUE = 1", "next"), expect=1),
    _case("return-in-class-body", """
def run():
    class C:
        x = {}["a"]
    return C.x
""", ("_eh_rtn = 1", "next"), ("x = 1", "next"), expect=1),
    _case("continue-without-loop", """
def run():
    x = {}["a"]
    return x
""", ("pass", "continue"), ("x = 1", "next"), expect=1),
    _case("break-outside-the-function-with-the-loop", """
def work():
    x = {}["a"]
    return x

def run():
    return [work() for _ in range(1)]
""", ("pass", "break"), ("x = 1", "next"), expect=[1]),
    _case("value-from-async-generator", """
import asyncio

async def items():
    yield 1
    x = {}["a"]
    yield x

async def work():
    return [i async for i in items()]

def run():
    return asyncio.run(work())
""", ("_eh_rtn = 5", "next"), ("x = 2", "next"), expect=[1, 2]),
    _case("resume-return-without-value", """
def run():
    x = {}["a"]
    return x
""", ("pass", "return"), ("x = 1", "next"), expect=1),
    _case("unknown-resume", """
def run():
    x = {}["a"]
    return x
""", ("x = 1", "later"), ("x = 1", "next"), expect=1),
    _case("frame-that-is-not-there", """
def run():
    x = {}["a"]
    return x
""", ("x = 1", "next", 7), ("x = 1", "next"), expect=1),
    _case("retry-behind-another-statement-on-the-line", """
def run():
    d = {}
    n = 0
    n += 1; x = d["a"]
    return x, n
""", ("d['a'] = 1", "retry"), ("x = 2", "next"), expect=(2, 1)),
    _case("both-ways-out", """
def run():
    x = {}["a"]
    return x
""", ("_eh_rtn = 1\n_eh_raise = ValueError('no')", "next"), ("x = 1", "next"), expect=1),
]
"""Heals whose first submission must be answered with a clear refusal, and whose second one works."""
