"""A suite of small instances whose environments are this Python itself: real runs without any download."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

from benchmark_suites.releases import environments, instances, provision
from benchmark_suites.releases.environments import READY
from benchmark_suites.results import Result, read_file

RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"

PROGRAM = """
    import time

    def price(order):
        time.sleep({pause})
        amount = order["amount"]
        return amount * 2
"""
FIXED = PROGRAM.replace('order["amount"]', 'order.get("amount", 21)')

TEST = """
    import {name}

    def test_price():
        assert {name}.price({{}}) == 42
"""

HEALS = """
    version: 1
    heals:
      - id: no-amount
        when: {{error: KeyError, function: {name}.price}}
        do: amount = {value}
        note: An order without an amount counts as 21.
"""

RECORD = """
    id = "{id}"
    package = "{name}"
    import_roots = ["{name}"]
    python = "{python}"
    portable = true
    buggy = "{name}==1"
    fixed = "{name}==2"
    source = "made for this test"
    difficulty = "easy"
    why = "the default is missing"
    skip_only = "second_error"
    hits = 1
    requirements_buggy = ["{name}==1"]
    requirements_fixed = ["{name}==2"]

    [error]
    type = "KeyError"
    message = "'amount'"
    file = "{name}.py"
    function = "price"
    line = 6
"""


class Farm:
    """Instances below ``instances`` and their environments below ``envs``, in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.instances = folder / "bugs"
        self.envs = folder / "envs"
        self.results = folder / "results"

    def add(self, id: str, value: str = "21", pause: float = 0.0) -> None:
        """An instance whose reviewed heal sets the missing amount to ``value`` (21 is right)."""
        name = id.replace("-", "_")
        words = {"id": id, "name": name, "value": value, "python": RUNNING, "pause": pause}
        home = self.instances / id
        home.mkdir(parents=True)
        for file, text in (("instance.toml", RECORD), ("test_target.py", TEST), ("heals.yaml", HEALS)):
            (home / file).write_text(textwrap.dedent(text).format(**words), encoding="utf-8")
        instance = instances.load(home)
        for role, program in (("buggy", PROGRAM), ("fixed", FIXED)):
            self._environment(environments.name(instance, role), name,
                              textwrap.dedent(program).replace("{pause}", str(pause)))

    def _environment(self, name: str, module: str, program: str) -> None:
        """An environment that is this Python with one more module in its path."""
        home = self.envs / name
        (home / "bin").mkdir(parents=True)
        (home / "lib").mkdir()
        (home / "lib" / f"{module}.py").write_text(program, encoding="utf-8")
        python = home / "bin" / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{home}/lib:$PYTHONPATH" exec "{sys.executable}" "$@"\n',
                          encoding="utf-8")
        python.chmod(0o755)
        (home / READY).write_text(json.dumps({"version": list(sys.version_info[:2])}), encoding="utf-8")
        (home / provision.MARKER).write_text("\n".join(provision.requirements()), encoding="utf-8")
        state = self.envs / provision.STATES / provision.running_state()
        state.mkdir(parents=True, exist_ok=True)  # may be empty: this Python has the running code anyway

    def command(self, *arguments: str) -> list[str]:
        """The command that runs the suite."""
        return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--pyargs", "benchmark_suites",
                f"--suite={self.instances}", f"--heal-envs={self.envs}", f"--heal-results={self.results}", *arguments]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the suite to its end."""
        return subprocess.run(self.command(*arguments), cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)

    def found(self, setting: str = "oracle") -> dict[str, Result]:
        """The results of ``setting`` by instance."""
        return read_file(self.results / f"bugs-{setting}.jsonl")[0]

    def lines(self, setting: str = "oracle") -> list[str]:
        """The instances of every line of the results, in order."""
        text = (self.results / f"bugs-{setting}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line)["instance"] for line in text.splitlines()]
