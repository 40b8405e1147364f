"""The footnotes under a table: what speaks against its numbers, and what they are of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pinstudy.analysis.format.table import joined
from pinstudy.analysis.measures import COMPARED_ENERGY
from pinstudy.analysis.results.case import PLACEMENTS, Case, grouped
from pinstudy.base.text import one_line, plural
from pinstudy.runners.records.disturbances import DISTURBANCES
from pinstudy.runners.records.placed_runs import PlacedRuns
from pinstudy.runners.records.settings_of_runs import NO_SCHED_EXT


def table_footnotes(cases: Sequence[Case]) -> Iterator[str]:
    """Yield the footnotes of a table's rows, most of them beginning with the row's number."""
    for case in cases:
        row = f"#{case.key.number}"
        if case.circumstances.excluded:
            yield f"{row}: {_excluded(case)}"
        yield from _placement(case, row)
        if not case.lost.usable:
            why = f"{case.lost.summary()}; a tenth at most may be lost"
            yield one_line(f"{row}: not compared, nor to be recommended: {why}", None)
    yield from _ranks(cases)
    yield from _disturbed(cases)
    yield from _moves_of_pinned(cases)
    yield from _governors(cases)
    yield from _energy_aware(cases)
    yield from _schedulers(cases)
    yield from _power_supplies(cases)
    yield from _numbers_of_several(cases)


def _placement(case: Case, row: str) -> Iterator[str]:
    placed = case.circumstances.placed
    for field, noun in PLACEMENTS.items():
        count = case.circumstances.unproved.get(field, 0)
        reasons = joined(case.circumstances.reasons.get(field, ()))
        because = f": {reasons}" if reasons else ""
        if count:
            proved = PlacedRuns((case.n or 0) - count, count).summary.removeprefix("placement ")
            are = "is" if count == 1 else "are"
            yield one_line(f"{row}: {noun} {proved}, which {are} averaged{because}")
        elif placed.unseen and field == "placement":
            yield one_line(f"{row}: {placed.summary}{because}")


def guest_and_host_numbers(_cases: Sequence[Case]) -> Iterator[str]:
    """Yield which numbers of a guest's row are the guest's, and which are the host's."""
    yield (
        "time, migrations and context switches are the program's in its guest; frequency, "
        "vCPU migrations and cache misses are those of the vCPUs' threads on the host, energy "
        "is the host's"
    )


def drivers(cases: Sequence[Case]) -> Iterator[str]:
    """Yield why the driver of a governor is not known."""
    for where, is_known in (("", False), (" in some runs", True)):
        reasons = dict.fromkeys(
            reason
            for case in cases
            if bool(case.circumstances.drivers) is is_known
            for reason in case.circumstances.reasons.get("driver", ())
        )
        if reasons:
            yield one_line(f"driver not known{where}: {joined(reasons)}")


def guest_rows(cases: Sequence[Case]) -> Iterator[str]:
    """Yield each row's mapping in the guest and governor where they differ; no column has them."""
    if len({(case.key.mapping, case.key.governor) for case in cases}) > 1:
        for row, case in enumerate(cases, 1):
            facts = f"{case.key.mapping} in the guest, governor {case.key.governor}"
            yield one_line(f"row {row} is #{case.key.number}: {facts}")


def _excluded(case: Case) -> str:
    parts = []
    for status, count in case.circumstances.excluded.items():
        reasons = one_line(joined(case.circumstances.reasons.get(status, ())))
        parts.append(f"{count} {status}" + (f" ({reasons})" if reasons else ""))
    excluded = sum(case.circumstances.excluded.values())
    # The source of imported means may not say how many runs they are of.
    share = plural(excluded, "run")
    if case.n is not None:
        share = f"{excluded} of {plural(case.n + excluded, 'run')}"
    return one_line(f"{share} not averaged: {', '.join(parts)}", None)


def _ranks(cases: Sequence[Case]) -> Iterator[str]:
    """Yield what numbers of ranks are of, who started them, and where each row's ranks ran."""
    if cases[0].key.table.is_one_process:
        return
    launchers = " and ".join(dict.fromkeys(case.key.mpi for case in cases if case.key.mpi))
    started = f", which {launchers} started" if launchers else ""
    yield one_line(f"numbers are of all ranks together{started}")
    if places := joined(_rank_places(case) for case in cases if case.key.rank_cpus):
        yield f"CPUs of each rank: {places}"


def _rank_places(case: Case) -> str:
    by = f" ({case.key.divided_by})" if case.key.divided_by else ""
    return one_line(f"#{case.key.number}: {case.key.shown_cpus}{by}")


def _disturbed(cases: Sequence[Case]) -> Iterator[str]:
    """Yield how many of the averaged runs were disturbed, a footnote for each disturbance."""
    measured = [case for case in cases if case.n]
    for disturbance in DISTURBANCES:
        rows = [case for case in measured if disturbance in case.circumstances.disturbed]
        if not rows:
            continue
        counts = {(case.circumstances.disturbed.get(disturbance, 0), case.n) for case in measured}
        if all(count == n for count, n in counts):
            where = "all runs that are averaged"
        elif len(counts) == 1 < len(measured):
            ((count, n),) = counts
            where = f"{count} of {n} in each row"
        else:
            where = ", ".join(
                f"#{case.key.number}: {case.circumstances.disturbed[disturbance]} of {case.n}"
                for case in rows
            )
        yield f"runs {disturbance}: {where}"


