"""Functions, closures, generators, callbacks, exceptions, managers, threads, tasks, stores."""
import asyncio, collections, concurrent.futures, contextlib, contextvars, csv, functools, io, itertools, operator, os, queue, tempfile, threading
import vault
from lost import lost
from vault import wire
import vault as v2

pay = wire
mod = None

def ident(a): return a
def const(a): return 'c'
def kw(a, *, b='d'): return b
def star(*args, **kwargs): return inner(*args, **kwargs)
def inner(a, b='b', **more): return (a, b, more)

def unsafe_return():
    x = lost['x']
    wire(ident(x))
def safe_return():
    x = lost['x']
    wire(const(x))

def unsafe_forward():
    x = lost['x']
    wire(star('a', b=x)[1])
def safe_forward():
    x = lost['x']
    wire(star('a', b=x, c='k')[2]['c'] + star('a', b=x)[0])

def unsafe_star_call():
    x = lost['x']
    a = ['p', x]
    wire(inner(*a)[1])
def safe_star_call():
    x = lost['x']
    a = ['p', x]
    wire(inner(*a)[0])

def unsafe_double_star_sink():
    x = lost['x']
    wire(**{'value': x, 'note': 'n'})
def safe_double_star_sink():
    x = lost['x']
    wire(**{'value': 'v', 'note': x})

def unsafe_default():
    x = lost['x']
    def f(a=x, b='b'): return a
    wire(f())
def safe_default():
    x = lost['x']
    def f(a=x, b='b'): return b
    wire(f())

def unsafe_default_after():
    x = lost['x']
    wire(kw('a', b=x))
def safe_default_after():
    x = lost['x']
    kw('a', b=x)
    wire(kw('a'))

def unsafe_mutable_default():
    def f(a, acc=[]): acc.append(a); return acc
    x = lost['x']
    f(x)
    wire(f('n')[0])
def safe_mutable_default():
    def f(a, acc=[]): acc.append(a); return acc
    x = lost['x']
    f(x)
    wire(f('n')[1])

def fact(n, acc): return acc if n == 0 else fact(n - 1, acc)

def unsafe_recursion():
    x = lost['x']
    wire(fact(30, x))
def safe_recursion():
    n = lost['n']
    wire(fact(n, 'acc'))

def unsafe_closure():
    x = lost['x']
    def f(): return x
    wire(f())
def safe_closure():
    x = lost['x']
    y = 'y'
    def f(): return y
    wire(f())

def unsafe_old_closure():
    x = 'old'; y = 'y'
    def f(): return x
    def g(): return y
    x = lost['x']
    wire(f())
def safe_old_closure():
    x = 'old'; y = 'y'
    def f(): return x
    def g(): return y
    x = lost['x']
    wire(g())

def unsafe_nonlocal():
    c = 'c'
    def put(v):
        nonlocal c
        c = v
    x = lost['x']
    put(x)
    wire(c)
def safe_nonlocal():
    c = 'c'
    def put(v):
        nonlocal c
        c = v
    x = lost['x']
    put(x); put('n')
    wire(c)

def set_mod(v):
    global mod
    mod = v

def unsafe_global():
    x = lost['x']
    set_mod(x)
    wire(mod)
def safe_global():
    x = lost['x']
    set_mod(x); set_mod('n')
    wire(mod)

def unsafe_lambda():
    x = lost['x']
    f = lambda a: a + x
    wire(f('a'))
def safe_lambda():
    x = lost['x']
    f = lambda a: a + 'b'
    wire(f('a'))

def unsafe_partial():
    x = lost['x']
    p = functools.partial(inner, 'a', b=x)
    wire(p()[1])
def safe_partial():
    x = lost['x']
    p = functools.partial(inner, 'a', b=x)
    wire(p()[0])

def unsafe_partial_sink():
    x = lost['x']
    functools.partial(wire, x)()
def safe_partial_sink():
    x = lost['x']
    functools.partial(wire, 'a', note=x)()

def unsafe_bound_method():
    x = lost['x']
    f = x.upper
    wire(f())
def safe_bound_method():
    x = lost['x']
    f = 'a'.upper
    wire(f())

def unsafe_alias_sink():
    x = lost['x']
    pay(x); 
def safe_alias_sink():
    x = lost['x']
    pay('x')

def unsafe_sink_in_map():
    x = lost['x']
    list(map(wire, ['a', x]))
def safe_sink_in_map():
    x = lost['x']
    list(map(wire, ['a', 'b']))

