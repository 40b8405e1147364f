"""Drift in sentences: by how much runs changed from first to last, rather than by the hour."""

from __future__ import annotations

import numpy as np

from analysis.format.numbers import percent
from analysis.statistics.drift import Drift, Trend

# Changes below half of a hundredth of a per cent have no number.
_SMALLEST = 0.00005


def drift_sentences(drift: Drift | None) -> list[str]:
    """Return what trends over time and temperature, and changes between attempts, say."""
    if drift is None:
        return ["Without runs nothing can be said of drift."]
    said = [
        _trend(
            drift.over_time,
            "over time",
            "the study went on",
            "the first to the last run of an attempt",
        ),
        _trend(
            drift.over_temperature,
            "with temperature",
            "the package became warmer",
            "the coolest to the warmest",
        ),
        *_steps(drift),
    ]
    if any(trend and trend.found for trend in (drift.over_time, drift.over_temperature)):
        said.append(
            "Where cases are compared within blocks of runs, a drift falls on both of them alike."
        )
    return said


def found_drift(drift: Drift | None) -> list[str]:
    """Return the trends and changes that were found, a sentence each."""
    if drift is None:
        return []
    over_time, over_temperature = drift_sentences(drift)[:2]
    return [
        *([over_time] if drift.over_time and drift.over_time.found else []),
        *([over_temperature] if drift.over_temperature and drift.over_temperature.found else []),
        *_steps(drift),
    ]


def _steps(drift: Drift) -> list[str]:
    return [
        f"From attempt {step.before} to attempt {step.after} runs became "
        f"{_slower(step.trend)} by {_size(step.trend.change)} ({_ends(step.trend)})."
        for step in drift.steps
    ]


def _trend(trend: Trend | None, over: str, meanwhile: str, span: str) -> str:
    if trend is None:
        return f"Whether runs drifted {over} cannot be told: too few runs, or nothing to go by."
    if trend.found:
        return (
            f"Runs became {_slower(trend)} as {meanwhile}: by {_size(trend.change)} from "
            f"{span} ({_ends(trend)}; {trend.n} runs)."
        )
    if 0.0 in trend.interval:
        return f"No drift {over} was found (from {span}, {_ends(trend)}; {trend.n} runs)."
    return (
        f"No drift {over} was found: a line through the {trend.n} runs rises or falls (from "
        f"{span}, {_ends(trend)}), but their ranks do not, so that a few runs make it."
    )


def _slower(trend: Trend) -> str:
    return "slower" if trend.slope > 0 else "faster"


def _ends(trend: Trend) -> str:
    """Return the interval of the change over the whole span."""
    with np.errstate(over="ignore"):
        low, high = np.expm1(np.array([trend.interval.low, trend.interval.high]) * trend.span)
    return f"95 % interval {_signed(low)} to {_signed(high)}"


def _signed(share: float) -> str:
    if abs(share) < _SMALLEST:
        return "0 %"
    return f"{'+' if share > 0 else '-'}{percent(abs(share))}"


def _size(share: float) -> str:
    return "less than 0.01 %" if abs(share) < _SMALLEST else percent(abs(share))
