"""Records are appended, never rewritten; a newer attempt fences the older."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from base.errors import StoppedError, StudyError, UserError
from runners.records.line import TORN, InvalidLine, line_of
from runners.records.reader import LONGEST_LINE, Line, read_lines, read_records, shards_of
from runners.records.record import SCHEMA
from runners.records.shard import LATE, Shard
from tests.support.limits import files_of_at_most
from tests.support.ordinary_user import open_folder, ordinary_user
from tests.support.tools import missing


def record(**fields: object) -> dict[str, object]:
    return {"schema": SCHEMA, **fields}


def lines_of(folder: Path) -> list[Line]:
    return [line for shard in shards_of(folder) for line in read_lines(shard)]


def numbers(folder: Path) -> list[object]:
    return [found["order"] for found in read_records(folder)]


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Shard]:
    """A shard with one record, alone in its folder."""
    with closing(Shard(tmp_path / "records", "n")) as made:
        made.append(record(order=1))
        yield made


def test_records_are_read_back_in_the_order_of_attempts(tmp_path: Path) -> None:
    for attempt in (1, 2):
        shard = Shard(tmp_path, "node-a")
        assert shard.attempt == attempt
        shard.append(record(order=attempt))
        shard.close()
    assert numbers(tmp_path) == [1, 2]


def test_a_newer_attempt_fences_the_older_whose_record_is_kept_aside(
    tmp_path: Path, shard: Shard
) -> None:
    with closing(Shard(tmp_path / "records", "n")) as newer:
        with pytest.raises(
            StoppedError, match=r"a newer pinstudy run works here.*kept in .*late/n-0001\.jsonl"
        ):
            shard.append(record(order=2))
        newer.append(record(order=3))
    assert numbers(tmp_path / "records") == [1, 3]
    assert numbers(tmp_path / LATE) == [2]


def test_who_else_may_not_write_keeps_records_aside_with_the_reason(
    tmp_path: Path, at_end: ExitStack
) -> None:
    reasons = ["", "a newer worker has taken over"]
    made = Shard(tmp_path / "records", "n", fenced=lambda: reasons.pop(0))
    at_end.enter_context(closing(made)).append(record(order=1))
    with pytest.raises(StoppedError, match="a newer worker has taken over; this one stops"):
        made.append(record(order=2))
    assert numbers(tmp_path / LATE) == [2]


def test_a_late_record_that_cannot_be_kept_is_said_to_be_lost(
    tmp_path: Path, at_end: ExitStack
) -> None:
    folder = tmp_path / "records"
    shard = at_end.enter_context(closing(Shard(folder, "n", fenced=lambda: "somebody else")))
    (tmp_path / LATE).touch()
    with pytest.raises(StoppedError, match=r"lost, because .* cannot be written"):
        shard.append(record(order=1))


def test_an_attempt_may_have_a_number_of_its_own(tmp_path: Path, at_end: ExitStack) -> None:
    assert at_end.enter_context(closing(Shard(tmp_path, "n", attempt=7))).attempt == 7
    assert (tmp_path / "n-0007.jsonl").exists()
    with pytest.raises(StudyError, match="another pinstudy has just started here"):
        Shard(tmp_path, "n", attempt=7)


def test_other_nodes_shards_do_not_fence(tmp_path: Path, at_end: ExitStack) -> None:
    one = at_end.enter_context(closing(Shard(tmp_path, "n")))
    other = at_end.enter_context(closing(Shard(tmp_path, "n-x")))
    one.append(record(order=1))
    other.append(record(order=2))
    assert other.attempt == 1


def test_a_shard_without_records_leaves_no_file(tmp_path: Path) -> None:
    Shard(tmp_path, "n").close()
    assert not list(tmp_path.iterdir())


def test_a_record_of_another_schema_is_named_by_its_line(tmp_path: Path) -> None:
    good = line_of(record())
    (tmp_path / "n-0001.jsonl").write_bytes(good + b"\n" + good + b'{"schema":99}\n')
    with pytest.raises(UserError, match=r"n-0001.jsonl:4: record schema 99"):
        lines_of(tmp_path)


def test_not_a_number_is_never_written(tmp_path: Path, at_end: ExitStack) -> None:
    with pytest.raises(ValueError, match="JSON"):
        at_end.enter_context(closing(Shard(tmp_path, "n"))).append(record(more=float("nan")))


def little_room(kept: int) -> Callable[[int, bytes], int]:
    """Return what writes to a disk that takes `kept` bytes of each line that it refuses."""
    write = os.write
    taken: list[int] = []

    def writes(descriptor: int, line: bytes) -> int:
        if taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken.append(write(descriptor, line[:kept]))
        return taken[0]

    return writes


@pytest.mark.parametrize("kept", [1, 10, -1, None])
def test_a_line_that_did_not_fit_is_glued_to_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int | None, shard: Shard
) -> None:
    with monkeypatch.context() as full:
        if kept is None:
            full.setattr(os, "fsync", lambda _: os.close(-1))
        else:
            full.setattr(os, "write", little_room(kept))
        with pytest.raises(StudyError, match=r"cannot write the record .* make room"):
            shard.append(record(order=2))
    shard.append(record(order=3))
    shard.append(record(order=4))
    # A line without its line break is whole; whether it was told to be on the disk is not known.
    whole = [] if kept in (1, 10) else [2]
    assert numbers(tmp_path / "records") == [1, *whole, 3, 4]


def test_a_limit_on_the_size_of_files_is_not_told_as_a_full_disk(
    tmp_path: Path, shard: Shard
) -> None:
    with (
        files_of_at_most(shard.path.stat().st_size + 10),
        pytest.raises(StudyError, match=r"\(File too large\); raise the limit \(ulimit -f\)"),
    ):
        shard.append(record(order=2))
    shard.append(record(order=3))
    assert numbers(tmp_path / "records") == [1, 3]


@pytest.mark.parametrize(
    ("keep", "before"),
    # Without its line break alone a record is whole.
    [(0, []), (1, []), (-1, [1, 2]), (-12, [1])],
)
def test_a_shard_that_was_cut_meanwhile_ends_the_attempt_and_keeps_the_last_record(
    tmp_path: Path, shard: Shard, keep: int, before: list[int]
) -> None:
    shard.append(record(order=2))
    size = shard.path.stat().st_size
    os.truncate(shard.path, keep % size)
    cut = rf"cut by {size - keep % size} bytes while.*the runs again whose records are gone"
    with pytest.raises(StudyError, match=cut):
        shard.append(record(order=3))
    assert numbers(tmp_path / "records") == [*before, 3]


def test_a_shard_that_something_else_writes_to_ends_the_attempt(
    tmp_path: Path, shard: Shard
) -> None:
    with shard.path.open("ab") as file:
        file.write(b"hello")
    with pytest.raises(StudyError, match="5 bytes were written to it by something else"):
        shard.append(record(order=2))
    assert numbers(tmp_path / "records") == [1, 2]


def put_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def put_link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/null")


@pytest.mark.parametrize(
    ("put", "called"),
    [
        (os.mkfifo, "a FIFO"),
        (put_socket, "a socket"),
        (put_link_to_a_device, "a link to /dev/null"),
        (Path.touch, "another file"),
        (Path.mkdir, "a folder"),
    ],
)
@pytest.mark.parametrize("moved", [True, False])
def test_what_has_taken_a_shards_place_is_named_and_left_there(
    tmp_path: Path, put: Callable[[Path], None], called: str, moved: bool
) -> None:
    shard = Shard(tmp_path, "n")
    shard.append(record(order=1))
    if moved:
        shard.path.rename(tmp_path / "elsewhere")
    else:
        shard.path.unlink()
    put(shard.path)
    was = "was moved to" if moved else "was removed"
    with pytest.raises(StudyError, match=rf"{was} .*; {called} has taken its place, remove it"):
        shard.append(record(order=2))
    shard.close()
    assert shard.path.is_symlink() or shard.path.exists()


@pytest.mark.parametrize("put", [os.mkfifo, put_socket, put_link_to_a_device])
def test_what_is_no_file_has_no_records(
    tmp_path: Path, put: Callable[[Path], None], at_end: ExitStack
) -> None:
    put(tmp_path / "n-0001.jsonl")
    assert lines_of(tmp_path) == []
    assert at_end.enter_context(closing(Shard(tmp_path, "n"))).attempt == 2


def test_records_that_were_removed_meanwhile_end_the_attempt(tmp_path: Path, shard: Shard) -> None:
    shutil.rmtree(tmp_path / "records")
    with pytest.raises(StudyError, match=r"n-0001\.jsonl: was removed while the study ran"):
        shard.append(record(order=2))


def test_records_that_were_moved_meanwhile_are_kept_there(tmp_path: Path, shard: Shard) -> None:
    (tmp_path / "records").rename(tmp_path / "moved")
    with pytest.raises(StudyError, match=r"was moved to \S+/moved/n-0001\.jsonl .* move it back"):
        shard.append(record(order=2))
    assert numbers(tmp_path / "moved") == [1, 2]


def test_an_attempt_without_records_still_fences_when_there_is_a_newer_one(
    tmp_path: Path, shard: Shard, at_end: ExitStack
) -> None:
    middle = Shard(tmp_path / "records", "n")
    newest = at_end.enter_context(closing(Shard(tmp_path / "records", "n")))
    middle.close()
    with pytest.raises(StoppedError, match="a newer pinstudy run works here"):
        shard.append(record(order=2))
    newest.append(record(order=3))
    assert numbers(tmp_path / "records") == [1, 3]


def test_an_empty_shard_of_a_killed_attempt_keeps_its_number(
    tmp_path: Path, at_end: ExitStack
) -> None:
    (tmp_path / "n-0007.jsonl").touch()
    assert lines_of(tmp_path) == []
    assert at_end.enter_context(closing(Shard(tmp_path, "n"))).attempt == 8


def test_a_file_in_place_of_the_folder_is_no_other_pinstudy(tmp_path: Path) -> None:
    (tmp_path / "records").touch()
    with pytest.raises(UserError, match=r"records: cannot write results here \(Not a dir"):
        Shard(tmp_path / "records", "n")


@pytest.mark.parametrize(
    "damage",
    [
        b'{"schema":3,"number":2,"ela\n',
        b"\0" * 4096,
        b"\0" * 4096 + b"\n",
        b'{"schema":3,"number":2,"ela' + b"\0" * 512 + b"\n",
        b"\xff\xfe\n",
    ],
)
def test_damaged_lines_cost_the_lines_that_they_are_in(tmp_path: Path, damage: bytes) -> None:
    lines = [line_of(record(order=1)), damage, *(line_of(record(order=at)) for at in (3, 4))]
    (tmp_path / "n-0001.jsonl").write_bytes(b"".join(lines))
    found = [line["order"] if isinstance(line, dict) else None for line in lines_of(tmp_path)]
    glued = not damage.endswith(b"\n")
    assert found == ([1, None, 4] if glued else [1, None, 3, 4])


def test_a_line_without_end_is_torn_and_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "n-0001.jsonl"
    with path.open("wb") as stream:
        stream.write(line_of(record(case_id="a")) + b"[")
        for _ in range(48):
            stream.write(b" " * (1 << 20))
        stream.write(b"\n" + line_of(record(case_id="b")))
    tracemalloc.start()
    cases = [record["case_id"] for record in read_records(tmp_path)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cases == ["a", "b"]
    # A piece, its text, and the piece before.
    assert peak < 3.3 * LONGEST_LINE


def cases_or_problems(folder: Path) -> list[object]:
    return [line if isinstance(line, InvalidLine) else line["case_id"] for line in lines_of(folder)]


@pytest.mark.parametrize(
    "name", ["9" * 19, "9" * 240, "-0001", "\u0661\u0662\u0663\u0664", "+0001", "1e30", "0x0001"]
)
def test_a_planted_file_of_another_name_is_no_attempt(tmp_path: Path, name: str) -> None:
    (tmp_path / f"n-{name}.jsonl").touch()
    with closing(Shard(tmp_path, "n")) as shard:
        assert shard.attempt == 1
    assert list(read_records(tmp_path)) == []


def test_a_planted_attempt_that_none_can_follow_is_named(tmp_path: Path) -> None:
    planted = tmp_path / f"n-{'9' * 18}.jsonl"
    planted.touch()
    for _ in range(2):
        with pytest.raises(UserError, match=f"^{planted}: no attempt has a number so high"):
            Shard(tmp_path, "n")
    assert list(tmp_path.iterdir()) == [planted]
    with closing(Shard(tmp_path, "m")) as shard:
        assert shard.attempt == 1


@pytest.mark.parametrize("name", ["a\nb-0001.jsonl", "\x1b[31m-0001.jsonl", "a\u202e-0001.jsonl"])
@pytest.mark.parametrize("content", [b"{}\n", None], ids=["no record", "folder"])
def test_a_planted_name_is_a_part_of_one_line(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    if content is None:
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as caught:
        list(read_records(tmp_path))
    assert str(caught.value).isprintable()


def bytes_read() -> int:
    """Return how many bytes this process has read (proc(5))."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


