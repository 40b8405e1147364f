"""What contention costs by placement: made-up results whose ratios are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.affinity.contention import Contention, contention, contention_sections
from analysis.format.table import Table
from tests.analysis.affinity.made_results import NO_L1D, ROUNDS, Affinity
from tests.analysis.affinity.opened import opened, opened_records
from tests.support.results import cells_by_title, notes_of


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> list[Contention]:
    return contention(*opened(tmp_path_factory.mktemp("study"), Affinity(apps=("contention",))))


def integers(folder: Path, study: Affinity) -> Contention:
    return contention(*opened(folder, study))[0]


def tables(found: Contention) -> list[Table]:
    """Return the table of the cases, and that of who pins them."""
    return [section.table for section in contention_sections(found, 0.01)]


def ratios(found: Contention) -> dict[str, float]:
    return {
        row.measured.case.mapping: row.against.difference.ratio
        for row in found.rows
        if row.against is not None
    }


def test_each_placement_is_compared_with_the_unpinned_one_by_the_time_of_a_round(
    study: list[Contention],
) -> None:
    for experiment, rounds in zip(study, ROUNDS.values(), strict=True):
        expected = {name: ms / rounds["unpinned"] for name, ms in rounds.items()}
        del expected["unpinned"]
        assert {*ratios(experiment)} == {*expected}
        for row in experiment.rows:
            if row.against is not None:
                truth = expected[row.measured.case.mapping]
                # Noise of 0.2 % a run, ten pairs: 0.09 % of error, four of them are beyond doubt.
                assert row.against.difference.ratio == pytest.approx(truth, rel=0.004)
                assert row.against.difference.paired


def test_what_was_not_counted_has_its_reason(tmp_path: Path) -> None:
    found = integers(tmp_path, Affinity(apps=("contention",), l1d=False))

    table, _ = tables(found)

    assert found.no_l1d == NO_L1D
    assert f"L1 load misses not counted: {NO_L1D}" in notes_of(table)
    assert not any("L1" in column.name for column in table.columns)


def test_few_runs_are_shown_and_not_compared(tmp_path: Path) -> None:
    found = integers(tmp_path, Affinity(apps=("contention",), repetitions=1))

    table, of_pinning = tables(found)

    assert ratios(found) == {}
    assert found.same[0].why_not == "few"
    outcome = cells_by_title(of_pinning)["outcome"]
    assert outcome == "not compared: too few runs, or not in turn"
    assert table.cells[0][:4] == ("1", "unpinned", "0-15", "1")
    assert notes_of(table)[0] == "nothing is compared"


def test_without_an_unpinned_case_nothing_is_compared_with_it(tmp_path: Path) -> None:
    study = Affinity(apps=("contention",), beside={"binding": "pin"})

    found = integers(tmp_path, study)

    assert ratios(found) == {}
    # What was published of threads that were left alone is not beside pinned ones.
    assert found.rows[0].published is None


def test_runs_whose_placement_is_not_proved_are_counted(tmp_path: Path) -> None:
    unproved = {"placement": {"verdict": "unproved"}, "unavailable": {"placement": "too short"}}
    found = integers(tmp_path, Affinity(apps=("contention",), l1d=False, beside=unproved))

    row = cells_by_title(tables(found)[1])
    assert row["placement proved (by itself)"] == "0 of 10"
    assert row["placement proved (from outside)"] == "0 of 10"


def test_cases_that_lost_runs_to_placement_are_not_called_too_few(tmp_path: Path) -> None:
    records = list(Affinity(apps=("contention",)).records())
    case = [r for r in records if r["case_id"] == "contention-integer-4-same-cpu-pin"]
    lost = {"status": "placement-violated", "reason": "CPU 9"}
    records += [r | lost | {"repetition": r["repetition"] + 20} for r in case[:3]]

    found = contention(*opened_records(tmp_path, records))[0]

    assert found.same[0].why_not == "lost"
    assert cells_by_title(tables(found)[1])["outcome"] == "not compared: too many runs lost"


def test_pinning_by_the_program_in_another_attempt_is_noted(tmp_path: Path) -> None:
    records = [
        r | {"attempt": 1 if r["mapping"] == "same-cpu-pin" else 2, "order": None}
        for r in Affinity(apps=("contention",)).records()
    ]
    found = contention(*opened_records(tmp_path, records))[0]

    (note,) = [text for text in notes_of(tables(found)[1]) if "no attempt" in text]
    assert "#2 same-cpu-pin-program, #3 same-cpu-pin" in note


def test_who_pins_is_compared_and_its_placement_proved(tmp_path: Path) -> None:
    _, of_pinning = tables(integers(tmp_path, Affinity(apps=("contention",))))

    row = cells_by_title(of_pinning)
    assert (row["by itself"], row["from outside"]) == ("#2 same-cpu-pin-program", "#3 same-cpu-pin")
    assert (row["pinned by"], row["CPUs"], row["outcome"]) == ("omp-places", "0,2", "equivalent")
    assert row["placement proved (by itself)"] == "10 of 10"
    conclusion = "who pins makes no difference (within 1 %) in 1 of 1 pair"
    assert notes_of(of_pinning) == [conclusion]
