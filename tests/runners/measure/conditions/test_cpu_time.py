"""Time of the measured CPUs that was not the program's, as far as clock ticks can tell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from base.reading import Reading
from runners.host.tree import Tree
from runners.measure.conditions.cpu_time import (
    BusyMeter,
    CpuTimes,
    ForeignTasksMeter,
    foreign_time,
    parse_stat,
)
from tests.runners.proc_trees import process
from tests.support.trees import write
from tests.support.wait import until


@pytest.fixture(autouse=True)
def ticks() -> None:
    # All common kernels; the expected values below are in hundredths of a second.
    assert os.sysconf("SC_CLK_TCK") == 100


@given(
    st.dictionaries(
        st.integers(0, 9999), st.lists(st.integers(0, 2**63), min_size=10, max_size=10), max_size=9
    )
)
def test_busy_is_what_ran_and_stolen_time_is_apart(cpus: dict[int, list[int]]) -> None:
    text = "cpu  1 2 3 4 5 6 7 8 9 10\n" + "".join(
        f"cpu{cpu} {' '.join(map(str, times))}\n" for cpu, times in cpus.items()
    )
    # proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice; guests are in
    # user already, idle and iowait wait.
    others = "intr 12345 1 2 3\ncpu10000 1 2 3\ncpu10001 a b c d e f g h\nxcpu0 1 1 1 1 1 1 1 1\n"
    assert parse_stat(text + others) == {
        cpu: CpuTimes(t[0] + t[1] + t[2] + t[5] + t[6], t[5] + t[6], t[7])
        for cpu, t in cpus.items()
    }


def test_kernels_without_steal_have_none() -> None:
    assert parse_stat("cpu3 1 1 1 1 1 1 1\n") == {3: CpuTimes(5, 2, 0)}


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    assert all(times.busy >= 0 for times in parse_stat(text).values())


def times(*busy: int) -> dict[int, CpuTimes]:
    return {cpu: CpuTimes(ticks, 0, 0) for cpu, ticks in enumerate(busy)}


def test_foreign_is_what_the_program_did_not_use_on_its_cpus() -> None:
    # CPUs 0 and 1 were busy for 1.50 s together, CPU 2 is not measured.
    reading = foreign_time(times(100, 100, 0), times(200, 150, 900), (0, 1), 1.2)
    assert reading.fields["foreign_cpu_s"] == pytest.approx(0.3)
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


def test_the_meter_reads_around_the_run_and_stolen_time_is_no_foreign_task(
    tmp_path: Path,
) -> None:
    meter = BusyMeter(Tree(tmp_path))
    write(tmp_path, "proc/stat", "cpu0 100 0 0 0 0 0 0 5 0 0")
    meter.start()
    write(tmp_path, "proc/stat", "cpu0 170 0 20 500 0 2 8 30 0 0")
    meter.stop()
    assert meter.reading((0,), 0.75).fields == {
        "foreign_cpu_s": pytest.approx(0.25),
        "interrupts_s": pytest.approx(0.1),
        "steal_s": pytest.approx(0.25),
    }


def test_a_file_that_cannot_be_read_is_the_reason(tmp_path: Path) -> None:
    meter = BusyMeter(Tree(tmp_path))
    meter.start()
    meter.stop()
    reason = "/proc/stat is missing"
    absent = dict.fromkeys(("foreign_cpu_s", "interrupts_s", "steal_s"), reason)
    assert meter.reading((0,), 0.0) == Reading({}, absent)


def test_foreign_time_is_not_known_without_the_programs_own_or_the_last_look(
    tmp_path: Path,
) -> None:
    names = ("foreign_cpu_s", "interrupts_s", "steal_s")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu0 1 0 0 0 0 0 0 0 0 0\n")
    meter = BusyMeter(Tree(tmp_path))
    meter.start()
    meter.stop()
    unknown = dict.fromkeys(names, "the program's own CPU time is not known")
    assert meter.reading((0,), None) == Reading({}, unknown)
    (tmp_path / "proc/stat").unlink()
    meter.stop()
    assert meter.reading((0,), 0.0) == Reading({}, dict.fromkeys(names, "/proc/stat is missing"))


OWN = 500


@pytest.fixture
def meter(tmp_path: Path) -> ForeignTasksMeter:
    """A meter that has looked at a quiet node: pid 1, pinstudy, two daemons."""
    process(tmp_path, 1, "systemd", parent=0, user=100)
    process(tmp_path, OWN, "pinstudy", user=100)
    process(tmp_path, 700, "busy", user=1000, system=10, threads=(3,))
    process(tmp_path, 701, "idle", user=5, threads=(3,))
    made = ForeignTasksMeter(Tree(tmp_path), OWN)
    made.start()
    return made


def tasks(meter: ForeignTasksMeter, cpus: tuple[int, ...] = (2, 3)) -> list[dict[str, object]]:
    meter.stop()
    found = meter.reading(cpus).fields["foreign_tasks"]
    assert isinstance(found, list)
    return found


def test_only_what_was_used_meanwhile_counts(meter: ForeignTasksMeter, tmp_path: Path) -> None:
    process(tmp_path, 700, "busy", user=1020, system=15)
    # (1020 + 15) - (1000 + 10) = 25 ticks of 10 ms.
    assert tasks(meter) == [{"command": "busy", "cpu_s": 0.25}]


def test_what_ran_elsewhere_or_ended_did_not_disturb(
    meter: ForeignTasksMeter, tmp_path: Path
) -> None:
    process(tmp_path, 700, "busy", user=1100)
    process(tmp_path, 701, "idle", user=50, threads=(7, 2))
    assert [task["command"] for task in tasks(meter, (2,))] == ["idle"]
    (tmp_path / "proc/701/stat").unlink()
    assert tasks(meter, (2,)) == []


def test_pinstudy_and_all_it_started_are_no_foreign_tasks(
    meter: ForeignTasksMeter, tmp_path: Path
) -> None:
    process(tmp_path, OWN, "pinstudy", user=190)
    process(tmp_path, 900, "pinstudy-witnes", parent=OWN, user=1, cpu=2)
    process(tmp_path, 901, "lulesh", parent=900, user=9000, cpu=2)
    process(tmp_path, 902, "perf", parent=OWN, user=4, cpu=2)
    assert tasks(meter) == []


def test_ranks_that_a_daemon_has_started_are_no_foreign_tasks(
    meter: ForeignTasksMeter, tmp_path: Path
) -> None:
    process(tmp_path, 900, "slurmstepd", user=1, cpu=2)
    process(tmp_path, 901, "solver", parent=900, user=9000, cpu=2)
    process(tmp_path, 902, "helper", parent=901, user=40, cpu=2)
    meter.stop()
    assert meter.reading((2,), {901}).fields["foreign_tasks"] == [
        {"command": "slurmstepd", "cpu_s": 0.01}
    ]


@pytest.mark.parametrize(
    ("pid", "name"), [(950, "apt) (x"), (700, "other")], ids=["new", "its number given again"]
)
def test_a_new_process_counts_in_full(
    meter: ForeignTasksMeter, tmp_path: Path, pid: int, name: str
) -> None:
    process(tmp_path, pid, name, system=31, cpu=3, started=99)
    assert tasks(meter) == [{"command": name, "cpu_s": 0.31}]


def test_the_five_busiest_most_first(meter: ForeignTasksMeter, tmp_path: Path) -> None:
    for number in range(1, 8):
        process(tmp_path, 800 + number, f"t{number}", user=number, cpu=3)
    assert [task["command"] for task in tasks(meter)] == ["t7", "t6", "t5", "t4", "t3"]


def test_parents_in_a_circle_end(meter: ForeignTasksMeter, tmp_path: Path) -> None:
    process(tmp_path, 800, "a", parent=801, user=1, cpu=3)
    process(tmp_path, 801, "b", parent=800, user=2, cpu=3)
    assert [task["command"] for task in tasks(meter)] == ["b", "a"]


def test_a_node_that_cannot_be_looked_at_has_a_reason(tmp_path: Path) -> None:
    empty = ForeignTasksMeter(Tree(tmp_path), OWN)
    empty.start()
    empty.stop()
    assert empty.reading((0,)) == Reading({}, {"foreign_tasks": "/proc is missing"})
    (tmp_path / "proc").mkdir()
    empty.start()
    (tmp_path / "proc").rmdir()
    empty.stop()
    assert empty.reading((0,)) == Reading({}, {"foreign_tasks": "/proc is missing"})


@given(st.lists(st.binary(max_size=400), min_size=4, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_bytes_in_proc_are_survived(tmp_path: Path, contents: list[bytes]) -> None:
    meter = ForeignTasksMeter(Tree(tmp_path), OWN)
    folder = tmp_path / "proc/77/task/77"
    folder.mkdir(parents=True, exist_ok=True)
    (tmp_path / "proc/77/stat").write_bytes(contents[0])
    meter.start()
    (tmp_path / "proc/77/stat").write_bytes(contents[1])
    (folder / "stat").write_bytes(contents[2])
    meter.stop()
    assert meter.reading((0,)).unavailable == {}


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
            before_s = cpu_s(pid)
            meter.start()
            started_s = cpu_s(pid)
            until(lambda: cpu_s(pid) >= started_s + 0.3)
            burnt_s = cpu_s(pid) - started_s
            meter.stop()
            at_most_s = cpu_s(pid) - before_s
        finally:
            os.kill(pid, signal.SIGKILL)
        found = meter.reading((cpu,)).fields["foreign_tasks"]
    burnt = [task["cpu_s"] for task in found if task["command"] == "burner-x"]
    assert len(burnt) == 1
    assert burnt_s - 0.001 <= burnt[0] <= at_most_s + 0.001


def cpu_s(pid: int) -> float:
    """Return how long a process has run, in user and kernel mode (proc(5): stat, 14 and 15)."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
