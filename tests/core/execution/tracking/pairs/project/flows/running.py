"""Ways of running: generators, exceptions, managers, threads, tasks, contexts, callbacks, code from text."""
import asyncio
import concurrent.futures
import contextlib
import contextvars
import functools
import itertools
import operator
import queue
import threading

from lost import lost
from vault import wire

VAR = contextvars.ContextVar("VAR", default="kept")


def ident(value):
    return value


def both():
    got = yield "kept"
    while True:
        got = yield got


def returning(value):
    yield "kept"
    return value


def outer(value):
    result = yield from returning(value)
    yield result


def unsafe_generator_return():
    x = lost['x']
    g = returning(x)
    next(g)
    try:
        next(g)
    except StopIteration as stop:
        wire(stop.value)
def safe_generator_return():
    x = lost['x']
    g = returning(x)
    wire(next(g))

def unsafe_yield_from_value():
    x = lost['x']
    wire(list(outer(x))[1])
def safe_yield_from_value():
    x = lost['x']
    g = outer(x)
    wire(next(g))

def unsafe_sent():
    x = lost['x']
    g = both()
    next(g)
    wire(g.send(x))
def safe_sent():
    x = lost['x']
    g = both()
    next(g)
    g.send(x)
    wire(g.send("kept"))

def unsafe_finally():
    x = lost['x']
    def f():
        try:
            return "kept"
        finally:
            return x
    wire(f())
def safe_finally():
    x = lost['x']
    def f():
        try:
            return x
        finally:
            return "kept"
    wire(f())

def unsafe_try_else():
    x = lost['x']
    found = "kept"
    try:
        pass
    except ValueError:
        found = "kept"
    else:
        found = x
    wire(found)
def safe_try_else():
    x = lost['x']
    found = x
    try:
        pass
    except ValueError:
        found = x
    else:
        found = "kept"
    wire(found)

def unsafe_exception_group():
    x = lost['x']
    try:
        raise ExceptionGroup("g", [ValueError(x), KeyError("kept")])
    except* ValueError as group:
        wire(group.exceptions[0].args[0])
    except* KeyError:
        pass
def safe_exception_group():
    x = lost['x']
    try:
        raise ExceptionGroup("g", [ValueError(x), KeyError("kept")])
    except* ValueError:
        pass
    except* KeyError as group:
        wire(group.exceptions[0].args[0])

def unsafe_error_of_c_key():
    x = lost['x']
    try:
        {}[x]
    except KeyError as error:
        wire(error.args[0])
def safe_error_of_c_key():
    x = lost['x']
    try:
        {x: 1}["kept"]
    except KeyError as error:
        wire(error.args[0])

def unsafe_error_of_c_text():
    x = lost['x']
    try:
        int(x)
    except ValueError as error:
        wire(str(error))
def safe_error_of_c_text():
    x = lost['x']
    try:
        int("kept")
    except ValueError as error:
        wire(str(error))

def unsafe_error_note():
    x = lost['x']
    error = ValueError("kept")
    error.add_note(x)
    wire(error.__notes__[0])
def safe_error_note():
    x = lost['x']
    error = ValueError("kept")
    error.add_note(x)
    wire(error.args[0])

def unsafe_context_of_error():
    x = lost['x']
    try:
        try:
            raise KeyError(x)
        except KeyError:
            raise ValueError("kept")
    except ValueError as error:
        wire(error.__context__.args[0])
def safe_context_of_error():
    x = lost['x']
    try:
        try:
            raise KeyError(x)
        except KeyError:
            raise ValueError("kept")
    except ValueError as error:
        wire(error.args[0])

@contextlib.contextmanager
def managed(value):
    yield value, "kept"

def unsafe_exit_stack():
    x = lost['x']
    with contextlib.ExitStack() as stack:
        a, b = stack.enter_context(managed(x))
        wire(a)
def safe_exit_stack():
    x = lost['x']
    with contextlib.ExitStack() as stack:
        a, b = stack.enter_context(managed(x))
        wire(b)

def unsafe_exit_callback():
    x = lost['x']
    with contextlib.ExitStack() as stack:
        stack.callback(wire, x)
def safe_exit_callback():
    x = lost['x']
    with contextlib.ExitStack() as stack:
        stack.callback(ident, x)
        stack.callback(wire, "kept")

def unsafe_suppressed():
    x = lost['x']
    found = "kept"
    with contextlib.suppress(ValueError):
        found = x
        raise ValueError
    wire(found)
def safe_suppressed():
    x = lost['x']
    found = x
    with contextlib.suppress(ValueError):
        found = "kept"
        raise ValueError(x)
    wire(found)

def unsafe_async_with():
    x = lost['x']
    @contextlib.asynccontextmanager
    async def given(value):
        await asyncio.sleep(0)
        yield value, "kept"
    async def main():
        async with given(x) as (a, b):
            return a, b
    wire(asyncio.run(main())[0])
