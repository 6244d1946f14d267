"""Unsafe findings for code-scanning tools (`--heal-sarif`), as SARIF 2.1.0. Imports healguard_core.

A result stands where the program crashed, for there the heal ran; a related location is the operation that was stopped,
and a code flow has the steps from the heal to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from healguard_core import __version__
from healguard_core.execution.guard.rules import RULES
from healguard_core.execution.guard.veto import STOP_RULES
from healguard_core.protocol import Blocked, Crashed, Finding, Refused, event_from_json
from pytest_heal.jsonreport import write_text
from pytest_heal.records import Record

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_PLACE = re.compile(r"^(?P<file>.+):(?P<line>[0-9]+)(?: \(.*\))?$")


def write_sarif(path: Path, marks: Iterable[Record], root: Path) -> None:
    """Write the findings of all tests; ``root`` is what paths are relative to."""
    write_text(path, json.dumps(log(marks, root), indent=2, ensure_ascii=False) + "\n")


def log(marks: Iterable[Record], root: Path) -> dict[str, Any]:
    """The SARIF log."""
    results = [result for mark in marks for result in _results(mark, root)]
    used = sorted({result["ruleId"] for result in results})
    driver = {"name": "HealGuard", "version": __version__, "rules": [_rule(name) for name in used]}
    base = {"ROOT": {"uri": root.as_uri().rstrip("/") + "/"}}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": base,
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rule(name: str) -> dict[str, Any]:
    rule = STOP_RULES.get(name) or RULES[name]
    return {
        "id": name,
        "shortDescription": {"text": rule.title},
        "help": {"text": rule.advice},
        "defaultConfiguration": {"level": "error"},
    }


def _results(mark: Record, root: Path) -> Iterator[dict[str, Any]]:
    """The findings of one test, each once."""
    crashes: dict[int, Crashed] = {}
    test = mark["record"]["nodeid"]
    for event in map(event_from_json, mark["events"]):
        if isinstance(event, Crashed):
            crashes[event.crash] = event
        elif isinstance(event, Blocked):
            yield _blocked(event, crashes.get(event.crash, Crashed()), test, root)
        elif isinstance(event, Refused):
            for finding in event.findings:
                if finding.severity == "dangerous":
                    yield _refused(event, finding, crashes.get(event.crash, Crashed()), test, root)


def _blocked(event: Blocked, crash: Crashed, test: str, root: Path) -> dict[str, Any]:
    made = _result(event.rule, event.message, crash, test, root)
    related = _location(event.where, root, f"{event.operation} was stopped here")
    if related is not None:
        made["relatedLocations"] = [related]
    steps = [location for location in (_location(step, root, "") for step in event.path) if location is not None]
    if steps:
        made["codeFlows"] = [{"threadFlows": [{"locations": [{"location": step} for step in steps]}]}]
    made["properties"] |= {
        "policyId": event.policy_id, "operation": event.operation, "key": event.key, "exact": event.exact,
        "stage": event.stage, "heals": event.heals, "crash": event.crash, "probe": not event.submit,
        "healingCode": event.code,
    }
    return made


def _refused(event: Refused, finding: Finding, crash: Crashed, test: str, root: Path) -> dict[str, Any]:
    message = f"{finding.rule} {finding.message} (line {finding.line} of the healing code)"
    made = _result(finding.rule, message, crash, test, root)
    made["properties"] |= {
        "stage": "gate", "heals": [event.crash], "crash": event.crash, "probe": not event.submit,
        "healingCode": event.code,
    }
    return made


def _result(rule: str, message: str, crash: Crashed, test: str, root: Path) -> dict[str, Any]:
    at = _location(f"{crash.file}:{crash.line}", root, f"{crash.error} in {crash.function}, healed here")
    return {
        "ruleId": rule,
        "level": "error",
        "message": {"text": message},
        "locations": [at] if at is not None else [],
        "properties": {"test": test},
    }


def _location(place: str, root: Path, message: str) -> dict[str, Any] | None:
    """A ``file:line``; None for places without a file, such as the healing code itself."""
    found = _PLACE.match(place)
    if found is None or found["file"].startswith("<") or not found["file"]:
        return None
    path, line = Path(found["file"]), max(1, int(found["line"]))
    inside = path.is_relative_to(root)
    artifact = {"uri": path.relative_to(root).as_posix(), "uriBaseId": "ROOT"} if inside else {"uri": _uri(path)}
    made: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": line}}}
    if message:
        made["message"] = {"text": message}
    return made


def _uri(path: Path) -> str:
    return path.as_uri() if path.is_absolute() else path.as_posix()
