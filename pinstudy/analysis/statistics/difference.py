"""Compare two cases: the ratio of their values, its interval and its tests.

Ratios are compared as differences of logarithms. Verdicts are about the typical ratio: the trimmed
mean of the pairs' log ratios, or the difference of two trimmed means. Published means have no runs
to trim, and races compare means by rules of their own.

No test keeps its level for a mean when one of two mappings has rare slow runs, for ten runs often
hold none of them. The mean of the middle 60 % keeps it whatever shapes both have (`make noise`;
docs/error-rates.md has the figures), and its error follows from the winsorised deviations: Tukey
and McLaughlin, "Less Vulnerable Confidence and Significance Procedures" (1963); Yuen, "The
Two-Sample Trimmed t for Unequal Population Variances" (1974).

Memory layout, page colours, firmware and the hours change between two boots or days, for all runs
of one together: more repetitions within one boot do not average that out (Kalibera and Jones,
"Rigorous Benchmarking in Reasonable Time", 2013). Where values come from several such units, the
error is that of a one-way random effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pinstudy.analysis.statistics.sample import LEVEL, Array, Interval, cut_from_each_end

# What is compared: typical values (trimmed means), or means.
Estimand = Literal["typical", "mean"]

# No clock tells runs apart by less: a standard deviation of logarithms up to this one is only the
# rounding of equal times.
ROUNDING = 1e-12


class Components(NamedTuple):
    """The variances of a log ratio that a pair brings in, and that a boot or day brings in."""

    within: float
    between: float


@dataclass(frozen=True)
class Difference:
    """log(a / b), its standard error and degrees of freedom, from `n` repetitions of each.

    `paired` says whether runs were compared within their blocks. `cut` is how many values were
    taken from each end of each sample, 0 for means and for fewer than seven values. `units` is how
    many boots or days made the pairs; the error includes the variance between them, and
    `components` are its parts; None of one unit.
    """

    log_ratio: float
    standard_error: float
    df: float
    n: int
    paired: bool
    estimand: Estimand = "mean"
    cut: int = 0
    units: int = 1
    components: Components | None = None

    @classmethod
    def of_pairs(
        cls, log_a: Array, log_b: Array, units: NDArray[np.intp] | None = None
    ) -> Difference:
        """Compare runs that share their blocks: arrays of equal length, two values or more.

        The typical ratio is the trimmed mean of the pairs' log ratios, its error Yuen's. `units`
        numbers the boot or day of each pair.
        """
        ratios = np.asarray(log_a) - np.asarray(log_b)
        cut = cut_from_each_end(len(ratios))
        centre = centre_of(ratios, cut)
        variance, df = centre.variance, centre.df
        count = 1 if units is None else len(np.unique(units))
        parts = None
        if units is not None and count > 1 and variance > 0:
            variance, df, parts = with_units(ratios, centre, units)
        n = len(ratios)
        return cls(centre.value, variance**0.5, df, n, True, "typical", cut, count, parts)

    @classmethod
    def of_runs(cls, log_a: Array, log_b: Array) -> Difference:
        """Compare runs that share no blocks: arrays of two values or more (Yuen 1974).

        Both are trimmed, or neither where one of them has too few values for it.
        """
        is_cut = cut_from_each_end(min(len(log_a), len(log_b))) > 0
        a, b = (
            centre_of(logs, cut_from_each_end(len(logs)) if is_cut else 0)
            for logs in (log_a, log_b)
        )
        return cls._of_centres(a, b, "typical")

    @classmethod
    def welch(cls, log_a: Array, log_b: Array) -> Difference:
        """Compare the means of runs that share no blocks: two values or more (Welch 1947)."""
        return cls._of_centres(centre_of(log_a, 0), centre_of(log_b, 0), "mean")

    @classmethod
    def _of_centres(cls, a: Centre, b: Centre, estimand: Estimand) -> Difference:
        least = min(a, b, key=lambda centre: centre.n)
        parts = (a.variance, a.df), (b.variance, b.df)
        found = cls._unpaired(a.value - b.value, parts, least.n)
        return replace(found, estimand=estimand, cut=(least.n - least.kept) // 2)

    @classmethod
    def of_weighted(cls, log_ratio: float, samples: Sequence[tuple[float, Array]]) -> Difference:
        """Compare what follows from several samples of logarithms that share no blocks.

        `samples` have two values or more, and how much the log ratio changes with each one's
        typical value (delta method); variances add up with the squares of these weights. All are
        trimmed, or none where one of them has too few values for it.
        """
        is_cut = min(cut_from_each_end(len(logs)) for _, logs in samples) > 0
        centres = [
            centre_of(logs, cut_from_each_end(len(logs)) if is_cut else 0) for _, logs in samples
        ]
        least = min(centres, key=lambda centre: centre.n)
        parts = [
            (weight**2 * centre.variance, centre.df)
            for (weight, _), centre in zip(samples, centres, strict=True)
        ]
        found = cls._unpaired(log_ratio, parts, least.n)
        return replace(found, estimand="typical", cut=(least.n - least.kept) // 2)

    @classmethod
    def of_weighted_summaries(
        cls, log_ratio: float, samples: Sequence[tuple[float, tuple[float, float, int]]]
    ) -> Difference:
        """Compare what follows from published means: (mean, sd, n) with weights as above."""
        parts = [((weight * sd / mean) ** 2 / n, float(n - 1)) for weight, (mean, sd, n) in samples]
        return cls._unpaired(log_ratio, parts, min(n for _, (_, _, n) in samples))

    @classmethod
    def from_summary(
        cls, mean_a: float, sd_a: float, n_a: int, mean_b: float, sd_b: float, n_b: int
    ) -> Difference:
        """Compare published means: positive, with sd (n - 1) and two repetitions or more each.

        The variance of a logarithm of a mean is (sd / mean)^2 / n to first order (delta method).
        """
        return cls.of_weighted_summaries(
            float(np.log(mean_a) - np.log(mean_b)),
            [(1, (mean_a, sd_a, n_a)), (-1, (mean_b, sd_b, n_b))],
        )

    @classmethod
    def _unpaired(
        cls, log_ratio: float, parts: Sequence[tuple[float, float]], n: int
    ) -> Difference:
        """`parts` are the (variance, degrees of freedom) of what the log ratio is the sum of."""
        variance = sum(part for part, _ in parts)
        # Welch and Satterthwaite's approximate degrees of freedom.
        squares = sum(part**2 / df for part, df in parts)
        df = variance**2 / squares if squares > 0 else float(min(df for _, df in parts))
        return cls(log_ratio, variance**0.5, df, n, paired=False)

    @property
    def ratio(self) -> float:
        """How many times the value of b that of a is."""
        return _exp(self.log_ratio)

    @property
    def spread(self) -> float:
        """The standard deviation that one repetition brings into the log ratio."""
        return float(self.standard_error * self.n**0.5)

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval of the ratio; two wild runs may give one from 0 to infinity.

        Without any spread it has no width: then it tells nothing about the true ratio.
        """
        return self.between((1 - level) / 2, (1 - level) / 2)

    def between(self, above: float, below: float) -> Interval:
        """Return the interval whose ends are that often above and below the true ratio.

        0 is no end.
        """
        down, up = (
            -float(special.stdtrit(self.df, tail)) * self.standard_error if tail else np.inf
            for tail in (above, below)
        )
        return Interval(_exp(self.log_ratio - down), _exp(self.log_ratio + up))

    def known_interval(self, level: float = LEVEL) -> Interval | None:
        """Return the interval of the ratio; None without any spread, which tells nothing of it."""
        return self.interval(level) if self.standard_error > 0 else None

    @property
    def p_different(self) -> float:
        """The two-sided p-value of "both are the same"; 1 when no spread was measured."""
        if self.standard_error == 0:
            return 1.0
        return float(2 * special.stdtr(self.df, -abs(self.log_ratio) / self.standard_error))

    def p_outside(self, margin: float) -> float:
        """Return the p-value of "the ratio is at the margin or beyond", a share such as 0.01.

        The larger of two one-sided tests, at 1 / (1 + margin) and 1 + margin (Schuirmann 1987).
        """
        if self.standard_error == 0:
            return 1.0
        nearest = (np.log1p(margin) - abs(self.log_ratio)) / self.standard_error
        return float(special.stdtr(self.df, -nearest))


