"""How long the pending runs of a study will take, while others are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from runners.plan.estimate import Forecast
from runners.plan.order import PlannedRun
from runners.study.schedule import Schedule


def forecast_of(schedule: Schedule, left: Iterable[PlannedRun]) -> Forecast:
    """Return the forecast for these runs from the history's times and the apps' own hints."""
    cases, history = schedule.plan.cases, schedule.history
    means = {case.case_id: history.mean_s(case.case_id) for case in cases}
    measured = {case_id: mean for case_id, mean in means.items() if mean is not None}
    return Forecast(cases, (planned.case_id for planned in left), measured)


class RemainingWork:
    """The pending runs of a study in progress: how many, under which governor, how long."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._governors = {case.case_id: case.governor for case in schedule.plan.cases}
        self.expect(list(schedule.pending()))

    def expect(self, left: list[PlannedRun]) -> None:
        """Begin anew with these pending runs."""
        self._ahead = forecast_of(self._schedule, left)
        self._under = Counter(self._governors[planned.case_id] for planned in left)

    @property
    def under(self) -> Mapping[str, int]:
        """How many runs are pending under each governor, at most."""
        return self._under

    @property
    def left_s(self) -> float | None:
        """The expected seconds of all pending runs, None while some app has no estimate."""
        return self._schedule.history.within_race_s(self._ahead.left_s)

    def one_s(self, case_id: str) -> float | None:
        """Return the expected seconds of one run of a case, or None without an estimate."""
        return self._ahead.one_s(case_id)

    def ended(self, case_id: str) -> int:
        """The case makes no more runs; return how many it would have made."""
        saved = self._ahead.forget(case_id)
        self._under[self._governors[case_id]] -= saved
        return saved

    def made(self, planned: PlannedRun) -> None:
        """A run was made or skipped."""
        self._under[self._governors[planned.case_id]] -= 1
        mean_s = self._schedule.history.mean_s(planned.case_id)
        self._ahead.made(planned.case_id, mean_s)
