"""The healable statements of a file: what a number in a handler stands for. Imports nothing of ours."""

from typing import NamedTuple, Optional, Sequence, Tuple


class Site(NamedTuple):
    """One statement (or header of a compound statement) that has a handler of ours.

    ``line``, ``column``, ``end_line`` and ``end_column`` are those of the whole statement, a compound one with its
    body; columns count UTF-8 bytes, as in `ast`. The other fields:

    - ``number``: what the handler passes to `hooks.heal`; counts from 0 in each file.
    - ``kind``: ``simple``, or ``header`` for what a compound statement evaluates itself (test, iterable, ...).
    - ``node``: class name of the statement's `ast` node; ``qualname``: as in ``function.__qualname__``, "" at module
      level.
    - ``leaves``: which of ``return``, ``continue`` and ``break`` can be reached from here.
    - ``can_retry`` and ``retry_reason``: whether a jump to ``retry_line`` starts just this statement again; why not.
    - ``skips``: first and last line of the body that going on with the next statement would leave out.
    - ``guarded``: the only statement of a ``try`` whose handlers are asked before this site is.
    - ``is_return`` and ``has_yield``: it is a ``return``; it contains a ``yield`` or ``await`` of its own scope.
    """

    number: int
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    node: str
    qualname: str
    leaves: Tuple[str, ...]
    can_retry: bool
    retry_reason: str
    retry_line: int
    skips: Optional[Tuple[int, int]]
    guarded: bool
    is_return: bool
    has_yield: bool


def innermost(sites: Sequence[Site], line: int, column: Optional[int] = None) -> Optional[Site]:
    """The smallest site around a position; ``column`` (UTF-8 bytes) tells statements on one line apart.

    Decorators count as part of what they decorate. None where no site covers the position.
    """
    found: Optional[Site] = None
    for site in sites:
        if not _covers(site, line, column):
            continue
        if found is None or _start(site) > _start(found) or (
            _start(site) == _start(found) and _end(site) < _end(found)
        ):
            found = site
    return found


def _covers(site: Site, line: int, column: Optional[int]) -> bool:
    if column is None:
        return _start(site)[0] <= line <= site.end_line
    return _start(site) <= (line, column) < _end(site)


def _start(site: Site) -> Tuple[int, int]:
    if site.node in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
        return min((site.retry_line, site.column), (site.line, site.column))
    return site.line, site.column


def _end(site: Site) -> Tuple[int, int]:
    return site.end_line, site.end_column
