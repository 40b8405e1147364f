"""The sampler reads masks, CPUs, CPU time and libraries of threads from the kernel's files."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.runners.execution.execute import Harness, execute
from pinstudy.runners.placement.sampler import (
    LAST_LOOK_S,
    MAX_PROCESSES,
    MAX_STAYS,
    TURN_S,
    LoadedLibraries,
    Pace,
    PlacementSampler,
)
from pinstudy.runners.placement.thread_placement import Expected, Samples, prove
from pinstudy.runners.plan.launch import Launch
from tests.runners.proc_trees import process
from tests.support.held import looks_counted
from tests.support.programs import witness
from tests.support.wait import HANG_S


class HandClock:
    """A clock whose time is set by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def sampler_of(proc: Path, online: str = "0-3", **more: Any) -> PlacementSampler:  # noqa: ANN401
    """Return a sampler of process 10 of this tree, on a node with these CPUs."""
    file = proc / "online"
    file.write_text(f"{online}\n")
    return PlacementSampler((10,), proc, file, **more)


def task(
    proc: Path,
    pid: int,
    tid: int,
    cpu: int,
    allowed: str,
    children: str = "",
    ticks: int = 0,
    started: int = 7,
    state: str = "S",
    nanoseconds: int | None = None,
    ignored: int = 0,
) -> None:
    folder = proc / str(pid) / "task" / str(tid)
    folder.mkdir(parents=True, exist_ok=True)
    fields = ["0"] * 50
    fields[0], fields[11], fields[19], fields[36] = state, str(ticks), str(started), str(cpu)
    (folder / "stat").write_text(f"{tid} (a ) name) {' '.join(fields)}\n")
    signals = f"SigIgn:\t{ignored:016x}\nSigCgt:\t0000000000000000\n"
    masks = f"Cpus_allowed:\tf\nCpus_allowed_list:\t{allowed}\n"
    (folder / "status").write_text(f"Name:\ta\n{signals}{masks}")
    if nanoseconds is not None:
        (folder / "schedstat").write_text(f"{nanoseconds} 41230 9\n")
    (folder / "children").write_text(children)


def test_the_sampler_notices_cpus_that_go_and_come_back(tmp_path: Path) -> None:
    sampler = sampler_of(tmp_path, "0-3,5")
    sampler.sample()
    assert not sampler.hotplugged_cpus
    for cpus in ("0-2,5", "0-5", "", "0-3,5"):
        (tmp_path / "online").write_text(f"{cpus}\n")
        sampler.sample()
    assert sampler.hotplugged_cpus == (3, 4)


def test_the_sampler_reads_masks_and_cpus_of_threads_and_children(tmp_path: Path) -> None:
    # Every child is looked at, however many there are.
    ended = " ".join(map(str, range(1000, 5000)))
    task(tmp_path, 10, 10, 3, "0-3", children=f"{ended} 20 ")
    task(tmp_path, 10, 11, 1, "1")
    task(tmp_path, 20, 20, 2, "2")
    sampler = sampler_of(tmp_path, "0-7")
    # The witness's orphans are followed, and it is not.
    orphans = PlacementSampler((10,), tmp_path, tmp_path / "online", descendants_only=True)
    for _ in range(2):
        sampler.sample()
        orphans.sample()
    seen = {
        thread.tid: (thread.pid, thread.allowed, dict(thread.ran_on)) for thread in sampler.threads
    }
    child = {20: (20, (2,), {2: 2})}
    assert seen == {10: (10, (0, 1, 2, 3), {3: 2}), 11: (10, (1,), {1: 2})} | child
    assert [thread.tid for thread in orphans.threads] == [20]


def test_the_mask_of_a_user_with_thousands_of_groups_is_read(tmp_path: Path) -> None:
    task(tmp_path, 10, 10, 3, "0-3")
    status = tmp_path / "10" / "task" / "10" / "status"
    # The kernel lists groups before masks, and allows 65536 of them (limits.h, NGROUPS_MAX).
    groups = " ".join(str(1_234_500_000 + number) for number in range(2000))
    status.write_text(status.read_text().replace("SigIgn:", f"Groups:\t{groups} \nSigIgn:"))
    sampler = sampler_of(tmp_path)
    sampler.sample()
    assert [thread.allowed for thread in sampler.threads] == [(0, 1, 2, 3)]


