"""`retry` leads to the same result as if the input had been right from the start, whatever stands around the statement."""

import ast
import asyncio
import sys
import threading
import warnings

import pytest

from healguard_core.execution import hooks
from healguard_core.execution.instrument.rewrite import rewrite
from healguard_core.execution.pause.resume import can_retry, retry

PROGRAMS = {
    "simple": """
        def main(d, log):
            log.append(1)
            x = d['a']
            log.append(x)
            return x
        """,
    "last statement": """
        def main(d, log):
            log.append(1)
            log.append(d['a'])
        """,
    "only statement": """
        def main(d, log):
            log.append(d['a'])
        """,
    "value on a later line": """
        def main(d, log):
            x = (
                d['a']
            )
            return x
        """,
    "call over several lines in a loop": """
        def main(d, log):
            for i in [1, 2]:
                x = max(
                    i,
                    -(
                        d['a']
                    ),
                )
            return x
        """,
    "subscript over several lines": """
        def main(d, log):
            x = d[
                'a'
            ]
            return x
        """,
    "return": """
        def main(d, log):
            return d['a']
        """,
    "return over several lines": """
        def main(d, log):
            log.append(1)
            return (
                d['a']
            )
        """,
    "augmented assignment": """
        def main(d, log):
            x = 1
            x += d['a']
            return x
        """,
    "if header": """
        def main(d, log):
            if d['a']:
                log.append('then')
            else:
                log.append('else')
            return 1
        """,
    "while header": """
        def main(d, log):
            n = 0
            while n < d['a']:
                n += 1
            return n
        """,
    "for header": """
        def main(d, log):
            for i in range(d['a']):
                log.append(i)
            return 1
        """,
    "for body": """
        def main(d, log):
            for i in range(3):
                log.append(i)
                log.append(d['a'])
            else:
                log.append('else')
            return i
        """,
    "for body, one statement": """
        def main(d, log):
            for i in range(3):
                log.append(d['a'])
        """,
    "nested loops": """
        def main(d, log):
            for i in range(2):
                for j in range(2):
                    while True:
                        log.append((i, j, d['a']))
                        break
            return i, j
        """,
    "with header": """
        from contextlib import contextmanager
        @contextmanager
        def cm(value, log):
            log.append('in')
            yield value
            log.append('out')
        def main(d, log):
            with cm(d['a'], log) as x:
                log.append(x)
            return x
        """,
    "with header, only statement": """
        from contextlib import contextmanager
        @contextmanager
        def cm(value, log):
            log.append('in')
            yield value
            log.append('out')
        def main(d, log):
            with cm(d['a'], log) as x:
                log.append(x)
        """,
    "with header in a loop": """
        from contextlib import contextmanager
        @contextmanager
        def cm(value, log):
            log.append('in')
            yield value
            log.append('out')
        def main(d, log):
            for i in range(2):
                with cm(d['a'], log) as x:
                    log.append(x)
        """,
    "with header in a while loop": """
        from contextlib import contextmanager
        @contextmanager
        def cm(value, log):
            yield value
        def main(d, log):
            i = 0
            while i < 2:
                i += 1
                with cm(d['a'], log) as x:
                    log.append(x)
        """,
    "with body": """
        from contextlib import contextmanager
        @contextmanager
        def cm(log):
            log.append('in')
            yield 1
            log.append('out')
        def main(d, log):
            for i in range(2):
                with cm(log), cm(log):
                    log.append(d['a'])
            return i
        """,
    "try body": """
        def main(d, log):
            try:
                log.append(1)
                x = d['a']
            except ZeroDivisionError:
                x = 0
            else:
                log.append('else')
            finally:
                log.append('finally')
            return x
        """,
    "except body": """
        def main(d, log):
            try:
                log.append(1)
                1 / 0
            except ZeroDivisionError as e:
                log.append(d['a'])
            return 2
        """,
    "finally body": """
        def main(d, log):
            try:
                log.append(1)
            finally:
                log.append(d['a'])
            return 2
        """,
    "finally body on the way out": """
        def main(d, log):
            try:
                return log.append(1)
            finally:
                log.append(d['a'])
        """,
    "generator": """
        def gen(d, log):
            yield 1
            x = d['a']
            log.append(x)
            yield x
        def main(d, log):
            return list(gen(d, log))
        """,
    "yield statement": """
        def gen(d, log):
            got = yield d['a']
            log.append(got)
        def main(d, log):
            return list(gen(d, log))
        """,
    "comprehension": """
        def main(d, log):
            y = [d['a'] + i for i in range(2)]
            return y
        """,
    "lambda and closure": """
        def main(d, log):
            n = 1
            def inner():
                nonlocal n
                n += d['a']
                return n
            get = lambda: n
            return inner(), get()
        """,
    "class body": """
        def main(d, log):
            class C:
                x = d['a']
                y = x
            return C.x, C.y
        """,
    "method": """
        class C:
            def __init__(self, d):
                self.x = d['a']
            @property
            def y(self):
                return self.x
        def main(d, log):
            return C(d).y
        """,
    "recursion": """
        def main(d, log, n=3):
            if n:
                return main(d, log, n - 1) + d['a']
            return 0
        """,
    "unbound locals": """
        def main(d, log):
            log.append(d['a'])
            if d['a'] == 99:
                never = 1
            later = 3
            try:
                never
            except UnboundLocalError:
                log.append('unbound')
            return later
        """,
    "coroutine": """
        import asyncio
        async def work(d, log):
            await asyncio.sleep(0)
            x = d['a']
            async with asyncio.Lock():
                log.append(x)
            return x
        def main(d, log):
            loop = asyncio.new_event_loop()
            try:
                return loop.run_until_complete(work(d, log))
            finally:
                loop.close()
        """,
    "async generator": """
        import asyncio
        async def agen(d):
            yield 1
            x = d['a']
            yield x
        async def work(d, log):
            async for i in agen(d):
                log.append(i)
        def main(d, log):
            loop = asyncio.new_event_loop()
            try:
                return loop.run_until_complete(work(d, log))
            finally:
                loop.close()
        """,
    "deleted local": """
        def main(d, log):
            gone = 1
            del gone
            log.append(d['a'])
            gone = 2
            return gone
        """,
    "dict of the function over lines": """
        def main(d, log):
            x = {
                'p': 1,
                'q': d['a'],
            }
            return x
        """,
    "assert": """
        def main(d, log):
            assert (
                d['a']
            ), 'no'
            return 1
        """,
    "raise": """
        def main(d, log):
            try:
                raise IndexError(d['a'])
            except IndexError as e:
                return str(e)
        """,
    "delete statement": """
        def main(d, log):
            x = [1, 2]
            del x[d['a'] - 5]
            return x
        """,
    "import inside": """
        def main(d, log):
            import math, json
            return math.floor(d['a'])
        """,
}
SOURCES = {name: __import__("textwrap").dedent(text) for name, text in PROGRAMS.items()}


