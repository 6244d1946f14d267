"""What an agent is told about a crash. May import protocol, instrument.sites and the modules beside it.

Everything is read, nothing is run: no attribute look-up, ``repr`` or iteration of the program's own. Each part has a
bound (`Limits`), and a part that cannot be had says so in its place.
"""

import ast
import dataclasses
import types
from types import CodeType, FrameType
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from healguard_core.execution.instrument.sites import Site, innermost
from healguard_core.execution.pause import progress, sources, static
from healguard_core.execution.pause.errors import message_of, message_with, traceback_text
from healguard_core.execution.pause.redaction import Redactor
from healguard_core.execution.pause.reprs import cut, safe_repr
from healguard_core.execution.pause.sources import Span
from healguard_core.protocol import CrashContext, FrameView

__all__ = ["Limits", "describe", "message_of"]


@dataclasses.dataclass
class Limits:
    """How much of each part is told. Texts in characters, the rest in pieces."""

    message: int = 2000
    traceback: int = 12000
    traceback_entries: int = 40
    statement: int = 3000
    body_lines: int = 12  # of a compound statement, after its header
    source_lines: int = 120  # of the function around the crash
    outer_source_lines: int = 40  # of each function that called it
    frames: int = 15
    value: int = 600
    outer_value: int = 160
    names: int = 60
    outer_names: int = 20


class _Place(NamedTuple):
    """One repository frame and what is known of where it stands."""

    frame: FrameType
    site: Optional[Site]
    node: Optional[ast.stmt]  # the statement, parsed on its own
    header: int  # how many lines of it come before its body; 0 when it has none
    line: int
    lines: List[str]  # of its file
    names: progress.Names

    @property
    def start(self) -> int:
        """First line of the statement."""
        return self.line if self.site is None else self.site.line

    @property
    def end(self) -> int:
        """Last line of the statement, of a compound one of what it evaluates itself."""
        return self.start + self.header - 1 if self.header else self.line if self.site is None else self.site.end_line

    @property
    def has_body(self) -> bool:
        """Whether there are lines of the statement that come after its header."""
        return bool(self.header) and self.site is not None and self.end < self.site.end_line


SitesFor = Callable[[str], Sequence[Site]]


def describe(
    exc: BaseException,
    frame: FrameType,
    site: Optional[Site],
    *,
    crash: int,
    unit: str,
    resumes: List[str],
    sites_for: SitesFor,
    is_repository: Callable[[CodeType], bool],
    redact: bool = True,
    attempt: int = 1,
    limits: Optional[Limits] = None,
    secrets: Sequence[str] = (),
) -> CrashContext:
    """The context of one pause at ``site`` of ``frame``, where ``exc`` has come up to. Never raises.

    ``sites_for`` gives the sites of a file, to name the statements of calling frames. ``resumes`` is passed on.
    ``secrets`` are texts to withhold wherever they stand.
    """
    within = limits if limits is not None else Limits()
    redactor = Redactor(redact, secrets)
    instruction, line = _stopped_at(exc, frame)
    place = _place(frame, site, line)
    code = frame.f_code
    return CrashContext(
        crash=crash,
        unit=unit,
        error=static.simple_name(type(exc)),
        qualified_error=static.qualified_name(type(exc)),
        message=message_with(exc, redactor, within.message),
        traceback=_part(
            lambda: traceback_text(exc, frame, redactor, within.traceback_entries, within.traceback)),
        file=code.co_filename,
        function=_function(place),
        line=place.start,
        end_line=place.end,
        statement=redactor.source(_statement(place, within)),
        failing_expression=_part(lambda: redactor.source(_failing(place, instruction, within))),
        skipped=_part(lambda: redactor.source(_skipped(place))),
        frames=_frames(place, sites_for, is_repository, redactor, within),
        resumes=list(resumes),
        attempt=attempt,
        redacted=redactor.count,
    )


def _part(make: Callable[[], str]) -> str:
    """``make()``, or in its place the reason why this part of the context cannot be had."""
    try:
        return make()
    except Exception as problem:
        return "<not available: {}: {}>".format(static.simple_name(type(problem)), cut(message_of(problem), 200))


