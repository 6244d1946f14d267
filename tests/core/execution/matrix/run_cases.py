"""Run the cases in this interpreter under a real engine, and print what came of each as JSON.

``python -m tests.core.execution.matrix.run_cases [NAME...]`` with the checkout on the path; Python 3.8 and newer.
"""

import importlib
import json
import os
import sys
import tempfile

from healguard_core.execution.engine import Engine
from healguard_core.protocol import Config, Healed, Noticed, Probed, Stumbled, event_to_json
from tests.core.execution.matrix.cases import CASES, REFUSED


class Scripted:
    """Answers crashes from a list; a submission that fails is followed by the next one."""

    name = "scripted"

    def __init__(self, heals):
        self.heals = list(heals)

    def respond(self, session):
        session.probe("1 + 1")
        while self.heals and not session.decided:
            heal = self.heals.pop(0)
            session.heal(heal[0], resume=heal[1], frame=heal[2] if len(heal) > 2 else 0)

    def close(self):
        pass


def run_case(case, folder):
    """Import and run one case; what it returned or raised, the errors of its submissions, and what went wrong."""
    name = "case_" + case.name.replace("-", "_")
    path = os.path.join(folder, name + ".py")
    with open(path, "w") as file:
        file.write(case.source)
    agent = Scripted(case.heals)
    engine = Engine(Config(root=folder, sources=[path], gate=False, catchers=[__name__ + ":run_case"]), agent)
    engine.start()
    engine.begin(case.name)
    try:
        importlib.invalidate_caches()
        result = importlib.import_module(name).run()
        if callable(result):
            result = "<function>"
    except Exception as error:
        result = f"raises {type(error).__name__}: {error}"
    finally:
        events = engine.journal.events(case.name)
        engine.end(case.name)
        engine.stop()
        sys.modules.pop(name, None)
    probes = [event for event in events if isinstance(event, Probed)]
    return {
        "result": repr(result),
        "healed": sum(isinstance(event, Healed) for event in events),
        "unused": len(agent.heals),
        "stumbled": [event.error for event in events if isinstance(event, Stumbled)],
        "faults": [event_to_json(event) for event in events if isinstance(event, Noticed)],
        "probes": [[probe.value_repr, probe.error] for probe in probes],
        "tracing": sys.gettrace() is not None,
    }


def main(names):
    """Print one JSON object: case name to what came of it."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        for case in CASES + REFUSED:
            if (not names or case.name in names) and sys.version_info >= case.since:
                found[case.name] = run_case(case, folder)
    print("\n" + json.dumps(found))  # heals print, too: the answer is the last line


if __name__ == "__main__":
    main(sys.argv[1:])
