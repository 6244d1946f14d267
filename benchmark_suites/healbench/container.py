"""What runs inside of an instance's container, and what comes out. Imports records, commands and engine, and the core.

The repository, with the tests of the fix in it, is prepared in one container, whose file system becomes an image; the
tests run in containers of that image, read-only and without network. The crash channel is a unix socket.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmark_suites.healbench import commands
from benchmark_suites.healbench.engine import Ended, Engine, EngineUnavailable, Limits
from benchmark_suites.healbench.records import Record
from healguard_core import protocol
from healguard_core.bundle import build_bundle

BUGGY, FIXED = "buggy", "fixed"
SOCKET = "s"  # short: the kernel takes about a hundred bytes of a socket's whole name
HEAL, OUT, LINK = "/heal", "/heal-out", "/heal-link"
_SITE = Path(__file__).parent / "inject" / "sitecustomize.py"

_PREPARE = """\
set -e
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
cd {workdir}
{fix}
{prepare}
set +e
export -p > /heal-environment
pwd > /heal-folder
exit 0
"""
_RUN = """\
. /heal-environment
cd "$(cat /heal-folder)"
export HOME=/tmp PYTHONDONTWRITEBYTECODE=1 HEALGUARD_CONFIG="{config}" HEALGUARD_OUT=/heal-out
export PYTHONPATH="/heal/site:/heal/healing.zip${{PYTHONPATH:+:$PYTHONPATH}}"
{command}
echo ">>>>> Test Exit Code $?"
"""
_FIX_PATCH = "git apply --whitespace=nowarn /heal/gold.patch"
_FIX_COMMIT = "git diff --binary HEAD {commit} > /tmp/heal-gold.patch && git apply /tmp/heal-gold.patch"


class NotPrepared(Exception):
    """The image, or the record's own commands, did not give a repository to test; the text has the output."""


@dataclasses.dataclass(frozen=True)
class Ran:
    """What one run of the tests left."""

    ended: Ended
    events: tuple[protocol.Event, ...]
    problem: str  # why healing did not start, "" when it did or was not asked for


@contextlib.contextmanager
def prepared(engine: Engine, record: Record, version: str, limits: Limits) -> Iterator[str]:
    """The id of an image with the repository ready for the tests; it is removed with the block.

    Raises `EngineUnavailable` and `NotPrepared`.
    """
    base, _ = engine.image(record.image)
    kept: list[str] = []
    with tempfile.TemporaryDirectory(prefix="heal-prepare-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "test.patch").write_text(record.test_patch, encoding="utf-8")
        (place / "gold.patch").write_text(record.gold_patch, encoding="utf-8")
        script = _PREPARE.format(workdir=_quoted(record.workdir), prepare=record.prepare,
                                 fix=_fix(record) if version == FIXED else "")
        (place / "prepare.sh").write_text(script, encoding="utf-8")
        shell = _shell(place, "prepare.sh")
        ended = engine.run(base, shell, {place: (HEAL, "ro")}, limits, writable=True, kept=kept)
    if ended.code != 0:
        raise NotPrepared(f"{record.image}: the {version} repository cannot be prepared "
                          f"({ended.why or f'exit code {ended.code}'}):\n{ended.output[-3000:]}")
    try:
        yield kept[0]
    finally:
        engine.remove_image(kept[0])


def _fix(record: Record) -> str:
    return _FIX_PATCH if record.gold_patch else _FIX_COMMIT.format(commit=record.gold_ref)


def run_tests(
    engine: Engine, record: Record, image: str, limits: Limits, *, target: str = "",
    config: protocol.Config | None = None, link: Path | None = None,
) -> Ran:
    """Run the tests of ``record`` in ``image``, only ``target`` if given, with healing if ``config`` is given.

    ``link`` is the folder of the healing side's socket. Raises `EngineUnavailable` and `records.RecordError`.
    """
    command = commands.for_test(record.test_cmd, record.runner, target, record.files) if target else record.test_cmd
    with tempfile.TemporaryDirectory(prefix="heal-run-") as folder:
        place, out = Path(folder) / "heal", Path(folder) / "out"
        (place / "site").mkdir(parents=True)
        out.mkdir()
        out.chmod(0o777)
        Path(folder).chmod(0o755)
        if config is not None:
            shutil.copy(_SITE, place / "site")
            build_bundle(place / "healing.zip")
            inside = dataclasses.replace(config, root=record.workdir, journal=f"{OUT}/journal.jsonl", cache_dir=None)
            (place / "config.json").write_text(json.dumps(dataclasses.asdict(inside)), encoding="utf-8")
        (place / "run.sh").write_text(_RUN.format(command=command, config=f"{HEAL}/config.json" if config else ""),
                                      encoding="utf-8")
        mounts = {place: (HEAL, "ro"), out: (OUT, "rw"), **({link: (LINK, "rw")} if link else {})}
        ended = engine.run(image, _shell(place, "run.sh"), mounts, limits)
        return Ran(ended, _events(out / "journal.jsonl"), _text(out / "problem") if config else "")


def _shell(place: Path, name: str) -> Path:
    """The script under bash where the image has one: the published commands are written for it."""
    launcher = place / f"start-{name}"
    launcher.write_text(f"if command -v bash >/dev/null 2>&1; then exec bash {HEAL}/{name}; fi\n"
                        f"exec sh {HEAL}/{name}\n", encoding="utf-8")
    return Path(HEAL) / launcher.name


def _events(journal: Path) -> tuple[protocol.Event, ...]:
    """The events of a journal; a last line that a killed container cut off is left out."""
    found = []
    lines = journal.read_text(encoding="utf-8", errors="replace").splitlines() if journal.is_file() else []
    for number, line in enumerate(lines, 1):
        try:
            found.append(protocol.event_from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            if number != len(lines):
                raise EngineUnavailable(f"the journal of the container is damaged in line {number}") from None
    return tuple(found)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
