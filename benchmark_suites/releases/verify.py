"""Checks that instances still are what they say. Imports the other modules of this suite."""

import tempfile
from pathlib import Path

from benchmark_suites.releases.environments import Environments, EnvironmentUnavailable
from benchmark_suites.releases.instances import Instance
from benchmark_suites.releases.process import lay_out, run_in

_OWN_LINES = "E   "  # how pytest marks the lines that show an exception


def problems(instance: Instance, environments: Environments) -> list[str]:
    """What differs from the record: without healing the buggy release fails as recorded and the fixed one passes."""
    found = []
    for role in ("buggy", "fixed"):
        try:
            environment = environments.get(instance, role)
        except EnvironmentUnavailable as problem:
            found.append(f"{role}: {problem}")
            continue
        with tempfile.TemporaryDirectory(prefix="heal-verify-") as folder:
            lay_out(instance, Path(folder))
            ran = run_in(Path(folder), [environment.python, "-m", "pytest", "-q", "--tb=short",
                                        "-p", "no:cacheprovider", instance.test.name])
        found += _as_recorded(instance, ran.returncode, ran.stdout) if role == "buggy" else _passes(
            ran.returncode, ran.stdout)
    return found


def _as_recorded(instance: Instance, code: int, output: str) -> list[str]:
    error = instance.error
    if code != 1:
        return [f"buggy: the target test should fail, but pytest ended with {code}:\n{output}"]
    shown = [line for line in output.splitlines() if line.startswith(_OWN_LINES)]
    if not any(f"{error.type}" in line and _first_words(error.message) in line for line in shown):
        return [f"buggy: no {error.type}: {error.message} among:\n" + "\n".join(shown)]
    if f"{error.file}:{error.line}: " not in output.replace("\\", "/"):
        return [f"buggy: the traceback does not come by {error.file}:{error.line}:\n{output}"]
    return []


def _first_words(message: str) -> str:
    """The beginning of a message, before anything that a build may make different."""
    return message.splitlines()[0].split("'_cython")[0][:40] if message else ""


def _passes(code: int, output: str) -> list[str]:
    return [] if code == 0 else [f"fixed: the target test should pass, but pytest ended with {code}:\n{output}"]
