"""From records on the disk to one row a run."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pinstudy.analysis.records.frame import COLUMNS
from pinstudy.analysis.records.gathered import (
    MAX_KEPT,
    MAX_VALUES,
    FirstRecords,
    SettingsSeen,
    command_lines,
)
from pinstudy.analysis.records.metrics import MAX_METRICS
from pinstudy.analysis.records.runs import Runs, read_runs
from pinstudy.analysis.results.caveats import folder_footnotes
from pinstudy.analysis.results.summarise import summarise
from pinstudy.analysis.tables.means import make_tables, render
from pinstudy.base.errors import UserError
from pinstudy.runners.records.line import TORN
from pinstudy.runners.records.record import SCHEMA
from tests.support.results import Record, left_out, record, without, write


def runs_of(folder: Path, *records: Record) -> Runs:
    write(folder, records)
    return read_runs(folder)


def test_every_run_of_every_attempt_is_a_row(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1), record(2, 1)])
    write(tmp_path, [record(1, 2, attempt=2)], attempt=2)

    runs = read_runs(tmp_path)

    of_kinds = ["freq_P_ghz", "residency_P", "residency_E"]
    assert list(runs.frame.columns) == [*COLUMNS, *of_kinds]
    assert list(zip(runs.frame["case_number"], runs.frame["repetition"], strict=True)) == [
        (1, 1), (2, 1), (1, 2),
    ]  # fmt: skip
    assert (runs.refused, runs.unusable) == ({}, 0)


def reasons_of(runs: Runs) -> list[tuple[str, str, str]]:
    return list(runs.reasons.itertuples(index=False, name=None))


def test_what_was_not_measured_is_missing_and_a_zero_is_a_zero(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, without(["energy_pkg_j"], "no permission", migrations=0))
    row = runs.frame.iloc[0]
    assert math.isnan(row["energy_pkg_j"])
    assert row["migrations"] == 0
    assert reasons_of(runs) == [("case000000000001", "energy_pkg_j", "no permission")]


def test_reasons_are_those_of_good_runs_each_once(tmp_path: Path) -> None:
    lost = {"unavailable": {"energy_pkg_j": "wrapped", "turbo": "unknown"}}
    no_texts = {"turbo": "", "epp": 1, "driver": ["a"], "energy_pkg_j": None}
    runs = runs_of(
        tmp_path,
        record(1, 1, **lost),
        record(1, 2, unavailable={"turbo": "unknown", "epp": "refused"}),
        record(1, 3, **lost),
        record(2, 1, **lost),
        record(3, 1, unavailable={"turbo": "of a warm-up"}, warmup=True),
        record(3, 1, unavailable={"turbo": "of a failed run"}, status="failed"),
        record(3, 1, unavailable={"turbo": "of a repetition that was there before"}),
        record(3, 2, unavailable=no_texts),
        record(3, 3, unavailable=["turbo"]),
    )
    assert reasons_of(runs) == [
        ("case000000000001", "energy_pkg_j", "wrapped"),
        ("case000000000001", "turbo", "unknown"),
        ("case000000000001", "epp", "refused"),
        ("case000000000002", "energy_pkg_j", "wrapped"),
        ("case000000000002", "turbo", "unknown"),
    ]


def names_of(frame: pd.DataFrame, part: str = "metric_") -> list[str]:
    return [str(name) for name in frame if part in str(name)]


def test_numbers_by_kind_are_columns_and_other_names_of_kinds_are_not(tmp_path: Path) -> None:
    rates = {"P": 0.0784, "X": 0.5, "LP-E": "none"}
    odd = {"LP-E": 1, "X": 0.5, "\x1b": 1.0}
    frame = runs_of(
        tmp_path,
        record(1, 1, freq_ghz={"LP-E": 2.5}, residency=odd, l1d_miss_rate=rates),
        record(1, 2, freq_ghz={"LP-E": "2.5"}, residency=None, l1d_miss_rate=0.1),
    ).frame

    found = {str(name): frame[name].fillna(-1).tolist() for name in frame if name not in COLUMNS}
    assert found == {
        "freq_LP-E_ghz": [2.5, -1],
        "residency_LP-E": [1.0, -1],
        "l1d_miss_rate_P": [0.0784, -1],
    }


NO_STARTS: list[object] = ["noon", "", 1740830400, None, {}]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        # In Unix seconds: `date -u -d 2025-03-01T12:00:00Z +%s` says 1740830400.
        ("started_at", "2025-03-01T12:00:00Z", 1740830400.0),
        ("started_at", "2025-03-01T12:00:00.250+00:00", 1740830400.25),
        ("started_at", "2025-03-01T13:30:00+01:30", 1740830400.0),
        ("started_at", "2025-03-01T12:00:00", 1740830400.0),
        ("started_at", "0001-01-01T00:00:00+23:59", -62135683140.0),
        *(("started_at", odd, None) for odd in NO_STARTS),
        # The hottest package's.
        ("temperature_before_c", {"package 0": 45.0, "package 1": 51.5}, 51.5),
        ("temperature_before_c", {"0": 45, "1": "hot", "2": True, "3": None}, 45.0),
        ("temperature_before_c", {"package 0": math.nan, "package 1": -3.0}, -3.0),
        ("temperature_before_c", {"0": math.inf, "1": 10**400}, None),
        ("temperature_before_c", {}, None),
        ("temperature_before_c", 45.0, None),
    ],
)
def test_starts_and_temperatures_are_read_or_missing(
    tmp_path: Path, field: str, value: object, expected: float | None
) -> None:
    column = {"started_at": "started_s", "temperature_before_c": "temperature_c"}[field]
    (found,) = runs_of(tmp_path, record(1, 1, **{field: value})).frame[column]
    assert math.isnan(found) if expected is None else found == expected


NO_NUMBERS = [True, False, "45", [45], {"s": 45}, math.nan, math.inf, -math.inf, 10**400, None]
NO_WHOLE_NUMBERS = [True, 2.0, "2", 2**53, -(2**53), 10**400, math.nan, [], None]
NO_TEXTS = [1, True, ["intel_pstate"], {"a": "b"}, 1.5, None]


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        *(("user_s", (44.0, 46.0), value) for value in NO_NUMBERS),
        *(("block", (1, 2**53 - 1), value) for value in NO_WHOLE_NUMBERS),
        *(("driver", ("intel_pstate", "acpi"), value) for value in NO_TEXTS),
    ],
)
def test_what_is_of_another_kind_is_missing_and_leaves_its_neighbours_alone(
    tmp_path: Path, column: str, good: tuple[object, object], bad: object
) -> None:
    values = (good[0], bad, good[1])
    runs = runs_of(tmp_path, *(record(1, r, **{column: v}) for r, v in enumerate(values, 1)))
    first, spoilt, last = runs.frame[column]
    assert (first, last) == good
    assert pd.isna(spoilt)


def test_runs_that_lack_some_columns_are_all_there(tmp_path: Path) -> None:
    records = [record(1, r, elapsed_s=float(r), size=f"s{r % 4}") for r in range(1, 8)]
    # Of some nothing is left, and only the last of them tells of E-cores.
    records[3:6] = [{"schema": 6}] * 3
    records[6]["freq_ghz"] = {"E": 4.0}
    for item in records[:3]:
        item["residency"] = None
    write(tmp_path, [*records, record(1, 9, user_s="9")])

    runs = read_runs(tmp_path)

    assert runs.unusable == 3
    assert runs.frame["repetition"].tolist() == [1, 2, 3, 7, 9]
    assert runs.frame["elapsed_s"].tolist()[:4] == [1.0, 2.0, 3.0, 7.0]
    assert runs.frame["size"].tolist() == ["s1", "s2", "s3", "s3", "paper"]
    assert runs.frame["freq_E_ghz"].isna().tolist() == [True, True, True, False, True]
    assert runs.frame["residency_P"].isna().tolist() == [True, True, True, False, False]


def test_long_parts_of_records_do_not_stay_in_memory(tmp_path: Path) -> None:
    # 2 MB of stderr and threads in 200 records, of which the frame keeps some 500 bytes each.
    threads = [{"process": 0, "allowed": "0-7", "seen": {"1": n}} for n in range(100)]
    placement = {"verdict": "proved", "threads": threads}
    long_ones = (
        record(1, r, stderr_tail=f"{r}" * 2000, placement=placement) for r in range(1, 201)
    )
    write(tmp_path, long_ones)

    runs = read_runs(tmp_path)

    assert runs.frame["placement_verdict"].tolist() == ["proved"] * 200
    assert runs.frame.memory_usage(deep=True).sum() < 200 * 1000


@pytest.mark.parametrize("line", [b"\x00\xff\xfe", b"[1, 2]", b"null", b"[" * 100_000, b"{}x"])
@pytest.mark.parametrize("torn", [0, 40])
def test_damaged_lines_are_counted_wherever_they_stand(
    tmp_path: Path, line: bytes, torn: int
) -> None:
    path = write(tmp_path, [record(1, 1), record(1, 2)])
    written = path.read_bytes()
    path.write_bytes(line + b"\n" + written[: len(written) - torn])

    runs = read_runs(tmp_path)

    assert (len(runs.frame), runs.refused) == ((1, {TORN.why: 2}) if torn else (2, {TORN.why: 1}))


def test_a_record_that_names_no_case_is_counted(tmp_path: Path) -> None:
    odd = {"schema": 6}
    runs = runs_of(tmp_path, odd, record(1, 1, case_number="1"), record(1, 1, mapping=None))
    assert (len(runs.frame), runs.unusable) == (0, 3)


@pytest.mark.parametrize("schema", [SCHEMA + 1, 0, None, "1", 1.5, [1]])
def test_a_schema_of_another_version_is_refused(tmp_path: Path, schema: object) -> None:
    with pytest.raises(UserError, match=rf"0001\.jsonl:2: record schema .*reads schema {SCHEMA}"):
        runs_of(tmp_path, record(1, 1), record(1, 2, schema=schema))


def test_a_folder_without_records_and_a_shard_that_is_no_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no results here"):
        read_runs(tmp_path)
    (tmp_path / "records" / "node1-0001.jsonl").mkdir(parents=True)
    with pytest.raises(UserError, match=r"0001\.jsonl: cannot be read \(Is a directory\)"):
        read_runs(tmp_path)


def test_of_two_runs_of_a_repetition_the_first_that_ended_counts(tmp_path: Path) -> None:
    write(
        tmp_path,
        [
            record(1, 1, status="interrupted", elapsed_s=None),
            record(1, 2, status="failed"),
            left_out(5, "governor cannot be set"),
            left_out(4, "no E-cores"),
        ],
    )
    later = [record(1, 1, elapsed_s=7.0), record(1, 2), left_out(4, "no E-cores"), record(5, 1)]
    write(tmp_path, [run | {"attempt": 2} for run in later], attempt=2)

    frame = read_runs(tmp_path).frame

    rows = frame[["case_number", "status"]].itertuples(index=False, name=None)
    assert sorted(rows) == [(1, "failed"), (1, "ok"), (4, "skipped"), (5, "ok")]
    assert frame["elapsed_s"][frame["case_number"] == 1].max() == 45.0
    assert 7.0 in frame["elapsed_s"].tolist()


# Of another version, study or node a record is refused, which is told elsewhere.
REFUSED = {"schema", "study", "node_id", "node_digest"}
OF_ENGINES = {"ranks", "guest"}
NAMES_WITHIN = [
    *("number", "cpus", "mapping", "vcpus", "accelerator", "placement", "migrations"),
    *("P", "E", "driver", "verdict", "core_count", "core_power_limit_count"),
]
OF_DISTURBANCES = {
    *("throttle", "power_limit_note", "gate_reached", "foreign_cpu_s", "steal_s", "daemons"),
    *("quota_throttled_s", "cpu_cooling"),
}
FREE = sorted({*record(), *OF_ENGINES, *OF_DISTURBANCES} - REFUSED)
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["\ud800", "\x1b[31m|&\n", 10**400, -(2**60), "P", "ok", "skipped"])
    | st.sampled_from(["unproved", "tcg", "kvm", "vm", "8"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(NAMES_WITHIN), inner)
    ),
    max_leaves=4,
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@example({"guest": {"mapping": "\x1b[31m", "cpus": "\x1b", "accelerator": "\x1b"}})
@example({"unavailable": None})
@example({"guest": {"vcpus": "\ud800"}})
@example({"ranks": {"number": 2, "mpi": "\x1b", "cpus": ["\x1b"], "by": "\x1b"}})
@given(st.dictionaries(st.sampled_from(FREE), anything, max_size=6))
def test_a_record_with_anything_in_its_fields_still_gives_tables(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    path = write(tmp_path, [record(2, 1), left_out(3, "no") | fields])
    with path.open("a") as stream:
        stream.write(json.dumps(record(1, 1) | fields) + "\n")

    tables = make_tables(tmp_path)

    for style in ("text", "markdown", "csv", "latex"):
        shown = render(tables, style)
        assert "pcores-set" in shown
        assert "\x1b" not in shown
    for table in tables:
        assert {len(row) for row in table.cells} == {len(table.columns)}


def test_an_idle_measurement_is_no_run_and_no_damage(tmp_path: Path) -> None:
    idle = {
        **{"schema": 6, "study": "paper-serial", "study_digest": "d" * 64, "run_id": "idle-1-0"},
        **{"status": "idle", "governor": "performance", "energy_pkg_j": 150.0},
    }
    write(tmp_path, [idle, record(1, 1), idle, record(1, 2)])
    runs = read_runs(tmp_path)
    assert runs.frame["status"].tolist() == ["ok", "ok"]
    assert (runs.refused, runs.unusable) == ({}, 0)
    (table,) = make_tables(tmp_path)
    assert table.raw_values[0]["energy_pkg_mean_j"] == 2215.08


def test_cpu_times_by_thread_and_of_quarters_are_averaged_over_runs(tmp_path: Path) -> None:
    # What is no list of times of kinds is missing as a whole.
    teams = ([{"P": 2.0, "E": 0.5}, {}, {"X": 1.0, "E": 1.0}], [{"P": -1.0}, {"E": 1}], {"P": 1.0})
    courses = (
        [{"P": 2.0, "E": 0.5}, {"P": 1.0, "E": 0.0}, {"P": 3.0}, {"P": 4.0}, {"P": 9.0}],
        [{"P": 4.0, "E": 1.5}, {"P": 3.0, "E": 0.0}, {"P": 5.0}],
        None,
    )
    fields = [{"team_cpu_s": team, "course": c} for team, c in zip(teams, courses, strict=True)]
    runs = runs_of(tmp_path, *(record(1, n, **of_run) for n, of_run in enumerate(fields, 1)))

    threads = {name: runs.frame[name].tolist() for name in names_of(runs.frame, "team")}
    nan = pytest.approx(math.nan, nan_ok=True)
    assert threads == {
        "team_cpu_s_0 E": [0.5, nan, nan],
        "team_cpu_s_0 P": [2.0, nan, nan],
        "team_cpu_s_2 E": [1.0, nan, nan],
    }
    (case,) = summarise(runs)
    assert list(case.profiles["team_cpu_s"]) == [{"E": 0.5, "P": 2.0}, {"E": 1.0}]
    assert [dict(quarter) for quarter in case.profiles["course"]] == [
        *({"P": 3.0, "E": 1.0}, {"P": 2.0, "E": 0.0}, {"P": 4.0}, {"P": 4.0})
    ]


@pytest.mark.parametrize(
    ("attempts", "look"),
    [
        ([None, None], 1),
        ([None, {"undecided": {"look": 2}}], 2),
        ([None, {"undecided": {"look": 2}}, {"undecided": {"look": 3}}], 3),
        # All cases went on after what was undecided.
        ([None, {"undecided": {"look": 2}}, None], 3),
        ([{"decide": {"first": 5, "max": 80}}, {"undecided": {"look": 2}}], 2),
        ([None, {"undecided": {"look": "many"}}, {"undecided": 7}], 1),
    ],
)
def test_the_look_is_that_of_the_last_runs_of_what_was_undecided(
    tmp_path: Path, attempts: list[dict[str, Any] | None], look: int
) -> None:
    for attempt, rule in enumerate(attempts, 1):
        same = {"attempt": attempt} | ({"repetition_rule": rule} if rule else {})
        write(tmp_path, [record(1, attempt, **same)], attempt)
    runs = read_runs(tmp_path)
    assert (runs.look, runs.raced) == (look, False)


# What the programs printed.
def test_of_too_many_names_the_first_in_the_alphabet_are_kept_with_a_footnote(
    tmp_path: Path,
) -> None:
    many = {f"m{number:02d}": float(number) for number in range(MAX_METRICS, -1, -1)}
    few = dict(list(many.items())[1:])
    runs = {
        name: runs_of(tmp_path / name, record(1, 1, metrics=metrics))
        for name, metrics in (("many", many), ("few", few))
    }
    kept = names_of(runs["many"].frame)
    assert kept == [f"metric_m{number:02d}" for number in range(MAX_METRICS)]
    notes = [folder_footnotes(runs[name], tmp_path / name) for name in ("many", "few")]
    assert "the first 32 names in the alphabet are used" in notes[0][0]
    assert notes[1] == []


def test_only_numbers_with_names_of_runs_that_name_a_case_are_metrics(tmp_path: Path) -> None:
    odd = {"text": "3.5", "truth": True, "list": [1], "endless": math.inf, "huge": 10**400}
    nameless = record(1, 1, app=None, metrics={"round_ms": 9.0})
    named = record(1, 2, metrics={"round_ms": 2.0, "a\x1b[31m": 1.0} | odd)

    runs = runs_of(tmp_path, nameless, named, nameless, record(1, 3, metrics=[3.5]))

    assert runs.unusable == 2
    assert names_of(runs.frame) == ["metric_round_ms"]
    assert runs.frame["metric_round_ms"].fillna(-1).tolist() == [2.0, -1]
    # Of the name that cannot be printed.
    assert runs.more_metrics


def test_attempts_that_are_read_apart_make_the_same_columns(tmp_path: Path) -> None:
    printed = [{"m01": 1.0, "m39": 2.0}, {"m00": 3.0}, {}, {f"m{n:02d}": 4.0 for n in range(1, 40)}]
    for attempt, metrics in enumerate(printed, 1):
        write(tmp_path, [record(1, attempt, attempt=attempt, metrics=metrics)], attempt)

    frame = read_runs(tmp_path).frame

    names = [f"m{n:02d}" for n in range(MAX_METRICS)]
    assert names_of(frame) == [f"metric_{name}" for name in names]
    for name in names:
        expected = [metrics.get(name, -1) for metrics in printed]
        assert frame[f"metric_{name}"].fillna(-1).tolist() == expected


# What is kept of the first record of each case, for the command lines and versions in reports.
def test_the_first_record_of_each_case_in_each_attempt_is_kept(tmp_path: Path) -> None:
    runs = runs_of(
        tmp_path,
        *(
            record(case, repetition, attempt=attempt, kernel=f"6.{case}.{attempt}")
            for attempt in (1, 2)
            for repetition in (1, 2, 3)
            for case in (1, 2)
        ),
    )
    firsts = list(runs.firsts)
    assert [first["kernel"] for first in firsts] == ["6.1.1", "6.2.1", "6.1.2", "6.2.2"]
    assert all("elapsed_s" not in first for first in firsts)


def test_a_case_that_was_left_out_at_first_has_a_command_line(tmp_path: Path) -> None:
    absent = record(1, 1, status="skipped", reason="CPU 5 is offline", command=None)
    environment = {"set": {"OMP_NUM_THREADS": "4"}}
    made = [record(1, n, command=["lu", str(n)], environment=environment) for n in (1, 2)]
    runs = runs_of(tmp_path, absent, *made)
    lines = command_lines(runs.firsts, {str(made[0]["case_id"]), "of nobody"})
    assert lines == {made[0]["case_id"]: "OMP_NUM_THREADS=4 lu 1"}


def test_first_records_of_others_are_kept_up_to_a_limit() -> None:
    firsts = FirstRecords()
    for number in (*range(MAX_KEPT), 0, MAX_KEPT):
        firsts.add({"case_id": str(number), "kernel": "6.1"})
    assert len(list(firsts)) == MAX_KEPT


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (
            [{}, {"epp": "performance"}, {"attempt": 2}, {}],
            {"power": [1, 2, 4], "performance": [2]},
        ),
        # Runs that are not averaged say nothing.
        ([{}, {"epp": "balance", "status": "failed"}], {"power": [1]}),
        ([{}, {"epp": "balance", "warmup": True}], {"power": [1]}),
        # A setting that moves all the time keeps its first values.
        ([{"epp": str(n)} for n in range(100)], {str(n): [n + 1] for n in range(MAX_VALUES)}),
    ],
)
def test_values_of_settings_are_kept_with_their_attempts(
    records: list[Record], expected: dict[str, list[int]]
) -> None:
    seen = SettingsSeen()
    for number, fields in enumerate(records, 1):
        seen.add({"case_id": "a", "status": "ok", "attempt": number, "epp": "power"} | fields)
    assert seen.of("a") == {"EPP": expected}