def test_descendants_are_found_by_their_parents_where_the_kernel_lists_none(
    tmp_path: Path,
) -> None:
    proc = tmp_path / "proc"
    for pid, parent in ((10, 1), (20, 10), (30, 20), (40, 1)):
        for tid in (pid, pid + 1):
            task(proc, pid, tid, 0, "0-3")
            (proc / str(pid) / "task" / str(tid) / "children").unlink()
        process(tmp_path, pid, "a ) name", parent=parent)
    sampler = sampler_of(proc)
    sampler.sample()
    assert sorted(thread.tid for thread in sampler.threads) == [10, 11, 20, 21, 30, 31]
    # A parent may end, and another process may come.
    shutil.rmtree(proc / "20")
    process(tmp_path, 30, "a ) name", parent=10)
    task(proc, 50, 50, 0, "0-3")
    process(tmp_path, 50, "a ) name", parent=30)
    sampler.sample()
    seen = {thread.tid for thread in sampler.threads if thread.last_look == 2}
    assert seen == {10, 11, 30, 31, 50}


@given(stat=st.binary(max_size=200), status=st.binary(max_size=200))
def test_unreadable_threads_are_not_seen(
    tmp_path_factory: pytest.TempPathFactory, stat: bytes, status: bytes
) -> None:
    root = tmp_path_factory.mktemp("proc")
    folder = root / "7" / "task" / "7"
    folder.mkdir(parents=True)
    (folder / "stat").write_bytes(stat)
    (folder / "status").write_bytes(status)
    PlacementSampler((7,), root, root / "online").sample()


def test_a_look_for_which_no_open_file_is_left_is_told_from_threads_that_have_ended() -> None:
    sampler = PlacementSampler((os.getpid(),))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Fewer than are open: none can be opened, and those that are stay open.
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            sampler.sample()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_mask_that_nobody_has_set_is_what_is_online_of_it(tmp_path: Path) -> None:
    """Such a mask names CPUs that are not there: those that could be plugged in."""
    task(tmp_path, 10, 10, 3, "0-127", ticks=50)
    sampler = sampler_of(tmp_path, "0-5,7")
    for _ in range(9):
        sampler.sample()
    (thread,) = sampler.threads
    assert thread.allowed == (0, 1, 2, 3, 4, 5, 7)
    samples = Samples(sampler.threads, sampler.samples, 1.0)
    assert prove(samples, Expected("none", thread.allowed, 1)).verdict == "proved"


@pytest.mark.parametrize(
    ("looks", "stays"),
    [
        # Allowed CPUs, CPU, microseconds; and looks, CPU time, and time at the first look.
        (
            [("0-1", 0, 30), ("1", 1, 400), ("1", 1, 9400), ("1", 1, 9400), ("0-1", 1, 9900)],
            [
                ((0, 1), {0: 1}, 0.00003, 0.00003),
                ((1,), {1: 3}, 0.00937, 0.00037),
                ((0, 1), {1: 1}, 0.0005, 0.0005),
            ],
        ),
        # A sleeping thread's CPU from before it was bound is told apart.
        (
            [("1", 0, 1), ("1", 0, 1), ("1", 1, 1), ("1", 1, 1)],
            [((1,), {0: 2}, 0.000001, 0.000001), ((1,), {1: 2}, 0.0, 0.0)],
        ),
        # A thread that takes the place of the main thread starts its clock anew.
        ([("1", 1, 100_000), ("1", 1, 5000), ("1", 1, 25_000)], [((1,), {1: 3}, 0.12, 0.1)]),
    ],
)
def test_every_stay_is_kept_with_its_looks_and_its_cpu_time(
    tmp_path: Path,
    looks: list[tuple[str, int, int]],
    stays: list[tuple[tuple[int, ...], dict[int, int], float, float]],
) -> None:
    sampler = sampler_of(tmp_path)
    for allowed, cpu, used_us in looks:
        task(tmp_path, 10, 10, cpu, allowed, nanoseconds=1000 * used_us)
        sampler.sample()
    (thread,) = sampler.threads
    assert [(stay.allowed, dict(stay.ran_on)) for stay in thread.stays] == [
        stay[:2] for stay in stays
    ]
    assert thread.spent_s == pytest.approx([spent_s for *_, spent_s, _ in stays])
    entering = [stay.entering_s for stay in thread.stays]
    assert entering == pytest.approx([entering_s for *_, entering_s in stays])
    assert not sampler.in_ticks


@pytest.mark.parametrize("nanoseconds", [None, 0])
def test_where_the_kernel_has_no_nanoseconds_clock_ticks_are_read(
    tmp_path: Path, nanoseconds: int | None
) -> None:
    sampler = sampler_of(tmp_path)
    for ticks in (0, 3):
        task(tmp_path, 10, 10, 0, "0", ticks=ticks, nanoseconds=nanoseconds)
        sampler.sample()
    assert sampler.threads[0].cpu_s == 0.03
    assert sampler.in_ticks


