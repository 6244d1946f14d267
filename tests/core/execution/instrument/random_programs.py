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


@dataclass(frozen=True)
class Place:
    """Where a block is written: how deep, how many levels may follow, and what may be written there."""

    indent: int
    depth: int
    loop: bool = False
    final: bool = False

    def inside(self, indents: int = 1, loop: bool = False, final: bool = False) -> "Place":
        return Place(self.indent + indents, self.depth - 1, (self.loop or loop) and not final, self.final or final)


class _Writer:
    def __init__(self, draw: Any, kind: str, catching: bool = False) -> None:
        self.draw = draw
        self.kind = kind
        self.catching = catching
        self.lines: list[str] = []
        self.crashes = 0
        self.names = 0

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def name(self) -> str:
        self.names += 1
        return f"n{self.names}"

    def block(self, at: Place) -> None:
        for _ in range(self.draw(st.integers(1, 2))):
            forms = ["crash", "log"]
            if at.depth:
                forms += ["if", "for", "while", "with", "except", "guarded", "finally", "match"]
                if self.kind in ("coroutine", "asyncgen"):
                    forms += ["async for", "async with"]
                if self.catching:
                    forms += ["catch"] * 4
            if self.kind in ("generator", "asyncgen"):
                forms.append("yield")
            if at.loop:
                forms += ["continue", "break"]
            if self.call_returns and not at.final:
                forms.append("return")
            getattr(self, "w_" + self.draw(st.sampled_from(forms)).replace(" ", "_"))(at)

    @property
    def call_returns(self) -> bool:
        return self.kind not in ("module", "class")

    def w_crash(self, at: Place) -> None:
        self.line(at.indent, MARK.format(self.crashes))
        self.crashes += 1

    def w_log(self, at: Place) -> None:
        self.line(at.indent, f"log('{self.name()}')")

    def w_yield(self, at: Place) -> None:
        self.line(at.indent, f"yield '{self.name()}'")

    def w_continue(self, at: Place) -> None:
        self.line(at.indent, f"if chance('{self.name()}'): continue")

    def w_break(self, at: Place) -> None:
        self.line(at.indent, f"if chance('{self.name()}'): break")

    def w_return(self, at: Place) -> None:
        value = "" if self.kind == "asyncgen" else f" '{self.name()}'"
        self.line(at.indent, f"if chance('{self.name()}'): return{value}")

    def w_if(self, at: Place) -> None:
        self.line(at.indent, f"if chance('{self.name()}'):")
        self.block(at.inside())
        if self.draw(st.booleans()):
            self.line(at.indent, f"elif chance('{self.name()}'):")
            self.block(at.inside())
        self.line(at.indent, "else:")
        self.block(at.inside())

    def w_for(self, at: Place, keyword: str = "for", over: str = "range") -> None:
        self.line(at.indent, f"{keyword} {self.name()} in {over}(2):")
        self.block(at.inside(loop=True))
        if self.draw(st.booleans()):
            self.line(at.indent, "else:")
            self.block(at.inside())

    def w_async_for(self, at: Place) -> None:
        self.w_for(at, "async for", "counting")

    def w_while(self, at: Place) -> None:
        name = self.name()
        self.line(at.indent, f"{name} = 0")
        self.line(at.indent, f"while {name} < 2:")
        self.line(at.indent + 1, f"{name} += 1")
        self.block(at.inside(loop=True))

    def w_with(self, at: Place, keyword: str = "with") -> None:
        second = f", recorder('{self.name()}')" if self.draw(st.booleans()) else ""
        self.line(at.indent, f"{keyword} recorder('{self.name()}'){second}:")
        self.block(at.inside())

    def w_async_with(self, at: Place) -> None:
        self.w_with(at, "async with")

    def w_guarded(self, at: Place) -> None:
        self.line(at.indent, "try:")
        self.w_crash(at.inside())
        self.line(at.indent, "except KeyError:")
        self.block(at.inside())

    def w_except(self, at: Place) -> None:
        self.line(at.indent, "try:")
        self.block(at.inside())
        if self.draw(st.booleans()):
            self.line(at.indent + 1, f"if chance('{self.name()}'): raise ValueError")
        self.line(at.indent, "except ValueError as error:")
        self.block(at.inside())
        self.line(at.indent, "except BaseException as error:")
        self.line(at.indent + 1, "log(type(error))")
        self.line(at.indent + 1, "raise")
        if self.draw(st.booleans()):
            self.line(at.indent, "else:")
            self.block(at.inside())

    def w_catch(self, at: Place) -> None:
        """A ``try`` of which the rewriter knows that it takes what ``boom`` raises, or some of it."""
        self.line(at.indent, "try:")
        self.block(at.inside())
        taken = ("LookupError", "LookupError as error", "(OSError, LookupError)", "Own", "Exception", "KeyError")
        for kind in self.draw(st.lists(st.sampled_from(taken), min_size=1, max_size=2)):
            self.line(at.indent, f"except {kind}:")
            self.line(at.indent + 1, f"log('{self.name()}')")
            if self.draw(st.booleans()):
                self.block(at.inside())
        if self.draw(st.booleans()):
            self.line(at.indent, "finally:")
            self.line(at.indent + 1, "log(exception())")

    def w_finally(self, at: Place) -> None:
        self.line(at.indent, "try:")
        self.block(at.inside())
        if self.draw(st.booleans()):
            self.line(at.indent, "except ValueError:")
            self.block(at.inside())
            self.line(at.indent, "else:")
            self.block(at.inside())
        self.line(at.indent, "finally:")
        self.line(at.indent + 1, "log(exception())")
        self.block(at.inside(final=True))

    def w_match(self, at: Place) -> None:
        self.line(at.indent, f"match chance('{self.name()}'):")
        self.line(at.indent + 1, "case True:")
        self.block(at.inside(2))
        self.line(at.indent + 1, "case _:")
        self.block(at.inside(2))


_HEADS = {
    "plain": "def f():",
    "generator": "def f():",
    "coroutine": "async def f():",
    "asyncgen": "async def f():",
    "class": "class C:",
    "module": "if True:",
}
_FIRST = {"generator": "yield 'first'", "asyncgen": "yield 'first'"}


@st.composite
def programs(draw: Any, kinds: tuple[str, ...] = KINDS, depth: int = 3, catching: bool = False) -> Program:
    """A program with at least one crash in it. ``chance`` answers by a hash of its argument.

    ``catching``: some of its handlers take the crash.
    """
    kind = draw(st.sampled_from(kinds))
    writer = _Writer(draw, kind, catching)
    writer.line(0, "import sys")
    if catching:
        writer.line(0, "class Own(LookupError): pass")
    writer.line(0, "def chance(name): return sum(map(ord, name)) % 3 == 0")
    writer.line(0, "def exception(): return sys.exc_info()[0]")
    writer.line(0, _HEADS[kind])
    if kind in _FIRST:
        writer.line(1, _FIRST[kind])
    start = Place(1, depth)
    writer.block(start)
    writer.w_crash(start)
    return Program("\n".join(writer.lines) + "\n", writer.crashes, kind)
