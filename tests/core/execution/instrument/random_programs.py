"""Random programs out of every compound statement, as hypothesis strategies."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

MARK = "boom({})"
KINDS = ("plain", "generator", "coroutine", "asyncgen", "module", "class")


@dataclass(frozen=True)
class Program:
    """``source`` calls ``boom(0)`` to ``boom(crashes - 1)``, each as a statement of its own."""

    source: str
    crashes: int
    kind: str

    @property
    def call(self) -> str:
        return "" if self.kind in ("module", "class") else "f"

    def replaced(self, number: int, statement: str) -> str:
        """The program with ``boom(number)`` followed by ``statement``."""
        mark = MARK.format(number)
        return self.source.replace(mark + "\n", f"{mark}; {statement}\n")


class _Writer:
    def __init__(self, draw: Any, kind: str) -> None:
        self.draw = draw
        self.kind = kind
        self.lines: list[str] = []
        self.crashes = 0
        self.names = 0

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def name(self) -> str:
        self.names += 1
        return f"n{self.names}"

    def block(self, indent: int, depth: int, loop: bool, final: bool = False) -> None:
        for _ in range(self.draw(st.integers(1, 2))):
            forms = ["crash", "log"]
            if depth:
                forms += ["if", "for", "while", "with", "except", "guarded", "finally", "match"]
                if self.kind in ("coroutine", "asyncgen"):
                    forms += ["async for", "async with"]
            if self.kind in ("generator", "asyncgen"):
                forms.append("yield")
            if loop:
                forms += ["continue", "break"]
            if self.call_returns and not final:
                forms.append("return")
            getattr(self, "w_" + self.draw(st.sampled_from(forms)).replace(" ", "_"))(indent, depth, loop, final)

    @property
    def call_returns(self) -> bool:
        return self.kind not in ("module", "class")

    def w_crash(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.line(indent, MARK.format(self.crashes))
        self.crashes += 1

    def w_log(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.line(indent, f"log('{self.name()}')")

    def w_yield(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.line(indent, f"yield '{self.name()}'")

    def w_continue(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.line(indent, f"if chance('{self.name()}'): continue")

    def w_break(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.line(indent, f"if chance('{self.name()}'): break")

    def w_return(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        value = "" if self.kind == "asyncgen" else f" '{self.name()}'"
        self.line(indent, f"if chance('{self.name()}'): return{value}")

    def w_if(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.line(indent, f"if chance('{self.name()}'):")
        self.block(indent + 1, depth - 1, loop, final)
        if self.draw(st.booleans()):
            self.line(indent, f"elif chance('{self.name()}'):")
            self.block(indent + 1, depth - 1, loop, final)
        self.line(indent, "else:")
        self.block(indent + 1, depth - 1, loop, final)

    def w_for(self, indent: int, depth: int, loop: bool, final: bool, keyword: str = "for", over: str = "range") -> None:
        self.line(indent, f"{keyword} {self.name()} in {over}(2):")
        self.block(indent + 1, depth - 1, True, final)
        if self.draw(st.booleans()):
            self.line(indent, "else:")
            self.block(indent + 1, depth - 1, loop, final)

    def w_async_for(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.w_for(indent, depth, loop, final, "async for", "counting")

    def w_while(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        name = self.name()
        self.line(indent, f"{name} = 0")
        self.line(indent, f"while {name} < 2:")
        self.line(indent + 1, f"{name} += 1")
        self.block(indent + 1, depth - 1, True, final)

    def w_with(self, indent: int, depth: int, loop: bool, final: bool, keyword: str = "with") -> None:
        second = f", recorder('{self.name()}')" if self.draw(st.booleans()) else ""
        self.line(indent, f"{keyword} recorder('{self.name()}'){second}:")
        self.block(indent + 1, depth - 1, loop, final)

    def w_async_with(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.w_with(indent, depth, loop, final, "async with")

    def w_guarded(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.line(indent, "try:")
        self.w_crash(indent + 1, depth, loop, final)
        self.line(indent, "except KeyError:")
        self.block(indent + 1, depth - 1, loop, final)

    def w_except(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.line(indent, "try:")
        self.block(indent + 1, depth - 1, loop, final)
        if self.draw(st.booleans()):
            self.line(indent + 1, f"if chance('{self.name()}'): raise ValueError")
        self.line(indent, "except ValueError as error:")
        self.block(indent + 1, depth - 1, loop, final)
        self.line(indent, "except BaseException as error:")
        self.line(indent + 1, "log(type(error))")
        self.line(indent + 1, "raise")
        if self.draw(st.booleans()):
            self.line(indent, "else:")
            self.block(indent + 1, depth - 1, loop, final)

    def w_finally(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.line(indent, "try:")
        self.block(indent + 1, depth - 1, loop, final)
        if self.draw(st.booleans()):
            self.line(indent, "except ValueError:")
            self.block(indent + 1, depth - 1, loop, final)
            self.line(indent, "else:")
            self.block(indent + 1, depth - 1, loop, final)
        self.line(indent, "finally:")
        self.line(indent + 1, "log(exception())")
        self.block(indent + 1, depth - 1, False, True)

    def w_match(self, indent: int, depth: int, loop: bool, final: bool) -> None:
        self.line(indent, f"match chance('{self.name()}'):")
        self.line(indent + 1, "case True:")
        self.block(indent + 2, depth - 1, loop, final)
        self.line(indent + 1, "case _:")
        self.block(indent + 2, depth - 1, loop, final)


_HEADS = {
    "plain": "def f():", "generator": "def f():", "coroutine": "async def f():", "asyncgen": "async def f():",
    "class": "class C:", "module": "if True:",
}
_FIRST = {"generator": "yield 'first'", "asyncgen": "yield 'first'"}


@st.composite
def programs(draw: Any, kinds: tuple[str, ...] = KINDS, depth: int = 3) -> Program:
    """A program with at least one crash in it. ``chance`` answers by a hash of its argument."""
    kind = draw(st.sampled_from(kinds))
    writer = _Writer(draw, kind)
    writer.line(0, "import sys")
    writer.line(0, "def chance(name): return sum(map(ord, name)) % 3 == 0")
    writer.line(0, "def exception(): return sys.exc_info()[0]")
    writer.line(0, _HEADS[kind])
    if kind in _FIRST:
        writer.line(1, _FIRST[kind])
    writer.block(1, depth, False)
    writer.w_crash(1, depth, False, False)
    return Program("\n".join(writer.lines) + "\n", writer.crashes, kind)
