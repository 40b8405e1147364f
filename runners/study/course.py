"""The course of a study: which runs it has at most, and which of them are still to be made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import groupby

from runners.plan.case import Case
from runners.plan.order import PlannedRun
from runners.plan.plan import Plan
from runners.race.state import Eliminated
from runners.study.forecast import Forecast
from runners.study.history import History
from runners.study.race_course import needed_runs, pending_race_runs
from runners.study.stopping import Stopping


def pending_runs(
    plan: Plan,
    history: History,
    ended: Callable[[str], None] | None = None,
    ruled_out: Callable[[Eliminated], None] | None = None,
) -> Iterator[PlannedRun]:
    """Yield the runs that are still to be made, in order.

    Where a precision is asked for, cases end as their runs come in: who makes each run, and adds
    its record to the history before asking for the next, gets just those that are needed, and who
    makes none gets as many as there may be. `ended` is called with each case that makes no more,
    `ruled_out` with each that loses a race.
    """
    study = plan.study
    if study.race:
        yield from pending_race_runs(plan, history, ruled_out)
        return
    if study.precision is None:
        yield from (planned for planned in plan.runs if planned.key not in history.done)
        return
    stopping = Stopping(plan.cases, study.precision)
    for (_, number), runs in groupby(plan.runs, block_of(plan)):
        block = [planned for planned in runs if planned.case_id not in stopping.stopped]
        for planned in block:
            if planned.key not in history.done:
                yield planned
        if number == 0:
            continue
        for case_id in stopping.block_ended(block, history.good, history.done, history.skipped):
            if ended:
                ended(case_id)


def minimum_pending_runs(plan: Plan, history: History) -> list[PlannedRun]:
    """Return those of the runs that are still to be made which are needed whatever they show."""
    if plan.study.race:
        return needed_runs(plan, history)
    most = list(pending_runs(plan, history))
    if plan.study.precision is None:
        return most
    in_block = block_of(plan)
    last: dict[str, int] = {}
    needed = []
    for planned in most:
        where, number = in_block(planned)
        # At the end of the first block that is not complete its cases may all end.
        if number <= last.setdefault(where, max(number, plan.study.precision.least)):
            needed.append(planned)
    return needed


def block_of(plan: Plan) -> Callable[[PlannedRun], tuple[str, int]]:
    """Return what gives a run's block: in which boot or, in sequence, case; and its number there.

    Warm-up runs are in block 0.
    """
    alone = plan.study.order == "sequential"
    within = {case.case_id: case.case_id if alone else case.boot for case in plan.cases}
    return lambda planned: (within[planned.case_id], planned.block)


def forecast(cases: Collection[Case], left: Iterable[PlannedRun], history: History) -> Forecast:
    """Return the forecast for these runs from the history's times and the apps' own hints."""
    means = {case.case_id: history.mean_s(case.case_id) for case in cases}
    measured = {case_id: mean for case_id, mean in means.items() if mean is not None}
    return Forecast(cases, (planned.case_id for planned in left), measured)
