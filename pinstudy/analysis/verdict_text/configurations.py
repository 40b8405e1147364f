"""A table for each configuration: its mappings against the baseline, in one objective."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from pinstudy.analysis.format.numbers import (
    NOTHING,
    fixed,
    signed,
    signed_in_percent,
    signed_percents,
)
from pinstudy.analysis.format.table import Column, Notes, Table
from pinstudy.analysis.objectives import Objective
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.verdict.case_caveats import caveats_of
from pinstudy.analysis.verdict.model import CaseFinding, TableFindings
from pinstudy.analysis.verdict.tables import objective_decimals
from pinstudy.analysis.words.verdict import decision, decision_notes, goes_with, note, p_value
from pinstudy.base.text import one_line
from pinstudy.configs.settings import CURRENT

# Of means without a spread.
_DECIMALS_OF_MEANS = 1


def configuration_tables(table: TableFindings, margin: float) -> list[Table]:
    """Return the tables of a program: for each objective, one for each of its configurations.

    An objective of which no case has a value has none.
    """
    return [
        _configuration(table, cases, objective, margin)
        for objective in table.objectives
        for cases in grouped(table.cases, lambda case: case.summary.key.configuration)
        if any(objective in case.samples for case in cases)
    ]


def _configuration(
    table: TableFindings, cases: Sequence[CaseFinding], objective: Objective, margin: float
) -> Table:
    baseline = next((case for case in cases if case.is_baseline), None)
    has_settings = any(case.summary.key.setting_words for case in cases)
    estimand = _estimand(cases, objective)
    among = sum(objective in case.comparisons for case in cases)
    notes = Notes()
    columns = (
        Column("mapping", right=False),
        *((Column("settings", right=False),) if has_settings else ()),
        Column("n"),
        Column("lost"),
        Column(estimand, objective.unit),
        Column("change", "%"),
        Column("95 % interval", "%"),
        Column("p"),
        Column("outcome", right=False),
        Column("notes", right=False),
    )
    decimals = objective_decimals(objective, [_centre(case, objective) for case in cases])
    cells = tuple(
        (
            one_line(case.full_mapping),
            *((one_line(case.summary.key.setting_words or CURRENT),) if has_settings else ()),
            *_cells(case, baseline, objective, decimals),
            " ".join(
                notes.marker(note(caveat))
                for caveat in caveats_of(case, baseline, objective, margin, among)
            )
            or NOTHING,
        )
        for case in cases
    )
    return Table(
        caption=f"{_caption(table, cases[0])}: {estimand} {objective.noun}",
        columns=columns,
        cells=cells,
        notes=(*_decisions(table, cases, objective), *notes.listed()),
    )


def _estimand(cases: Iterable[CaseFinding], objective: Objective) -> str:
    """Return what is compared: typical values, or means where only means are known."""
    comparisons = [of for case in cases if (of := case.comparisons.get(objective))]
    if comparisons:
        return str(comparisons[0].difference.estimand)
    known = (case.samples.get(objective) for case in cases)
    return "typical" if any(of and not math.isnan(of.typical) for of in known) else "mean"


def _centre(case: CaseFinding, objective: Objective) -> float:
    """Return a case's typical value, or its mean where only that is known."""
    sample = case.samples.get(objective)
    if sample is None:
        return math.nan
    return sample.centre


def _caption(table: TableFindings, case: CaseFinding) -> str:
    key = case.summary.key
    app = " ".join(filter(None, (table.key.app, table.key.region)))
    has_co_runner = any(other.summary.key.co_runner for other in table.cases)
    where = f", beside {key.co_runner}" if key.co_runner else ", no co-runner" * has_co_runner
    return one_line(f"{app}, {table.key.threads_in_words}, {key.governor}{where}")


def _cells(
    case: CaseFinding, baseline: CaseFinding | None, objective: Objective, decimals: int
) -> tuple[str, ...]:
    summary = case.summary
    n = NOTHING if summary.n is None else str(summary.n)
    lost = str(case.lost.count) if case.lost.is_known else NOTHING
    value = fixed(_centre(case, objective), decimals)
    return n, lost, value, *_against_baseline(case, baseline, objective)


def _against_baseline(
    case: CaseFinding, baseline: CaseFinding | None, objective: Objective
) -> tuple[str, str, str, str]:
    """Return change, interval, p and outcome."""
    comparison = case.comparisons.get(objective)
    if comparison is not None:
        change, interval = change_and_interval(comparison.difference)
        return change, interval, p_value(comparison.p_different), comparison.outcome
    if case.is_baseline and case.lost_of(objective).usable and objective in case.samples:
        return NOTHING, NOTHING, NOTHING, "baseline"
    change = signed(100 * (_by_means(case, baseline, objective) - 1), _DECIMALS_OF_MEANS)
    return change, NOTHING, NOTHING, "not compared"


def _by_means(case: CaseFinding, baseline: CaseFinding | None, objective: Objective) -> float:
    """Return the ratio of the means, of which no spread is known; NaN where one is not known."""
    return case.mean_ratio(baseline, objective) if baseline else math.nan


def change_and_interval(difference: Difference) -> tuple[str, str]:
    """Return a change and both ends of its interval, in per cent.

    All have the digits that the interval leaves. Where it is not known, or so wide that its ends
    say next to nothing, the change alone has three digits.
    """
    share = difference.ratio - 1
    interval = difference.known_interval()
    if interval is None or interval.tells_nothing:
        return signed_in_percent(share, 3), NOTHING
    shown, both = signed_percents(share, interval.low - 1, interval.high - 1)
    return shown, " to ".join(both)


def _decisions(
    table: TableFindings, cases: Sequence[CaseFinding], objective: Objective
) -> Iterator[tuple[str, str]]:
    explained: list[CaseFinding | None] = []
    for found in table.decisions:
        if (found.governor, found.co_runner) != (cases[0].governor, cases[0].summary.key.co_runner):
            continue
        if found.objective == objective:
            yield "", f"decision: {decision(found)}"
            for text in decision_notes(found):
                yield "", text
            # What goes with a case stands below the first table that it explains.
            if found.explained not in explained and (text := goes_with(found)):
                yield "", text
        explained.append(found.explained)
