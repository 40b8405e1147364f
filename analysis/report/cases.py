"""How the page shows cases: as cells of the grid, and in one table with means and ratios."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from analysis.format.numbers import NOTHING
from analysis.format.table import Column, Table
from analysis.objectives import ENERGY, Objective
from analysis.overview.grid import Cell
from analysis.verdict.model import CaseFinding, TableFindings
from analysis.verdict.tables import outcome_text, ratio_interval, ratio_text, without_comparison

# A cell without a number; a note's marker may follow.
_ABSENT = re.compile(r"(n/a|-)( \(\w+\))?$")


def cell_class(cell: Cell) -> str:
    """Return the classes that colour a cell of the grid: `better better-2`."""
    name = cell.word.replace(" ", "-")
    if cell.word not in ("better", "worse"):
        return name
    return f"{name} {name}-{1 + cell.strength}"


def case_table(of: TableFindings, means: Table) -> Table:
    """Return a table of means with what is known of each case against its baseline behind it.

    `means` is the table of the same cases in the same order. A column in which nothing was measured
    is left out with its notes: the page says once why that is.
    """
    shown = [
        at
        for at in range(len(means.columns))
        if any(not _ABSENT.match(row[at]) for row in means.cells)
    ]
    objectives = of.with_comparisons
    columns = [
        column
        for objective in objectives
        for column in (Column(f"{objective.short} ratio (95 %)"), Column("word", right=False))
    ]
    has_front = any(case.on_front for case in of.cases) and ENERGY in objectives
    if has_front:
        columns.append(Column("Pareto front", right=False))
    cells = tuple(
        (
            *(mine[at] for at in shown),
            *(cell for objective in objectives for cell in _compared(case, objective)),
            *((("yes" if case.on_front else NOTHING),) if has_front else ()),
        )
        for mine, case in zip(means.cells, of.cases, strict=True)
    )
    kept = tuple(means.columns[at] for at in shown)
    ends = {text.rpartition(" ")[2] for text in (*(c.name for c in kept), *chain(*cells))}
    notes = tuple(note for note in means.notes if not note[0] or f"({note[0]})" in ends)
    return Table(of.title, (*kept, *columns), cells, notes)


def _compared(case: CaseFinding, objective: Objective) -> tuple[str, str]:
    """Return a ratio with its interval, and its word."""
    comparison = case.comparisons.get(objective)
    if comparison is None:
        ratio, _, word = without_comparison(case, objective)
        return ratio, word
    difference = comparison.difference
    ratio = f"{ratio_text(difference.ratio)} ({ratio_interval(difference)})"
    return ratio, outcome_text(comparison)


def what_is_in(of: TableFindings) -> str:
    """Return what the numbers of `case_table` are: ratios are of typical values, or of means."""
    if not of.estimands:
        return "means"
    typical = " of typical values" if "typical" in of.estimands else ""
    return f"means, and ratios{typical} to the baseline"


def beyond_lines(table: TableFindings) -> Iterator[str]:
    """Yield what no table shows of the verdicts, each sentence once, under its governor."""
    governors = {verdict.governor for verdict in table.verdicts}
    seen: set[tuple[str, str]] = set()
    for verdict in table.verdicts:
        for sentence in verdict.beyond:
            if (verdict.setting, sentence) not in seen:
                seen.add((verdict.setting, sentence))
                yield f"{verdict.setting}: {sentence}" if len(governors) > 1 else sentence
