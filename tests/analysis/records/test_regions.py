"""Regions of runs as tables of their own, from records, hostile ones too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.sources import open_results
from tests.support.results import Record, Study, notes_of, record, tables_from, write

SOLVE: Record = {
    "executions": 2,
    "elapsed_s": 30.0,
    "mark_s": 0.0001,
    "migrations": 0,
    "energy_pkg_j": 1500.0,
    "freq_ghz": {"P": 5.5},
    "unavailable": {"cache_misses": "the solver has none"},
}


def with_regions(number: int, repetition: int, **regions: Any) -> Record:  # noqa: ANN401
    marks = {"marks": 4, "cost_s": 0.001, "longest_s": 0.001}
    return record(number, repetition, regions=regions, region_marks=marks)


def cases_by_region(folder: Path) -> dict[str | None, Case]:
    return {case.key.table.region: case for case in open_results(str(folder)).cases}


def test_a_region_has_a_table_with_its_own_numbers(tmp_path: Path) -> None:
    runs = [with_regions(1, at, solve=SOLVE | {"elapsed_s": 30.0 + at}) for at in (1, 2, 3)]
    whole, solve = tables_from(tmp_path, runs)

    assert whole.caption.startswith("lulesh")
    assert solve.caption.startswith("region solve of lulesh")
    found = cases_by_region(tmp_path)
    assert (found[None].time.mean, found["solve"].time.mean) == (45.0, 32.0)
    assert found["solve"].stats["energy_pkg_j"].mean == 1500.0
    assert found["solve"].means_by_kind("freq_ghz") == {"P": 5.5}
    # What the run has and the region has not is not taken for the region's.
    assert found["solve"].stats["user_s"].n == 0
    assert found["solve"].stats["cache_misses"].n == 0
    assert found["solve"].circumstances.reasons["cache_misses"] == ["the solver has none"]
    assert found[None].stats["cache_misses"].n == 3


def test_a_region_that_was_not_measured_says_why(tmp_path: Path) -> None:
    run = with_regions(1, 1) | {"unavailable": {"regions.solve": "the program did not mark it"}}
    write(tmp_path, [run])
    solve = cases_by_region(tmp_path)["solve"]
    assert solve.time.n == 0
    for measure in ("energy_pkg_j", "migrations", "freq_mean_ghz"):
        assert solve.circumstances.reasons[measure] == ["the program did not mark it"]


@pytest.mark.parametrize(("cost_s", "is_told"), [(0.5, True), (0.4, False)])
def test_a_table_says_that_marks_took_much_of_its_time(
    tmp_path: Path, cost_s: float, is_told: bool
) -> None:
    # An execution takes a second, of which a mark is two hundredths.
    short = SOLVE | {"elapsed_s": 2.0, "mark_s": 0.02}
    marks = {"elapsed_s": 45.0, "region_marks": {"marks": 900, "cost_s": cost_s}}
    whole, solve = (
        " ".join(notes_of(table))
        for table in tables_from(
            tmp_path, [with_regions(1, at, solve=short) | marks for at in (1, 2)]
        )
    )
    too_short = "runs of a region that is too short (a mark takes more than 1 % of its time)"
    of_marks = "runs whose time includes marks of regions"
    assert (too_short in solve, too_short in whole) == (True, False)
    assert (of_marks in solve, of_marks in whole) == (False, is_told)


def test_a_run_with_two_records_is_one_however_many_regions_it_has(tmp_path: Path) -> None:
    for attempt in (1, 2):
        run = with_regions(1, 1, solve=SOLVE, assemble=SOLVE) | {"attempt": attempt}
        write(tmp_path, [run], attempt)
    (text,) = (note for note in open_results(str(tmp_path)).footnotes if "more than one" in note)
    assert text.startswith("more than one record of 1 run: ")


def test_a_verdict_compares_regions_with_the_same_region_of_the_baseline(tmp_path: Path) -> None:
    shares = {"unpinned": 0.6, "pcores-pin": 0.3}
    runs = Study({"unpinned": 1.0, "pcores-pin": 1.0}, repetitions=20).records()
    for run in runs:
        solve_s = run["elapsed_s"] * shares[run["mapping"]]
        run["regions"] = {"solve": SOLVE | {"elapsed_s": solve_s}}
    write(tmp_path, runs)
    by_region = {
        table.key.region: [
            case.comparisons["time"].outcome for case in table.cases if case.comparisons
        ]
        for table in analyze(open_results(str(tmp_path)), 0.01).tables
    }
    assert by_region == {None: ["equivalent"], "solve": ["better"]}


def test_runs_are_counted_once_however_many_regions_they_have(tmp_path: Path) -> None:
    runs = [with_regions(1, at, solve=SOLVE, assemble=SOLVE) for at in (1, 2, 3, 4)]
    write(tmp_path, runs)
    drift = analyze(open_results(str(tmp_path)), 0.01).drift
    assert drift is None or drift.over_time is None or drift.over_time.n == 4


@pytest.mark.parametrize(
    "regions",
    [
        "solve",
        ["solve"],
        {"solve": 3, "../../x": SOLVE, "": SOLVE, "a b": SOLVE},
        {"solve": {"elapsed_s": -1, "energy_pkg_j": 1e300, "unavailable": 7}},
        {"solve": {"elapsed_s": "NaN", "executions": 0, "mark_s": 1}},
        {"solve": {"status": "failed", "case_id": "other", "elapsed_s": 1e99}},
        {f"r{at}": SOLVE for at in range(1000)},
    ],
)
def test_hostile_regions_harm_nobody(tmp_path: Path, regions: object) -> None:
    write(tmp_path, [record(1, 1, regions=regions, unavailable={"regions.x": 3, "regions.": "y"})])
    found = cases_by_region(tmp_path)
    assert found[None].time.mean == 45.0
    assert len(found) <= 17
    assert all(
        case.time.n == 0 or case.time.mean == 30.0 for region, case in found.items() if region
    )
