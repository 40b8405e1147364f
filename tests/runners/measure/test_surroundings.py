"""What went on around a run on the node: foreign time and tasks, throttling, quotas, the clock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinstudy.analysis.records.runs import read_runs
from pinstudy.base.reading import Reading, Unavailable
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.conditions.cpu_time import (
    BusyMeter,
    CpuTimes,
    ForeignTasksMeter,
    HarnessCost,
    foreign_time,
    parse_stat,
)
from pinstudy.runners.measure.conditions.surroundings import (
    ClockWatch,
    Moment,
    Surroundings,
    read_load,
)
from pinstudy.runners.measure.conditions.throttling import NO_COUNTERS, QuotaMeter, ThrottleMeter
from pinstudy.runners.node.node import open_node
from pinstudy.runners.records.disturbances import THROTTLED, disturbances
from tests.runners.proc_trees import process
from tests.runners.sensor_trees import TWO_PACKAGES, hwmon, throttle
from tests.runners.study.made_node import Quiet
from tests.runners.study.test_energy import records, run, study_of
from tests.support.cli import argv
from tests.support.studies import write_app, write_program, write_study
from tests.support.tools import need_tool
from tests.support.trees import build_tree, write
from tests.support.wait import HANG_S, until

OWN = 500
TIMES = ("foreign_cpu_s", "interrupts_s", "steal_s")
LIMIT = "sys/class/powercap/intel-rapl:0"


@pytest.fixture(autouse=True)
def ticks() -> None:
    # All common kernels; the expected values below are in hundredths of a second.
    assert os.sysconf("SC_CLK_TCK") == 100


def test_busy_is_what_ran_and_stolen_time_is_apart() -> None:
    # proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice; guests are in
    # user already, idle and iowait wait.
    known = (
        "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 20 300 4000 5 60 700 8 9 9\ncpu9999 1 0 0 0 0 0 0 2\n"
    )
    others = "intr 12345 1 2 3\ncpu10000 1 2 3\ncpu10001 a b c d e f g h\nxcpu0 1 1 1 1 1 1 1 1\n"
    times = {0: CpuTimes(1081, 760, 8), 9999: CpuTimes(1, 0, 2)}
    # Kernels without steal have none.
    times[3] = CpuTimes(5, 2, 0)
    assert parse_stat(f"{known}{others}cpu3 1 1 1 1 1 1 1\n") == times


def busy(*ticks: int) -> dict[int, CpuTimes]:
    return {cpu: CpuTimes(spent, 0, 0) for cpu, spent in enumerate(ticks)}


def test_foreign_is_what_the_program_did_not_use_on_its_cpus() -> None:
    # CPUs 0 and 1 were busy for 1.50 s together, CPU 2 is not measured.
    reading = foreign_time(busy(100, 100, 0), busy(200, 150, 900), (0, 1), 1.2)
    assert reading.fields["foreign_cpu_s"] == pytest.approx(0.3)
    # Two CPUs, user and system time of each rounded down: at most 0.04 s are missing.
    reading = foreign_time(busy(0, 0), busy(50, 50), (0, 1), 1.039)
    assert reading.fields["foreign_cpu_s"] == 0.0


@pytest.mark.parametrize(
    ("after", "own_s", "why"),
    [
        (busy(50, 50), 1.05, "counts 1.00 s on the measured CPUs, less than the 1.05 s"),
        (busy(50), 0.1, "/proc/stat has no times of CPU 1"),
        (busy(-1, 0), 0.0, "went back"),
    ],
)
def test_wrong_times_are_no_zero(after: dict[int, CpuTimes], own_s: float, why: str) -> None:
    reading = foreign_time(busy(0, 0), after, (0, 1), own_s)
    assert why in reading.unavailable["foreign_cpu_s"]
    assert "foreign_cpu_s" not in reading.fields


def test_cpus_are_read_around_the_run_and_stolen_time_is_no_foreign_task(tmp_path: Path) -> None:
    meter = BusyMeter(Tree(tmp_path))
    meter.start()
    meter.stop()
    missing = dict.fromkeys(TIMES, "/proc/stat is missing")
    assert meter.reading((0,), 0.0) == Reading({}, missing)
    write(tmp_path, "proc/stat", "cpu0 100 0 0 0 0 0 0 5 0 0")
    meter.start()
    write(tmp_path, "proc/stat", "cpu0 170 0 20 500 0 2 8 30 0 0")
    meter.stop()
    assert meter.reading((0,), 0.75).fields == pytest.approx(
        {"foreign_cpu_s": 0.25, "interrupts_s": 0.1, "steal_s": 0.25}
    )
    unknown = dict.fromkeys(TIMES, "the program's own CPU time is not known")
    assert meter.reading((0,), None) == Reading({}, unknown)
    (tmp_path / "proc/stat").unlink()
    meter.stop()
    assert meter.reading((0,), 0.0) == Reading({}, missing)


@pytest.fixture
def quiet(tmp_path: Path) -> ForeignTasksMeter:
    """A meter that has looked at a quiet node: pid 1, pinstudy, two daemons."""
    process(tmp_path, 1, "systemd", parent=0, user=100)
    process(tmp_path, OWN, "pinstudy", user=100)
    process(tmp_path, 700, "busy", user=1000, system=10, threads=(3,))
    process(tmp_path, 701, "idle", user=5, threads=(3,))
    made = ForeignTasksMeter(Tree(tmp_path), OWN)
    made.start()
    return made


Process = tuple[int, str, dict[str, Any]]


@pytest.mark.parametrize(
    ("changed", "tasks"),
    [
        # (1020 + 15) - (1000 + 10) = 25 ticks of 10 ms: what was used meanwhile.
        ([(700, "busy", {"user": 1020, "system": 15})], [("busy", 0.25)]),
        # One of its threads was last on a CPU of the run; none of the others was.
        ([(701, "idle", {"user": 50, "threads": (7, 2)})], [("idle", 0.45)]),
        ([(950, "idle", {"user": 50, "threads": (7, 6)})], []),
        # All that pinstudy has started, and ranks that a daemon has started.
        ([(OWN, "own", {"user": 190}), (900, "own", {"parent": OWN, "user": 9, "cpu": 2})], []),
        (
            [
                (900, "slurmstepd", {"user": 1, "cpu": 2}),
                (901, "solver", {"parent": 900, "user": 9000, "cpu": 2}),
                (902, "helper", {"parent": 901, "user": 40, "cpu": 2}),
            ],
            [("slurmstepd", 0.01)],
        ),
        # A new one counts in full, also where a number is given again.
        ([(950, "apt) (x", {"system": 31, "cpu": 3})], [("apt) (x", 0.31)]),
        ([(700, "other", {"system": 31, "cpu": 3, "started": 99})], [("other", 0.31)]),
        # The five busiest, most first.
        (
            [(800 + n, f"t{n}", {"user": n, "cpu": 3}) for n in range(1, 8)],
            [(f"t{n}", n / 100) for n in (7, 6, 5, 4, 3)],
        ),
        # Parents in a circle.
        (
            [
                (800, "a", {"parent": 801, "user": 1, "cpu": 3}),
                (801, "b", {"parent": 800, "user": 2, "cpu": 3}),
            ],
            [("b", 0.02), ("a", 0.01)],
        ),
    ],
)
def test_foreign_tasks_are_the_busiest_on_the_runs_cpus(
    quiet: ForeignTasksMeter, tmp_path: Path, changed: list[Process], tasks: list[tuple[str, float]]
) -> None:
    for pid, name, fields in changed:
        process(tmp_path, pid, name, **fields)
    quiet.stop()
    found = quiet.reading((2, 3), {901}).fields["foreign_tasks"]
    assert [task["command"] for task in found] == [command for command, _ in tasks]
    assert [task["cpu_s"] for task in found] == pytest.approx([cpu_s for _, cpu_s in tasks])


def test_an_ended_task_or_a_lost_proc_is_no_task(quiet: ForeignTasksMeter, tmp_path: Path) -> None:
    (tmp_path / "proc/701/stat").unlink()
    quiet.stop()
    assert quiet.reading((2, 3)).fields["foreign_tasks"] == []
    (tmp_path / "proc").rename(tmp_path / "gone")
    quiet.stop()
    missing = Reading({}, {"foreign_tasks": "/proc is missing"})
    assert quiet.reading((2, 3)) == missing
    quiet.start()
    assert quiet.reading((2, 3)) == missing


def cpu_s(pid: int) -> float:
    """Return how long a process has run, in user and kernel mode (proc(5): stat, 14 and 15)."""
    spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")


def ancestors(pid: int) -> Iterator[int]:
    while parent := int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]):
        yield (pid := parent)


def test_a_real_process_that_burns_a_cpu_is_named() -> None:
    cpu = min(os.sched_getaffinity(0))
    # Its parent ends, so that it does not descend from this process.
    burn = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\n"
    burn += f"os.sched_setaffinity(0, [{cpu}])\nopen('/proc/self/comm', 'w').write('burner-x')\n"
    burn += "print(os.getpid(), flush=True)\nwhile True: pass\n"
    meter = ForeignTasksMeter(Tree(Path("/")))
    with subprocess.Popen([sys.executable, "-c", burn], stdout=subprocess.PIPE) as burner:
        assert burner.stdout is not None
        pid = int(burner.stdout.readline())
        try:
            ancestry = {pid, *ancestors(pid)}
            before_s = cpu_s(pid)
            meter.start()
            started_s = cpu_s(pid)
            until(lambda: cpu_s(pid) >= started_s + 0.3)
            burnt_s = cpu_s(pid) - started_s
            meter.stop()
            at_most_s = cpu_s(pid) - before_s
        finally:
            os.kill(pid, signal.SIGKILL)
        # No more than five are named, and others of a busy node may have used more.
        others = {int(path.name) for path in Path("/proc").glob("[0-9]*")} - ancestry
        found = meter.reading((cpu,), others).fields["foreign_tasks"]
    (burnt,) = (task["cpu_s"] for task in found if task["command"] == "burner-x")
    assert burnt_s - 0.001 <= burnt <= at_most_s + 0.001


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A recorded hybrid with sensors, one daemon, and 1.00 s of busy time on CPU 3."""
    root = build_tree(tmp_path, "i9-14900k-noht")
    hwmon(root, 5, "coretemp", {"Package id 0": 41000})
    for cpu in range(24):
        throttle(root, cpu, core_throttle_count=0, package_throttle_count=0)
    write(root, "proc/loadavg", "1.25 0.60 0.30 2/812 4711")
    write(root, "proc/stat", "cpu3 100 0 0 0 0 0 0 0 0 0")
    write(root, f"{LIMIT}/name", "package-0")
    write(root, f"{LIMIT}/constraint_0_name", "long_term")
    write(root, f"{LIMIT}/constraint_0_power_limit_uw", 125_000_000)
    process(root, 90, "irqbalance", user=10, threads=(3,))
    return root


