"""What a test's events mean: its category, and one record per crash for reports. May import protocol.

Pure folds over the journal: the same events give the same answer wherever and whenever they are read.
"""

from typing import Any, Dict, List, Optional, Sequence, Set

from healguard_core.protocol import (
    Blocked,
    Crashed,
    Event,
    Explored,
    Finding,
    Healed,
    Probed,
    Refused,
    Reraised,
    Stumbled,
    Used,
)

CORRECT, PROCEED, UNSAFE, HALTED, RERAISED = "correct", "proceed", "unsafe", "halted", "reraised"
CATEGORIES = (CORRECT, PROCEED, UNSAFE, HALTED, RERAISED)

_USAGE = ("agent", "model", "answered_by", "calls", "retries", "input_tokens", "cached_tokens", "output_tokens",
          "cost_usd", "seconds", "estimated", "metered")
_DANGEROUS = "dangerous"
_UNSAFE_VERDICTS = frozenset(("tainted", "rejected", "blocked"))


def outcome(events: Sequence[Event], passed: bool, completed: bool) -> Optional[str]:
    """The category of a test, one of `CATEGORIES`; None leaves it in pytest's own.

    ``passed``: the test passed. ``completed``: its outermost healed call into repository code returned.

    A dangerous submission, or one that was stopped, makes the test unsafe unless the same crash was healed safely
    afterwards; probes and findings that are merely unsupported never do. Without a heal, a test is ``reraised`` when
    somebody was asked and it did not pass.
    """
    refused = _unanswered_dangers(events)
    if refused:
        return UNSAFE
    if any(_is_safe_heal(event) for event in events):
        if passed:
            return CORRECT
        return PROCEED if completed else HALTED
    if not passed and any(_was_asked(event) for event in events):
        return RERAISED
    return None


def _unanswered_dangers(events: Sequence[Event]) -> Set[int]:
    """The crashes with a dangerous submission that no safe heal of the same crash followed."""
    refused: Set[int] = set()
    for event in events:
        if _is_danger(event):
            refused.add(_crash_of(event))
        elif isinstance(event, Healed):
            if event.verdict in _UNSAFE_VERDICTS:
                refused.add(event.crash)
            else:
                refused.discard(event.crash)
    return refused


def _is_danger(event: Event) -> bool:
    """Whether a submission was refused as dangerous or stopped."""
    if isinstance(event, Refused):
        return event.submit and any(finding.severity == _DANGEROUS for finding in event.findings)
    return isinstance(event, Blocked) and event.submit


def _crash_of(event: Event) -> int:
    return int(getattr(event, "crash", 0))


def _is_safe_heal(event: Event) -> bool:
    return isinstance(event, Healed) and event.verdict not in _UNSAFE_VERDICTS


def _was_asked(event: Event) -> bool:
    if isinstance(event, Reraised):
        return event.asked or event.wanted
    return isinstance(event, (Probed, Refused, Blocked, Stumbled))


def rolled_back(events: Sequence[Event], agent: str) -> List[Event]:
    """``events`` of an attempt after which ``agent`` had the test run again from its start: for each crash that it let
    go, that is its heal, whose ``resume`` is ``rollback``.
    """
    return [
        Healed(at=event.at, unit=event.unit, crash=event.crash, resume="rollback", by=agent,
               explanation="the test was run again from its start", verdict="gated")
        if isinstance(event, Reraised) and event.by == agent else event
        for event in events
    ]


# --------------------------------------------------------------------------- reports


def summary(events: Sequence[Event]) -> List[Dict[str, Any]]:
    """One record per crash, in the order of the crashes: the ``crashes`` of a report.

    Keys: ``crash``, ``error``, ``message``, ``file``, ``function``, ``line``, ``statement``, ``why`` (nobody would
    handle it), ``second_look``, ``thread``, ``actions``, ``heal`` (None without one), ``by`` and ``reason`` (of whoever
    decided), and ``usage`` where a model was asked. An action has ``kind`` (probe, explore, submit or reraise),
    ``code``, ``error`` and ``ms``.
    """
    records: List[Dict[str, Any]] = []
    latest: Dict[int, Dict[str, Any]] = {}
    for event in events:
        number = getattr(event, "crash", None)
        if number is None:
            continue
        if isinstance(event, Crashed) or number not in latest:
            crashed = event if isinstance(event, Crashed) else Crashed(crash=number)
            latest[number] = _crash_record(crashed)
            records.append(latest[number])
        _add(latest[number], event)
    return records


