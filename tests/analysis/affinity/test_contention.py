"""What contention costs by placement: made-up results whose ratios are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.affinity.contention import Contention, contention, contention_section
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


def test_what_was_not_counted_has_its_reason(tmp_path: Path) -> None:
    found = integers(tmp_path, Affinity(apps=("contention",), l1d=False))

    section = contention_section(found, 0.01)

    assert found.no_l1d == NO_L1D
    assert section.sentences[-1] == f"L1 load misses were not counted: {NO_L1D}."
    assert not any("L1" in column.name for column in section.table.columns)


def test_few_runs_are_shown_and_not_compared(tmp_path: Path) -> None:
    found = integers(tmp_path, Affinity(apps=("contention",), repetitions=1))

    section = contention_section(found, 0.01)

    assert ratios(found) == {}
    assert "not compared, too few runs" in " ".join(section.sentences)
    assert section.table.cells[0][:4] == ("1", "scheduler", "0-15", "1")


def test_without_the_scheduler_s_case_nothing_is_compared_with_it(tmp_path: Path) -> None:
    study = Affinity(apps=("contention",), beside={"binding": "pin"})

    found = integers(tmp_path, study)

    assert ratios(found) == {}
    # What was published of threads that were left alone is not beside pinned ones.
    assert found.rows[0].published is None


def test_runs_whose_placement_is_not_proved_are_counted(tmp_path: Path) -> None:
    unproved = {"placement": {"verdict": "unproved"}, "unavailable": {"placement": "too short"}}
    found = integers(tmp_path, Affinity(apps=("contention",), l1d=False, beside=unproved))

    assert found.same[0].proved == (0, 0)
    text = " ".join(contention_section(found, 0.01).sentences)
    assert "showed that placement in 0 of 10 and 0 of 10 runs" in text


def test_cases_that_lost_runs_to_placement_are_not_called_too_few(tmp_path: Path) -> None:
    records = list(Affinity(apps=("contention",)).records())
    case = [r for r in records if r["case_id"] == "contention-integer-4-same-cpu-pin"]
    lost = {"status": "placement-violated", "reason": "CPU 9"}
    records += [r | lost | {"repetition": r["repetition"] + 20} for r in case[:3]]

    found = contention(*opened_records(tmp_path, records))[0]

    text = " ".join(contention_section(found, 0.01).sentences)
    assert "not compared, too many runs lost" in text
    assert "not compared, too few runs" not in text


def test_pinning_by_the_program_in_another_attempt_is_noted(tmp_path: Path) -> None:
    records = [
        r | {"attempt": 1 if r["mapping"] == "same-cpu-pin" else 2, "order": None}
        for r in Affinity(apps=("contention",)).records()
    ]
    found = contention(*opened_records(tmp_path, records))[0]

    (text,) = [s for s in contention_section(found, 0.01).sentences if "pin themselves" in s]
    assert "no attempt at the study made runs of both" in text
