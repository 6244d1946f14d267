# ruff: noqa: E501
"""Runbook files: what is accepted, and how every mistake is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.settings.errors import CODES, SettingsError, nearest
from healguard_core.settings.runbook import load_runbook

GOOD = """\
# reviewed heals
version: 1
heals:
  - id: cookiejar-as-dict
    when: {error: TypeError, function: requests.cookies.cookiejar_from_dict, message: "not subscriptable", statement: "cookiejar.set_cookie(...)"}
    do: |
      for cookie in cookie_dict:
          cookiejar.set_cookie(cookie)
    where: "'Amount' in order"
    note: why it is right
  - when: {error: ValueError, function: app.views.*}
    reraise: true
  - when: {error: errors.NotFound}
    do: _eh_rtn = None
    resume: return
  - when: {error: ValueError, function: app.views.*}
    do: pass
"""


@pytest.fixture
def load(tmp_path):
    """Load runbooks given as texts."""

    def run(*texts, **options):
        paths = []
        for number, text in enumerate(texts):
            path = tmp_path / f"heals{number or ''}.yaml"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            paths.append(path)
        return load_runbook(paths, **options)

    return run


@pytest.fixture
def complaints(load, tmp_path):
    """What is wrong with runbooks given as texts, with short file names."""

    def run(*texts):
        with pytest.raises(SettingsError) as caught:
            load(*texts)
        assert str(caught.value).splitlines() == [str(problem) for problem in caught.value.problems]
        assert {problem.code for problem in caught.value.problems} <= set(CODES)
        return [str(problem).replace(str(tmp_path) + "/", "") for problem in caught.value.problems]

    return run


def test_entries_in_order_with_their_places(load):
    entries = load(GOOD)
    assert [entry.id for entry in entries] == [
        "cookiejar-as-dict", "valueerror-views", "notfound", "valueerror-views-2",
    ]
    assert [entry.location.rpartition(":")[2] for entry in entries] == ["4", "11", "13", "16"]
    first = entries[0]
    assert (first.error, first.message, first.resume) == ("TypeError", "not subscriptable", "next")
    assert first.do == "for cookie in cookie_dict:\n    cookiejar.set_cookie(cookie)\n"
    assert first.where == "'Amount' in order"
    assert (entries[1].reraise, entries[1].do) == (True, "")
    assert (entries[2].resume, entries[2].do) == ("return", "_eh_rtn = None")


def test_several_files_are_one_runbook(load):
    second = "version: 1\nheals:\n  - when: {error: ValueError, function: app.views.*}\n    do: pass\n"
    assert [entry.id for entry in load(GOOD, second)][-1] == "valueerror-views-3"


def test_a_byte_order_mark_and_windows_line_ends_are_fine(load):
    assert len(load(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())) == 4


def test_imports_of_the_program_are_judged_when_it_runs(load):
    text = "version: 1\nheals:\n- when: {error: KeyError}\n  do: |\n    from pandas import NA\n    x = NA\n"
    assert len(load(text)) == 1


def _entry(text):
    return "version: 1\nheals:\n- when: {error: KeyError}\n" + text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["heals.yaml:1: HF403 the file is empty; start it with `version: 1` and a list `heals:`"]),
        ("# nothing\n", ["heals.yaml:1: HF403 the file is empty; start it with `version: 1` and a list `heals:`"]),
        (b"version: 1\n# caf\xe9\n", ["heals.yaml:2: HF400 not UTF-8 (byte 0xe9); save the file as UTF-8"]),
        ("version: 1\nheals: [}\n", ["heals.yaml:2: HF401 not YAML: while parsing a flow node expected the node content, but found '}'"]),
        ("version: 1\nheals: \x07\n", ["heals.yaml:2: HF401 not YAML: character 7 is not allowed"]),
        ("- when\n", ["heals.yaml:1: HF404 the file must be a mapping of keys to values"]),
        ("heals: []\n", ["heals.yaml:1: HF403 key 'version' is missing; write version: 1"]),
        ("version: 1\n", ["heals.yaml:1: HF403 key 'heals' is missing; list the entries under `heals:`"]),
        ("version: 2\nheals: []\n", ["heals.yaml:1: HF405 version 2 is not supported; write version: 1"]),
        ("version: 1\nheal: []\nheals: []\n", ["heals.yaml:2: HF402 unknown key 'heal'; did you mean 'heals'?"]),
        ("version: 1\nheals: {}\n", ["heals.yaml:2: HF404 heals must be a list; begin each entry with `- when:`"]),
        ("version: 1\nheals:\n- pass\n", ["heals.yaml:3: HF404 an entry must be a mapping of keys to values"]),
        ("version: 1\nheals:\n- do: pass\n", ["heals.yaml:3: HF403 key 'when' is missing; say which crash the entry is for, as in `when: {error: KeyError}`"]),
        ("version: 1\nheals:\n- when: {}\n  do: pass\n", ["heals.yaml:3: HF403 key 'error' is missing; name the exception as `except` would, for example KeyError"]),
        ("version: 1\nheals:\n- when: KeyError\n  do: pass\n", ["heals.yaml:3: HF404 when must be a mapping of keys to values"]),
        ("version: 1\nheals:\n- when:\n    error: KeyError\n    message: 404\n  do: pass\n", ["heals.yaml:5: HF404 message: 404 is not text; put it in quotes"]),
        ("version: 1\nheals:\n- when: {error: KeyError, massage: x}\n  do: pass\n", ["heals.yaml:3: HF402 unknown key 'massage'; did you mean 'message'?"]),
        ("version: 1\nheals:\n- when: {error: KeyError, where: x}\n  do: pass\n", ["heals.yaml:3: HF402 unknown key 'where'; 'where' belongs one level up, beside `when`"]),
        (_entry("  do: pass\n  message: x\n"), ["heals.yaml:5: HF402 unknown key 'message'; 'message' belongs inside `when`"]),
        (_entry("  do: pass\n  resume: nxt\n"), ["heals.yaml:5: HF404 resume: 'nxt' is not possible; did you mean 'next'?"]),
        (_entry("  do: pass\n  do: x = 1\n"), ["heals.yaml:5: HF402 key 'do' is given twice; keep one of them"]),
        (_entry("  reraise: maybe\n"), ["heals.yaml:4: HF404 reraise: 'maybe' is neither true nor false"]),
        (_entry("  note: x\n"), ["heals.yaml:3: HF403 the entry says neither what to do nor to reraise; add `do:` with healing code (`pass` to skip the statement) or `reraise: true`"]),
        (_entry("  reraise: true\n  do: pass\n"), ["heals.yaml:5: HF408 `do` and `reraise: true` contradict each other; keep one of them"]),
        (_entry("  resume: return\n  do: |\n    x = 1\n"), ["heals.yaml:4: HF408 `resume: return` needs a value; assign `_eh_rtn` in `do` (None to return nothing)"]),
        (_entry("  resume: retry\n  do: _eh_rtn = 1\n"), ["heals.yaml:4: HF408 `resume: retry` and `_eh_rtn` in `do` contradict each other; `_eh_rtn` returns from the function; remove one of them"]),
        (_entry("  do: |\n    x = 1\n    y = = 2\n"), ["heals.yaml:6: HF407 `do` is not Python: invalid syntax; correct the code"]),
        (_entry("  do: pass\n  where: x = 1\n"), ["heals.yaml:5: HF407 `where` is not an expression: invalid syntax; write one expression over the frame's variables"]),
        ("version: 1\nheals:\n- when: {error: 'not a name'}\n  do: pass\n", ["heals.yaml:3: HF404 'not a name' is not the name of an exception; name one exception as `except` would, for example KeyError or package.errors.NotFound"]),
        ("version: 1\nheals:\n- when: {error: KeyError, message: '('}\n  do: pass\n", ["heals.yaml:3: HF406 '(' is not a regular expression: missing ), unterminated subpattern at position 0; escape special characters with a backslash"]),
        ("version: 1\nheals:\n- when: {error: KeyError, statement: 'a; b'}\n  do: pass\n", ["heals.yaml:3: HF407 'a; b' is not one statement: it holds 2 statements; copy the failing statement, with `...` for parts that may differ"]),
        ("version: 1\nheals: &a\n- *a\n", ["heals.yaml:2: HF401 not YAML: an alias refers to what it is part of"]),
    ],
)  # fmt: skip
def test_each_mistake_is_told_with_its_place_and_what_to_do(complaints, text, expected):
    assert complaints(text) == expected


def test_all_mistakes_of_all_files_are_told_at_once(complaints):
    found = complaints(
        _entry("  do: pass\n  resume: nxt\n  nots: x\n") + "- when: {error: 1}\n", "version: 3\nheals: []\n"
    )
    assert [line.split(" ")[:2] for line in found] == [
        ["heals.yaml:5:", "HF404"], ["heals.yaml:6:", "HF402"], ["heals.yaml:7:", "HF404"], ["heals1.yaml:1:", "HF405"],
    ]


def test_an_id_is_unique_over_all_files(complaints):
    text = "version: 1\nheals:\n- id: one\n  when: {error: KeyError}\n  do: pass\n"
    (found,) = complaints(text, text)
    assert found.startswith("heals1.yaml:3: HF409 id 'one' is taken by the entry at ")
    assert found.endswith("heals.yaml:3; give each entry an id of its own")


def test_code_that_the_gate_refuses_is_shown_at_its_line(complaints):
    (found,) = complaints(_entry("  do: |\n    x = 1\n    import os\n"))
    assert found.startswith("heals.yaml:6: HF407 `do` is refused by the gate: HC120 ")


def test_a_condition_with_an_effect_is_refused(complaints):
    (found,) = complaints(_entry("  do: pass\n  where: order.pop('x')\n"))
    assert found.startswith("heals.yaml:5: HF407 `where` is refused by the gate: HC")


def test_the_gate_can_be_left_out(load):
    assert load(_entry("  do: |\n    import os\n"), gate=False)[0].do == "import os\n"


def test_a_missing_file(tmp_path):
    with pytest.raises(SettingsError, match=r"none.yaml:1: HF400 cannot read the file: No such file.*; check the path"):
        load_runbook([tmp_path / "none.yaml"])


def test_nearest_names():
    assert nearest("rulse", ["rules", "human"]) == "did you mean 'rules'?"
    assert nearest("zzz", ["rules", "human"]) == "use one of: human, rules"
    assert nearest("zzz", []) == ""


@given(st.text(alphabet=st.sampled_from("abc:-[]{}&*!|>'\"#%@`\n \t,0.\u0000\ufeff"), max_size=40))
def test_any_text_is_a_runbook_or_a_settings_error(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError):
        load_runbook([path])
