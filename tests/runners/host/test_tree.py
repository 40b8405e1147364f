"""What a tree's files and its processes say, whatever they hold and call themselves."""

from __future__ import annotations

import errno
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.reading import Unavailable
from pinstudy.runners.host.processes import (
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
from pinstudy.runners.host.tree import TEXT_LIMIT, Tree
from tests.runners.proc_trees import process, stat_line

PATH = "/sys/devices/value"
LIVE = Tree(Path("/"))


def tree_with(root: Path, content: bytes) -> Tree:
    file = root / PATH[1:]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return Tree(root)


def reason(answer: object) -> str:
    assert isinstance(answer, Unavailable)
    return answer.reason


def test_what_is_not_there_is_missing(tmp_path: Path) -> None:
    assert Tree(tmp_path).integer(PATH) == Unavailable(f"{PATH} is missing", missing=True)
    below_a_file = tree_with(tmp_path, b"1\n").text(f"{PATH}/deeper")
    assert isinstance(below_a_file, Unavailable) and below_a_file.missing


@pytest.mark.parametrize("content", [b"", b"\n", b"  \n\n"])
def test_an_empty_file_has_no_text_and_no_number_but_is_an_empty_list(
    tmp_path: Path, content: bytes
) -> None:
    tree = tree_with(tmp_path, content)
    assert reason(tree.text(PATH)) == reason(tree.integer(PATH)) == f"{PATH} is empty"
    assert tree.cpulist(PATH) == ()


@pytest.mark.parametrize(
    ("read", "content", "value"),
    [
        (Tree.text, b"intel_pstate\n", "intel_pstate"),
        (Tree.integer, b"-1\n", -1),
        (Tree.integer, b"+7", 7),
        (Tree.natural, b"0\n", 0),
        (Tree.hexadecimal, b"0x00000000410fd850\n", 0x410FD850),
        (Tree.hexadecimal, b"1f", 0x1F),
        (Tree.cpulist, b"0-3,8\n", (0, 1, 2, 3, 8)),
        (Tree.cpulist, b"0 1 4\n", (0, 1, 4)),
        (Tree.cpulist, b"0-1, 4", (0, 1, 4)),
        # Linux 5.15-rc ended lists so.
        (Tree.cpulist, b"0-1\n\0", (0, 1)),
        (Tree.cpulist, b"0-1\0\n\0\0", (0, 1)),
        (Tree.text, b"intel_pstate\n\0", "intel_pstate"),
        (Tree.content, b"ro isolcpus=2\n\0", "ro isolcpus=2\n"),
        (Tree.integer, b"4800000\0", 4800000),
    ],
)
def test_values_are_read_as_the_kernel_writes_them(
    tmp_path: Path, read: Callable[[Tree, str], object], content: bytes, value: object
) -> None:
    assert read(tree_with(tmp_path, content), PATH) == value


NO_NUMBER = (b"1.5", b"0x10", b"1_000", b"12 13", b"\xff\xfe", "٣".encode(), b"x" * 5000)
NO_LIST = (b"all", b"3-1", b"0-99999999", b"-1", b"0-3-5", b"\x00", b"0\x00-3", b"\x00" * 99)


@pytest.mark.parametrize(
    ("read", "content", "part"),
    [
        *((Tree.integer, content, "not a whole number") for content in NO_NUMBER),
        (Tree.natural, b"-1\n", "holds -1, which cannot be"),
        *((Tree.cpulist, content, "not a list of CPUs") for content in NO_LIST),
    ],
)
def test_what_is_no_such_value_is_shown_as_it_is(
    tmp_path: Path, read: Callable[[Tree, str], object], content: bytes, part: str
) -> None:
    answer = reason(read(tree_with(tmp_path, content), PATH))
    assert part in answer and PATH in answer
    assert len(answer) < 400


def test_a_file_larger_than_any_of_sysfs_is_not_read_whole(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, b"1" * (TEXT_LIMIT + 1))
    assert reason(tree.text(PATH)) == f"{PATH} is larger than {TEXT_LIMIT} bytes"
    assert tree.content(PATH, limit=5, cut=True) == "11111"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe without a writer"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, make: Callable[[Path], None]) -> None:
    (tmp_path / PATH[1:]).parent.mkdir(parents=True)
    make(tmp_path / PATH[1:])
    assert "not a regular file" in reason(Tree(tmp_path).text(PATH))


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.EACCES, f"no permission to read {PATH}"),
        (errno.EPERM, f"no permission to read {PATH}"),
        (errno.EIO, f"cannot read {PATH}: Input/output error"),
        (errno.ENODEV, f"{PATH} is missing"),
    ],
)
def test_a_read_that_the_kernel_refuses_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: str
) -> None:
    tree = tree_with(tmp_path, b"1\n")

    def refuse(_descriptor: int, _size: int) -> bytes:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "read", refuse)
    assert reason(tree.integer(PATH)) == expected


def test_links_of_a_recorded_tree_stay_inside_it(tmp_path: Path) -> None:
    root = tmp_path / "node"
    tree = tree_with(root, b"inside\n")
    (tmp_path / "secret").write_text("outside\n")
    (root / "links").mkdir()
    targets = {
        "absolute": "/sys/devices/value",
        "relative": "../sys/devices/value",
        "directory": "/sys/devices",
        "climbing": "../../secret",
        "outside": str(tmp_path / "secret"),
        "loop": "loop",
    }
    for name, target in targets.items():
        (root / "links" / name).symlink_to(target)
    for path in ("/links/absolute", "/links/relative", "/links/directory/value"):
        assert tree.text(path) == "inside"
    for path in ("/links/climbing", "/links/outside", "/../secret"):
        assert reason(tree.text(path)) == f"{path} is missing"
    assert "symbolic links" in reason(tree.text("/links/loop"))
    assert "symbolic links" in reason(tree.names("/links/loop/x"))
    assert not tree.is_directory("/links/loop")


