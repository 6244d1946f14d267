"""Other Pythons that happen to be installed on this machine: pyenv's, and those listed in HEAL_OTHER_PYTHONS."""

import os
import subprocess
from pathlib import Path

import pytest


def other_pythons(least, most):
    """Parameters: one pyenv interpreter per minor version from ``least`` to ``most``; a skip when there is none."""
    found = {}
    for python in filter(None, os.environ.get("HEAL_OTHER_PYTHONS", "").split(os.pathsep)):
        major, minor = run(python, "-c", "import sys; print(*sys.version_info[:2])").stdout.split()
        if least <= (int(major), int(minor)) <= most:
            found[int(major), int(minor)] = pytest.param(python, id=f"{major}.{minor}")
    for python in sorted(Path.home().glob(".pyenv/versions/*/bin/python")):
        numbers = python.parts[-3].split(".")
        if len(numbers) < 2 or not all(part.isdigit() for part in numbers[:2]):
            continue
        version = (int(numbers[0]), int(numbers[1]))
        if least <= version <= most and version not in found:
            found[version] = pytest.param(str(python), id="{}.{}".format(*version))
    return list(found.values()) or [pytest.param("", marks=pytest.mark.skip(reason="no other Pythons installed"))]


def run(python, *arguments, **options):
    """The completed process of ``python`` with ``arguments``, output as text."""
    return subprocess.run([python, *arguments], capture_output=True, text=True, check=False, **options)
