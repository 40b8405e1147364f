"""From records on the disk to one row a run."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.frame import COLUMNS, read_runs
from analysis.tables import make_tables, render
from configs.errors import UserError
from runners.shards import SCHEMA
from tests.analysis.records import left_out, record, without, write


def test_every_run_of_every_attempt_is_a_row(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1), record(2, 1)])
    write(tmp_path, [record(1, 2, attempt=2)], attempt=2)

    runs = read_runs(tmp_path)

    assert list(runs.frame.columns) == list(COLUMNS)
    assert list(zip(runs.frame["case_number"], runs.frame["repetition"], strict=True)) == [
        (1, 1), (2, 1), (1, 2),
    ]  # fmt: skip
    assert (runs.torn, runs.unusable) == (0, 0)


def test_what_was_not_measured_is_missing_and_a_zero_is_a_zero(tmp_path: Path) -> None:
    write(tmp_path, [without(["energy_pkg_j"], "no permission", migrations=0)])

    row = read_runs(tmp_path).frame.iloc[0]

    assert math.isnan(row["energy_pkg_j"])
    assert row["migrations"] == 0
    assert row["unavailable"] == {"energy_pkg_j": "no permission"}


def test_a_torn_last_line_is_counted_and_costs_nothing_else(tmp_path: Path) -> None:
    path = write(tmp_path, [record(1, 1), record(1, 2)])
    path.write_bytes(path.read_bytes()[:-40])

    runs = read_runs(tmp_path)

    assert (len(runs.frame), runs.torn) == (1, 1)


@pytest.mark.parametrize("line", [b"\x00\xff\xfe", b"[1, 2]", b"null", b"[" * 100_000, b"{}x"])
def test_damaged_lines_are_counted_wherever_they_stand(tmp_path: Path, line: bytes) -> None:
    path = write(tmp_path, [record(1, 1)])
    path.write_bytes(line + b"\n" + path.read_bytes())

    runs = read_runs(tmp_path)

    assert (len(runs.frame), runs.torn) == (1, 1)


def test_a_record_that_names_no_case_is_counted(tmp_path: Path) -> None:
    write(tmp_path, [{"schema": 1}, record(1, 1, case_number="1"), record(1, 1, mapping=None)])

    runs = read_runs(tmp_path)

    assert (len(runs.frame), runs.unusable) == (0, 3)


@pytest.mark.parametrize("schema", [SCHEMA + 1, 0, None, "1", 1.5, [1]])
def test_a_schema_of_another_version_is_refused(tmp_path: Path, schema: object) -> None:
    write(tmp_path, [record(1, 1), record(1, 2, schema=schema)])

    with pytest.raises(UserError, match=rf"0001\.jsonl:2: record schema .*up to {SCHEMA}"):
        read_runs(tmp_path)


def test_a_folder_without_records_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no results here"):
        read_runs(tmp_path)


def test_a_shard_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "records" / "node1-0001.jsonl").mkdir(parents=True)

    with pytest.raises(UserError, match=r"0001\.jsonl: cannot be read \(Is a directory\)"):
        read_runs(tmp_path)


def test_an_interrupted_run_gives_way_to_the_one_made_again(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1, status="interrupted", elapsed_s=None), record(1, 2)])
    write(tmp_path, [record(1, 1, attempt=2, elapsed_s=7.0)], attempt=2)

    frame = read_runs(tmp_path).frame

    assert sorted(frame["elapsed_s"]) == [7.0, 45.0]
    assert set(frame["status"]) == {"ok"}


def test_of_two_runs_of_the_same_repetition_the_first_counts_whatever_came_of_it(
    tmp_path: Path,
) -> None:
    write(tmp_path, [record(1, 1, status="failed")])
    write(tmp_path, [record(1, 1, attempt=2)], attempt=2)

    assert list(read_runs(tmp_path).frame["status"]) == ["failed"]


def test_a_warm_up_is_another_run_than_the_repetition_of_its_number(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1, warmup=True), record(1, 1)])

    assert len(read_runs(tmp_path).frame) == 2


def test_a_case_that_could_be_run_later_is_not_left_out(tmp_path: Path) -> None:
    write(tmp_path, [left_out(5, "governor cannot be set"), left_out(4, "no E-cores")])
    write(tmp_path, [left_out(4, "no E-cores"), record(5, 1, attempt=2)], attempt=2)

    frame = read_runs(tmp_path).frame

    assert sorted(zip(frame["case_number"], frame["status"], strict=True)) == [
        (4, "left-out"), (5, "ok"),
    ]  # fmt: skip


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
@given(st.dictionaries(st.sampled_from(sorted(set(record()) - {"schema"})), anything, max_size=6))
def test_a_record_with_anything_in_its_fields_still_gives_tables(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    path = write(tmp_path, [record(2, 1)])
    with path.open("a") as stream:
        stream.write(json.dumps(record(1, 1) | fields) + "\n")

    tables = make_tables(tmp_path)

    for style in ("text", "markdown", "csv", "latex"):
        assert "pcores-set" in render(tables, style)


BASELINE = {
    "schema": SCHEMA,
    "study": "paper-serial",
    "study_digest": "d" * 64,
    "run_id": "baseline-1-0",
    "status": "baseline",
    "governor": "performance",
    "energy_pkg_j": 150.0,
    "power_pkg_w": 15.0,
}


def test_an_idle_baseline_is_no_run_and_no_damage(tmp_path: Path) -> None:
    write(tmp_path, [BASELINE, record(1, 1), BASELINE, record(1, 2)])
    runs = read_runs(tmp_path)
    assert runs.frame["status"].tolist() == ["ok", "ok"]
    assert (runs.torn, runs.unusable) == (0, 0)
    (table,) = make_tables(tmp_path)
    assert table.exact[0]["energy_pkg_mean_j"] == 2215.08
