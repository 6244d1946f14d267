"""An error meets one handler of ours and then the program's own, as it would in the plain code."""

import ast
import dis
import sys
from pathlib import Path
from types import CodeType
from typing import Any, Optional

import pytest

from healguard_core.execution import hooks
from healguard_core.execution.instrument import shortcuts
from healguard_core.execution.instrument.compiling import compiled
from healguard_core.execution.instrument.rewrite import rewrite
from healguard_core.execution.instrument.shortcuts import shortened

from .programs import answering, compile_instrumented
from .test_fidelity import SAMPLE, codes

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="older versions have no exception tables")

NESTED = """
def f(d):
    for a in (1, 2):
        if a:
            while a:
                try:
                    if a: {'k': 1}[d]
                    return a
                finally:
                    seen = a
"""


def test_nobody_is_asked_again_on_the_way_out_of_a_function() -> None:
    asked: list[int] = []
    with answering(lambda site, _frame, _exc: asked.append(site) or ()):
        namespace: dict[str, Any] = {}
        exec(compile_instrumented(NESTED), namespace)
        with pytest.raises(KeyError):
            namespace["f"]("none")
    assert len(asked) == 1


def test_code_without_statements_of_ours_stays_as_it_is() -> None:
    plain = compile("def f():\n    try: pass\n    finally: g()\n", "<plain>", "exec")
    assert shortened(plain) is plain


class Ways:
    """Where exceptions go in one code object, read with the interpreter's own reader of tables."""

    def __init__(self, code: CodeType, long: Optional["Ways"] = None) -> None:
        self.long = long
        self.entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
        self.instructions = {one.offset: one for one in dis.get_instructions(code)}
        self.offsets = list(self.instructions)
        starts = [entry.target for entry in self.entries]
        starts += [offset for offset, one in self.instructions.items() if one.opname == "PUSH_EXC_INFO"]
        self.ends = {start: self._end(start) for start in starts}
        self.ours = {start: self._ours(start) for start in starts}

    def covering(self, offset: int) -> Any:
        return next((one for one in self.entries if one.start <= offset < one.end), None)

    def _end(self, start: int) -> int:
        """Where the end of the handler at ``start`` is as compiled; -1 where it has none."""
        inside = (self.long or self).covering(start)
        return -1 if inside is None else inside.target

    def _ours(self, start: int) -> dict[str, int]:
        """Offsets of what matters in a handler of ours; none for the program's."""
        found: dict[str, int] = {}
        inside = self.covering(start)
        if self.instructions[start].opname != "PUSH_EXC_INFO" or inside is None:
            return found
        for offset in self.offsets[self.offsets.index(start) + 1:]:
            one = self.instructions[offset]
            if one.opname.startswith("LOAD") and one.argval in (hooks.HEAL, hooks.LEAVE):
                found[one.argval] = offset
            elif not found and one.opname.startswith(("PUSH_EXC", "POP_EXC", "STORE", "CALL", "RETURN", "RERAISE")):
                return {}
            elif one.opname == "CALL":
                found.setdefault("call", offset)
            elif one.opname == "RERAISE" and self._own_code(start, offset):
                found["again"] = offset
                return found
        return {}

    def _own_code(self, start: int, offset: int) -> bool:
        """Whether ``offset`` is the RERAISE behind which the end of the handler at ``start`` stands."""
        after = self.offsets[self.offsets.index(offset) + 1]
        return after == self.ends[start]

    def beyond(self, offset: int, stop: str = "") -> Any:
        """Target and depth of the handler to which an exception at ``offset`` comes that no handler of ours takes.

        ``stop``: the kind of handler of ours that does take it.
        """
        entry = self.covering(offset)
        for _ in range(1000):
            if entry is None:
                return None
            if self.instructions[entry.target].opname == "COPY":
                after = self.offsets[self.offsets.index(entry.target) + 2]
                assert self.instructions[after].opname == "RERAISE"
                if not self.in_own_end(entry.target):
                    return entry.target, entry.depth
                entry = self.covering(after)
                continue
            ours = self.ours[entry.target]
            if not ours or stop in ours:
                return entry.target, entry.depth
            entry = self.covering(ours["again"])
        raise AssertionError("it goes around in circles")

    def in_own_end(self, offset: int) -> bool:
        """Whether ``offset`` is in one of the three instructions that follow a handler of ours."""
        at = self.offsets.index(offset)
        return any(ours.get("again") in self.offsets[max(at - 3, 0):at] for ours in self.ours.values())


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.stem)
def test_every_error_comes_to_the_same_handler_of_the_program(path: Path) -> None:
    source = path.read_text("utf-8")
    long = compile(rewrite(ast.parse(source), source).tree, str(path), "exec", dont_inherit=True)
    short = compiled(rewrite(ast.parse(source), source), str(path))
    for (name, before), (_, after) in zip(codes(long), codes(short), strict=True):
        assert before.co_code == after.co_code
        old = Ways(before)
        new = Ways(after, old)
        calls = [ours["call"] for ours in old.ours.values() if next(iter(ours), "") == hooks.HEAL]
        for offset in old.offsets:
            if not old.in_own_end(offset):  # an end that is out of use leads nowhere
                assert new.beyond(offset) == old.beyond(offset), (name, offset)
        for offset in calls:
            assert new.beyond(offset, hooks.LEAVE) == old.beyond(offset, hooks.LEAVE), (name, offset)


def test_the_self_test_passes_here_and_notices_tables_that_are_read_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shortcuts.works()
    shortcuts.works.cache_clear()
    monkeypatch.setattr(shortcuts, "_NUMBERS", shortcuts._Numbers(64))  # as if tables were written in another way
    assert not shortcuts.works()
    code = compile(rewrite(ast.parse(NESTED), NESTED).tree, "<nested>", "exec")
    assert shortcuts.shortened(code) is code
    monkeypatch.undo()
    shortcuts.works.cache_clear()
