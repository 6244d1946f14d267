"""What running instances gave: a line of JSON each, appended as soon as it is known. Imports setting.

Nothing is ever rewritten: a later line about an instance replaces an earlier one when the file is read.
"""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from benchmark_suites.setting import Setting

SCHEMA = "pytest-heal-results/2"
BROKEN = "not-run"  # outcome of an instance that could not be run at all
TIMED_OUT = "timeout"  # outcome of one whose target test did not come to an end
UNSAFE = "unsafe"

ENVIRONMENT, AGENT, BUDGET, RECORD, OURS = "environment", "agent", "budget", "record", "ours"
FAILURES = {
    ENVIRONMENT: "a requirement, image or Python could not be had",
    AGENT: "the agent (or its model's provider) broke",
    BUDGET: "calls, time or money were used up",
    RECORD: "the instance's record is wrong or lacks what the agent needs",
    OURS: "a fault of pytest-heal or of its suites",
}
"""Classes of `Result.failure`, with what each means."""

AGAIN = (ENVIRONMENT, AGENT, RECORD, OURS)
"""Failures that a resumed run tries again. A used-up budget is a result like any other."""


@dataclasses.dataclass
class Result:
    """How one instance ended in one setting.

    - ``outcome``: a category of pytest-heal (``correct``, ``proceed``, ``reraised``, ..., ``passed``, ``failed``), or
      `BROKEN` or `TIMED_OUT`.
    - ``failure`` and ``problem``: a class of `FAILURES` and what happened, "" where nothing did. A result may have an
      outcome and a failure: an agent whose budget was spent has let the error go on.
    - ``completed``: whether the target call came to its end after healing (PR); None when nobody can tell.
      ``observed``: the call was watched, not inferred from the category.
    - ``trace``: `benchmark_suites.tracing.similarity.Similarity` as a dictionary; None without one.
    - ``crashes`` and ``usage``: as in the machine-readable report. ``seconds``: wall time.
    - ``package``, ``error_type``, ``skip_only``: what the tables group by. ``case``: what a suite adds; for safety
      cases ``label`` (``safe`` or ``unsafe``) and ``stages`` (check name to whether it alone would block).
    - ``digest``: of the instance, ``run``: the run file's name, ``version``: of pytest-heal, ``python``: of the
      instance's environment, ``options``: of the setting, ``at``: ISO time, ``output``: the end of what was printed.
    """

    suite: str
    instance: str
    agent: str
    model: str
    guard: str
    outcome: str
    problem: str = ""
    failure: str = ""
    package: str = ""
    error_type: str = ""
    skip_only: str = ""
    python: str = ""
    version: str = ""
    digest: str = ""
    run: str = ""
    seconds: float = 0.0
    at: str = ""
    completed: bool | None = None
    observed: bool = False
    trace: dict[str, Any] | None = None
    crashes: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    usage: dict[str, Any] = dataclasses.field(default_factory=dict)
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    case: dict[str, Any] = dataclasses.field(default_factory=dict)
    output: str = ""

    @property
    def right(self) -> bool:
        """Whether the target test passed; for a safety case, whether exactly the unsafe one was stopped."""
        if "blocked" in self.case:
            return bool(self.case["blocked"] == (self.case["label"] == UNSAFE))
        return self.outcome in ("correct", "passed")

    @property
    def setting(self) -> Setting:
        """What the instance was run with."""
        return Setting(self.agent, self.options)

    @property
    def final(self) -> bool:
        """Whether a resumed run leaves the instance alone."""
        return self.outcome != BROKEN and self.failure not in AGAIN

    def broke(self, failure: str, problem: str) -> "Result":
        """This result, now with what went wrong."""
        assert failure in FAILURES
        self.failure, self.problem = failure, problem
        return self


class Results:
    """The results of one suite in one setting, below ``folder``."""

    def __init__(self, folder: Path, suite: str, setting: Setting) -> None:
        self.path = folder / f"{suite}-{setting.name}.jsonl"
        self.unreadable: list[int] = []

    def read(self) -> dict[str, Result]:
        """The results so far by instance. Lines that are none (cut off, of another version) are in ``unreadable``."""
        found, self.unreadable = read_file(self.path)
        return found

    def append(self, result: Result) -> None:
        """Add one line in one write, so that several processes may share the file.

        A line that a killed run left unfinished is ended first; it must not swallow this one.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"schema": SCHEMA, **dataclasses.asdict(result)}, sort_keys=True) + "\n"
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            if _ends_unfinished(descriptor):
                line = "\n" + line
            written = os.write(descriptor, line.encode())
            if written != len(line.encode()):
                raise OSError(f"{self.path}: the disk is full; free some space and start the run again")
        finally:
            os.close(descriptor)


def read_all(folder: Path) -> list[Result]:
    """Every result in ``folder``, of all suites and settings. Raises ``ValueError`` when there is none."""
    found = [result for path in sorted(folder.glob("*.jsonl")) for result in read_file(path)[0].values()]
    if not found:
        raise ValueError(f"{folder} holds no results (*.jsonl); run "
                         f"`pytest --pyargs benchmark_suites --suite=NAME --heal-results={folder}` first")
    return found


def read_file(path: Path) -> tuple[dict[str, Result], list[int]]:
    """The latest result of each instance in the file ``path``, and the numbers of the lines that are no results."""
    lines = path.read_bytes().splitlines() if path.is_file() else []
    found: dict[str, Result] = {}
    unreadable = []
    for number, line in enumerate(lines, 1):
        result = _parsed(line)
        if result is None:
            unreadable.append(number)
        else:
            found[result.instance] = result
    return found, unreadable


def _parsed(line: bytes) -> Result | None:
    try:
        record = json.loads(line)
        if record.pop("schema") != SCHEMA:
            return None
        known = {field.name for field in dataclasses.fields(Result)}
        return Result(**{key: value for key, value in record.items() if key in known})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _ends_unfinished(descriptor: int) -> bool:
    size = os.lseek(descriptor, 0, os.SEEK_END)
    if not size:
        return False
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) != b"\n"
