"""Writes a report: Markdown, one CSV file per table, and one HTML page. Imports tables, figures, page and selection."""

from __future__ import annotations

from pathlib import Path

from benchmark_suites import selection
from benchmark_suites.figures import figures
from benchmark_suites.page import page
from benchmark_suites.tables import Settings, Table, tables


def write_report(results: Path, out: Path, suite: str | None = None) -> list[Path]:
    """Render the results in the folder ``results`` into ``out``; the files that were written.

    Raises ``ValueError`` when there are no results.
    """
    written = []
    for name, settings in selection.by_suite(results, suite).items():
        found = tables(settings)
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        texts = {f"{file}.csv": table.csv() for file, table in found.items()}
        texts["report.md"] = markdown(name, settings, found)
        texts["report.html"] = page(name, settings, found, figures(settings))
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
            written.append(folder / file)
    return written


def markdown(suite: str, settings: Settings, found: dict[str, Table]) -> str:
    """The whole report as Markdown."""
    parts = [f"# Suite {suite}", selection.runs_of(settings)]
    for table in found.values():
        parts += [f"## {table.title}", table.markdown()]
    return "\n\n".join(part for part in parts if part) + "\n"
