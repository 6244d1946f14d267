"""`retry` leads to the same result as if the input had been right from the start, whatever is around the statement."""

# ruff: noqa: ARG001, B905, UP036 - runs on Python 3.8 too

import ast
import sys
import textwrap
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
SOURCES = {name: textwrap.dedent(text) for name, text in PROGRAMS.items()}


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


def load(source, name="retried.py", space=None):
    done = rewrite(ast.parse(source), source)
    space = {"__name__": "retried"} if space is None else space
    code = compile(done.tree, name, "exec")
    return code, space, done.sites


def load_main(source, name="retried.py"):
    code, space, sites = load(source, name)
    exec(code, space)
    return space["main"], sites


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


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_retry_is_as_if_nothing_had_failed(name):
    hooks.install(lambda *_: ())
    main, sites = load_main(SOURCES[name])
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


@pytest.mark.parametrize(
    "body", ["log.append(1)", "return log.append(1)", "1 / 0"], ids=["in order", "on the way out", "after an error"]
)
def test_a_finally_block_is_refused_with_a_reason_and_the_error_goes_on(body):
    hooks.install(lambda *_: ())
    source = textwrap.dedent(
        """
        def main(d, log):
            try:
                {}
            finally:
                log.append(d['a'])
        """
    ).format(body)
    main, sites = load_main(source)
    engine = Retrying(sites, {})
    hooks.install(engine)
    with pytest.raises(KeyError):
        main(engine.mapping, [])
    assert len(engine.refused) == 1
    assert "finally" in engine.refused[0]


def test_module_level():
    source = "x = 1\nlog.append(d['a'])\ny = x + 1\n"
    space = {"d": {}, "log": []}
    code, space, sites = load(source, space=space)
    hooks.install(Retrying(sites, space["d"]))
    exec(code, space)
    assert space["log"] == [5]
    assert space["y"] == 2


def test_two_retries_in_one_frame():
    source = "def main(d, log):\n    x = d['a']\n    del d['a']\n    y = d['a']\n    return x, y\n"
    main, sites = load_main(source)
    engine = Retrying(sites, {})
    hooks.install(engine)
    assert main(engine.mapping, []) == (5, 5)
    assert engine.retried == 2


def test_the_tracer_of_a_debugger_is_back_after_the_jump_and_sees_the_rest():
    main, sites = load_main(SOURCES["for body"])
    engine = Retrying(sites, {})
    hooks.install(engine)
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code.co_filename == "retried.py" and event in ("line", "return"):
            lines.append((event, frame.f_lineno))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        run(main, engine.mapping)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert engine.retried == 1
    assert [line for event, line in lines if event == "line"].count(5) >= 3
    assert lines[-1] == ("return", 8)


def test_threads_do_not_disturb_each_other():
    results, errors = {}, []

    def work(number):
        try:
            results[number] = run(mains[number][0], mains[number][1])
        except BaseException as exc:
            errors.append(exc)

    loaded = [load_main(SOURCES["for body"]) for _ in range(4)]
    mappings = [{} for _ in loaded]
    mains = [(main, mapping) for (main, _), mapping in zip(loaded, mappings)]
    engines = {id(main.__code__): Retrying(sites, mapping) for (main, sites), mapping in zip(loaded, mappings)}
    hooks.install(lambda number, frame, exc: engines[id(frame.f_code)](number, frame, exc))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert results == {number: (2, [0, 5, 1, 5, 2, 5, "else"]) for number in range(4)}
    assert [engine.retried for engine in engines.values()] == [1] * 4


@pytest.mark.parametrize("name", ["simple", "for body", "with header", "try body", "generator", "method", "recursion"])
def test_coverage_counts_the_same_lines_as_without_a_crash(name, tmp_path):
    coverage = pytest.importorskip("coverage")
    path = tmp_path / "retried.py"
    path.write_text(SOURCES[name] + "\n\ndef afterwards(x):\n    if x:\n        return 1\n    return 2\n", "utf-8")

    def lines(mapping):
        code, space, sites = load(path.read_text("utf-8"), str(path))
        hooks.install(Retrying(sites, mapping))
        measuring = coverage.Coverage(data_file=None, include=[str(path)], branch=True, config_file=False)
        measuring.start()
        try:
            exec(code, space)
            run(space["main"], mapping)
            space["afterwards"](0)
        finally:
            measuring.stop()
        data = measuring.get_data()
        return sorted(data.lines(str(path)))

    assert lines({}) == lines({'a': 5})


def test_retry_says_no_where_there_is_no_handler():
    def plain():
        return sys._getframe()

    if sys.version_info < (3, 11):
        pytest.skip("before 3.11 the place is only checked by can_retry")
    with pytest.raises(ValueError, match="cannot be tried again"):
        retry(plain(), 1)
