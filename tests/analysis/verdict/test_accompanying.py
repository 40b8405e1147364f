"""What goes with a gain, and the notes on drift."""

from __future__ import annotations

import pytest

from analysis.statistics.drift import Drift, Trend
from analysis.statistics.sample import Interval
from analysis.verdict.decisions import accompanying
from analysis.verdict_text.legend import drift_notes
from tests.support.results import finding


def goes_with(measure: str, baseline: object, other: object) -> list[tuple[object, ...]]:
    """Return what differs between two cases that have these means of a measure."""
    found = list(accompanying(finding(3, **{measure: other}), finding(1, **{measure: baseline})))
    assert all(change.measure == measure for change in found)
    return [(change.kind, change.baseline, change.mean) for change in found]


@pytest.mark.parametrize(
    ("measure", "baseline", "other", "differs"),
    [
        ("migrations", 2886, 8, True),
        ("migrations", 8, 2886, True),
        ("migrations", 0, 1, True),
        ("migrations", 0, 0, False),
        ("migrations", 1000, 1040, False),
        ("migrations", None, 8, False),
        ("migrations", 8, float("nan"), False),
        ("vcpu_migrations", 90.0, 2.5, True),
        ("freq_mean_ghz", 4.9, 5.1, True),
        ("freq_mean_ghz", 5.1, 4.9, True),
        ("freq_mean_ghz", 5.0, 5.01, False),
        ("freq_mean_ghz", 0.8, 0.8045, True),
        ("freq_mean_ghz", None, 5.0, False),
        ("cache_misses", 1000, 880, True),
        ("cache_misses", 1000, 5000, True),
        ("cache_misses", 1000, 0, True),
        ("cache_misses", 0, 1000, False),
        ("cache_misses", 1000, 1030, False),
        ("cache_misses", None, 1000, False),
    ],
)
def test_what_goes_with_a_gain(
    measure: str, baseline: float | None, other: float, differs: bool
) -> None:
    expected = [(None, baseline, other)] if differs else []
    assert goes_with(measure, baseline, other) == expected


@pytest.mark.parametrize(
    ("baseline", "other", "expected"),
    [
        ({"P": 0.969, "E": 0.031}, {"P": 1.0, "E": 0.0}, [("E", 0.031, 0.0)]),
        ({"P": 1.0, "E": 0.0}, {"P": 0.5, "E": 0.5}, [("E", 0.0, 0.5)]),
        ({"P": 0.9, "E": 0.07, "LP-E": 0.03}, {"P": 0.4, "E": 0.5, "LP-E": 0.1},
         [("LP-E", 0.03, 0.1), ("E", 0.07, 0.5)]),
        ({"P": 0.9, "E": 0.1}, {"P": 0.9, "E": 0.1}, []),
        # Where a PMU covers two kinds, only the other kind's share is known: not 0 for the rest.
        ({"P": 0.9}, {"P": 0.5}, [("P", 0.9, 0.5)]),
        ({"P": 0.9, "E": 0.1}, {"P": 0.5}, [("P", 0.9, 0.5)]),
        ({"P": 0.9, "E": 0.1}, {}, []),
        ({"P": 1.0}, {"E": 1.0}, []),
    ],
)  # fmt: skip
def test_shares_of_core_kinds(
    baseline: dict[str, float], other: dict[str, float], expected: list[tuple[object, ...]]
) -> None:
    assert goes_with("residency", baseline, other) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 0.0, "0 % to 0 %"),
        (-3.8e-16, 3.8e-16, "0 % to 0 %"),
        (-0.004, 0.0002, "-0.4 % to +0.02 %"),
        (-0.2, 0.3, "-18 % to +35 %"),
    ],
)
def test_the_ends_of_an_interval_have_no_exponents_and_nothing_no_sign(
    low: float, high: float, expected: str
) -> None:
    flat = Trend((low + high) / 2, Interval(low, high), 1.0, 0.9, 20)
    first, _ = drift_notes(Drift(flat, None))
    assert first.startswith("drift over time: none found, ")
    assert first.endswith(f" (95 %: {expected}; 20 runs)")
