"""Writes applied heals as a runbook (`--heal-record`). May import healguard_core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from healguard_core.protocol import Blocked, Crashed, Event, Healed, event_from_json
from healguard_core.settings.recording import append_to_runbook, recorded_entry
from pytest_heal.records import Record


def record_heals(path: Path, marks: Iterable[Record]) -> list[Record]:
    """Add every applied heal to the runbook ``path``; return notices about those that cannot be."""
    entries, notices = [], []
    for crashed, healed in applied_heals(marks):
        function = str(getattr(healed, "function", "")) if healed.frame else ""
        if healed.frame and not function:
            notices.append({
                "code": "not-recorded",
                "message": f"the heal of an outer frame (frame {healed.frame}) is not recorded: "
                           "its function is not on record",
                "where": f"{crashed.file}:{crashed.line}",
            })
            continue
        entries.append(recorded_entry(crashed, healed, function))
    path.parent.mkdir(parents=True, exist_ok=True)
    append_to_runbook(path, entries)
    return notices


def applied_heals(marks: Iterable[Record]) -> Iterator[tuple[Crashed, Healed]]:
    """Every applied heal with its crash, in order."""
    for mark in marks:
        crashes: dict[int, Crashed] = {}
        events = list(map(event_from_json, mark["events"]))
        for number, event in enumerate(events):
            if isinstance(event, Crashed):
                crashes[event.crash] = event
            elif isinstance(event, Healed) and not _was_stopped(event, events[number:]):
                yield crashes[event.crash], event


def _was_stopped(healed: Healed, later: Iterable[Event]) -> bool:
    """Whether something that a heal had set going was stopped after it."""
    return any(isinstance(event, Blocked) and event.submit and event.crash == healed.crash for event in later)
