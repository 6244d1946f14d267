"""The decision, on small programs whose exceptions are then let go."""


import pytest

from . import programs

TABLE = programs.table()


@pytest.mark.parametrize("program", TABLE, ids=[program.name for program in TABLE])
def test_answer_is_what_then_happens(program):
    decision, reached, boom = programs.measure(program.text)

    wanted = "unhandled" if program.expected == "reported" else program.expected
    assert decision.answer == wanted, decision
    if program.expected in ("handled", "unhandled"):
        assert reached is (program.expected == "unhandled")
    assert decision.why
    assert boom.decider.counters["failures"] == 0
