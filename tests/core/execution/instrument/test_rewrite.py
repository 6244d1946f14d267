"""Which statements become sites, and what the table says about each."""

import ast
import sys
import textwrap
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healguard_core.execution.hooks import HEAL, LEAVE, VALUE, WAY
from healguard_core.execution.instrument.kinds import KINDS
from healguard_core.execution.instrument.rewrite import rewrite, sites_of
from healguard_core.execution.instrument.sites import Site, innermost

from .programs import answering, compile_instrumented, instrument


def sites(source: str) -> tuple[Site, ...]:
    source = textwrap.dedent(source)
    compile(rewrite(ast.parse(source), source).tree, "<sites>", "exec")
    return sites_of(source)


def short(source: str) -> list[tuple[int, str, str]]:
    return sorted((site.line, site.kind, site.node) for site in sites(source))


def test_every_class_of_statement_is_classified() -> None:
    known = {cls.__name__ for cls in ast.stmt.__subclasses__()}
    assert known <= set(KINDS)


STATEMENTS = {
    "pass": [],
    "global x": [],
    "'text'": [],
    "...": [],
    "x = 1": [],
    "x = y = None": [],
    "x = []": [],
    "x = ()": [],
    "x = {}": [],
    "from __future__ import annotations": [],
    "x: 'T'": [],
    "x = y": ["Assign"],
    "x.a = 1": ["Assign"],
    "x, y = 1": ["Assign"],
    "x += 1": ["AugAssign"],
    "x: int = f()": ["AnnAssign"],
    "x.a: int": ["AnnAssign"],
    "del x": ["Delete"],
    "raise": ["Raise"],
    "assert x": ["Assert"],
    "import x": ["Import"],
    "from x import y": ["ImportFrom"],
    "from . import y": ["ImportFrom"],
    "f()": ["Expr"],
    "x": ["Expr"],
    "if x: pass": ["If"],
    "if True: pass": [],
    "while x: pass": ["While"],
    "while True: pass": [],
    "for x in y: pass": ["For"],
    "with x: pass": ["With"],
    "match x:\n case 1: pass": ["Match"],
    "try: pass\nexcept x: pass": [],
    "try: pass\nexcept* x: pass": [],
    "def f(): pass": [],
    "def f(a=1): pass": [],
    "def f(a=b): pass": ["FunctionDef"],
    "@d\ndef f(): pass": ["FunctionDef"],
    "def f(*, a=b): pass": ["FunctionDef"],
    "async def f(a=b): pass": ["AsyncFunctionDef"],
    "class C: pass": [],
    "class C(B): pass": ["ClassDef"],
    "class C(metaclass=M): pass": ["ClassDef"],
    "@d\nclass C: pass": ["ClassDef"],
    "def f():\n return": [],
    "def f():\n return 1": [],
    "def f():\n return x": ["Return"],
    "def f():\n x: int": [],
    "def f():\n nonlocal_ = 1\n def g():\n  nonlocal nonlocal_": [],
    "for x in y:\n break": ["For"],
    "for x in y:\n continue": ["For"],
    "async def f():\n async for x in y: pass": ["AsyncFor"],
    "async def f():\n async with x: pass": ["AsyncWith"],
}
if sys.version_info >= (3, 12):
    STATEMENTS["type X = int"] = []


@pytest.mark.parametrize("source", STATEMENTS)
def test_statements_that_can_raise_are_sites_and_others_are_not(source: str) -> None:
    assert [site.node for site in sites(source + "\n")] == STATEMENTS[source]


def test_the_table_of_statements_has_every_class() -> None:
    seen = {
        type(node).__name__
        for source in STATEMENTS
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt)
    }
    assert seen == {cls.__name__ for cls in ast.stmt.__subclasses__()}


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="annotations are lazy")
def test_annotations_are_sites_where_they_are_evaluated() -> None:
    assert short("def f(a: T): pass\nx: T\n") == [(1, "header", "FunctionDef"), (2, "simple", "AnnAssign")]
    assert short("from __future__ import annotations\ndef f(a: T): pass\nx: T\n") == []


def test_numbers_count_up_and_are_those_in_the_handlers() -> None:
    rewritten = instrument("a()\nif b():\n    c()\nd()\n")
    called = sorted(
        node.args[0].value
        for node in ast.walk(rewritten.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == HEAL
    )
    assert called == [site.number for site in rewritten.sites] == [0, 1, 2, 3]


def test_what_is_called_is_what_the_hooks_define() -> None:
    tree = instrument("def f():\n    for x in y:\n        g()\n").tree
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not node.id.isidentifier()}
    assert names == {HEAL, LEAVE, WAY, VALUE}


