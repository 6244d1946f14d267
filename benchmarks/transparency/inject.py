"""Measure the decision: inject one error per test, compare what was decided with what really happened."""

from __future__ import annotations

import dataclasses
import json
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from .injector import ERRORS
from .suites import Prepared

TIMEOUT = 3600.0
ANSWERS = ("unhandled", "second look", "undecided", "handled")
TRUTHS = ("reached", "chain", "swallowed")


@dataclasses.dataclass
class Confusion:
    """Decisions against the ground truth of one suite, one injected error per test."""

    suite: str
    seed: int
    counts: Counter[tuple[str, str]]
    discarded: int
    wrong: list[dict[str, Any]]

    @property
    def precision(self) -> float:
        """Share of the errors said to be unhandled at first sight that did reach the test (or its chain)."""
        said = sum(self.counts["unhandled", truth] for truth in TRUTHS)
        return (said - self.counts["unhandled", "swallowed"]) / said if said else 1.0

    @property
    def recall(self) -> float:
        """Share of the errors reaching a test that were offered for healing, second look included."""
        reached = sum(self.counts[answer, "reached"] for answer in ANSWERS)
        offered = self.counts["unhandled", "reached"] + self.counts["second look", "reached"]
        return offered / reached if reached else 1.0

    def table(self) -> str:
        """The confusion table as text."""
        rows = [f"{self.suite} (seed {self.seed}, n={sum(self.counts.values())}, discarded {self.discarded})",
                f"{'':<12}" + "".join(f"{truth:>11}" for truth in TRUTHS)]
        rows += [f"{answer:<12}" + "".join(f"{self.counts[answer, truth]:>11}" for truth in TRUTHS)
                 for answer in ANSWERS]
        rows.append(f"precision of unhandled {self.precision:.4%}, offered of those reaching a test {self.recall:.4%}")
        return "\n".join(rows)


def measure(prepared: Prepared, seed: int, limit: int | None = None) -> Confusion:
    """Count, plan, find the truth, decide, compare. ``limit`` bounds how many tests get an error."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        counted = _pass(prepared, home, "count", None)
        plan = _plan(counted, seed, limit)
        path = home / "plan.json"
        path.write_text(json.dumps(plan))
        truth = _pass(prepared, home, "truth", path)
        decided = _pass(prepared, home, "decide", path)
    counts: Counter[tuple[str, str]] = Counter()
    discarded, wrong = 0, []
    for nodeid in plan:
        real, said = truth.get(nodeid), decided.get(nodeid)
        if not real or not said or not real["raised"] or not said["raised"] or real["site"] != said["site"]:
            discarded += 1
            continue
        answer = _answer(said)
        counts[answer, real["reached"]] += 1
        if (answer, real["reached"]) in (("unhandled", "swallowed"), ("handled", "reached"), ("undecided", "reached")):
            wrong.append({"nodeid": nodeid, "answer": answer, "truth": real["reached"], "site": real["site"],
                          "kind": real["kind"], "why": said["why"]})
    return Confusion(prepared.suite.name, seed, counts, discarded, wrong)


def _plan(counted: dict[str, dict[str, Any]], seed: int, limit: int | None) -> dict[str, Any]:
    chooser = random.Random(seed)
    names = sorted(name for name, record in counted.items() if record["count"])
    if limit is not None and len(names) > limit:
        names = sorted(chooser.sample(names, limit))
    return {
        name: {"ordinal": chooser.randint(1, counted[name]["count"]), "kind": chooser.choice(sorted(ERRORS))}
        for name in names
    }


def _pass(prepared: Prepared, home: Path, mode: str, plan: Path | None) -> dict[str, dict[str, Any]]:
    out = home / f"{mode}.jsonl"
    args = ["-p", "benchmarks.transparency.injector", f"--inject={mode}", f"--inject-out={out}",
            f"--inject-package={prepared.suite.source.split('.')[0]}"]
    if plan is not None:
        args.append(f"--inject-plan={plan}")
    journal = home / "journal.jsonl"
    if mode == "decide":
        args += ["--heal=recorder", f"--heal-source={prepared.suite.source}", f"--heal-journal={journal}",
                 "--heal-trial=off"]
    else:
        args += ["-p", "no:heal"]
    root = str(Path(__file__).resolve().parents[2])
    env = {"PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1"}
    done = prepared.pytest(*args, timeout=TIMEOUT, env=env)
    if not out.exists():
        raise RuntimeError(f"{prepared.suite.name}: {mode} gave nothing:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    records = {}
    for line in out.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        records[record["nodeid"]] = record  # of a test that ran twice, the second look
    if mode == "decide":
        _add_journal(records, journal)
    return records


def _add_journal(records: dict[str, dict[str, Any]], journal: Path) -> None:
    """Add what the journal says about the injected error of each test."""
    for record in records.values():
        record["crashed"], record["left"], record["why"] = [], [], ""
    if not journal.exists():
        return
    for line in journal.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        record = records.get(event.get("unit", ""))
        if record is None or not str(event.get("message", "")).strip("'").startswith("injected into"):
            continue
        if event["event"] == "Crashed":
            record["crashed"].append(event["second_look"])
            record["why"] = event["why"]
        elif event["event"] == "Left":
            record["left"].append(event["why"])
            record["why"] = record["why"] or event["why"]


def _answer(said: dict[str, Any]) -> str:
    if said["crashed"]:
        return "second look" if said["crashed"][0] else "unhandled"
    return "undecided" if said["left"] else "handled"
