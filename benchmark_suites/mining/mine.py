"""Looks for instances commit by commit and writes what it found. Imports the other modules of this package.

For each commit that changes code and tests, the commit's tests are run on its parent: what fails there is a candidate.
Candidates that pass every rule and whose test passes after the commit are kept, with the test cut down to itself.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from benchmark_suites.mining import pruning, rules
from benchmark_suites.mining.history import Commit, Repository, changed, import_roots
from benchmark_suites.mining.sandbox import Ended, Sandbox

LEDGER = "ledger.jsonl"
REVIEW = "review.md"
_PLUGIN = Path(__file__).with_name("heal_errors.py")
_TARGET = "test_target.py"


@dataclass(frozen=True)
class Mining:
    """What to mine: ``package`` is the folder of the package in the repository, ``python`` has what its tests need."""

    repository: Repository
    package: str
    out: Path
    python: str
    sandbox: Sandbox
    distribution: str


def mine(mining: Mining, limit: int, grep: str, since: str, said: TextIO) -> tuple[Counter[str], int]:
    """Look at the newest ``limit`` fitting commits that the ledger lacks; the ledger's counts and commits.

    What is known of a commit is written as soon as it is known, so that a killed run goes on where it was.
    """
    mining.out.mkdir(parents=True, exist_ok=True)
    done = _read(mining.out / LEDGER)
    seen = {tuple(key) for entry in done.values() for key in entry["seen"]}
    for commit in mining.repository.candidates(mining.package, limit, grep, since):
        if commit.id in done:
            continue
        entry = _look(mining, commit, seen)
        done[commit.id] = entry
        with open(mining.out / LEDGER, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, sort_keys=True) + "\n")
        told = ", ".join(f"{count} {rule}" for rule, count in entry["counts"].items()) or "no error"
        print(f"{commit.id[:10]} {commit.subject[:60]}: {told}", file=said, flush=True)
    _write_review(mining.out, done)
    total: Counter[str] = Counter()
    for entry in done.values():
        total.update(entry["counts"])
    return total, len(done)


def table(counts: Mapping[str, int], commits: int) -> str:
    """The construction ledger as a Markdown table."""
    lines = [f"Candidate errors of {commits} commits: {sum(counts.values())}", "", "| rule | candidates |", "|---|---|"]
    lines += [f"| {rule} | {counts.get(rule, 0)} |" for rule in rules.RULES]
    return "\n".join(lines)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The ledger's entries by commit; a line that a killed run cut off is left out, so its commit comes again."""
    found: dict[str, dict[str, Any]] = {}
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        found[entry["commit"]] = entry
    if text and not text.endswith("\n"):
        path.write_text("".join(json.dumps(entry, sort_keys=True) + "\n" for entry in found.values()), encoding="utf-8")
    return found


