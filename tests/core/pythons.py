"""Other Pythons that happen to be installed on this machine."""

import subprocess
from pathlib import Path

import pytest


def other_pythons(least, most):
    """Parameters: one pyenv interpreter per minor version from ``least`` to ``most``; a skip when there is none."""
    found = {}
    for python in sorted(Path.home().glob(".pyenv/versions/*/bin/python")):
        numbers = python.parts[-3].split(".")
        if len(numbers) < 2 or not all(part.isdigit() for part in numbers[:2]):
            continue
        version = (int(numbers[0]), int(numbers[1]))
        if least <= version <= most:
            found[version] = pytest.param(str(python), id="{}.{}".format(*version))
    return list(found.values()) or [pytest.param("", marks=pytest.mark.skip(reason="no other Pythons installed"))]


def run(python, *arguments, **options):
    """The completed process of ``python`` with ``arguments``, output as text."""
    return subprocess.run([python, *arguments], capture_output=True, text=True, check=False, **options)
