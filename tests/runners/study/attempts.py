"""An attempt at a plan whose runs are made up: which of them are made, and in which order."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from runners.plan.plan import Plan
from runners.plan.runs import PlannedRun
from runners.study.history import History
from runners.study.schedule import Schedule, schedule_of


def attempt(
    plan: Plan,
    history: History,
    record: Callable[[PlannedRun], dict[str, Any]],
    before: Sequence[dict[str, Any]] = (),
    at_most: int | None = None,
    impossible: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the records after an attempt that follows others and is cut after `at_most` runs.

    `history` is of the records `before`, `record` makes a run, and `impossible` are the cases that
    cannot be run in it.
    """
    records = list(before)
    for planned in schedule_of(plan, history).pending():
        if planned.case_id in impossible:
            history.skipped.add(planned.key)
            continue
        if at_most is not None and len(records) - len(before) >= at_most:
            break
        records.append(json.loads(json.dumps(record(planned))))
        history.add(records[-1])
    return records


def minimum(schedule: Schedule) -> list[PlannedRun]:
    """Return the runs that a schedule surely makes still."""
    return schedule.needed(list(schedule.pending()))
