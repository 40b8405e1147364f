"""A record that is not as it was written, or says what cannot be, counts nowhere, and is told."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinstudy.analysis.records.runs import read_runs
from pinstudy.analysis.results.sources import open_results
from pinstudy.base.errors import UserError
from pinstudy.configs.library import load_study
from pinstudy.runners.batch.completed import read_completed
from pinstudy.runners.records.line import line_of
from pinstudy.runners.study.history import read_history
from tests.support.ordinary_user import open_folder, ordinary_user
from tests.support.results import Record, record, write

STUDY = load_study("quick")


def run(repetition: int, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return record(1, repetition, study_digest=STUDY.digest, schema=6, **fields)


def shard_of(folder: Path, lines: list[bytes]) -> Path:
    path = write(folder, [])
    path.write_bytes(b"".join(lines))
    return path


def repetitions_in(folder: Path) -> list[set[int]]:
    """Return which repetitions tables, a second start and `status` take."""
    made = read_completed(folder, STUDY.digest).runs
    history = read_history(folder, STUDY, "n1").done
    return [
        set(read_runs(folder).frame["repetition"].astype(int)),
        {repetition for _, _, repetition in history},
        {repetition for _, _, repetition in made},
    ]


def footnotes_of(folder: Path) -> str:
    return " ".join(open_results(str(folder)).footnotes)


@pytest.mark.parametrize("spoil", ["changed", "written again", "sorted again"])
def test_a_changed_line_counts_nowhere_and_is_reported(tmp_path: Path, spoil: str) -> None:
    line = line_of(run(2))
    again = json.loads(line) | {"elapsed_s": 15.0}
    spoilt = {
        "changed": line.replace(b'"elapsed_s":45.0', b'"elapsed_s":15.0'),
        "written again": json.dumps(again).encode() + b"\n",
        "sorted again": json.dumps(again, sort_keys=True).encode() + b"\n",
    }
    # That the last line lacks its end is no change.
    shard_of(tmp_path, [line_of(run(1)), spoilt[spoil], line_of(run(3)).rstrip()])

    assert repetitions_in(tmp_path) == [{1, 3}] * 3
    assert "1 line of the records changed since they were written" in footnotes_of(tmp_path)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
@given(st.data())
def test_a_flipped_bit_costs_its_line_and_has_no_other_reason(
    tmp_path: Path, data: st.DataObject
) -> None:
    line = line_of(run(2) | {"schema": 6})
    at = data.draw(st.integers(0, len(line) - 2))
    bit = data.draw(st.integers(0, 7))
    flipped = line[:at] + bytes([line[at] ^ (1 << bit)]) + line[at + 1 :]
    shard_of(tmp_path, [line_of(run(1)), flipped, line_of(run(3))])

    assert repetitions_in(tmp_path) == [{1, 3}] * 3
    assert "of the records c" in footnotes_of(tmp_path)


IMPOSSIBLE = [
    *(
        {"elapsed_s": value}
        for value in (0.0, -1.0, 1e300, 1e-300, "45.0", True, math.inf, math.nan)
    ),
    *({"warmup": value} for value in ("true", 1)),
    *({"repetition": value} for value in ("2", 0, 2.0, None)),
    *({"case_id": value} for value in (7, None)),
]


@pytest.mark.parametrize("fields", IMPOSSIBLE, ids=str)
def test_an_impossible_record_counts_nowhere_and_is_reported(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    rule = {"race": {"of": "time", "better": "lower", "margin": 0.01, "cases": 1}}
    write(tmp_path / "fixed", [run(1), run(2) | fields, run(3)])
    raced = [run(1), run(2) | fields, run(3)]
    write(tmp_path / "raced", [made | {"repetition_rule": rule} for made in raced])

    assert repetitions_in(tmp_path / "fixed") == [{1, 3}] * 3
    assert "1 line of the records with" in footnotes_of(tmp_path / "fixed")
    race = read_runs(tmp_path / "raced").race_reader.race(tmp_path / "raced")
    assert race is not None
    assert {repetition for _, repetition in race.runs} == {1, 3}


@pytest.mark.parametrize("value", [0, 0.0, -5.0, 1e300, "7", True, math.inf])
def test_a_measure_that_cannot_be_is_missing_with_its_reason(tmp_path: Path, value: object) -> None:
    units = {"rate": "Gflop/s", "steps": "1"}
    printed = {"metrics": {"rate": 1e300, "steps": 3}, "metric_units": units}
    write(tmp_path, [run(1, **printed), run(2, energy_pkg_j=value, **printed)])

    (case,) = open_results(str(tmp_path)).cases

    energy = case.stats["energy_pkg_j"]
    assert (energy.n, energy.mean) == (1, 2215.08)
    assert case.stat("metric_steps").mean == 3
    for name in ("energy_pkg_j", "metric_rate"):
        assert case.circumstances.reasons[name] == ["what the record says is impossible"]


def test_two_records_of_one_run_are_reported_with_the_rule_that_chooses(tmp_path: Path) -> None:
    write(tmp_path, [run(1), run(2, elapsed_s=40.0)])
    write(tmp_path, [run(2, elapsed_s=20.0, attempt=2), run(3, attempt=2)], attempt=2)

    text = footnotes_of(tmp_path)

    assert (
        "more than one record of 1 run: #1 unpinned under performance, repetition 2 "
        "(attempt 1: 40 s; attempt 2: 20 s); the first one counts, by attempt and then by node, "
        "whatever came of it"
    ) in text
    assert read_runs(tmp_path).frame["elapsed_s"].tolist() == [45.0, 40.0, 45.0]
    assert read_history(tmp_path, STUDY, "n1").mean_s("case000000000001") == 130 / 3


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([run(number) for number in range(1, 9)],
         [run(number, attempt=2) for number in range(1, 9)],
         "repetition 5 (attempt 1: 45 s; attempt 2: 45 s), and 3 more; the first one"),
        ([run(1, elapsed_s=None, attempt=None)],
         [run(1, attempt=2)],
         "(attempt not known: time not measured; attempt 2: 45 s)"),
        ([run(1, status="interrupted")], [run(1, attempt=2)], None),
    ],
    ids=["many", "without a time", "interrupted and made again"],
)  # fmt: skip
def test_runs_with_two_records_are_listed(
    tmp_path: Path, first: list[Record], second: list[Record], expected: str | None
) -> None:
    write(tmp_path, first)
    write(tmp_path, second, attempt=2)

    text = footnotes_of(tmp_path)

    assert (expected or "") in text
    assert ("more than one record" in text) == (expected is not None)
    assert expected is None or text.endswith("whatever came of it")


def test_records_that_may_not_be_read_are_not_called_missing() -> None:
    with open_folder() as folder:
        write(folder, [run(1)])
        (folder / "records").chmod(0)
        with ordinary_user(), pytest.raises(UserError, match="records: cannot be read"):
            read_runs(folder)
        (folder / "records").chmod(0o700)
