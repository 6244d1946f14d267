"""Importing repository code instrumented changes nothing else about the import."""

import functools
import importlib
import importlib.metadata
import importlib.resources
import inspect
import pickle
import pkgutil
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import healguard_core
from healguard_core.execution import hooks
from healguard_core.execution.instrument.importer import HealLoader, Importer
from healguard_core.execution.instrument.scope import Scope

from .programs import answering, decline


class Project:
    """A project directory on ``sys.path`` whose files are instrumented."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.notices: list[tuple[str, str, str]] = []
        self.importers: list[Importer] = []

    def write(self, name: str, content: str | bytes = "x = 1\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        importlib.invalidate_caches()
        return path

    def start(self, cache: Path | None = None) -> Importer:
        importer = Importer(
            Scope(str(self.root)),
            str(cache) if cache else None,
            lambda code, message, where: self.notices.append((code, message, where)),
        )
        importer.install()
        self.importers.append(importer)
        return importer

    def forget(self) -> None:
        for importer in self.importers:
            importer.remove()
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "") or "").startswith(str(self.root)):
                del sys.modules[name]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    made = Project(root)
    with answering(decline):
        yield made
    made.forget()


def is_instrumented(function: Any) -> bool:
    return hooks.is_instrumented(function.__code__)


MODULE = '''"""The module's text."""
from __future__ import annotations

import functools


def shout(function):
    @functools.wraps(function)
    def wrapper(*args):
        """inner"""
        return function(*args).upper()
    return wrapper


class Thing:
    kind: str = "thing"

    def __init__(self, name):
        self.name = name

    @shout
    def say(self):
        """What it says.

        >>> Thing("a").say()
        'A'
        """
        return self.name.lower()
