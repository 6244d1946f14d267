"""The instances of suite ``releases`` as they lie on disk. Imports nothing of ours."""

import fnmatch
import functools
import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

ROOT = Path(__file__).parent / "instances"
ROLES = ("buggy", "fixed")

Root = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*$")]
Pin = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w.-]*(\[[\w,.-]+\])?==[\w.+!-]+$")]
"""A requirement with its exact version; nothing else may reach an installer, options and addresses least of all."""


@dataclass(frozen=True)
class ExpectedError:
    """What the target test raises in the buggy release. ``file`` is relative to site-packages."""

    type: str
    message: str
    file: str
    function: str
    line: int


@dataclass(frozen=True)
class Instance:
    """One bug: what to install, what to run, and what was seen when it was verified.

    ``python`` is the Python version that the pins were made for; ``portable`` says that they install on newer ones
    too. ``skip_only`` is what becomes of the target test when the failing statement is merely left out: ``pass``,
    ``second_error`` or ``wrong_state``. ``hits`` is how many crashes the reviewed heals answer in one run of it.
    ``pytest_options`` are for packages that are pytest plugins themselves.
    """

    id: Annotated[str, StringConstraints(pattern=r"^[\w][\w.+-]*$")]
    package: str
    import_roots: Annotated[tuple[Root, ...], Field(min_length=1)]
    python: Annotated[str, StringConstraints(pattern=r"^3\.\d+$")]
    buggy: str
    fixed: str
    source: str
    difficulty: str
    why: str
    skip_only: str
    hits: int
    requirements_buggy: tuple[Pin, ...]
    requirements_fixed: tuple[Pin, ...]
    error: ExpectedError
    folder: Path
    portable: bool = False
    pytest_options: tuple[str, ...] = ()

    @property
    def test(self) -> Path:
        """The target test; it holds one test function."""
        return self.folder / "test_target.py"

    @property
    def runbook(self) -> Path | None:
        """The reviewed heals, None where nobody knows one."""
        path = self.folder / "heals.yaml"
        return path if path.is_file() else None

    @functools.cached_property
    def digest(self) -> str:
        """A text that changes with anything in the instance's folder that a run depends on."""
        digest = hashlib.sha256()
        for path in sorted(self.folder.iterdir()):
            if path.suffix in (".toml", ".py", ".yaml") and path.is_file():
                digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()[:16]

    def requirements(self, role: str) -> tuple[str, ...]:
        """The full pinned set for ``role``: ``buggy`` or ``fixed``."""
        return {"buggy": self.requirements_buggy, "fixed": self.requirements_fixed}[role]


def load(folder: Path) -> Instance:
    """The instance in ``folder``. Raises ``ValueError`` that names the file and everything that is wrong in it."""
    path = folder / "instance.toml"
    try:
        record: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        instance = _RECORD.validate_python({**record, "folder": folder})
    except ValidationError as wrong:
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong.errors())
        raise ValueError(f"{path}: not an instance of suite `releases`: {told}") from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"{path}: not an instance of suite `releases`: {problem}") from None
    if instance.id != folder.name:
        raise ValueError(f"{path}: id is {instance.id!r}, but its folder is {folder.name!r}; make them the same")
    if not instance.test.is_file():
        raise ValueError(f"{instance.test}: there is no target test; write one")
    return instance


_RECORD = TypeAdapter(Instance)


def load_all(patterns: str = "*", root: Path = ROOT) -> Iterator[Instance]:
    """The instances that ``patterns`` name, by id. Raises ``ValueError`` at the first wrong record."""
    for _, found in load_each(patterns, root):
        if isinstance(found, ValueError):
            raise found
        yield found


def load_each(patterns: str = "*", root: Path = ROOT) -> Iterator[tuple[Path, "Instance | ValueError"]]:
    """Folder and instance for each id that ``patterns`` name, by id; an error in place of a wrong record."""
    for folder in sorted(path.parent for path in root.glob("*/instance.toml")):
        if not matches(folder.name, patterns):
            continue
        try:
            yield folder, load(folder)
        except ValueError as problem:
            yield folder, problem


def matches(id: str, patterns: str) -> bool:
    """Whether one of the globs in ``patterns``, separated by commas, matches ``id``."""
    return any(fnmatch.fnmatchcase(id, pattern.strip()) for pattern in patterns.split(","))
