"""Every native operation is run twice, the second time with another value in the marked place: whatever differs
afterwards has to be marked, and where elements are told apart, nothing else is.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from . import operations_of_objects
from .driving import HEAL, Stage
from .operations import OPERATIONS, Operation

assert operations_of_objects  # fills the table as well
_BY_NAME = {operation.name: operation for operation in OPERATIONS}


def _run(operation: Operation, values: list[str], hot: int):
    stage = Stage()
    marks = [HEAL if index == hot else None for index in range(len(values))]
    found = {}
    for number, (value, mark) in enumerate(operation.run(stage, values, marks)):
        found.update(stage.leaves(value, mark, (number,)))
    return found


def test_names_are_told_apart():
    assert len(_BY_NAME) == len(OPERATIONS)


@pytest.mark.parametrize("name", sorted(_BY_NAME))
def test_what_differs_is_marked(name):
    for hot in range(4):
        _check(_BY_NAME[name], 4, hot)


@settings(max_examples=400, deadline=None, database=None, derandomize=True)
@given(name=st.sampled_from(sorted(_BY_NAME)), size=st.integers(3, 6), hot=st.integers(0, 5))
def test_what_differs_is_marked_in_containers_of_any_size(name, size, hot):
    _check(_BY_NAME[name], size, min(hot, size - 1))


def _check(operation: Operation, size: int, hot: int) -> None:
    values = [f"hot{index}-o" if index == hot else f"h{index}-o" for index in range(size)]
    others = [value + "~Oo" if index == hot else value for index, value in enumerate(values)]
    first, second = _run(operation, values, hot), _run(operation, others, hot)
    differing = {path for path in {*first, *second} if first.get(path, (path,))[0] != second.get(path, (path,))[0]}
    for path in differing:
        marks = [found[path][1] for found in (first, second) if path in found]
        assert all(mark is not None for mark in marks), (path, first.get(path), second.get(path))
    if operation.precise:
        marked = {path for path, (_, mark) in first.items() if mark is not None}
        assert marked <= differing, {path: first[path] for path in marked - differing}
