"""What contention costs by placement: made-up results whose ratios are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.affinity.contention import Contention, contention, tell_contention
from tests.analysis.affinity.made_results import NO_L1D, ROUNDS, Affinity
from tests.analysis.affinity.opened import opened, opened_records


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> list[Contention]:
    return contention(*opened(tmp_path_factory.mktemp("study"), Affinity(apps=("contention",))))


def integers(folder: Path, study: Affinity) -> Contention:
    return contention(*opened(folder, study))[0]


def ratios(found: Contention) -> dict[str, float]:
    return {
        row.measured.case.mapping: row.against.difference.ratio
        for row in found.rows
        if row.against is not None
    }


def test_each_placement_is_compared_with_the_scheduler_s_by_the_time_of_a_round(
    study: list[Contention],
) -> None:
    for experiment, rounds in zip(study, ROUNDS.values(), strict=True):
        expected = {name: ms / rounds["scheduler"] for name, ms in rounds.items()}
        del expected["scheduler"]
        assert {*ratios(experiment)} == {*expected}
        for row in experiment.rows:
            if row.against is not None:
                truth = expected[row.measured.case.mapping]
                # Noise of 0.2 % a run, ten pairs: 0.09 % of error, four of them are beyond doubt.
                assert row.against.difference.ratio == pytest.approx(truth, rel=0.004)
                assert row.against.difference.paired


def test_words_follow_the_ratios(study: list[Contention]) -> None:
    found = study[0]

    words = {
        row.measured.case.mapping: row.against.comparison.word
        for row in found.rows
        if row.against is not None
    }
    assert words == {
        "same-cpu-pin-program": "better",
        "same-cpu-pin": "better",
        "siblings-pin-program": "better",
        "same-cluster-pin-program": "worse",
        "pcores-pin-program": "better",
        "across-kinds-pin-program": "worse",
    }


def test_an_operation_takes_a_round_s_time_over_its_operations(tmp_path: Path) -> None:
    found = integers(tmp_path, Affinity(apps=("contention",), noise=0.0))

    # 10 ms for 400 000 operations are 25 ns each.
    assert found.rows[0].ns == pytest.approx(25.0)


def test_pinning_from_inside_stands_beside_pinning_from_outside(study: list[Contention]) -> None:
    (pair,) = study[0].same

    assert pair.by_itself.case.mapping == "same-cpu-pin-program"
    assert pair.from_outside.case.mapping == "same-cpu-pin"
    assert pair.against is not None
    # The made-up times are 2.5 and 2.505 ms: 0.2 % apart.
    assert pair.against.comparison.word == "equivalent"
    assert pair.against.difference.ratio == pytest.approx(2.5 / 2.505, abs=0.004)
    assert pair.proved == (10, 10)


def test_what_was_published_stands_beside_the_same_placement_only(study: list[Contention]) -> None:
    found = study[0]

    published = {
        row.measured.case.mapping: (row.published.time_ms, row.published.l1d_miss_rate)
        for row in found.rows
        if row.published
    }
    assert published == {
        "scheduler": (10.7, 0.0784),
        "same-cpu-pin-program": (3.53, 0.0045),
        "same-cpu-pin": (3.53, 0.0045),
    }


def test_the_table_has_ratio_word_and_published_numbers_of_a_placement(
    study: list[Contention],
) -> None:
    table = tell_contention(study[0], 0.01).table

    free, on_one = (dict(zip(table.columns, row, strict=True)) for row in table.cells[:2])
    named = {column.title: column for column in table.columns}
    assert [free[named[name]] for name in ("time ratio", "word")] == ["1", "baseline"]
    assert on_one[named["mapping"]] == "same-cpu-pin-program"
    assert on_one[named["time ratio"]] in ("0.250", "0.251")
    assert on_one[named["word"]] == "better"
    assert on_one[named["pinned by"]] == "program"
    published = [named["published (ms)"], named["published L1 loads missed (%)"]]
    assert [[row[name] for name in published] for row in (free, on_one)] == [
        ["10.7", "7.84"],
        ["3.53", "0.45"],
    ]
    assert "the original was not seen" in table.notes[0][1]


def test_the_share_of_l1_misses_has_a_column_a_kind(study: list[Contention]) -> None:
    table = tell_contention(study[0], 0.01).table

    at = [column.name for column in table.columns].index("L1 loads missed, P-cores")
    assert [row[at] for row in table.cells[:2]] == ["8.00", "0.50"]


def test_what_was_not_counted_has_its_reason(tmp_path: Path) -> None:
    found = integers(tmp_path, Affinity(apps=("contention",), l1d=False))

    told = tell_contention(found, 0.01)

    assert found.no_l1d == NO_L1D
    assert told.sentences[-1] == f"L1 load misses were not counted: {NO_L1D}."
    assert not any("L1" in column.name for column in told.table.columns)


def test_few_runs_are_shown_and_not_compared(tmp_path: Path) -> None:
    found = integers(tmp_path, Affinity(apps=("contention",), repetitions=1))

    told = tell_contention(found, 0.01)

    assert ratios(found) == {}
    assert "not compared, too few runs" in " ".join(told.sentences)
    assert told.table.cells[0][:4] == ("1", "scheduler", "0-15", "1")


def test_without_the_scheduler_s_case_nothing_is_compared_with_it(tmp_path: Path) -> None:
    study = Affinity(apps=("contention",), beside={"binding": "pin"})

    assert ratios(integers(tmp_path, study)) == {}


def test_runs_whose_placement_is_not_proved_are_counted(tmp_path: Path) -> None:
    unproved = {"placement": {"verdict": "unproved"}, "unavailable": {"placement": "too short"}}
    found = integers(tmp_path, Affinity(apps=("contention",), l1d=False, beside=unproved))

    assert found.same[0].proved == (0, 0)
    said = " ".join(tell_contention(found, 0.01).sentences)
    assert "showed that placement in 0 of 10 and 0 of 10 runs" in said


def test_runs_of_which_no_placement_is_told_are_not_proved(tmp_path: Path) -> None:
    found = integers(tmp_path, Affinity(apps=("contention",), beside={"placement": None}))

    assert found.same[0].proved == (0, 0)


def test_cases_that_lost_runs_to_placement_are_not_called_too_few(tmp_path: Path) -> None:
    records = list(Affinity(apps=("contention",)).records())
    case = [r for r in records if r["case_id"] == "contention-integer-4-same-cpu-pin"]
    lost = {"status": "placement-violated", "reason": "CPU 9"}
    records += [r | lost | {"repetition": r["repetition"] + 20} for r in case[:3]]

    found = contention(*opened_records(tmp_path, records))[0]

    said = " ".join(tell_contention(found, 0.01).sentences)
    assert "not compared, too many runs lost to placement" in said
    assert "not compared, too few runs" not in said


def test_pinning_from_inside_in_another_attempt_is_said_to_be(tmp_path: Path) -> None:
    records = [
        r | {"attempt": 1 if r["mapping"] == "same-cpu-pin" else 2}
        for r in Affinity(apps=("contention",)).records()
    ]
    found = contention(*opened_records(tmp_path, records))[0]

    (said,) = [s for s in tell_contention(found, 0.01).sentences if "pin themselves" in s]
    assert "no attempt at the study made runs of both" in said