def unsafe_sink_in_for():
    x = lost['x']
    for v in ['a', x]: wire(v)
def safe_sink_in_for():
    x = lost['x']
    for v in ['a', 'b']: wire(v)

def unsafe_sink_as_key():
    x = lost['x']
    sorted([x, 'a'], key=wire)
def safe_sink_as_key():
    x = lost['x']
    sorted(['b', 'a'], key=wire)

def unsafe_sink_in_dict():
    x = lost['x']
    {'go': wire}['go'](x)
def safe_sink_in_dict():
    x = lost['x']
    {'go': wire}['go']('x')

def unsafe_decorated():
    x = lost['x']
    @functools.wraps(wire)
    def w(*a): return wire(*a)
    w(x)
def safe_decorated():
    x = lost['x']
    @functools.wraps(ident)
    def w(*a): return wire('n')
    w(x)

def unsafe_reduce():
    x = lost['x']
    wire(functools.reduce(lambda a, b: a + b, ['a', x, 'c']))
def safe_reduce():
    x = lost['x']
    wire(functools.reduce(lambda a, b: b, [x, 'b', 'c']))

def unsafe_lru():
    @functools.lru_cache
    def f(a): return a + '!'
    x = lost['x']
    f(x)
    wire(f('hot'))
def safe_lru():
    @functools.lru_cache
    def f(a): return a + '!'
    x = lost['x']
    f(x)
    wire(f('n'))

def unsafe_memo():
    memo = {}
    def f(k, v):
        if k not in memo: memo[k] = v
        return memo[k]
    x = lost['x']
    f('a', x)
    wire(f('a', 'z'))
def safe_memo():
    memo = {}
    def f(k, v):
        if k not in memo: memo[k] = v
        return memo[k]
    x = lost['x']
    f('a', x)
    wire(f('b', 'z'))

def gen(a, b):
    yield b
    yield a

def unsafe_generator():
    x = lost['x']
    g = gen(x, 'b'); next(g)
    wire(next(g))
def safe_generator():
    x = lost['x']
    g = gen(x, 'b')
    wire(next(g))

def unsafe_generator_list():
    x = lost['x']
    wire(list(gen(x, 'b'))[1])
def safe_generator_list():
    x = lost['x']
    wire(list(gen(x, 'b'))[0])

def deleg(a): 
    r = yield from gen(a, 'b')
    yield 'end'

def unsafe_yield_from():
    x = lost['x']
    for i, v in enumerate(deleg(x)):
        if i == 1: wire(v)
def safe_yield_from():
    x = lost['x']
    for i, v in enumerate(deleg(x)):
        if i == 2: wire(v)

def echo():
    got = None
    while True: got = yield got

def unsafe_send():
    g = echo(); next(g)
    x = lost['x']
    wire(g.send(x))
def safe_send():
    g = echo(); next(g)
    x = lost['x']
    g.send(x)
    wire(g.send('n'))

def unsafe_suspended():
    box = {'k': 'a'}
    def g():
        yield 1
        yield box['k']
    it = g(); next(it)
    x = lost['x']
    box['k'] = x
    wire(next(it))
def safe_suspended():
    box = {'k': 'a', 'j': 'b'}
    def g():
        yield 1
        yield box['j']
    it = g(); next(it)
    x = lost['x']
    box['k'] = x
    wire(next(it))

def unsafe_gen_return():
    def g(a):
        yield 1
        return a
    def h(a):
        r = yield from g(a)
        yield r
    x = lost['x']
    wire(list(h(x))[1])
def safe_gen_return():
    def g(a):
        yield 1
        return 'r'
    def h(a):
        r = yield from g(a)
        yield r
    x = lost['x']
    wire(list(h(x))[1])

def unsafe_exception_args():
    x = lost['x']
    try: raise ValueError('m', x)
    except ValueError as e: wire(e.args[1])
def safe_exception_args():
    x = lost['x']
    try: raise ValueError('m', x)
    except ValueError as e: wire(e.args[0])

def unsafe_exception_str():
    x = lost['x']
    try: raise KeyError(x)
    except KeyError as e: wire(str(e))
def safe_exception_str():
    x = lost['x']
    try:
        if x: raise KeyError('k')
    except KeyError as e: wire(str(e))

class MyErr(Exception):
    def __init__(self, msg, code): super().__init__(msg); self.code = code

def unsafe_exception_attr():
    x = lost['x']
    def f(v): raise MyErr('m', v)
    try: f(x)
    except MyErr as e: wire(e.code)
