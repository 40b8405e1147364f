"""Which cases make no more runs: decided at the end of each block, from the records alone.

A case ends when it reaches the study's precision. A baseline, with which others are compared pair
by pair within a block, goes on as long as one of them does. A block is judged by its own runs and
earlier ones only, so that a resume decides as the attempt before it did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from configs.repetitions import Precision
from runners.plan.case import Case
from runners.plan.order import PlannedRun, RunKey
from runners.study.precision import CasePrecision

# The figures of good runs by word of PRECISION_OF, by case and repetition.
GoodRuns = Mapping[str, Mapping[int, Mapping[str, float]]]


class Stopping:
    """Follows a study block by block; `stopped` are the cases that make no more runs.

    In sequence, where each run is a block of its own, no case waits for another.
    """

    def __init__(self, cases: Collection[Case], wanted: Precision) -> None:
        """`wanted` is the precision that ends each of these cases."""
        self.stopped: set[str] = set()
        self._known = {case.case_id: CasePrecision(wanted) for case in cases}
        self._waits_for = compared_with(cases)

    def block_ended(
        self,
        block: Iterable[PlannedRun],
        good: GoodRuns,
        done: Collection[RunKey],
        skipped: Collection[RunKey],
    ) -> list[str]:
        """Take in a block's runs, those of the cases that go on; return the cases that end.

        `done` has the runs that were made, `skipped` those that cannot be made in this attempt. A
        case whose run is in neither goes on: the run is still pending.
        """
        running = {run.case_id: run for run in block}
        for case_id, run in running.items():
            figures = good.get(case_id, {}).get(run.repetition)
            if figures is not None:
                self._known[case_id].add(figures)
        ready = {
            case_id
            for case_id, run in running.items()
            if run.key in done and self._known[case_id].reached
        }
        awaited = {
            case_id
            for case_id, run in running.items()
            if case_id not in ready and run.key not in skipped
        }
        ended = [case for case in running if case in ready and not self._awaits(case, awaited)]
        self.stopped.update(ended)
        return ended

    def _awaits(self, case_id: str, awaited: Collection[str]) -> bool:
        return not self._waits_for.get(case_id, frozenset()).isdisjoint(awaited)


def compared_with(cases: Iterable[Case]) -> dict[str, frozenset[str]]:
    """Return the cases that are compared with each baseline, by its case_id.

    The cases of a table, governor and guest's boot have as baseline their first one that is left to
    the OS scheduler: every CPU, binding none. Without one they are not compared within blocks.
    """
    groups: dict[tuple[int, str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.table, case.governor, case.boot), []).append(case)
    found = {}
    for group in groups.values():
        free = [case for case in group if _is_free(case)]
        if free:
            others = frozenset(case.case_id for case in group if case is not free[0])
            found[free[0].case_id] = others
    return found


def _is_free(case: Case) -> bool:
    return (case.mapping.selection, case.mapping.binding) == ("all", "none")
