"""The pause's descriptions, the journal and the categories on Pythons that the plugin itself does not run on."""

import json
import os
from pathlib import Path

import pytest

from tests.core.pythons import other_pythons, run

from .test_context import SHOP, lines_marked

ROOT = Path(__file__).parents[4]
PROGRAM = """
import dataclasses, json, sys
from pathlib import Path
sys.path[:0] = [{root!r}, {here!r}]
from pausing import paused
from healguard_core.execution.journal import Journal, read
from healguard_core.execution.units import current_unit
from healguard_core.execution.pause.reprs import safe_repr
from healguard_core.outcome import outcome, summary
from healguard_core.protocol import Crashed, Healed
folder = Path(sys.argv[1])
context = paused(folder, {source!r}).context
journal = Journal(str(folder / "j.jsonl"))
for event in (Crashed(crash=1), Healed(crash=1, code="x")):
    journal.record(event)
journal.close()
events = list(read(journal.path))
deep = []
for _ in range(100000):
    deep = [deep]
print(json.dumps({{
    "context": dataclasses.asdict(context), "unit": current_unit(), "outcome": outcome(events, True, True),
    "crashes": len(summary(events)), "same": events == journal.events(),
    "reprs": [safe_repr(one) for one in (10**5000, deep, Path("/a") / "b", range(10**40), {{"password": "x"}})],
}}))
while deep:
    deep = deep.pop()
"""


@pytest.mark.pythons
@pytest.mark.parametrize("python", other_pythons((3, 8), (3, 14)))
def test_other_pythons_tell_the_same(python, tmp_path):
    program = PROGRAM.format(root=str(ROOT), here=str(Path(__file__).parent), source=SHOP)
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    done = run(python, "-c", program, str(tmp_path), env=environment)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    context = told["context"]
    crash = context["frames"][0]
    assert (context["function"], context["line"], context["end_line"]) == ("program.Order.total", 12, 13)
    assert context["failing_expression"] in ("", "json.loads(row)[key]")
    assert [line.strip() for line in lines_marked(crash["marked_source"])] == ["out += (1 +", "json.loads(row)[key])"]
    assert crash["loop"].endswith("element 3 of 3")
    assert [frame["function"] for frame in context["frames"]] == [
        "program.Order.total", "program.price.<locals>.inner", "program.price", "program.run"
    ]
    assert "hunter2" not in json.dumps(context)
    assert (told["unit"], told["outcome"], told["crashes"], told["same"]) == ("", "correct", 1, True)
    assert told["reprs"] == [
        "<int of about 5001 digits>", "[[[[[[[... 1]]]]]]]", "PosixPath('/a/b')", f"range(0, 1{'0' * 40})",
        "{'password': <redacted: password>}",
    ]
