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

from pinstudy.base.errors import StoppedError, StudyError, UserError
from pinstudy.runners.records.line import TORN, InvalidLine, line_of
from pinstudy.runners.records.reader import LONGEST_LINE, read_lines, read_records
from pinstudy.runners.records.record import SCHEMA
from pinstudy.runners.records.shard import LATE, Shard
from tests.support.limits import files_of_at_most
from tests.support.ordinary_user import open_folder, ordinary_user
from tests.support.tools import missing


def record(**fields: object) -> dict[str, object]:
    return {"schema": SCHEMA, **fields}


def numbers(folder: Path) -> list[object]:
    return [found["order"] for found in read_records(folder)]


def lines_of(shard: Path) -> list[object]:
    """Return the number of the record in each line; of a line that is none, what it is."""
    lines = read_lines(shard)
    return [line if isinstance(line, InvalidLine) else line["order"] for line in lines]


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Shard]:
    """A shard with one record, alone in its folder."""
    with closing(Shard(tmp_path / "records", "n")) as made:
        made.append(record(order=1))
        yield made


def test_attempts_are_numbered_by_node_and_read_in_order(tmp_path: Path, at_end: ExitStack) -> None:
    for attempt in (1, 2):
        with closing(Shard(tmp_path, "n")) as shard:
            assert shard.attempt == attempt
            shard.append(record(order=attempt))
    # Those of other nodes do not fence.
    assert at_end.enter_context(closing(Shard(tmp_path, "n-x"))).attempt == 1
    # A killed attempt keeps its number, without a record too.
    (tmp_path / "n-0007.jsonl").touch()
    newest = at_end.enter_context(closing(Shard(tmp_path, "n")))
    assert newest.attempt == 8
    newest.append(record(order=3))
    assert numbers(tmp_path) == [1, 2, 3]
    at_end.enter_context(closing(Shard(tmp_path, "n", attempt=12)))
    with pytest.raises(StudyError, match="another pinstudy has just started here"):
        Shard(tmp_path, "n", attempt=12)


def test_a_shard_without_records_leaves_no_file(tmp_path: Path) -> None:
    Shard(tmp_path, "n").close()
    assert not list(tmp_path.iterdir())


def test_a_newer_attempt_fences_the_older(tmp_path: Path, shard: Shard, at_end: ExitStack) -> None:
    middle = Shard(tmp_path / "records", "n")
    newest = at_end.enter_context(closing(Shard(tmp_path / "records", "n")))
    # Without a record it stays as long as there is a newer one.
    middle.close()
    kept = r"a newer pinstudy run works here.*kept in .*late/n-0001\.jsonl"
    with pytest.raises(StoppedError, match=kept):
        shard.append(record(order=2))
    newest.append(record(order=3))
    assert numbers(tmp_path / "records") == [1, 3]
    assert numbers(tmp_path / LATE) == [2]


def test_who_may_not_write_keeps_aside_or_loses_records(tmp_path: Path, at_end: ExitStack) -> None:
    reasons = ["", *["a newer worker has taken over"] * 2]
    made = Shard(tmp_path / "records", "n", fenced=lambda: reasons.pop(0))
    at_end.enter_context(closing(made)).append(record(order=1))
    with pytest.raises(StoppedError, match="a newer worker has taken over; this one stops"):
        made.append(record(order=2))
    assert numbers(tmp_path / LATE) == [2]
    shutil.rmtree(tmp_path / LATE)
    (tmp_path / LATE).touch()
    with pytest.raises(StoppedError, match=r"lost, because .* cannot be written"):
        made.append(record(order=3))


def test_not_a_number_is_never_written(shard: Shard) -> None:
    with pytest.raises(ValueError, match="JSON"):
        shard.append(record(more=float("nan")))


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


