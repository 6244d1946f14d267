"""Finding the text of code, wherever it came from."""

import ast
import inspect
import linecache
import os
import sys
import textwrap
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.execution.pause import sources
from healguard_core.execution.pause.sources import Span, function_source, lines_of, source_of, span_at, text_at


def compiled(path, text):
    text = textwrap.dedent(text)
    path.write_text(text, encoding="utf-8")
    namespace = {"__name__": path.stem}
    exec(compile(text, str(path), "exec"), namespace)
    return namespace


def test_functions_classes_and_what_is_inside_them(tmp_path):
    made = compiled(tmp_path / "m.py", """
        def deco(f): return f

        @deco
        @deco
        def outer(x,
                  y=1):
            inner = lambda: [i for i in (
                1, 2)]
            return inner

        class A:
            def method(self):
                '''Text
            at odd columns'''
                return 1
    """)
    lines, first = function_source(made["outer"].__code__)
    assert (lines[0], first, len(lines)) == ("@deco", 4, 7)
    assert lines[-1] == "    return inner"
    assert function_source(made["outer"](1).__code__) == (lines, first), "a lambda belongs to the function around it"
    method, first = function_source(made["A"].method.__code__)
    assert method == ["    def method(self):", "        '''Text", "    at odd columns'''", "        return 1"]


def test_the_same_as_inspect_for_a_whole_module():
    for name, function in vars(inspect).items():
        if inspect.isfunction(function) and function.__module__ == "inspect" and function.__name__ == name:
            lines, first = inspect.getsourcelines(function)
            while not lines[-1].strip() or lines[-1].lstrip().startswith("#"):
                lines.pop()
            assert function_source(function.__code__) == ([line.rstrip("\n") for line in lines], first), name


def test_a_changed_file_is_read_again(tmp_path):
    path = tmp_path / "m.py"
    path.write_text("one = 1\n")
    assert source_of(str(path)) == "one = 1\n"
    path.write_text("two = 22\n")
    os.utime(path, ns=(1, 1))
    assert source_of(str(path)) == "two = 22\n"


def test_lines_are_those_that_python_counts(tmp_path):
    path = tmp_path / "m.py"
    path.write_bytes("a = '\u2028\x0c'\r\nb = 2\rc = 3\n".encode())
    assert lines_of(str(path)) == ["a = '\u2028\x0c'", "b = 2", "c = 3", ""]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"), (b"# coding: latin-1\nx = '\xe9'\n", "# coding: latin-1\nx = 'é'\n"),
        (b"# coding: nonsense\n", None), (b"x = '\xff'\n", None), (b"", ""),
    ],
)
def test_encodings(tmp_path, data, text):
    path = tmp_path / "m.py"
    path.write_bytes(data)
    assert source_of(str(path)) == text


def test_generated_code_is_found_where_its_maker_left_it():
    name = "<generated for a test>"
    text = "def f():\n    return {}['a']\n"
    assert source_of(name) is None
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    try:
        namespace = {}
        exec(compile(text, name, "exec"), namespace)
        assert function_source(namespace["f"].__code__) == (["def f():", "    return {}['a']"], 1)
    finally:
        del linecache.cache[name]


def test_code_in_a_zip_is_read_by_its_loader(tmp_path, monkeypatch):
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("packed_module.py", "def f():\n    return 1\n")
    monkeypatch.syspath_prepend(str(archive))
    import packed_module

    code = packed_module.f.__code__
    assert function_source(code, vars(packed_module)) == (["def f():", "    return 1"], 1)
    assert function_source(code) in (([], 0), (["def f():", "    return 1"], 1))
    sys.modules.pop("packed_module")


def test_foreign_loaders_are_not_asked():
    class Loader:
        def get_source(self, name):
            raise AssertionError(name)

    assert source_of("<nowhere>", {"__name__": "m", "__loader__": Loader()}) is None


def test_code_without_text():
    namespace = {}
    exec(compile("def f():\n    return 1\n", "<nowhere>", "exec"), namespace)
    assert function_source(namespace["f"].__code__) == ([], 0)
    assert lines_of("<nowhere>") == []
    assert lines_of("\x00") == []


def test_a_file_that_does_not_parse_still_has_lines(tmp_path):
    path = tmp_path / "m.py"
    namespace = compiled(path, "def f():\n    return 1\n")
    path.write_text("def f():\n    return 1\nnot python\n")
    os.utime(path, ns=(1, 1))
    lines, first = function_source(namespace["f"].__code__)
    assert (lines[0], first) == ("def f():", 1)


def test_loops_belong_to_their_own_function(tmp_path):
    made = compiled(tmp_path / "m.py", """
        for a in "x":
            def f():
                for b in "y":
                    while True:
                        return 1
                else:
                    return 2
    """)
    code = made["f"].__code__
    assert [loop.first for loop in sources.loops_around(code, 6)] == [4, 5]
    assert [loop.first for loop in sources.loops_around(code, 8)] == [4]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no columns before Python 3.11")
def test_instructions_lead_to_their_text():
    code = compile("é = (a +\n  b['c'])\n", "<t>", "exec")
    lines = ["é = (a +", "  b['c'])"]
    texts = {text_at(lines, span) for offset in range(0, len(code.co_code), 2) if (span := span_at(code, offset))}
    assert {"a", "b", "'c'", "b['c']", "a +\n  b['c']", "é"} <= texts
    assert span_at(code, -1) is None
    assert span_at(code, 10**6) is None


@given(st.lists(st.text("aé €\U0001f600(", max_size=6), min_size=1, max_size=4), st.data())
def test_spans_are_cut_by_bytes(lines, data):
    whole = "\n".join(lines)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    before, within = whole[:start], whole[start:end]

    def place(text):
        return text.count("\n") + 1, len(text.rpartition("\n")[2].encode())

    assert text_at(lines, Span(*place(before), *place(before + within))) == within


def test_a_bounded_number_of_files_is_kept(tmp_path):
    for number in range(sources.MOST_FILES + 10):
        path = tmp_path / f"m{number}.py"
        path.write_text(f"x = {number}\n")
        assert source_of(str(path)) == f"x = {number}\n"
    assert len(sources._files) <= sources.MOST_FILES
    assert ast.parse(source_of(str(tmp_path / "m0.py")))
