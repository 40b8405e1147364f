"""The tables of levers and of best cases, and how to start these."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from pinstudy.analysis.advice.model import names_of
from pinstudy.analysis.findings.answers import Answers, BestCase
from pinstudy.analysis.findings.levers import Lever, LeverPair, range_of
from pinstudy.analysis.format.numbers import NOTHING, percent_range
from pinstudy.analysis.format.table import Column, Table
from pinstudy.analysis.objectives import OBJECTIVES, Objective
from pinstudy.analysis.results.case import Case, grouped
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.analysis.words.overview import (
    BEST_LABELS,
    LEVERS,
    ONE_FOR_ALL,
    change_of_lever,
    lever_texts,
    name_of_factor,
    names_in_programs,
    one_for_all_texts,
    percents,
    reference_of,
    signed_change,
    value_of,
)
from pinstudy.base.text import one_line, plural


class Beyond(NamedTuple):
    """The answers beyond one configuration, with the cases that they are about.

    A gain within the margin, a share, is none.
    """

    answers: Answers
    cases: Sequence[Case]
    margin: float


def beyond_lines(beyond: Beyond) -> list[str]:
    """Return what each lever changes, and how far one mapping for all is behind."""
    levers = (f"{LEVERS}: {text}" for text in lever_texts(beyond.answers.levers))
    for_all = one_for_all_texts(beyond.answers.one_for_all)
    return [*levers, *(f"{ONE_FOR_ALL}: {text}" for text in for_all)]


def beyond_tables(beyond: Beyond) -> list[Table]:
    """Return the tables of levers and of best cases."""
    return [*levers_tables(beyond.answers.levers), *best_tables(*beyond)]


def levers_tables(levers: Sequence[Lever]) -> list[Table]:
    """Return a table of each lever: its pairs under the default mapping, others as one range.

    Those of mappings are in the grid.
    """
    of_changes = grouped(
        (lever for lever in levers if lever.factor != "mapping"),
        lambda lever: (lever.factor, lever.level, lever.reference),
    )
    tables = (_lever_table(alike) for alike in of_changes)
    # Where neither level was compared the line of the lever says so.
    return [table for table in tables if len(table.columns) > 1]


def _lever_table(levers: Sequence[Lever]) -> Table:
    """Return the table of one change, whose levers are those under the default mapping and not."""
    shown = [pair for lever in levers if lever.is_default for pair in lever.pairs]
    others = [pair for lever in levers if not lever.is_default for pair in lever.pairs]
    every = [*shown, *others]
    measured = [objective for objective in OBJECTIVES if range_of(every, objective) is not None]
    with_interval = {
        objective for objective in measured if any(_interval([pair], objective) for pair in every)
    }
    columns = [Column("with all else equal", right=False)]
    for objective in measured:
        columns.append(Column(objective.short, "%"))
        columns += [Column("95 % interval", "%")] * (objective in with_interval)
    # What all of them have is not named.
    names = names_of([pair.reference for pair in shown])
    rows = [(names[pair.reference.key.case_id], [pair]) for pair in shown]
    if others:
        rows.append((f"other mappings: {plural(len(others), 'pair')}", others))
    cells = [(name, *_cells(pairs, measured, with_interval)) for name, pairs in rows]
    title = f"{name_of_factor(levers[0].factor)}: {change_of_lever(levers[0])}"
    return Table(title, tuple(columns), tuple(cells))


def _cells(
    pairs: Sequence[LeverPair], measured: Sequence[Objective], with_interval: Collection[Objective]
) -> Iterator[str]:
    for objective in measured:
        found = range_of(pairs, objective)
        if found is None:
            yield pairs[0].missing[objective]
        else:
            yield percents(Interval(found.low, found.high)).removesuffix(" %")
        if objective in with_interval:
            yield _interval(pairs, objective) or NOTHING


def _interval(pairs: Sequence[LeverPair], objective: Objective) -> str:
    found = range_of(pairs, objective)
    if found is None or found.interval is None:
        return ""
    return percent_range(found.interval.low - 1, found.interval.high - 1).removesuffix(" %")


def best_tables(answers: Answers, cases: Sequence[Case], margin: float) -> list[Table]:
    """Return a table of the programs' best cases, with their gains, for time and for energy."""
    found = _bettered(answers, margin)
    tables = [
        _best_table([best for best in found if best.objective == objective], cases, label)
        for objective, label in BEST_LABELS.items()
    ]
    return [table for table in tables if table.cells]


def _bettered(answers: Answers, margin: float) -> list[BestCase]:
    """Return the best cases that gain more than the margin on what others are compared with."""
    best = (best for best in answers.best if best.objective in BEST_LABELS)
    return [case for case in best if case.gains(margin)]


def _best_table(found: Sequence[BestCase], cases: Sequence[Case], label: str) -> Table:
    names = names_in_programs(cases)
    columns = (
        Column("best case", right=False),
        Column("value"),
        Column("change", "%"),
        Column("95 % interval", "%"),
        Column("against", right=False),
        Column("not distinguishable"),
    )
    cells = tuple(
        (
            names[best.case.key.case_id],
            value_of(best),
            NOTHING if best.effect is None else signed_change(best.effect.ratio),
            NOTHING if best.interval is None else percents(best.interval).removesuffix(" %"),
            reference_of(best),
            str(len(best.also)),
        )
        for best in found
    )
    return Table(label, columns, cells)


def launch_lines(answers: Answers, cases: Sequence[Case], margin: float) -> list[tuple[str, str]]:
    """Return how to start the best cases: a name and a command line, each once."""
    names = names_in_programs(cases)
    lines = {best.case.key.case_id: best.line for best in _bettered(answers, margin) if best.line}
    return [
        (one_line(names[case_id], None), one_line(line, None)) for case_id, line in lines.items()
    ]
