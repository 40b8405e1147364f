from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.reading import Unavailable
from runners.host.tree import TEXT_LIMIT, Tree

PATH = "/sys/devices/value"


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
    assert reason(tree.text(PATH)) == f"{PATH} is empty"
    assert reason(tree.integer(PATH)) == f"{PATH} is empty"
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


@pytest.mark.parametrize(
    ("read", "content", "part"),
    [
        *(
            (Tree.integer, content, "not a whole number")
            for content in (b"1.5", b"0x10", b"1_000", b"12 13", b"\xff\xfe", "٣".encode())
        ),
        (Tree.natural, b"-1\n", "holds -1, which cannot be"),
        *(
            (Tree.cpulist, content, "not a list of CPUs")
            for content in (
                b"all",
                b"3-1",
                b"0-99999999",
                b"-1",
                b"0-3-5",
                b"\x00",
                b"0\x00-3",
                b"\x00" * 99,
            )
        ),
    ],
)
def test_what_is_no_such_value_is_shown_as_it_is(
    tmp_path: Path, read: Callable[[Tree, str], object], content: bytes, part: str
) -> None:
    answer = reason(read(tree_with(tmp_path, content), PATH))
    assert part in answer and PATH in answer


def test_a_long_wrong_value_is_cut_in_the_reason(tmp_path: Path) -> None:
    assert len(reason(tree_with(tmp_path, b"x" * 5000).integer(PATH))) < 120


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
    links = root / "links"
    links.mkdir()
    (links / "absolute").symlink_to("/sys/devices/value")
    (links / "relative").symlink_to("../sys/devices/value")
    (links / "climbing").symlink_to("../../secret")
    (links / "outside").symlink_to(tmp_path / "secret")
    (links / "directory").symlink_to("/sys/devices")
    assert tree.text("/links/absolute") == "inside"
    assert tree.text("/links/relative") == "inside"
    assert tree.text("/links/directory/value") == "inside"
    assert reason(tree.text("/links/climbing")) == "/links/climbing is missing"
    assert reason(tree.text("/links/outside")) == "/links/outside is missing"
    assert reason(tree.text("/../secret")) == "/../secret is missing"


def test_a_link_that_leads_to_itself_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    tree = Tree(tmp_path)
    assert "symbolic links" in reason(tree.text("/loop"))
    assert "symbolic links" in reason(tree.names("/loop/x"))
    assert not tree.is_directory("/loop")


def test_names_of_a_directory_are_sorted_and_none_is_a_reason(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, b"")
    (tmp_path / "sys/devices/alpha").mkdir()
    assert tree.names("/sys/devices") == ("alpha", "value")
    assert reason(tree.names("/sys/class")) == "/sys/class is missing"


def test_a_block_is_read_at_its_offset_or_not_at_all(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, b"0123456789")
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


def test_the_numbers_of_names_are_ascending_and_of_one_stem(tmp_path: Path) -> None:
    for name in ("cpu10", "cpu2", "cpu0", "cpufreq", "cpu", "cpu1x", "cpu123456", "xcpu3"):
        (tmp_path / "cpus" / name).mkdir(parents=True)
    assert Tree(tmp_path).numbered("/cpus", "cpu") == (0, 2, 10)
    assert Tree(tmp_path).numbered("/missing", "cpu") == ()