def test_a_limit_on_the_size_of_files_is_no_full_disk(tmp_path: Path, shard: Shard) -> None:
    too_large = r"\(File too large\); raise the limit \(ulimit -f\)"
    with (
        files_of_at_most(shard.path.stat().st_size + 10),
        pytest.raises(StudyError, match=too_large),
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


def written_to(shard: Path) -> None:
    with shard.open("ab") as file:
        file.write(b"hello")


@pytest.mark.parametrize(
    ("disturb", "why", "kept_in"),
    [
        (written_to, "5 bytes were written to it by something else", "records"),
        (
            lambda shard: shutil.rmtree(shard.parent),
            r"n-0001\.jsonl: was removed while the study ran",
            None,
        ),
        (
            lambda shard: shard.parent.rename(shard.parents[1] / "moved"),
            r"was moved to \S+/moved/n-0001\.jsonl .* move it back",
            "moved",
        ),
    ],
)
def test_what_happens_to_a_shard_meanwhile_ends_the_attempt(
    tmp_path: Path, shard: Shard, disturb: Callable[[Path], object], why: str, kept_in: str | None
) -> None:
    disturb(shard.path)
    with pytest.raises(StudyError, match=why):
        shard.append(record(order=2))
    assert kept_in is None or numbers(tmp_path / kept_in) == [1, 2]


def put_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def put_link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/null")


SPECIAL = [
    (os.mkfifo, "a FIFO"),
    (put_socket, "a socket"),
    (put_link_to_a_device, "a link to /dev/null"),
]


@pytest.mark.parametrize(
    ("put", "called"), [*SPECIAL, (Path.touch, "another file"), (Path.mkdir, "a folder")]
)
@pytest.mark.parametrize("moved", [True, False])
def test_what_has_taken_a_shards_place_is_named_and_left_there(
    tmp_path: Path, put: Callable[[Path], None], called: str, moved: bool
) -> None:
    with closing(Shard(tmp_path, "n")) as shard:
        shard.append(record(order=1))
        shard.path.rename(tmp_path / "elsewhere") if moved else shard.path.unlink()
        put(shard.path)
        was = "was moved to" if moved else "was removed"
        with pytest.raises(StudyError, match=rf"{was} .*; {called} has taken its place, remove it"):
            shard.append(record(order=2))
    assert shard.path.is_symlink() or shard.path.exists()


@pytest.mark.parametrize("put", [put for put, _ in SPECIAL])
def test_what_is_no_file_has_no_records(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(tmp_path / "n-0001.jsonl")
    assert numbers(tmp_path) == []
    with closing(Shard(tmp_path, "n")) as shard:
        assert shard.attempt == 2


@pytest.mark.parametrize(
    "name", ["9" * 19, "9" * 240, "-0001", "\u0661\u0662\u0663\u0664", "+0001", "1e30", "0x0001"]
)
def test_a_planted_file_of_another_name_is_no_attempt(tmp_path: Path, name: str) -> None:
    (tmp_path / f"n-{name}.jsonl").touch()
    with closing(Shard(tmp_path, "n")) as shard:
        assert shard.attempt == 1
    assert numbers(tmp_path) == []


def test_a_planted_attempt_that_none_can_follow_is_named(tmp_path: Path) -> None:
    planted = tmp_path / f"n-{'9' * 18}.jsonl"
    planted.touch()
    with pytest.raises(UserError, match=f"^{planted}: no attempt has a number so high"):
        Shard(tmp_path, "n")
    assert list(tmp_path.iterdir()) == [planted]


@pytest.mark.parametrize("name", ["a\nb-0001.jsonl", "\x1b[31m-0001.jsonl", "a\u202e-0001.jsonl"])
@pytest.mark.parametrize("is_file", [True, False])
def test_a_planted_name_is_a_part_of_one_line(tmp_path: Path, name: str, is_file: bool) -> None:
    path = tmp_path / name
    path.write_bytes(b"{}\n") if is_file else path.mkdir()
    with pytest.raises(UserError) as caught:
        list(read_records(tmp_path))
    assert str(caught.value).isprintable()


def test_a_folder_that_cannot_be_written_to_is_a_users_error(tmp_path: Path) -> None:
    (tmp_path / "records").touch()
    with pytest.raises(UserError, match=r"records: cannot write results here \(Not a dir"):
        Shard(tmp_path / "records", "n")
    with open_folder() as folder:
        records = folder / "records"
        records.mkdir(mode=0o555)
        with ordinary_user(), pytest.raises(UserError, match=r"write results here \(Permission"):
            Shard(records, "n")


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
    shard = tmp_path / "n-0001.jsonl"
    lines = [line_of(record(order=1)), damage, *(line_of(record(order=at)) for at in (3, 4))]
    shard.write_bytes(b"".join(lines))
    glued = not damage.endswith(b"\n")
    assert lines_of(shard) == ([1, TORN, 4] if glued else [1, TORN, 3, 4])


@pytest.mark.parametrize(
    "schema", ["99", "true", '"1"', "0", "-1", "1.0", "null", f'"{"x" * 9999}"']
)
def test_a_record_of_another_schema_is_named_by_its_line(tmp_path: Path, schema: str) -> None:
    good = line_of(record(order=1))
    other = f'{{"schema":{schema}}}\n'.encode()
    (tmp_path / "n-0001.jsonl").write_bytes(good + b"\n" + good + other)
    with pytest.raises(UserError, match=r"n-0001.jsonl:4: record schema") as refused:
        list(read_records(tmp_path))
    assert len(str(refused.value)) < 400


def bytes_read() -> int:
    """Return how many bytes this process has read (proc(5))."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


@pytest.mark.parametrize("content", [b"\0", b"x", b" "])
def test_a_line_without_end_fills_no_memory_nor_time(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "n-0001.jsonl"
    with path.open("wb") as stream:
        stream.write(line_of(record(order=1)) + b"[")
        for _ in range(48):
            stream.write(content * (1 << 20))
        stream.write(b"\n" + line_of(record(order=2)))
    before = bytes_read()
    tracemalloc.start()
    lines = lines_of(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lines == [1, TORN, 2]
    # A piece, its text, and the piece before.
    assert peak < 3.3 * LONGEST_LINE
    assert bytes_read() - before < 2 * path.stat().st_size + 2 * LONGEST_LINE


def test_holes_of_a_file_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "n-0001.jsonl"
    with path.open("wb") as stream:
        stream.write(line_of(record(order=1)))
        stream.truncate(1 << 40)
        try:
            stream.seek(os.lseek(stream.fileno(), 1 << 20, os.SEEK_DATA))
        except OSError as error:
            assert error.errno == errno.ENXIO
        else:
            missing("this file system does not tell where holes are")
        stream.seek(0, os.SEEK_END)
        stream.write(b"\n" + line_of(record(order=2)))
    before = bytes_read()
    assert lines_of(path) == [1, TORN, 2]
    assert bytes_read() - before < 4 * LONGEST_LINE
