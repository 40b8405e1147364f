"""The report's section of a race's advice: ready lines, the trade-off, what was ruled out."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.advice.lines import Line
from analysis.advice.model import Advice
from analysis.advice.tell import extent, outs_in_short, p_meaning, trade_off
from analysis.advice.text import LINES_ARE, outs_table, points_table
from analysis.format.table import Table
from analysis.report.html_table import HtmlTable, html_table


@dataclass(frozen=True)
class AdviceSection:
    """What the page has of an advice beside its headline, in the order of the page.

    `lines_are` says what the lines are; tables are None where there is nothing to put in.
    """

    extent: tuple[str, ...]
    lines: tuple[Line, ...]
    lines_are: str
    warnings: tuple[str, ...]
    trade_off: tuple[str, ...]
    points: HtmlTable | None
    outs: tuple[str, ...]
    outs_table: HtmlTable | None


def advice_section(advice: Advice | None) -> AdviceSection | None:
    """Return the section of an advice; None without one."""
    if advice is None:
        return None
    tested = advice.standing.p is not None
    return AdviceSection(
        extent=(extent(advice), *([p_meaning()] if tested else [])),
        lines=advice.lines,
        lines_are=LINES_ARE,
        warnings=advice.warnings,
        trade_off=tuple(trade_off(advice)),
        points=_table("advice-points", points_table(advice)),
        outs=tuple(outs_in_short(advice)),
        outs_table=_table("advice-outs", outs_table(advice)),
    )


def _table(name: str, table: Table | None) -> HtmlTable | None:
    return None if table is None else html_table(name, table.caption, table)
