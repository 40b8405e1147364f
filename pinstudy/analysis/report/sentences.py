"""What stands beside the report's tables: the extent, the legend, a node's picture."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from pinstudy.analysis.format.numbers import in_percent, signed_percent
from pinstudy.analysis.format.table import joined
from pinstudy.analysis.overview.grid import Overview
from pinstudy.analysis.overview.text import signs
from pinstudy.analysis.results.node_files import NodeSheet
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import Decision, Findings, TableFindings
from pinstudy.base.text import one_line, plural


def extent(results: Results, findings: Findings) -> str:
    """Return how much was measured; regions are parts of the same runs."""
    whole = [table for table in findings.tables if table.key.region is None]
    summaries = [case.summary for table in whole for case in table.cases]
    counts = [summary.n for summary in summaries if not summary.was_skipped]
    known = [number for number in counts if number is not None]
    tables, cases = plural(len(whole), "table"), plural(len(counts), "case")
    text = f"{tables}, {cases} and {plural(sum(known), 'run')} that are averaged"
    if regions := len(findings.tables) - len(whole):
        text += f" (and {plural(regions, 'table')} of their regions)"
    if unknown := len(counts) - len(known):
        text += f", beside the runs of {plural(unknown, 'case')} whose number is not known"
    if not_run := len(summaries) - len(counts):
        text += f" ({plural(not_run, 'more case')} {'was' if not_run == 1 else 'were'} not run)"
    if results.runs is None:
        return f"{text}; only means are known, not the runs"
    started = results.runs.frame["started_s"].dropna()
    return f"{text}, {_dates(started.min(), started.max())}" if len(started) else text


class LegendKey(NamedTuple):
    """An entry of the grid's legend: the classes of the cells, their sign, and what it means."""

    classes: str
    sign: str
    meaning: str


def legend(overviews: Sequence[Overview], findings: Findings) -> list[LegendKey]:
    """Return what the colours and signs of the grid mean, of those that are there."""
    cells = [
        cell
        for overview in overviews
        for objective in overview.shown
        for cell in overview.cells_of(objective)
    ]
    words = {cell.outcome for cell in cells}
    margin = in_percent(findings.margin, 6)
    keys = (
        LegendKey("better better-2", "", "better"),
        LegendKey("worse worse-2", "", "worse"),
        LegendKey("equivalent", "=", f"alike: surely within {margin} %"),
        LegendKey("undecided", "?", "undecided"),
    )
    shown = [key for key in keys if key.classes.split()[0] in words]
    return shown + [LegendKey("", sign, meaning) for sign, meaning in signs(cells).items()]


def _dates(first: float, last: float) -> str:
    try:
        start, end = (datetime.fromtimestamp(moment, timezone.utc) for moment in (first, last))
    except (OverflowError, ValueError, OSError):
        return "at times that cannot be"
    return f"from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"


def node_alt(node: NodeSheet) -> str:
    """Return what lstopo's picture of a node shows, in words."""
    shown = joined(f"{fact}: {text}" for fact, text in node.summary)
    return f"The packages, caches, cores and CPUs of {node.name} as boxes in boxes. {shown}"


def outcomes(table: TableFindings) -> str:
    """Return what was decided on a program in the objective to look at first, by configuration."""
    first = [found for found in table.decisions if found.objective in table.compared_by[:1]]
    choices = [_choice(decision) for decision in first]
    if len(set(choices)) == 1:
        return choices[0]
    several = len({decision.governor for decision in first}) > 1
    named = [
        f"{decision.governor}: {choice}" if several else choice
        for decision, choice in zip(first, choices, strict=True)
    ]
    return "; ".join(dict.fromkeys(named))


def _choice(decision: Decision) -> str:
    if decision.best is None:
        return decision.choice
    mapping = decision.best.full_mapping
    choice = f"{decision.choice} {mapping}" if decision.choice != "leave" else "leave unpinned"
    if decision.gain is None:
        return one_line(choice)
    return one_line(f"{choice}, {signed_percent(decision.gain.ratio - 1)}")
