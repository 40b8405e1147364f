"""The fastest case of a program among all its tables: which threads, build and schedule win."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analysis.format.numbers import three_digits
from analysis.objectives import TIME
from analysis.overview.grid import Setting, labels_of_cases
from analysis.results.case_summary import grouped
from analysis.results.command_lines import command_lines
from analysis.results.sources import Results
from analysis.statistics.decision import ALPHA
from analysis.verdict.comparisons import difference_between
from analysis.verdict.model import CaseFinding, Findings, TableFindings
from analysis.verdict.phrases import rounded
from analysis.verdict.values import values_by_case
from base.text import one_line


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
    """The fastest case, what it is compared with, and the speed-up with its 95 % interval."""

    best: _Placed
    reference: _Placed
    speed_up: str


def fastest(results: Results, findings: Findings, settings: Sequence[Setting]) -> Iterator[str]:
    """Yield the fastest case of each program that has several tables, and its command line.

    It is that of the least mean time, and its speed-up is over the baseline with fewest threads.
    A command line stands between backticks.
    """
    labels = labels_of_cases(settings)
    winners = [
        winner
        for of_work in grouped(_candidates(findings), _work)
        if len({placed.at for placed in of_work}) > 1
        for winner in _winner(results, of_work)
    ]
    lines = {}
    if results.runs is not None and results.folder is not None:
        lines = command_lines(results.folder, {won.best.case.case_id for won in winners})
    for best, reference, speed_up in winners:
        name, other = (
            f"{labels[of.at, of.case.number]} {of.case.full_mapping}" for of in (best, reference)
        )
        time_s = three_digits(best.case.samples[TIME].mean)
        yield one_line(f"{name}, {time_s} s: {speed_up} times as fast as {other}", None)
        if line := lines.get(best.case.case_id):
            yield f"`{one_line(line, None)}`"


def _candidates(findings: Findings) -> Iterator[_Placed]:
    for at, table in enumerate(findings.tables):
        if table.fixed_time or table.key.region:
            continue
        for case in table.cases:
            if TIME in case.samples and case.placed.usable and not case.summary.beside:
                yield _Placed(at, table, case)


def _work(placed: _Placed) -> tuple[object, ...]:
    """Return what cases share that do the same work on the same kind of machine."""
    return placed.table.key.app, placed.table.key.size, placed.case.summary.of_vcpus is not None


def _winner(results: Results, cases: Sequence[_Placed]) -> Iterator[_Winner]:
    """Yield the fastest case, if it is surely faster than the baseline with fewest threads.

    The interval is widened for the choice among all cases (Bonferroni).
    """
    baselines = [placed for placed in cases if placed.case.is_baseline]
    if not baselines:
        return
    best = min(cases, key=lambda placed: placed.case.samples[TIME].mean)
    reference = min(baselines, key=lambda placed: (placed.threads, placed.at))
    values = {}
    if results.runs is not None:
        frame = results.runs.frame
        ids = [placed.case.case_id for placed in (best, reference)]
        values = values_by_case(frame[frame["case_id"].isin(ids)], (TIME,))
    found = difference_between(reference.case.summary, best.case.summary, values, TIME)
    if found is None or not found.standard_error > 0:
        return
    interval = found.interval(1 - ALPHA / len(cases))
    if interval.low > 1:
        ends = (found.ratio, interval.low, interval.high)
        times, low, high = (rounded(end, interval.half_width, 3) for end in ends)
        yield _Winner(best, reference, f"{times} ({low} to {high})")
