"""What is off must be so each time; what a single disturbed run shows is told, and no alarm."""

from __future__ import annotations

from collections.abc import Callable

from runners.prove.finding import Instrument, beyond, confirmed
from runners.records.instruments import Finding

ONE = Instrument("cycles", "P", "1 an addition", ("cycles",))
OTHER = Instrument("migrations", "", "200 moves")


def attempts(*measured: float) -> Callable[[], list[Finding]]:
    """Return attempts that measure these values, one after the other; 1 is right."""
    left = list(measured)

    def attempt() -> list[Finding]:
        value = left.pop(0)
        return [ONE.found(f"{value:g}", beyond(value, 1.0, 0.02)), OTHER.found("200")]

    return attempt


def test_what_is_right_is_tried_once() -> None:
    found, other = confirmed(attempts(1.01))
    assert (found.state, found.measured) == ("ok", "1.01")
    assert other.state == "ok"


def test_a_disturbed_run_is_told_and_no_alarm() -> None:
    found, other = confirmed(attempts(1.3, 1.2, 1.0))
    assert (found.state, found.why) == ("ok", "")
    assert found.measured == "1 (in try 3; before, 1.2)"
    assert other.measured == "200"


def test_what_is_off_each_time_is_off() -> None:
    found, _ = confirmed(attempts(1.1, 1.1, 1.1))
    assert found.state == "off"
    assert found.why == "+10.00% off, at most 2.00% is allowed (in each of 3 tries)"


def test_no_number_is_off() -> None:
    assert beyond(float("nan"), 1.0, 0.02) == "+nan% off, at most 2.00% is allowed"
    assert beyond(1.0, 0.0, 0.02) == "+inf% off, at most 2.00% is allowed"
