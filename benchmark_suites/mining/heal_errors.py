"""A pytest plugin that writes down every test's result with its traceback. Standard library and pytest only.

It is copied into the sandbox and runs there with the mined repository's own pytest.
"""

import json
import os
from typing import Any

_results: list[dict[str, Any]] = []


def pytest_exception_interact(call: Any, report: Any) -> None:
    """Called for each error before its report is made: a test's, a fixture's or one of collecting."""
    error = call.excinfo.value if call.excinfo is not None else None
    frames: list[list[Any]] = []
    entry = getattr(error, "__traceback__", None)
    while entry is not None:
        code = entry.tb_frame.f_code
        frames.append([os.path.realpath(code.co_filename), code.co_name, entry.tb_lineno])
        entry = entry.tb_next
    _results.append({
        "test": str(report.nodeid), "when": getattr(report, "when", "collect"), "outcome": "failed",
        "error": type(error).__name__, "bases": [each.__name__ for each in type(error).__mro__],
        "message": str(error)[:2000], "frames": frames,
    })


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" and report.outcome == "passed":
        _results.append({"test": str(report.nodeid), "when": "call", "outcome": "passed"})


def pytest_unconfigure() -> None:
    with open(os.environ["HEAL_ERRORS"], "w") as file:
        json.dump(_results, file)
