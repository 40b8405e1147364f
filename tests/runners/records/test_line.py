"""A record is its line, and a line that is not as it was written is no record."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.errors import UserError
from pinstudy.configs.library import load_study
from pinstudy.runners.batch.completed import read_completed
from pinstudy.runners.records.line import ALTERED, TORN, SchemaError, line_of, record_in, sealed
from pinstudy.runners.records.reader import LONGEST_LINE, read_lines, read_records, shards_of
from pinstudy.runners.records.record import NAMES, SCHEMA, STANDS_FOR
from share.schemas import record_schema, write_schema
from tests.support import results
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
        **{"schema": SCHEMA, "study": STUDY.name, "study_digest": STUDY.digest},
        **{"node_id": "n1", "node_digest": "same", "case_id": "a", "repetition": 1},
        **{"warmup": False, "status": "ok", "elapsed_s": 1.0},
        "metrics": {"status": 3.0, "case_id": 5.0},
        "environment": {"set": {"crc32": "0" * 8}},
        "unavailable": {"energy_pkg_j": "no counters"},
        **fields,
    }


def read(line: bytes) -> dict[str, Any]:
    record = record_in(line)
    assert isinstance(record, dict)
    return record


def reasons_in(record: dict[str, Any]) -> dict[str, str]:
    """Return the reasons as the record's line has them."""
    reasons: dict[str, str] = json.loads(line_of(record))["unavailable"]
    return reasons


@settings(max_examples=40)
@given(MORE)
def test_a_line_is_its_record_without_fields_that_no_record_has(more: dict[str, Any]) -> None:
    line = line_of(run() | more)
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
    assert read(line_of(run(**told))) == run(**told)


def test_no_byte_of_a_line_can_be_changed_or_lost_so_that_it_is_a_record() -> None:
    line = line_of(run())
    for at in range(len(line) - 1):
        flipped = line[:at] + bytes([line[at] ^ 1 << at % 8]) + line[at + 1 :]
        for changed in (flipped, line[:at], line[:at] + line[at + 1 :]):
            assert record_in(changed) in (TORN, ALTERED), changed
    # A line break that was changed joins two lines.
    assert record_in(line[:-1] + b"\x0b" + line) in (TORN, ALTERED)
    again = json.loads(line) | {"elapsed_s": 2.0}
    assert record_in(json.dumps(again).encode() + b"\n") == ALTERED
    del again["crc32"]
    assert record_in(json.dumps(again).encode()) == ALTERED


@pytest.mark.parametrize("schema", [SCHEMA - 1, SCHEMA + 1, True, None, str(SCHEMA), float(SCHEMA)])
def test_a_record_of_another_schema_is_refused(schema: object) -> None:
    fields = json.dumps(run(schema=schema)).encode()
    for line in (sealed(fields), fields):
        with pytest.raises(SchemaError):
            record_in(line)


GROUPED = [name for names in STANDS_FOR.values() for name in names]
REASONS = st.dictionaries(
    st.sampled_from(GROUPED), st.sampled_from(["no counters", "not asked", "denied"])
)


@settings(max_examples=50)
@given(REASONS, st.booleans())
def test_reasons_come_back_as_they_were(reasons: dict[str, str], everything: bool) -> None:
    if everything:
        reasons = dict.fromkeys(GROUPED, "no counters") | reasons
    reasons |= {"placement": "few looks", "metrics.rate": "not printed"}
    assert read(line_of(run(unavailable=reasons)))["unavailable"] == reasons


def test_a_reason_is_written_once_for_what_lacks_it_together() -> None:
    absent = dict.fromkeys(STANDS_FOR["energy"], "no counters")
    assert reasons_in(run(unavailable=absent)) == {"energy": "no counters"}
    some = {"energy_core_j": "no counters"}
    assert reasons_in(run(energy_pkg_j=5.0, unavailable=some)) == some
    # An event, where its field has the reason.
    told = {"cycles": "cycles: denied", "counters.power/energy-pkg/": "whole machine"}
    again = told | {"counters.cycles": "cycles: denied"}
    assert reasons_in(run(unavailable=again)) == told


PLACEMENTS: list[Any] = [{"verdict": 1}, {"threads": [{"cpu_s": "1"}]}, []]
SEEN: list[Any] = [7, {"placement": ["proved"]}, {"disturbed": "no"}, {"took_s": -1}]


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
        record = read(line)
        assert name not in record
        why = {name: "what the record says is impossible"}
        assert record["unavailable"] == {"energy_pkg_j": "no counters"} | why


def test_of_objects_the_impossible_values_alone_are_left_out() -> None:
    clock = {"drift_s": "x", "window_s": 1.0}
    guest = {"vcpus": 0, "accelerator": "kvm", "clock": clock}
    wrong = {"freq_ghz": {"P": 3.0, "E": -1.0, "LP": "2"}, "ranks": {"number": True}}
    record = read(line_of(run(guest=guest, **wrong)))
    assert record["freq_ghz"] == {"P": 3.0}
    assert record["guest"] == {"accelerator": "kvm", "clock": {"window_s": 1.0}}
    assert "ranks" not in record
    assert record["unavailable"].keys() >= {
        *("freq_ghz", "freq_ghz.E", "freq_ghz.LP"),
        *("guest.vcpus", "guest.clock.drift_s", "ranks.number"),
    }


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
    path = tmp_path / "n-0001.jsonl"
    for end in (line_of(run(repetition=2)), b"\n"):
        long = b"x" * (LONGEST_LINE - 1) + end
        path.write_bytes(line_of(run()) + long + line_of(run(repetition=3)))
        assert list(read_lines(path)) == [run(), TORN, run(repetition=3)]


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], Any]:
    """Give the check of a record by the schema, written as `make schema` does."""
    path = tmp_path_factory.mktemp("schema") / "record.schema.json"
    write_schema(record_schema(), path)
    compiled: Callable[[Any], Any] = fastjsonschema.compile(json.loads(path.read_text()))
    return compiled


def test_the_json_schema_accepts_what_is_written_alone(check: Callable[[Any], Any]) -> None:
    threads = [{"process": 0, "allowed": "0-3", "seen": {"1": 3}, "cpu_s": 1.0}]
    placement = {"verdict": "proved", "threads": threads}
    written = json.loads(line_of(results.record(1, 1, placement=placement, signal=None)))
    check(written)
    wrong: list[dict[str, Any]] = [
        *({"elapsed_s": 0}, {"threads": "4"}, {"energy_pkg_j": -1.0}, {"freq_ghz": {"P": -1.0}}),
        {"placement": {"threads": [{"cpu_s": "1"}]}},
    ]
    for fields in wrong:
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            check(written | fields)
