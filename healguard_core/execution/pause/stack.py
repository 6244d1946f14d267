"""The repository frames of a paused stack, from the crash outward. May import frame, sources, sites and hooks."""

import ast
from types import CodeType, FrameType
from typing import Any, Callable, Dict, List, Optional, Sequence

from healguard_core.execution import hooks
from healguard_core.execution.instrument.sites import Site, innermost
from healguard_core.execution.pause.frame import PausedFrame
from healguard_core.execution.pause.sources import Span, lines_of, position, text_at

SitesFor = Callable[[str], Sequence[Site]]


class StackFrame:
    """One repository frame of a paused stack.

    Attributes: ``index`` (0 = where it crashed, 1 = its nearest repository caller, ...), ``frame``,
    ``site`` (the statement that is running there; None when it is not a healable one), ``function``
    (``module.qualname``), ``statement`` (its source text, "" when unknown).
    """

    def __init__(self, index: int, frame: FrameType, site: Optional[Site]) -> None:
        self.index = index
        self.frame = frame
        self.site = site
        module = frame.f_globals.get("__name__", "?")
        qualname = site.qualname if site is not None else frame.f_code.co_name
        self.function = "{}.{}".format(module, qualname) if qualname else str(module)
        self._paused: Optional[PausedFrame] = None

    @property
    def paused(self) -> PausedFrame:
        """Access to the frame's variables, made once."""
        if self._paused is None:
            self._paused = PausedFrame(self.frame)
        return self._paused

    @property
    def statement(self) -> str:
        """The running statement's source text; for a compound statement with its body."""
        if self.site is None:
            return ""
        return source_segment(self.frame.f_code.co_filename, self.site)

    @property
    def statement_node(self) -> Optional[ast.stmt]:
        """The running statement parsed on its own; None when that is not possible."""
        try:
            body = ast.parse(_dedented(self.statement, self.site.column if self.site else 0)).body
        except (SyntaxError, ValueError, RecursionError):
            return None
        return body[0] if body else None

    def read(self) -> Dict[str, Any]:
        """The live values of the frame's variables by name."""
        return self.paused.read()


def source_segment(filename: str, site: Site) -> str:
    """The exact source text that ``site`` spans, "" when the file's source cannot be had."""
    span = Span(site.line, site.column, site.end_line, site.end_column)
    return text_at(lines_of(filename), span)


def _dedented(segment: str, column: int) -> str:
    first, _, rest = segment.partition("\n")
    if not rest:
        return first
    lines = [line[column:] if not line[:column].strip() else line for line in rest.split("\n")]
    return "\n".join([first] + lines)


def repository_frames(frame: FrameType, site: Site, sites_for: SitesFor) -> List[StackFrame]:
    """``frame`` (stopped at ``site``) and the instrumented frames that called it, nearest first."""
    found = [StackFrame(0, frame, site)]
    outer = frame.f_back
    while outer is not None:
        if hooks.is_instrumented(outer.f_code):
            line, column = position(outer)
            found.append(StackFrame(len(found), outer, innermost(sites_for(outer.f_code.co_filename), line, column)))
        outer = outer.f_back
    return found


def outermost(frame: FrameType, is_repository: Callable[[CodeType], bool] = hooks.is_instrumented) -> FrameType:
    """The outermost repository frame on the stack of ``frame``: the target call of a test."""
    found = frame
    outer = frame.f_back
    while outer is not None:
        if is_repository(outer.f_code):
            found = outer
        outer = outer.f_back
    return found
