"""Which candidate errors can be instances, and why the others cannot (HealBench, section B.2 and Table 3).

Imports nothing of ours. Every rule is a name for the ledger; the first that applies counts.
"""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROCESS = "the process ended or ran out of time or memory"
IMPORTS = "import, dependency, syntax or collection failure"
SETUP = "failure of a fixture or of configuration"
ASSERTION = "assertion of the test"
WARNING = "warning"
EXPECTED = "error that the test expects"
IN_TEST = "no frame of the repository: error in the test or in a dependency"
UNFIXED = "the test fails after the commit, too"
DUPLICATE = "duplicate of another candidate"
ALONE = "the test cannot run by itself"
KEPT = "kept"
RULES = (PROCESS, IMPORTS, SETUP, ASSERTION, WARNING, EXPECTED, IN_TEST, UNFIXED, DUPLICATE, ALONE, KEPT)
"""In the order in which they are applied."""

_IMPORTS = {"ImportError", "SyntaxError", "FixtureLookupError", "CollectError", "UsageError"}
_PROCESS = {"MemoryError", "SystemExit", "KeyboardInterrupt"}
_ASSERTIONS = {"AssertionError", "OutcomeException"}
_EXPECTING = ("raises", "assertRaises", "assertRaisesRegex", "warns", "deprecated_call")


def excluded(error: Mapping[str, Any], repository: Path, package: Path) -> str:
    """The rule that excludes ``error`` (of `heal_errors`), "" when none does.

    ``repository`` and ``package`` are folders of the sandbox.
    """
    bases = set(error["bases"])
    if bases & _PROCESS:
        return PROCESS
    if bases & _IMPORTS or error["when"] == "collect":
        return IMPORTS
    if error["when"] != "call":
        return SETUP
    if bases & _ASSERTIONS:
        return ASSERTION
    if "Warning" in bases:
        return WARNING
    if crash_frame(error, package) is None:
        return IN_TEST
    if _expected(error["frames"], repository):
        return EXPECTED
    return ""


def crash_frame(error: Mapping[str, Any], package: Path) -> tuple[str, str, int] | None:
    """File, function and line of the innermost frame of ``package`` that is no test; None without one."""
    for file, function, line in reversed(error["frames"]):
        path = Path(file)
        if path.is_relative_to(package) and "tests" not in path.relative_to(package).parts:
            return file, function, line
    return None


def _expected(frames: Sequence[Sequence[Any]], repository: Path) -> bool:
    """Whether a frame of the test stands in a block that waits for an error."""
    for file, _, line in frames:
        path = Path(file)
        if path.is_relative_to(repository) and ("test" in path.name or "tests" in path.parts):
            try:
                tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
            except (OSError, SyntaxError, ValueError):
                continue
            if any(_waits(node) and node.lineno <= line <= (node.end_lineno or 0) for node in ast.walk(tree)
                   if isinstance(node, ast.With | ast.AsyncWith)):
                return True
    return False


def _waits(node: ast.With | ast.AsyncWith) -> bool:
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    names = [call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "") for call in calls]
    return any(name in _EXPECTING for name in names)
