"""Reads the heals in tests/cases/gate."""

import pathlib
import re

from healguard_core.execution.guard.gate import check

from . import shop

FOLDER = pathlib.Path(__file__).parents[3] / "cases" / "gate"


class HealFile:
    """One heal with what is expected of it."""

    def __init__(self, path):
        self.slug = path.stem
        self.code = path.read_text(encoding="utf-8")
        self.purpose = self._said("purpose") or "heal"
        self.shadowed = frozenset(self._said("shadowed").split())
        self.live = shop.live_import if self._said("live") else None
        self.expected = sorted(part.strip() for part in self._said("refused").split(",") if part.strip())

    def _said(self, key):
        found = re.search(rf"^# {key}: (.*)$", self.code, re.MULTILINE)
        return found.group(1) if found else ""

    def found(self):
        """Rules and severities that the gate gives, as the file's head writes them."""
        findings = check(self.code, purpose=self.purpose, live_import=self.live, shadowed=self.shadowed)
        return sorted({f"{finding.rule} {finding.severity}" for finding in findings})


def heal_files(kind):
    """All heals of one folder, ``refused`` or ``accepted``."""
    return [HealFile(path) for path in sorted((FOLDER / kind).glob("*.py"))]


if __name__ == "__main__":  # on older Pythons, which have no pytest
    wrong = [
        heal.slug for kind in ("refused", "accepted") for heal in heal_files(kind) if heal.found() != heal.expected
    ]
    print(" ".join(wrong))
