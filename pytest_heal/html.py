"""One self-contained page for people (`--heal-html`). Imports nothing of healguard_core."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from pytest_heal.categories import CATEGORIES
from pytest_heal.jsonreport import write_text
from pytest_heal.wording import crash_line, price

Record = dict[str, Any]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; } td, th { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: left; }
pre { background: #f6f6f6; padding: .6em; overflow-x: auto; }
details { border: 1px solid #ddd; border-radius: 4px; margin: .6em 0; padding: .4em .8em; }
summary { cursor: pointer; } .word { font-weight: bold; } .alert { color: #b00020; font-weight: bold; }
.cyan { color: #00707f; } .yellow { color: #8a6100; } .red { color: #b00020; }
"""


def write_page(path: Path, report: Record) -> None:
    """Write the page for one report (the document of ``--heal-report``)."""
    write_text(path, page(report))


def page(report: Record) -> str:
    """The page as HTML; it loads nothing from anywhere."""
    run = report["run"]
    crashed = [test for test in report["tests"] if test["crashes"]]
    unguarded = "" if run["guarded"] else '<p class="alert">Unguarded: healing code ran without the HealCore gate.</p>'
    tests = "\n".join(_test(test, Path(run["root"])) for test in crashed) or "<p>No test crashed.</p>"
    notices = "".join(f"<li>{escape(n['where'])} {escape(n['message'])}</li>" for n in run["notices"])
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Healing report</title><style>{_STYLE}</style></head><body>
<h1>Healing report</h1>
{unguarded}
{_facts(report)}
<h2>Tests that crashed</h2>
{tests}
{f"<h2>Notes</h2><ul>{notices}</ul>" if notices else ""}
</body></html>
"""


def _facts(report: Record) -> str:
    run, totals = report["run"], report["totals"]
    rows = [
        ("agent", run["agent"]),
        *([("model", run["model"])] if run["model"] else []),
        ("may count as passing", run["accept"]),
        ("exit status", run["exit_status"]),
        ("Python, pytest", f"{run['python']}, {run['pytest']}"),
        *((outcome, count) for outcome, count in totals["outcomes"].items()),
        ("crashes", totals["crashes"]),
        ("heals applied", totals["applied"]),
        ("calls", totals["usage"]["calls"]),
        ("cost", price(totals["usage"]["cost_usd"])),
    ]
    cells = "".join(f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>"


def _test(test: Record, root: Path) -> str:
    category = CATEGORIES.get(test["outcome"])
    color = category.color if category else ""
    crashes = "".join(_crash(crash, root) for crash in test["crashes"])
    return (f'<details open><summary><span class="word {color}">{escape(test["outcome"].upper())}</span> '
            f"{escape(test['nodeid'])}</summary>{crashes}</details>")


def _crash(crash: Record, root: Path) -> str:
    heal = crash.get("heal")
    code = f"<pre>{escape(heal['code'])}</pre>" if heal else ""
    actions = "".join(
        f"<tr><td>{escape(action['kind'])}</td><td><pre>{escape(action['code'])}</pre></td>"
        f"<td>{escape(action['error'])}</td><td>{action['ms']:.1f} ms</td></tr>"
        for action in crash["actions"]
    )
    table = f"<details><summary>{len(crash['actions'])} actions</summary><table>{actions}</table></details>"
    return f"<p>{escape(crash_line(crash, root))}</p>{code}{table if actions else ''}"
