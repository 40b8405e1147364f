"""Which of the cases that race are worse than the best, and whether it may be taken. Pure.

Values are logarithms of what is raced for, less is better; each case has one a block, and only
blocks count in which every one of them has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log, sqrt

from runners.race.student_t import Moments, quantile, upper_tail

# The probability that the best case is among those ruled out, over all cases and looks together.
ALPHA = 0.02
# The probability that the case which is taken is behind another one by more than the margin.
TAKEN_ALPHA = 0.02
# After one run each nothing is known of the noise. A case that is behind the best by so much is
# out: a difference of 1.4 times has 4.75 standard errors when one run has a deviation of 5 %, and
# still 3 when it has 8 %.
FAR = log(1.4)
# The deviation up to which that holds; results say when it was more.
MAX_NOISE = 0.08
# So much the variances of all cases together weigh beside a case's own, in degrees of freedom
# (Smyth, "Linear models and empirical Bayes methods", 2004): of two or three runs alone a variance
# is hardly known.
SHARED_DF = 4
# Standard errors of a mean: of the values 1, 1.5 and 2 that were tried on simulated nodes
# (docs/advise.md) this one picks well both where noises are alike and where they are not.
FEARED_ERRORS = 1.5


@dataclass(frozen=True)
class Worse:
    """A case, by how much its mean is behind the best, and how probable that is among equals."""

    case_id: str
    behind: float
    p: float | None


@dataclass(frozen=True)
class SampleMatrix:
    """The cases that still race, the reference not among them, by their values block by block.

    `values` have the same blocks for each case, two at least.
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
        """Return the variance of one value of each case, what its block did to all taken off."""
        cases, blocks = len(self.values), self.blocks
        of_blocks = [_mean([of[block] for of in self.values.values()]) for block in range(blocks)]
        found = {}
        for case_id, of in self.values.items():
            rest = [value - block for value, block in zip(of, of_blocks, strict=True)]
            mean = _mean(rest)
            own = sum((value - mean) ** 2 for value in rest) / (blocks - 1)
            # The mean of the block has a share of the case's own deviation in it.
            found[case_id] = own * cases / (cases - 1)
        shared = _mean(list(found.values()))
        weight = blocks - 1
        return {
            case_id: (SHARED_DF * shared + weight * own) / (SHARED_DF + weight)
            for case_id, own in found.items()
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
    """Return the cases that one value each puts far behind the best."""
    best = min(values.values())
    return [
        Worse(case_id, value - best, None)
        for case_id, value in values.items()
        if value - best > FAR
    ]


def worse_cases(field: SampleMatrix, cases: int, look: int) -> list[Worse]:
    """Return the cases that are worse than the best with confidence.

    One-sided t tests, corrected for all `cases` that the race began with (Bonferroni), and for the
    looks: the first one spends half of the error, the next a sixth, then a twelfth, 1/(n(n + 1)),
    which is all of it however many looks there are.
    """
    level = ALPHA / max(1, cases - 1) / (look * (look + 1))
    errors = field.errors()
    found = []
    for case_id in field.values:
        behind = field.behind(case_id)
        if case_id == field.best:
            continue
        t = behind / errors[case_id] if errors[case_id] > 0 else (inf if behind > 0 else 0.0)
        p = upper_tail(t, field.df)
        if p < level:
            found.append(Worse(case_id, behind, p))
    return found


def may_be_taken(field: SampleMatrix, margin: float) -> bool:
    """Return whether the best is, with confidence, within the margin of each other case.

    An indifference zone (Bechhofer, "A single-sample multiple decision procedure for ranking means
    of normal populations", 1954): to find out which of two that hardly differ is the better one
    would take many runs, and it does not matter. `margin` is a logarithm.
    """
    others = len(field.values) - 1
    if not others:
        return True
    errors = field.errors()
    needed = quantile(TAKEN_ALPHA / others, field.df)
    return all(
        field.behind(case_id) + margin >= needed * errors[case_id]
        for case_id in field.values
        if case_id != field.best
    )


def upper_bound_of_mean(values: Sequence[float]) -> float:
    """Return what may be feared of a case: its mean, and FEARED_ERRORS more; infinite without any.

    Of two that cannot be told apart the steadier one is to be taken.
    """
    if not values:
        return inf
    moments = Moments.of(values)
    return moments.mean + FEARED_ERRORS * sqrt(moments.variance / moments.count)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