@pytest.mark.parametrize(("number", "drops"), [(signal.SIGCHLD, True), (signal.SIGPIPE, False)])
def test_a_process_that_ignores_the_end_of_its_children_is_noticed(
    tmp_path: Path, number: int, drops: bool
) -> None:
    task(tmp_path, 10, 10, 0, "0", ignored=1 << number - 1)
    sampler = sampler_of(tmp_path)
    sampler.sample()
    assert sampler.drops_children == drops


def test_a_thread_goes_on_as_it_did_before_the_last_look(tmp_path: Path) -> None:
    clock = HandClock()
    sampler = sampler_of(tmp_path, clock=clock)
    paces = []
    for clock.now_s, state, used_ms in (
        (1, "S", 5),
        (1.1, "S", 55),
        (1.2, "S", 55),
        (1.3, "R", 55),
    ):
        task(tmp_path, 10, 10, 0, "0", state=state, nanoseconds=used_ms * 1_000_000)
        sampler.sample()
        paces.append(sampler.threads[0].pace)
    assert paces == pytest.approx([1.0, 0.5, 0.0, 1.0])


def test_a_thread_that_never_rests_has_a_bounded_trace(tmp_path: Path) -> None:
    sampler = sampler_of(tmp_path)
    for look in range(6 * MAX_STAYS):
        task(tmp_path, 10, 10, look % 2, str(look % 2))
        sampler.sample()
    (thread,) = sampler.threads
    assert len(thread.stays) <= MAX_STAYS
    assert thread.masks == {(0,): 3 * MAX_STAYS, (1,): 3 * MAX_STAYS}
    assert thread.allowed == (1,)


def test_a_later_thread_of_the_same_number_is_another(tmp_path: Path) -> None:
    sampler = sampler_of(tmp_path)
    for started in (7, 8):
        task(tmp_path, 10, 10, 0, "0", started=started)
        sampler.sample()
    assert [(trace.first_look, trace.last_look) for trace in sampler.threads] == [(1, 1), (2, 2)]


def test_a_thread_that_is_gone_may_have_gone_on_until_it_was_missed(tmp_path: Path) -> None:
    clock = HandClock()
    task(tmp_path, 10, 10, 0, "0")
    task(tmp_path, 10, 11, 0, "0", state="R")
    sampler = sampler_of(tmp_path, clock=clock)
    for clock.now_s, state in ((0.0, "R"), (1.0, "S")):
        task(tmp_path, 10, 12, 0, "0", state=state)
        sampler.sample()
    clock.now_s = 2.0
    for thread in ("11", "12"):
        shutil.rmtree(tmp_path / "10/task" / thread)
    sampler.sample()
    clock.now_s = 2.5
    shutil.rmtree(tmp_path / "10")
    sampler.sample(at_end=True)
    # Of one that was at work all of the time is possible, of one that slept half is the best guess.
    gone_s = {trace.tid: trace.gone_s for trace in sampler.threads}
    assert gone_s == {10: 0.5, 11: 1.0, 12: 0.5}


def test_a_thread_that_waits_for_a_cpu_is_runnable_since_the_look_before(tmp_path: Path) -> None:
    clock = HandClock()
    sampler = sampler_of(tmp_path, clock=clock)
    for clock.now_s, state in ((1.0, "R"), (1.5, "R"), (3.5, "S"), (3.75, "R")):
        task(tmp_path, 10, 10, 0, "0", state=state)
        sampler.sample()
    assert sampler.threads[0].runnable_s == 1.75


def test_a_new_thread_is_noticed_without_a_look(tmp_path: Path) -> None:
    task(tmp_path, 10, 10, 0, "0")
    sampler = sampler_of(tmp_path)
    sampler.sample()
    assert not sampler.grown()
    task(tmp_path, 10, 11, 0, "0")
    assert sampler.grown()
    sampler.sample()
    assert not sampler.grown()
    shutil.rmtree(tmp_path / "10")
    assert sampler.grown()


def test_looks_are_dense_at_first_then_as_rare_as_they_are_dear(tmp_path: Path) -> None:
    clock = HandClock()
    sampler = PlacementSampler((10,), tmp_path, tmp_path / "online", clock)
    pace = Pace(clock)

    def looks_within(seconds: float) -> int:
        until, before = clock.now_s + seconds, sampler.samples
        while clock.now_s < until:
            clock.now_s += pace.pause_s + 1e-9
            pace.step(sampler)
        return sampler.samples - before

    assert looks_within(0.05) >= 8
    # A look that costs nothing is made at every turn.
    assert looks_within(1.0) == pytest.approx(1.0 / TURN_S, abs=2)
    assert pace.pause_s <= TURN_S
    pace.step(sampler, born=True)
    assert looks_within(0.05) >= 7


