"""The report as one HTML page that needs nothing else. Imports tables, figures and selection."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from benchmark_suites import selection
from benchmark_suites.figures import MISSING
from benchmark_suites.tables import Settings, Table

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #ccc; padding: .25em .7em; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
p.note { color: #555; max-width: 60em; }
svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) {
  body { background: #1b1b1d; color: #ddd; } th, td { border-color: #444; } p.note { color: #aaa; }
  svg { background: #fff; }
}
"""


def page(suite: str, settings: Settings, tables: Mapping[str, Table], figures: Mapping[str, str] | None) -> str:
    """The page. ``figures`` is None when they could not be drawn."""
    parts = [f"<h1>Suite {escape(suite)}</h1>", f"<p>{escape(selection.runs_of(settings))}</p>"]
    if figures is None:
        parts.append(f"<p class=note>{escape(MISSING)}</p>")
    parts += [f"<h2>{escape(title)}</h2>{svg}" for title, svg in (figures or {}).items()]
    parts += [f"<h2>{escape(table.title)}</h2>{_table(table)}" for table in tables.values()]
    return (f"<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{escape(suite)}</title>"
            f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style></head>\n"
            f"<body>{chr(10).join(parts)}</body></html>\n")


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>\n" for row in table.rows)
    note = f"<p class=note>{escape(table.note)}</p>" if table.note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table>{note}"