def _moves_of_pinned(cases: Sequence[Case]) -> Iterator[str]:
    """Yield what the migrations of pinned threads are, where all placements are proved.

    Ranks and a guest's CPUs are placed by others, who move them as well.
    """
    rows = [
        case
        for case in cases
        if case.n
        and case.key.binding == "pin"
        and case.key.is_on_node
        and case.circumstances.placed.proved == case.n
        and case.stats["migrations"].mean > 0
    ]
    if rows:
        numbers = ", ".join(f"#{case.key.number}" for case in rows)
        yield (
            f"migrations of pinned threads ({numbers}): the kernel moves a thread as it starts and "
            "as it is bound; that it stays then is proved, in all these runs"
        )


def _governors(cases: Sequence[Case]) -> Iterator[str]:
    read = {
        governor
        for case in cases
        if case.key.governor == "current"
        for governor in case.circumstances.governors_read
    }
    if read:
        yield one_line(f"governor in force: {', '.join(sorted(read))}")


def _energy_aware(cases: Sequence[Case]) -> Iterator[str]:
    """Yield which rows had energy-aware scheduling, where that differs between them.

    A governor may switch it: EAS needs schedutil (pinstudy/runners/node/scheduler.py).
    """
    rows = _rows_by_value(cases, lambda case: case.circumstances.energy_aware_read)
    if len(rows) < 2:
        return
    governors = {
        state: {
            governor
            for case in values
            for governor in case.circumstances.governors_read or (case.key.governor,)
        }
        for state, values in rows.items()
    }
    apart = sum(map(len, governors.values())) == len(set().union(*governors.values()))
    if apart:
        where = ", ".join(
            f"{state} under {' and '.join(sorted(values))}" for state, values in governors.items()
        )
        remark = "these governors differ in how the kernel places threads, too"
    else:
        where = ", ".join(f"{state} in {_numbers(values)}" for state, values in rows.items())
        remark = "these rows differ in how the kernel places threads, too"
    yield one_line(f"energy-aware scheduling (EAS) was {where}: {remark}", None)


def _schedulers(cases: Sequence[Case]) -> Iterator[str]:
    """Yield which schedulers of sched_ext placed threads instead of the kernel's own."""
    rows = _rows_by_value(cases, lambda case: case.circumstances.schedulers_read)
    rows.pop(NO_SCHED_EXT, None)
    measured = [case for case in cases if case.n]
    for name, own_rows in rows.items():
        all_runs = own_rows == measured and all(
            list(case.circumstances.schedulers_read) == [name] for case in own_rows
        )
        where = "all runs that are averaged" if all_runs else f"runs of {_numbers(own_rows)}"
        yield one_line(f"scheduled by {name} (sched_ext), not by the kernel's own: {where}", None)


def _power_supplies(cases: Sequence[Case]) -> Iterator[str]:
    rows = _rows_by_value(cases, lambda case: case.circumstances.power_supplies)
    if len(rows) > 1:
        where = ", ".join(f"{supply} in {_numbers(found)}" for supply, found in rows.items())
        remark = "these rows differ in their limits of power, too"
        yield one_line(f"power supply: {where}: {remark}", None)


def _rows_by_value(
    cases: Sequence[Case], values: Callable[[Case], Sequence[str]]
) -> dict[str, list[Case]]:
    """Return the rows of each value that their averaged runs have; a row may have several."""
    rows: dict[str, list[Case]] = {}
    for case in cases:
        for value in values(case):
            rows.setdefault(value, []).append(case)
    return rows


def _numbers(cases: Sequence[Case]) -> str:
    return ", ".join(dict.fromkeys(f"#{case.key.number}" for case in cases))


def _numbers_of_several(cases: Sequence[Case]) -> Iterator[str]:
    """Yield why several rows have one number: different CPUs, or another difference."""
    for rows in grouped(cases, lambda case: case.key.number):
        number, cpus = rows[0].key.number, dict.fromkeys(map(_where, rows))
        if len(rows) > 1 and len(cpus) == len(rows):
            yield one_line(
                f"#{number} stands once for each set of CPUs it was run on: {joined(cpus)}"
            )
        elif len(rows) > 1:
            cases_in_words = joined(dict.fromkeys(map(_how, rows)))
            yield one_line(f"#{number} stands for several cases: {cases_in_words}")


def _how(case: Case) -> str:
    return (
        f"{case.key.mapping} by {case.key.mechanism}"
        if case.key.mechanism
        else str(case.key.mapping)
    )


def _where(case: Case) -> str:
    return case.key.host_cpus or "unknown CPUs"


def co_runner_numbers(cases: Sequence[Case]) -> Iterator[str]:
    """Yield what the numbers of rows with co-runners are of."""
    yield (
        "slowdown: mean time beside the other over that alone; intervals are in the verdict. The "
        "co-runner's time is that of its executions that began and ended while the program ran"
    )
    if any(case.stat(COMPARED_ENERGY).n for case in cases):
        yield "energy is that of the packages, and so of both programs"
