"""Durations and shares as people write them."""

from __future__ import annotations

import pytest

from base.units import duration, parse_duration, percent


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30 s", 30), ("10 min", 600), ("5m", 300), ("1.5 h", 5400), ("250ms", 0.25), (" 2 s ", 2)],
)
def test_a_number_with_its_unit_becomes_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10", "has no unit; write 10 s, 10 min or 10 h"),
        ("10 minutes", "unknown unit 'minutes'; known: ms, s, m, min, h"),
        ("ten s", "is not a duration"),
        ("-1 s", "is not a duration"),
        ("0 s", "longer than nothing"),
        ("745 h", "at most 31 days"),
        ("1e9 s", "is not a duration"),
        ("99999999999999999999 s", "is not a duration"),
        ("٣ s", "is not a duration"),
        ("", "is not a duration"),
    ],
)
def test_anything_else_is_refused_with_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_duration(text)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        *((0.01, "1 %"), (0.0025, "0.25 %"), (0.10312, "10.3 %"), (0.5, "50 %"), (14.3, "1430 %")),
        *(
            (9.994, "999 %"),
            (9.9951, "1000 %"),
            (9.996, "1000 %"),
            (-9.996, "-1000 %"),
            (10, "1000 %"),
        ),
    ],
)
def test_shares_as_people_say_them(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "unknown"),
        (0.25, "0.25 s"),
        (45.4, "45 s"),
        (59.9, "1 min 00 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 05 min"),
        (3599.7, "1 h 00 min"),
    ],
)
def test_durations_as_people_say_them(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text