def surroundings(root: Path, harness_cpus: tuple[int, ...], power_w: float) -> Reading:
    """Let CPU 3 be busy for 1.00 s, 0.70 s of them with the program."""
    around = Surroundings(open_node(root))
    # The warning names the daemons of the start.
    assert [warning.rpartition("; ")[2] for warning in around.warnings if "irqbalance" in warning]
    around.start()
    write(root, "proc/loadavg", "9.00 0.60 0.30 2/812 4711")
    write(root, "proc/stat", "cpu3 189 0 10 0 0 0 1 4 0 0")
    process(root, 90, "irqbalance", user=35, threads=(3,))
    # thermald lowers limits while a study runs.
    write(root, f"{LIMIT}/constraint_0_power_limit_uw", 45_000_000)
    around.stop()
    return around.measured((3,), 0.7, HarnessCost(0.05, 30, harness_cpus), power_w)


def test_all_of_it_is_in_the_record(root: Path) -> None:
    reading = surroundings(root, (8, 9), 44.5)
    note = reading.fields.pop("power_limit_note")
    assert reading.fields == {
        "temperature_before_c": {"package 0": 41.0},
        "temperature_after_c": {"package 0": 41.0},
        "throttle": {"core_count": 0, "package_count": 0},
        "foreign_cpu_s": pytest.approx(0.3),
        "interrupts_s": pytest.approx(0.01),
        "steal_s": pytest.approx(0.04),
        "foreign_tasks": [{"command": "irqbalance", "cpu_s": 0.25}],
        "load_1min": 1.25,
        "daemons": ["irqbalance"],
        "harness": {"cpu_s": 0.05, "context_switches": 30, "cpus": "8-9"},
    }
    assert note.startswith("at PL1: average package power 44.5 W, PL1 45.0 W")
    assert set(reading.unavailable) == {"quota_throttled_s"} | {
        f"throttle.{level}_{name}"
        for level in ("core", "package")
        for name in ("ms", "power_limit_count")
    }


