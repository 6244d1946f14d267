"""Every instruction of the running Python is modelled, and the stack is as deep as the code says."""

from __future__ import annotations

import ctypes
import dis
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healguard_core.execution.tracking.frames import readable
from healguard_core.execution.tracking.opcodes import TABLE
from healguard_core.execution.tracking.program import program_of

NOT_IN_CODE = {"SETUP_FINALLY", "SETUP_CLEANUP", "SETUP_WITH", "JUMP", "JUMP_NO_INTERRUPT", "LOAD_SUPER_METHOD",
               "LOAD_ZERO_SUPER_METHOD", "LOAD_ZERO_SUPER_ATTR", "JUMP_IF_FALSE", "JUMP_IF_TRUE"}
"""What only the compiler uses on its way to code."""


def test_every_opcode_is_modelled() -> None:
    known = {name for name, number in dis.opmap.items() if number < 256 and not name.startswith("INSTRUMENTED_")}
    assert known - NOT_IN_CODE - set(TABLE) == set()


STATEMENTS = [
    "x = {0} + 1",
    "x = [{0}, *[1, 2], 3]",
    "x = {{'a': {0}, **{{'b': 2}}}}",
    "x, *y = [{0}, 1, 2]",
    "x = f'{{ {0} }}-{{ {0}!r:>5}}'",
    "x = [i for i in (1, 2) if i]",
    "x = call({0}, 2, key=3, *(1,), **{{'k': 4}})",
    "x = ({0} or 1) if {0} else 2",
    "try:\n    x = 1 / 0\nexcept ZeroDivisionError as error:\n    x = call(error)\nfinally:\n    x = 2",
    "with manager() as x:\n    x = call(x)",
    "for i in range(2):\n    if i: continue\n    x = call(i)\nelse:\n    x = 1",
    "while True:\n    x = call(1)\n    break",
    "match {0}:\n    case [a, *b]: x = a\n    case {{'k': v}}: x = v\n    case _: x = 0",
    "x = (lambda a=1, *, b=2: a + b)()",
    "x = call(lambda: x, [j async for j in ()] if 0 else 1) if 0 else 3",
    "class C:\n    y = 1\n    def z(self): return super().__init__()\nx = C().z()",
    "x = 0 < 1 < 2",
    "assert True, 'no'",
    "x = [1, 2, 3]\nx[0:1] = [4]\ndel x[0]",
    "x = (yield_ := 5)",
    "h = 1\ndel h",
]


class Manager:
    def __enter__(self) -> int:
        return 1

    def __exit__(self, *_exc: object) -> None:
        return None


def call(*args: Any, **kwargs: Any) -> int:
    return len(args) + len(kwargs)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="only Python 3.11 keeps the depth in a traced frame")
@given(st.lists(st.sampled_from([one for one in STATEMENTS if "async for" not in one]), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_the_stack_is_as_deep_as_the_code_says(statements: list[str]) -> None:
    assert readable()
    body = "\n".join(statement.format("1") for statement in statements)
    scope: dict[str, Any] = {"call": call, "manager": Manager}
    exec(compile("def f():\n " + body.replace("\n", "\n ") + "\n return 1\n", "<generated>", "exec"), scope)
    wrong: list[Any] = []

    def local(frame: FrameType, event: str, _arg: object) -> Any:
        if event == "opcode":
            program = program_of(frame.f_code)
            inner = ctypes.c_size_t.from_address(id(frame) + 24).value
            real = ctypes.c_int.from_address(inner + 8 * 8).value - len(program.slots)
            if program.depths[frame.f_lasti // 2] != real:
                wrong.append((program.names[frame.f_lasti // 2], program.depths[frame.f_lasti // 2], real))
        return local

    def trace(frame: FrameType, _event: str, _arg: object) -> Any:
        if frame.f_code.co_filename != "<generated>":
            return None
        frame.f_trace_opcodes = True
        return local

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        scope["f"]()
    finally:
        sys.settrace(before)
    assert not wrong