def safe_async_with():
    x = lost['x']
    @contextlib.asynccontextmanager
    async def given(value):
        await asyncio.sleep(0)
        yield value, "kept"
    async def main():
        async with given(x) as (a, b):
            return a, b
    wire(asyncio.run(main())[1])

def unsafe_gathered():
    x = lost['x']
    async def one(value):
        await asyncio.sleep(0)
        return value
    async def main():
        return await asyncio.gather(one(x), one("kept"))
    wire(asyncio.run(main())[0])
def safe_gathered():
    x = lost['x']
    async def one(value):
        await asyncio.sleep(0)
        return value
    async def main():
        return await asyncio.gather(one(x), one("kept"))
    wire(asyncio.run(main())[1])

def unsafe_task_group():
    x = lost['x']
    async def one(value):
        await asyncio.sleep(0)
        return value
    async def main():
        async with asyncio.TaskGroup() as group:
            a, b = group.create_task(one(x)), group.create_task(one("kept"))
        return a.result(), b.result()
    wire(asyncio.run(main())[0])
def safe_task_group():
    x = lost['x']
    async def one(value):
        await asyncio.sleep(0)
        return value
    async def main():
        async with asyncio.TaskGroup() as group:
            a, b = group.create_task(one(x)), group.create_task(one("kept"))
        return a.result(), b.result()
    wire(asyncio.run(main())[1])

def unsafe_to_thread():
    x = lost['x']
    async def main():
        return await asyncio.to_thread(ident, x), await asyncio.to_thread(ident, "kept")
    wire(asyncio.run(main())[0])
def safe_to_thread():
    x = lost['x']
    async def main():
        return await asyncio.to_thread(ident, x), await asyncio.to_thread(ident, "kept")
    wire(asyncio.run(main())[1])

def unsafe_async_comprehension():
    x = lost['x']
    async def each():
        for one in ("kept", x):
            await asyncio.sleep(0)
            yield one
    async def main():
        return {i: v async for i, v in numbered(each())}
    async def numbered(source):
        i = 0
        async for v in source:
            yield i, v
            i += 1
    wire(asyncio.run(main())[1])
def safe_async_comprehension():
    x = lost['x']
    async def each():
        for one in ("kept", x):
            await asyncio.sleep(0)
            yield one
    async def main():
        return {i: v async for i, v in numbered(each())}
    async def numbered(source):
        i = 0
        async for v in source:
            yield i, v
            i += 1
    wire(asyncio.run(main())[0])

def unsafe_pool_map():
    x = lost['x']
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wire(list(pool.map(ident, ["kept", x]))[1])
def safe_pool_map():
    x = lost['x']
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wire(list(pool.map(ident, ["kept", x]))[0])

def unsafe_future_callback():
    x = lost['x']
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(ident, x).add_done_callback(lambda future: wire(future.result()))
def safe_future_callback():
    x = lost['x']
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(ident, x)
        pool.submit(ident, "kept").add_done_callback(lambda future: wire(future.result()))

def unsafe_thread_local():
    x = lost['x']
    local = threading.local()
    local.p, local.q = x, "kept"
    wire(local.p)
def safe_thread_local():
    x = lost['x']
    local = threading.local()
    local.p, local.q = x, "kept"
    wire(local.q)

def unsafe_priority_queue():
    x = lost['x']
    q = queue.PriorityQueue()
    q.put((2, x))
    q.put((1, "kept"))
    q.get()
    wire(q.get()[1])
def safe_priority_queue():
    x = lost['x']
    q = queue.PriorityQueue()
    q.put((2, x))
    q.put((1, "kept"))
    wire(q.get()[1])

def unsafe_timer():
    x = lost['x']
    t = threading.Timer(0, wire, [x])
    t.start()
    t.join()
def safe_timer():
    x = lost['x']
    t = threading.Timer(0, wire, ["kept"])
    t.start()
    t.join()

def unsafe_context_run():
    x = lost['x']
    context = contextvars.copy_context()
    context.run(VAR.set, x)
    wire(context[VAR])
def safe_context_run():
    x = lost['x']
    context = contextvars.copy_context()
    context.run(VAR.set, x)
    wire(VAR.get())

def unsafe_context_of_task():
    x = lost['x']
    async def child():
        return VAR.get()
    async def main():
        VAR.set(x)
        return await asyncio.create_task(child())
    wire(asyncio.run(main()))
def safe_context_of_task():
    x = lost['x']
    async def child():
        VAR.set(x)
    async def main():
        await asyncio.create_task(child())
        return VAR.get()
    wire(asyncio.run(main()))

