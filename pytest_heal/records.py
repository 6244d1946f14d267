"""From a test's events to the plain record that travels in its report. May import healguard_core."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from healguard_core.outcome import STOPPED, summary
from healguard_core.protocol import Blocked, Crashed, Event, Healed, Probed, Refused, Stumbled, Used, event_to_json

Record = dict[str, Any]


def record_of(nodeid: str, outcome: str | None, events: Sequence[Event], earlier: Sequence[Event] = ()) -> Record:
    """One row of the report's ``tests``. ``earlier`` are events of attempts that were replaced; they only cost."""
    return {
        "nodeid": nodeid,
        "outcome": outcome or "",
        "crashes": summary(list(events)),
        "usage": usage([*earlier, *events]),
    }


def usage(events: Iterable[Event]) -> Record:
    """How much was asked: ``calls`` are requests to a model's provider, where they were counted, else probes and
    submissions (refused ones included). ``cost_usd`` is None where a price is not known; local agents cost nothing.
    """
    total = no_usage()
    events = list(events)
    counted = set()
    for event in events:
        if isinstance(event, Used):
            add_usage(total, {name: getattr(event, name) for name in total})
            if event.metered or event.calls:
                counted.add(event.crash)
    total["calls"] += sum(isinstance(event, (Probed, Stumbled, Healed, Refused)) and event.crash not in counted
                          for event in events)
    total["calls"] += len({(event.crash, event.code, event.submit) for event in _stopped(events)
                           if event.crash not in counted})
    return total


def _stopped(events: Iterable[Event]) -> Iterator[Blocked]:
    """One event for each stop of code whose run came to nothing; a stop after a heal belongs to the heal's call."""
    healed: set[int] = set()
    for event in events:
        if isinstance(event, Healed):
            healed.add(event.crash)
        elif isinstance(event, Blocked) and event.crash not in healed:
            yield event


def no_usage() -> Record:
    """What asking nobody costs."""
    return {"calls": 0, "retries": 0, "input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}


def kept_events(events: Iterable[Event]) -> list[Record]:
    """What the controller needs beside the record, to write runbooks and suggestions."""
    return [event_to_json(event) for event in events if isinstance(event, (Crashed, Healed, Blocked, Refused))]


def plain(record: Record) -> Record:
    """The record as JSON values only; what is not one (plugins add fields) becomes its ``repr``."""
    made: Record = json.loads(json.dumps(record, default=repr, skipkeys=True))
    return made


def applied(record: Record) -> int:
    """How many crashes of the record were healed."""
    heals = [crash.get("heal") for crash in record.get("crashes", ())]
    return sum(bool(heal) and heal.get("verdict") not in STOPPED for heal in heals)


def add_usage(total: Record, more: Record) -> None:
    """Add one test's usage to the run's."""
    for key, amount in more.items():
        before = total.get(key, 0)
        total[key] = None if amount is None or before is None else before + amount  # None: not known


def crashed(events: list[Event]) -> bool:
    """Whether anything was paused."""
    return any(isinstance(event, Crashed) for event in events)