def test_the_harness_is_not_foreign_where_it_shares_the_cpus(root: Path) -> None:
    found = surroundings(root, (3, 4), 20.0).fields
    assert found["foreign_cpu_s"] == pytest.approx(0.25)


def test_power_is_held_against_the_limit_that_is_in_force_at_the_run(root: Path) -> None:
    note = surroundings(root, (8,), 124.0).fields["power_limit_note"]
    assert note.startswith("burst above PL1: average package power 124.0 W, PL1 45.0 W")


def test_a_task_on_an_smt_sibling_is_foreign_too(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    write(root, "proc/stat", "cpu2 100 0 0 0 0 0 0 0\ncpu3 100 0 0 0 0 0 0 0\n")
    around = Surroundings(open_node(root))
    around.start()
    write(root, "proc/stat", "cpu2 200 0 0 0 0 0 0 0\ncpu3 150 0 0 0 0 0 0 0\n")
    process(root, 90, "noise", user=50, threads=(3,))
    around.stop()
    found = around.measured((2,), 1.0, None, None).fields
    assert found["foreign_cpu_s"] == pytest.approx(0.5)
    assert found["foreign_tasks"] == [{"command": "noise", "cpu_s": 0.5}]


@pytest.mark.parametrize("text", ["", "nan 1 1", "1e9 1 1", "-1.0 0 0", "busy", "1"])
def test_garbage_is_no_load(tmp_path: Path, text: str) -> None:
    write(tmp_path, "proc/loadavg", text)
    assert isinstance(read_load(Tree(tmp_path)), Unavailable)


LEVELS = ("core", "package")
COUNTERS = [f"{level}_throttle_{name}" for level in LEVELS for name in ("count", "total_time_ms")]
NO_LIMITS = {
    f"throttle.{level}_power_limit_count": (
        f"this kernel has no {level}_power_limit_count without the boot option int_pln_enable"
    )
    for level in LEVELS
}


def throttled(root: Path, value: int | None, changes: dict[int, dict[str, object]]) -> Reading:
    """Return what throttles from a value of all counters of all CPUs, None for no counter."""
    for cpu in range(6 if value is not None else 0):
        throttle(root, cpu, **dict.fromkeys(COUNTERS, value))
    meter = ThrottleMeter(Tree(root), TWO_PACKAGES)
    meter.start()
    for cpu, values in changes.items():
        throttle(root, cpu, **values)
    meter.stop()
    return meter.reading()


def test_core_values_count_once_a_core_and_package_values_once_a_package(tmp_path: Path) -> None:
    assert throttled(tmp_path, None, {}) == Reading({}, {"throttle": NO_COUNTERS})
    # What did not throttle is a measured zero.
    assert set(throttled(tmp_path, 7, {}).fields["throttle"].values()) == {0}
    # The first core (CPUs 0 and 1) throttled twice for 30 ms; its package five times for 80 ms,
    # which all of its CPUs repeat.
    package = {"package_throttle_count": 12, "package_throttle_total_time_ms": 87}
    core = {"core_throttle_count": 9, "core_throttle_total_time_ms": 37, **package}
    reading = throttled(tmp_path, 7, {0: {**core}, 1: {**core}, 2: {**package}, 3: {**package}})
    counts = {"core_count": 2, "core_ms": 30, "package_count": 5, "package_ms": 80}
    assert reading == Reading({"throttle": counts}, NO_LIMITS)


def test_power_limits_are_counted_where_the_kernel_was_asked_to(tmp_path: Path) -> None:
    for cpu in range(6):
        throttle(tmp_path, cpu, core_power_limit_count=1, package_power_limit_count=1)
    after: dict[int, dict[str, object]] = {
        5: {"core_power_limit_count": 4},
        4: {"package_power_limit_count": 3},
    }
    reading = throttled(tmp_path, 0, after)
    assert reading.fields["throttle"]["core_power_limit_count"] == 3
    assert reading.fields["throttle"]["package_power_limit_count"] == 2
    assert reading.unavailable == {}


def test_one_lost_counter_spoils_its_sum_and_no_other(tmp_path: Path) -> None:
    changes: dict[int, dict[str, object]] = {
        2: {"core_throttle_total_time_ms": "many"},
        4: {"package_throttle_count": 0},
        5: {"core_throttle_count": ""},
    }
    reading = throttled(tmp_path, 7, changes)
    assert reading.fields["throttle"] == {"package_ms": 0}
    assert "cpu5/thermal_throttle/core_throttle_count" in reading.unavailable["throttle.core_count"]
    assert "'many', not a whole number" in reading.unavailable["throttle.core_ms"]
    assert "went back from 7 to 0" in reading.unavailable["throttle.package_count"]


@pytest.mark.parametrize(
    ("kind", "before", "after", "told"),
    [
        ("cpufreq-cpu0", "0", "3", {"cooling_device0": 3}),
        ("thermal-cpufreq-0", "2", "0", {"cooling_device0": 2}),
        ("Processor", "1", "1", {"cooling_device0": 1}),
        ("Processor", "0", "0", None),
        ("cpufreq-cpu0", "", "?", None),
        ("Fan", "0", "3", None),
    ],
)
def test_a_frequency_that_the_kernel_lowers_because_of_heat_is_throttling(
    root: Path, kind: str, before: str, after: str, told: dict[str, int] | None
) -> None:
    device = "sys/class/thermal/cooling_device0"
    write(root, f"{device}/type", kind)
    write(root, f"{device}/cur_state", before)
    around = Surroundings(open_node(root))
    around.start()
    write(root, f"{device}/cur_state", after)
    around.stop()
    fields = around.measured((3,), 0.7, None, 20.0).fields
    assert fields.get("cpu_cooling") == told
    assert (THROTTLED in disturbances(fields)) == (told is not None)


GROUPS = "sys/fs/cgroup"
V2 = "usage_usec 9\nnr_periods 4\nnr_throttled 2\nthrottled_usec {}\nnr_bursts 0"
V1 = "nr_periods 4\nnr_throttled 2\nthrottled_time {}"
NO_GROUP = "no control group of /proc/self/cgroup counts"


@pytest.mark.parametrize(
    ("group", "form", "taken", "expected"),
    [
        ("0::/job/step", V2, {"job/step": (1_000_000, 1_250_000)}, 0.25),
        # The quota may be of a group above, or of a container, whose root is the host's group.
        ("0::/job/step", V2, {"job": (0, 250_000)}, 0.25),
        ("0::/", V2, {".": (0, 250_000)}, 0.25),
        ("5:cpu,cpuacct:/job\n0::/", V1, {"cpu,cpuacct/job": (0, 250_000_000)}, 0.25),
        ("1:cpu:/", V1, {"cpu": (0, 250_000_000)}, 0.25),
        # The longest of all levels counts, and a quiet one is a measured zero.
        ("0::/a/b", V2, {"a/b": (7, 8), "a": (7, 1007)}, 0.001),
        ("0::/a/b", V2, {"a/b": (7, 7), "a": (7, 7)}, 0.0),
        # A group that counts nothing, and time that goes back.
        ("0::/", "usage_usec {}", {".": (9, 9)}, NO_GROUP),
        ("0::/../../elsewhere", V2, {}, NO_GROUP),
        ("", V2, {}, NO_GROUP),
        ("4:memory:/x", V2, {".": (1, 1)}, NO_GROUP),
        ("0::/", V2, {".": (9, 8)}, "the control groups' throttled time went back"),
    ],
)
def test_what_a_quota_took_is_told_in_seconds(
    tmp_path: Path, group: str, form: str, taken: dict[str, tuple[int, int]], expected: float | str
) -> None:
    write(tmp_path, "proc/self/cgroup", group)
    meter = QuotaMeter(Tree(tmp_path))
    for moment, look in enumerate((meter.start, meter.stop)):
        for path, times in taken.items():
            write(tmp_path, f"{GROUPS}/{path}/cpu.stat", form.format(times[moment]))
        look()
    found = meter.reading()
    if isinstance(expected, str):
        assert found.fields == {}
        assert found.unavailable["quota_throttled_s"].startswith(expected)
    else:
        assert found == Reading({"quota_throttled_s": expected})


FILES = ("proc/self/cgroup", f"{GROUPS}/cpu.stat", "proc/77/stat", "proc/77/task/77/stat")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.binary(max_size=400), min_size=8, max_size=8))
def test_any_bytes_in_the_files_are_survived(tmp_path: Path, contents: list[bytes]) -> None:
    def write_all(data: list[bytes]) -> None:
        for path, content in zip(FILES, data, strict=True):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(content)

    write_all(contents[:4])
    quota, tasks = QuotaMeter(Tree(tmp_path)), ForeignTasksMeter(Tree(tmp_path), OWN)
    for meter in (quota, tasks):
        meter.start()
    write_all(contents[4:])
    for meter in (quota, tasks):
        meter.stop()
    assert tasks.reading((0,)).unavailable == {}
    assert set(quota.reading().fields | quota.reading().unavailable) == {"quota_throttled_s"}