'''


def test_a_module_is_instrumented_and_looks_as_ever(project: Project) -> None:
    path = project.write("pkg/thing.py", MODULE)
    project.write("pkg/__init__.py")
    importer = project.start()
    module = importlib.import_module("pkg.thing")
    plain = project.root / "pkg" / "__pycache__" / f"thing.{sys.implementation.cache_tag}.pyc"
    assert is_instrumented(module.Thing.__init__)
    assert (module.__file__, module.__cached__) == (str(path), str(plain))
    assert not plain.exists()
    assert module.__doc__ == "The module's text."
    assert module.__package__ == "pkg"
    assert isinstance(module.__loader__, HealLoader)
    assert module.__spec__.loader is module.__loader__
    assert inspect.getsource(module.Thing).startswith("class Thing:")
    assert inspect.getsource(module.Thing.say).startswith("    @shout")
    assert module.Thing.say.__doc__.startswith("What it says.")
    assert module.__loader__.get_source("pkg.thing") == MODULE
    assert importer.instrumented_files() == (str(project.root / "pkg" / "__init__.py"), str(path))
    assert project.notices == []


def test_sites_are_those_of_the_imported_file_while_it_is_unchanged(project: Project) -> None:
    path = project.write("plain.py", "def f(d):\n    return d['k']\n")
    other = project.write("changed.py", "def f(d):\n    return d['k']\n")
    importer = project.start()
    importlib.import_module("plain")
    importlib.import_module("changed")
    other.write_text("def g():\n    pass\n")
    assert [(site.line, site.node, site.qualname) for site in importer.sites(str(path))] == [(2, "Return", "f")]
    assert importer.sites(str(other)) == ()
    assert importer.sites("/no/such/file.py") == ()


def test_reload_takes_the_new_source_instrumented(project: Project) -> None:
    path = project.write("again.py", "def f(): return g()\n")
    importer = project.start()
    module = importlib.import_module("again")
    path.write_text("def f():\n    x = g()\n    return x\n")
    importlib.invalidate_caches()
    assert importlib.reload(module) is module
    assert is_instrumented(module.f)
    assert [site.node for site in importer.sites(str(path))] == ["Assign", "Return"]


def test_pickle_wraps_and_doctest_work(project: Project) -> None:
    import doctest

    project.write("things.py", MODULE)
    project.start()
    module = importlib.import_module("things")
    assert pickle.loads(pickle.dumps(module.Thing("a"))).name == "a"
    assert pickle.loads(pickle.dumps(module.Thing)) is module.Thing
    assert functools.WRAPPER_ASSIGNMENTS
    assert module.Thing.say.__wrapped__.__qualname__ == "Thing.say"
    assert doctest.testmod(module) == doctest.TestResults(0, 1)


def test_packages_resources_and_walks_work(project: Project) -> None:
    project.write("box/__init__.py", "")
    project.write("box/inner/__init__.py", "from . import leaf\n")
    project.write("box/inner/leaf.py")
    project.write("box/text.txt", "words")
    project.start()
    package = importlib.import_module("box")
    importlib.import_module("box.inner")
    assert importlib.resources.files("box").joinpath("text.txt").read_text() == "words"
    assert pkgutil.get_data("box", "text.txt") == b"words"
    assert [module.name for module in pkgutil.walk_packages(package.__path__, "box.")] == [
        "box.inner",
        "box.inner.leaf",
    ]
    assert package.__spec__.submodule_search_locations == [str(project.root / "box")]
    assert package.__loader__.is_package("box")
    assert "pytest" in {found.metadata["Name"] for found in importlib.metadata.distributions()}


def test_namespace_packages_work(project: Project) -> None:
    project.write("space/part.py", "def f(): return g()\n")
    project.start()
    module = importlib.import_module("space.part")
    assert is_instrumented(module.f)
    assert sys.modules["space"].__file__ is None
    del sys.modules["space"]


@pytest.mark.parametrize(
    "content",
    [
        "# -*- coding: latin-1 -*-\nx = 'é'\ndef f(): return g()\n".encode("latin-1"),
        "\ufeffx = 'é'\ndef f(): return g()\n".encode(),
        "x = 'é'\r\ndef f(): return g()\r\n".encode(),
        "# coding: cp1252\nx = 'é'  # heal: off\ndef f(): return g()\n".encode("cp1252"),
    ],
    ids=["latin-1", "byte order mark", "line ends", "cp1252"],
)
def test_encodings_are_honoured(project: Project, content: bytes) -> None:
    path = project.write("coded.py", content)
    importer = project.start()
    module = importlib.import_module("coded")
    assert module.x == "é"
    assert is_instrumented(module.f)
    assert [site.line for site in importer.sites(str(path))] == [content.count(b"\n")]


def test_editable_finders_and_specs_from_locations_are_covered(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project.write("lib/far.py", "def f(): return g()\n")

    class Editable:
        @staticmethod
        def find_spec(name: str, _path: object = None, _target: object = None) -> object:
            return importlib.util.spec_from_file_location(name, str(path)) if name == "far" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Editable])
    project.start()
    assert is_instrumented(importlib.import_module("far").f)


def test_other_loaders_are_left_alone_and_said(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = project.root / "zipped.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped.py", "def f(): return g()\n")
    monkeypatch.syspath_prepend(str(archive))
    project.start()
    module = importlib.import_module("zipped")
    assert not is_instrumented(module.f)
    [(code, message, where)] = project.notices
    assert (code, where) == ("left-plain", str(archive / "zipped.py"))
    assert "zipimporter" in message


def test_modules_that_were_imported_too_early_are_named_once(project: Project) -> None:
    project.write("early.py")
    project.write("second.py")
    importlib.import_module("early")
    importer = project.start()
    importlib.import_module("second")
    assert importer.early_modules() == ["early"]
    [(code, message, _)] = project.notices
    assert code == "imported-early"
    assert "early" in message
    assert "second" not in message


def test_a_syntax_error_is_pythons_own(project: Project) -> None:
    project.write("broken.py", "def f(:\n    pass\n")
    project.write("outside.py", "x = 1\nreturn x\n")
    project.start()
    for name, line in (("broken", 1), ("outside", 2)):
        with pytest.raises(SyntaxError) as ours:
            importlib.import_module(name)
        with pytest.raises(SyntaxError) as plain:
            compile((project.root / f"{name}.py").read_text(), str(project.root / f"{name}.py"), "exec")
        assert (ours.value.msg, ours.value.lineno) == (plain.value.msg, line)
        assert ours.value.__context__ is None
    assert project.notices == []


def test_a_file_that_cannot_be_instrumented_is_imported_plainly_and_said(project: Project) -> None:
    expression = " + ".join(["x"] * 2000)  # 3.11 and 3.12 compile its text, but not its tree
    path = project.write("deep.py", f"x = 1\ny = {expression}\ndef f(): return g()\n")
    importer = project.start()
    module = importlib.import_module("deep")
    assert module.y == 2000
    if is_instrumented(module.f):
        assert project.notices == []
        assert importer.instrumented_files() == (str(path),)
    else:
        [(code, message, where)] = project.notices
        assert (code, where) == ("left-plain", str(path))
        assert "RecursionError" in message
        assert importer.instrumented_files() == ()


def test_after_removal_imports_are_plain(project: Project) -> None:
    project.write("first.py", "def f(): return g()\n")
    project.write("second.py", "def f(): return g()\n")
    importer = project.start()
    first = importlib.import_module("first")
    importer.remove()
    importer.remove()
    assert is_instrumented(first.f)
    assert not is_instrumented(importlib.import_module("second").f)


def test_a_finder_that_asks_the_import_system_back_does_not_loop(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Asking:
        asking = False

        @classmethod
        def find_spec(cls, name: str, _path: object = None, _target: object = None) -> object:
            if name != "asked" or cls.asking:
                return None
            cls.asking = True
            return importlib.util.find_spec(name)

    project.write("asked.py", "def f(): return g()\n")
    monkeypatch.setattr(sys, "meta_path", [Asking, *sys.meta_path])
    project.start()
    assert is_instrumented(importlib.import_module("asked").f)
    assert Asking.asking


def test_warm_imports_run_the_same_code(project: Project, tmp_path: Path) -> None:
    path = project.write("kept.py", "def f(d):\n    return d['k']\n")
    cache = tmp_path / "cache"
    cold = project.start(cache)
    first = importlib.import_module("kept").f.__code__
    sites = cold.sites(str(path))
    project.forget()
    assert len(list(cache.iterdir())) == 1
    warm = project.start(cache)
    second = importlib.import_module("kept").f.__code__
    assert (second, second.co_filename) == (first, str(path))
    assert second is not first
    assert warm.sites(str(path)) == sites


def test_a_changed_source_is_compiled_anew(project: Project, tmp_path: Path) -> None:
    path = project.write("moving.py", "x = 1\n")
    project.start(tmp_path / "cache")
    assert importlib.import_module("moving").x == 1
    project.forget()
    path.write_text("x = 2\n")
    project.start(tmp_path / "cache")
    assert importlib.import_module("moving").x == 2
    assert len(list((tmp_path / "cache").iterdir())) == 1


VERSION = "from healguard_core.execution.instrument.compiling import rewriter_version as v; print(v(), v(True))"


@pytest.mark.parametrize(("changed", "zipped"), [
    ("hooks.py", False), ("instrument/rewrite.py", False), ("instrument/nodes.py", False),
    ("instrument/nodes.py", True), ("instrument/clauses.py", False), ("instrument/compiling.py", False),
    (None, False), (None, True)])
def test_bytecode_of_another_rewriter_is_not_taken(tmp_path: Path, changed: str | None, zipped: bool) -> None:
    def version(place: Path) -> list[str]:
        path = shutil.make_archive(str(place), "zip", place) if zipped else str(place)
        ran = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[0] = {path!r}; {VERSION}"],
                             capture_output=True, text=True, check=True)
        return ran.stdout.split()

    package = Path(healguard_core.__file__).parent
    for name in ("old", "new"):
        shutil.copytree(package / "execution", tmp_path / name / "healguard_core" / "execution",
                        ignore=shutil.ignore_patterns("__pycache__"))
        for shared in ("__init__.py", "protocol.py", "outcome.py"):
            shutil.copy(package / shared, tmp_path / name / "healguard_core")
    if changed is not None:
        with (tmp_path / "new" / "healguard_core" / "execution" / changed).open("a", encoding="utf-8") as file:
            file.write("# another rewriter\n")
    old, new = version(tmp_path / "old"), version(tmp_path / "new")
    assert old[0] != old[1]
    assert (old == new) is (changed is None)


def test_a_cache_that_cannot_be_written_is_said_once_and_imports_go_on(project: Project, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    project.write("one.py", "def f(): return g()\n")
    project.write("two.py", "def f(): return g()\n")
    project.start(tmp_path / "cache")
    assert is_instrumented(importlib.import_module("one").f)
    assert is_instrumented(importlib.import_module("two").f)
    assert [code for code, _, _ in project.notices] == ["cache-not-written"]


def test_threads_import_at_the_same_time(project: Project) -> None:
    names = [f"threaded{number}" for number in range(12)]
    for name in names:
        project.write(f"{name}.py", "import threading\n" + "def f(): return g()\n" * 30)
    project.start()
    modules: list[ModuleType] = []
    threads = [
        threading.Thread(target=lambda name=name: modules.append(importlib.import_module(name))) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(modules) == len(names)
    assert all(is_instrumented(module.f) for module in modules)


def test_a_loader_can_be_pickled_as_pythons_own(project: Project) -> None:
    project.write("loaded.py")
    project.start()
    loader = importlib.import_module("loaded").__loader__
    copy = pickle.loads(pickle.dumps(loader))
    assert (type(copy).__name__, copy.name, copy.path) == ("SourceFileLoader", "loaded", loader.path)


def test_functions_of_early_modules_are_instrumented_in_place(project: Project) -> None:
    project.write(
        "early.py",
        """\
import functools

def keep(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner

@keep
def decorated(d):
    return d["a"]

def outer():
    n = 1
    def inner(d):
        return d["a"] + n
    return inner

made_early = outer()
by_lambda = lambda d: d["a"]

class Box:
    def method(self, d, *, k="a"):
        return super().__getattribute__("get")(d, k)

    def get(self, d, k):
        return d[k]

    @property
    def area(self):
        return self.width

    @staticmethod
    def static(d):
        return d["a"]
""",
    )
    early = importlib.import_module("early")
    before = early.Box.method, early.made_early
    importer = project.start()
    try:
        assert (early.Box.method, early.made_early) == before
        functions = [
            early.decorated.__wrapped__, early.made_early, early.outer, early.Box.get, early.Box.static,
            early.Box.__dict__["area"].fget, early.Box.method,
        ]
        assert all(hooks.is_instrumented(function.__code__) for function in functions)
        assert not hooks.is_instrumented(early.by_lambda.__code__)
        assert early.made_early({"a": 1}) == 2
        assert early.Box().method({"a": 5}) == 5
        assert importer.sites(early.__file__)
    finally:
        importer.remove()


def test_functions_that_differ_from_their_file_now_are_named(project: Project) -> None:
    path = project.write("early.py", "def f(a):\n    return a['x']\n")
    importlib.import_module("early")
    path.write_text("def f(b):\n    return b['x']\n")
    project.start()
    (message,) = [message for code, message, _ in project.notices if code == "imported-early"]
    assert "early.f" in message


def test_a_finder_that_came_later_does_not_stay_first(project: Project) -> None:
    project.write("one.py", "def f(): return {}['a']\n")
    project.write("two.py", "def f(): return {}['a']\n")
    importer = project.start()

    class Late:
        @staticmethod
        def find_spec(*_: object) -> None:
            return None

    sys.meta_path.insert(0, Late)  # type: ignore[arg-type]
    try:
        importlib.import_module("one")
        assert sys.meta_path[0] is importer
    finally:
        importer.remove()
        sys.meta_path.remove(Late)  # type: ignore[arg-type]
