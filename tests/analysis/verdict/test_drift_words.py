"""What is said of drift: sizes that a reader can take in, and no drift without a sign of it."""

from __future__ import annotations

import pytest

from analysis.statistics.drift import Drift, Trend
from analysis.statistics.sample import Interval
from analysis.verdict.drift_words import drift_sentences


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.0, 0.0, "95 % interval 0 % to 0 %"),
        (-3.8e-16, 3.8e-16, "95 % interval 0 % to 0 %"),
        (-0.004, 0.0002, "95 % interval -0.4 % to +0.02 %"),
        (-0.2, 0.3, "95 % interval -18 % to +35 %"),
    ],
)
def test_the_ends_of_an_interval_have_no_exponents_and_nothing_no_sign(
    low: float, high: float, said: str
) -> None:
    flat = Trend((low + high) / 2, Interval(low, high), 1.0, 0.9, 20)
    first, _ = drift_sentences(Drift(flat, None))
    assert first == (
        f"No drift over time was found (from the first to the last run of an attempt, {said}; "
        "20 runs)."
    )


def test_a_drift_too_small_for_a_number_is_said_to_be_small() -> None:
    tiny = Trend(1e-8, Interval(0.5e-8, 1.5e-8), 1.0, 0.001, 20)
    first, *_ = drift_sentences(Drift(tiny, None))
    assert first.startswith("Runs became slower as the study went on: by less than 0.01 % from ")
