"""Time of the measured CPUs that was not the program's, as far as clock ticks can tell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.reading import Reading
from runners.host.processes import tick_s
from runners.host.tree import Tree
from runners.measure.conditions.cpu_time import BusyMeter, CpuTimes, foreign_time, parse_stat
from tests.support.trees import write

# proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice.
STAT = """\
cpu  1000 20 300 4000 50 6 7 8 9 10
cpu0 100 2 30 400 5 1 2 3 50 60
cpu17 900 18 270 3600 45 5 5 5 0 0
intr 12345 1 2 3
ctxt 99
cpu_is_no_number 1 2 3 4 5 6 7 8
"""


@pytest.fixture(autouse=True)
def ticks() -> None:
    # All common kernels; the expected values below are in hundredths of a second.
    assert os.sysconf("SC_CLK_TCK") == 100


def test_busy_is_what_ran_and_stolen_time_is_apart() -> None:
    # user + nice + system + irq + softirq: guests are in user already, idle and iowait wait.
    assert parse_stat(STAT) == {
        0: CpuTimes(100 + 2 + 30 + 1 + 2, 3),
        17: CpuTimes(900 + 18 + 270 + 5 + 5, 5),
    }


def test_kernels_without_steal_have_none() -> None:
    assert parse_stat("cpu3 1 1 1 1 1 1 1\n") == {3: CpuTimes(5, 0)}


@pytest.mark.parametrize(
    "text", ["", "cpu0\n", "cpu0 1 2 3\n", "cpu0 a b c d e f g h\n", "xcpu0 1 1 1 1 1 1 1 1\n"]
)
def test_what_is_no_cpu_line_is_passed_over(text: str) -> None:
    assert parse_stat(text) == {}


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    assert all(times.busy >= 0 for times in parse_stat(text).values())


@given(
    st.dictionaries(
        st.integers(0, 9999), st.lists(st.integers(0, 2**63), min_size=10, max_size=10), max_size=9
    )
)
def test_every_cpu_of_a_well_formed_file_is_found(cpus: dict[int, list[int]]) -> None:
    text = "cpu  1 2 3 4 5 6 7 8 9 10\n" + "".join(
        f"cpu{cpu} {' '.join(map(str, times))}\n" for cpu, times in cpus.items()
    )
    assert parse_stat(text) == {
        cpu: CpuTimes(t[0] + t[1] + t[2] + t[5] + t[6], t[7]) for cpu, t in cpus.items()
    }


def times(*busy: int) -> dict[int, CpuTimes]:
    return {cpu: CpuTimes(ticks, 0) for cpu, ticks in enumerate(busy)}


def test_foreign_is_what_the_program_did_not_use_on_its_cpus() -> None:
    # CPUs 0 and 1 were busy for 1.50 s together, CPU 2 is not measured.
    reading = foreign_time(times(100, 100, 0), times(200, 150, 900), (0, 1), 1.2)
    assert reading.fields["foreign_cpu_s"] == pytest.approx(0.3)


def test_stolen_time_is_no_foreign_task() -> None:
    before, after = {0: CpuTimes(0, 10)}, {0: CpuTimes(100, 35)}
    assert foreign_time(before, after, (0,), 1.0).fields == {
        "foreign_cpu_s": pytest.approx(0.0),
        "steal_s": pytest.approx(0.25),
    }


def test_ticks_that_were_rounded_down_are_no_negative_time() -> None:
    # Two CPUs, user and system time of each rounded down: at most 0.04 s are missing.
    reading = foreign_time(times(0, 0), times(50, 50), (0, 1), 1.039)
    assert reading.fields["foreign_cpu_s"] == 0.0


def test_more_than_rounding_explains_is_not_called_zero() -> None:
    reading = foreign_time(times(0, 0), times(50, 50), (0, 1), 1.05)
    assert "foreign_cpu_s" not in reading.fields
    assert "counts 1.00 s" in reading.unavailable["foreign_cpu_s"]
    assert "1.05 s" in reading.unavailable["foreign_cpu_s"]
    assert reading.fields["steal_s"] == 0.0


def test_a_cpu_that_went_offline_has_no_times() -> None:
    reading = foreign_time(times(0, 0), times(50), (0, 1), 0.1)
    assert reading.fields == {}
    assert reading.unavailable["foreign_cpu_s"] == "/proc/stat has no times of CPU 1"


def test_times_that_go_back_are_no_times() -> None:
    assert "went back" in foreign_time(times(5), times(4), (0,), 0).unavailable["steal_s"]


def test_the_meter_reads_around_the_run(tmp_path: Path) -> None:
    meter = BusyMeter(Tree(tmp_path))
    write(tmp_path, "proc/stat", "cpu0 100 0 0 0 0 0 0 5 0 0")
    meter.start()
    write(tmp_path, "proc/stat", "cpu0 180 0 20 500 0 0 0 7 0 0")
    meter.stop()
    assert meter.reading((0,), 0.75).fields == {
        "foreign_cpu_s": pytest.approx(0.25),
        "steal_s": pytest.approx(2 * tick_s()),
    }


def test_a_file_that_cannot_be_read_is_the_reason(tmp_path: Path) -> None:
    meter = BusyMeter(Tree(tmp_path))
    meter.start()
    meter.stop()
    reason = "/proc/stat is missing"
    assert meter.reading((0,), 0.0) == Reading({}, {"foreign_cpu_s": reason, "steal_s": reason})
