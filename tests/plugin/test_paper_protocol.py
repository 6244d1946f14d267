"""``--heal-protocol=paper``: agents are offered what the paper's agents have, and nothing more."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from healguard_core.testing import ScriptedModel, heal

from .conftest import Project

AGENT = """
    import json, pathlib, sys
    submissions = json.loads(sys.argv[1])
    for line in sys.stdin:
        message = json.loads(line)
        with pathlib.Path("told.jsonl").open("a") as file:
            file.write(line)
        if message["type"] in ("crash", "result") and submissions:
            print(json.dumps({"type": "execute", "submit": True, **submissions.pop(0)}), flush=True)
        elif message["type"] in ("crash", "result"):
            print(json.dumps({"type": "reraise"}), flush=True)
"""
TESTS = """
    from shop import orders

    def test_total():
        assert orders.total([{"amount": 1}, {}]) == 2
"""


def told(shop: Project, *submissions: dict[str, Any], protocol: str) -> tuple[str, list[dict[str, Any]]]:
    """How the test ended, and what the agent was told."""
    shop.write({"agent.py": AGENT, "test_shop.py": TESTS})
    (shop.folder / "submissions").write_text(json.dumps(submissions))
    agent = f"--heal=exec:{sys.executable} agent.py '{json.dumps(submissions)}'"
    result = shop.run(agent, f"--heal-protocol={protocol}", "--heal-report=report.json")
    assert result.report()["run"]["protocol"] == protocol
    lines = (shop.folder / "told.jsonl").read_text().splitlines()
    return result.by_name()["test_total"], [json.loads(line) for line in lines]


def test_the_description_is_the_papers(shop: Project) -> None:
    outcome, messages = told(shop, {"code": "result += 1"}, protocol="paper")
    hello, crash = messages[:2]
    context = crash["context"]
    assert outcome == "correct"
    assert (context["protocol"], context["resumes"], context["skipped"], context["failing_expression"]) == (
        "paper", [], "", "")
    assert context["frames"][0]["locals"]["result"] == "1"
    assert "_eh_raise" not in hello["instructions"]
    assert "_eh_rtn" in hello["instructions"]
    assert "resume" not in hello["instructions"] + crash["text"]


@pytest.mark.parametrize(("submission", "says"), [
    ({"code": "result += 1", "resume": "continue"}, "this run has no `resume`"),
    ({"code": "result += 1", "frame": 1}, "this run has no `frame`"),
    ({"code": "_eh_raise = ValueError('no')"}, "this run has no `_eh_raise`"),
])
def test_what_the_paper_does_not_know_is_refused(shop: Project, submission: dict[str, Any], says: str) -> None:
    outcome, messages = told(shop, submission, {"code": "result += 1"}, protocol="paper")
    results = [message for message in messages if message["type"] == "result"]
    assert says in results[0]["error"]
    assert outcome == "correct"


def test_everything_is_offered_otherwise(shop: Project) -> None:
    outcome, messages = told(shop, {"code": "result += 1", "resume": "continue"}, protocol="full")
    assert outcome == "correct"
    assert messages[1]["context"]["protocol"] == "full"
    assert "continue" in messages[1]["context"]["resumes"]
    assert "_eh_raise" in messages[0]["instructions"]


def test_the_healer_is_offered_one_tool_without_choices(shop: Project) -> None:
    with ScriptedModel([heal("raise"), heal("result += 1")]) as model:
        line = f"scripted = openai/scripted base_url={model.url}"
        shop.write({"test_shop.py": TESTS, "pytest.ini": f"[pytest]\nheal_models = {line}\n"})
        result = shop.run("--heal=healer", "--heal-model=scripted", "--heal-protocol=paper",
                          "--heal-report=report.json")
    assert result.by_name() == {"test_total": "correct"}  # `raise` is no way out: it was code that failed
    assert [set(request["tools"][0]["function"]["parameters"]["properties"]) for request in model.requests] == [
        {"code", "submit"}] * 2
    assert "`raise`" not in json.dumps(model.requests[0])


def test_a_reviewed_heal_may_do_what_it_always_may(shop: Project) -> None:
    shop.write({"test_shop.py": TESTS, "heals.yaml": """
        version: 1
        heals:
          - when: {error: KeyError}
            do: result += 1
            resume: continue
    """})
    assert shop.heal("--heal-protocol=paper").by_name() == {"test_total": "correct"}
