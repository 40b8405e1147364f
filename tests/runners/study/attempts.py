"""Attempts at a plan whose runs are made up: which of them are made, and in which order."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from runners.plan.plan import Plan
from runners.plan.runs import PlannedRun
from runners.study.agenda import NO_LISTENER, Agenda, Listener, agenda_of
from runners.study.history import History


@dataclass(frozen=True)
class World:
    """A plan, and what each of its runs would take whenever it is made: see `measured`."""

    plan: Plan
    seed: int

    def record(self, planned: PlannedRun) -> dict[str, Any]:
        """Return the record of a run: the same for the same run, whenever it is made."""
        return {
            "case_id": planned.case_id,
            "warmup": planned.warmup,
            "repetition": planned.repetition,
            "status": "ok",
        } | self.measured(planned)

    def measured(self, planned: PlannedRun) -> dict[str, Any]:
        """Return the other fields of a run's record."""
        raise NotImplementedError

    def history(self, records: Sequence[dict[str, Any]]) -> History:
        """Return what is known by these records."""
        history = History.of(self.plan.study)
        for record in records:
            history.add(record)
        return history

    def made(
        self,
        before: Sequence[dict[str, Any]] = (),
        at_most: int | None = None,
        impossible: Collection[str] = (),
        record: Callable[[PlannedRun], dict[str, Any]] | None = None,
        history: History | None = None,
        listener: Listener = NO_LISTENER,
    ) -> list[dict[str, Any]]:
        """Return the records after an attempt that follows others and is cut after `at_most` runs.

        `impossible` are the cases that cannot be run in it; `record` makes other runs than those
        of this world, and `history` is what is known after them. `listener` hears what changes.
        """
        records, known = list(before), history or self.history(before)
        for planned in agenda_of(self.plan, known).pending(listener):
            if planned.case_id in impossible:
                known.skipped.add(planned.key)
                continue
            if at_most is not None and len(records) - len(before) >= at_most:
                break
            records.append(json.loads(json.dumps((record or self.record)(planned))))
            known.add(records[-1])
        return records


def minimum(agenda: Agenda) -> list[PlannedRun]:
    """Return the runs that an agenda surely makes still."""
    return agenda.needed(list(agenda.pending()))
