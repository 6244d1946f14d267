"""Run by test_other_pythons.py on Python 3.8 and newer; exits 0 when everything holds. Needs only the checkout."""

import ast
import asyncio
import glob
import importlib
import os
import sys
import tempfile
import tokenize

from healguard_core.execution import hooks
from healguard_core.execution.instrument import clauses
from healguard_core.execution.instrument.importer import Importer
from healguard_core.execution.instrument.rewrite import rewrite, sites_of
from healguard_core.execution.instrument.scope import Scope

WAYS = {"return": hooks.RETURN, "continue": hooks.CONTINUE, "break": hooks.BREAK}
MARK = "boom()"

PROGRAMS = {
    "loops": """
def f():
    for a in range(2):
        while True:
            log(a)
            boom()
            log('after')
            break
        else:
            log('else')
    return 'end'
""",
    "with": """
def f():
    for a in range(3):
        with recorder(a), recorder(-a):
            if a:
                boom()
                log('after')
    return 'end'
""",
    "try": """
def f():
    for a in range(2):
        try:
            log(a)
            boom()
        except KeyError:
            log('caught')
        except BaseException as error:
            log(type(error).__name__)
            raise
        else:
            log('else')
        finally:
            log('finally')
    return 'end'
""",
    "handler": """
def f():
    for a in range(2):
        try:
            {}['k']
        except KeyError as error:
            log('caught')
            boom()
            log(error.args)
        finally:
            log('finally')
    return 'end'
""",
    "finally": """
def f():
    for a in range(2):
        try:
            log(a)
        finally:
            boom()
            log('after')
    return 'end'
""",
    "guarded": """
def f():
    for a in range(2):
        try:
            boom()
        except KeyError:
            log('caught')
        log('after')
    return 'end'
""",
    "generator": """
def f():
    for a in range(2):
        yield a
        boom()
        yield 'after'
    return 'end'
""",
    "coroutine": """
async def f():
    async for a in counting(2):
        async with recorder(a):
            boom()
            log('after')
    return 'end'
""",
}


class Recorder:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def __enter__(self):
        self.log(("enter", self.name))

    def __exit__(self, kind, value, tb):
        self.log(("exit", self.name, kind))

    async def __aenter__(self):
        self.__enter__()

    async def __aexit__(self, *error):
        self.__exit__(*error)


async def counting(count):
    for number in range(count):
        yield number


def run(code, crashing):
    log = []

    def boom():
        log.append("boom")
        if crashing:
            crashing.pop()
            raise LookupError

    names = {"log": log.append, "boom": boom, "recorder": lambda name: Recorder(log.append, name), "counting": counting}
    try:
        exec(code, names)
        result = names["f"]()
        if hasattr(result, "__next__"):
            items = []
            while True:
                try:
                    items.append(next(result))
                except StopIteration as stop:
                    result = items, stop.value
                    break
        elif hasattr(result, "__await__"):
            result = asyncio.run(result)
        log.append(("returned", result))
    except Exception as error:
        log.append(("raised", repr(error)))
    return log


def written(source, way):
    """The plain program with the way spelled out behind the first crash."""
    lines = ["first = iter([True] + [False] * 99).__next__"]
    for line in source.split("\n"):
        lines.append(line)
        if line.strip() == MARK:
            indent = line[: line.index(MARK)]
            lines += [
                indent + "if first():",
                indent + "    " + {"return": "return 'healed'", "next": "pass"}.get(way, way),
            ]
    return run(compile("\n".join(lines), "<written>", "exec"), [])


def healed(source, way):
    def caught(_site, _frame, exc):
        if type(exc) is not LookupError:
            return ()  # the program's own error, which it handles
        if way == "next":
            return Exception
        raise hooks.leave(WAYS[way], "healed")

    hooks.install(caught)
    try:
        return run(compile(rewrite(ast.parse(source), source).tree, "<healed>", "exec"), [True])
    finally:
        hooks.disable()


def check_leaving():
    for name, source in PROGRAMS.items():
        line = source.split("\n").index(next(line for line in source.split("\n") if line.strip() == MARK)) + 1
        [site] = [site for site in sites_of(source) if site.line == line]
        assert site.leaves == ("return", "continue", "break"), (name, site)
        for way in ("next", *site.leaves):
            assert healed(source, way) == written(source, way), (name, way, healed(source, way), written(source, way))


def check_declining():
    hooks.install(lambda *_: ())
    for name, source in PROGRAMS.items():
        instrumented = compile(rewrite(ast.parse(source), source).tree, "<same>", "exec")
        for crashing in ([], [True]):
            plain = run(compile(source, "<same>", "exec"), list(crashing))
            assert run(instrumented, list(crashing)) == plain, name
    hooks.disable()


CERTAIN = """
class Own(LookupError):
    pass

def f():
    for kind in (LookupError, Own, OSError, KeyError, ValueError):
        try:
            log(kind.__name__)
            for a in (1, 2):
                try:
                    if a:
                        log(a)
                        boom()
                        raise kind
                except (OSError, Own):
                    log('inner')
        except LookupError as error:
            log(repr(error))
        except ValueError:
            log('failed')
            return 'end'
"""


def check_certain():
    """Errors that a handler of the same function takes are asked about by nobody, and are taken."""
    asked = []
    hooks.install(lambda *site: asked.append(site) or ())
    for crashing in ([], [True]):
        instrumented = compile(rewrite(ast.parse(CERTAIN), CERTAIN).tree, "<same>", "exec")
        plain = compile(CERTAIN, "<same>", "exec")
        assert run(instrumented, list(crashing)) == run(plain, list(crashing))
    assert asked == [], asked
    hooks.disable()
    for name in clauses._STANDARD:
        module, _, attribute = name.partition(".")
        assert issubclass(getattr(importlib.import_module(module), attribute), BaseException), name


def check_standard_library(step):
    library = os.path.dirname(os.__file__)
    files = sorted(glob.glob(os.path.join(library, "*.py")) + glob.glob(os.path.join(library, "[a-z]*", "*.py")))
    done = 0
    for path in files[::step]:
        if "site-packages" in path:
            continue
        try:
            with tokenize.open(path) as file:
                source = file.read()
            compile(source, path, "exec", dont_inherit=True)
        except (SyntaxError, UnicodeError, ValueError, RecursionError):
            continue  # deliberately broken files of CPython's own tests
        compile(rewrite(ast.parse(source), source).tree, path, "exec", dont_inherit=True)
        done += 1
    assert done > 20, done


def refuse(*notice):
    raise AssertionError(notice)


def check_importing():
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "pkg"))
        with open(os.path.join(root, "pkg", "__init__.py"), "w") as file:
            file.write("def f(d):\n    x = d['k']\n    return x\n")
        sys.path.insert(0, root)
        for _ in range(2):  # the second time from the cache
            importer = Importer(Scope(root), os.path.join(root, "cache"), refuse)
            importer.install()
            hooks.install(lambda *_: Exception)
            module = importlib.import_module("pkg")
            assert hooks.is_instrumented(module.f.__code__)
            assert [site.node for site in importer.sites(module.__file__)] == ["Assign", "Return"]
            assert module.f({}) is None
            importer.remove()
            del sys.modules["pkg"]
        sys.path.remove(root)


if __name__ == "__main__":
    sys.dont_write_bytecode = False
    check_leaving()
    check_declining()
    check_certain()
    check_importing()
    check_standard_library(int(sys.argv[1]))