def test_births_do_not_make_looks_rarer_where_each_takes_long(tmp_path: Path) -> None:
    def looks(births: int) -> int:
        """Return the looks at two seconds of a program that starts threads at once."""
        clock = HandClock()

        class Slow(PlacementSampler):
            def sample(self, *, at_end: bool = False) -> None:
                clock.now_s += 0.02
                super().sample(at_end=at_end)

        sampler, pace = Slow((10,), tmp_path, tmp_path / "online", clock), Pace(clock)
        turns = 0
        while clock.now_s < 2.0:
            clock.now_s += pace.pause_s + 1e-9
            turns += 1
            pace.step(sampler, born=turns <= births)
        return sampler.samples

    assert looks(births=3) >= looks(births=0) >= 10


def test_no_look_is_rarer_than_one_a_second(tmp_path: Path) -> None:
    class Dear(HandClock):
        """Every question takes a second: a node with far too many threads."""

        def __call__(self) -> float:
            self.now_s += 1.0
            return self.now_s

    clock = Dear()
    pace = Pace(clock)
    sampler = PlacementSampler((10,), tmp_path, tmp_path / "online", clock)
    assert pace.step(sampler)
    after_s = clock.now_s
    while not pace.step(sampler):
        assert clock.now_s - after_s < LAST_LOOK_S + 2


MAPS = """\
55e4c0a00000-55e4c0a21000 r--p 00000000 fe:01 131 /usr/bin/python3.11
7f1c2a000000-7f1c2a021000 rw-p 00000000 00:00 0 [heap]
7f1c2b000000-7f1c2b100000 r-xp 00001000 fe:01 77 /opt/my env/lib/libscipy_openblas64_-99b71e71.so
7f1c2c000000-7f1c2c100000 r-xp 00001000 fe:01 78 /usr/lib/libgomp.so.1.0.0
7f1c2d000000-7f1c2d100000 r-xp 00001000 fe:01 79 /usr/lib/libm.so.6
"""


def mapped(proc: Path, pid: int, maps: str) -> None:
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "maps").write_text(maps)


def test_of_all_mapped_files_those_with_threads_are_named(tmp_path: Path) -> None:
    mapped(tmp_path, 7, MAPS)
    mapped(tmp_path, 8, "0-1 r--p 0 0:0 0 /lib/libtbb.so.12\n")
    libraries = LoadedLibraries(tmp_path)

    libraries.look([6, 7, 8])

    assert libraries.names == (
        "libgomp.so.1.0.0", "libscipy_openblas64_-99b71e71.so", "libtbb.so.12",
    )  # fmt: skip


def test_it_looks_ever_more_rarely_and_at_no_more_than_some_processes(tmp_path: Path) -> None:
    libraries = LoadedLibraries(tmp_path)
    looked = []
    for call in range(1, 101):
        mapped(tmp_path, call, f"0-1 r--p 0 0:0 0 /lib/libopenblas.so.{call}\n")
        libraries.look([call])
        if any(name.endswith(f".{call}") for name in libraries.names):
            looked.append(call)

    assert looked == [1, 2, 4, 8, 16, 32, 64]
    many = LoadedLibraries(tmp_path)
    many.look(range(1, 101))
    assert len(many.names) == MAX_PROCESSES


def test_what_an_interpreter_opens_is_found_while_it_runs(tmp_path: Path) -> None:
    # A copy of some library, whose name alone counts, opened after the start.
    script = (
        "import ctypes, os, shutil, time\n"
        "path = os.environ['HERE'] + '/libopenblas.so.0'\n"
        "maps = open('/proc/self/maps').read().split()\n"
        "shutil.copy(next(word for word in maps if 'libc.so' in word), path)\n"
        "ctypes.CDLL(path)\n"
        "looks = lambda: int(open(os.environ['LOOKS'], 'rb').read().split(b'\\0')[0] or 0)\n"
        # The next power of two is a look at the libraries, too.
        "enough = 2 * looks() + 2\n"
        "while looks() < enough: time.sleep(0.001)\n"
    )
    libraries = LoadedLibraries()
    with looks_counted(tmp_path / "looks") as looks:
        environment = {"PATH": os.environ["PATH"], "HERE": str(tmp_path), "LOOKS": str(looks)}
        launch = Launch((), (sys.executable, "-c", script), environment, {}, ())
        run = execute(launch, HANG_S, Harness(witness(), None), libraries=libraries)

    assert run.ending.exit_code == 0, run.stderr
    assert run.thread_libraries == ("libopenblas.so.0",)
