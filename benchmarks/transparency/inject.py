"""Measure the decision: inject one error per test, compare what was decided with what really happened."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from .injector import ERRORS
from .suites import Prepared

TIMEOUT = 3600.0  # seconds for one run of a suite
ANSWERS = ("unhandled", "second look", "undecided", "handled")
TRUTHS = ("reached", "chain", "failed", "swallowed")
"""The error reached the test's outcome; it is in the chain of what did; it was caught and the test failed otherwise;
it was caught and the test passed."""
_WRONG = frozenset([
    ("unhandled", "swallowed"), ("unhandled", "failed"), ("second look", "swallowed"),
    ("handled", "reached"), ("undecided", "reached"),
])


@dataclasses.dataclass
class Confusion:
    """Decisions against the ground truth of one suite, one injected error per test."""

    suite: str
    seed: int
    counts: Counter[tuple[str, str]]
    discarded: Counter[str]
    wrong: list[dict[str, Any]]

    @property
    def precision(self) -> float:
        """Share of the errors said to be unhandled at first sight that did reach the test (or its chain)."""
        said = sum(self.counts["unhandled", truth] for truth in TRUTHS)
        wrong = self.counts["unhandled", "swallowed"] + self.counts["unhandled", "failed"]
        return (said - wrong) / said if said else 1.0

    @property
    def offered_though_handled(self) -> int:
        """Errors offered although the program handles them and the test passes: a healer would change a sound run."""
        return self.counts["unhandled", "swallowed"] + self.counts["second look", "swallowed"]

    @property
    def recall(self) -> float:
        """Share of the errors reaching a test that were offered for healing, second look included."""
        reached = sum(self.counts[answer, "reached"] for answer in ANSWERS)
        offered = self.counts["unhandled", "reached"] + self.counts["second look", "reached"]
        return offered / reached if reached else 1.0

    def table(self) -> str:
        """The confusion table as text."""
        why = ", ".join(f"{count} {reason}" for reason, count in sorted(self.discarded.items()))
        rows = [f"{self.suite} (seed {self.seed}, n={sum(self.counts.values())}, not comparable: {why or 'none'})",
                f"{'':<12}" + "".join(f"{truth:>11}" for truth in TRUTHS)]
        rows += [f"{answer:<12}" + "".join(f"{self.counts[answer, truth]:>11}" for truth in TRUTHS)
                 for answer in ANSWERS]
        rows.append(f"precision of unhandled {self.precision:.4%}, offered of those reaching a test {self.recall:.4%}, "
                    f"offered though handled {self.offered_though_handled}")
        return "\n".join(rows)


def measure(prepared: Prepared, seed: int, limit: int | None = None) -> Confusion:
    """Count, plan, find the truth, decide, compare. ``limit``: run so many tests only, chosen by chance."""
    sample = (f"--inject-limit={limit or 0}", f"--inject-seed={seed}")
    truths = _truths(prepared, seed, sample)
    plan = json.loads((truths / "plan.json").read_text())
    if not plan:
        raise RuntimeError(f"{prepared.suite.name}: no passing test was seen to execute a statement of the package")
    truth = _records(truths / "truth.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        decided = _pass(prepared, Path(folder), "decide", sample, truths / "plan.json")
    counts: Counter[tuple[str, str]] = Counter()
    discarded: Counter[str] = Counter()
    wrong = []
    for nodeid in plan:
        real, said = truth.get(nodeid), decided.get(nodeid)
        reason = _not_comparable(real, said)
        if reason or not real or not said:
            discarded[reason] += 1
            continue
        answer = _answer(said)
        counts[answer, real["reached"]] += 1
        if (answer, real["reached"]) in _WRONG:
            wrong.append({"nodeid": nodeid, "answer": answer, "truth": real["reached"], "site": real["site"],
                          "kind": real["kind"], "ordinal": plan[nodeid]["ordinal"], "why": said["why"]})
    return Confusion(prepared.suite.name, seed, counts, discarded, wrong)


def _truths(prepared: Prepared, seed: int, sample: tuple[str, ...]) -> Path:
    """The folder with the plan and the truth, which do not depend on the decision: made once, kept with the suite."""
    injector = Path(__file__).with_name("injector.py").read_bytes()
    made_of = (prepared.suite.args, sample, injector)
    kept = prepared.folder.parent / ("truth-" + hashlib.sha256(repr(made_of).encode()).hexdigest()[:12])
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=prepared.folder.parent) as folder:
            home = Path(folder) / "truth"
            home.mkdir()
            counted = _pass(prepared, home, "count", sample)
            (home / "plan.json").write_text(json.dumps(_plan(counted, seed)))
            _pass(prepared, home, "truth", sample, home / "plan.json")
            home.rename(kept)
    return kept


def _plan(counted: dict[str, dict[str, Any]], seed: int) -> dict[str, Any]:
    chooser = random.Random(seed)
    names = sorted(name for name, record in counted.items() if record["count"] and not record["failed"])
    return {
        name: {"ordinal": chooser.randint(1, counted[name]["count"]), "kind": chooser.choice(sorted(ERRORS))}
        for name in names
    }


def _pass(
    prepared: Prepared, home: Path, mode: str, sample: tuple[str, ...], plan: Path | None = None
) -> dict[str, dict[str, Any]]:
    out = home / f"{mode}.jsonl"
    args = ["-p", "benchmarks.transparency.injector", f"--inject={mode}", f"--inject-out={out}",
            f"--inject-package={prepared.suite.source.split('.')[0]}", *sample]
    if plan is not None:
        args.append(f"--inject-plan={plan}")
    journal = home / "journal.jsonl"
    if mode == "decide":
        args += ["--heal=recorder", f"--heal-source={prepared.suite.source}", f"--heal-journal={journal}",
                 "--heal-trial=off"]
    else:
        args += ["-p", "no:heal"]
    root = str(Path(__file__).resolve().parents[2])
    env = {"PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}  # the same order of statements
    done = prepared.pytest(*args, timeout=TIMEOUT, env=env)
    if not out.exists():
        raise RuntimeError(f"{prepared.suite.name}: {mode} gave nothing:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    records = _records(out)
    if mode == "decide":
        _add_journal(records, journal)
    return records


def _records(path: Path) -> dict[str, dict[str, Any]]:
    """The records of one pass by test; of a test that ran twice, the second look."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {record["nodeid"]: record for record in map(json.loads, lines)}


def _add_journal(records: dict[str, dict[str, Any]], journal: Path) -> None:
    """Add what the journal says about the injected error of each test."""
    for record in records.values():
        record["crashed"], record["left"], record["why"] = [], [], ""
    if not journal.exists():
        return
    for line in journal.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        concerned = records.get(event.get("unit", ""))
        if concerned is None or not str(event.get("message", "")).lstrip("'\"").startswith("injected into"):
            continue
        if event["event"] == "Crashed":
            concerned["crashed"].append(event["second_look"])
            concerned["why"] = event["why"]
        elif event["event"] == "Left":
            concerned["left"].append(event["why"])
            concerned["why"] = concerned["why"] or event["why"]


def _not_comparable(real: dict[str, Any] | None, said: dict[str, Any] | None) -> str:
    """Why the two runs of a test cannot be compared, "" if they can: the same error was raised at the same place."""
    if not real or not said:
        return "not run"
    if not real["raised"] or not said["raised"]:
        return "not reached the planned statement"
    return "" if real["site"] == said["site"] else "reached another statement"


def _answer(said: dict[str, Any]) -> str:
    if said["crashed"]:
        return "second look" if said["crashed"][0] else "unhandled"
    return "undecided" if said["left"] else "handled"
