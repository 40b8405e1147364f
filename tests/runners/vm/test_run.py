"""A guest's clock against the host's: the offset is bounded, and a drift is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runners.vm.run import CLOCK_READINGS, ClockReading, compare_clocks, read_clock

AHEAD_S = 1000.0


class Host:
    """A host whose time passes only while a question is on its way."""

    def __init__(self) -> None:
        self.now_s = 500.0

    def monotonic(self) -> float:
        return self.now_s

    def guest(self, there_s: list[float], back_s: list[float]) -> Callable[[], float]:
        """Return a guest whose clock is ahead, and whose answers take so long on each way."""
        ways = list(zip(there_s, back_s, strict=True))

        def ask() -> float:
            there, back = ways.pop(0)
            self.now_s += there
            now = self.now_s + AHEAD_S
            self.now_s += back
            return now

        return ask


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host()
    monkeypatch.setattr("runners.vm.run.time", made)
    return made


@pytest.mark.parametrize(
    ("there_s", "back_s"), [(0.0, 0.0), (0.02, 0.02), (0.04, 0.0), (0.0, 0.04)]
)
def test_the_true_offset_is_within_what_the_reading_says(
    host: Host, there_s: float, back_s: float
) -> None:
    reading = read_clock(host.guest([there_s] * CLOCK_READINGS, [back_s] * CLOCK_READINGS))
    assert abs(reading.offset_s - AHEAD_S) <= reading.uncertainty_s + 1e-9
    assert reading.uncertainty_s == pytest.approx((there_s + back_s) / 2)


def test_the_quickest_answer_counts(host: Host) -> None:
    slow = [0.1] * CLOCK_READINGS
    slow[2] = 0.02
    asked_at = host.now_s
    reading = read_clock(host.guest(slow, [0.0] * CLOCK_READINGS))
    assert reading.uncertainty_s == pytest.approx(0.01)
    assert reading.offset_s == pytest.approx(AHEAD_S + 0.01)
    assert reading.host_s - asked_at == pytest.approx(0.2 + 0.01)


def check(window_s: float, drift_s: float, uncertainty_s: float = 0.0005) -> str:
    before = ClockReading(100.0, 7.0, uncertainty_s)
    after = ClockReading(100.0 + window_s, 7.0 + drift_s, uncertainty_s)
    return compare_clocks(before, after).problem


@pytest.mark.parametrize(
    ("window_s", "drift_s", "trusted"),
    [
        (10.0, 0.0, True),
        # A thousandth of ten seconds, and half a millisecond of either reading.
        (10.0, 0.0109, True),
        (10.0, -0.0109, True),
        (10.0, 0.0111, False),
        (10.0, -0.0111, False),
        # The kernel may slew a clock by 500 ppm.
        (3600.0, 1.8, True),
        (3600.0, 36.0, False),
        (0.001, 0.0009, True),
        (0.001, 0.1, False),
    ],
)
def test_a_drift_of_more_than_a_thousandth_is_a_problem(
    window_s: float, drift_s: float, trusted: bool
) -> None:
    assert (check(window_s, drift_s) == "") is trusted


def test_readings_that_say_little_prove_no_drift() -> None:
    assert check(1.0, 0.5, uncertainty_s=0.3) == ""
    assert check(1.0, 0.7, uncertainty_s=0.3) != ""


def test_a_problem_says_how_far_the_clock_went_and_in_how_long() -> None:
    assert check(10.0, -0.25) == (
        "the guest's clock went -0.25 s (± 0.001 s) against the host's in 10 s"
    )
