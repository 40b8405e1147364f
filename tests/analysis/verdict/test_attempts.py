"""Boots, days and looks: what a study that was continued has in its intervals and levels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.answer import find
from analysis.results.sources import open_results
from analysis.statistics.difference import Difference
from analysis.verdict.text import as_data, notes
from tests.support.results import Study, found, only_table, verdict

Records = list[dict[str, Any]]
STUDY = Study({"scheduler": 1.0, "pcores-pin": 0.97}, repetitions=20)


def continued(records: Records, after: int, **fields: Any) -> Records:  # noqa: ANN401
    """Return the records, those of later repetitions made by a second attempt."""
    return [run | ({"attempt": 2} | fields if run["repetition"] > after else {}) for run in records]


def difference(folder: Path, records: Records) -> Difference:
    (case,) = (case for case in only_table(found(folder, records)).cases if case.comparisons)
    return case.comparisons["time"].difference


def test_an_attempt_that_was_killed_and_continued_at_once_is_of_the_same_boot(
    tmp_path: Path,
) -> None:
    assert difference(tmp_path, continued(STUDY.records(), 10)).units == 1


def test_another_boot_is_another_unit(tmp_path: Path) -> None:
    assert difference(tmp_path, continued(STUDY.records(), 10, boot_id="c")).units == 2


def test_another_day_in_the_same_boot_is_another_unit(tmp_path: Path) -> None:
    later = continued(STUDY.records(), 10, started_at="2025-03-02T12:00:00Z")
    assert difference(tmp_path, later).units == 2


def test_what_boots_change_is_in_the_interval_and_said(tmp_path: Path) -> None:
    # From the second boot on pinning gains 1 % instead of 3 %: no run within a boot shows that.
    records = continued(STUDY.records(), 10, boot_id="c")
    for run in records:
        if run["attempt"] == 2 and run["mapping"] == "pcores-pin":
            run["elapsed_s"] *= 0.99 / 0.97
    one_boot = difference(tmp_path / "a", [run | {"boot_id": "b"} for run in records])
    two_boots = difference(tmp_path / "b", records)
    assert two_boots.log_ratio == one_boot.log_ratio
    assert two_boots.standard_error > 2 * one_boot.standard_error
    assert two_boots.df < 2
    said = " ".join(verdict(found(tmp_path / "c", records)).sentences)
    assert "The pairs are of 2 boots or days" in said
    assert "over its boots or days" in " ".join(notes(found(tmp_path / "d", records)))


def test_runs_without_pairs_are_not_said_to_be_of_one_boot(tmp_path: Path) -> None:
    study = Study(STUDY.time, repetitions=20, sequential=True)
    two_boots = found(tmp_path / "two", continued(study.records(), 10, boot_id="c"))
    assert "on this node, in these 2 boots or days and for" in " ".join(notes(two_boots))
    assert "in this boot and for" in " ".join(notes(found(tmp_path / "one", study)))


def test_of_means_without_runs_no_boot_is_known() -> None:
    said = " ".join(notes(find(open_results("published:galante-2025"))))
    assert "a ratio's 95 % interval is of that comparison alone, on this node and for these" in said


def test_a_study_that_went_on_after_all_its_repetitions_is_at_its_second_look(
    tmp_path: Path,
) -> None:
    once, twice = STUDY.records(), continued(STUDY.records(), 10)
    first, second = found(tmp_path / "a", once), found(tmp_path / "b", twice)
    assert (first.look, second.look) == (1, 2)
    before, after = (
        next(case for case in only_table(of).cases if case.comparisons).comparisons["time"]
        for of in (first, second)
    )
    # The first look is at 0.8 of the level, the second at a tenth of it.
    assert after.p_different == pytest.approx(8 * before.p_different)
    assert as_data(second)["look"] == 2
    assert "this is look 2 at a study that was continued" in " ".join(notes(second))


def test_a_study_that_was_killed_within_a_block_was_not_looked_at(tmp_path: Path) -> None:
    records = [run | {"attempt": 1 if run["order"] <= 21 else 2} for run in STUDY.records()]
    assert found(tmp_path, records).look == 1


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_workers_that_divide_a_study_are_no_looks_at_it(tmp_path: Path, workers: int) -> None:
    # As `submit` divides it: blocks in turn, and each worker's runs are an attempt of their own.
    records = [
        run | {"attempt": 1 + (run["repetition"] - 1) % workers, "pool": "split-there"}
        for run in STUDY.records()
    ]
    assert found(tmp_path / "once", records).look == 1
    more = Study(STUDY.time, repetitions=30).records()
    later = [
        run | {"attempt": workers + 1 + run["repetition"] % workers, "pool": "split-there"}
        for run in more
        if run["repetition"] > 20
    ]
    assert found(tmp_path / "twice", records + later).look == 2
