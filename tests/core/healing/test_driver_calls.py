"""What models may call: any reply is one action or a problem that can be told to the model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.healing.drivers.calls import action_of, execute_tool

ARGUMENTS = st.dictionaries(st.sampled_from(["code", "submit", "command", "resume", "frame"]),
                            st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers()))


@given(st.lists(st.tuples(st.text(), st.sampled_from(["bash", "execute", "reraise", "", "rm"]),
                          st.text() | st.none() | ARGUMENTS.map(json.dumps)), max_size=3))
def test_any_reply_is_an_action_or_a_problem(calls: list[tuple[str, str, Any]]) -> None:
    found = action_of(calls)
    if isinstance(found, str):
        assert found.endswith(".")
    else:
        assert len(calls) == 1
        arguments = found["arguments"]
        assert found["tool"] != "execute" or (type(arguments["code"]), type(arguments["submit"])) == (str, bool)


@pytest.mark.parametrize(("calls", "says"), [
    ([], "It has no call of a tool."),
    ([("1", "bash", '{"command": "ls"}')] * 2, "It has 2 calls."),
    ([("1", "edit", "{}")], "There is no tool 'edit'."),
    ([("1", "execute", '{"code": "x"}')], "`submit` is missing or of the wrong kind."),
    ([("1", "execute", '{"code": "", "submit": true}')], "`code` is missing or of the wrong kind."),
    ([("1", "execute", '{"code": "x", "submit": "yes"}')], "`submit` is missing or of the wrong kind."),
    ([("1", "bash", "{")], "The arguments are not JSON"),
    ([("1", "bash", "[]")], "The arguments are no object."),
])
def test_problems(calls: list[tuple[str, str, Any]], says: str) -> None:
    assert str(action_of(calls)).startswith(says)


def test_the_papers_tool_has_no_choices() -> None:
    def names(paper: bool) -> set[str]:
        return set(execute_tool(paper)["function"]["parameters"]["properties"])

    assert names(paper=True) == {"code", "submit"}
    assert names(paper=False) == {"code", "submit", "resume", "frame"}
