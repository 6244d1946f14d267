"""An instrumented run that heals nothing is the run that it would have been, also where a program looks closely."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Project, Result

APP = '''
    """A program that looks at itself.

    >>> depth() > 20
    True
    >>> caught()
    'KeyError'
    """
    import asyncio
    import contextlib
    import gc
    import inspect
    import logging
    import sys
    import threading
    import traceback
    import warnings
    import weakref

    class Thing:
        """Can be watched."""
        kind: int = 3

        def __init__(self, name="thing"):
            self.name = name

        @property
        def broken(self):
            raise AttributeError("broken")

    def crash(kind=KeyError, text="here"):
        thing = Thing()
        raise kind(text)

    def caught():
        try:
            crash()
        except KeyError as error:
            return type(error).__name__

    def depth():
        def down(n):
            deepest[0] = n
            down(n + 1)
        deepest = [0]
        try:
            down(0)
        except RecursionError:
            pass
        return deepest[0]

    def warn(level):
        warnings.warn("old", DeprecationWarning, stacklevel=level)
        warnings.warn("old", DeprecationWarning, stacklevel=level)

    def text_of_traceback():
        try:
            try:
                crash()
            except KeyError as error:
                error.add_note("a note")
                raise ValueError("outer") from error
        except ValueError:
            return traceback.format_exc()

    def chained():
        try:
            try:
                crash()
            except KeyError:
                crash(OSError)
        except OSError as error:
            found = []
            while error is not None:
                found.append((type(error).__name__, error.args, getattr(error, "__notes__", None)))
                error = error.__cause__ or error.__context__
            return found

    def frames_of_error():
        try:
            crash()
        except KeyError as error:
            found = []
            trace = error.__traceback__
            while trace is not None:
                frame = trace.tb_frame
                found.append((frame.f_code.co_name, trace.tb_lineno, sorted(frame.f_locals)))
                trace = trace.tb_next
            return found

    def lifetimes():
        alive = []
        def hold():
            thing = Thing()
            alive.append(weakref.ref(thing))
            crash()
        with contextlib.suppress(KeyError):
            hold()
        try:
            hold()
        except KeyError as error:
            alive.append(weakref.ref(error.__traceback__.tb_next.tb_frame.f_locals["thing"]))
        try:
            crash(type("Own", (Exception,), {}))
        except Exception as error:
            alive.append(weakref.ref(error))
        return [one() is None for one in alive], sys.exc_info()

    def names_here(a, b=2, *c, d=4):
        for e in c:
            f = e
        with contextlib.nullcontext(5) as g:
            h = sorted(locals())
        return h, sorted(name for name in globals() if not name.startswith("@")), sorted(vars(Thing))

    def source_and_signature():
        return inspect.getsource(crash), str(inspect.signature(names_here)), Thing.__doc__, Thing.__annotations__

    def callers():
        return [(one.function, one.lineno, one.code_context) for one in inspect.stack()[:3]]

    def lines_seen():
        seen = []
        def tracer(frame, event, argument):
            if frame.f_code in (caught.__code__, crash.__code__):
                if event in ("call", "line") and seen[-1:] != [(frame.f_code.co_name, frame.f_lineno)]:
                    seen.append((frame.f_code.co_name, frame.f_lineno))  # a raise is met twice, in one line
                return tracer
        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            caught()
        finally:
            sys.settrace(before)
        return seen

    def generators():
        log = []
        def generator():
            try:
                while True:
                    log.append((yield len(log)))
            except KeyError as error:
                log.append(error.args)
                yield "caught"
            finally:
                log.append("closed")
        one = generator()
        next(one), one.send(1), log.append(one.throw(KeyError("thrown")))
        one.close()
        del one
        gc.collect()
        return log

    async def awaited():
        async def failing():
            await asyncio.sleep(0)
            crash()
        results = await asyncio.gather(failing(), asyncio.sleep(0, "slept"), return_exceptions=True)
        try:
            async with asyncio.timeout(10):
                await failing()
        except KeyError:
            results.append("caught")
        return [str(one) for one in results]

    def in_threads():
        results = [None] * 4
        def target(index):
            try:
                crash(text=index)
            except KeyError as error:
                results[index] = error.args
        threads = [threading.Thread(target=target, args=(index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    def logged():
        try:
            crash()
        except KeyError:
            logging.getLogger("app").exception("failed")

    def attributes():
        return hasattr(Thing(), "broken"), getattr(Thing(), "broken", 3), [*map(str, (1, 2))]
'''

LOOKS = (
    "caught", "depth", "text_of_traceback", "chained", "frames_of_error", "lifetimes", "source_and_signature",
    "callers", "lines_seen", "generators", "in_threads", "logged", "attributes",
)

TESTS = """
    import asyncio
    import sys
    import unittest
    import pytest
    from app import looks

    @pytest.mark.parametrize("name", {names})
    def test_look(name, capsys):
        print(getattr(looks, name)())
        out, err = capsys.readouterr()
        print(out)
        print(err, file=sys.stderr)

    def test_names():
        print(looks.names_here(1, 2, 3))

    def test_await():
        print(asyncio.run(looks.awaited()))

    @pytest.mark.heal(False)  # an error where warnings are errors
    @pytest.mark.parametrize("level", [1, 2, 3])
    def test_warns(level):
        looks.warn(level)

    @pytest.mark.filterwarnings("default")
    def test_warns_as_wanted(recwarn):
        looks.warn(1)
        print([(str(one.message), one.filename.rpartition("/")[2], one.lineno) for one in recwarn])

    @pytest.mark.heal(False)
    @pytest.mark.filterwarnings("error")
    def test_warnings_are_errors():
        looks.warn(1)

    def test_raises():
        with pytest.raises(KeyError, match="here") as info:
            looks.crash()
        print(info.getrepr(style="native"))

    @pytest.mark.xfail(raises=KeyError)
    def test_expected():
        looks.crash()

    @pytest.mark.skipif(looks.caught() == "", reason="never")
    def test_log():
        looks.logged()

    @pytest.mark.heal(False)
    class TestLeftAlone:
        def test_fails(self):
            looks.crash()

        def test_fails_in_a_chain(self):
            try:
                looks.crash()
            except KeyError as error:
                error.add_note("noted")
                raise ValueError from error

        def test_fails_in_a_thread(self):
            print(looks.in_threads())
            raise ExceptionGroup("group", [KeyError(1), OSError(2)])

        def test_fails_deeply(self):
            def down():
                down()
            down()

    class TestCase(unittest.TestCase):
        def test_subtests(self):
            for number in range(3):
                with self.subTest(number=number):
                    self.assertNotEqual(number, 1)

        def test_raises(self):
            with self.assertRaises(KeyError) as raised:
                looks.crash()
            print(raised.exception.args)

        @unittest.expectedFailure
        def test_expected(self):
            looks.crash()