def unsafe_context_reset():
    x = lost['x']
    token = VAR.set(x)
    inner = VAR.set("kept")
    VAR.reset(inner)
    found = VAR.get()
    VAR.reset(token)
    wire(found)
def safe_context_reset():
    x = lost['x']
    token = VAR.set(x)
    VAR.reset(token)
    wire(VAR.get())

def unsafe_eval_namespace():
    x = lost['x']
    wire(eval("p + ''", {"p": x, "q": "kept"}))
def safe_eval_namespace():
    x = lost['x']
    wire(eval("q + ''", {"p": x, "q": "kept"}))

def unsafe_exec_namespace():
    x = lost['x']
    scope = {"p": x, "q": "kept"}
    exec("a = p + ''\nb = q + ''", scope)
    wire(scope["a"])
def safe_exec_namespace():
    x = lost['x']
    scope = {"p": x, "q": "kept"}
    exec("a = p + ''\nb = q + ''", scope)
    wire(scope["b"])

def unsafe_exec_locals():
    x = lost['x']
    names = {}
    exec("def f(v, w='kept'):\n    return [v, w]", {}, names)
    wire(names["f"](x)[0])
def safe_exec_locals():
    x = lost['x']
    names = {}
    exec("def f(v, w='kept'):\n    return [v, w]", {}, names)
    wire(names["f"](x)[1])

def unsafe_exec_text():
    x = lost['x']
    scope = {}
    exec(f"def f():\n    return '{x}'", scope)
    wire(scope["f"]())
def safe_exec_text():
    x = lost['x']
    scope = {"old": "kept"}
    exec(f"def f():\n    return '{x}'", {})
    exec("def f():\n    return old", scope)
    wire(scope["f"]())

def unsafe_exec_text_calls():
    x = lost['x']
    exec(f"wire('{x}')", {"wire": wire})
def safe_exec_text_calls():
    x = lost['x']
    exec(f"v = '{x}'", {})
    exec("wire('kept')", {"wire": wire})

def unsafe_lambda_default_in_loop():
    x = lost['x']
    made = [lambda v=v: v for v in ("kept", x)]
    wire(made[1]())
def safe_lambda_default_in_loop():
    x = lost['x']
    made = [lambda v=v: v for v in ("kept", x)]
    wire(made[0]())

def unsafe_walrus():
    x = lost['x']
    [last := one for one in ("kept", x)]
    wire(last)
def safe_walrus():
    x = lost['x']
    [last := one for one in (x, "kept")]
    wire(last)

def unsafe_nested_comprehension():
    x = lost['x']
    grid = [[a + b for b in ("1", "2")] for a in ("kept", x)]
    wire(grid[1][0])
def safe_nested_comprehension():
    x = lost['x']
    grid = [[a + b for b in ("1", "2")] for a in ("kept", x)]
    wire(grid[0][1])

def unsafe_methodcaller():
    x = lost['x']
    wire(operator.methodcaller("replace", "a", x)("bab"))
def safe_methodcaller():
    x = lost['x']
    operator.methodcaller("replace", "a", x)("bab")
    wire(operator.methodcaller("replace", "a", "kept")("bab"))

def unsafe_lru_cache():
    x = lost['x']
    f = functools.lru_cache(lambda a, b: a)
    f(x, 1)
    wire(f(x, 1))
def safe_lru_cache():
    x = lost['x']
    f = functools.lru_cache(lambda a, b: a)
    f(x, 1)
    wire(f("kept", 1))

def unsafe_singledispatch():
    x = lost['x']
    @functools.singledispatch
    def f(v): return "kept"
    @f.register
    def _(v: str): return v
    wire(f(x))
def safe_singledispatch():
    x = lost['x']
    @functools.singledispatch
    def f(v): return "kept"
    @f.register
    def _(v: list): return v[0]
    f([x])
    wire(f(3))

def unsafe_singledispatchmethod():
    x = lost['x']
    class C:
        @functools.singledispatchmethod
        def f(self, v): return "kept"
        @f.register
        def _(self, v: str): return v
    wire(C().f(x))
def safe_singledispatchmethod():
    x = lost['x']
    class C:
        @functools.singledispatchmethod
        def f(self, v): return "kept"
        @f.register
        def _(self, v: str): return v
    C().f(x)
    wire(C().f(3))

def unsafe_iterating_until():
    x = lost['x']
    values = ["stop", x]
    wire(list(iter(values.pop, "stop"))[0])
def safe_iterating_until():
    x = lost['x']
    values = [x, "stop", "kept"]
    wire(list(iter(values.pop, "stop"))[0])

def unsafe_tee():
    x = lost['x']
    a, b = itertools.tee(["kept", x])
    list(a)
    wire(list(b)[1])
def safe_tee():
    x = lost['x']
    a, b = itertools.tee(["kept", x])
    list(a)
    wire(list(b)[0])
