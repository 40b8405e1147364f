"""A perf of its own counts the energy between start and stop, and is gone afterwards."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.measure.energy.perf import (
    PerfMeter,
    PowerPmu,
    find_power_pmu,
    permission_problem,
    read_joules,
)
from runners.measure.perf.events import PerfPermission, perf_command, read_permission
from runners.measure.perf.stat import PerfStat
from runners.records.energy import PERF_EVENTS
from runners.records.perf.output import parse_perf_output
from tests.runners.fake_commands import install
from tests.runners.power_pmu_trees import (
    event_file,
    install_failing_perf,
    install_perf,
    joules_row,
    power_pmu_tree,
)
from tests.support.ordinary_user import open_folder, ordinary_user
from tests.support.processes import wait_until_gone
from tests.support.tools import ROOT, missing, need_tool

PMU = PowerPmu(
    {"package": "power/energy-pkg/", "uncore": "power/energy-gpu/"},
    (0,),
    dict.fromkeys(("core", "dram", "psys"), "not here"),
)
CPU = min(os.sched_getaffinity(0))
DIES = {0: 0, 8: 0, 16: 1, 24: 1}


def real_perf() -> str:
    perf = need_tool("perf")
    if problem := permission_problem(read_permission(Path("/"))):
        missing(problem)
    return perf


def measured(perf: str, pmu: PowerPmu = PMU) -> PerfMeter:
    meter = PerfMeter(perf, pmu)
    meter.start()
    meter.stop()
    return meter


def test_the_energy_between_start_and_stop_is_the_run_s(tmp_path: Path) -> None:
    moments = iter([100.0, 102.5])
    # The first row's figures are from a public recording (see tests/data/perf).
    package = "475.42;Joules;power/energy-pkg/;20005659301;100.00;;"
    perf = install_perf(tmp_path, package, joules_row("energy-gpu", "0"))
    meter = PerfMeter(perf, PMU, lambda: next(moments))
    meter.start()
    assert meter.problems() == PMU.unavailable
    meter.stop()
    reading = meter.reading()
    assert reading.fields == {
        "energy_pkg_j": 475.42,
        "energy_uncore_j": 0.0,
        "energy_window_s": 2.5,
        "energy_source": "perf",
    }
    names = ("energy_core_j", "energy_dram_j", "energy_psys_j")
    assert reading.unavailable == dict.fromkeys(names, "not here")


def test_a_package_that_used_nothing_is_not_believed(tmp_path: Path) -> None:
    reading = measured(install_perf(tmp_path, joules_row("energy-pkg", "0.00"))).reading()
    assert "did not move" in reading.unavailable["energy_pkg_j"]
    assert reading.unavailable["energy_uncore_j"] == "perf printed no value of power/energy-gpu/"


def test_a_perf_that_fails_or_is_not_there_is_a_reason(tmp_path: Path) -> None:
    failing = measured(install_failing_perf(tmp_path, "Operation not permitted"))
    assert "could not attach: Operation not permitted" in failing.problems()["package"]
    reading = failing.reading()
    assert reading.fields == {}
    assert "Operation not permitted" in reading.unavailable["energy_pkg_j"]
    reading = measured(str(tmp_path / "none")).reading()
    assert "No such file" in reading.unavailable["energy_pkg_j"]


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
    stat = PerfStat(perf_command(perf, "cpu-clock"), ("-C", str(CPU)), cat=True)
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
        f"stat = PerfStat(command, ('-C', '{CPU}'), cat=True)\n"
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


def test_domains_are_the_events_that_are_there(tmp_path: Path) -> None:
    pmu = find_power_pmu(power_pmu_tree(tmp_path))
    assert pmu.events == {
        "package": "power/energy-pkg/",
        "core": "power/energy-cores/",
        "uncore": "power/energy-gpu/",
        "psys": "power/energy-psys/",
    }
    assert pmu.unavailable == {"dram": "the power PMU has no energy-ram"}
    assert pmu.cpus == (0,)


@pytest.mark.parametrize(
    ("vendor", "cpus", "dies", "counted"),
    [
        ("GenuineIntel", "0,8,16,24", DIES, (0, 8, 16, 24)),
        # Dies of others repeat their package.
        ("AuthenticAMD", "0,8,16,24", DIES, (0, 16)),
        ("SomeoneElse", "0,8,16,24", DIES, (0, 16)),
        # One counter needs no topology.
        ("AuthenticAMD", "0", None, (0,)),
    ],
)
def test_dies_that_repeat_their_package_are_counted_once(
    tmp_path: Path, vendor: str, cpus: str, dies: dict[int, int] | None, counted: tuple[int, ...]
) -> None:
    root = power_pmu_tree(tmp_path, ("energy-pkg",), cpus, vendor, dies)
    assert find_power_pmu(root).cpus == counted


def test_packages_that_cannot_be_told_apart_are_not_counted(tmp_path: Path) -> None:
    pmu = find_power_pmu(power_pmu_tree(tmp_path, ("energy-pkg",), "0,8", "AuthenticAMD", {0: 0}))
    assert pmu.events == {}
    assert "cpu8/topology/physical_package_id is missing" in pmu.unavailable["package"]
    assert "counted twice" in pmu.unavailable["package"]


@pytest.mark.parametrize("cpumask", ["", "none", "-1", "0-", "99999999999"])
def test_a_cpumask_that_names_no_cpu_is_a_reason(tmp_path: Path, cpumask: str) -> None:
    pmu = find_power_pmu(power_pmu_tree(tmp_path, cpumask=cpumask))
    assert pmu.events == {}
    assert "power/cpumask" in pmu.unavailable["package"]


@pytest.mark.parametrize("text", ["", "energy", "event=2", "event=0x02,x=1", None])
def test_an_event_that_perf_would_refuse_or_that_nobody_may_read_is_left_out(
    text: str | None,
) -> None:
    with open_folder() as folder:
        root = power_pmu_tree(folder)
        if text is None:
            event_file(root, "energy-psys").chmod(0)
        else:
            event_file(root, "energy-psys").write_text(text)
        with ordinary_user():
            pmu = find_power_pmu(root)
    assert "package" in pmu.events and "psys" not in pmu.events
    assert ("no permission" in pmu.unavailable["psys"]) is (text is None)
    assert "events/energy-psys" in pmu.unavailable["psys"]


def test_the_command_is_system_wide_on_the_pmus_cpus_and_begins_switched_off(
    tmp_path: Path,
) -> None:
    install(tmp_path, "perf", 'echo "$*" >&2; exit 255')
    pmu = PowerPmu({"package": "power/energy-pkg/", "dram": "power/energy-ram/"}, (0, 16))
    assert re.fullmatch(
        r"perf could not attach: stat -x ; -o /proc/self/fd/\d+ "
        r"-e power/energy-pkg/,power/energy-ram/ "
        r"-D -1 --control fd:\d+,\d+ -C 0,16 -- cat",
        measured(str(tmp_path / "perf"), pmu).problems()["package"],
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("<not supported>;Joules;power/energy-pkg/;0;100.00;;", "energy-pkg is not supported"),
        ("2041842;;power/energy-pkg/;2500000000;100.00;;", "not a sum of Joules"),
        ("-3.5;Joules;power/energy-pkg/;2500000000;100.00;;", "not a sum of Joules"),
        ("S0;1;3.5;Joules;power/energy-pkg/;2500000000;100.00;;", "not a sum of Joules"),
    ],
)
def test_a_row_that_is_no_energy_is_a_reason(row: str, reason: str) -> None:
    joules, problems = read_joules(row)
    assert joules == {}
    assert reason in problems["package"]


@given(st.text(max_size=200) | st.from_regex(r"[-0-9.;<>a-z ]{0,12};Joules;power/energy-pkg/;.*"))
def test_any_output_of_perf_is_survived(text: str) -> None:
    joules, problems = read_joules(text)
    assert not set(joules) & set(problems)
    assert all(math.isfinite(value) and value >= 0 for value in joules.values())


FILES = ("events/energy-pkg", "events/energy-ram", "cpumask")


@settings(max_examples=40)
@given(st.sampled_from(FILES), st.binary(max_size=30) | st.none())
def test_any_content_of_the_files_is_survived(name: str, data: bytes | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = power_pmu_tree(Path(folder), ("energy-pkg", "energy-ram"))
        path = event_file(root, "").parent.parent / name
        path.unlink() if data is None else path.write_bytes(data)
        pmu = find_power_pmu(root)
    assert set(pmu.events) | set(pmu.unavailable) == set(PERF_EVENTS)
    assert not set(pmu.events) & set(pmu.unavailable)
    assert all(pmu.events[domain] == f"power/{PERF_EVENTS[domain]}/" for domain in pmu.events)


@pytest.mark.parametrize(
    ("paranoid", "admin", "perfmon", "allowed"),
    [
        (1, False, False, False),
        (0, False, False, True),
        (2, False, True, True),
        (2, True, False, True),
        # Debian's level 3 lets nobody count who is not an administrator.
        (3, False, True, False),
        (3, True, False, True),
    ],
)
def test_who_may_count_whole_cpus(paranoid: int, admin: bool, perfmon: bool, allowed: bool) -> None:
    reason = permission_problem(PerfPermission(paranoid, admin, perfmon))
    assert (reason == "") == allowed
    if not allowed:
        assert f"is {paranoid}); as root: sysctl kernel.perf_event_paranoid=0" in reason


def test_a_kernel_without_perf_events_lets_nobody_count() -> None:
    no_events = PerfPermission(None, admin=True, perfmon=True)
    assert permission_problem(no_events) == "this kernel has no performance events"
