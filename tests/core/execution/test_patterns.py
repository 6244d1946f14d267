"""Statements against patterns with wildcards."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.execution.patterns import matches, parse_pattern, parse_statement


def _matches(pattern, source):
    return matches(parse_pattern(pattern), parse_statement(source))


@pytest.mark.parametrize(
    ("pattern", "source"),
    [
        ("jar.put(...)", "jar.put(Cookie(key, cookies[key]))"),
        ("jar.put(...)", "jar.put()"),
        ("jar.put(...)", "jar.put(a, b, c=1, **d)"),
        ("jar.put(a, ...)", "jar.put( a , b)"),
        ("jar.put(..., c=1)", "jar.put(a, b, d=2, c=1)"),
        ("...(a)", "jar.put(a)"),
        ("x = ...", "x = a + b"),
        ("... = f(...)", "self.total, rest = f(1)"),
        ("x += ...", "x += y[0]"),
        ("x = [a, ...]", "x = [a, b, c]"),
        ("x = row[...]", "x = row['Amount']"),
        ("x = row[...]", "x = row[1:2]"),
        ("return self.map[...]", "return  self.map[ match.lastgroup ]"),
        ("return ...", "return (yield 5)"),
        ("if text[0].isdigit():", "if text[0].isdigit():\n    text = 'D:' + text\nelse:\n    pass"),
        ("if ...:", "if a and b: pass"),
        ("elif x:", "if x:\n    pass"),
        ("for i in ...:", "for i in range(0, len(c), size):\n    yield c[i]"),
        ("while text[end] in self.NUMBERS:", "while text[end] in self.NUMBERS:\n    end += 1"),
        ("with open(...) as f:", "with open(name, 'rb') as f:\n    f.read()"),
        ("def f(a, b=1):", "def f(a, b=1):\n    return a"),
        ("@cached(...)", "@cached(3)\ndef _(): pass"),
        ("class A(Base):", "class A(Base):\n    x = 1"),
        ("...", "raise ValueError('x')"),
        ("raise ValueError(...)", "raise ValueError(f'bad {x}')"),
        ("x = 'a'", 'x = u"a"'),
        ("from a import b", "from a import b"),
        ("del d[...]", "del d[k]"),
    ],
)
def test_matching(pattern, source):
    assert _matches(pattern, source)


@pytest.mark.parametrize(
    ("pattern", "source"),
    [
        ("jar.put(...)", "jar.drop(a)"),
        ("jar.put(...)", "x = jar.put(a)"),
        ("jar.put(a)", "jar.put(a, b)"),
        ("jar.put(a)", "jar.put(a, c=1)"),
        ("jar.put(..., c=1)", "jar.put(a, c=2)"),
        ("jar.put(a, ...)", "jar.put(b, a)"),
        ("x = [a, ...]", "x = [b]"),
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("if a:", "while a:\n    pass"),
        ("for i in ...:", "async def f():\n    pass"),
        ("return", "return 1"),
    ],
)
def test_not_matching(pattern, source):
    assert not _matches(pattern, source)


def test_match_header():
    assert _matches("match command:", "match command:\n    case 1: pass")


@pytest.mark.parametrize("text", ["", "   ", "a; b", "x = ", "x = 1\ny = 2", "not python at all", "(", "'unclosed"])
def test_text_that_is_not_one_statement(text):
    with pytest.raises(ValueError, match="not one statement"):
        parse_pattern(text)


_names = st.sampled_from(["a", "b", "total"])
_expressions = st.recursive(
    _names | st.integers(0, 9).map(str) | st.text("xyz'\"\\", max_size=4).map(repr),
    lambda inner: st.builds("{}({}, k={})".format, _names, inner, inner)
    | st.builds("({} + {})".format, inner, inner)
    | st.builds("{}[{}]".format, _names, inner)
    | st.builds("[{}, *{}]".format, inner, _names),
    max_leaves=8,
)
_statements = st.builds("{} = {}".format, _names, _expressions) | st.builds("return {}".format, _expressions)


@given(_statements)
def test_every_statement_matches_itself_however_it_is_written(statement):
    node = parse_statement(statement)
    assert matches(parse_pattern(ast.unparse(node)), node)


@given(_statements)
def test_a_wildcard_in_place_of_the_value_still_matches(statement):
    node = parse_statement(statement)
    head = statement.partition("=")[0] + "= ..." if isinstance(node, ast.Assign) else "return ..."
    assert matches(parse_pattern(head), node)