HOUR_S = 3600.0
AWAKE = Moment(1.8e9, 5000.0, 4000.0)


def later(before: Moment, awake_s: float, asleep_s: float = 0.0, set_s: float = 0.0) -> Moment:
    """Return a moment after so many seconds, in which the clock was set by some."""
    passed_s = awake_s + asleep_s
    realtime_s = before.realtime_s + passed_s + set_s
    return Moment(realtime_s, before.boottime_s + passed_s, before.monotonic_s + awake_s)


@given(
    awake_s=st.floats(0, 600),
    asleep_s=st.floats(0, 1e5),
    set_s=st.sampled_from([0.0, -HOUR_S, 9e4, -200.0]),
    ppm=st.floats(-500, 500),
)
def test_a_step_is_told_apart(awake_s: float, asleep_s: float, set_s: float, ppm: float) -> None:
    slewed_s = (awake_s + asleep_s) * ppm * 1e-6
    now = later(AWAKE, awake_s, asleep_s, set_s or slewed_s)
    assert now.set_since(AWAKE) == pytest.approx(set_s, abs=1e-3)
    assert now.slept_since(AWAKE) == pytest.approx(asleep_s if asleep_s > 0.1 else 0, abs=0.11)


def test_this_node_neither_sleeps_nor_is_its_clock_set_now() -> None:
    before = Moment.now()
    now = Moment.now()
    assert (now.set_since(before), now.slept_since(before)) == (0, 0)


