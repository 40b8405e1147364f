"""The confirmation: the best case against the reference, by fresh pairs of runs. Pure.

The best of many is partly the luckiest, so the runs that selected it overestimate its gain and do
not count here. Both make one run a block, in an order drawn anew: what a node does to neighbouring
runs (bursts, slow waves) falls on either of them alike, and the pairs' differences have no memory.

A gain must hold twice. The typical gain is the trimmed mean of the pairs' log ratios, as in a
verdict: rare slow runs are not in it. The gain of the mean has them in it, those included that so
few runs may not show. Values are logarithms of the measure raced for; less is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import copysign, exp, log, log1p, sqrt
from statistics import NormalDist, fmean, median

# Of searches so many tell a gain where there is none, and of intervals so many miss the truth.
ALPHA = 0.05
# An interim analysis follows 10, 29, 58, 116, … pairs. Only an overwhelming difference ends the
# confirmation early, which costs the last analysis next to nothing (Haybittle, "Repeated assessment
# of results in clinical trials of cancer treatment", 1971; Peto et al., 1976).
EARLY_ALPHA = 0.002
MAX_EARLY_ANALYSES = 10
# With fewer pairs nothing is decided.
MIN_PAIRS = 10
# Of a case with one slow run in ten, so many runs show one with a probability of 95 %.
SEEN_PAIRS = 29
# The share cut from each end for a typical gain (analysis.statistics.difference has the reasons).
TRIMMED = 0.2
# The gain of a mean holds if a slow run of which none was seen takes so much longer at most, as a
# share: as long again below SEEN_PAIRS, then, as it is rarer than one in ten, this share. It costs
# runs: with none seen, 10 pairs show a gain of 21 % at the last analysis and of a third at an early
# one, 29 pairs one of 3 %, 60 one of 1.5 %.
FEW_UNSEEN = 1.0
RARE_UNSEEN = 0.3
# Standard deviations of logarithms up to this one are the rounding of equal values.
ROUNDING = 1e-12
# Gains of means are looked for up to this one, a logarithm.
_MAX_GAIN = 5.0
# Half as many leave a hundred thousandth of a gain.
_HALVINGS = 40
_PRECISION = 1e-9
# So near its middle the approximation divides zero by zero.
_NEAR_MIDDLE = 1e-4
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Typical:
    """A trimmed mean, its standard error by Yuen (1974), and the error's degrees of freedom."""

    mean: float
    error: float
    df: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Typical:
        """Return the typical one of logarithms; the error of a single one is 0."""
        ordered = sorted(values)
        n = len(ordered)
        cut = int(TRIMMED * n)
        kept = ordered[cut : n - cut]
        winsorised = [min(max(value, kept[0]), kept[-1]) for value in ordered]
        middle = fmean(winsorised)
        squares = sum((value - middle) ** 2 for value in winsorised)
        error = sqrt(squares / (len(kept) * max(1, len(kept) - 1)))
        if sqrt(squares / max(1, n - 1)) <= ROUNDING:
            error = 0.0
        return cls(fmean(kept), error, len(kept) - 1 - cut / 2)

    def bounds(self, level: float) -> tuple[float, float]:
        """Return both ends of the interval that misses the truth with the probability `level`."""
        # Only a race needs it, and later than its first runs.
        from scipy import special

        reach = float(special.stdtrit(self.df, 1 - level / 2)) * self.error
        return self.mean - reach, self.mean + reach

    @property
    def p(self) -> float:
        """The one-sided p-value of "no gain"; 1 without spread, which no test can use."""
        from scipy import special

        return float(special.stdtr(self.df, -self.mean / self.error)) if self.error else 1.0


def typical_gain(best: Sequence[float], reference: Sequence[float]) -> Typical:
    """Return the typical gain of pairs, as a verdict has it."""
    return Typical.of(other - mine for mine, other in zip(best, reference, strict=True))


