"""The sampler's looks are kept for a trace, evenly thinned, within bounds."""

from __future__ import annotations

from pathlib import Path

from pinstudy.runners.placement.look_log import LoggedLook, LookLog
from pinstudy.runners.placement.sampler import PlacementSampler
from pinstudy.runners.records.trace_file import MAX_MARKS, MAX_ROWS, MAX_THREADS, TraceFile
from tests.runners.placement.test_sampler import HandClock, task

HEAD = ("abc-1-0", "a case", "2026-11-29T00:00:00.000+00:00", {"P": (0, 1), "E": (2, 3)})


def file_of(log: LookLog, window_ns: tuple[int, int] = (0, 0)) -> TraceFile:
    file = log.file(*HEAD, window_ns)
    assert file
    return file


def test_each_look_of_the_sampler_is_kept_with_where_and_what_it_found(tmp_path: Path) -> None:
    (tmp_path / "online").write_text("0-3\n")
    clock, log = HandClock(), LookLog()
    sampler = PlacementSampler((10,), tmp_path, tmp_path / "online", clock, log=log)
    for at_s, cpu, state, ns in ((5.0, 1, "R", 0), (5.02, 2, "R", 19_000_000), (5.1, 2, "S", 9**8)):
        clock.now_s = at_s
        task(tmp_path, 10, 10, cpu, "0-3", state=state, nanoseconds=ns)
        sampler.sample()

    # The program began 1 ms before the first look, and ended 10 ms after the last.
    file = file_of(log, (4_999_000_000, 5_110_000_000))

    (thread,) = file.threads
    assert (thread.pid, thread.tid, thread.name, thread.rank) == (10, 10, "a ) name", None)
    assert (thread.looks, thread.at_us) == ([1, 2, 3], [1000, 21_000, 101_000])
    assert (thread.cpus, thread.at_work) == ([1, 2, 2], [True, True, False])
    assert thread.cpu_us == [0, 19_000, 43_047]
    assert (file.looks, file.step, file.elapsed_us) == (3, 1, 111_000)
    assert file.kinds == {"P": "0-1", "E": "2-3"}
    # An interrupted run counts from its first look.
    assert file_of(log).threads[0].at_us == [0, 20_000, 100_000]
    assert file_of(log).elapsed_us is None


def test_many_looks_are_thinned_evenly() -> None:
    log, made = LookLog(), MAX_ROWS * 3
    for number in range(1, made + 1):
        log.add((10, 7), 10, 0, "a", LoggedLook(number, number / 100, 0, True, number / 100))

    (thread,) = (file := file_of(log)).threads
    assert file.step == 4
    assert thread.looks == list(range(1, made + 1, 4))
    # Looks are 10 ms apart, and the time used between those that are kept is whole.
    assert set(map(int.__sub__, thread.at_us[1:], thread.at_us)) == {40_000}
    assert thread.cpu_us[-1] == round(thread.looks[-1] * 10_000)


def test_what_is_beyond_the_bounds_is_counted() -> None:
    log = LookLog()
    for tid in range(MAX_THREADS + 3):
        log.add((tid, 7), 10, 1, "a", LoggedLook(1, 1.0, 0, True, 0.0))
    for _ in range(MAX_MARKS + 2):
        log.mark(True, "solve", 10**9)
    file = file_of(log)
    assert (len(file.threads), file.threads_left_out) == (MAX_THREADS, 3)
    assert (len(file.marks), file.marks_left_out) == (MAX_MARKS, 2)
    assert file.threads[0].rank == 1
    assert LookLog().file(*HEAD) is None
