"""What goes with a difference: right in both directions, and silent where nothing was measured."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.verdict.explanation import explanation
from tests.support.results import finding


def said(baseline: dict[str, Any], other: dict[str, Any]) -> str:
    text = explanation(finding(3, **other), finding(1, **baseline))
    start = "What goes with #3 m3, not proved to be a cause: "
    assert not text or (text.startswith(start) and text.endswith("."))
    return text.removeprefix(start).removesuffix(".")


@pytest.mark.parametrize(
    ("baseline", "other", "text"),
    [
        (2886, 8, "threads were moved 2886 times a run under #1 and 8 times under #3"),
        (8, 2886, "threads were moved 8 times a run under #1 and 2886 times under #3"),
        (0, 1, "threads were moved 0 times a run under #1 and 1 time under #3"),
        (0, 0, ""),
        (1000, 1040, ""),
        (None, 8, ""),
        (8, float("nan"), ""),
    ],
)
def test_migrations(baseline: float | None, other: float | None, text: str) -> None:
    assert said({"migrations": baseline}, {"migrations": other}) == text


def test_virtual_cpus_are_not_threads() -> None:
    assert said({"vcpu_migrations": 90.0}, {"vcpu_migrations": 2.5}) == (
        "virtual CPUs were moved 90 times a run under #1 and 2.5 times under #3"
    )


@pytest.mark.parametrize(
    ("baseline", "other", "text"),
    [
        ({"P": 0.969, "E": 0.031}, {"P": 1.0, "E": 0.0},
         "3.1 % of CPU time was on E-cores under #1 and 0.0 % under #3"),
        ({"P": 1.0, "E": 0.0}, {"P": 0.5, "E": 0.5},
         "0.0 % of CPU time was on E-cores under #1 and 50.0 % under #3"),
        ({"P": 0.9, "E": 0.07, "LP-E": 0.03}, {"P": 0.4, "E": 0.5, "LP-E": 0.1},
         "3.0 % of CPU time was on LP-E-cores under #1 and 10.0 % under #3; "
         "7.0 % of CPU time was on E-cores under #1 and 50.0 % under #3"),
        ({"P": 0.9, "E": 0.1}, {"P": 0.9, "E": 0.1}, ""),
        # Where a PMU covers two kinds, only the other kind's share is known: not 0 for the rest.
        ({"P": 0.9}, {"P": 0.5}, "90.0 % of CPU time was on P-cores under #1 and 50.0 % under #3"),
        ({"P": 0.9, "E": 0.1}, {"P": 0.5},
         "90.0 % of CPU time was on P-cores under #1 and 50.0 % under #3"),
        ({"P": 0.9, "E": 0.1}, {}, ""),
        ({"P": 1.0}, {"E": 1.0}, ""),
    ],
)  # fmt: skip
def test_shares_of_core_kinds(
    baseline: dict[str, float], other: dict[str, float], text: str
) -> None:
    assert said({"residency": baseline}, {"residency": other}) == text


@pytest.mark.parametrize(
    ("baseline", "other", "text"),
    [
        (4.9, 5.1, "the mean frequency was 4.90 GHz under #1 and 5.10 GHz under #3"),
        (5.1, 4.9, "the mean frequency was 5.10 GHz under #1 and 4.90 GHz under #3"),
        (5.0, 5.01, ""),
        (0.8, 0.8045, "the mean frequency was 0.800 GHz under #1 and 0.804 GHz under #3"),
        (None, 5.0, ""),
    ],
)
def test_frequency(baseline: float | None, other: float | None, text: str) -> None:
    assert said({"freq_mean_ghz": baseline}, {"freq_mean_ghz": other}) == text


@pytest.mark.parametrize(
    ("baseline", "other", "text"),
    [
        (1000, 880, "12 % fewer cache misses under #3 than under #1"),
        (1000, 1120, "12 % more cache misses under #3 than under #1"),
        (1000, 5000, "5.0 times as many cache misses under #3 as under #1"),
        (1000, 3, "1/333 as many cache misses under #3 as under #1"),
        (1000, 0, "no cache misses under #3, some under #1"),
        (0, 1000, ""),
        (1000, 1030, ""),
        (None, 1000, ""),
    ],
)
def test_cache_misses(baseline: float | None, other: float | None, text: str) -> None:
    assert said({"cache_misses": baseline}, {"cache_misses": other}) == text


def test_nothing_is_said_where_nothing_differs() -> None:
    assert said({}, {}) == ""