def _stopped_at(exc: BaseException, frame: FrameType) -> Tuple[int, int]:
    """Instruction and line at which the error came up; from the traceback, because the frame itself has gone on."""
    tb = exc.__traceback__
    while tb is not None:
        if tb.tb_frame is frame:
            return tb.tb_lasti, tb.tb_lineno or 0
        tb = tb.tb_next
    return -1, frame.f_lineno or 0


def _place(frame: FrameType, site: Optional[Site], line: int) -> _Place:
    lines = sources.lines_of(frame.f_code.co_filename, frame.f_globals)
    text = "" if site is None else sources.text_at(lines, _span(site))
    node = None if site is None else progress.parsed(text, site.column)
    header = progress.header_end(node, text) if node is not None else None
    return _Place(frame, site, node, header or 0, line, lines, progress.Names(_locals(frame), frame.f_globals))


def _span(site: Site) -> Span:
    return Span(site.line, site.column, site.end_line, site.end_column)


def _locals(frame: FrameType) -> Mapping[str, Any]:
    """The names of ``frame`` as a dictionary of our own.

    A class body may run in a mapping of its metaclass's making; then only what its ``dict`` part holds is read.
    """
    held: Any = frame.f_locals
    if static.derives(type(held), dict):
        return dict(dict.items(held))
    if static.is_compiled(type(held)):  # Python 3.13 gives a view on the frame
        return dict(held.items())
    return {}


def _function(place: _Place) -> str:
    """``module.qualname`` of the frame's code; at module level the module's name."""
    module = place.names.outer.get("__name__")
    code = place.frame.f_code
    qualname = place.site.qualname if place.site is not None else getattr(code, "co_qualname", code.co_name)
    name = module if type(module) is str else "?"
    return name if qualname in ("", "<module>") else "{}.{}".format(name, qualname)


# --------------------------------------------------------------------------- source


def _statement(place: _Place, limits: Limits) -> str:
    """The exact text of the statement; of a compound one the header, and of its body what fits, marked with ``|``."""
    site = place.site
    if site is None:
        return place.lines[place.line - 1].strip() if 0 < place.line <= len(place.lines) else ""
    text = sources.text_at(place.lines, _span(site))
    if place.has_body:
        parts, header = text.split("\n"), place.header
        shown = parts[:header] + ["|" + part[site.column:] for part in parts[header : header + limits.body_lines]]
        left = len(parts) - header - limits.body_lines
        text = "\n".join(shown + (["| ... {} more lines".format(left)] if left > 0 else []))
    return cut(text, limits.statement)


