"""The precision of a mean over runs: its confidence interval, with the standard library alone.

A study in progress cannot wait for the import of scipy, which may not be installed either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, sqrt
from typing import Any

from configs.repetitions import PRECISION_OF, Precision
from runners.plan.plan import Plan
from runners.records.race.student_t import Moments, quantile


def repetition_rule(plan: Plan) -> dict[str, Any] | None:
    """Return the `repetition_rule` of a study's records; None for a fixed number of repetitions."""
    study, race = plan.study, plan.study.race
    if plan.again:
        return {"undecided": {"look": plan.again.look}}
    if race:
        return {
            "race": {
                "of": race.of,
                "better": "higher" if race.higher else "lower",
                "margin": race.margin,
                "time_budget_s": race.within_s,
                "runs": race.runs,
                # Cases without time to race have no other trace in the records.
                "cases": len(plan.cases),
                **({"region": race.region} if race.region else {}),
            }
        }
    if decide := study.decide:
        return {
            "decide": {
                "first": decide.first,
                "max": study.repetitions,
                "time_budget_s": decide.within_s,
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


def half_width(of: Moments) -> float:
    """Return half the width of a mean's 95 % confidence interval, as a share of the mean.

    Infinite for fewer than two numbers, and without a positive mean.
    """
    if of.count < 2 or not of.mean > 0:
        return inf
    return quantile(0.025, of.count - 1) * sqrt(of.variance / of.count) / of.mean


def figures_of(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a good run's record by word of PRECISION_OF, those that it has."""
    values = {word: record.get(name) for word, name in PRECISION_OF.items()}
    return {word: value for word, value in values.items() if value is not None}


@dataclass
class CasePrecision:
    """The precision that the good runs of a case have reached so far."""

    wanted: Precision
    runs: int = 0
    _moments: dict[str, Moments] = field(default_factory=dict)

    def add(self, figures: Mapping[str, float]) -> None:
        """Add a good run; `figures` are its measured numbers by word."""
        self.runs += 1
        for word, value in figures.items():
            self._moments.setdefault(word, Moments()).add(value)

    @property
    def decided_by(self) -> tuple[str, ...]:
        """The wanted figures that were measured, which decide when the case ends; else time."""
        return tuple(word for word in self.wanted.of if word in self._moments) or ("time",)

    @property
    def half_widths(self) -> dict[str, float]:
        """Half the intervals' widths as shares of their means, by word; finite ones only."""
        widths = {word: half_width(self._of(word)) for word in self.decided_by}
        return {word: width for word, width in widths.items() if isfinite(width)}

    @property
    def reached(self) -> bool:
        """Whether the means that decide are precise enough and have enough good runs."""
        return all(
            known.count >= self.wanted.least and half_width(known) <= self.wanted.half_width
            for known in map(self._of, self.decided_by)
        )

    def _of(self, word: str) -> Moments:
        return self._moments.get(word, Moments())