def test_a_header_and_each_inner_statement_have_sites_of_their_own() -> None:
    found = sites("for x in items():\n    use(x)\n    if bad(x):\n        stop()\n")
    by_node = {(site.node, site.line): site for site in found}
    loop = by_node["For", 1]
    assert (loop.kind, loop.skips, loop.end_line) == ("header", (2, 4), 4)
    assert by_node["If", 3].skips == (4, 4)
    assert by_node["Expr", 2].skips is None


def test_a_chain_of_elifs_is_one_header() -> None:
    found = sites("if a():\n    x()\nelif b():\n    y()\nelse:\n    if c():\n        z()\n")
    assert [(site.line, site.node) for site in sorted(found, key=lambda site: site.line)] == [
        (1, "If"),
        (2, "Expr"),
        (4, "Expr"),
        (6, "If"),
        (7, "Expr"),
    ]
    assert innermost(found, 3).line == 1  # type: ignore[union-attr]


def test_qualified_names_are_those_of_the_functions() -> None:
    source = """
    a()
    class Outer:
        b()
        class Inner:
            def method(self):
                c()
                def local():
                    d()
    def f():
        class Local:
            e()
    """
    names = {site.line: site.qualname for site in sites(source) if site.kind == "simple"}
    assert names == {
        2: "",
        4: "Outer",
        7: "Outer.Inner.method",
        9: "Outer.Inner.method.<locals>.local",
        12: "f.<locals>.Local",
    }


def leaves(source: str) -> dict[int, tuple[str, ...]]:
    return {site.line: site.leaves for site in sites(source) if site.node == "Expr"}


def test_ways_to_leave_follow_the_blocks_around() -> None:
    source = """
    at_module()
    for x in y:
        in_loop()
        class C:
            in_class()
    def f():
        in_function()
        while x:
            both()
            with y:
                both_inside()
        else:
            after_loop()
        try:
            tried()
            more()
        except E:
            handled()
        finally:
            last()
            for x in y:
                in_last_loop()
            with z:
                nowhere()
    """
    every = ("return", "continue", "break")
    assert leaves(source) == {
        2: (),
        4: ("continue", "break"),
        6: (),
        8: ("return",),
        10: every,
        12: every,
        14: ("return",),
        16: ("return",),
        17: ("return",),
        19: ("return",),
        21: ("return",),
        23: ("continue", "break"),
        25: (),
    }


def test_no_way_leads_out_of_a_handler_of_groups_but_out_of_a_loop_in_it() -> None:
    source = "def f():\n    try:\n        a()\n    except* E:\n        b()\n        for x in y:\n            c()\n"
    assert leaves(source) == {3: ("return",), 5: (), 7: ("continue", "break")}


def test_a_try_around_one_statement_asks_its_own_handlers_first() -> None:
    found = {site.line: site for site in sites("def f():\n    try:\n        a()\n    except E:\n        b()\n")}
    assert (found[3].guarded, found[3].kind, found[3].retry_line) == (True, "simple", 2)
    assert not found[5].guarded
    asked = []
    source = "try:\n    {}['k']\nexcept KeyError:\n    seen = True\n"
    namespace: dict[str, Any] = {}
    with answering(lambda site, _frame, _exc: asked.append(site) or ()):
        exec(compile_instrumented(source), namespace)
    assert namespace["seen"]
    assert asked == []


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    a()\n    b()\nexcept E:\n    pass\n",
        "try:\n    a()\nexcept E:\n    pass\nelse:\n    c()\n",
        "try:\n    a()\nexcept E:\n    pass\nfinally:\n    c()\n",
        "try:\n    a()\nexcept E:\n    log()\n    raise\n",
        "try:\n    a()\nexcept E as e:\n    raise X from e\n",
        "try:\n    a()\nexcept* E:\n    pass\n",
    ],
)
def test_other_tries_ask_about_the_statement_itself(source: str) -> None:
    assert not any(site.guarded for site in sites(source))


@pytest.mark.parametrize(
    ("line", "possible"),
    [("a()", True), ("x = 1; a()", False), ("if x: a()", False), ("for x in y: a()", False), ("class C: a()", False)],
)
def test_a_retry_needs_a_line_where_nothing_else_begins(line: str, possible: bool) -> None:
    site = next(site for site in sites(line + "\n") if site.node == "Expr")
    assert site.can_retry is possible
    assert bool(site.retry_reason) is not possible


def test_a_retry_after_a_keyword_alone_is_possible() -> None:
    found = sites("if x:\n    pass\nelse: a()\ntry: b(); c()\nfinally: d()\n")
    assert {site.line: site.can_retry for site in found if site.column < 10} == {1: True, 3: True, 4: True, 5: False}


