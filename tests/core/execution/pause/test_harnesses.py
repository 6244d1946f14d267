"""The decision inside of real runners: where pytest, unittest and doctest record outcomes."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).parents[4]

RECORDER = """
import builtins, json, sys
from healguard_core.execution.pause import handled
decider = handled.Decider()
said = []
def boom(name, kind=KeyError):
    exc = kind(name)
    try:
        raise exc
    except BaseException:
        decision = decider.decide(exc, sys._getframe(1))
        said.append([name, decision.answer, decision.why])
        raise
builtins.boom = boom
import atexit
atexit.register(lambda: json.dump(said, open("said.json", "w")))
"""


def answers(tmp_path, files, *command):
    """``{name: answer}`` of every exception that a run of ``command`` over ``files`` raised through ``boom``."""
    (tmp_path / "recorder.py").write_text(RECORDER)
    for name, text in files.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    done = subprocess.run(
        [sys.executable, *command], cwd=str(tmp_path), env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    said = json.loads((tmp_path / "said.json").read_text())
    return {name: answer for name, answer, _ in said}, done.stdout


PYTEST = ("-m", "pytest", "-p", "recorder", "-p", "no:cacheprovider", "-q", "--rootdir", ".", "-c", os.devnull)


def test_pytest(tmp_path):
    said, output = answers(tmp_path, {"test_it.py": """
        import unittest
        import pytest

        def test_plain():
            boom("plain")

        def test_raises():
            with pytest.raises(KeyError):
                boom("raises")

        def test_other():
            with pytest.raises(OSError):
                boom("other")

        @pytest.fixture
        def broken():
            boom("fixture")

        def test_fixture(broken):
            pass

        @pytest.fixture
        def broken_after():
            yield
            boom("teardown")

        def test_teardown(broken_after):
            pass

        @pytest.fixture
        def finalizer(request):
            request.addfinalizer(lambda: boom("finalizer"))

        def test_finalizer(finalizer):
            pass

        @pytest.fixture
        def asked():
            boom("asked")

        def test_asked(request):
            with pytest.raises(KeyError):
                request.getfixturevalue("asked")

        @pytest.fixture
        def asked_twice():
            boom("asked in vain")

        def test_asked_in_vain(request):
            with pytest.raises(OSError):
                request.getfixturevalue("asked_twice")

        class TestCase(unittest.TestCase):
            def test_it(self):
                boom("unittest")

            def test_expected(self):
                with self.assertRaises(KeyError):
                    boom("assertRaises")

            @unittest.expectedFailure
            def test_known(self):
                boom("expectedFailure")

        class TestSetUp(unittest.TestCase):
            def setUp(self):
                boom("setUp")

            def test_it(self):
                pass

        class TestSetUpClass(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                boom("setUpClass")

            def test_it(self):
                pass
        """}, *PYTEST, "test_it.py")
    assert said == {
        "plain": "unhandled", "raises": "handled", "other": "unhandled", "fixture": "unhandled",
        "teardown": "unhandled", "finalizer": "unhandled", "asked": "handled", "asked in vain": "unhandled",
        "unittest": "unhandled", "assertRaises": "handled", "expectedFailure": "handled", "setUp": "unhandled",
        "setUpClass": "unhandled",
    }, output


def test_pytest_collection(tmp_path):
    said, output = answers(tmp_path, {
        "test_import.py": 'boom("import")\n',
        "broken.py": 'boom("indirect")\n',
        "test_indirect.py": "import broken\n",
        "optional.py": 'boom("optional", ImportError)\n',
        "test_optional.py": 'import pytest\ntry:\n    import optional\nexcept ImportError:\n    pass\n',
    }, *PYTEST)
    assert said == {"import": "unhandled", "indirect": "unhandled", "optional": "handled"}, output


def test_doctest_under_pytest(tmp_path):
    said, output = answers(tmp_path, {"module.py": '''
        """
        >>> boom("doctest")
        1
        >>> boom("expected")
        Traceback (most recent call last):
        KeyError: 'expected'
        """
        '''}, *PYTEST, "--doctest-modules", "--doctest-continue-on-failure", "module.py")
    assert said == {"doctest": "unhandled", "expected": "handled"}, output


def test_unittest_runner(tmp_path):
    said, output = answers(tmp_path, {"test_it.py": """
        import unittest
        import recorder

        class TestCase(unittest.TestCase):
            def test_it(self):
                boom("unittest")

            def test_subtest(self):
                with self.subTest(i=1):
                    boom("subtest")

            def tearDown(self):
                self.addCleanup(lambda: None)

        class TestCleanup(unittest.TestCase):
            def test_it(self):
                self.addCleanup(boom, "cleanup")
        """}, "-m", "unittest", "test_it")
    assert said == {"unittest": "unhandled", "cleanup": "unhandled", "subtest": "unhandled"}, output


def test_script_and_module(tmp_path):
    files = {"script.py": 'import recorder\nboom("script")\n'}
    assert answers(tmp_path, files, "script.py")[0] == {"script": "unhandled"}
    assert answers(tmp_path, files, "-m", "script")[0] == {"script": "unhandled"}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="pytest-asyncio is installed beside newer Pythons only")
def test_asyncio_tests(tmp_path):
    pytest.importorskip("pytest_asyncio")
    said, output = answers(tmp_path, {"test_it.py": """
        import asyncio
        import pytest

        async def inner(name):
            await asyncio.sleep(0)
            boom(name)

        @pytest.mark.asyncio
        async def test_plain():
            await inner("plain")

        @pytest.mark.asyncio
        async def test_raises():
            with pytest.raises(KeyError):
                await inner("raises")

        @pytest.mark.asyncio
        async def test_task():
            await asyncio.create_task(inner("task"))

        @pytest.mark.asyncio
        async def test_gather():
            with pytest.raises(KeyError):
                await asyncio.gather(inner("gather"), asyncio.sleep(0))

        def test_run():
            asyncio.run(inner("run"))
        """}, *PYTEST, "-o", "asyncio_default_fixture_loop_scope=function", "test_it.py")
    assert said == {"plain": "unhandled", "raises": "handled", "task": "unhandled", "gather": "handled",
                    "run": "unhandled"}, output
