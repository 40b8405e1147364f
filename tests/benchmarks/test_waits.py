"""What a user waits for: costs of one round beside each other, and the bounds that they have."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.cost.rounds import Cost
from benchmarks.waits import Round, broken_bounds, least_cpu_s, runs_table

# Start and end take pinstudy 0.2 s, and perf 0.01 s.
GOOD = Round(
    {
        "bare": Cost(0.001, 0.0),
        "perf stat": Cost(0.011, 0.01),
        "pinstudy": Cost(0.015, 0.2),
    }
)
QUICK = {"verdict": 0.9, "tables": 0.5}


def test_a_run_costs_what_is_beyond_the_program_and_its_start() -> None:
    assert GOOD.further_ms("pinstudy") == pytest.approx(14)
    # A tenth of 0.2 s, and what a further run takes.
    assert GOOD.of_ten_ms("pinstudy") == pytest.approx(34)
    assert GOOD.of_ten_ms("perf stat") == pytest.approx(11)
    table = runs_table([GOOD])
    assert "| each further run " in table
    assert "1.40 |" in table


def test_bounds_are_of_pinstudy_and_of_its_difference_to_perf() -> None:
    assert broken_bounds([GOOD], QUICK) == []
    slow = Round(GOOD.costs | {"pinstudy": Cost(0.017, 0.3)})
    assert broken_bounds([slow], QUICK | {"tables": 0.7}) == [
        "each of 10 runs: 46.00 ms, and at most 40 ms are wanted",
        "each further run, more than perf stat: 6.00 ms, and at most 5 ms are wanted",
        "pinstudy tables: 0.70 s, and at most 0.6 s are wanted",
    ]


def test_a_command_that_fails_is_no_fast_one() -> None:
    with pytest.raises(subprocess.CalledProcessError, match="status 1"):
        least_cpu_s([[sys.executable, "-c", "raise SystemExit(1)"]], times=1)
