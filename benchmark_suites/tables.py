"""The tables of a report, as rows of text. Imports metrics, selection and results."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmark_suites import metrics, safety, selection
from benchmark_suites.intervals import Share
from benchmark_suites.results import FAILURES, UNSAFE, Result

Settings = Mapping[str, Sequence[Result]]
"""Results of one suite by the name of their setting."""


@dataclass(frozen=True)
class Table:
    """A table with its ``title`` and a ``note`` that says how to read it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def markdown(self) -> str:
        """The table for Markdown, without its title."""
        lines = [self.columns, ["---"] + ["---:"] * (len(self.columns) - 1), *self.rows]
        text = "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
        return text + (f"\n\n{self.note}" if self.note else "")

    def text(self) -> str:
        """The table for a terminal, without title and note."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        return "\n".join("  ".join(cell.rjust(width) if place else cell.ljust(width)
                                   for place, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip()
                         for line in lines)

    def csv(self) -> str:
        """The table as CSV, with its columns as the first line."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.columns, *self.rows])
        return out.getvalue()


def tables(settings: Settings) -> dict[str, Table]:
    """Every table that the results can fill, by file name; the numbers are those of the paper's tables."""
    found = {"table2-outcomes": outcomes(settings), "table5-guard": guard(settings), "table6-usage": usage(settings),
             "table7-error-types": shares_by(settings, "error type", lambda result: result.error_type),
             "table8-packages": shares_by(settings, "package", lambda result: result.package),
             "table9-decisions": decisions(settings), "safety": safety_cases(settings),
             "safety-patterns": safety_patterns(settings),
             "actions": actions(settings), "crash-counts": crashes(settings),
             "skip-only": shares_by(settings, "mere skipping", lambda result: result.skip_only),
             "endings": endings(settings), "failures": failures(settings)}
    return {name: table for name, table in found.items() if table.rows}


def outcomes(settings: Settings) -> Table:
    """Table 2: PR, CR and TS of every setting."""
    rows = []
    every = {result.instance for results in settings.values() for result in results}
    for results in settings.values():
        rates = metrics.rates(results)
        missing = len(every) - len(results)
        rows.append([selection.label(results), f"{len(results)} ({missing} missing)" if missing else str(len(results)),
                     str(rates.pr),
                     f"{rates.pr.percent:.1f} to {rates.pr_high:.1f}", str(rates.cr), _percent(rates.ts),
                     _percent(rates.ts_equal), f"{rates.scored} ({rates.whole} whole)",
                     f"{rates.pr_clean.percent:.1f} / {rates.cr_clean.percent:.1f} (n={rates.cr_clean.total})"])
    return Table("PR, CR and TS", ["setting", "instances", "PR", "PR bounds, %", "CR", "TS, %", "equal points, %",
                                   "traces", "PR / CR without infrastructure failures, %"], rows,
                 "In brackets: Wilson score intervals at 95 %. Infrastructure failures count as not healed, except in "
                 "the last column. Missing are the instances that only other settings have results of; they count "
                 "nowhere. TS is the mean count overlap with the fixed version over the instances with traces.")


def guard(settings: Settings) -> Table:
    """Table 5: what the checks let through and stopped, and the rates of what they let through."""
    rows = []
    for results in settings.values():
        if not results[0].guard:
            continue
        allowed = [result for result in results if result.outcome != UNSAFE]
        blocked = [metrics.blocked_by(result) for result in results if result.outcome == UNSAFE]
        rates = metrics.rates(allowed)
        rows.append([selection.label(results), str(len(allowed)), str(len(blocked)),
                     *(str(blocked.count(stage)) for stage in metrics.STAGES.values()), f"{rates.pr.percent:.1f}",
                     f"{rates.cr.percent:.1f}", _percent(rates.ts)])
    return Table("Healing with a guard", ["setting", "allowed", "blocked", *(f"by {stage}" for stage in
                                                                               metrics.STAGES.values()),
                                          "PR, %", "CR, %", "TS, %"], rows,
                 "Runs with the guard in place, not a filter over runs without one. PR, CR and TS are over the allowed "
                 "executions; `blocked` are those that ended unsafe.")


def usage(settings: Settings) -> Table:
    """Table 6: rates beside what they cost."""
    rows = []
    for results in settings.values():
        rates = metrics.rates(results)
        means = [metrics.mean_usage(results, key) for key in ("calls", "input_tokens", "output_tokens", "cost_usd")]
        seconds = [result.seconds for result in results if result.seconds]
        rows.append([selection.label(results), f"{rates.pr.percent:.1f}", f"{rates.cr.percent:.1f}",
                     _percent(rates.ts), *(_mean(*mean) for mean in means),
                     _mean(sum(seconds) / len(seconds) if seconds else None, len(seconds))])
    return Table("Usage", ["setting", "PR, %", "CR, %", "TS, %", "calls", "input tokens", "output tokens", "cost, USD",
                           "seconds"], rows, "Means per instance, each over the (n) complete records.")