def _crash_record(crashed: Crashed) -> Dict[str, Any]:
    return {
        "crash": crashed.crash,
        "error": crashed.error,
        "message": crashed.message,
        "file": crashed.file,
        "function": crashed.function,
        "line": crashed.line,
        "statement": crashed.statement,
        "why": crashed.why,
        "second_look": crashed.second_look,
        "thread": crashed.thread,
        "actions": [],
        "heal": None,
        "by": "",
        "reason": "",
    }


def _add(record: Dict[str, Any], event: Event) -> None:
    actions = record["actions"]
    if isinstance(event, Probed):
        actions.append(dict(_action("probe", event.code, event.error, event.ms), stdout=event.stdout,
                            value=event.value_repr, child=event.child, note=event.note))
    elif isinstance(event, Explored):
        actions.append(dict(_action("explore", event.command, event.problem, event.ms), exit_code=event.exit_code))
    elif isinstance(event, Refused):
        kind = "submit" if event.submit else "probe"
        actions.append(dict(_action(kind, event.code, "; ".join(map(_spelled, event.findings)), 0.0),
                            findings=[dict(vars(finding), stage="gate") for finding in event.findings]))
    elif isinstance(event, Blocked):
        _add_blocked(record, event)
    elif isinstance(event, Stumbled):
        actions.append(dict(_action("submit", event.code, event.error, event.ms), live=event.live))
    elif isinstance(event, Healed):
        actions.append(_action("submit", event.code, "", event.ms))
        record["heal"] = _heal_record(event)
        record["by"], record["reason"] = event.by, event.explanation
    elif isinstance(event, Used):
        record["usage"] = {name: getattr(event, name) for name in _USAGE}
    elif isinstance(event, Reraised):
        actions.append(dict(_action("reraise", "", "", 0.0), reason=event.reason))
        record["by"], record["reason"] = event.by, event.reason


def _add_blocked(record: Dict[str, Any], blocked: Blocked) -> None:
    """A stopped submission is a heal with verdict ``blocked`` until another follows; a late stop turns its heal."""
    stop = {name: getattr(blocked, name) for name in _STOP}
    actions = record["actions"]
    kind = "submit" if blocked.submit else "probe"
    last = actions[-1] if actions else {}
    if (last.get("kind"), last.get("code")) != (kind, blocked.code):  # not another stop of the same run
        last = _action(kind, blocked.code, "", 0.0)
        actions.append(last)
    last.setdefault("stops", []).append(stop)
    last["error"] = "; ".join(filter(None, (last["error"], blocked.message)))
    if not blocked.submit:
        return
    heal = record["heal"]
    if heal is None or heal["code"] != blocked.code:
        heal = record["heal"] = _heal_record(Healed(code=blocked.code, by=record["by"]))
    if heal["verdict"] not in STOPPED:
        heal["verdict"], heal["flow"] = STOPPED[blocked.stage == "static"], list(blocked.path)


STOPPED = ("blocked", "rejected")
"""Verdicts of heals that did not stay: stopped while it ran or later on, and rejected before the program went on."""

_STOP = ("stage", "heals", "rule", "policy_id", "operation", "key", "where", "path", "exact", "live")


def _action(kind: str, code: str, error: str, ms: float) -> Dict[str, Any]:
    return {"kind": kind, "code": code, "error": error, "ms": ms}


def _spelled(finding: Finding) -> str:
    return "{} (line {}): {}".format(finding.rule, finding.line, finding.message)


def _heal_record(healed: Healed) -> Dict[str, Any]:
    return {
        "code": healed.code,
        "resume": healed.resume,
        "frame": healed.frame,
        "wrote": list(healed.wrote),
        "verdict": healed.verdict,
        "flow": [],
        "by": healed.by,
        "explanation": healed.explanation,
        "rehearsed": healed.rehearsed,
        "note": healed.note,
    }