def safe_exception_attr():
    x = lost['x']
    def f(v): raise MyErr('m', v)
    try: f(x)
    except MyErr as e: wire(str(e))

def unsafe_cause():
    x = lost['x']
    try:
        try: int(x)
        except ValueError as e: raise RuntimeError('r') from e
    except RuntimeError as r: wire(str(r.__cause__))
def safe_cause():
    x = lost['x']
    try:
        try: int(x)
        except ValueError as e: raise RuntimeError('r') from e
    except RuntimeError as r: wire(str(r))

def unsafe_finally():
    x = lost['x']
    out = 'o'
    try: out = x
    finally: out = out + '!'
    wire(out)
def safe_finally():
    x = lost['x']
    out = 'o'
    try: out = x
    finally: out = 'f'
    wire(out)

@contextlib.contextmanager
def manage(a, b):
    yield a
def unsafe_contextmanager():
    x = lost['x']
    with manage(x, 'b') as m: wire(m)
def safe_contextmanager():
    x = lost['x']
    with manage('a', x) as m: wire(m)

def unsafe_exitstack():
    x = lost['x']
    with contextlib.ExitStack() as st: st.callback(wire, x)
def safe_exitstack():
    x = lost['x']
    with contextlib.ExitStack() as st: st.callback(wire, 'a', x)

def unsafe_thread():
    x = lost['x']
    out = []
    t = threading.Thread(target=lambda v: out.append(v), args=(x,)); t.start(); t.join()
    wire(out[0])
def safe_thread():
    x = lost['x']
    out = []
    t = threading.Thread(target=lambda v: out.append('n'), args=(x,)); t.start(); t.join()
    wire(out[0])

def unsafe_queue():
    q = queue.Queue()
    x = lost['x']
    q.put('a'); q.put(x); q.get()
    wire(q.get())
def safe_queue():
    q = queue.Queue(); r = queue.Queue()
    x = lost['x']
    q.put(x); r.put('n')
    wire(r.get())

def unsafe_simple_queue():
    q = queue.SimpleQueue()
    x = lost['x']
    q.put(x)
    wire(q.get())
def safe_simple_queue():
    q = queue.SimpleQueue(); r = queue.SimpleQueue()
    x = lost['x']
    q.put(x); r.put('n')
    wire(r.get())

def unsafe_executor():
    x = lost['x']
    with concurrent.futures.ThreadPoolExecutor(1) as e: wire(e.submit(ident, x).result())
def safe_executor():
    x = lost['x']
    with concurrent.futures.ThreadPoolExecutor(1) as e: wire(e.submit(const, 'n').result())

def unsafe_async():
    x = lost['x']
    async def co(v): await asyncio.sleep(0); return v
    async def main(): return await co(x)
    wire(asyncio.run(main()))
def safe_async():
    x = lost['x']
    async def co(v): await asyncio.sleep(0); return 'c'
    async def main(): return await co(x)
    wire(asyncio.run(main()))

def unsafe_gather():
    x = lost['x']
    async def co(v): await asyncio.sleep(0); return v
    async def main(): return await asyncio.gather(co('a'), co(x))
    wire(asyncio.run(main())[1])
def safe_gather():
    x = lost['x']
    async def co(v): await asyncio.sleep(0); return v
    async def main(): return await asyncio.gather(co('a'), co(x))
    wire(asyncio.run(main())[0])

def unsafe_task():
    x = lost['x']
    async def co(v): return v
    async def main():
        t = asyncio.create_task(co(x))
        return await t
    wire(asyncio.run(main()))
def safe_task():
    x = lost['x']
    async def co(v): return v
    async def main():
        t = asyncio.create_task(co(x)); u = asyncio.create_task(co('u'))
        await t
        return await u
    wire(asyncio.run(main()))

def unsafe_async_for():
    x = lost['x']
    async def ag():
        yield 'a'
        yield x
    async def main(): return [v async for v in ag()]
    wire(asyncio.run(main())[1])
def safe_async_for():
    x = lost['x']
    async def ag():
        yield 'a'
        yield x
    async def main(): return [v async for v in ag()]
    wire(asyncio.run(main())[0])

def unsafe_async_with():
    x = lost['x']
    class M:
        async def __aenter__(self): return x
        async def __aexit__(self, *a): pass
    async def main():
        async with M() as m: return m
    wire(asyncio.run(main()))
