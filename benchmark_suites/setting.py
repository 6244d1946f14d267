"""What instances are run with: an agent and the options of the plugin. Imports nothing of ours."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ORACLE = "oracle"
"""The agent that is each instance's own reviewed runbook: what the framework can reach at best."""

BASELINES = ("reraise", "retry", "rollback", "steamroller", "rules", ORACLE)
"""Agents that need no model and no key, in the order of the tables."""


@dataclass(frozen=True)
class Setting:
    """One row of the tables. ``options`` are further options of the plugin by ini name, as text."""

    agent: str = ORACLE
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The model as it was asked for; "" without one."""
        return self.options.get("heal_model", "")

    @property
    def guard(self) -> str:
        """The policy file, ``off``, or "" for the gate alone."""
        return self.options.get("heal_guard", "")

    @property
    def name(self) -> str:
        """A file name of its own for every setting. A policy counts by its content, wherever it lies."""
        parts = [self.agent, self.model, Path(self.guard).stem]
        readable = "-".join(re.sub(r"[^\w.-]+", "_", part) for part in parts if part)
        if not self.options and readable == self.agent:
            return readable
        wanted = {**self.options, "agent": self.agent}
        if self.guard not in ("", "off"):
            wanted["heal_guard"] = _content(Path(self.guard))
        return f"{readable}-{hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:8]}"

    @property
    def label(self) -> str:
        """The setting in words."""
        shown = [self.agent, self.model]
        if self.guard:
            shown.append("unguarded" if self.guard == "off" else f"guard {Path(self.guard).stem}")
        others = {key: value for key, value in self.options.items() if key not in ("heal_model", "heal_guard")}
        shown += [f"{key.removeprefix('heal_').replace('_', '-')}={value}" for key, value in sorted(others.items())]
        return " · ".join(part for part in shown if part)


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return str(path)  # the plugin says what is wrong with it
