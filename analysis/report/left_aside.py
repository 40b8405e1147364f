"""What results do not hold: runs that were not averaged, cases left out, numbers not measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from analysis.results.node_files import NodeSheet
from analysis.results.sources import Results
from analysis.verdict.model import CaseFinding, Findings
from base.text import plural
from runners.records.values import OK, SKIPPED

# Nobody reads a longer list; further runs are counted by reason.
MAX_RUNS = 1000
MAX_REASONS = 50


@dataclass(frozen=True)
class ExcludedRun:
    """A run that is in no mean: its table (from 1), row, repetition, status and reason."""

    table: int
    row: str
    repetition: str
    status: str
    reason: str


@dataclass(frozen=True)
class Excluded:
    """The first runs that are in no mean, and the others counted by status and reason.

    `made` counts all runs beside warm-ups.
    """

    runs: tuple[ExcludedRun, ...]
    more: tuple[tuple[str, int], ...]
    warmups: int
    made: int


@dataclass(frozen=True)
class Missing:
    """Something that is not there: what, where, and why."""

    what: str
    where: str
    reason: str


Places = dict[str, tuple[int, CaseFinding]]


def places_of(findings: Findings) -> Places:
    """Return each case's table, from 1, and the case, by case_id."""
    return {
        case.case_id: (at, case)
        for at, table in enumerate(findings.tables, 1)
        for case in table.cases
    }


def excluded_runs(results: Results, places: Places) -> Excluded:
    """Return the runs whose status is not `ok`, and how many warm-up runs there were."""
    if results.runs is None:
        return Excluded((), (), 0, 0)
    frame = results.runs.frame
    made = frame[frame["status"] != SKIPPED]
    bad = made[~made["warmup"] & (made["status"] != OK)]
    known = bad["reason"].astype(object)
    reasons = known.where(known.notna() & (known != ""), "no reason given")
    columns = (bad["case_id"], bad["repetition"], bad["status"], reasons)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    runs = [
        ExcludedRun(
            *_place(places, case_id),
            repetition=f"{repetition:.0f}",
            status=str(status),
            reason=reason,
        )
        for case_id, repetition, status, reason in rows[:MAX_RUNS]
    ]
    warmups = int(made["warmup"].sum())
    return Excluded(tuple(runs), tuple(_by_reason(rows[MAX_RUNS:])), warmups, len(made) - warmups)


def _by_reason(rows: Iterable[tuple[str, float, str, str]]) -> Iterator[tuple[str, int]]:
    """Yield what became of runs, and of how many, the most frequent first."""
    counted = Counter(f"{status}: {reason}" for _, _, status, reason in rows).most_common()
    yield from counted[:MAX_REASONS]
    if others := counted[MAX_REASONS:]:
        yield plural(len(others), "further reason"), sum(count for _, count in others)


def _place(places: Places, case_id: str) -> tuple[int, str]:
    at, case = places[case_id]
    return at, case.label


def missing(results: Results, findings: Findings, sheets: Sequence[NodeSheet]) -> list[Missing]:
    """Return all that could not be measured, what shares a reason together."""
    return [
        *_left_out(findings),
        *_not_measured(results, findings),
        *_unproved(findings),
        *(
            Missing(fact, f"the node {sheet.name}", reason)
            for sheet in sheets
            for fact, reason in sheet.absent
        ),
    ]


def _left_out(findings: Findings) -> list[Missing]:
    by_reason: dict[str, list[tuple[int, CaseFinding]]] = {}
    for at, table in enumerate(findings.tables, 1):
        for case in table.cases:
            if case.summary.left_out is not None:
                reason = str(case.summary.left_out) or "no reason given"
                by_reason.setdefault(reason, []).append((at, case))
    return [Missing("the case", _rows(cases), reason) for reason, cases in by_reason.items()]


def _not_measured(results: Results, findings: Findings) -> list[Missing]:
    """Return the measures that good runs lack."""
    places = places_of(findings)
    of_reason: dict[str, dict[str, list[str]]] = {}
    for case_id, field, reason in _given(results, findings):
        if case_id in places:
            of_reason.setdefault(reason, {}).setdefault(field, []).append(case_id)
    measured = {case_id for case_id, (_, case) in places.items() if case.summary.has_runs}
    found = []
    for reason, fields in of_reason.items():
        # Fields that the same cases lack for the same reason stand together.
        together: dict[tuple[str, ...], list[str]] = {}
        for field, cases in fields.items():
            together.setdefault(tuple(dict.fromkeys(cases)), []).append(field)
        for ids, names in together.items():
            where = "all cases" if measured <= set(ids) else _rows([places[i] for i in ids])
            found.append(Missing(", ".join(names), where, reason))
    return found


def _given(results: Results, findings: Findings) -> list[tuple[str, str, str]]:
    """Return (case_id, field, reason), from the runs or from what means without runs say."""
    if results.runs is not None:
        given = results.runs.reasons
        return [
            (str(case_id), str(field), str(reason))
            for case_id, field, reason in zip(
                given["case_id"], given["field"], given["reason"], strict=True
            )
        ]
    return [
        (case.case_id, field, reason)
        for table in findings.tables
        for case in table.cases
        for field, reasons in case.summary.reasons.items()
        for reason in reasons
    ]


def _unproved(findings: Findings) -> Iterator[Missing]:
    cases_by_table = [
        (at, case) for at, table in enumerate(findings.tables, 1) for case in table.cases
    ]
    counts = {
        "placement": [case.summary.unproved for _, case in cases_by_table],
        "placement of vCPUs": [case.summary.vcpus_unproved for _, case in cases_by_table],
    }
    for what, of_cases in counts.items():
        cases = [of for of, count in zip(cases_by_table, of_cases, strict=True) if count]
        runs = sum(of_cases)
        if cases:
            of = f"the {what} in {plural(runs, 'run')}"
            yield Missing(of, _rows(cases), "see the tables' notes")


def _rows(cases: Sequence[tuple[int, CaseFinding]]) -> str:
    """Return `table 1: #2, #3; table 2: #2`."""
    by_table: dict[int, list[str]] = {}
    for at, case in sorted(cases, key=lambda found: (found[0], found[1].number)):
        by_table.setdefault(at, []).append(f"#{case.number}")
    parts = [f"table {at}: {', '.join(dict.fromkeys(rows))}" for at, rows in by_table.items()]
    return "; ".join(parts)
