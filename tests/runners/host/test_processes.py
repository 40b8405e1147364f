"""What /proc/PID/stat says, whatever the process calls itself."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.reading import Unavailable
from runners.host.processes import (
    Task,
    children_of,
    ignores_children,
    is_runnable,
    parse_task,
    read_stats,
    read_threads,
    run_time_s,
    texts_of_threads,
)
from runners.host.tree import Tree
from tests.runners.proc_trees import process, stat_line

LIVE = Tree(Path("/"))


ODD_NAMES = st.sampled_from(["a b", ")", ") (", "x) S 1 (y", "a\nb", "(sd-pam)", "", "ü"])
TICKS = st.integers(0, 2**62)


@given(st.text(max_size=15) | ODD_NAMES, st.integers(0, 2**31), TICKS, TICKS, st.integers(0, 8191))
def test_every_line_gives_back_what_is_in_it(
    command: str, pid: int, user: int, system: int, cpu: int
) -> None:
    line = stat_line(pid, command, parent=7, user=user, system=system, started=901, cpu=cpu)
    assert parse_task(line) == Task(pid, command, 7, user, system, 901, cpu)


@given(st.text())
def test_any_text_is_a_task_or_none(text: str) -> None:
    parse_task(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12",
        "12 (a",
        "12 (a) S 1",
        stat_line(1, "a").replace(" S ", " S x"),
        stat_line(1, "a", user=10**25),
        stat_line(1, "a").replace("1 (", "one ("),
    ],
)
def test_what_is_no_stat_file_is_none(text: str) -> None:
    assert parse_task(text) is None


def test_this_process_is_read_as_it_is() -> None:
    stats = read_stats(LIVE)
    assert isinstance(stats, dict)
    task = parse_task(stats[os.getpid()])
    assert task is not None
    assert (task.pid, task.parent) == (os.getpid(), os.getppid())
    assert task.cpu_ticks / 100 == pytest.approx(time.process_time(), abs=0.2)
    assert task.command == Path("/proc/self/comm").read_text().rstrip("\n")


def test_each_process_of_this_machine_costs_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    read = os.read

    def counted(descriptor: int, size: int) -> bytes:
        reads.append(descriptor)
        return read(descriptor, size)

    monkeypatch.setattr(os, "read", counted)
    stats = read_stats(LIVE)
    assert isinstance(stats, dict)
    # Those that end meanwhile are read in vain.
    assert len(stats) <= len(reads) <= len(stats) + 20


def test_every_thread_is_read() -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        assert [task.pid for task in read_threads(LIVE, sleeper.pid)] == [sleeper.pid]
        sleeper.kill()
    assert read_threads(LIVE, sleeper.pid) == []


def test_children_are_those_of_all_threads_and_an_ended_process_has_none() -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        assert sleeper.pid in children_of(os.getpid())
        assert children_of(sleeper.pid) == []
        sleeper.kill()
    assert sleeper.pid not in children_of(os.getpid())
    assert children_of(sleeper.pid) == []


def test_a_process_that_ends_while_its_threads_are_listed_has_none() -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        # An open folder stays when its process has ended; its list can be read no more.
        tasks = os.open(f"/proc/{sleeper.pid}/task", os.O_RDONLY)
        opened = Path(f"/proc/self/fd/{tasks}")
        assert len(texts_of_threads(opened, "schedstat")) == 1
        sleeper.kill()
    assert opened.is_dir()
    assert texts_of_threads(opened, "schedstat") == []
    os.close(tasks)


def test_other_entries_and_vanished_processes_are_passed_over(tmp_path: Path) -> None:
    assert read_stats(Tree(tmp_path)) == Unavailable("/proc is missing", missing=True)
    process(tmp_path, 10, "there")
    for name in ("11", "self", "٣"):
        (tmp_path / "proc" / name).mkdir()
    stats = read_stats(Tree(tmp_path))
    assert isinstance(stats, dict) and list(stats) == [10]


def test_a_stat_file_says_whether_its_thread_is_runnable() -> None:
    assert is_runnable("812 (a) R (b) R 1 812")
    assert not is_runnable("812 (R) R) S 1 812")
    assert not is_runnable("")


@pytest.mark.parametrize(
    ("text", "run_s"),
    [("9123456 41230 9\n", 0.009123456), ("0 0 0\n", 0.0), ("", None), ("oops 1 2\n", None)],
)
def test_a_thread_s_cpu_time_is_known_in_nanoseconds(text: str, run_s: float | None) -> None:
    assert run_time_s(text) == run_s


def test_a_process_that_ignores_the_end_of_its_children_says_so() -> None:
    assert ignores_children("SigBlk:\t0\nSigIgn:\t0000000000010000\nSigCgt:\t0\n")
    assert not ignores_children("SigBlk:\t0\nSigIgn:\t0000000000001000\nSigCgt:\t0\n")
    assert not ignores_children("Name:\tSigIgn:\t0000000000010000\n")
    assert not ignores_children("")