def test_names_of_a_directory_are_sorted_and_numbers_are_of_one_stem(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, b"0123456789")
    (tmp_path / "sys/devices/alpha").mkdir()
    assert tree.names("/sys/devices") == ("alpha", "value")
    assert reason(tree.names("/sys/class")) == "/sys/class is missing"
    for name in ("cpu10", "cpu2", "cpu0", "cpufreq", "cpu", "cpu1x", "cpu123456", "xcpu3"):
        (tmp_path / "cpus" / name).mkdir(parents=True)
    assert tree.numbered("/cpus", "cpu") == (0, 2, 10)
    assert tree.numbered("/missing", "cpu") == ()
    # A block is read at its offset or not at all.
    assert tree.block(PATH, 4, 4) == b"4567"
    assert "no 4 bytes at 0x8" in reason(tree.block(PATH, 8, 4))


def test_this_machine_is_read_as_it_is() -> None:
    tree = Tree(Path("/"))
    assert tree.live
    assert not Tree(Path("/proc")).live
    version = tree.text("/proc/version")
    assert isinstance(version, str) and version.startswith("Linux")


@given(st.binary(max_size=200))
def test_no_content_makes_a_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    tree = tree_with(tmp_path_factory.mktemp("node"), content)
    for read in (tree.text, tree.integer, tree.hexadecimal, tree.cpulist):
        answer = read(PATH)
        assert not isinstance(answer, Unavailable) or answer.reason.startswith(PATH)


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
        *("", "12", "12 (a", "12 (a) S 1"),
        stat_line(1, "a").replace(" S ", " S x"),
        stat_line(1, "a", user=10**25),
        stat_line(1, "a").replace("1 (", "one ("),
    ],
)
def test_what_is_no_stat_file_is_none(text: str) -> None:
    assert parse_task(text) is None


def test_this_process_is_read_as_it_is_and_each_process_costs_one_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
    task = parse_task(stats[os.getpid()])
    assert task is not None
    assert (task.pid, task.parent) == (os.getpid(), os.getppid())
    assert task.cpu_ticks / 100 == pytest.approx(time.process_time(), abs=0.2)
    assert task.command == Path("/proc/self/comm").read_text().rstrip("\n")


def test_an_ended_process_has_neither_threads_nor_children() -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        assert [task.pid for task in read_threads(LIVE, sleeper.pid)] == [sleeper.pid]
        assert sleeper.pid in children_of(os.getpid())
        assert children_of(sleeper.pid) == []
        # An open folder stays when its process has ended; its list can be read no more.
        tasks = os.open(f"/proc/{sleeper.pid}/task", os.O_RDONLY)
        opened = Path(f"/proc/self/fd/{tasks}")
        assert len(texts_of_threads(opened, "schedstat")) == 1
        sleeper.kill()
    assert opened.is_dir()
    assert texts_of_threads(opened, "schedstat") == []
    os.close(tasks)
    assert read_threads(LIVE, sleeper.pid) == []
    assert children_of(sleeper.pid) == []
    assert sleeper.pid not in children_of(os.getpid())


def test_children_are_found_by_their_parents_where_the_kernel_lists_none(tmp_path: Path) -> None:
    """As a kernel without CONFIG_PROC_CHILDREN."""
    process(tmp_path, 10, "parent", threads=(0, 1))
    for pid, parent in ((20, 10), (21, 10), (30, 20)):
        process(tmp_path, pid, "child) S 10 (", threads=(0,), parent=parent)
    proc = tmp_path / "proc"
    (proc / "sys").mkdir()
    assert [sorted(children_of(pid, proc)) for pid in (10, 20, 30, 99)] == [[20, 21], [30], [], []]
    # Where there is a list, it counts.
    (proc / "10" / "task" / "10" / "children").write_text("21 ")
    assert children_of(10, proc) == [21]


def test_other_entries_and_vanished_processes_are_passed_over(tmp_path: Path) -> None:
    assert read_stats(Tree(tmp_path)) == Unavailable("/proc is missing", missing=True)
    process(tmp_path, 10, "there")
    for name in ("11", "self", "٣"):
        (tmp_path / "proc" / name).mkdir()
    stats = read_stats(Tree(tmp_path))
    assert isinstance(stats, dict) and list(stats) == [10]


def test_a_thread_s_state_and_cpu_time_are_read_from_its_files() -> None:
    runnable = ("812 (a) R (b) R 1 812", "812 (R) R) S 1 812", "")
    assert [is_runnable(text) for text in runnable] == [True, False, False]
    times = ("9123456 41230 9\n", "0 0 0\n", "", "oops 1 2\n")
    assert [run_time_s(text) for text in times] == [0.009123456, 0.0, None, None]


def test_a_process_that_ignores_the_end_of_its_children_says_so() -> None:
    assert ignores_children("SigBlk:\t0\nSigIgn:\t0000000000010000\nSigCgt:\t0\n")
    assert not ignores_children("SigBlk:\t0\nSigIgn:\t0000000000001000\nSigCgt:\t0\n")
    assert not ignores_children("Name:\tSigIgn:\t0000000000010000\n")
    assert not ignores_children("")
