"""Whether the target call came to its end, from what was watched. Imports nothing of ours.

The target call is the outermost repository frame that was entered from outside of the repository and inside of which
a crash was healed (the test's call into the package).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from healguard_core.outcome import STOPPED

_ENDED_WELL = ("returned", "yielded")


def completed(counted: Mapping[str, Any], crashes: Sequence[Mapping[str, Any]]) -> bool | None:
    """Whether every call in which one of ``crashes`` (of a report) happened returned, after at least one heal.

    None when that cannot be told: a crash happened in no call that was watched, or the trace was taken away.
    """
    if not any(_healed(crash) for crash in crashes):
        return False
    calls = [_call_of(counted["calls"], crash) for crash in crashes]
    found = [call for call in calls if call is not None]
    if any(call["ended"] not in _ENDED_WELL for call in found):
        return False
    if len(found) < len(calls) or not counted["complete"]:
        return None
    return True


def _healed(crash: Mapping[str, Any]) -> bool:
    heal = crash.get("heal") or {"verdict": "blocked"}
    return bool(heal["verdict"] not in STOPPED)


def _call_of(calls: Sequence[Mapping[str, Any]], crash: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The last call in which the error of ``crash`` was raised by its statement, which may have several lines."""
    file = str(crash["file"]).replace("\\", "/")
    lines = range(crash["line"], crash["line"] + str(crash.get("statement", "")).count("\n") + 1)
    call: Mapping[str, Any]
    for call in reversed(calls):
        raised: list[tuple[str, int, str]] = call["raised"]
        if any(line in lines and error == crash["error"] and (file == name or file.endswith("/" + name))
               for name, line, error in raised):
            return call
    return None
