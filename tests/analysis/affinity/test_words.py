"""Ratios and comparisons in words, with their uncertainty."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from analysis.affinity.told import Subject, says, speed_ratio, time_ratio
from analysis.statistics.decision import Forecast, Word
from analysis.statistics.difference import Difference
from analysis.verdict.model import Comparison

SUBJECT = Subject("Two threads", "left alone", "they take left alone")


def difference(ratio: float, error: float = 0.01) -> Difference:
    return Difference(math.log(ratio), error, 9, 10, paired=True, estimand="typical")


def comparison(ratio: float, word: Word, more: Forecast | None = None) -> Comparison:
    return Comparison("time", difference(ratio), 0.0, 1.0, word, more)


def test_a_speed_is_the_time_ratio_turned_over_with_its_ends_exchanged() -> None:
    # t(0.975; 9) is 2.262: the ends of log(1/4) are 0.0226 away.
    low, high = 4 * math.exp(-0.022622), 4 * math.exp(0.022622)

    assert speed_ratio(difference(0.25)) == f"4.000 times ({low:.3f} to {high:.3f})"
    assert time_ratio(difference(4.0)) == f"4.000 times ({low:.3f} to {high:.3f})"


def test_no_more_digits_are_shown_than_are_known() -> None:
    assert time_ratio(difference(4.0, 0.1)) == "4.00 times (3.19 to 5.02)"
    assert time_ratio(difference(40.0, 0.1)) == "40.0 times (31.9 to 50.2)"


def test_without_spread_there_is_no_interval() -> None:
    assert "no interval" in time_ratio(replace(difference(4.0), standard_error=0.0))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (comparison(0.5, "better"), "Two threads are 2.000 times (1.955 to 2.046) as fast here as"),
        (comparison(2.0, "worse"), "Two threads take 2.000 times (1.955 to 2.046) the time here "),
        (comparison(1.0, "equivalent"), "Two threads are as fast here as left alone, within 1 %: "),
        (
            comparison(1.03, "undecided", Forecast(7, 20)),
            "Whether two threads are faster here or left alone is undecided: 3.0 % more typical "
            "time (0.7 to 5.4 %); 7 to 20 more repetitions would decide",
        ),
        (comparison(1.0, "undecided"), "even a thousand repetitions might not decide"),
    ],
)
def test_each_word_has_its_sentence(found: Comparison, told: str) -> None:
    assert told in says(found, SUBJECT, "here", 0.01)


def test_runs_of_different_attempts_are_told() -> None:
    together = comparison(2.0, "worse")

    assert "attempt" not in says(together, SUBJECT, "here", 0.01)
    assert "no attempt at the study made runs of both" in says(
        replace(together, apart=True), SUBJECT, "here", 0.01
    )
