"""What stands beside the report's tables: the extent, the legend, a node's picture."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from analysis.format.numbers import in_percent
from analysis.format.table import joined
from analysis.overview.grid import OUTCOMES, Overview
from analysis.overview.text import signs
from analysis.results.node_files import NodeSheet
from analysis.results.sources import Results
from analysis.verdict.model import Findings
from base.text import plural


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


def legend(overviews: Sequence[Overview], findings: Findings) -> str:
    """Return what the colours of the grid mean, of those that are there."""
    cells = [
        cell
        for overview in overviews
        for objective in overview.shown
        for cell in overview.cells_of(objective)
    ]
    words = {cell.outcome for cell in cells}
    parts = [
        text
        for word, text in (
            ("better", "blue: better"),
            ("worse", "orange: worse"),
            ("equivalent", f"= grey: alike, surely within {in_percent(findings.margin, 6)} %"),
            ("undecided", "? hatched: undecided"),
        )
        if word in words
    ]
    parts += [f"{sign}: {meaning}" for sign, meaning in signs(cells).items()]
    changes = "Changes in % of the baseline. " if words.intersection(OUTCOMES) else ""
    return f"{changes}{'; '.join(parts)}." if parts else ""


def _dates(first: float, last: float) -> str:
    try:
        start, end = (datetime.fromtimestamp(at, timezone.utc) for at in (first, last))
    except (OverflowError, ValueError, OSError):
        return "at times that cannot be"
    return f"from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"


def node_alt(node: NodeSheet) -> str:
    """Return what lstopo's picture of a node shows, in words."""
    shown = joined(f"{what}: {text}" for what, text in node.summary)
    return f"The packages, caches, cores and CPUs of {node.name} as boxes in boxes. {shown}"
