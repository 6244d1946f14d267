"""Wrong settings end the run before the first test with exit code 4, and say what to do."""

from __future__ import annotations

import re

import pytest

from .conftest import Project

RULES = ("--heal=rules",)


@pytest.mark.parametrize(("arguments", "says"), [
    (("--heal=rulez",), "there is no agent 'rulez'; did you mean 'rules'?"),
    (("--heal=runbook",), "add --heal-runbook=FILE"),
    (("--heal=openhands",), "pytest-heal agents install openhands"),
    (("--heal=exec:no-such-agent",), "there is no program 'no-such-agent' on PATH"),
    (("--heal=exec:./no-such-agent",), "there is no program './no-such-agent' at "),
    (("--heal=exec:'",), "cannot be split as a shell would"),
    (("--heal=healer",), "agent 'healer' needs a model: add --heal-model=NAME"),
    (("--heal=healer", "--heal-model=gtp"), r"--heal-model=gtp: there is no model 'gtp'; did you mean gpt"),
    (("--heal=healer", "--heal-model=openai/gpt-5.6-tera"), "did you mean openai/gpt-5.6-terra"),
    (("--heal=healer", "--heal-model=gpt"), "needs its key in the environment variable OPENAI_API_KEY"),
    (("--heal=exec:",), "needs an argument: exec:COMMAND"),
    (("--heal=mcp:now",), "--heal=mcp:now: the agent takes none"),
    (("--heal=mcp", "--heal-model=gpt"), "agent 'mcp' uses no model"),
    (("--heal=exec:cat", "--heal-max-cost=1"), "--heal-max-cost cannot hold"),
    ((*RULES, "--heal-model=gpt"), "--heal-model=gpt: agent 'rules' uses no model"),
    ((*RULES, "--heal-guard=sinks.yaml"), r"--heal-guard is wrong:\n.*sinks.yaml:1: HF400"),
    ((*RULES, "--heal-max-cost=1"), "--heal-max-cost=1.0: agent 'rules' uses no model"),
    ((*RULES, "--heal-protocol=papers"), "invalid choice: 'papers'"),
    ((*RULES, "--heal-max-calls=0"), "--heal-max-calls=0: this must be at least 1"),
    ((*RULES, "--heal-timeout=-1"), "must not be negative"),
    ((*RULES, "--heal-source=no/such"), "--heal-source: source '.*no/such' does not exist"),
    ((*RULES, "--heal-source=shoop"), "source 'shoop' is neither .* did you mean 'shop'"),
    ((*RULES, "--heal-runbook=absent.yaml"), r"--heal-runbook is wrong:\n.*absent.yaml.*HF400"),
    ((*RULES, "--heal-accept=some"), "invalid choice: 'some'"),
    ((*RULES, "--heal-second-look=maybe"), "invalid choice: 'maybe'"),
])
def test_wrong_options(shop: Project, arguments: tuple[str, ...], says: str) -> None:
    result = shop.run(*arguments)
    assert result.ret == 4, result.out
    assert re.search(says, result.err), result.err
    assert "test session starts" not in result.out or "collected" not in result.out


@pytest.mark.parametrize(("line", "says"), [
    ("heal_accept = some", "heal_accept = 'some': choose from none, correct, proceed"),
    ("heal_second_look = maybe", "heal_second_look = 'maybe': choose from on, off"),
    ("heal_junit = xml", "heal_junit = 'xml': choose from"),
])
def test_wrong_ini_values(shop: Project, line: str, says: str) -> None:
    shop.write({"pytest.ini": f"[pytest]\nheal = rules\n{line}\n"})
    result = shop.run()
    assert result.ret == 4
    assert re.search(says, result.err), result.err


@pytest.mark.parametrize(("line", "says"), [
    ("own=x", "heal_models: 'own=x' is not of the form"),
    ("own = openai/x bas_url=http://localhost/v1", "'bas_url=http://localhost/v1' is unknown"),
    ("own = openai/x input=cheap", "input='cheap' must be US dollars per million tokens"),
])
def test_wrong_models(shop: Project, line: str, says: str) -> None:
    shop.write({"pytest.ini": f"[pytest]\nheal = healer\nheal_model = own\nheal_models = {line}\n"})
    result = shop.run()
    assert result.ret == 4
    assert says in result.err


