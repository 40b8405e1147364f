"""How much faster or slower a placement is, in words, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.findings import Comparison
from analysis.statistics.difference import Difference
from analysis.statistics.interval import Interval
from analysis.verdict.phrases import WIDEST, change, needed, rounded

# No clock of a run's time is worth more.
MAX_DECIMALS = 3


def times(ratio: float, interval: Interval | None) -> str:
    """Return a ratio with its interval: `3.9 times (3.7 to 4.1)`."""
    if interval is None:
        return f"{rounded(ratio, 0.0)} times (no interval: these runs show no spread)"
    if not interval.high < WIDEST * interval.low:
        return f"{rounded(ratio, 0.0)} times (interval wider than a factor of {WIDEST:.0f})"
    half = min(interval.half_width, ratio)
    middle, low, high = (
        rounded(end, half, MAX_DECIMALS) for end in (ratio, interval.low, interval.high)
    )
    return f"{middle} times ({low} to {high})"


def time_ratio(difference: Difference) -> str:
    """Return how many times the time of the other a case takes."""
    known = difference.standard_error > 0
    return times(difference.ratio, difference.interval() if known else None)


def speed_ratio(difference: Difference) -> str:
    """Return how many times as fast as the other a case is: its ratio turned over."""
    ends = difference.interval()
    turned = Interval(_inverse(ends.high), _inverse(ends.low))
    return times(_inverse(difference.ratio), turned if difference.standard_error > 0 else None)


def _inverse(value: float) -> float:
    return 1 / value if value > 0 else float("inf")


@dataclass(frozen=True)
class Subject:
    """Who is compared, and with what: "they are as fast HERE as THERE", "the time that ELSE".

    `who` is plural, as `Two threads that add to one integer`; `there` and `else_takes` say the same
    in two ways: `left to the scheduler`, `they take left to the scheduler`.
    """

    who: str
    there: str
    else_takes: str


def says(comparison: Comparison, subject: Subject, here: str, margin: float) -> str:
    """Return a comparison of times as a sentence, without its full stop."""
    return f"{_says(comparison, subject, here, margin)}{in_other_attempts(comparison)}"


def in_other_attempts(comparison: Comparison) -> str:
    """Return what to add where no attempt made runs of both cases; empty where one did."""
    if not comparison.apart:
        return ""
    return (
        "; no attempt at the study made runs of both, so that a change of the node between "
        "attempts would look like a difference"
    )


def _says(comparison: Comparison, subject: Subject, here: str, margin: float) -> str:
    difference = comparison.difference
    who, there = subject.who, subject.there
    if comparison.word == "better":
        return f"{who} are {speed_ratio(difference)} as fast {here} as {there}"
    if comparison.word == "worse":
        return f"{who} take {time_ratio(difference)} the time {here} that {subject.else_takes}"
    found = change(difference, "time")
    if comparison.word == "equivalent":
        within = f"within {margin * 100:g} %"
        return f"{who} are as fast {here} as {there}, {within}: {found}"
    who = who[:1].lower() + who[1:]
    return f"Whether {who} are faster {here} or {there} is undecided: {found}{_more(comparison)}"


def _more(comparison: Comparison) -> str:
    if not comparison.difference.standard_error > 0:
        return ""
    return "".join(f"; {said}" for said in needed(comparison))
