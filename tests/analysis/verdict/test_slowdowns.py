"""What programs beside each other cost each other: from records to tables, verdict and report."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from analysis.answer import Answer, analyze
from analysis.format.styles import render
from analysis.report.exclusions import missing, places_of
from analysis.results.sources import open_results
from analysis.results.summaries import parse_summaries
from analysis.tables.means import make_tables
from analysis.verdict.data import as_data
from analysis.verdict_text.costs import slowdown_table
from analysis.verdict_text.document import as_markdown, as_text
from tests.analysis.report.pages import html_of
from tests.support.results import cells_by_title, notes_of, record, without, write

NAME = "lu-libgomp small x4 ecores-pin"
NOT_ENDED = "the co-runner did not end once in this run"
# Seconds of the program alone and beside the other, of that alone and beside the program: exactly
# so many times as long in each block.
ALONE_S, BESIDE_S, OTHER_S, OTHER_BESIDE_S = 40.0, 50.0, 2.0, 3.0
# What a block has in common.
BLOCKS = [1.0, 1.01, 0.99, 1.02, 1.0, 0.98, 1.03, 1.0, 0.97, 1.01]


def runs(*, ends: bool = True, nothing: bool = True) -> list[dict[str, Any]]:
    """Return ten blocks of three cases: a program alone, beside the other, and that alone."""
    made = []
    for repetition, common in enumerate(BLOCKS, 1):
        # A little spread, the same in both directions.
        noise = 1 + 0.002 * (-1) ** repetition
        order = {"order": 3 * repetition}
        if nothing:
            made.append(record(1, repetition, **order, elapsed_s=ALONE_S * common))
        of_other = {
            "co_runner_elapsed_s": OTHER_BESIDE_S * common * noise,
            "co_runner_rate_hz": 0.3,
        }
        beside: dict[str, Any] = {
            "case_id": "beside",
            "case_number": 2,
            "mapping": "unpinned",
            "co_runner": NAME,
            "co_runner_cpus": "8-11",
            "co_runner_alone": "other",
            "co_runner_completed": 15 if ends else 0,
            "co_runner_placement": {"verdict": "proved"},
            "elapsed_s": BESIDE_S * common * noise,
            "order": 3 * repetition + 1,
        }
        if ends:
            made.append(record(2, repetition, **beside, **of_other))
        else:
            made.append(without(of_other, NOT_ENDED, number=2, repetition=repetition, **beside))
        other = {"case_id": "other", "table_number": 2, "app": "lu", "size": "small", "threads": 4}
        other |= {"mapping": "ecores-pin", "case_number": 1, "order": 3 * repetition + 2}
        made.append(record(1, repetition, **other, elapsed_s=OTHER_S * common))
    return made


def answer(folder: Path, **how: bool) -> Answer:
    write(folder, runs(**how))
    return analyze(open_results(str(folder)))


def row_of_co_runner(found: Answer) -> dict[str, str]:
    table = slowdown_table(found.tables[0])
    assert table
    return cells_by_title(table)


def test_a_co_runner_that_ran_alone_has_its_numbers_and_no_verdict(tmp_path: Path) -> None:
    found = answer(tmp_path)
    for text in (as_text(found), as_markdown(found)):
        behind = text.partition("lu (serial), size small, 4 threads")[2]
        assert "\n\n\n" not in behind


def test_both_are_compared_with_themselves_alone_block_by_block(tmp_path: Path) -> None:
    found = answer(tmp_path)
    (beside,) = (case for case in found.tables[0].cases if case.slowdown)
    slowdown = beside.slowdown
    assert slowdown
    assert slowdown.alone == 1
    for difference, ratio in (
        (slowdown.of_program, BESIDE_S / ALONE_S),
        (slowdown.of_co_runner, OTHER_BESIDE_S / OTHER_S),
    ):
        assert difference
        assert difference.paired
        assert difference.n == len(BLOCKS)
        # What a block has in common cancels out.
        assert difference.ratio == pytest.approx(ratio, rel=1e-3)
        interval = difference.interval()
        assert ratio in interval
        assert interval.half_width < 0.005
    cells = row_of_co_runner(found)
    assert (cells["slowdown"], cells["co-runner's slowdown"]) == ("1.250", "1.500")
    assert (cells["# alone"], cells["co-runner"]) == ("1", NAME)


def test_the_verdict_has_the_table_of_both(tmp_path: Path) -> None:
    found = answer(tmp_path)
    assert "what programs beside each other cost each other" in as_markdown(found)
    row = row_of_co_runner(found)
    assert (row["slowdown"], row["co-runner's slowdown"]) == ("1.250", "1.500")
    assert row["# alone"] == "1"


def test_the_cases_beside_another_are_compared_among_themselves_only(tmp_path: Path) -> None:
    found = answer(tmp_path)
    assert not any(case.comparisons for table in found.tables for case in table.cases)
    configurations = {(of.governor, of.co_runner) for of in found.tables[0].decisions}
    assert configurations == {("performance", None), ("performance", NAME)}
    # A co-runner alone is there to be compared with: no mapping is recommended for it.
    assert found.tables[1].decisions == ()


@pytest.mark.parametrize(
    ("how", "column", "reason"),
    [
        ({"ends": False}, "co-runner's slowdown", f"not measured in 10 runs: {NOT_ENDED}"),
        (
            {"nothing": False},
            "slowdown",
            "not measured: the study has no case of it with nothing beside it",
        ),
    ],
)
def test_what_is_not_measured_has_its_reason(
    tmp_path: Path, how: dict[str, bool], column: str, reason: str
) -> None:
    found = answer(tmp_path, **how)
    assert row_of_co_runner(found)[column] == "n/a (a)"
    table = slowdown_table(found.tables[0])
    assert table
    assert dict(table.notes)["a"] == reason
    assert reason in " ".join(as_text(found).split())


def test_tables_have_the_times_and_ratios_of_means_and_say_whose_energy_it_is(
    tmp_path: Path,
) -> None:
    write(tmp_path, runs())
    first, second = make_tables(tmp_path)
    alone, beside = (cells_by_title(first, row) for row in (0, 1))
    assert (alone["co-runner"], beside["co-runner"]) == ("none", NAME)
    assert (alone["slowdown"], beside["slowdown"]) == ("-", "1.250")
    assert beside["its slowdown"] == "1.500"
    assert "energy is that of the packages, and so of both programs" in notes_of(first)
    assert "co-runner" not in cells_by_title(second)
    rows = list(csv.DictReader(io.StringIO(render([first, second], "csv"))))
    assert float(rows[1]["slowdown"]) == pytest.approx(1.25, rel=1e-3)
    assert float(rows[1]["co_runner_slowdown"]) == pytest.approx(1.5, rel=1e-3)
    assert float(rows[1]["co_runner_elapsed_mean_s"]) == pytest.approx(3.0, rel=0.01)
    assert rows[1]["co_runner_alone"] == "other"
    assert (rows[0]["co_runner"], rows[0]["slowdown"]) == ("", "")


def test_what_tables_csv_says_can_be_imported_again(tmp_path: Path) -> None:
    write(tmp_path, runs())
    text = render(make_tables(tmp_path), "csv")
    cases = parse_summaries(text, Path("summaries.csv"), "not there")
    (beside,) = (case for case in cases if case.key.co_runner)
    assert (beside.key.co_runner, beside.key.co_runner_alone) == (NAME, "other")
    assert beside.stats["co_runner_elapsed_s"].mean == pytest.approx(3.0, rel=0.01)
    assert "co_runner_elapsed_s" not in cases[0].circumstances.reasons


def test_an_unproved_co_runner_counts_as_a_lost_run(tmp_path: Path) -> None:
    lost = {"co_runner_placement": {"verdict": "unproved"}}
    write(tmp_path, [run | lost if "co_runner" in run else run for run in runs()])
    (first, _) = make_tables(tmp_path)
    assert any("placement of the co-runner proved in 0 of 10 runs" in n for n in notes_of(first))
    results = open_results(str(tmp_path))
    found = analyze(results)
    lacking = "the placement of the co-runner in 10 runs", "table 1: #2", "see the tables' notes"
    assert lacking in missing(results, places_of(found), []).cells
    (beside,) = (case for case in found.tables[0].cases if case.slowdown)
    assert not beside.placed.usable
    assert beside.slowdown
    assert beside.slowdown.of_program is None


def test_data_and_report_have_the_slowdowns(tmp_path: Path) -> None:
    found = answer(tmp_path)
    (slowdown,) = as_data(found)["tables"][0]["slowdowns"]
    assert slowdown["co_runner"] == NAME
    assert slowdown["slowdown"] == pytest.approx(1.25, rel=1e-3)
    assert slowdown["slowdown_low"] < 1.25 < slowdown["slowdown_high"]
    page = html_of(open_results(str(tmp_path)))
    assert "what programs beside each other cost each other" in page
    assert f"beside {NAME}" in page


def test_times_without_spread_have_slowdowns_without_intervals(tmp_path: Path) -> None:
    write(tmp_path, [run | {"elapsed_s": 50.0 if "co_runner" in run else 40.0} for run in runs()])
    (slowdown,) = as_data(analyze(open_results(str(tmp_path))))["tables"][0]["slowdowns"]
    assert slowdown["slowdown"] == pytest.approx(1.25)
    assert (slowdown["slowdown_low"], slowdown["slowdown_high"]) == (None, None)
