"""Our categories on top of pytest's: letters, words, colours, and what may count as passing. Imports pytest."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest


class Category(NamedTuple):
    """How a category is shown."""

    letter: str
    color: str
    meaning: str

    @property
    def red(self) -> bool:
        return self.color == "red"


CATEGORIES = {
    "correct": Category("C", "cyan", "passed after healing"),
    "proceed": Category("P", "yellow", "went on to completion after healing, then failed"),
    "unsafe": Category("U", "red", "a heal was stopped as unsafe"),
    "halted": Category("H", "red", "healed, but a later crash was not"),
    "reraised": Category("R", "red", "nobody healed it"),
}

_ACCEPTED = {"none": (), "correct": ("correct",), "proceed": ("correct", "proceed")}


def accepted(category: str, accept: str) -> bool:
    """Whether a test of this category may count as passing under ``accept``."""
    return category in _ACCEPTED[accept]


def heal_of(report: Any) -> dict[str, Any]:
    """What the plugin put on a report: {} when nothing."""
    found = getattr(report, "heal", None)
    return found if isinstance(found, dict) else {}


def category_of(report: Any) -> str:
    """Our category of a report, "" when it is pytest's own."""
    category = heal_of(report).get("category", "")
    if category and report.outcome in ("passed", "failed") and not hasattr(report, "wasxfail"):
        return str(category)
    return ""


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, Any] | None:
    """Our category, letter and coloured word. Other plugins' outcomes (``rerun``, ...) are none of our business."""
    if report.outcome not in ("passed", "failed"):
        return None
    if heal_of(report).get("hidden"):
        return "", "", ""
    name = category_of(report)
    if not name:
        return None
    category = CATEGORIES[name]
    return name, category.letter, (name.upper(), {category.color: True})


def reason(report: Any) -> str:
    """Why a healed test that passed does not count as passing."""
    heal = heal_of(report)
    count = heal.get("applied", 0)
    heals = "1 heal" if count == 1 else f"{count} heals"
    return (f"{heal['category'].upper()}: passed only after {heals}, which --heal-accept={heal['accept']} "
            "does not let pass")


def not_accepted(marks: dict[str, dict[str, Any]]) -> list[str]:
    """The tests of ours that do not count as passing."""
    return [nodeid for nodeid, mark in marks.items()
            if mark["category"] and not accepted(mark["category"], mark["accept"])]
