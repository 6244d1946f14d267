"""Puts `heal_points` into a run of a target test and reads what it wrote. Imports nothing of ours.

For any runner: `arrange` before the run gives the options for pytest and the variables for its environment, `counted`
afterwards gives what was counted. Where the folder is mounted elsewhere (a container), say so with ``seen_as``.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

PLUGIN = Path(__file__).with_name("heal_points.py")
PLUGIN_DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in (PLUGIN, PLUGIN.with_name("points.py")))
                               ).hexdigest()[:16]
"""Changes when traces are made differently."""

_OUT = "heal-points.json"


def arrange(work: Path, roots: Sequence[str], seen_as: PurePath | None = None) -> tuple[list[str], dict[str, str]]:
    """Copy the plugin into ``work``, from where pytest is started; its options and environment variables."""
    shutil.copy(PLUGIN, work)
    out = (seen_as or work) / _OUT
    return ["-p", PLUGIN.stem], {"HEAL_POINTS": json.dumps({"roots": list(roots), "out": str(out)})}


def counted(work: Path) -> dict[str, Any] | None:
    """What was counted in ``work``, None when the run did not come so far."""
    try:
        found: dict[str, Any] = json.loads((work / _OUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found
