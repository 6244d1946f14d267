"""Reads the record files that a user has. Imports nothing of ours but the settings' YAML reader (pyyaml).

Understood are ``.json`` (a list, or one record), ``.jsonl``, and a task tree: a folder with
``tasks/ID/{task.yaml,tests.json,gold.patch,test.patch,eval.sh}``.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

LARGEST = 256 << 20  # bytes of one record file

_TREE = {"patch": "gold.patch", "test_patch": "test.patch", "eval_script": "eval.sh",
         "problem_statement": "problem_statement.md", "heals": "heals.yaml"}


def read(path: Path) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Where each record stands (``file:line`` or a folder), with the record or with what is wrong there.

    Raises ``ValueError`` when ``path`` holds no records at all.
    """
    if (path / "tasks").is_dir():
        yield from _tree(path / "tasks")
    elif path.suffix == ".jsonl" and path.is_file():
        yield from _lines(path)
    elif path.suffix == ".json" and path.is_file():
        yield from _whole(path)
    else:
        raise ValueError(f"--heal-records={path}: give a .jsonl or .json file, or a folder with tasks/; "
                         "other formats can be converted with the `datasets` package (to_json)")


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any] | str]]:
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"{path.name}:{number}", _parsed(line)


def _whole(path: Path) -> Iterator[tuple[str, dict[str, Any] | str]]:
    if path.stat().st_size > LARGEST:
        raise ValueError(f"--heal-records={path}: larger than {LARGEST >> 20} MiB; make it .jsonl")
    try:
        found = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except ValueError as problem:
        raise ValueError(f"--heal-records={path}: not JSON: {problem}") from None
    for index, record in enumerate(found if isinstance(found, list) else [found]):
        yield f"{path.name}[{index}]", record if isinstance(record, dict) else "this is no JSON object"


def _parsed(line: str) -> dict[str, Any] | str:
    try:
        record = json.loads(line)
    except ValueError as problem:
        return f"not JSON: {problem}"
    return record if isinstance(record, dict) else "this is no JSON object"


def _tree(tasks: Path) -> Iterator[tuple[str, dict[str, Any] | str]]:
    for folder in sorted(path for path in tasks.iterdir() if path.is_dir() and not path.is_symlink()):
        try:
            yield folder.name, _task(folder)
        except (OSError, ValueError, yaml.YAMLError) as problem:
            yield folder.name, f"this task cannot be read: {problem}"


def _task(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = yaml.safe_load((folder / "task.yaml").read_text(encoding="utf-8")) or {}
    if not isinstance(record, dict):
        raise ValueError("task.yaml holds no mapping")
    tests = folder / "tests.json"
    if tests.is_file():
        record.update(json.loads(tests.read_text(encoding="utf-8")))
    for name, file in _TREE.items():
        path = folder / file
        if path.is_file() and not path.is_symlink():
            record.setdefault(name, path.read_text(encoding="utf-8", errors="replace"))
    record.setdefault("instance_id", folder.name)
    return record