@dataclass(frozen=True)
class Means:
    """The logarithms of pairs, whose measured values are compared by their means.

    `higher` says that more of the measure is better.
    """

    best: Sequence[float]
    reference: Sequence[float]
    higher: bool = False

    @property
    def gain(self) -> float:
        """The logarithm of the ratio of the means, by which the best case is better."""
        mine, other = (sum(map(self._amount, case)) for case in (self.best, self.reference))
        return abs(log(mine / other)) * (1 if mine < other else -1)

    def p(self, gain: float = 0.0) -> float:
        """Return the p-value of "the mean is better by `gain` or less", a logarithm.

        One more pair is taken into account: a slow run of the best case that was not seen.
        """
        factor = exp(gain if self.higher else -gain)
        losses = [
            self._amount(mine) - factor * self._amount(other)
            for mine, other in zip(self.best, self.reference, strict=True)
        ]
        unseen = FEW_UNSEEN if len(self.best) < SEEN_PAIRS else RARE_UNSEEN
        slow = self._amount(median(self.best) + log1p(unseen))
        return p_of_mean(losses, slow - factor * self._amount(self._middle))

    def least_gain(self, level: float) -> float:
        """Return the gain that the true one falls short of with the probability `level`."""
        low, high = -_MAX_GAIN, _MAX_GAIN
        for _ in range(_HALVINGS // 2):
            middle = (low + high) / 2
            low, high = (middle, high) if self.p(middle) <= level else (low, middle)
        return low

    @cached_property
    def _middle(self) -> float:
        return median(self.reference)

    def _amount(self, number: float) -> float:
        """Return a value in units of the reference's median, of which less is better."""
        number -= self._middle
        return -exp(-number) if self.higher else exp(number)


def p_of_mean(losses: Sequence[float], worst: float) -> float:
    """Return the p-value of "the mean loss is 0 or more", where no loss exceeds the worst.

    It is the probability that the losses and the worst, with weights that are drawn evenly among
    all that add up to 1, have a mean of 0 or more. Of losses of two sizes that is Clopper and
    Pearson's exact p-value, and Student's t keeps no level with rare large ones. Gaffke, "Three
    test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable"
    (2005); Learned-Miller and Thomas, "A new confidence interval for the mean of a bounded random
    variable" (2020). The weights are exponential deviates over their sum, so that it is the upper
    tail at 0 of a weighted sum of these, by the saddlepoint approximation of Lugannani and Rice
    (1980).
    """
    terms = [*losses, max(worst, *losses)]
    least, most = min(terms), max(terms)
    if most <= 0 or least >= 0:
        return 0.0 if most <= 0 and least < 0 else 1.0
    at, low, high = 0.0, 1 / least, 1 / most
    for _ in range(_HALVINGS):
        parts = [term / (1 - at * term) for term in terms]
        middle = sum(parts)
        low, high = (low, at) if middle > 0 else (at, high)
        # Newton's step, or half of what is left where that is too long.
        step = at - middle / sum(part * part for part in parts)
        step = step if low < step < high else (low + high) / 2
        if abs(step - at) <= _PRECISION * (high - low):
            break
        at = step
    slope = at * sqrt(sum((term / (1 - at * term)) ** 2 for term in terms))
    root = copysign(sqrt(max(0.0, 2 * sum(log1p(-at * term) for term in terms))), at)
    if abs(root) < _NEAR_MIDDLE:
        return 0.5
    return _NORMAL.cdf(-root) + _NORMAL.pdf(root) * (1 / slope - 1 / root)


@dataclass(frozen=True)
class InterimAnalysis:
    """The result: `decision` is `gain`, `split`, `no gain`, `undecided`, or empty to go on.

    `level` is the probability with which one of its intervals misses the truth. `p` is the
    one-sided p-value of "no typical gain"; None with too few pairs, and 1 where the pairs do not
    differ: no test can use these, and a coarse clock makes them.
    """

    decision: str
    level: float | None = None
    p: float | None = None


def is_analysed(pairs: int, earlier: int) -> bool:
    """Return whether an interim analysis follows so many pairs, after so many earlier ones."""
    needed = SEEN_PAIRS << (earlier - 1) if earlier else MIN_PAIRS
    return earlier < MAX_EARLY_ANALYSES and pairs >= needed


def analyse(
    best: Sequence[float],
    reference: Sequence[float],
    margin: float,
    earlier: int,
    *,
    last: bool,
    higher: bool = False,
) -> InterimAnalysis:
    """Analyse the pairs so far; `margin` is a logarithm.

    `earlier` is the number of earlier analyses, `last` whether no more pairs can be made.
    """
    go_on = "undecided" if last else ""
    if len(best) < MIN_PAIRS:
        return InterimAnalysis(go_on)
    level = ALPHA - EARLY_ALPHA * min(earlier, MAX_EARLY_ANALYSES) if last else EARLY_ALPHA
    typical, means = typical_gain(best, reference), Means(best, reference, higher)
    if not typical.error:
        return InterimAnalysis(go_on, level, 1.0)
    least, most = typical.bounds(level)
    gains_typically = least > 0 and typical.mean > margin
    gains_by_mean = means.gain > margin and means.p() <= level
    decision = go_on
    if gains_typically and gains_by_mean:
        decision = "gain"
    elif last and (gains_typically or gains_by_mean):
        decision = "split"
    elif most < margin and (last or means.gain <= margin):
        decision = "no gain"
    return InterimAnalysis(decision, level, typical.p)
