"""Phrases of sentences: as many digits as are known, and nothing of what was not measured."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.format.numbers import rounded
from analysis.objectives import EDP, ENERGY, OBJECTIVES, TIME, Objective, of_printed
from analysis.statistics.difference import Difference
from analysis.statistics.drift import Drift, Trend
from analysis.statistics.sample import Interval
from analysis.verdict.decisions import accompanying
from analysis.verdict.phrases import change, change_of_means, do, names
from analysis.verdict_text.legend import drift_notes
from configs.mapping import SELECTIONS
from tests.support.results import TABLE, finding, summary


def of(ratio: float, error: float) -> Difference:
    return Difference(math.log(ratio), error, 9, 10, paired=True, estimand="typical")


@pytest.mark.parametrize(
    ("ratio", "error", "expected"),
    [
        # Student's t of 9 degrees of freedom is 2.262 at 95 %.
        (0.9, 0.001, "10.00 % less typical time (9.80 to 10.20 %)"),
        (0.9, 0.02, "10.0 % less typical time (5.8 to 14.0 %)"),
        (1.03, 0.02, "3.0 % more typical time (1.6 % less to 7.8 % more)"),
        (1.000001, 0.002, "about the same typical time (0.45 % less to 0.45 % more)"),
        (1.0, 0.000001, "about the same typical time (within 0.01 %)"),
        (2.5, 0.02, "2.50 times the typical time (2.39 to 2.62 times)"),
        (1e6, 0.02, "1000000 times the typical time (956000 to 1046000 times)"),
        (0.05, 0.02, "1/20 of the typical time (1/21 to 1/19)"),
        (1e-6, 0.02, "1/1000000 of the typical time (1/1050000 to 1/956000)"),
        (0.5, 10.0, "50 % less typical time (wider than a factor of 1000)"),
        # An interval has the unit of its ratio.
        (0.5, 0.8, "50 % less typical time (90 % less to 210 % more)"),
        (2.3, 0.1, "2.30 times the typical time (1.83 to 2.88 times)"),
        (3.0, 0.6, "3.0 times the typical time (0.77 to 11.7 times)"),
        (2.5, 0.75, "2.5 times the typical time (0.46 to 13.6 times)"),
        (1.3, 0.0, "30.0 % more typical time (no interval: these runs show no spread)"),
    ],
)
def test_a_difference_in_words(ratio: float, error: float, expected: str) -> None:
    assert str(change(of(ratio, error), TIME)) == expected


def test_what_is_known_of_means_only_is_said_to_be_of_means() -> None:
    published = Difference.from_summary(9.0, 0.1, 10, 10.0, 0.1, 10)
    assert change(published, ENERGY).what == "10.00 % less mean package energy"


def test_an_energy_delay_product_is_lower_and_not_less() -> None:
    assert change_of_means(0.9, EDP).what == "10.0 % lower energy-delay product"
    assert change_of_means(1.1, EDP).size == "10.0 % higher"


@given(
    st.floats(-40, 40),
    st.one_of(st.just(0.0), st.floats(1e-9, 100)),
    st.integers(2, 50),
    st.sampled_from([*OBJECTIVES, of_printed("rate", "metric_rate", "MB/s", higher=True)]),
)
def test_no_number_has_an_exponent_a_minus_or_says_nothing(
    log_ratio: float, error: float, n: int, objective: Objective
) -> None:
    text = str(change(Difference(log_ratio, error, n - 1, n, paired=True), objective, 0.99))
    assert not re.search(r"\de[+-]?\d|-\d|nan|inf\b", text)
    assert not re.search(r"(?<![\d.])0(\.0+)? (% (less|more|lower|higher)|times)", text)
    assert not re.search(r"1/0|\b\d{20}", text)


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_rounding_keeps_what_is_known(value: float, half_width: float) -> None:
    text = rounded(value, half_width)
    assert "e" not in text
    assert abs(float(text) - value) <= max(0.06 * half_width, 0.0501 if not half_width else 0.0051)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"selection": "pcores", "binding": "pin"}, "pin each thread on the P-cores"),
        ({"selection": "lpecpus", "binding": "set"},
         "confine the threads to all CPUs of the LP-E-cores"),
        ({"selection": "all", "binding": "none"}, "leave the threads to the OS scheduler"),
        ({"selection": "pcores", "binding": "none"},
         "leave the threads to the OS scheduler on the P-cores"),
        ({"selection": "all", "binding": "none", "threads": 1},
         "leave the thread to the OS scheduler"),
        ({"selection": "pcores", "binding": "pin", "threads": 1},
         "pin the thread to a CPU of the P-cores"),
        ({"selection": "lpecores", "binding": "set", "threads": 1},
         "confine the thread to the LP-E-cores"),
        ({"selection": "mine", "binding": "pin", "mapping": "my\x1b[1mmapping"},
         "use my\ufffd[1mmapping"),
        ({"selection": None, "binding": None, "mapping": "unknown"}, "use unknown"),
        ({"vcpu_mapping": "v", "vcpu_selection": "pcores", "vcpu_binding": "pin",
          "selection": "all", "binding": "none"},
         "pin each virtual CPU on the P-cores"),
        ({"vcpu_mapping": "v", "vcpu_selection": "all", "vcpu_binding": "none", "vm_cpus": 1,
          "selection": "pcpus", "binding": "set"},
         "leave the virtual CPU to the OS scheduler and, in the guest, confine the threads to all "
         "CPUs of the P-cores"),
    ],
)  # fmt: skip
def test_what_a_mapping_does(facts: dict[str, Any], expected: str) -> None:
    threads = facts.pop("threads", 8)
    table = TABLE._replace(threads=threads, vm_cpus=facts.pop("vm_cpus", None))

    assert do(summary(**{"table": table, "mapping": "m"} | facts)) == expected


@pytest.mark.parametrize("selection", sorted(SELECTIONS))
def test_every_selection_has_its_words(selection: str) -> None:
    pinned = summary(selection=selection, binding="pin", table=TABLE._replace(threads=4))

    assert do(pinned).startswith("pin each thread on ")


def test_many_names_are_not_all_listed() -> None:
    assert names([finding(2)]) == "#2 m2"
    assert names([finding(2), finding(3)]) == "#2 m2 and #3 m3"
    assert names([finding(at) for at in range(1, 41)]).endswith(
        "#5 m5, #6 m6 and 34 others in the table"
    )
    assert names([finding(at) for at in range(1, 8)]).endswith("#6 m6 and 1 other in the table")


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
