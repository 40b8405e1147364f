"""The fastest cases of a program among all its tables: which threads, build and schedule win.

What is shown is what is compared: typical times where there are runs, as the grid has them, and
means where only these are known. Times that look equal are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from analysis.format.numbers import ends, rounded, three_digits
from analysis.objectives import TIME
from analysis.overview.grid import Setting, labels_of_cases
from analysis.records.first_records import command_lines
from analysis.results.case import grouped
from analysis.results.sources import Results
from analysis.statistics.decision import ALPHA
from analysis.statistics.difference import Difference, centre_of
from analysis.statistics.sample import cut_from_each_end
from analysis.verdict.comparisons import difference_between
from analysis.verdict.model import CaseFinding, Findings, TableFindings
from analysis.verdict.phrases import listed
from analysis.verdict.values import Values, values_by_case
from base.text import one_line, plural

# More cases that may be as fast are counted.
_MAX_NAMED = 2


class _Placed(NamedTuple):
    """A case with its table's place."""

    at: int
    table: TableFindings
    case: CaseFinding

    @property
    def threads(self) -> int:
        """The threads of all ranks."""
        return max(self.table.key.ranks or 0, 1) * self.table.key.threads


class _Winner(NamedTuple):
    """The fastest cases, what they are compared with, and the speed-up with its 95 % interval.

    `best` are several where their times, as `time` shows them, are equal. `others` are the cases
    that may be as fast.
    """

    best: Sequence[_Placed]
    time: str
    reference: _Placed
    speed_up: str
    others: Sequence[_Placed]


def fastest(results: Results, findings: Findings, settings: Sequence[Setting]) -> Iterator[str]:
    """Yield the fastest case of each program that has several tables, and its command line.

    It is that of the least typical time, and its speed-up is over the baseline with fewest threads.
    Cases that are not shown to be slower follow. A command line stands between backticks.
    """
    labels = labels_of_cases(settings)
    winners = [
        winner
        for of_work in grouped(_candidates(findings), _work)
        if len({placed.at for placed in of_work}) > 1
        for winner in _winner(results, of_work)
    ]
    lines = {}
    if results.runs is not None:
        lines = command_lines(results.runs.firsts, {won.best[0].case.case_id for won in winners})

    def name(placed: _Placed) -> str:
        return f"{labels[placed.at, placed.case.number]} {placed.case.full_mapping}"

    for won in winners:
        named = list(map(name, won.best))
        equal = f" (and {plural(len(named) - _MAX_NAMED, 'other')})" if named[_MAX_NAMED:] else ""
        alike = " alike" if named[1:] else ""
        text = (
            f"{listed(named[:_MAX_NAMED])}{equal}{alike}, {won.time}: {won.speed_up} times as fast "
            f"as {name(won.reference)}{_not_slower(list(map(name, won.others)))}"
        )
        yield one_line(text, None)
        if line := lines.get(won.best[0].case.case_id):
            yield f"`{one_line(line, None)}`"


def _not_slower(names: Sequence[str]) -> str:
    if not names:
        return ""
    which = listed(names) if len(names) <= _MAX_NAMED else f"{len(names)} other cases"
    return f"; not shown to be slower: {which}"


def _candidates(findings: Findings) -> Iterator[_Placed]:
    for at, table in enumerate(findings.tables):
        if table.fixed_time or table.key.region:
            continue
        for case in table.cases:
            if TIME in case.samples and case.lost.usable and not case.summary.key.beside:
                yield _Placed(at, table, case)


def _work(placed: _Placed) -> tuple[object, ...]:
    """Return what cases share that do the same work on the same kind of machine."""
    return placed.table.key.app, placed.table.key.size, placed.case.summary.key.of_vcpus is not None


def _winner(results: Results, cases: Sequence[_Placed]) -> Iterator[_Winner]:
    """Yield the fastest case, if it is surely faster than the baseline with fewest threads.

    Intervals are widened for the choice among all cases (Bonferroni).
    """
    baselines = [placed for placed in cases if placed.case.is_baseline]
    if not baselines:
        return
    reference = min(baselines, key=lambda placed: (placed.threads, placed.at))
    values: Mapping[str, Values] = {}
    if results.runs is not None:
        frame = results.runs.frame
        ids = [placed.case.case_id for placed in cases]
        values = values_by_case(frame[frame["case_id"].isin(ids)], (TIME,))
    estimand = "typical" if values else "mean"
    times_s = {placed.case.case_id: _time_s(placed.case, values) for placed in cases}
    best = min(cases, key=lambda placed: times_s[placed.case.case_id])
    shown = three_digits(times_s[best.case.case_id])
    equal = {case_id for case_id, time_s in times_s.items() if three_digits(time_s) == shown}
    if reference.case.case_id in equal:
        return

    def times_the_best(placed: _Placed) -> Difference | None:
        found = difference_between(placed.case.summary, best.case.summary, values, TIME)
        return found if found is not None and found.standard_error > 0 else None

    level = 1 - ALPHA / len(cases)
    found = times_the_best(reference)
    if found is None:
        return
    interval = found.interval(level)
    if interval.low > 1:
        times = rounded(found.ratio, interval.half_width, 3)
        low, high = ends(
            interval.low,
            interval.high,
            lambda end, more: rounded(end, interval.half_width, 3, more),
        )
        others = [
            placed
            for placed in cases
            if placed.case.case_id not in equal
            and (of := times_the_best(placed)) is not None
            and of.interval(level).low <= 1
        ]
        same = [of for of in cases if of is not best and of.case.case_id in equal]
        shown_time, speed_up = f"{estimand} time {shown} s", f"{times} ({low} to {high})"
        yield _Winner([best, *same], shown_time, reference, speed_up, others)


def _time_s(case: CaseFinding, values: Mapping[str, Values]) -> float:
    """Return a case's typical time, by which cases are compared; without runs its mean."""
    if case.case_id not in values:
        return case.samples[TIME].mean
    log_s = np.log(values[case.case_id].measured(TIME))
    return float(np.exp(centre_of(log_s, cut_from_each_end(len(log_s))).value))