def test_steps_add_up_and_steps_and_sleep_are_told_once() -> None:
    back = later(AWAKE, 60, set_s=-HOUR_S)
    after = later(back, 60)
    forward = later(after, 60, set_s=600)
    following: Iterator[Moment] = iter([AWAKE, back, after, forward, later(forward, 1, 120)])
    clocks = ClockWatch(lambda: next(following))
    assert clocks.measured().fields == {}
    assert "set back by 1 h 00 min" in clocks.look()[0]
    assert clocks.measured().fields == {"clock_set_s": -3600}
    assert clocks.look() == []
    assert "set forward by 10 min 00 s" in clocks.look()[0]
    assert clocks.look() == ["the node slept for 2 min 00 s"]
    assert clocks.measured().fields == {"clock_set_s": -3000}


def test_a_run_in_which_the_node_slept_is_no_result(tmp_path: Path) -> None:
    moments = [AWAKE]

    def now() -> Moment:
        # One look at first and three a run: the seventh is the one after the second run.
        moments.append(later(moments[-1], 0.01, asleep_s=30.0 if len(moments) == 7 else 0.0))
        return moments[-1]

    progress = Quiet()
    study = study_of(tmp_path, "true", idle_power=None, repetitions=3)
    run(study, open_node(Path("/")), tmp_path, progress, ClockWatch(now))
    made = records(tmp_path)
    assert [record["status"] for record in made] == ["ok", "suspended", "ok"]
    assert made[1]["reason"] == "the node slept for 30 s meanwhile"
    assert progress.warnings == ["the node slept for 30 s"]


