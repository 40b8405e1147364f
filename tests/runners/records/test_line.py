"""A record is its line, and a line that is not as it was written is no record."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UserError
from configs.library import load_study
from runners.batch.completed import read_completed
from runners.records.line import (
    ALTERED,
    TORN,
    InvalidLine,
    SchemaError,
    line_of,
    record_in,
    sealed,
)
from runners.records.reader import LONGEST_LINE, read_lines, read_records, shards_of
from runners.records.record import NAMES, SCHEMA, STANDS_FOR
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
# Keys and texts that look like the checksum, anywhere.
TRICKS = st.sampled_from([',"crc32":"00000000"}', "crc32", '{"crc32":"x', "\\", '"'])
# What no field is declared for is kept as it is.
MORE = st.dictionaries(
    (st.text() | TRICKS).filter(lambda name: name not in NAMES), VALUES | TRICKS, max_size=5
)


def run(**fields: object) -> dict[str, Any]:
    """Return the record of a run of the study."""
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
        "elapsed_s": 1.0,
        "metrics": {"status": 3.0, "case_id": 5.0},
        "environment": {"set": {"crc32": "0" * 8}},
        "unavailable": {"energy_pkg_j": "no counters"},
        **fields,
    }


@given(MORE)
def test_a_line_is_its_record_without_fields_that_no_record_has(more: dict[str, Any]) -> None:
    record = run() | more
    line = line_of(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert len(json.loads(line)["crc32"]) == 8
    assert record_in(line) == record_in(line.rstrip()) == run()


def test_a_field_that_has_its_default_is_left_out() -> None:
    usual = {
        **{"reason": "", "stderr_tail": "", "power_limit_note": "", "signal": None},
        **{"daemons": [], "counters": [], "kinds_declared": False},
    }
    assert line_of(run(**usual)) == line_of(run())
    # Nobody was seen, and that is not the same as that nobody looked.
    told = {"foreign_tasks": [], "interrupts_s": 0.0, "turbo": False, "reason": "exit status 3"}
    assert record_in(line_of(run(**told))) == run(**told)


@given(st.data())
def test_a_line_that_is_not_as_it_was_written_is_no_record(data: st.DataObject) -> None:
    line = line_of(run())
    at = data.draw(st.integers(0, len(line) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[at]))
    changed = line[:at] + bytes([byte]) + line[at + 1 :]
    assert {record_in(changed), record_in(line[:at]), record_in(line[:at] + line[at + 1 :])} <= {
        TORN,
        ALTERED,
    }


def test_a_line_that_was_written_again_is_no_record() -> None:
    again = json.dumps(json.loads(line_of(run())) | {"elapsed_s": 2.0}).encode() + b"\n"
    assert record_in(again) == ALTERED
    without = {name: value for name, value in json.loads(again).items() if name != "crc32"}
    assert record_in(json.dumps(without).encode()) == ALTERED


@pytest.mark.parametrize("schema", [SCHEMA - 1, SCHEMA + 1, True, None, str(SCHEMA), float(SCHEMA)])
def test_a_record_of_another_schema_is_refused(schema: object) -> None:
    fields = json.dumps(run(schema=schema)).encode()
    for line in (sealed(fields), fields):
        with pytest.raises(SchemaError):
            record_in(line)


REASONS = st.dictionaries(
    st.sampled_from([name for names in STANDS_FOR.values() for name in names]),
    st.sampled_from(["no counters", "not asked", "denied"]),
)


@given(REASONS, st.booleans())
def test_a_reason_is_written_once_for_what_lacks_it_together(
    reasons: dict[str, str], everything: bool
) -> None:
    if everything:
        absent = [name for names in STANDS_FOR.values() for name in names]
        reasons = dict.fromkeys(absent, "no counters") | reasons
    reasons |= {"placement": "few looks", "metrics.rate": "not printed"}
    read = record_in(line_of(run(unavailable=reasons)))
    assert not isinstance(read, InvalidLine)
    assert read["unavailable"] == reasons


def test_a_record_that_lacks_all_of_a_group_has_one_reason_for_it() -> None:
    record = run(unavailable=dict.fromkeys(STANDS_FOR["energy"], "no counters"))
    assert json.loads(line_of(record))["unavailable"] == {"energy": "no counters"}
    some = run(energy_pkg_j=5.0, unavailable={"energy_core_j": "no counters"})
    assert json.loads(line_of(some))["unavailable"] == {"energy_core_j": "no counters"}


def test_an_event_is_named_once_where_its_field_has_the_reason() -> None:
    reasons = {"cycles": "cycles: denied", "counters.cycles": "cycles: denied"}
    other = {"counters.power/energy-pkg/": "whole machine"}
    written = json.loads(line_of(run(unavailable=reasons | other)))["unavailable"]
    assert written == {"cycles": "cycles: denied"} | other


PLACEMENTS: list[Any] = [{"verdict": 1}, {"threads": [{"cpu_s": "1"}]}, []]
SEEN: list[Any] = [
    7,
    {"placement": ["proved"]},
    {"disturbed": "no"},
    {"took_s": -1},
]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("user_s", number) for number in (-1.0, "1", True, math.nan, math.inf, 1e300, [1.0])],
        *[("threads", count) for count in (0, -2, 2.5, "2", 2**53)],
        *[("driver", text) for text in (1, ["intel_pstate"])],
        *[("placement", placement) for placement in PLACEMENTS],
        *[("race_seen", seen) for seen in (*SEEN, {"placement": "\ud800"})],
        *[("race_value", number) for number in (0.0, -1.0, 1e300, "2", True, math.nan)],
        ("temperature_reference_c", "hot"),
        *[("thread_libraries", libraries) for libraries in ("libomp", [1])],
    ],
)
def test_what_no_record_can_have_is_left_out_with_the_reason(name: str, value: object) -> None:
    for line in (line_of(run(**{name: value})), sealed(json.dumps(run(**{name: value})).encode())):
        read = record_in(line)
        assert not isinstance(read, InvalidLine)
        assert name not in read
        assert read["unavailable"] == {
            "energy_pkg_j": "no counters",
            name: "what the record says is impossible",
        }


def test_of_an_object_the_impossible_numbers_are_left_out() -> None:
    read = record_in(line_of(run(freq_ghz={"P": 3.0, "E": -1.0, "LP": "2"})))
    assert not isinstance(read, InvalidLine)
    assert read["freq_ghz"] == {"P": 3.0}
    assert read["unavailable"].keys() == {"energy_pkg_j", "freq_ghz", "freq_ghz.E", "freq_ghz.LP"}


def test_of_an_engine_s_group_the_impossible_fields_are_left_out() -> None:
    wrong = {"vcpus": 0, "accelerator": "kvm", "clock": {"drift_s": "x", "window_s": 1.0}}
    read = record_in(line_of(run(guest=wrong, ranks={"number": True})))
    assert isinstance(read, dict)
    assert read["guest"] == {"accelerator": "kvm", "clock": {"window_s": 1.0}}
    assert "ranks" not in read
    assert {"guest.vcpus", "guest.clock.drift_s", "ranks.number"} <= set(read["unavailable"])


def test_attempts_are_read_by_their_number_beyond_9999_and_over_nodes(tmp_path: Path) -> None:
    names = ["n2-0001", "n1-0002", "n2-0003", "n1-9999", "n10-9999", "n1-10000", "n1-123456"]
    for name in reversed(names):
        (tmp_path / f"{name}.jsonl").write_bytes(line_of(run(node_id=name)))
    assert [record["node_id"] for record in read_records(tmp_path)] == names
    assert [path.stem for path in shards_of(tmp_path)] == names


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
        found = list(read_lines(tmp_path / "n-0001.jsonl"))
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
