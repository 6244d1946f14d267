"""The instances of suite `releases` as they lie on disk, and the runbooks that belong to them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from benchmark_suites.releases import instances
from healguard_core.settings.runbook import load_runbook

ALL = list(instances.load_all())
each = pytest.mark.parametrize("instance", ALL, ids=lambda instance: instance.id)


def test_there_are_many_by_id() -> None:
    assert len(ALL) >= 84
    assert len({instance.package for instance in ALL}) >= 18
    assert [instance.id for instance in ALL] == sorted(instance.id for instance in ALL)


def test_common_error_types_have_their_share() -> None:
    common = [each for each in ALL if each.error.type in ("TypeError", "AttributeError", "ValueError")]
    assert 0.6 <= len(common) / len(ALL) <= 0.85


@each
def test_both_sets_are_pinned_and_hold_their_release(instance: instances.Instance) -> None:
    for role, release in (("buggy", instance.buggy), ("fixed", instance.fixed)):
        pins = instance.requirements(role)
        assert all(re.fullmatch(r"[\w.-]+==[\w.+!-]+", pin) for pin in pins)
        assert release.lower().replace("_", "-") in [pin.lower().replace("_", "-") for pin in pins]
        assert any(pin.startswith("pytest==") for pin in pins)


@each
def test_record_is_plausible(instance: instances.Instance) -> None:
    assert instance.difficulty in ("easy", "medium", "hard")
    assert instance.skip_only in ("pass", "second_error", "wrong_state")
    assert re.fullmatch(r"3\.\d+", instance.python)
    assert instance.error.file.partition("/")[0].removesuffix(".py") in instance.import_roots


@each
def test_target_is_one_test(instance: instances.Instance) -> None:
    body = ast.parse(instance.test.read_text(encoding="utf-8")).body
    assert sum(isinstance(node, ast.FunctionDef) and node.name.startswith("test") for node in body) == 1


@each
def test_runbook_is_accepted_and_reviewed(instance: instances.Instance) -> None:
    """The gate accepts every heal, and each says why it is right."""
    assert instance.runbook is not None
    entries = load_runbook([instance.runbook])
    assert entries
    for entry in entries:
        assert entry.note
        assert entry.function.partition(".")[0] in instance.import_roots
        assert entry.statement or entry.message or entry.where, "an entry must not answer every error of its function"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id = ", "instance.toml"),
        ('id = "a"\n', "package"),
        (None, "instance.toml"),
    ],
)
def test_wrong_record_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "instance.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        instances.load(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('python = "3.', "python = 3.", "python: Input should be a valid string"),
        ('python = "3.', 'python = "2.', "python: String should match"),
        ("hits = 1", 'hits = "many"', "hits: Input should be a valid integer"),
        ('id = "', 'id = "../', "id: String should match"),
        ("requirements_buggy = [", 'requirements_buggy = ["--index-url=http://example.org", ', "requirements_buggy.0"),
        ("requirements_fixed = [", 'requirements_fixed = ["-e /etc", ', "requirements_fixed.0"),
        ("import_roots = [", 'import_roots = ["../etc", ', "import_roots.0"),
        ("[error]", "[errors]", "error: Field required"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Missing fields, wrong literals, and text that would mean something else to an installer or as a path."""
    record = ALL[0].folder.joinpath("instance.toml").read_text(encoding="utf-8")
    assert old in record
    changed = record.replace(old, new, 1)
    if new == "python = 3.":  # a number: without the closing quote, too
        before, _, after = changed.partition(new)
        changed = before + new + after.replace('"', "", 1)
    (tmp_path / "instance.toml").write_text(changed, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        instances.load(tmp_path)
    assert str(tmp_path / "instance.toml") in str(caught.value)


def test_id_is_the_folder(tmp_path: Path) -> None:
    record = ALL[0].folder.joinpath("instance.toml").read_text(encoding="utf-8")
    (tmp_path / "instance.toml").write_text(record, encoding="utf-8")
    with pytest.raises(ValueError, match="make them the same"):
        instances.load(tmp_path)


def test_several_globs() -> None:
    found = [instance.id for instance in instances.load_all("tabulate-*, boltons-26*")]
    assert found == ["boltons-26.1.0-backoff-factor-one", "boltons-26.1.0-multireplace-empty",
                     "tabulate-0.9.0-empty-maxwidths"]
