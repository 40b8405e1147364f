"""What results exclude: runs that are not averaged, skipped cases, numbers not measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from pinstudy.analysis.format.table import Column, Table
from pinstudy.analysis.records.runs import whole_runs
from pinstudy.analysis.results.case import PLACEMENTS, grouped
from pinstudy.analysis.results.node_files import NodeSheet
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import CaseFinding, Findings
from pinstudy.base.text import plural
from pinstudy.runners.records.status import OK, SKIPPED

# Further runs are counted by reason.
MAX_RUNS = 1000
MAX_REASONS = 50
NO_REASON = "no reason given"


@dataclass(frozen=True)
class Excluded:
    """The first runs that are in no mean, and the others counted by status and reason.

    `runs_made` counts all runs without warm-ups.
    """

    runs: Table
    more: tuple[tuple[str, int], ...]
    warmups: int
    runs_made: int


# A case and the number of its table, from 1.
Place = tuple[int, CaseFinding]
# What is missing, where, and why.
Missing = tuple[str, str, str]


def places_of(findings: Findings) -> dict[str, Place]:
    """Return the place of each case by its case_id, in the order of the tables."""
    return {
        case.case_id: (at, case)
        for at, table in enumerate(findings.tables, 1)
        for case in table.cases
    }


def excluded_runs(results: Results, places: Mapping[str, Place]) -> Excluded | None:
    """Return the runs whose status is not `ok`, and how many warm-up runs there were.

    None where only means are known.
    """
    if results.runs is None:
        return None
    frame = whole_runs(results.runs.frame)
    all_runs = frame[frame["status"] != SKIPPED]
    bad = all_runs[~all_runs["warmup"] & (all_runs["status"] != OK)]
    known = bad["reason"].astype(object)
    reasons = known.where(known.notna() & (known != ""), NO_REASON)
    rows = list(zip(bad["case_id"], bad["repetition"], bad["status"], reasons, strict=True))
    cells = []
    for case_id, repetition, status, reason in rows[:MAX_RUNS]:
        at, case = places[case_id]
        cells.append((str(at), case.label, f"{repetition:.0f}", str(status), reason))
    columns = (
        Column("table"),
        Column("row", right=False),
        Column("repetition"),
        Column("status", right=False),
        Column("reason", right=False),
    )
    counted = _by_reason(f"{status}: {reason}" for _, _, status, reason in rows[MAX_RUNS:])
    warmups = int(all_runs["warmup"].sum())
    return Excluded(
        Table("Excluded runs and their reasons", columns, tuple(cells)),
        tuple(counted),
        warmups,
        len(all_runs) - warmups,
    )


def _by_reason(reasons: Iterable[str]) -> Iterator[tuple[str, int]]:
    counted = Counter(reasons).most_common()
    yield from counted[:MAX_REASONS]
    if rest := counted[MAX_REASONS:]:
        yield plural(len(rest), "further reason"), sum(count for _, count in rest)


def missing(results: Results, places: Mapping[str, Place], sheets: Sequence[NodeSheet]) -> Table:
    """Return all that could not be measured, grouped by reason."""
    cells = [
        *_skipped(places),
        *_not_measured(results, places),
        *_unproved(places),
        *(
            (fact, f"the node {sheet.name}", reason)
            for sheet in sheets
            for fact, reason in sheet.absent
        ),
    ]
    columns = tuple(Column(name, right=False) for name in ("what", "where", "why"))
    return Table("What could not be measured, and why", columns, tuple(cells))


def _skipped(places: Mapping[str, Place]) -> Iterator[Missing]:
    skipped = [place for place in places.values() if place[1].summary.was_skipped]
    for cases in grouped(
        skipped, lambda place: place[1].summary.circumstances.skip_reason or NO_REASON
    ):
        yield "the case", _rows(cases), cases[0][1].summary.circumstances.skip_reason or NO_REASON


def _not_measured(results: Results, places: Mapping[str, Place]) -> Iterator[Missing]:
    of_reason: dict[str, dict[tuple[str, bool], list[str]]] = {}
    for case_id, field, reason in _reasons(results):
        if case_id in places:
            in_some_runs = places[case_id][1].summary.stat(field).is_known
            of_reason.setdefault(reason, {}).setdefault((field, in_some_runs), []).append(case_id)
    measured = {case_id for case_id, (_, case) in places.items() if case.summary.has_runs}
    for reason, fields in of_reason.items():
        # Fields that the same cases lack for the same reason stand together.
        together: dict[tuple[bool, tuple[str, ...]], list[str]] = {}
        for (field, in_some_runs), cases in fields.items():
            together.setdefault((in_some_runs, tuple(dict.fromkeys(cases))), []).append(field)
        for (in_some_runs, ids), names in together.items():
            where = "all cases" if measured <= set(ids) else _rows([places[i] for i in ids])
            yield ", ".join(names), f"{'some runs of ' if in_some_runs else ''}{where}", reason


def _reasons(results: Results) -> Iterator[tuple[str, str, str]]:
    """Yield (case_id, field, reason), from the runs or from means without runs."""
    if results.runs is not None:
        yield from results.runs.reasons.itertuples(index=False, name=None)
        return
    for case in results.cases:
        for field, reasons in case.circumstances.reasons.items():
            for reason in reasons:
                yield case.key.case_id, field, reason


def _unproved(places: Mapping[str, Place]) -> Iterator[Missing]:
    for field, noun in PLACEMENTS.items():
        of_cases = [
            case.summary.circumstances.unproved.get(field, 0) for _, case in places.values()
        ]
        if any(of_cases):
            text = f"the {noun} in {plural(sum(of_cases), 'run')}"
            yield text, _rows(list(compress(places.values(), of_cases))), "see the tables' notes"


def _rows(cases: Sequence[Place]) -> str:
    """Return `table 1: #2, #3; table 2: #2`."""
    by_table: dict[int, list[str]] = {}
    for at, case in sorted(cases, key=lambda found: (found[0], found[1].number)):
        by_table.setdefault(at, []).append(f"#{case.number}")
    parts = [f"table {at}: {', '.join(dict.fromkeys(rows))}" for at, rows in by_table.items()]
    return "; ".join(parts)