def test_a_retry_goes_to_the_line_where_evaluation_starts() -> None:
    found = sites("x = (\n    f(\n        1))\n@d\n\ndef g(): pass\n")
    assert [(site.line, site.retry_line) for site in found] == [(1, 2), (6, 4)]


def test_facts_about_the_statement() -> None:
    found = {
        site.line: site
        for site in sites("def f():\n    return g()\ndef h():\n    x = yield y\n    z = lambda: (yield)\n")
    }
    assert (found[2].is_return, found[2].has_yield) == (True, False)
    assert (found[4].is_return, found[4].has_yield) == (False, True)
    assert not found[5].has_yield


def test_heal_off_leaves_a_line_alone() -> None:
    assert short("a()  # heal: off\nb()\n") == [(2, "simple", "Expr")]
    assert short("a(\n    1,  # heal: off\n)\n") == []
    assert short("for x in y:  # heal: off, slow\n    b()\n") == [(2, "simple", "Expr")]
    assert short("# heal: off\nb()\n") == [(2, "simple", "Expr")]
    assert short("a('# heal: off')\n") == [(1, "simple", "Expr")]
    assert short("try:\n    a()  # heal: off\nexcept E:\n    b()\n") == [(4, "simple", "Expr")]


def test_heal_off_leaves_a_whole_definition_alone() -> None:
    assert short("def f(a=b):  # heal: off\n    c()\n    def g():\n        d()\ne()\n") == [(5, "simple", "Expr")]
    assert short("@d\nclass C(B):  # heal: off\n    def f(self):\n        c()\n") == []
    assert short("def f():\n    a()  # heal: off\n    b()\n") == [(3, "simple", "Expr")]


def test_innermost_tells_statements_on_one_line_apart() -> None:
    found = sites("a(); b()\nfor x in y: c()\n@d\ndef f(): pass\n")

    def at(line: int, column: Any = None) -> Any:
        site = innermost(found, line, column)
        return site and (site.node, site.column)

    assert at(1, 0) == ("Expr", 0)
    assert at(1, 5) == ("Expr", 5)
    assert at(2, 9) == ("For", 0)
    assert at(2, 12) == ("Expr", 12)
    assert at(3) == ("FunctionDef", 0)
    assert at(9) is None


def test_docstrings_and_future_imports_stay_first() -> None:
    source = (
        "'module'\nfrom __future__ import annotations\nclass C:\n    'class'\n    x = f\n"
        "    def f(self):\n        'function'\n        g()\n"
    )
    tree = instrument(source).tree
    compile(tree, "<first>", "exec")
    assert [
        ast.get_docstring(node)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
    ] == [
        "module",
        "class",
        "function",
    ]


BLOCKS = [
    "for x in y:",
    "while x:",
    "with x:",
    "with x, y, z:",
    "if x:",
    "try:\n{i}    g()\n{i}except E as e:",
    "try:\n{i}    g()\n{i}finally:",
    "try:",
    "match x:\n{i}  case 1:",
]
if sys.version_info[:2] != (3, 12):  # the compiler of 3.12.1 itself crashes on some of these
    BLOCKS.append("try:\n{i}    g()\n{i}except* E:")


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(BLOCKS), min_size=4, max_size=26), st.booleans())
def test_nothing_stops_compiling_however_deep_it_is_nested(blocks: list[str], in_function: bool) -> None:
    lines = ["def f():"] if in_function else ["if x:"]
    closing = []
    for depth, block in enumerate(blocks, 1):
        indent = "    " * depth
        lines += [
            indent + line if number == 0 else line for number, line in enumerate(block.format(i=indent).split("\n"))
        ]
        if block == "try:":
            closing.append(f"{indent}except E:\n{indent}    h()\n{indent}finally:\n{indent}    h()\n{indent}    h()")
    lines.append("    " * (len(blocks) + 1) + ("return g()" if in_function else "g()"))
    source = "\n".join(lines + closing[::-1]) + "\n"
    try:
        compile(source, "<nested>", "exec")
    except (SyntaxError, IndentationError):
        return
    compile(rewrite(ast.parse(source), source).tree, "<nested>", "exec")


def test_deep_nesting_costs_outer_headers_before_it_costs_statements() -> None:
    blocks = 17
    source = "".join("    " * depth + "for x in y:\n" for depth in range(blocks)) + "    " * blocks + "a()\n"
    found = sites(source)
    assert [site.node for site in found].count("Expr") == 1
    assert 0 < len(found) < blocks + 1


def test_a_thousand_elifs_are_no_nesting() -> None:
    source = "if x == 0:\n    a()\n" + "".join(f"elif x == {number}:\n    a()\n" for number in range(1, 150))
    assert len(sites(source)) == 151
