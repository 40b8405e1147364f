"""Which cases of a race are worse than the best, and whether the best may be taken. Pure.

Values are logarithms of the measure raced for; less is better. Each case has one value a block, and
only blocks with a value of every case count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log, sqrt

from runners.records.race.student_t import Moments, p_value, quantile

# The probability of eliminating the best case, over all cases and interim analyses together.
ALPHA = 0.02
# The probability of taking a case that is behind another one by more than the margin.
TAKEN_ALPHA = 0.02
# After one run each the noise is not known. A case so far behind the best is eliminated: a
# difference of 1.4 times has 4.75 standard errors when one run has a deviation of 5 %, and still 3
# when it has 8 %.
FAR = log(1.4)
# That holds up to this deviation; results report a larger one.
MAX_NOISE = 0.08
# The weight of all cases' mean variance beside a case's own, in degrees of freedom (Smyth, "Linear
# models and empirical Bayes methods", 2004): two or three runs alone hardly give a variance.
SHARED_DF = 4
# Standard errors of a mean: of 1, 1.5 and 2, tried on simulated nodes (docs/race.md), 1.5 picks
# well both where the cases' noise is equal and where it is not.
BOUND_ERRORS = 1.5


@dataclass(frozen=True)
class Worse:
    """A case, by how much its mean is behind the best, and that difference's p between equals."""

    case_id: str
    behind: float
    p: float | None


@dataclass(frozen=True)
class SampleMatrix:
    """The values of some cases of a race, block by block.

    `values` has the same blocks for each case, two at least.
    """

    values: Mapping[str, Sequence[float]]

    @property
    def blocks(self) -> int:
        """How many blocks count."""
        return min(map(len, self.values.values()))

    @cached_property
    def best(self) -> str:
        """The case with the best mean."""
        return min(self._means, key=lambda case_id: self._means[case_id])

    @cached_property
    def _means(self) -> Mapping[str, float]:
        return {case_id: _mean(of) for case_id, of in self.values.items()}

    def behind(self, case_id: str) -> float:
        """Return by how much a case's mean is behind the best one."""
        return self._means[case_id] - self._means[self.best]

    def variances(self) -> dict[str, float]:
        """Return the variance of one value of each case, without the common effect of its block."""
        cases, blocks = len(self.values), self.blocks
        of_blocks = [_mean([of[block] for of in self.values.values()]) for block in range(blocks)]
        own_variances = {}
        for case_id, of in self.values.items():
            rest = [value - block for value, block in zip(of, of_blocks, strict=True)]
            # A block's mean contains a share of the case's own deviation.
            own_variances[case_id] = Moments.of(rest).variance * cases / (cases - 1)
        shared = _mean(list(own_variances.values()))
        weight = blocks - 1
        return {
            case_id: (SHARED_DF * shared + weight * own) / (SHARED_DF + weight)
            for case_id, own in own_variances.items()
        }

    @property
    def df(self) -> int:
        """The degrees of freedom of a variance: no more than all cases have together."""
        own = self.blocks - 1
        return min(SHARED_DF + own, (len(self.values) - 1) * own)

    def errors(self) -> dict[str, float]:
        """Return the standard error of each case's difference from the best one."""
        variances = self.variances()
        of_best = variances[self.best]
        return {
            case_id: sqrt((variance + of_best) / self.blocks)
            for case_id, variance in variances.items()
        }


def far_behind(values: Mapping[str, float]) -> list[Worse]:
    """Return the cases that are far behind the best by one value each."""
    best = min(values.values())
    return [
        Worse(case_id, value - best, None)
        for case_id, value in values.items()
        if value - best > FAR
    ]


def worse_cases(field: SampleMatrix, cases: int, analysis: int) -> list[Worse]:
    """Return the cases that are worse than the best with confidence.

    One-sided t tests, corrected for all `cases` that the race began with (Bonferroni) and for the
    interim analyses: number n spends 1/(n(n + 1)) of the error, a half, a sixth, a twelfth, which
    never adds up to more than all of it.
    """
    level = ALPHA / max(1, cases - 1) / (analysis * (analysis + 1))
    errors = field.errors()
    worse = []
    for case_id in field.values:
        behind = field.behind(case_id)
        if case_id == field.best:
            continue
        p = p_value(behind, errors[case_id], field.df)
        if p < level:
            worse.append(Worse(case_id, behind, p))
    return worse


def may_be_taken(field: SampleMatrix, margin: float) -> bool:
    """Return whether the best is, with confidence, within the margin of each other case.

    An indifference zone (Bechhofer, "A single-sample multiple decision procedure for ranking means
    of normal populations", 1954): to find the better one of two cases that hardly differ takes many
    runs and does not matter. `margin` is a logarithm.
    """
    others = len(field.values) - 1
    errors = field.errors()
    needed = quantile(TAKEN_ALPHA / others, field.df)
    return all(
        field.behind(case_id) + margin >= needed * errors[case_id]
        for case_id in field.values
        if case_id != field.best
    )


def upper_bound_of_mean(values: Sequence[float]) -> float:
    """Return the mean plus BOUND_ERRORS standard errors; infinite without values.

    It prefers the steadier one of two cases whose means do not differ reliably.
    """
    if not values:
        return inf
    moments = Moments.of(values)
    return moments.mean + BOUND_ERRORS * sqrt(moments.variance / moments.count)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
