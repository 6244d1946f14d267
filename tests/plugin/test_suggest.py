"""A suggested patch changes the source so that it does what the healed run did."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from healguard_core.protocol import Crashed, Healed
from pytest_heal.suggest import NoSuggestion, suggestion

FUNCTION = """\
class Odd(Exception):
    pass


def function(items):
    found = []
    for item in items:
        # what comes next may fail
        value = 10 // item  # like this
        found.append(value)
    return found
"""


def patched(tmp_path: Path, source: str, line: int, error: str = "ZeroDivisionError", **heal: object) -> str:
    """``source`` after the patch for one heal at ``line``."""
    file = tmp_path / "package" / "module.py"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(source.encode())
    crashed = Crashed(crash=1, error=error, file=str(file), function="package.module.function", line=line)
    patch = suggestion(crashed, Healed(crash=1, by="rules", **heal), tmp_path)  # type: ignore[arg-type]
    (tmp_path / "heal.patch").write_bytes(patch.encode())
    subprocess.run(["git", "apply", "heal.patch"], cwd=tmp_path, check=True)
    return file.read_bytes().decode()


def run(source: str, items: list[int]) -> object:
    namespace: dict[str, object] = {}
    exec(compile(source, "module.py", "exec"), namespace)
    try:
        return namespace["function"](items)  # type: ignore[operator]
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize(("heal", "result"), [
    ({"code": "value = 0", "resume": "next"}, [5, 0, 10]),
    ({"code": "pass", "resume": "continue"}, [5, 10]),
    ({"code": "pass", "resume": "break"}, [5]),
    ({"code": "_eh_rtn = 'none'", "resume": "return"}, "none"),
    ({"code": "_eh_rtn = None", "resume": "return"}, None),
    ({"code": "item = 5", "resume": "retry"}, [5, 2, 10]),
    ({"code": "_eh_raise = LookupError('odd')", "resume": "raise"}, "LookupError"),
    ({"code": "if item == 0:\n    _eh_rtn = 'zero'\nelse:\n    value = 1", "resume": "return"}, "zero"),
])
def test_the_patched_source_does_what_the_heal_did(tmp_path: Path, heal: dict[str, str], result: object) -> None:
    changed = patched(tmp_path, FUNCTION, 9, **heal)
    assert run(changed, [2, 0, 1]) == result
    assert run(changed, [2, 1]) == [5, 10]
    assert "# what comes next may fail\n        try:" in changed
    assert "# like this" in changed
    assert "_eh_" not in changed


@pytest.mark.parametrize(("error", "written"), [
    ("KeyError", "except KeyError:"), ("Odd", "except Odd:"), ("package.Unknown", "except Exception:"),
    ("NotHere", "except Exception:"), ("KeyboardInterrupt", "except Exception:"),
])
def test_the_error_is_named_where_the_file_can(tmp_path: Path, error: str, written: str) -> None:
    assert written in patched(tmp_path, FUNCTION, 9, error, code="value = 0")


def test_line_ends_and_indentation_are_kept(tmp_path: Path) -> None:
    source = "def function(items):\r\n\tvalue = 10 // items[0]\r\n\treturn value\r\n"
    changed = patched(tmp_path, source, 2, code="value = 0")
    assert "\r\n\ttry:\r\n\t\tvalue = 10 // items[0]\r\n\texcept ZeroDivisionError:\r\n\t\tvalue = 0\r\n" in changed
    assert "\n" not in changed.replace("\r\n", "")


@pytest.mark.parametrize(("source", "line", "frame", "why"), [
    ("def function(items):\n    for x in 1 // 0:\n        pass\n", 2, 0, "compound statement"),
    ("def function(items):\n    a = 1; b = 1 // 0\n", 2, 0, "several statements"),
    ("def function(items):\n    1 // 0\n", 2, 1, "a caller"),
    ("def function(items:\n", 1, 0, "cannot be read"),
])
def test_what_cannot_be_written_is_refused_with_the_reason(
    tmp_path: Path, source: str, line: int, frame: int, why: str
) -> None:
    with pytest.raises(NoSuggestion, match=why):
        patched(tmp_path, source, line, code="pass", frame=frame)
