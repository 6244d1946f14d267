"""How long each agent takes from the pause to its first request to a model: ``python benchmarks/first_request.py``.

A small project crashes in two tests, one after the other, before a scripted model on loopback. Printed are seconds for
the first crash of the run, which starts the agent, and for the second test's, which finds it running. They are seconds
of this machine, under whatever load it has.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from healguard_core.testing import Call, ScriptedModel, Step, Text, heal

AGENTS = ("healer", "mini-swe-agent", "openhands", "codex", "codex-tools")
PROGRAM = "def amount_of(order):\n    amount = order['amount']\n    return amount * 2\n"
TESTS = "from shop import amount_of\n\n" + "\n\n".join(
    f"def test_{number}():\n    assert amount_of({{}}) == 42" for number in (1, 2))
HEAL = "amount = 21"
SPOKEN = json.dumps({"action": "execute", "code": HEAL, "submit": True, "reason": "measured"})


def measured(agent: str) -> tuple[float, float] | str:
    """Seconds to the first request of the first and of the second test, or why there are none."""
    asked: list[float] = []

    def step(_body: dict[str, Any]) -> Step:
        asked.append(time.time())
        return Text(SPOKEN) if agent == "codex" else _submit()

    with ScriptedModel(step) as model, tempfile.TemporaryDirectory(prefix="heal-first-") as folder:
        place = Path(folder)
        (place / "shop.py").write_text(PROGRAM, encoding="utf-8")
        (place / "test_shop.py").write_text(TESTS, encoding="utf-8")
        (place / "pytest.ini").write_text(
            f"[pytest]\nheal_models = scripted = openai/scripted base_url={model.url}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", f"--heal={agent}", "--heal-model=scripted", "--heal-journal=journal"]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])}
        ran = subprocess.run(command, cwd=place, env=environ, capture_output=True, text=True, check=False)
        if not (place / "journal").exists():
            return (ran.stderr or ran.stdout).strip().splitlines()[-1]
        events = [json.loads(line) for line in (place / "journal").read_text(encoding="utf-8").splitlines()]
    paused = [event["at"] for event in events if event["event"] == "Crashed"]
    if len(paused) != 2 or not asked:
        return (ran.stdout + ran.stderr)[-500:]
    first, second = (min((at for at in asked if at >= pause), default=0.0) - pause for pause in paused)
    return first, second


def _submit() -> Call:
    return heal(HEAL)


def main() -> None:
    """Measure the agents that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=", ".join(AGENTS))
    for agent in parser.parse_args().agents or AGENTS:
        found = measured(agent)
        if isinstance(found, str):
            print(f"{agent:15} not measured: {found}")
        else:
            print(f"{agent:15} first {found[0]:6.2f} s, next {found[1]:6.2f} s", flush=True)


if __name__ == "__main__":
    main()
