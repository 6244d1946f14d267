"""The sentences about crashes and totals that terminal, JUnit and page share. Imports nothing of ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from healguard_core.outcome import STOPPED

Record = dict[str, Any]


def crash_line(crash: Record, root: Path | None = None) -> str:
    """One line about one crash: where, error, what the heal changed, verdict, calls, cost."""
    error = crash["error"] + (f": {_short(crash['message'])}" if crash["message"] else "")
    where = f"{place(crash['file'], root)}:{crash['line']} in {crash['function']}"
    used: Record = crash.get("usage") or {"calls": 0, "metered": False, "cost_usd": 0.0}
    verbs = sum(action["kind"] in ("probe", "submit") for action in crash["actions"])
    calls = used["calls"] if used["metered"] or used["calls"] else verbs
    cost = price(used["cost_usd"])
    return f"{where}: {error} -> {_ending(crash)}; {plural(calls, 'call')}, {cost}"


def price(cost: float | None) -> str:
    """An amount of US dollars; small ones are not shown as nothing."""
    if cost is None:
        return "cost unknown"
    return f"${cost:.4f}" if 0 < cost < 0.01 else f"${cost:.2f}"


def _ending(crash: Record) -> str:
    heal = crash.get("heal")
    by = f" by {crash['by']}" if crash.get("by") else ""
    if not heal:
        reason = _short(crash.get("reason") or "")
        return f"not healed{by}" + (f" ({reason})" if reason else "")
    if heal["verdict"] in STOPPED:
        stopped = [stop for action in crash["actions"] for stop in action.get("stops", ())]
        first = f"{stopped[0]['stage']} {stopped[0]['rule']} {stopped[0]['operation']}" if stopped else "an operation"
        policy = f", protected as {stopped[0]['policy_id']}" if stopped and stopped[0]["policy_id"] else ""
        return f"heal{by} stopped ({first}{policy}{_written_by(stopped, crash)})"
    wrote = ", ".join(heal["wrote"]) or "nothing"
    looked = ", second look" if crash.get("second_look") else ""
    return f"healed{by} (resume {heal['resume']}{looked}), wrote {wrote}, {heal['verdict']}"


def _written_by(stopped: list[Record], crash: Record) -> str:
    """Other heals that wrote what was stopped."""
    others = sorted({number for stop in stopped for number in stop["heals"]} - {crash["crash"]})
    return f", with what the heals of crashes {', '.join(map(str, others))} wrote" if others else ""


def place(file: str, root: Path | None) -> str:
    """The file as the user would name it: relative to ``root`` where it is inside."""
    if root is not None and file.startswith(str(root) + os.sep):
        return os.path.relpath(file, root)
    return file


def _short(text: str, limit: int = 120) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= limit else line[: limit - 3] + "..."


def plural(count: int, word: str) -> str:
    """``1 heal``, ``2 heals``."""
    return f"{count} {word}{'' if count == 1 else 's'}"