"""

HEALS = "version: 1\nheals: []\n"


@pytest.fixture
def looking(project: Project) -> Project:
    return project.write({
        "app/__init__.py": "", "app/looks.py": APP, "heals.yaml": HEALS,
        "test_looks.py": TESTS.replace("{names}", repr(LOOKS)),
        "pytest.ini": "[pytest]\njunit_logging = all\nmarkers =\n    heal: known without the plugin, too\n",
    })


def seen(result: Result, path: Path) -> dict[str, list[str]]:
    """What JUnit says of each test: outcome, traceback and output, without addresses of objects."""
    found: dict[str, list[str]] = {}
    for case in result.junit(path.name).iter("testcase"):
        said = [f"{part.tag} {part.get('message')} {part.text}" for part in case if part.tag != "properties"]
        name = f"{case.get('classname')}::{case.get('name')}"
        found.setdefault(name, []).extend(re.sub(r"0x[0-9a-f]+|\d+\.\d+s", "", one) for one in said)
    return found


def warned(result: Result) -> list[str]:
    """The lines of the warnings summary, with the locations."""
    start = next((n for n, line in enumerate(result.lines) if "warnings summary" in line), None)
    return [] if start is None else [line for line in result.lines[start:] if line.startswith(("app", "  ", "test_"))]


@pytest.mark.parametrize("options", [
    (), ("-n2",), ("--doctest-modules", "--tb=short", "-s", "-W", "error"),
    ("-p", "no:logging", "-p", "no:warnings", "-p", "no:unraisableexception", "-l"),
], ids=lambda options: " ".join(options) or "plain")
def test_nothing_that_a_test_can_see_is_changed(looking: Project, options: tuple[str, ...]) -> None:
    where = (".", *options) if "--doctest-modules" in options else ("test_looks.py", *options)
    plain = looking.run(*where, "-p", "no:heal", "--junitxml=plain.xml")
    ours = looking.heal(*where, "--heal-source=app", "--junitxml=ours.xml", "--heal-journal=journal.jsonl")
    before, after = seen(plain, looking.folder / "plain.xml"), seen(ours, looking.folder / "ours.xml")
    assert len(before) > len(LOOKS) + 10, plain.out
    assert after == before
    assert warned(ours) == warned(plain)
    assert ours.outcomes == plain.outcomes
    assert '"Crashed"' not in (looking.folder / "journal.jsonl").read_text()
