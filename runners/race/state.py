"""The data of a race: its runs and its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# The states of a race; only the first one is not its end.
DECISIONS = {
    "unfinished": "runs that it needs are still to be made",
    "gain": "the best case is reliably better than the reference, and by more than the margin",
    "no gain": "nothing is better than the reference by more than the margin",
    "undecided": "the runs that it may make were not enough to tell",
    "no reference": "the reference has no good run, so that there is nothing to compare with",
}
# Why a case makes no more runs.
WHYS = {
    "far worse": "after one run so far from the best that noise is not the reason",
    "worse": "worse than the best, with the confidence of all such decisions together",
    "not best": "not told from the best, which promised more when one had to be taken",
    "failed": "its run was not good",
    "not placed": "more than a tenth of its runs were not proved to be where it puts its threads",
    "same threads": "it starts as many threads as the reference, whatever it is told",
    "cannot run": "the node cannot run it now",
    "no time": "there was no time for it, or no run",
}


@dataclass(frozen=True)
class RaceRun:
    """One run as a race sees it.

    `value` is the measure raced for, None when there is none; `reason` then says why, if the case
    is to blame, and is empty after a disturbance. `cut` says that the run was ended because it took
    much longer than the shortest one. `elapsed_s` is its seconds, 0 when unknown. `placed` is the
    verdict on its placement, empty when unknown. `told` and `started` are numbers of threads, 0
    when unknown. `disturbed` is by heat, power limits or other tasks.
    """

    value: float | None
    elapsed_s: float
    reason: str = ""
    cut: bool = False
    placed: str = ""
    told: int = 0
    started: int = 0
    disturbed: bool = False


@dataclass(frozen=True)
class Eliminated:
    """A case that makes no more runs, after `block`.

    `why` is a word of WHYS. `worse_by` is the share by which its mean was worse than the best one's
    then, 0.07 for 7 %; None without a value, negative when a steadier case was taken. `p` is the
    probability of such a difference between equal cases, before any correction; None without a
    test. `reason` says why its run failed, was not placed or started the wrong team; else empty.
    """

    case_id: str
    block: int
    why: str
    worse_by: float | None = None
    p: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class RaceState:
    """How a race stands.

    `decision` is a word of DECISIONS. `best` is the case that the confirmation compares with the
    `reference`; None before it is taken, and when no other case is left. `eliminated` is in the
    order of elimination. `confirmation` has the repetitions, by case_id, of the runs that decide:
    those of the best after it was taken, so that they do not overestimate its gain; of the
    reference some earlier ones, too. `p` is the probability of such a confirmation without a gain.
    `looks` is the number of interim analyses. `runs`, without warm-up runs, and `spent_s` are what
    the race has used, `most_runs` is its limit. `noise` is the standard deviation of one run's
    logarithm, pooled over cases; None before two blocks.
    """

    decision: str
    reference: str
    best: str | None
    eliminated: tuple[Eliminated, ...]
    confirmation: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    p: float | None = None
    looks: int = 0
    blocks: int = 0
    runs: int = 0
    most_runs: int = 0
    spent_s: float = 0.0
    noise: float | None = None
