"""The precision of a mean over runs: its confidence interval, with the standard library alone.

A study in progress cannot wait for the import of scipy, which may not be installed either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf, isfinite, sqrt
from statistics import NormalDist
from typing import Any

from configs.repetitions import PRECISION_OF, Precision
from configs.study import Study

CONFIDENCE = 0.95


def percent(share: float) -> str:
    """Return a share as a percentage of up to three digits: `1 %`, `0.25 %`, `10.3 %`."""
    return f"{100 * share:.3g} %"


def said(wanted: Precision) -> str:
    """Return in words the precision that ends a case."""
    means = " and ".join(wanted.of) + (" is" if len(wanted.of) == 1 else " are")
    return f"until the mean {means} known to ±{percent(wanted.half_width)} (95 % confidence)"


def repetition_rule(study: Study) -> dict[str, Any] | None:
    """Return the `repetition_rule` of a study's records; None for a fixed number of repetitions."""
    if study.race:
        race = study.race
        return {
            "race": {
                "of": race.of,
                "better": "higher" if race.higher else "lower",
                "margin": race.margin,
                "within_s": race.within_s,
                "runs": race.runs,
            }
        }
    wanted = study.precision
    if wanted is None:
        return None
    return {
        "min": wanted.least,
        "max": study.repetitions,
        "ci_half_width": wanted.half_width,
        "of": list(wanted.of),
    }


@dataclass
class Tally:
    """The running count, mean and sum of squared deviations of numbers.

    Welford, "Note on a method for calculating corrected sums of squares and products" (1962).
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Take in one more number."""
        self.count += 1
        away = value - self.mean
        self.mean += away / self.count
        self.squares += away * (value - self.mean)

    @property
    def half_width(self) -> float:
        """Half the width of the mean's confidence interval, as a share of the mean.

        Infinite for fewer than two numbers, and without a positive mean.
        """
        if self.count < 2 or not self.mean > 0:
            return inf
        variance = self.squares / (self.count - 1)
        half_width: float = t_quantile(self.count - 1) * sqrt(variance / self.count) / self.mean
        return half_width


@cache
def t_quantile(df: int) -> float:
    """Return how many standard errors the 95 % confidence interval of a mean reaches to each side.

    The quantile of Student's t by its Cornish-Fisher expansion, Abramowitz and Stegun, Handbook of
    Mathematical Functions, 26.7.5. It is too small by 0.75 % for 2 degrees of freedom, the fewest
    of a study, by 0.12 % for 3, 0.03 % for 4, and by less than 0.001 % from 9 on.
    """
    x = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + sum(term / float(df) ** power for power, term in enumerate(terms, 1))


def figures_of(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a good run's record by word of PRECISION_OF, positive numbers only."""
    found = {word: record.get(name) for word, name in PRECISION_OF.items()}
    return {
        word: value
        for word, value in found.items()
        if isinstance(value, float) and isfinite(value) and value > 0
    }


@dataclass
class CasePrecision:
    """The precision that the good runs of a case have reached so far."""

    wanted: Precision
    runs: int = 0
    _tallies: dict[str, Tally] = field(default_factory=dict)

    @classmethod
    def of(cls, wanted: Precision, runs: Iterable[Mapping[str, float]]) -> CasePrecision:
        """Return the precision of these good runs, each given by its figures by word."""
        found = cls(wanted)
        for figures in runs:
            found.add(figures)
        return found

    def with_run(self, figures: Mapping[str, float]) -> CasePrecision:
        """Return the precision of these runs and one more good one."""
        tallies = {word: replace(tally) for word, tally in self._tallies.items()}
        more = CasePrecision(self.wanted, self.runs, tallies)
        more.add(figures)
        return more

    def add(self, figures: Mapping[str, float]) -> None:
        """Take in one more good run."""
        self.runs += 1
        for word, value in figures.items():
            self._tallies.setdefault(word, Tally()).add(value)

    @property
    def judged_by(self) -> tuple[str, ...]:
        """The wanted figures that were measured, by which the case is judged; else time."""
        return tuple(word for word in self.wanted.of if word in self._tallies) or ("time",)

    @property
    def half_widths(self) -> dict[str, float]:
        """Half the intervals' widths as shares of their means, by word; finite ones only."""
        tallies = {word: self._tallies.get(word, Tally()) for word in self.judged_by}
        widths = {word: tally.half_width for word, tally in tallies.items()}
        return {word: width for word, width in widths.items() if isfinite(width)}

    @property
    def reached(self) -> bool:
        """Whether the means that decide are precise enough and have enough good runs."""
        tallies = [self._tallies.get(word, Tally()) for word in self.judged_by]
        return all(
            tally.count >= self.wanted.least and tally.half_width <= self.wanted.half_width
            for tally in tallies
        )
