"""The rules on older Pythons, which do not say which part of a statement failed."""

import json
from pathlib import Path

import pytest

from tests.core.pythons import other_pythons, run

from .rule_cases import RERAISED, SAFE

ROOT = Path(__file__).parents[4]
PROGRAM = """
import json, sys
sys.path[:0] = [{root!r}, {here!r}]
from crashes import crash_of
from rule_cases import RERAISED, SAFE
from healguard_core.execution.local_agents.rules.agent import decide
cases = [case for case in SAFE + RERAISED if case[0] != "abc"]  # those classes went in 3.10
print(json.dumps({{case[0]: getattr(decide(crash_of(case[1]))[0], "code", None) for case in cases}}))
"""


@pytest.mark.pythons
@pytest.mark.parametrize("python", other_pythons((3, 8), (3, 10)))
def test_older_pythons_heal_the_same_or_not_at_all(python):
    program = PROGRAM.format(root=str(ROOT), here=str(Path(__file__).parent))
    done = run(python, "-c", program)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert {name: said[name] for name, _ in RERAISED if said[name]} == {}
    assert {name: said[name] for name, _, code in SAFE if said.get(name) not in (None, code)} == {}
    assert sum(said.get(name) is not None for name, _, _ in SAFE) >= len(SAFE) // 2
