"""Numbers as text: no exponents in percentages, no -0, and no interval between equal ends."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.analysis.format.numbers import (
    SAME_END,
    ends,
    fixed,
    in_percent,
    mean_count,
    percent,
    percent_ends,
    signed_percents,
    three_digits,
)
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.analysis.words.verdict import interval_of

SHARES = st.one_of(st.floats(-1, 1e4), st.floats(-1e-6, 1e-6), st.sampled_from([0.0, -0.0]))
NOTHING_BELOW_0 = re.compile(r"-0(\.0*)?(?![.\d])")


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (11.4, "1140 %"),
        (0.0996, "10 %"),
        (0.0994, "9.9 %"),
        (0.123, "12 %"),
        (0.05, "5 %"),
        (0.000012, "0.0012 %"),
        (1.2e-9, "0.00000012 %"),
        (0.0, "0 %"),
        (-0.0, "0 %"),
        (-0.5, "-50 %"),
        (math.inf, "1000000 or more %"),
        (math.nan, "- %"),
    ],
)
def test_a_percentage_has_two_digits_and_no_exponent(share: float, expected: str) -> None:
    assert percent(share) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.5, "0.5"), (999.4, "999"), (-999.7, "-1000"), (1e7, "1.00e+07")],
)
def test_numbers_in_sentences_have_no_exponent_that_nobody_would_write(
    value: float, text: str
) -> None:
    assert three_digits(value) == text


@given(SHARES, st.integers(1, 6))
def test_no_percentage_has_an_exponent_or_says_minus_nothing(share: float, digits: int) -> None:
    text = in_percent(share, digits)
    assert re.fullmatch(r"-?\d+(\.\d*[1-9])?", text)
    assert not NOTHING_BELOW_0.fullmatch(text)
    assert float(text) == pytest.approx(100 * share, rel=0.51 * 10 ** (1 - digits), abs=1e-15)


@given(st.floats(-1e9, 1e9), st.integers(-3, 9))
def test_a_number_that_is_rounded_to_nothing_has_no_sign(value: float, decimals: int) -> None:
    text = fixed(value, decimals)
    assert "e" not in text and not NOTHING_BELOW_0.fullmatch(text)
    assert abs(float(text) - value) <= 0.51 * 10.0**-decimals + 1e-6
    assert not NOTHING_BELOW_0.fullmatch(mean_count(value))


def of_ends(text: str) -> tuple[str, str]:
    low, _, high = text.removeprefix("95 % interval ").partition(" to ")
    return low, high


@given(SHARES, SHARES)
def test_ends_of_an_interval_of_shares_differ_where_they_do(one: float, other: float) -> None:
    low, high = sorted((one, other))
    shown = percent_ends(low, high)
    if not math.isclose(low, high, rel_tol=2 * SAME_END) and max(abs(low), abs(high)) > SAME_END:
        assert shown[0] != shown[1]
    assert not any("e" in end or "-0 %" in end for end in shown)


def test_an_interval_gets_as_many_digits_as_it_takes_to_tell_its_ends_apart() -> None:
    assert percent_ends(0.1962, 0.2041) == ("+19.6 %", "+20.4 %")
    assert interval_of(Interval(45.0731, 45.0733), 3) == "45.0731 to 45.0733"
    assert interval_of(Interval(45.073, 45.073), 3) == "45.073 to 45.073"
    # Floats tell these apart, and no clock does.
    assert interval_of(Interval(45.073, 45.073 * (1 + 1e-12)), 3) == "45.073 to 45.073"


@given(st.floats(1e-6, 1e9), st.floats(0, 1e9), st.integers(0, 6))
def test_no_interval_stands_between_equal_numbers(low: float, wide: float, decimals: int) -> None:
    high = low + wide
    shown = of_ends(interval_of(Interval(low, high), decimals))
    assert shown[0] != shown[1] or math.isclose(low, high, rel_tol=SAME_END)


@given(st.floats(-0.999, 1e3), st.floats(1e-6, 1e3))
def test_no_change_has_an_interval_between_equal_ends(share: float, wide: float) -> None:
    change, (low, high) = signed_percents(share, share - wide, share + wide)
    assert low != high
    assert not re.search(r"\de[+-]?\d|-0(\.0+)?$", " ".join((change, low, high)))
    # A change has two digits of its uncertainty at most.
    assert len(change.partition(".")[2]) <= max(0, 1 - math.floor(math.log10(100 * wide)))


def test_ends_that_cannot_be_told_apart_are_left_alike() -> None:
    assert ends(1.0, 2.0, lambda _value, _more: "x") == ("x", "x")