def _look(mining: Mining, commit: Commit, seen: set[tuple[str, ...]]) -> dict[str, Any]:
    entry: dict[str, Any] = {"commit": commit.id, "parent": commit.parent, "subject": commit.subject,
                             "code": commit.code, "tests": commit.tests, "counts": {}, "kept": [], "seen": []}
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="heal-mine-", dir=mining.out) as folder:
        work = Path(folder).resolve()
        before, after = work / "before", work / "after"
        mining.repository.lay_out(commit.parent, before)
        mining.repository.lay_out(commit.id, after)
        for name in (*commit.tests, *commit.data):
            (before / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(after / name, before / name)
        ended, errors = _run(mining, work, before, [str(before / name) for name in commit.tests])
        failed = [error for error in errors if error["outcome"] == "failed"]
        if not failed and ended.code not in (0, 1, 5):
            counts[rules.PROCESS] += 1
        package = before / mining.package
        fitting = []
        for error in failed:
            rule = rules.excluded(error, before, package)
            if rule:
                counts[rule] += 1
            else:
                fitting.append(error)
        for error, rule, instance in _fixed(mining, commit, work, fitting, seen, entry["seen"]):
            counts[rule] += 1
            if instance:
                entry["kept"].append({"instance": instance, "test": error["test"], "error": error["error"],
                                      "message": error["message"]})
    entry["counts"] = dict(counts)
    return entry


def _fixed(
    mining: Mining, commit: Commit, work: Path, fitting: list[dict[str, Any]], seen: set[tuple[str, ...]],
    fresh: list[list[str]],
) -> list[tuple[dict[str, Any], str, str]]:
    """Each fitting error with its rule, and the id of the instance that was made of it."""
    before, after = work / "before", work / "after"
    if not fitting:
        return []
    _, results = _run(mining, work, after, [str(after / name) for name in commit.tests])
    passed = {_relative(each["test"]) for each in results if each["outcome"] == "passed"}
    judged = []
    for error in fitting:
        frame = rules.crash_frame(error, before / mining.package)
        assert frame is not None
        place = Path(frame[0]).relative_to(before / mining.package).as_posix()
        test = _relative(error["test"])
        keys = ((test.partition("[")[0].rpartition("::")[2], error["message"]),
                (commit.id, error["error"], place, str(frame[2])))
        if test not in passed:
            judged.append((error, rules.UNFIXED, ""))
        elif any(key in seen for key in keys):
            judged.append((error, rules.DUPLICATE, ""))
        else:
            instance = _alone(mining, commit, work, error, (place, frame[1], frame[2]))
            if instance:  # one that cannot stand alone is no reason to drop another that can
                seen.update(keys)
                fresh.extend(list(key) for key in keys)
            judged.append((error, rules.KEPT if instance else rules.ALONE, instance))
    return judged


def _alone(
    mining: Mining, commit: Commit, work: Path, error: dict[str, Any], frame: tuple[str, str, int]
) -> str:
    """Make an instance of ``error`` when its test, by itself, fails as before and passes after; its id or ""."""
    file, _, test = _relative(error["test"]).partition("::")
    name = next((each for each in commit.tests if each.endswith(file)), "")
    try:
        target = pruning.only(mining.repository.show(commit.id, name), test) if name else None
    except (ValueError, SyntaxError, RecursionError):
        target = None
    if target is None:
        return ""
    place = work / "alone"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / _TARGET).write_text(target, encoding="utf-8")
    (place / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    _, buggy = _run(mining, work, work / "before", [str(place / _TARGET)], place)
    _, fixed = _run(mining, work, work / "after", [str(place / _TARGET)], place)
    as_before = [each for each in buggy if each["outcome"] == "failed" and each["error"] == error["error"]
                 and rules.crash_frame(each, work / "before" / mining.package)]
    if len(buggy) != 1 or len(as_before) != 1 or [each["outcome"] for each in fixed] != ["passed"]:
        return ""
    return _write_instance(mining, commit, error, frame, target)


def _run(
    mining: Mining, work: Path, tree: Path, files: list[str], folder: Path | None = None
) -> tuple[Ended, list[dict[str, Any]]]:
    """Run ``files`` with the package of ``tree`` on the path."""
    out = work / "errors.json"
    out.unlink(missing_ok=True)
    shutil.copy(_PLUGIN, work)
    _, parent = import_roots(mining.package)
    path = f"{tree / parent}:{work}" if folder else f"{tree / parent}:{tree}:{work}"
    variables = {"PYTHONPATH": path, "HEAL_ERRORS": str(out), "PYTHONDONTWRITEBYTECODE": "1",
                 "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1" if folder else ""}
    command = [mining.python, "-m", "pytest", "-q", "-p", "heal_errors", "-p", "no:cacheprovider", "--no-header",
               "--tb=no", "-o", "addopts=", *(["-c", str(folder / "pytest.ini")] if folder else []), *files]
    ended = mining.sandbox.run(command, work, {name: value for name, value in variables.items() if value})
    try:
        found: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = []
    return ended, found


def _relative(test: str) -> str:
    """The id of a test without the folders that differ between the two trees."""
    file, colons, rest = test.partition("::")
    return "/".join(Path(file).parts[-2:]).removeprefix("before/").removeprefix("after/") + colons + rest


def _write_instance(
    mining: Mining, commit: Commit, error: dict[str, Any], frame: tuple[str, str, int], target: str
) -> str:
    """Write the folder of an instance in the format of suite ``releases``; its id."""
    root, _ = import_roots(mining.package)
    file, function, line = frame
    mark = hashlib.sha256(f"{commit.id}{error['test']}".encode()).hexdigest()[:6]
    id = f"{root}-{commit.id[:10]}-{mark}"
    folder = mining.out / id
    folder.mkdir(exist_ok=True)
    (folder / _TARGET).write_text(target, encoding="utf-8")
    where = f"{mining.distribution} @ git+file://{mining.repository.path}@"
    pins = _pins(mining)
    record: list[tuple[str, Any]] = [
        ("id", id), ("package", mining.distribution), ("import_roots", [root]), ("python", _version(mining)),
        ("portable", True), ("buggy", where + commit.parent), ("fixed", where + commit.id),
        ("source", f"commit {commit.id}: {commit.subject}"), ("difficulty", "medium"),
        ("why", "not reviewed yet"), ("skip_only", "second_error"), ("hits", 1),
        ("requirements_buggy", [*pins, where + commit.parent]), ("requirements_fixed", [*pins, where + commit.id]),
    ]
    crash = [("type", error["error"]), ("message", error["message"]), ("file", f"{root}/{file}"),
             ("function", function), ("line", line)]
    text = "".join(f"{key} = {_toml(value)}\n" for key, value in record) + "\n[error]\n"
    text += "".join(f"{key} = {_toml(value)}\n" for key, value in crash)
    tomllib.loads(text)
    (folder / "instance.toml").write_text(text, encoding="utf-8")
    return id


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=True) if isinstance(value, str) else json.dumps(value)


def _version(mining: Mining) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return mining.sandbox.run([mining.python, "-c", code], mining.out.resolve(), {}).output.strip()


def _pins(mining: Mining) -> list[str]:
    """What is installed beside the package, as requirements."""
    code = ("import importlib.metadata as m\n"
            "for d in m.distributions():\n"
            "    if d.read_text('direct_url.json') is None: print(d.metadata['Name'] + '==' + d.version)\n")
    found = mining.sandbox.run([mining.python, "-c", code], mining.out.resolve(), {})
    own = mining.distribution.lower().replace("_", "-")
    return sorted({line for line in found.output.split() if line.partition("==")[0].lower().replace("_", "-") != own})


def _write_review(out: Path, done: Mapping[str, dict[str, Any]]) -> None:
    """The file for the step that only a person can do."""
    lines = ["# Instances to review", "", "For each: is the error the bug of the commit, in the repository's code, and "
             "can a program go on after it? Remove the folder of an instance that is not. Then add `heals.yaml` with a "
             "right heal, and set `difficulty`, `why` and `skip_only`.", ""]
    for entry in done.values():
        for kept in entry["kept"]:
            if (out / kept["instance"]).is_dir():
                lines += [f"- [ ] `{kept['instance']}`: {kept['error']}: {kept['message'].splitlines()[0][:100]}"
                          if kept["message"] else f"- [ ] `{kept['instance']}`: {kept['error']}",
                          f"      {entry['subject']} ({changed(entry['code'])})", f"      test: `{kept['test']}`"]
    (out / REVIEW).write_text("\n".join(lines) + "\n", encoding="utf-8")
