"""Every code that a message can carry has an entry that says what to do."""

import re
from pathlib import Path

import pytest

from healguard_core.execution.guard.veto import STOP_RULES
from healguard_core.settings.errors import CODES

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8")
NOTICE = re.compile(r"notice\(\s*\"([a-z-]+)\"")


def notice_codes():
    return sorted({
        code
        for path in (ROOT / "healguard_core").rglob("*.py")
        for code in NOTICE.findall(path.read_text(encoding="utf-8"))
    })


def test_the_sources_are_searched_rightly():
    assert {"internal", "imported-early", "left-plain"} <= set(notice_codes())


@pytest.mark.parametrize("code", notice_codes())
def test_every_note_has_an_entry(code):
    assert f"| `{code}` |" in MESSAGES


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_settings_code_has_an_entry(code):
    assert f"| {code} |" in MESSAGES


def test_no_entry_is_left_over():
    assert set(re.findall(r"^\| (HF\d+) \|", MESSAGES, re.MULTILINE)) == set(CODES)
    assert set(re.findall(r"^\| `([a-z-]+)` \|", MESSAGES, re.MULTILINE)) == set(notice_codes())


@pytest.mark.parametrize("code", sorted(STOP_RULES))
def test_every_rule_of_the_guard_has_an_entry(code):
    assert code in (ROOT / "docs" / "guard.md").read_text(encoding="utf-8")