@pytest.mark.parametrize("content", [b"\0", b"x"])
def test_a_line_without_end_is_read_twice_at_most(tmp_path: Path, content: bytes) -> None:
    before = bytes_read()
    size = 0
    for torn_mib in (24, 48):
        path = tmp_path / f"n-{torn_mib:04d}.jsonl"
        with path.open("wb") as stream:
            stream.write(line_of(record(case_id="a")))
            for _ in range(torn_mib):
                stream.write(content * (1 << 20))
            stream.write(b"\n" + line_of(record(case_id="b")))
        size += path.stat().st_size
    assert cases_or_problems(tmp_path) == ["a", TORN, "b"] * 2
    assert bytes_read() - before < 2 * size + 2 * LONGEST_LINE


def test_holes_of_a_file_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "n-0001.jsonl"
    with path.open("wb") as stream:
        stream.write(line_of(record(case_id="a")))
        stream.truncate(1 << 40)
        try:
            stream.seek(os.lseek(stream.fileno(), 1 << 20, os.SEEK_DATA))
        except OSError as error:
            assert error.errno == errno.ENXIO
        else:
            missing("this file system does not tell where holes are")
        stream.seek(0, os.SEEK_END)
        stream.write(b"\n" + line_of(record(case_id="b")))
    before = bytes_read()
    assert cases_or_problems(tmp_path) == ["a", TORN, "b"]
    assert bytes_read() - before < 4 * LONGEST_LINE


@pytest.mark.parametrize("schema", ["true", '"1"', "0", "-1", "1.0", "null", f'"{"x" * 9999}"'])
def test_a_schema_that_is_no_version_is_refused_in_a_short_line(
    tmp_path: Path, schema: str
) -> None:
    (tmp_path / "n-0001.jsonl").write_text(f'{{"schema": {schema}}}\n')
    with pytest.raises(UserError, match=r"n-0001.jsonl:1: record schema") as refused:
        list(read_records(tmp_path))
    assert len(str(refused.value)) < 400


def test_a_folder_that_may_only_be_read_is_a_users_error() -> None:
    with open_folder() as folder:
        records = folder / "records"
        records.mkdir(mode=0o555)
        with ordinary_user(), pytest.raises(UserError, match=r"write results here \(Permission"):
            Shard(records, "n")
