"""What may import what, where import-linter cannot say it: the execution side needs the standard library alone."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

CORE = Path(__file__).parents[1] / "healguard_core"
LIGHT = sorted([*(CORE / "execution").rglob("*.py"), CORE / "protocol.py", CORE / "outcome.py", CORE / "__init__.py"])
OURS = ("healguard_core.execution", "healguard_core.protocol", "healguard_core.outcome")


def imported(path: Path) -> list[tuple[int, str]]:
    """Every module that a file imports anywhere in it, with the line."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.lineno, absolute(path, node.level, node.module or "")))
    return found


def absolute(path: Path, level: int, module: str) -> str:
    """The module that ``from MODULE import ...`` with ``level`` dots means in ``path``."""
    if level == 0:
        return module
    package = path.relative_to(CORE.parent).parent.parts
    return ".".join([*package[: len(package) - level + 1], *filter(None, [module])])


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: str(path.relative_to(CORE)))
def test_execution_side_imports_the_standard_library_only(path: Path) -> None:
    for line, module in imported(path):
        if module == "healguard_core":
            continue  # the version
        standard = module.partition(".")[0] in sys.stdlib_module_names
        assert standard or module.startswith(OURS), f"{path}:{line}: {module}"


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: str(path.relative_to(CORE)))
def test_execution_side_is_python_3_8_syntax(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