def safe_async_with():
    x = lost['x']
    class M:
        async def __aenter__(self): return 'm'
        async def __aexit__(self, *a): pass
    async def main():
        async with M() as m: return m
    wire(asyncio.run(main()))

def unsafe_async_queue():
    x = lost['x']
    async def main():
        q = asyncio.Queue(); await q.put(x)
        return await q.get()
    wire(asyncio.run(main()))
def safe_async_queue():
    x = lost['x']
    async def main():
        q = asyncio.Queue(); r = asyncio.Queue(); await q.put(x); await r.put('n')
        return await r.get()
    wire(asyncio.run(main()))

cv, cw = contextvars.ContextVar('cv', default='d'), contextvars.ContextVar('cw', default='d')
def unsafe_contextvar():
    x = lost['x']
    cv.set(x)
    wire(cv.get())
def safe_contextvar():
    x = lost['x']
    cv.set(x); cw.set('n')
    wire(cw.get())

def unsafe_stringio():
    x = lost['x']
    s = io.StringIO(); s.write('a'); s.write(x)
    wire(s.getvalue())
def safe_stringio():
    x = lost['x']
    s = io.StringIO(); s.write(x); t = io.StringIO(); print('n', file=t)
    wire(t.getvalue())

def unsafe_csv():
    x = lost['x']
    s = io.StringIO(); csv.writer(s).writerow(['a', x])
    wire(s.getvalue())
def safe_csv():
    x = lost['x']
    s = io.StringIO(); csv.writer(s).writerow(['a', x])
    t = io.StringIO(); csv.writer(t).writerow(['a'])
    wire(t.getvalue())

def unsafe_dictreader():
    x = lost['x']
    rows = list(csv.DictReader(['h,k', 'a,b', x + ',c']))
    wire(rows[1]['h'])
def safe_dictreader():
    x = lost['x']
    rows = list(csv.DictReader(['h,k', 'a,b', x + ',c']))
    wire(rows[0]['h'])

def unsafe_threadlocal():
    loc = threading.local()
    x = lost['x']
    loc.a = x
    wire(loc.a)
def safe_threadlocal():
    loc = threading.local()
    x = lost['x']
    loc.a = x; loc.b = 'n'
    wire(loc.b)

def unsafe_remove():
    x = lost['x']
    try: os.remove('/nonexistent/' + x)
    except OSError: pass
def safe_remove():
    x = lost['x']
    try: os.remove('/nonexistent/' + 'y')
    except OSError: pass

def unsafe_condition():
    x = lost['x']
    vault.STRICT = x
    try:
        if vault.STRICT: wire('a')
    finally: vault.STRICT = True
def safe_condition():
    x = lost['x']
    vault.STRICT = x
    vault.STRICT = True
    if vault.STRICT: wire('a')

def unsafe_middle_of_expression():
    def get(): 
        return lost['r']
    wire('a' + get())
def safe_middle_of_expression():
    def get():
        return lost['r']
    wire('a' + 'b' if get() else 'c')

def unsafe_callee_mutates():
    items = []
    def fill():
        items.append(lost['x'])
    fill()
    wire(items[0])
def safe_callee_mutates():
    items = ['n']
    def fill():
        items.append(lost['x'])
    fill()
    wire(items[0])

def unsafe_caller_loop():
    def get(): 
        return lost['r']
    out = []
    for i in range(2): out.append(get() if i else 'z')
    wire(out[1])
def safe_caller_loop():
    def get():
        return lost['r']
    out = []
    for i in range(2): out.append(get() if i else 'z')
    wire(out[0])

def unsafe_caller_with():
    def get():
        return lost['r']
    with contextlib.suppress(ZeroDivisionError):
        v = get()
        wire(v)
def safe_caller_with():
    def get():
        return lost['r']
    with contextlib.suppress(ZeroDivisionError):
        v = get()
        wire('v')

def unsafe_long_run():
    x = lost['x']
    t = 0
    for i in range(20000): t += i % 7
    wire(x + str(t))
def safe_long_run():
    x = lost['x']
    t = 0
    for i in range(20000): t += i % 7
    wire('x' + str(t))

def unsafe_same_value():
    k = 'hot'
    x = lost['x']
    wire(x)
def safe_same_value():
    k = 'hot'
    x = lost['x']
    wire(k)

def unsafe_shared_int():
    n = lost['n']
    m = 7
    wire(n)
def safe_shared_int():
    n = lost['n']
    m = 7
    wire(m)
