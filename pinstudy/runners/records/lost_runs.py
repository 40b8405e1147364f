"""Lost runs: which runs of a case are no sample of it, by cause, and how many are too many. Pure.

A run that crashed, reached its limit, gave a wrong result or was not where its mapping puts it says
nothing of the case, and which runs these are depends on how they ran: of a program that hangs now
and then, only the runs remain that did not. So the others are no sample either, however many there
are, once more than a tenth is lost.

Runs that were not made yet are not lost. Nor are interrupted ones, which are made again, and
warm-up runs, which no average has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pinstudy.base.text import plural
from pinstudy.runners.records.status import (
    CHECK_FAILED,
    CLOCK_DRIFTED,
    FAILED,
    INTERRUPTED,
    PLACEMENT_VIOLATED,
    SETTINGS_CHANGED,
    SUSPENDED,
    TIMEOUT,
)

# A case that lost a larger share of its runs is not compared, and never recommended.
MAX_LOST = 0.1
# The causes that no status has: averaged runs whose placement is not proved, those that lack the
# measure that is asked about, and those that a source of means counts without a cause.
NOT_PROVABLE = "not provable"
NOT_MEASURED = "not measured"
UNEXPLAINED = "not averaged"

_DID = {
    TIMEOUT: "reached the limit",
    FAILED: "failed",
    CHECK_FAILED: "gave a wrong result",
    PLACEMENT_VIOLATED: "violated the placement",
    NOT_PROVABLE: "lacked a proof of the placement",
    NOT_MEASURED: "have no value",
    SETTINGS_CHANGED: "saw settings change",
    CLOCK_DRIFTED: "had a clock that drifted",
    SUSPENDED: "met a suspend of the node",
    UNEXPLAINED: "were not averaged",
}


def is_sample(lost: int, made: int) -> bool:
    """Return whether the runs that are left stand for all that were made."""
    return lost <= MAX_LOST * made


@dataclass(frozen=True)
class LostRuns:
    """How many runs of a case were lost by each cause, of those that were `made`.

    A cause is a status, NOT_PROVABLE, NOT_MEASURED or UNEXPLAINED. `made` is None where a source of
    means does not say how many runs there were; `is_known` is False where it says nothing of lost
    ones either.
    """

    made: int | None
    by_cause: Mapping[str, int] = field(default_factory=dict)
    is_known: bool = True

    @property
    def count(self) -> int:
        """How many runs were lost."""
        return sum(self.by_cause.values())

    @property
    def usable(self) -> bool:
        """Whether the case may be compared, and recommended.

        Of an unknown number of runs nobody knows that a tenth at most was lost.
        """
        return not self.count or (self.made is not None and is_sample(self.count, self.made))

    def for_measure(self, missing: int) -> LostRuns:
        """Return the lost runs of a measure that `missing` of the averaged runs lack.

        Which runs lack it may depend on how they ran: a counter wraps in the longest. Those without
        a proof of their placement may be the same, and count no second time.
        """
        if not missing:
            return self
        others = {cause: n for cause, n in self.by_cause.items() if cause != NOT_PROVABLE}
        lost = replace(self, by_cause=others | {NOT_MEASURED: missing})
        return lost if self.usable else self

    def summary(self, case: str = "") -> str:
        """Return what became of them: `12 of 18 runs of #3 pcores-pin reached the limit`."""
        runs = plural(self.count, "run")
        if self.made is not None:
            runs = f"{self.count} of {plural(self.made, 'run')}"
        whose = f"{runs} of {case}" if case else runs
        if len(self.by_cause) == 1:
            (cause,) = self.by_cause
            return f"{whose} {_did(cause)}"
        parts = [f"{count} {_did(cause)}" for cause, count in self.by_cause.items()]
        return f"{whose} were lost: {', '.join(parts)}"


def _did(cause: str) -> str:
    return _DID.get(cause, f"ended as {cause}")


def lost_runs(
    n: int | None,
    excluded: Mapping[str, int],
    *,
    unproved: int,
    violated: int = 0,
    unexplained: int | None = 0,
) -> LostRuns:
    """Return the lost runs of a case with `n` averaged runs and others that are not, by status.

    `unproved` of the averaged runs are not proved to be where they belong. `violated` counts as
    well where a source tells of such runs apart from `excluded`. `unexplained` more were lost by
    causes that the source does not tell; None where it tells nothing of lost runs.
    """
    by_cause = {status: count for status, count in excluded.items() if status != INTERRUPTED}
    if violated:
        by_cause[PLACEMENT_VIOLATED] = max(violated, by_cause.get(PLACEMENT_VIOLATED, 0))
    not_averaged = sum(by_cause.values()) + (unexplained or 0)
    by_cause |= {NOT_PROVABLE: unproved, UNEXPLAINED: unexplained or 0}
    by_cause = {cause: count for cause, count in by_cause.items() if count}
    is_known = unexplained is not None or bool(by_cause)
    return LostRuns(None if n is None else n + not_averaged, by_cause, is_known)
