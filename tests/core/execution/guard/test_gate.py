"""What the gate refuses and accepts, and how it says so."""

import re

import pytest

from healguard_core.execution.guard import allowed_imports
from healguard_core.execution.guard.gate import check, render
from healguard_core.execution.guard.rules import RULES
from tests.core.pythons import other_pythons, run

from . import shop
from .heal_files import FOLDER, heal_files

REFUSED = heal_files("refused")
ACCEPTED = heal_files("accepted")
ROOT = FOLDER.parents[2]


def rules(code, **options):
    return [finding.rule for finding in check(code, **options)]


@pytest.mark.parametrize("heal", REFUSED, ids=lambda heal: heal.slug)
def test_refuses(heal):
    assert heal.expected, "a refused heal says which rules refuse it"
    assert heal.found() == heal.expected


@pytest.mark.parametrize("heal", ACCEPTED, ids=lambda heal: heal.slug)
def test_accepts(heal):
    assert heal.found() == []


def test_corpus_is_large_and_covers_every_rule():
    assert len(REFUSED) >= 120
    assert len(ACCEPTED) >= 80
    covered = {rule.split()[0] for heal in REFUSED for rule in heal.expected}
    assert set(RULES) - covered == {"HC101", "HC103"}  # their tests need generated code


@pytest.mark.pythons
@pytest.mark.parametrize("python", other_pythons((3, 8), (3, 14)))
def test_other_pythons_judge_alike(python):
    done = run(python, "-m", "tests.core.execution.guard.heal_files", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_all_findings_sorted_by_position():
    code = "x = eval('1')\nimport os\ny = (lambda: os.remove(p), open(q))\n"
    found = [(f.line, f.column, f.rule) for f in check(code)]
    assert found == [
        (1, 5, "HC130"),
        (2, 1, "HC120"),
        (3, 6, "HC102"),
        (3, 14, "HC133"),
        (3, 28, "HC130"),
    ]


def test_columns_count_characters():
    assert [(f.line, f.column) for f in check("größe = 'äöü' + eval('1')")] == [(1, 17)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_count_as_the_parser_counts(end):
    assert [f.line for f in check(end.join(["x = '\x0b\x1c'", "y = 2", "eval(x)"]))] == [3]


def test_severity_is_unsupported_when_merely_outside():
    assert [f.severity for f in check("f = lambda: 1")] == ["unsupported"]
    assert [f.severity for f in check("import os")] == ["dangerous"]


def test_every_finding_says_what_to_do():
    for heal in REFUSED:
        for finding in check(heal.code, purpose=heal.purpose, live_import=heal.live, shadowed=heal.shadowed):
            assert finding.advice
            assert finding.message
            assert finding.rule in RULES


def test_warnings_of_the_parser_do_not_refuse_a_heal():
    assert check(r"x = '\d' if 1or 2 else 3") == []  # warnings are errors in this suite


def test_unknown_purpose_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="unknown purpose 'hail'; known: heal, probe, expression"):
        check("pass", purpose="hail")


# --------------------------------------------------------------------------- frame and program


def test_a_local_variable_called_like_a_builtin_is_the_callers_word():
    assert rules("x = open.price") == ["HC130"]
    assert rules("x = open.price", shadowed={"open"}) == []
    assert rules("m = max", shadowed={"max"}) == []
    assert rules("print = quiet", shadowed={"print"}) == []


def test_a_shadowed_builtin_is_no_pure_function():
    assert rules("list(map(len, xs))", shadowed={"len"}) == ["HC134"]


def test_standard_library_is_judged_by_the_list_even_when_imported():
    assert rules("import json\njson.codecs", live_import=shop.live_import) == ["HC122"]
    assert rules("import os", live_import=shop.live_import) == ["HC120"]


def test_objects_of_the_system_are_recognised_behind_the_programs_names():
    for name in ("cleanup", "bound_cleanup", "run_text", "environment", "system_module"):
        findings = check(f"from shop import {name}", live_import=shop.live_import)
        assert [f.severity for f in findings] == ["dangerous"], name


def test_a_module_that_raises_when_read_is_a_finding():
    findings = check("from shop.lazy import anything", live_import=shop.live_import)
    assert [(f.rule, "RuntimeError" in f.message) for f in findings] == [("HC122", True)]
    findings = check("import shop\nshop.prices.missing", live_import=shop.live_import)
    assert [f.rule for f in findings] == ["HC122"]


def test_lone_import_of_a_program_module_is_accepted():
    assert rules("import shop.prices as p", live_import=shop.live_import) == []
    assert rules("import shop.prices as p") == ["HC121"]


# --------------------------------------------------------------------------- rendering


def test_render_shows_line_caret_rule_and_advice():
    code = "x = 1\ny = lambda: x\n"
    assert render(check(code), code, "heal.py") == (
        "heal.py:2:5: HC102 unsupported: a lambda is outside HealCore\n"
        "    y = lambda: x\n"
        "        ^\n"
        "    instead: use a comprehension, or call a function that the program has"
    )


def test_render_without_code_leaves_the_line_out():
    assert render(check("return 1")).splitlines()[0] == "heal:1:1: HC102 unsupported: `return` is outside HealCore"
    assert "^" not in render(check("return 1"))


def test_render_of_nothing_is_empty():
    assert render([], "x = 1") == ""


def test_render_bounds_its_length():
    code = "\n".join(["eval(x)"] * 50)
    assert render(check(code), code).endswith("... and 30 more")


# --------------------------------------------------------------------------- documentation


def test_every_rule_is_documented():
    text = (ROOT / "docs" / "healcore.md").read_text(encoding="utf-8")
    missing = [rule for rule in RULES if f"### {rule} " not in text]
    assert missing == []


def test_documented_examples_are_true():
    text = (ROOT / "docs" / "healcore.md").read_text(encoding="utf-8")
    for section in text.split("\n### ")[1:]:
        rule = section.split()[0]
        purpose = "expression" if rule == "HC150" else "heal"
        blocks = [block.split("```")[0] for block in section.split("```python\n")[1:]]
        assert len(blocks) == (0 if rule in ("HC101", "HC103") else 2), rule
        for refused, instead in [blocks] if blocks else []:
            assert rule in rules(refused, purpose=purpose), rule
            assert rules(instead, purpose=purpose) == [], rule


def test_documented_list_of_imports_is_true():
    text = (ROOT / "docs" / "healcore.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.]+)`[^|]* \| (.*) \|$", text, re.MULTILINE)
    assert {module: set(re.findall(r"`(\w+)`", names)) for module, names in rows} == allowed_imports.ALLOWED
