"""What heads of lines tell of progress is what whole records say, whatever the lines are."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UserError
from configs.library import load_study
from runners.batch.completed import read_completed
from runners.records.reader import (
    LONGEST_LINE,
    parts_of,
    read_part,
    read_records,
)
from runners.records.shard import CHECKED_FROM, CHECKSUM, HEAD, SCHEMA, head_of, line_of
from runners.records.values import TORN
from runners.study.history import read_history
from tests.support.ordinary_user import open_folder, ordinary_user

STUDY = load_study("quick")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=3,
)
# Keys and texts that look like the mark of the checksum, anywhere.
TRICKS = st.sampled_from([f'","{CHECKSUM}":"00000000"', CHECKSUM, f'{{"{CHECKSUM}":"x', "\\", '"'])
RECORDS = st.builds(
    lambda fields, more: {"schema": SCHEMA} | fields | more,
    st.dictionaries(st.sampled_from(HEAD[1:]), VALUES | TRICKS),
    st.dictionaries(st.text() | TRICKS, VALUES | TRICKS, max_size=5),
).filter(lambda record: CHECKSUM not in record)


def run(**fields: object) -> dict[str, Any]:
    """Return the record of a run of the study, with more that is not of its head."""
    return {
        "schema": SCHEMA,
        "study": STUDY.name,
        "study_digest": STUDY.digest,
        "node_id": "n1",
        "node_digest": "same",
        "case_id": "a",
        "repetition": 1,
        "warmup": False,
        "status": "ok",
        "reason": "",
        "elapsed_s": 1.0,
        "metrics": {"status": 3.0, "case_id": 5.0},
        "environment": {"set": {CHECKSUM: "0" * 8}},
        "unavailable": {"energy_pkg_j": "no counters"},
        **fields,
    }


@given(RECORDS)
def test_a_line_is_the_record_and_its_head_the_same_as_in_it(record: dict[str, Any]) -> None:
    line = line_of(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    whole = json.loads(line)
    assert len(whole.pop(CHECKSUM)) == 8
    assert whole == record
    assert head_of(line) == {name: record[name] for name in HEAD if name in record}


@given(st.data())
def test_a_line_that_is_not_as_it_was_written_has_no_head(data: st.DataObject) -> None:
    line = line_of(run())
    at = data.draw(st.integers(0, len(line) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[at]))
    changed = line[:at] + bytes([byte]) + line[at + 1 :]
    assert head_of(changed) is None
    assert head_of(line[:at]) is None
    assert head_of(line[:at] + line[at + 1 :]) is None


@pytest.mark.parametrize(
    "line",
    [
        b'{"schema":3,"crc32":"00000000"}\n',
        b'{"schema":3,"crc32":"',
        b'[1,"crc32":"b3d1c2a4"]\n',
        b'\xff\xfe{"schema":3,"crc32":"00000000"}\n',
        b"",
    ],
)
def test_what_only_looks_like_a_line_with_a_checksum_has_no_head(line: bytes) -> None:
    assert head_of(line) is None


STATUSES = ["ok", "failed", "interrupted", "skipped", "baseline", "timeout", "?", 5, None, ["ok"]]
RUNS = st.builds(
    run,
    case_id=st.sampled_from(["a", "b", 7]),
    repetition=st.integers(0, 4) | st.sampled_from([None, "1", 10**30, True]),
    warmup=st.booleans() | st.none(),
    status=st.sampled_from(STATUSES),
    elapsed_s=st.sampled_from([0.5, 2.0, 1, None, "1.0"]),
    node_id=st.sampled_from(["n1", "n2"]),
    mapping=st.sampled_from(["scheduler", "pcores-pin"]),
    governor=st.just("current"),
    temperature_reference_c=st.none() | st.just({"package 0": 41.0}),
)


def plain(record: dict[str, Any]) -> bytes:
    """Return the line that an older version wrote."""
    return json.dumps(record | {"schema": CHECKED_FROM - 1}, separators=(",", ":")).encode() + b"\n"


def foreign(record: dict[str, Any]) -> bytes:
    """Return the line as another program would write it again."""
    return json.dumps(json.loads(line_of(record)) | {"status": "failed"}).encode() + b"\n"


LINES = st.tuples(RUNS, st.sampled_from([line_of, line_of, plain, foreign])).map(
    lambda drawn: drawn[1](drawn[0])
)
# What becomes of the line: all of it, a part, a bit flipped, zeros in the middle, or twice.
DAMAGE = st.sampled_from(["none", "none", "none", "torn", "flipped", "zeros", "joined"])


def damaged(line: bytes, how: str, at: int) -> bytes:
    at %= len(line)
    if how == "torn":
        return line[:at]
    if how == "flipped":
        return line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :]
    if how == "zeros":
        return line[:at] + bytes(min(40, len(line) - 1 - at)) + line[at + 40 : -1] + b"\n"
    return line[:-1] + line if how == "joined" else line


@given(st.lists(st.lists(st.tuples(LINES, DAMAGE, st.integers(0, 2000)), max_size=6), max_size=4))
def test_a_history_is_the_same_as_from_whole_records(
    tmp_path_factory: pytest.TempPathFactory, shards: list[list[tuple[bytes, str, int]]]
) -> None:
    folder = tmp_path_factory.mktemp("results")
    (folder / "records").mkdir()
    for attempt, lines in enumerate(shards, 1):
        path = folder / "records" / f"n{attempt % 2}-{attempt:04d}.jsonl"
        path.write_bytes(b"".join(damaged(*line) for line in lines))
    for pool in ("", "split-there"):
        assert summary_of(folder, pool, heads=True) == summary_of(folder, pool, heads=False)


def summary_of(folder: Path, pool: str, *, heads: bool) -> object:
    """Return a summary of the records or the error, from their heads or their whole lines."""
    with pytest.MonkeyPatch.context() as patch:
        if not heads:
            patch.setattr("runners.records.reader.head_of", lambda _: None)
        try:
            history = read_history(folder, STUDY, "same", "n1", pool)
            made = read_completed(folder, STUDY.digest)
        except UserError as error:
            return str(error)
    return (
        *(set(history.done), history.times, history.skipped_cases),
        *(history.temperature_reference_c, made),
    )


def test_only_runs_that_ended_are_told_by_their_heads(tmp_path: Path) -> None:
    records = [run(), run(repetition=2, status="skipped"), run(repetition=3, status="baseline")]
    (tmp_path / "n-0001.jsonl").write_bytes(b"".join(map(line_of, records)))
    heads = list(read_records(tmp_path, heads=True))
    assert set(heads[0]) == set(HEAD) & set(records[0])
    assert heads[1:] == list(read_records(tmp_path))[1:]


def test_a_head_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "n-0001.jsonl").write_bytes(line_of(run()) + line_of(run(schema=SCHEMA + 1)))
    with pytest.raises(UserError, match=r"n-0001.jsonl:2: record schema"):
        list(read_records(tmp_path, heads=True))


def test_attempts_are_read_by_their_number_beyond_9999_and_over_nodes(tmp_path: Path) -> None:
    names = ["n2-0001", "n1-0002", "n2-0003", "n1-9999", "n10-9999", "n1-10000", "n1-123456"]
    for name in reversed(names):
        (tmp_path / f"{name}.jsonl").write_bytes(line_of(run(node_id=name)))
    assert [record["node_id"] for record in read_records(tmp_path)] == names
    assert [part.path.stem for part in parts_of(tmp_path)] == names


@pytest.mark.parametrize("mode", [0o000, 0o300])
def test_a_folder_that_may_not_be_read_is_no_empty_one(mode: int) -> None:
    with open_folder() as folder:
        records = folder / "records"
        records.mkdir()
        (records / "n-0001.jsonl").write_bytes(line_of(run()))
        records.chmod(mode)
        with ordinary_user(), pytest.raises(UserError, match="records: cannot be read"):
            list(read_records(records))
        records.chmod(0o700)


def test_of_a_run_that_two_nodes_made_the_older_attempt_s_counts(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    for name, status in (("n9-0001", "failed"), ("n1-0002", "ok")):
        path = tmp_path / "records" / f"{name}.jsonl"
        path.write_bytes(line_of(run(node_id=name[:2], status=status)))
    assert read_completed(tmp_path, STUDY.digest).runs == {("a", False, 1): "failed"}


def test_four_times_the_records_take_no_more_memory_to_read(tmp_path: Path) -> None:
    def peak(records: int) -> int:
        line = line_of(run(stderr_tail="x" * 4000))
        (tmp_path / "n-0001.jsonl").write_bytes(line * records)
        tracemalloc.start()
        try:
            assert sum(1 for _ in read_records(tmp_path, heads=True)) == records
            assert sum(1 for _ in read_records(tmp_path)) == records
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # Once a buffer is full: it holds some 250 of these lines.
    assert peak(1200) < 1.1 * peak(300)


def test_a_line_that_is_too_long_for_a_record_is_one_torn_line(tmp_path: Path) -> None:
    # What follows on the same line is a part of it, whatever it looks like.
    for end in (line_of(run(repetition=2)), b"\n"):
        long = b"x" * (LONGEST_LINE - 1) + end
        lines = (line_of(run()), long, line_of(run(repetition=3)))
        (tmp_path / "n-0001.jsonl").write_bytes(b"".join(lines))
        for most_bytes in (1 << 20, None):
            found = [line for part in parts_of(tmp_path, most_bytes) for line in read_part(part)]
            assert [line["repetition"] if isinstance(line, dict) else line for line in found] == [
                1,
                TORN,
                3,
            ]


def test_no_byte_of_a_line_can_have_a_bit_flipped_so_that_a_study_is_not_continued(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    lines = [line_of(run(repetition=repetition)) for repetition in (1, 2, 3)]
    middle = lines[1]
    for at in range(len(middle)):
        flipped = middle[:at] + bytes([middle[at] ^ 1 << at % 8]) + middle[at + 1 :]
        (folder / "n1-0001.jsonl").write_bytes(b"".join((lines[0], flipped, lines[2])))
        # No "the node has changed", and no run that was not made; a line break joins two lines.
        done = {repetition for _, _, repetition in read_history(tmp_path, STUDY, "same").done}
        assert done == ({1, 3} if at < len(middle) - 1 else {1}), flipped