@pytest.mark.parametrize(("mark", "says"), [
    ("heal(True, False)", "takes one positional argument"),
    ("heal(agnt='rules')", "does not know 'agnt'"),
    ("heal(accept='all')", "choose from none, correct, proceed"),
    ("heal(max_calls=0)", "at least 1"),
    ("heal(model='gpt')", "uses no model; name another agent"),
    ("heal(guard='sinks.yaml')", "sinks.yaml:1: HF400 cannot read the file"),
    ("heal(guard=3)", "name a policy's file, or 'off'"),
    ("heal(agent='rulez')", "did you mean 'rules'"),
])
def test_wrong_marks(project: Project, mark: str, says: str) -> None:
    project.write({"test_a.py": f"import pytest\n\n@pytest.mark.{mark}\ndef test_a():\n    pass\n"})
    result = project.run(*RULES)
    assert result.ret == 4, result.out
    assert says in result.err
    assert "test_a.py::test_a: @pytest.mark.heal" in result.err


def test_a_broken_runbook_is_shown_with_its_lines(shop: Project) -> None:
    shop.write({"heals.yaml": "version: 1\nheals:\n  - when: {error: KeyError}\n    doo: pass\n"})
    result = shop.heal()
    assert result.ret == 4
    assert "heals.yaml:4" in result.err


@pytest.mark.parametrize(("arguments", "env", "says"), [
    (("-n", "2"), {}, "a human cannot answer for several processes"),
    ((), {"CI": "true"}, "CI is set"),
])
def test_a_human_needs_a_terminal(shop: Project, arguments: tuple[str, ...], env: dict[str, str], says: str) -> None:
    result = shop.run("--heal=human", *arguments, env=env)
    assert result.ret == 4
    assert says in result.err


def test_recording_into_something_else_is_refused(shop: Project) -> None:
    shop.write({"notes.txt": "remember the milk\n"})
    result = shop.heal("--heal-record=notes.txt")
    assert result.ret == 4
    assert "--heal-record is wrong" in result.err
    assert (shop.folder / "notes.txt").read_text() == "remember the milk\n"


@pytest.mark.parametrize("settings", [
    '[pytest]\nheal = "runbook"\nheal_runbook = ["heals.yaml"]\nheal_max_calls = 5\nheal_timeout = 60\n'
    'heal_redact = false\nheal_accept = "correct"\nheal_source = ["shop"]\nheal_hypothesis = true\n',
    '[pytest]\nheal = "runbook"\nheal_runbook = ["heals.yaml"]\nheal_timeout = 1.5\nheal_accept = "correct"\n',
])
def test_native_toml(shop: Project, settings: str) -> None:
    if pytest.version_tuple < (9, 0):
        pytest.skip("native TOML came with pytest 9")
    (shop.folder / "pytest.ini").unlink()
    shop.write({"pytest.toml": settings})
    result = shop.run("-k", "correct", "--strict-config", "-W", "error")
    assert result.ret == 0, result.err + result.out
    assert result.outcomes == {"correct": 1, "deselected": 4}


def test_ini_paths_are_relative_to_the_ini_file(shop: Project) -> None:
    shop.write({
        "pytest.ini": "[pytest]\nheal = runbook\nheal_runbook = heals.yaml\nheal_report = out/report.json\n"
                      "heal_accept = correct\n",
        "sub/test_sub.py": "from shop import orders\n\ndef test_a():\n    assert orders.amount_of({}) == 42\n",
    })
    (shop.folder / "sub").joinpath("keep").touch()
    result = shop.python("-c", "import os, sys, pytest; os.chdir('sub'); sys.exit(pytest.main(['-p', 'no:asyncio']))")
    assert result.ret == 0, result.out + result.err
    assert result.by_name("out/report.json") == {"test_a": "correct"}


def test_the_command_line_overrules_the_ini_file(shop: Project) -> None:
    shop.write({"pytest.ini": "[pytest]\nheal = rules\nheal_accept = correct\nheal_runbook = absent.yaml\n"})
    assert shop.heal("-k", "correct", "--heal-accept=none").ret == 1
    assert shop.heal("-k", "correct").ret == 0
