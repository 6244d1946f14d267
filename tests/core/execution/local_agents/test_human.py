"""Conversations at the prompt of the agent ``human``, over really paused programs."""

import importlib
import io
import itertools
import os
import subprocess
import sys

import pytest

from healguard_core.execution.engine import Engine
from healguard_core.execution.local_agents.human import HumanAgent, unusable
from healguard_core.protocol import Config, Healed, Probed, Reraised

_numbers = itertools.count()

PROGRAM = """\
def inner(row):
    total = row["amount"]
    return total


def outer(row):
    name = "outer"
    result = inner(row)
    return result
"""


@pytest.fixture
def converse(tmp_path, monkeypatch):
    """Run ``outer({})`` of the program with a human who types ``lines``: result or error, output, events."""

    def run(*lines, calls=1, before=None, after=None):
        name = f"talk{next(_numbers)}"
        (tmp_path / f"{name}.py").write_text(PROGRAM)
        monkeypatch.syspath_prepend(tmp_path)
        output = io.StringIO()
        agent = HumanAgent(stdin=io.StringIO("".join(line + "\n" for line in lines)), stdout=output, before=before,
                           after=after)
        engine = Engine(Config(root=str(tmp_path), trial="off", intercept="all"), agent)
        engine.start()
        try:
            module = importlib.import_module(name)
            results = []
            for _ in range(calls):
                try:
                    results.append(module.outer({"price": 5}))
                except KeyError as error:
                    results.append(error)
        finally:
            engine.stop()
            sys.modules.pop(name, None)
        return results, output.getvalue(), engine.journal.events()

    return run


def _of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def test_the_prompt_shows_the_crash_and_heals_it(converse):
    results, output, events = converse("heal total = 7")
    assert results == [7]
    assert "KeyError: 'amount'" in output
    assert 'total = row["amount"]' in output
    (healed,) = _of(events, Healed)
    assert (healed.code, healed.by, healed.resume) == ("total = 7", "human", "next")


def test_several_lines_until_a_dot(converse):
    results, output, _ = converse("heal", "total = 0", "for n in [1, 2]:", "    total += n", ".")
    assert results == [3]
    assert "single dot" in output


def test_looking_changes_nothing(converse):
    results, output, events = converse(
        "print row['price'] + 1", "row['price'] * 10", "p sorted(row)", "heal total = row['price']"
    )
    assert results == [5]
    assert [(event.code, event.value_repr) for event in _of(events, Probed)] == [
        ("row['price'] + 1", "6"), ("row['price'] * 10", "50"), ("sorted(row)", "['price']"),
    ]
    assert "\n(heal) 6\n" in output


def test_where_source_locals_and_frames(converse):
    results, output, _ = converse(
        "where", "locals", "up", "locals", "source", "up", "down", "down", "context", "help", "reraise"
    )
    assert isinstance(results[0], KeyError)
    assert "> 0 " in output
    assert "> 1 " in output
    assert "row = {'price': 5}" in output
    assert "name = 'outer'" in output
    assert "def outer(row):" in output
    assert output.count("there is no such frame") == 2
    assert "Traceback" in output
    assert "heal" in output.partition("Commands (")[2]


def test_healing_the_selected_frame(converse):
    results, _, events = converse("up", "heal result = 9")
    assert results == [9]
    assert _of(events, Healed)[0].frame == 1


def test_going_on_in_another_way(converse):
    results, output, events = converse("resume sideways", "resume return", "heal _eh_rtn = 8")
    assert results == [8]
    assert "possible here: " in output
    assert _of(events, Healed)[0].resume == "return"


def test_a_heal_that_fails_can_be_followed_by_another(converse):
    results, output, _ = converse("heal total = nothing", "heal import os", "heal total = 1")
    assert results == [1]
    assert "NameError" in output
    assert "HC120" in output


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["reraise it is right"], "it is right"),
        (["reraise"], "decided at the prompt"),
        (["EOF"], "end of input at the prompt"),
        ([], "end of input at the prompt"),
        (["", "heal", "total = 1"], "end of input at the prompt"),
    ],
)
def test_letting_the_error_go_on(converse, lines, reason):
    results, _, events = converse(*lines)
    assert isinstance(results[0], KeyError)
    assert [event.reason for event in _of(events, Reraised)] == [reason]


def test_quit_asks_no_more(converse):
    results, output, events = converse("quit", "heal total = 1", calls=2)
    assert [type(result) for result in results] == [KeyError, KeyError]
    assert output.count("(heal)") == 1
    assert len(_of(events, Reraised)) == 2


def test_capture_is_suspended_around_each_conversation_even_when_interrupted(converse, monkeypatch):
    seen = []
    converse("heal total = 1", before=lambda: seen.append("before"), after=lambda: seen.append("after"))
    assert seen == ["before", "after"]

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("cmd.Cmd.cmdloop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        converse(before=lambda: seen.append("before"), after=lambda: seen.append("after"))
    assert seen == ["before", "after"] * 2


def test_options_are_refused():
    with pytest.raises(ValueError, match="the agent human has no option rules"):
        HumanAgent({"rules": "all"})


@pytest.mark.parametrize(
    ("variable", "says"), [("PYTEST_XDIST_WORKER", "run without -n"), ("CI", "needs somebody at a terminal")]
)
def test_nobody_can_be_asked_in_a_worker_or_in_ci(monkeypatch, variable, says):
    for name in ("PYTEST_XDIST_WORKER", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "1")
    assert says in unusable()
    assert says in HumanAgent().unusable()
    assert HumanAgent(stdin=io.StringIO(), stdout=io.StringIO()).unusable() == ""


@pytest.mark.skipif(not hasattr(os, "setsid"), reason="terminals of POSIX")
def test_a_process_without_a_terminal_is_unusable():
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTEST_XDIST_WORKER")}
    program = "from healguard_core.execution.local_agents.human import unusable; print(unusable())"
    done = subprocess.run([sys.executable, "-c", program], start_new_session=True, capture_output=True, text=True,
                          check=True, env=environment, stdin=subprocess.DEVNULL)
    assert "needs a terminal (/dev/tty" in done.stdout
