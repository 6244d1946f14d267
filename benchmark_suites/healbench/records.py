"""The one internal form of every public record. Imports nothing of ours.

Fields as in HealBench: each instance links a runtime error, its target test and the fixed execution (section B.1).
"""

import hashlib
import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_ID = re.compile(r"[A-Za-z0-9][\w.@+-]{0,199}")
_IMAGE = re.compile(r"[a-z0-9]+(?:[._:/@-]+[A-Za-z0-9_]+)*[\w.-]*")


class RecordError(ValueError):
    """A record that cannot be used; the text says which field is wrong, how, and what to do."""


@dataclass(frozen=True)
class ExpectedError:
    """The error that the target test meets before the fix. ``file`` is relative to the repository."""

    type: str
    message: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class Record:
    """One task of a public benchmark, whatever it was called there.

    - ``source``: ``swe-bench``, ``swe-bench-pro`` or ``r2e-gym``. ``image``: name of the container image.
    - ``workdir``: the repository inside of the image. ``base``: commit before the fix, "" where only the image knows.
    - ``gold_patch``: the fix as a diff, or else ``gold_ref``: a commit of the repository in the image that has it.
    - ``prepare``: shell lines that bring the tests of the fix into the repository; no healing happens in them.
    - ``test_cmd``: shell lines that run all tests of the task. ``runner``: ``pytest``, ``django``, ``unittest``,
      ``sympy`` or "" where nobody knows; it says how one test is selected and how the log is read.
    - ``should_fail``: tests that fail before and pass after the fix. ``target_test`` and ``error``: what the selection
      chose, "" and None before it. ``heals``: the text of a reviewed runbook, "" without one.
    """

    source: str
    id: str
    repo: str
    image: str
    workdir: str
    base: str
    gold_patch: str
    gold_ref: str
    test_patch: str
    prepare: str
    test_cmd: str
    runner: str
    should_fail: tuple[str, ...]
    target_test: str = ""
    error: ExpectedError | None = None
    heals: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # further files for the container, by name
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """A text that changes with anything that a run depends on."""
        wanted = json.dumps({**self.raw, "heals": self.heals}, sort_keys=True, default=str)
        return hashlib.sha256(wanted.encode()).hexdigest()[:16]


def text(raw: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """The field ``name`` as text. Raises `RecordError` when it is missing (without ``default``) or no text."""
    value = raw.get(name, default)
    if value is None:
        raise RecordError(f"field {name!r} is missing; the record has: {', '.join(sorted(raw)) or 'nothing'}")
    if not isinstance(value, str):
        raise RecordError(f"field {name!r} must be text, but is {type(value).__name__}: {value!r:.80}")
    return value


def safe_id(value: str) -> str:
    """``value`` when it can be part of a file name. Raises `RecordError`."""
    if not _ID.fullmatch(value):
        raise RecordError(f"the id {value!r:.80} is none: use letters, digits, dots, dashes and underscores")
    return value


def image_name(value: str) -> str:
    """``value`` when it can be the name of an image. Raises `RecordError`."""
    if not _IMAGE.fullmatch(value) or ".." in value:
        raise RecordError(f"the image {value!r:.120} is no image name")
    return value


def folder_in_image(value: str) -> str:
    """``value`` when it is a plain absolute folder below the root. Raises `RecordError`."""
    if not value.startswith("/") or posixpath.normpath(value) != value or value.count("/") < 1 or value == "/":
        raise RecordError(f"the folder {value!r:.80} must be absolute, below /, and without '..'")
    return value


def file_in_repository(value: str) -> str:
    """``value`` when it stays inside of a repository. Raises `RecordError`."""
    parts = value.split("::")[0].split("/")
    if value.startswith(("/", "-", "~")) or ".." in parts or "\0" in value or "\n" in value:
        raise RecordError(f"the path {value!r:.120} leaves the repository")
    return value


def expected_error(raw: Mapping[str, Any]) -> ExpectedError | None:
    """What the selection wrote as ``error``; None before it. Raises `RecordError`."""
    given = raw.get("error")
    if given is None:
        return None
    try:
        return ExpectedError(str(given["type"]), str(given.get("message", "")),
                             file_in_repository(str(given.get("file", ""))), int(given.get("line", 0)))
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise RecordError(f"field 'error' must have type, message, file and line: {problem}") from None
