"""What is left of a study while its runs are made: how many, under which governor, how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from runners.plan.order import PlannedRun
from runners.plan.plan import Plan
from runners.study.course import forecast, pending_runs
from runners.study.history import History


class RemainingWork:
    """The expectation of a study's rest, corrected by every run that is made or not needed.

    What a race still needs is known for one block: it is reckoned anew when the next one begins.
    """

    def __init__(self, plan: Plan, history: History) -> None:
        self._plan, self._history = plan, history
        self._governors = {case.case_id: case.governor for case in plan.cases}
        self._block = 0
        self._reckon()

    def _reckon(self) -> None:
        most = list(pending_runs(self._plan, self._history))
        self._ahead = forecast(self._plan.cases, most, self._history)
        self._under = Counter(self._governors[planned.case_id] for planned in most)

    def begins(self, planned: PlannedRun) -> None:
        """Take note of the run that is to be made now."""
        if self._plan.study.race and planned.block != self._block:
            self._block = planned.block
            self._reckon()

    @property
    def under(self) -> Mapping[str, int]:
        """How many runs are left under each governor, at most."""
        return self._under

    @property
    def left_s(self) -> float | None:
        """The expected seconds of all runs that are left, None while some app has no estimate."""
        return self._history.within_race_s(self._ahead.left_s)

    def one_s(self, case_id: str) -> float | None:
        """Return the expected seconds of one run of a case, or None without an estimate."""
        return self._ahead.one_s(case_id)

    def ended(self, case_id: str) -> int:
        """The case makes no more runs; return how many it would have made."""
        saved = self._ahead.forget(case_id)
        self._under[self._governors[case_id]] -= saved
        return saved

    def made(self, planned: PlannedRun) -> None:
        """A run was made, or cannot be."""
        self._under[self._governors[planned.case_id]] -= 1
        self._ahead.made(planned.case_id, self._history.mean_s(planned.case_id))
