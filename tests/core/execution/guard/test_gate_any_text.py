"""Whatever the text, the gate answers: it never raises and never takes long."""

import ast
import os
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healguard_core.execution.guard import healcore
from healguard_core.execution.guard.gate import check, render
from healguard_core.execution.guard.rules import RULES
from healguard_core.protocol import Finding
from tests.core.pythons import other_pythons, run

from .heal_files import FOLDER, heal_files
from .hostile import HOSTILE

EXAMPLES = int(os.environ.get("HEALGUARD_GATE_EXAMPLES", "300"))
PURPOSES = st.sampled_from(["heal", "probe", "expression"])
anything = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

WORDS = """
x y self os json eval getattr print len type super max sorted map _eh_rtn _eh_raise __class__ __import__ lambda def
class if else elif for while in not and or is try except finally with as import from return raise yield await
async match case global del pass break continue None True 1 0 10**9 'a' b'x' f'{x}' f'{x:{y}}' ( ) [ ] { } . , : ;
= += := -> ** * / // % @ << >> & | ^ ~ < > == != # \'\'\' é \uff45val
"""
PIECES = [*WORDS.split(), "\n", "\t", "\r", "\\", '"' * 3, "\x00", "\ud800", "\u2028", "\n    "]


def answers(code, purpose="heal"):
    findings = check(code, purpose=purpose)
    lines = code.count("\n") + code.count("\r") + 1
    for finding in findings:
        assert isinstance(finding, Finding)
        assert finding.rule in RULES
        assert 1 <= finding.line <= lines
        assert finding.column >= 1
    assert findings == sorted(findings, key=lambda f: (f.line, f.column, f.rule, f.message))
    render(findings, code)
    return findings


@anything
@given(st.text(st.characters(), max_size=300), PURPOSES)
def test_any_text(code, purpose):
    answers(code, purpose)


@anything
@given(st.lists(st.sampled_from(PIECES), max_size=60), st.sampled_from(["", " "]), PURPOSES)
def test_any_words(words, glue, purpose):
    answers(glue.join(words), purpose)


@anything
@given(st.data())
def test_any_cut_of_any_known_heal(data):
    heals = [heal.code for heal in KNOWN]
    first, second = data.draw(st.sampled_from(heals)), data.draw(st.sampled_from(heals))
    start, end = data.draw(st.integers(0, len(first))), data.draw(st.integers(0, len(second)))
    answers(first[start:] + second[:end])


KNOWN = heal_files("refused") + heal_files("accepted")


def expressions():
    names = st.sampled_from(["x", "y", "os", "json", "eval", "len", "getattr", "_eh_rtn", "type", "max"])
    leaves = st.one_of(
        st.builds(lambda n: ast.Name(n, ast.Load()), names),
        st.builds(
            ast.Constant, st.one_of(st.integers(), st.text(), st.binary(), st.none(), st.floats(), st.complex_numbers())
        ),
    )
    operators = st.sampled_from([ast.Add(), ast.Mult(), ast.Pow(), ast.LShift(), ast.Mod(), ast.FloorDiv(), ast.Sub()])
    attributes = st.sampled_from(["x", "format", "__class__", "os", "gi_frame", "remove", "__len__", "sort"])

    def more(inner):
        arguments = st.lists(inner, max_size=3)
        keywords = st.lists(st.builds(ast.keyword, st.sampled_from(["key", "file", "default"]), inner), max_size=2)
        return st.one_of(
            st.builds(ast.BinOp, inner, operators, inner),
            st.builds(lambda v, a: ast.Attribute(v, a, ast.Load()), inner, attributes),
            st.builds(ast.Call, inner, arguments, keywords),
            st.builds(lambda v, i: ast.Subscript(v, i, ast.Load()), inner, inner),
            st.builds(lambda e: ast.List(e, ast.Load()), arguments),
            st.builds(ast.IfExp, inner, inner, inner),
            st.builds(lambda a: ast.BoolOp(ast.Or(), a), st.lists(inner, min_size=2, max_size=3)),
        )

    return st.recursive(leaves, more, max_leaves=25)


@anything
@given(expressions(), PURPOSES)
def test_any_tree(tree, purpose):
    try:
        code = ast.unparse(ast.fix_missing_locations(ast.Expression(tree)))
    except (ValueError, RecursionError):  # a constant that has no source form
        return
    answers(code, purpose)


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_answered(code):
    answers(code)


@pytest.mark.parametrize(
    "slug", ["brackets", "unary", "attributes", "additions", "elif", "long text", "too long", "not"]
)
def test_too_large_says_so(slug):
    assert [finding.rule for finding in check(HOSTILE[slug])] == ["HC101"]


def test_depth_is_bounded_for_the_compiler():
    deep = "x = " + "a." * (healcore.MAX_DEPTH + 5) + "a"
    assert [finding.rule for finding in check(deep)] == ["HC101"]
    assert check("x = " + "a." * (healcore.MAX_DEPTH - 10) + "a") == []


def test_little_stack_left_is_answered():
    """A heal of a RecursionError is examined with next to no stack."""

    def descend(left):
        return descend(left - 1) if left else check("x = [a.b(c) for a in d if a.b]")

    limit = sys.getrecursionlimit()
    results = []
    for left in range(limit - 200, limit, 3):
        try:
            results.append([finding.rule for finding in descend(left)])
        except RecursionError:  # not even `check` could be entered
            results.append(["no call"])
    assert [] in results
    assert all(result in ([], ["HC101"], ["no call"]) for result in results)


def survives_a_small_stack(python):
    done = run(python, "-m", "tests.core.execution.guard.hostile", cwd=FOLDER.parents[2])
    assert done.returncode == 0, done.stderr
    assert done.stdout == "alive\n"


def test_a_small_stack_is_not_overrun():
    survives_a_small_stack(sys.executable)


@pytest.mark.pythons
@pytest.mark.parametrize("python", other_pythons((3, 8), (3, 14)))
def test_a_small_stack_of_other_pythons_is_not_overrun(python):
    survives_a_small_stack(python)
