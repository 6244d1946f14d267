"""The user guide names everything that the plugin offers."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from pytest_heal.categories import CATEGORIES
from pytest_heal.hookspecs import HealHooks
from pytest_heal.options import INI_ONLY, OPTIONS

GUIDE = (Path(__file__).parents[2] / "docs" / "pytest.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("flag", [option.flag for option in OPTIONS])
def test_options(flag: str) -> None:
    assert f"`{flag}" in GUIDE


@pytest.mark.parametrize("name", [option.name for option in INI_ONLY])
def test_ini_keys(name: str) -> None:
    assert f"`{name}`" in GUIDE


@pytest.mark.parametrize("name", [name for name, _ in inspect.getmembers(HealHooks, inspect.isfunction)])
def test_hooks(name: str) -> None:
    assert f"def {name}(" in GUIDE


def test_categories() -> None:
    for name, category in CATEGORIES.items():
        assert f"| `{category.letter}` | `{name}` |" in GUIDE
