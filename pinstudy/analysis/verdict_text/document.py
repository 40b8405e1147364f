"""The verdict for a terminal and as Markdown: decisions, tables with notes, how to read them."""

from __future__ import annotations

from pinstudy.analysis.format.styles import render
from pinstudy.analysis.format.table import Table, markdown_items, markdown_text, wrapped
from pinstudy.analysis.statistics.decision import MIN_TO_FORECAST
from pinstudy.analysis.verdict.division import waiting
from pinstudy.analysis.verdict.model import Findings, TableFindings
from pinstudy.analysis.verdict_text.configurations import configuration_tables
from pinstudy.analysis.verdict_text.costs import division_table, price_table, slowdown_table
from pinstudy.analysis.verdict_text.legend import reading_notes
from pinstudy.analysis.verdict_text.levers import Beyond, beyond_lines, beyond_tables
from pinstudy.analysis.words.verdict import QUESTION, decision_lines, program_notes

_TO_DECIDE = "To decide what is undecided, continue the study:"
_TO_FORECAST = (
    f"Undecided: from {MIN_TO_FORECAST} repetitions on pinstudy says how many more would decide; "
    "continue the study:"
)


def as_text(findings: Findings, width: int = 100) -> str:
    """Return the findings for a terminal of that many columns; tables may be wider.

    The overview stands above it (analysis.overview.terminal).
    """
    parts = ["In detail", *wrapped(decision_lines(findings), width), ""]
    for table in findings.tables:
        parts += [table.title, "", *_rendered(table, findings.margin, "text")]
        parts += _paragraph(wrapped(list(program_notes(table)), width))
    parts += ["How to read this", *wrapped(reading_notes(findings), width)]
    return "\n".join([*parts, *_next_step(findings)])


def _paragraph(lines: list[str]) -> list[str]:
    """Return lines with a blank one behind; nothing of none, as of a co-runner that ran alone."""
    return [*lines, ""] if lines else []


def _next_step(findings: Findings) -> list[str]:
    # On a line of its own, which no terminal's width cuts in two.
    return [why_continue(findings), f"  {findings.next_command}"] if findings.next_command else []


def why_continue(findings: Findings) -> str:
    """Return what the next command is for."""
    return _TO_DECIDE if any(found.more for found in findings.compared) else _TO_FORECAST


def as_markdown(findings: Findings, beyond: Beyond | None = None) -> str:
    """Return the findings as a Markdown document, with what holds beyond one configuration."""
    parts = [f"# {QUESTION}", "", *markdown_items(decision_lines(findings)), ""]
    if beyond and (lines := beyond_lines(beyond)):
        parts += ["## Levers", "", *markdown_items(lines), ""]
        if tables := beyond_tables(beyond):
            parts += [render(tables, "markdown"), ""]
    for table in findings.tables:
        parts += [f"## {markdown_text(table.title)}", ""]
        parts += _rendered(table, findings.margin, "markdown")
        parts += _paragraph(markdown_items(list(program_notes(table))))
    parts += ["## How to read this", "", *markdown_items(reading_notes(findings)), ""]
    if findings.next_command:
        parts += [why_continue(findings), "", "```sh", findings.next_command, "```", ""]
    return "\n".join(parts)


def _rendered(table: TableFindings, margin: float, style: str) -> list[str]:
    tables = tables_of(table, margin)
    return [render(tables, style)] if tables else []


def tables_of(table: TableFindings, margin: float) -> list[Table]:
    """Return the tables of a program: of its configurations, and what its cases cost beside time.

    How the work was divided is one where threads waited for others.
    """
    more = [slowdown_table(table), price_table(table)]
    if any(waiting(case) for case in table.cases):
        more.append(division_table(table))
    return [*configuration_tables(table, margin), *filter(None, more)]
