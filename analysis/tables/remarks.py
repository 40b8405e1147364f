"""What has to be said under a table: excluded runs, unproved placement, disturbances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.format.table import joined
from analysis.results.case_summary import CaseSummary
from base.text import one_line
from runners.records.disturbances import DISTURBANCES
from runners.records.placed_runs import PlacedRuns


def table_remarks(cases: Sequence[CaseSummary]) -> Iterator[str]:
    """Yield what concerns rows of a table, each remark beginning with the row's number."""
    for case in cases:
        row = f"#{case.number}"
        if case.excluded:
            yield f"{row}: {_excluded(case)}"
        yield from _placement(case, row)
    yield from _disturbed(cases)
    yield from _governors(cases)
    yield from _numbers_of_several(cases)


def _placement(case: CaseSummary, row: str) -> Iterator[str]:
    """Say in how many of the averaged runs placement was proved, and when that is too few."""
    placed = case.placed
    for count, of, what in (
        (case.unproved, "placement", "placement"),
        (case.vcpus_unproved, "vcpu_placement", "placement of vCPUs"),
    ):
        reasons = joined(case.reasons.get(of, ()))
        because = f": {reasons}" if reasons else ""
        if count:
            told = PlacedRuns((case.n or 0) - count, count).summary.removeprefix("placement ")
            yield one_line(f"{row}: {what} {told}, which are averaged{because}")
        elif placed.unseen and of == "placement":
            yield one_line(f"{row}: {placed.summary}{because}")
    if not placed.usable:
        told = f"{placed.summary}; a tenth at most may lack it"
        yield f"{row}: not compared, nor to be recommended: {told}"


def whose_numbers(_cases: Sequence[CaseSummary]) -> Iterator[str]:
    """Yield which numbers of a guest's row are the guest's, and which are the host's."""
    yield (
        "time, migrations and context switches are the program's in its guest; frequency, "
        "vCPU migrations and cache misses are those of the vCPUs' threads on the host, energy "
        "is the host's"
    )


def drivers(cases: Sequence[CaseSummary]) -> Iterator[str]:
    """Yield why the driver of a governor is not known."""
    for where, told in (("", False), (" in some runs", True)):
        reasons = dict.fromkeys(
            reason
            for case in cases
            if bool(case.drivers) is told
            for reason in case.reasons.get("driver", ())
        )
        if reasons:
            yield one_line(f"driver not known{where}: {joined(reasons)}")


def guest_rows(cases: Sequence[CaseSummary]) -> Iterator[str]:
    """Yield each row's mapping in the guest and governor where they differ; no column has them."""
    if len({(case.mapping, case.governor) for case in cases}) > 1:
        for row, case in enumerate(cases, 1):
            what = f"{case.mapping} in the guest, governor {case.governor}"
            yield one_line(f"row {row} is #{case.number}: {what}")


def _excluded(case: CaseSummary) -> str:
    parts = []
    for status, count in case.excluded.items():
        reasons = one_line(joined(case.reasons.get(status, ())))
        parts.append(f"{count} {status}" + (f" ({reasons})" if reasons else ""))
    excluded = sum(case.excluded.values())
    # The source of imported means may not say how many runs they are of.
    of = "" if case.n is None else f" of {case.n + excluded}"
    return one_line(f"{excluded}{of} runs not averaged: {', '.join(parts)}", None)


def _disturbed(cases: Sequence[CaseSummary]) -> Iterator[str]:
    """Say how many of the averaged runs something disturbed, a remark for each such thing."""
    measured = [case for case in cases if case.n]
    for what in DISTURBANCES:
        rows = [case for case in measured if what in case.disturbed]
        if not rows:
            continue
        if all(case.disturbed.get(what) == case.n for case in measured):
            where = "all runs that are averaged"
        else:
            where = ", ".join(
                f"#{case.number}: {case.disturbed[what]} of {case.n}" for case in rows
            )
        yield f"runs {what}: {where}"


def _governors(cases: Sequence[CaseSummary]) -> Iterator[str]:
    """Say which governor was in force where the study asked for the current one."""
    read = {
        governor for case in cases if case.governor == "current" for governor in case.governors_read
    }
    if read:
        yield one_line(f"governor in force: {', '.join(sorted(read))}")


def _numbers_of_several(cases: Sequence[CaseSummary]) -> Iterator[str]:
    """Say why a number stands in several rows: other CPUs, or whatever else differs."""
    by_number: dict[int, list[CaseSummary]] = {}
    for case in cases:
        by_number.setdefault(case.number, []).append(case)
    for number, rows in by_number.items():
        cpus = dict.fromkeys(map(_where, rows))
        if len(rows) > 1 and len(cpus) == len(rows):
            yield one_line(
                f"#{number} stands once for each set of CPUs it was run on: {joined(cpus)}"
            )
        elif len(rows) > 1:
            what = joined(dict.fromkeys(map(_how, rows)))
            yield one_line(f"#{number} stands for several cases: {what}")


def _how(case: CaseSummary) -> str:
    return f"{case.mapping} by {case.mechanism}" if case.mechanism else str(case.mapping)


def _where(case: CaseSummary) -> str:
    """Return a row's CPUs of the host: a guest's own are always the same ones."""
    if case.vcpu_cpus:
        return f"{case.vcpu_cpus} ({case.vm_accelerator or 'unknown accelerator'})"
    return str(case.cpus or "unknown CPUs")