def _failing(place: _Place, instruction: int, limits: Limits) -> str:
    """The text that the failing instruction was compiled from; never more than the statement evaluates itself."""
    span = sources.span_at(place.frame.f_code, instruction)
    if span is None:
        return ""
    if place.header and span.end_line > place.end:
        span = span._replace(end_line=place.end, end_column=1 << 20)
    return cut(sources.text_at(place.lines, span), limits.statement // 2)


def _marked_source(place: _Place, most: int) -> str:
    """The function or class around the statement (at module level the lines around it), its lines marked ``>>>``.

    Long ones keep their head and a window around the statement.
    """
    if not place.lines:
        return ""
    block = sources.block_of(place.frame.f_code, place.line, place.frame.f_globals)
    first, last = (1, len(place.lines)) if block is None else (block.first, min(block.last, len(place.lines)))
    start, end = place.start, place.end
    shown = _window(first, last, start, end, most, head=0 if block is None else 6)
    width = len(str(shown[-1])) if shown else 1
    text: List[str] = []
    previous = first - 1
    for number in shown:
        if number != previous + 1 and text:
            text.append("    ... {} lines left out ...".format(number - previous - 1))
        mark = ">>>" if start <= number <= end else "   "
        text.append("{} {:>{}} | {}".format(mark, number, width, place.lines[number - 1]).rstrip())
        previous = number
    return "\n".join(text)


def _window(first: int, last: int, start: int, end: int, most: int, head: int) -> List[int]:
    """Which of the lines ``first`` to ``last`` to show: about ``most``, with ``start`` to ``end`` among them."""
    if last - first + 1 <= most:
        return list(range(first, last + 1))
    end = min(end, start + most // 2)
    room = max(most - head - (end - start + 1), 2)
    before, after = room * 2 // 3, room - room * 2 // 3
    chosen = set(range(first, min(first + head, last + 1)))
    chosen.update(range(max(first, start - before), min(last, end + after) + 1))
    return sorted(chosen)


# --------------------------------------------------------------------------- what going on would mean


def _skipped(place: _Place) -> str:
    """In words: what `next` leaves out, what the function then returns, and which names stay unbound."""
    site = place.site
    if site is None:
        return ""
    told = []
    if place.header and site.node not in ("FunctionDef", "AsyncFunctionDef"):
        first = place.end + 1 if place.has_body else place.end
        header = " ".join(line.strip() for line in place.lines[place.start - 1 : place.end])
        lines = "line {}".format(first) if first == site.end_line else "lines {}-{}".format(first, site.end_line)
        told.append("With `next` the body of `{}`, {}, will not run.".format(cut(header, 120), lines))
    if site.is_return:
        told.append("This is a return: the function returns None unless `_eh_rtn` is set.")
    wanted = [] if place.node is None else progress.bound_by(place.node)
    if wanted:
        states = ["{} ({})".format(name, _state(name, place)) for name in wanted[:20]]
        told.append("The statement would have bound {}; with `next` the healing code has to.".format(", ".join(states)))
    return " ".join(told)


def _state(name: str, place: _Place) -> str:
    if name in place.names.local:
        return "keeps its earlier value"
    declared_global = name in place.frame.f_code.co_names and name not in place.frame.f_code.co_varnames
    return "keeps its earlier value" if declared_global and name in place.names.outer else "not bound yet"


# --------------------------------------------------------------------------- frames


def _frames(
    place: _Place,
    sites_for: SitesFor,
    is_repository: Callable[[CodeType], bool],
    redactor: Redactor,
    limits: Limits,
) -> List[FrameView]:
    """The crash frame and the repository frames that called it, nearest first, as many as the limits allow."""
    found = [_view(0, place, redactor, limits)]
    outer = place.frame.f_back
    while outer is not None and len(found) < limits.frames:
        if is_repository(outer.f_code):
            line, column = sources.position(outer)
            site = innermost(sites_for(outer.f_code.co_filename), line, column)
            found.append(_view(len(found), _place(outer, site, line), redactor, limits))
        outer = outer.f_back
    return found


def _view(index: int, place: _Place, redactor: Redactor, limits: Limits) -> FrameView:
    most_lines = limits.outer_source_lines if index else limits.source_lines
    return FrameView(
        index=index,
        file=place.frame.f_code.co_filename,
        function=_function(place),
        line=place.line,
        statement=redactor.source(_statement(place, limits)),
        marked_source=_part(lambda: redactor.source(_marked_source(place, most_lines))),
        locals=_shown_names(place, redactor, limits, index > 0),
        loop=_part(lambda: _loop(place, redactor, limits)),
    )


def _loop(place: _Place, redactor: Redactor, limits: Limits) -> str:
    loops = sources.loops_around(place.frame.f_code, place.start, place.frame.f_globals)
    return progress.loop_words(
        loops, place.lines, place.names, lambda name, value: safe_repr(value, limits.outer_value, name, redactor))


def _shown_names(place: _Place, redactor: Redactor, limits: Limits, is_outer: bool) -> Dict[str, str]:
    """The frame's variables, those of its statement first. Of modules and classes only what is no code."""
    mentioned = progress.names_in(place.node)
    everything = sources.is_function(place.frame.f_code)
    local = place.names.local
    chosen = [name for name in mentioned if name in local]
    for name, value in local.items():
        if type(name) is not str or not name.isidentifier() or name in mentioned:
            continue
        if everything or not (name.startswith("__") or _is_code(value)):
            chosen.append(name)
    most, room = (
        (limits.outer_names, limits.outer_value) if is_outer else (limits.names, limits.value))
    return {name: safe_repr(local[name], room, name, redactor) for name in chosen[:most]}


def _is_code(value: object) -> bool:
    kind = type(value)
    return (kind is types.FunctionType or kind is types.BuiltinFunctionType or static.derives(kind, type)
            or static.derives(kind, types.ModuleType))