def _exp(value: float) -> float:
    """Return e to a power, or infinity beyond the largest number."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.exp(value))


@dataclass(frozen=True)
class Centre:
    """A trimmed mean.

    `kept` of the `n` values are averaged. The winsorised values, those cut replaced by the nearest
    one that is kept, stand in the order of the values.
    """

    value: float
    n: int
    kept: int
    winsorised: Array

    @property
    def variance(self) -> float:
        """The square of the trimmed mean's standard error (Yuen 1974); two values are kept.

        0 where the spread is only the rounding of logarithms.
        """
        if float(np.std(self.winsorised, ddof=1)) <= ROUNDING:
            return 0.0
        squares = float(np.sum((self.winsorised - self.winsorised.mean()) ** 2))
        return squares / (self.kept * (self.kept - 1))

    @property
    def df(self) -> float:
        """The degrees of freedom of its error.

        Yuen's kept - 1 rejects up to half as often again as it claims in the tails at which Holm
        tests (normal noise, 10 values, 1 %: 1.4 %). Half a degree less for each value cut from an
        end makes that right from 7 to 16 values, and better beyond.
        """
        return self.kept - 1 - (self.n - self.kept) / 4


def centre_of(values: Array, cut: int) -> Centre:
    """Return the mean of what is left when `cut` values are taken from each end."""
    ordered = np.sort(values)
    kept = ordered[cut : len(ordered) - cut]
    winsorised = np.clip(values, kept[0], kept[-1])
    return Centre(float(kept.mean()), len(values), len(kept), winsorised)


def with_units(
    values: Array, centre: Centre, units: NDArray[np.intp]
) -> tuple[float, float, Components]:
    """Return a trimmed mean's variance with that between units, its degrees of freedom, its parts.

    `centre` is the trimmed mean of `values`. The variance within units is that of the winsorised
    values, scaled so that their mean has the trimmed mean's variance. The variance between units is
    that of their medians, because one slow run does not move a median, and winsorising would draw
    the units together. Components of variance follow from expected mean squares, degrees of freedom
    from Satterthwaite's approximation (1946); that of a pair is Yuen's of the deviations from the
    units' medians. Where units differ no more than their runs do, the
    result is that without units; it is never smaller.
    """
    _, at = np.unique(units, return_inverse=True)
    sizes = np.bincount(at).astype(float)
    n, count = centre.n, len(sizes)
    means = np.bincount(at, weights=centre.winsorised) / sizes
    medians = np.array([np.median(values[at == unit]) for unit in range(count)])
    df_within, df_between = max(1.0, centre.df + 1 - count), float(count - 1)
    scale = n / centre.kept
    squares = float(np.sum((centre.winsorised - means[at]) ** 2))
    within = scale * squares / df_within
    away = medians - float(np.sum(sizes * medians)) / n
    between = float(np.sum(sizes * away**2)) / df_between
    # Of the mean square between units, so many times the units' own variance are expected.
    effective = (n - float(np.sum(sizes**2)) / n) / df_between
    of_between = float(np.sum((sizes / n) ** 2)) / effective
    of_within = max(0.0, 1 / n - of_between)
    variance = of_between * between + of_within * within
    of_pairs = centre_of(values - medians[at], (n - centre.kept) // 2).variance * n
    of_pair = of_pairs * n / max(1, n - count)
    parts = Components(of_pair, max(0.0, between - of_pair) / effective)
    if between <= within or variance <= centre.variance:
        return centre.variance, centre.df, parts
    squares = (of_between * between) ** 2 / df_between + (of_within * within) ** 2 / df_within
    return variance, variance**2 / squares, parts
