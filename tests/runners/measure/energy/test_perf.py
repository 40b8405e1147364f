"""A perf of its own counts the energy between start and stop, and is gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runners.measure.energy.perf import PerfMeter, PowerPmu, permission_problem
from runners.measure.perf.events import perf_command, read_permission
from runners.measure.perf.output import parse_perf_output
from runners.measure.perf.stat import PerfStat
from tests.runners.power_pmu_trees import install_failing_perf, install_perf, joules_row
from tests.support.processes import wait_until_gone
from tests.support.tools import ROOT, missing, need_tool

PMU = PowerPmu(
    {"package": "power/energy-pkg/", "uncore": "power/energy-gpu/"},
    (0,),
    dict.fromkeys(("core", "dram", "psys"), "not here"),
)
CPU = min(os.sched_getaffinity(0))
# What every machine can count for a whole CPU.
CLOCK = PowerPmu({"package": "cpu-clock"}, (CPU,))


def real_perf() -> str:
    perf = need_tool("perf")
    if problem := permission_problem(read_permission(Path("/"))):
        missing(problem)
    return perf


class Clock:
    """Seconds that pass when a test says so."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_the_energy_between_start_and_stop_is_the_run_s(tmp_path: Path) -> None:
    clock = Clock()
    perf = install_perf(tmp_path, joules_row("energy-pkg", "25.00"), joules_row("energy-gpu", "0"))
    meter = PerfMeter(perf, PMU, clock)
    meter.start()
    assert meter.problems() == PMU.unavailable
    clock.now_s += 2.5
    meter.stop()
    reading = meter.reading()
    assert reading.fields == {
        "energy_pkg_j": 25.0,
        "energy_uncore_j": 0.0,
        "energy_window_s": 2.5,
        "energy_source": "perf",
    }
    names = ("energy_core_j", "energy_dram_j", "energy_psys_j")
    assert reading.unavailable == dict.fromkeys(names, "not here")


def test_a_package_that_used_nothing_is_not_believed(tmp_path: Path) -> None:
    meter = PerfMeter(install_perf(tmp_path, joules_row("energy-pkg", "0.00")), PMU)
    meter.start()
    meter.stop()
    assert "did not move" in meter.reading().unavailable["energy_pkg_j"]
    assert meter.reading().unavailable["energy_uncore_j"] == (
        "perf told nothing of power/energy-gpu/"
    )


def test_a_perf_that_fails_is_a_reason_with_what_it_said(tmp_path: Path) -> None:
    meter = PerfMeter(install_failing_perf(tmp_path, "Operation not permitted"), PMU)
    meter.start()
    assert "could not attach: Operation not permitted" in meter.problems()["package"]
    meter.stop()
    reading = meter.reading()
    assert reading.fields == {}
    assert "Operation not permitted" in reading.unavailable["energy_pkg_j"]


def test_a_perf_that_is_not_there_is_a_reason(tmp_path: Path) -> None:
    meter = PerfMeter(str(tmp_path / "perf"), PMU)
    meter.start()
    meter.stop()
    assert "No such file" in meter.reading().unavailable["energy_pkg_j"]


def test_a_meter_starts_anew_for_every_run(tmp_path: Path) -> None:
    meter = PerfMeter(install_perf(tmp_path, joules_row("energy-pkg", "2.0")), PMU)
    meter.start()
    meter.start()  # the first run was interrupted
    meter.stop()
    assert meter.reading().fields["energy_pkg_j"] == 2.0
    install_failing_perf(tmp_path, "gone")
    meter.start()
    meter.stop()
    assert meter.reading().fields == {}


def test_real_perf_counts_a_cpu_only_while_it_is_told_to() -> None:
    perf = real_perf()
    before = time.monotonic()
    stat = PerfStat(perf_command(perf, "cpu-clock"), ("-C", str(CPU)), held=True)
    try:
        assert stat.problem == ""
        began = time.monotonic()
        time.sleep(0.2)
        at_least_s = time.monotonic() - began
        stat.disable()
        at_most_s = time.monotonic() - before
        # Longer than what the start of perf has added to the upper bound.
        time.sleep(at_most_s - at_least_s + 0.3)
        rows = parse_perf_output(stat.finish()).rows
    finally:
        stat.close()
    assert [row.event for row in rows] == ["cpu-clock"]
    # Milliseconds; the clock of a whole CPU runs whether the CPU works or not.
    assert rows[0].value is not None
    assert 1e3 * at_least_s - 1 <= rows[0].value <= 1e3 * at_most_s + 1


def test_real_perf_ends_with_whoever_started_it() -> None:
    code = (
        "import sys, time\n"
        "from runners.measure.perf.events import perf_command\n"
        "from runners.measure.perf.stat import PerfStat\n"
        f"command = perf_command({real_perf()!r}, 'cpu-clock')\n"
        f"stat = PerfStat(command, ('-C', '{CPU}'), held=True)\n"
        "print(stat._process.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout
        perf = Path("/proc") / starter.stdout.readline().strip()
        assert "cpu-clock" in (perf / "cmdline").read_text()
        starter.send_signal(signal.SIGKILL)
    wait_until_gone([int(perf.name)])


def test_real_perf_tells_what_is_no_energy() -> None:
    meter = PerfMeter(real_perf(), CLOCK)
    meter.start()
    time.sleep(0.05)
    meter.stop()
    reading = meter.reading()
    assert reading.fields == {}
    assert reading.unavailable["energy_pkg_j"] == "perf told nothing of cpu-clock"


def test_real_perf_says_that_this_machine_has_no_power_pmu() -> None:
    if Path("/sys/bus/event_source/devices/power").exists():
        pytest.skip("this machine has one")
    meter = PerfMeter(real_perf(), PMU)
    meter.start()
    meter.stop()
    assert "Cannot find PMU `power'" in meter.reading().unavailable["energy_pkg_j"]
