from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.host.tree import TEXT_LIMIT, Tree, Unavailable

PATH = "/sys/devices/value"


def tree_with(root: Path, content: bytes) -> Tree:
    file = root / PATH[1:]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return Tree(root)


def reason(answer: object) -> str:
    assert isinstance(answer, Unavailable)
    return answer.reason


def test_a_value_is_read_without_its_newline(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, b"intel_pstate\n")
    assert tree.text(PATH) == "intel_pstate"


def test_a_missing_file_is_marked_as_missing_and_named(tmp_path: Path) -> None:
    answer = Tree(tmp_path).integer(PATH)
    assert answer == Unavailable(f"{PATH} is missing", missing=True)


def test_a_file_below_a_file_is_missing(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, b"1\n")
    answer = tree.text(f"{PATH}/deeper")
    assert isinstance(answer, Unavailable) and answer.missing


@pytest.mark.parametrize("content", [b"", b"\n", b"  \n\n"])
def test_an_empty_file_has_no_text_and_no_number_but_is_an_empty_list(
    tmp_path: Path, content: bytes
) -> None:
    tree = tree_with(tmp_path, content)
    assert reason(tree.text(PATH)) == f"{PATH} is empty"
    assert reason(tree.integer(PATH)) == f"{PATH} is empty"
    assert tree.cpulist(PATH) == ()


@pytest.mark.parametrize(
    ("content", "value"), [(b"0\n", 0), (b"-1\n", -1), (b"+7", 7), (b"5200000\n", 5200000)]
)
def test_whole_numbers_are_read(tmp_path: Path, content: bytes, value: int) -> None:
    assert tree_with(tmp_path, content).integer(PATH) == value


@pytest.mark.parametrize(
    "content", [b"1.5", b"0x10", b"1_000", b"12 13", b"<unsupported>", b"\xff\xfe", "٣".encode()]
)
def test_what_is_no_whole_number_is_shown_as_it_is(tmp_path: Path, content: bytes) -> None:
    answer = reason(tree_with(tmp_path, content).integer(PATH))
    assert "not a whole number" in answer and PATH in answer


def test_a_long_wrong_value_is_cut_in_the_reason(tmp_path: Path) -> None:
    assert len(reason(tree_with(tmp_path, b"x" * 5000).integer(PATH))) < 120


@pytest.mark.parametrize(
    ("content", "value"), [(b"0x00000000410fd850\n", 0x410FD850), (b"1f", 0x1F)]
)
def test_hexadecimal_numbers_are_read(tmp_path: Path, content: bytes, value: int) -> None:
    assert tree_with(tmp_path, content).hexadecimal(PATH) == value


@pytest.mark.parametrize(
    ("content", "cpus"),
    [
        (b"0-3,8\n", (0, 1, 2, 3, 8)),
        (b"0 1 4\n", (0, 1, 4)),
        (b"3,1", (1, 3)),
        (b"0-1, 4", (0, 1, 4)),
    ],
)
def test_lists_of_cpus_may_have_commas_or_blanks(
    tmp_path: Path, content: bytes, cpus: tuple[int, ...]
) -> None:
    assert tree_with(tmp_path, content).cpulist(PATH) == cpus


@pytest.mark.parametrize("content", [b"all", b"3-1", b"0-99999999", b"-1", b"0-3-5", b"\x00"])
def test_what_is_no_list_of_cpus_is_a_reason(tmp_path: Path, content: bytes) -> None:
    assert "not a list of CPUs" in reason(tree_with(tmp_path, content).cpulist(PATH))


def test_a_file_larger_than_any_of_sysfs_is_not_read_whole(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, b"1" * (TEXT_LIMIT + 1))
    assert reason(tree.text(PATH)) == f"{PATH} is larger than {TEXT_LIMIT} bytes"
    assert tree.content(PATH, limit=5, cut=True) == "11111"


def test_a_directory_is_no_value(tmp_path: Path) -> None:
    (tmp_path / PATH[1:]).mkdir(parents=True)
    assert "not a regular file" in reason(Tree(tmp_path).text(PATH))


def test_a_pipe_without_a_writer_does_not_block(tmp_path: Path) -> None:
    (tmp_path / "sys/devices").mkdir(parents=True)
    os.mkfifo(tmp_path / PATH[1:])
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


def test_an_unreadable_file_is_a_reason_for_those_who_are_not_root(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, b"1\n")
    (tmp_path / PATH[1:]).chmod(0)
    if os.geteuid() == 0:
        assert tree.integer(PATH) == 1
    else:
        assert reason(tree.integer(PATH)) == f"no permission to read {PATH}"


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


def test_a_number_that_cannot_be_below_zero_is_absent_when_it_is(tmp_path: Path) -> None:
    assert tree_with(tmp_path, b"0\n").natural(PATH) == 0
    assert "holds -1, which cannot be" in reason(tree_with(tmp_path, b"-1\n").natural(PATH))


def test_the_numbers_of_names_are_ascending_and_of_one_stem(tmp_path: Path) -> None:
    for name in ("cpu10", "cpu2", "cpu0", "cpufreq", "cpu", "cpu1x", "cpu123456", "xcpu3"):
        (tmp_path / "cpus" / name).mkdir(parents=True)
    assert Tree(tmp_path).numbered("/cpus", "cpu") == (0, 2, 10)
    assert Tree(tmp_path).numbered("/missing", "cpu") == ()
