"""The configurations of results: the lines of an overview, with an outcome in each cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.analysis.overview.grid import (
    Cell,
    CellOutcome,
    ConfigurationLine,
    Overview,
    by_program,
    columns_of,
    program_names,
    unique_names,
)
from pinstudy.analysis.records.keys import TableKey
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.verdict.model import CaseFinding, Findings, TableFindings
from pinstudy.base.text import one_line

# The place of a table, and those of its cases that stand on one line.
_Line = tuple[int, Sequence[CaseFinding]]


def overviews_of(findings: Findings) -> list[Overview]:
    """Return the overview of all tables of results, and one of those whose programs ran in guests.

    The columns of guests are pairs of mappings, which other tables do not have.
    """
    lines: list[_Line] = [
        (at, cases)
        for at, table in enumerate(findings.tables)
        for cases in grouped(table.cases, _shared)
    ]
    name_of = program_names([table.key for table in findings.tables])
    return [
        _overview(those, findings.tables, name_of)
        for those in grouped(lines, lambda line: line[1][0].summary.key.of_vcpus is not None)
    ]


def _shared(case: CaseFinding) -> tuple[object, ...]:
    of = case.summary
    return of.key.mpi, case.governor, of.key.setting_words, of.key.co_runner


def _overview(
    lines: Sequence[_Line], tables: Sequence[TableFindings], name_of: Callable[[TableKey], str]
) -> Overview:
    governors = {cases[0].governor for _, cases in lines}
    configurations = by_program(
        ConfigurationLine(
            name_of(tables[at].key),
            tables[at].key.threads_label,
            _under(cases[0], has_governor=len(governors) > 1),
            at,
            cases[0].governor,
            cases[0].summary.key.co_runner,
            _cells(cases, tables[at]),
            tables[at].compared_by,
            tables[at].key.all_threads,
        )
        for at, cases in lines
    )
    return Overview(
        columns_of(configurations), configurations, governors.pop() if len(governors) == 1 else ""
    )


def _under(case: CaseFinding, *, has_governor: bool) -> str:
    """Return what a configuration is under, as far as others are under something else."""
    of = case.summary
    parts = (
        case.governor if has_governor else "",
        of.key.setting_words,
        f"beside {of.key.co_runner}" if of.key.co_runner else "",
    )
    return one_line(", ".join(filter(None, parts)))


def _cells(cases: Sequence[CaseFinding], table: TableFindings) -> dict[Objective, dict[str, Cell]]:
    cells: dict[Objective, dict[str, Cell]] = {}
    recommended = {
        (decision.best.case_id, decision.objective) for decision in table.decisions if decision.best
    }
    columns = unique_names(case.full_mapping for case in cases)
    for objective in table.objectives:
        if objective != TIME and not any(objective in case.samples for case in cases):
            continue
        compared = any(objective in case.comparisons for case in cases)
        alone: CellOutcome = "not compared" if compared else "alone"
        cells[objective] = {
            column: _cell(case, objective, alone, (case.case_id, objective) in recommended)
            for column, case in zip(columns, cases, strict=True)
        }
    return cells


def _cell(case: CaseFinding, objective: Objective, alone: CellOutcome, is_best: bool) -> Cell:
    """Return the cell of a case; `alone` is its outcome where it is compared with no baseline."""
    sample, comparison = case.samples.get(objective), case.comparisons.get(objective)
    outcome: CellOutcome
    if sample is None:
        outcome = "absent" if not case.summary.was_skipped else "left out"
        return Cell(outcome, case.number)
    if comparison is None:
        outcome = "baseline" if case.is_baseline else alone
        return Cell(outcome, case.number, sample.centre)
    difference = comparison.difference
    interval = difference.known_interval()
    return Cell(
        comparison.outcome,
        case.number,
        sample.centre,
        difference.ratio,
        interval.low if interval else math.nan,
        interval.high if interval else math.nan,
        is_best,
    )