# Stands before the C library's, whose clock every process of a study asks: adds $CLOCK_OFFSET's s.
CLOCK = """\
#include <ctime>
#include <cstdio>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
    const long failed = syscall(SYS_clock_gettime, clock, now);
    if (failed != 0 || clock != CLOCK_REALTIME)
        return static_cast<int>(failed);
    long set_s = 0;
    if (FILE* offset = std::fopen(std::getenv("CLOCK_OFFSET"), "r")) {
        if (std::fscanf(offset, "%ld", &set_s) != 1)
            set_s = 0;
        std::fclose(offset);
    }
    now->tv_sec += set_s;
    return 0;
}
"""


def test_a_clock_that_is_set_in_the_middle_is_told_and_misorders_nothing(tmp_path: Path) -> None:
    library, offset, runs = (tmp_path / name for name in ("clock.so", "offset", "runs"))
    compiler = [need_tool("g++"), "-shared", "-fPIC", "-x", "c++", "-", "-o", str(library)]
    subprocess.run(compiler, input=CLOCK, text=True, check=True)
    offset.write_text("0")
    setter = write_program(
        tmp_path / "setter",
        f"#!/bin/sh\necho run >>{runs}\n"
        f"[ $(wc -l <{runs}) -ne 2 ] || echo -3600 >{offset}\nsleep 0.02\n",
    )
    write_app(tmp_path, "setter", setter, {"small": {"arguments": [], "estimate": "20 ms"}})
    write_study(tmp_path, "clock", "setter", "small", governors="current", repetitions=4)
    clock = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(offset)}
    done = subprocess.run(
        argv("run", "clock.yaml", "--no-report"),
        cwd=tmp_path,
        env=os.environ | clock | {"PINSTUDY_RESULTS": "results"},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the node's clock was set back by 1 h 00 min") == 1
    (results,) = tmp_path.glob("results/clock/*/")
    made: list[dict[str, Any]] = records(results, "ok")
    assert len(made) == 4
    assert all(0.02 <= record["elapsed_s"] < 1800 for record in made)
    started_s = [datetime.fromisoformat(record["started_at"]).timestamp() for record in made]
    assert started_s[2] < started_s[1], "the clock was not set"
    jumps = [record.get("clock_set_s", 0) for record in made]
    assert jumps == [0, 0, *[pytest.approx(-3600, abs=1)] * 2]
    frame = read_runs(results).frame.sort_values("order")
    assert frame["started_s"].is_monotonic_increasing
    assert frame["started_s"].max() - frame["started_s"].min() < 60