class Retrying:
    """An engine in small: puts the missing key in and tries the statement again."""

    def __init__(self, sites, mapping):
        self.sites = sites
        self.mapping = mapping
        self.refused = []
        self.retried = 0

    def __call__(self, number, frame, exc):
        if not isinstance(exc, KeyError) or 'a' in self.mapping:
            return ()
        site = self.sites[number]
        possible, why = can_retry(frame.f_code, site)
        if not possible:
            self.refused.append(why)
            return ()
        self.mapping['a'] = 5
        self.retried += 1
        retry(frame, site.retry_line)
        return Exception


def load(source, name="retried.py"):
    done = rewrite(ast.parse(source), source)
    space = {"__name__": "retried"}
    exec(compile(done.tree, name, "exec"), space)
    return space["main"], done.sites


def run(main, mapping):
    log = []
    return main(mapping, log), log


def attempt(main, mapping):
    try:
        return run(main, mapping)
    except KeyError as exc:
        return exc


@pytest.fixture(autouse=True)
def hooked():
    yield
    hooks.disable()


IMPOSSIBLE = set()


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_retry_is_as_if_nothing_had_failed(name):
    hooks.install(lambda *_: ())
    main, sites = load(SOURCES[name])
    wanted = run(main, {'a': 5})
    mapping = {}
    engine = Retrying(sites, mapping)
    hooks.install(engine)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = attempt(main, mapping)
    assert engine.refused == []
    assert engine.retried == 1
    assert got == wanted
    assert sys.gettrace() is None
