"""What running instances gave: a line of JSON each, appended as soon as it is known. Imports nothing of ours."""

import dataclasses
import json
import os
import re
from pathlib import Path
from typing import Any

SCHEMA = "pytest-heal-results/1"
BROKEN = "not-run"  # outcome of an instance that could not be run at all


@dataclasses.dataclass
class Result:
    """How one instance ended with one agent.

    ``outcome`` is a category of pytest-heal (``correct``, ``proceed``, ``reraised``, ..., ``passed``, ``failed``) or
    `BROKEN`; then ``problem`` says why. ``crashes`` and ``usage`` are those of the machine-readable report.
    """

    suite: str
    instance: str
    agent: str
    model: str
    guard: str
    outcome: str
    problem: str = ""
    python: str = ""
    version: str = ""
    seconds: float = 0.0
    at: str = ""
    crashes: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    usage: dict[str, Any] = dataclasses.field(default_factory=dict)
    output: str = ""

    @property
    def right(self) -> bool:
        """Whether the target test passed."""
        return self.outcome in ("correct", "passed")


class Results:
    """The results in ``folder`` of one suite with one agent, model and guard. A later line replaces an earlier one."""

    def __init__(self, folder: Path, suite: str, agent: str, model: str = "", guard: str = "") -> None:
        parts = [re.sub(r"[^\w.-]+", "_", part) for part in (suite, agent, model, guard) if part]
        self.path = folder / ("-".join(parts) + ".jsonl")

    def read(self) -> dict[str, Result]:
        """The results so far by instance. A line cut off by a killed run is left out."""
        found: dict[str, Result] = {}
        known = {field.name for field in dataclasses.fields(Result)}
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record.get("schema") == SCHEMA:
                result = Result(**{key: value for key, value in record.items() if key in known})
                found[result.instance] = result
        return found

    def append(self, result: Result) -> None:
        """Add one line in one write, so that several processes may share the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"schema": SCHEMA, **dataclasses.asdict(result)}, sort_keys=True) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