def shares_by(settings: Settings, name: str, key: Callable[[Result], str]) -> Table:
    """Tables 7 and 8: CR by what ``key`` gives, missing runs in the denominators."""
    every = metrics.grouped((result for results in settings.values() for result in results), key)
    grouped = [metrics.grouped(results, key) for results in settings.values()]
    if set(every) <= {"(unknown)"}:
        return Table("", [], [])
    rows = []
    for group in every:
        groups = [each.get(group, []) for each in grouped]
        most = max(map(len, groups))
        rows.append([group, str(most), *(_right(each, most) for each in groups)])
    most = max(map(len, settings.values()))
    rows.append(["overall", str(most), *(_right(each, most) for each in settings.values())])
    return Table(f"CR by {name}, %", [name, "n", *map(selection.label, settings.values())], rows,
                 "A setting with fewer results than n says how many it has.")


def _right(results: Sequence[Result], most: int) -> str:
    if not results:
        return ""
    percent = Share(sum(result.right for result in results), len(results)).percent
    return f"{percent:.1f}" + (f" ({len(results)})" if len(results) < most else "")


def decisions(settings: Settings) -> Table:
    """Table 9: decisions of each check on cases whose label is known; unsafe is the positive class."""
    rows = []
    for results in settings.values():
        cases = [result for result in results if result.case.get("label") in ("safe", "unsafe")]
        stages = dict.fromkeys(stage for result in cases for stage in result.case.get("stages", {}))
        for stage in stages:
            known = [(result.case["label"] == "unsafe", bool(result.case["stages"][stage])) for result in cases
                     if stage in result.case.get("stages", {})]
            rows.append([selection.label(results), stage, *_confusion(known)])
    return Table("Guard decisions", ["setting", "check", "TP", "FP", "TN", "FN", "accuracy, %", "precision, %",
                                     "recall, %", "F1, %", "FPR, %"], rows)


def safety_cases(settings: Settings) -> Table:
    """Recall and false positives of every setting, overall and on the patterns that were held out."""
    return Table("Safety cases", safety.COLUMNS, safety.rows(settings),
                 "In brackets 95 % intervals of a bootstrap that draws whole heal points. `exact`: stopped on a path "
                 "of labels without any approximation.")


def safety_patterns(settings: Settings) -> Table:
    """What was stopped of each pattern."""
    return Table("Safety cases by pattern", ["pattern", *map(selection.label, settings.values())],
                 safety.pattern_rows(settings), "Stopped of the unsafe cases, then of the safe ones.")


def _confusion(known: Sequence[tuple[bool, bool]]) -> list[str]:
    tp, fp = known.count((True, True)), known.count((False, True))
    tn, fn = known.count((False, False)), known.count((True, False))
    ratios = [(tp + tn, len(known)), (tp, tp + fp), (tp, tp + fn), (2 * tp, 2 * tp + fp + fn), (fp, fp + tn)]
    return [*map(str, (tp, fp, tn, fn)), *(f"{100 * a / b:.2f}" if b else "" for a, b in ratios)]


def actions(settings: Settings) -> Table:
    """The figure of action shares in numbers."""
    rows = []
    for results in settings.values():
        found = metrics.actions(results)
        total = found.total()
        if total:
            rows.append([selection.label(results), str(total),
                         *(f"{100 * found[action] / total:.1f}" for action in metrics.ACTIONS)])
    return Table("Actions, %", ["setting", "actions", *metrics.ACTIONS], rows,
                 "Pooled over all instances. Reraise includes invalid answers and spent budgets.")


def crashes(settings: Settings) -> Table:
    """The figure of crash counts in numbers."""
    rows = []
    for results in settings.values():
        counts = metrics.crash_counts(results)
        found = metrics.spread(counts)
        if found is not None:
            rows.append([selection.label(results), str(found.count), f"{found.low:g}", f"{found.median:g}",
                         f"{found.high:g}", f"{max(counts):g}"])
    return Table("Crashes per execution", ["setting", "executions", "first quartile", "median", "third quartile",
                                           "most"], rows)


def endings(settings: Settings) -> Table:
    """How many instances ended in which way."""
    names = metrics.grouped((result for results in settings.values() for result in results),
                            lambda result: result.outcome)
    rows = [[selection.label(results), *(str(sum(result.outcome == name for result in results)) for name in names)]
            for results in settings.values()]
    return Table("Endings", ["setting", *names], rows)


def failures(settings: Settings) -> Table:
    """Every failure that kept an instance from being measured as it should be."""
    rows = [[selection.label(results), result.instance, result.failure, result.problem.splitlines()[0][:160]]
            for results in settings.values() for result in results if result.failure]
    note = "; ".join(f"{name}: {meaning}" for name, meaning in FAILURES.items())
    return Table("Failures", ["setting", "instance", "class", "what happened"], rows, note[0].upper() + note[1:] + ".")


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _mean(value: float | None, count: int) -> str:
    return "" if value is None else f"{value:.4g} ({count})"
