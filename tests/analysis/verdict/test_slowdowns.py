"""What programs beside each other cost each other: from records to tables, verdict and report."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.format.table import render
from pinstudy.analysis.report.exclusions import missing, places_of
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.results.summaries import parse_summaries
from pinstudy.analysis.tables.means import make_tables
from pinstudy.analysis.verdict.data import as_data
from pinstudy.analysis.verdict_text.document import as_markdown
from pinstudy.analysis.verdict_text.tables import configuration_tables, slowdown_table
from tests.analysis.report.pages import html_of
from tests.support.in_memory import judged, results_of
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


def test_both_are_compared_with_themselves_alone_block_by_block() -> None:
    found = judged(runs())
    (beside,) = (case for case in found.tables[0].cases if case.slowdown)
    slowdown = beside.slowdown
    assert slowdown and slowdown.alone == 1
    for difference, ratio in (
        (slowdown.of_program, BESIDE_S / ALONE_S),
        (slowdown.of_co_runner, OTHER_BESIDE_S / OTHER_S),
    ):
        assert difference
        assert (difference.paired, difference.n) == (True, len(BLOCKS))
        # What a block has in common cancels out.
        assert difference.ratio == pytest.approx(ratio, rel=1e-3)
        interval = difference.interval()
        assert ratio in interval
        assert interval.half_width < 0.005
    table = slowdown_table(found.tables[0])
    assert table
    cells = cells_by_title(table)
    assert (cells["slowdown"], cells["co-runner's slowdown"]) == ("1.250", "1.500")
    assert (cells["# alone"], cells["co-runner"]) == ("1", NAME)
    (data,) = as_data(found)["tables"][0]["slowdowns"]
    assert data["slowdown_low"] < data["slowdown"] < data["slowdown_high"]


def test_the_cases_beside_another_are_compared_among_themselves_only() -> None:
    found = judged(runs())
    assert not any(case.comparisons for table in found.tables for case in table.cases)
    assert {decision.co_runner for decision in found.tables[0].decisions} == {None, NAME}
    alone, *_ = configuration_tables(found.tables[0], 0.01)
    assert alone.caption.startswith("lulesh, 1 thread, performance, no co-runner: ")
    # A co-runner alone is there to be compared with: no mapping is recommended for it.
    assert found.tables[1].decisions == ()
    assert "\n\n\n" not in as_markdown(found).partition("lu (serial), size small, 4 threads")[2]


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
def test_what_was_not_measured_has_a_reason(how: dict[str, bool], column: str, reason: str) -> None:
    table = slowdown_table(judged(runs(**how)).tables[0])
    assert table
    assert cells_by_title(table)[column] == "n/a (a)"
    assert dict(table.notes)["a"] == reason


def test_tables_have_times_and_ratios_and_csv_is_imported_again(tmp_path: Path) -> None:
    write(tmp_path, runs())
    first, second = make_tables(tmp_path)
    alone, beside = (cells_by_title(first, row) for row in (0, 1))
    assert (alone["co-runner"], beside["co-runner"]) == ("none", NAME)
    assert (alone["slowdown"], beside["slowdown"]) == ("-", "1.250")
    assert beside["its slowdown"] == "1.500"
    assert "energy is that of the packages, and so of both programs" in notes_of(first)
    assert "co-runner" not in cells_by_title(second)

    text = render([first, second], "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert float(rows[1]["slowdown"]) == pytest.approx(1.25, rel=1e-3)
    assert float(rows[1]["co_runner_slowdown"]) == pytest.approx(1.5, rel=1e-3)
    assert (rows[0]["co_runner"], rows[0]["slowdown"]) == ("", "")
    cases = parse_summaries(text, Path("summaries.csv"), "not there")
    (again,) = (case for case in cases if case.key.co_runner)
    assert (again.key.co_runner, again.key.co_runner_alone) == (NAME, "other")
    assert again.stats["co_runner_elapsed_s"].mean == pytest.approx(3.0, rel=0.01)
    assert "co_runner_elapsed_s" not in cases[0].circumstances.reasons

    page = html_of(open_results(str(tmp_path)))
    assert "what programs beside each other cost each other" in page
    assert f"beside {NAME}" in page


def test_an_unproved_co_runner_counts_as_a_lost_run() -> None:
    lost = {"co_runner_placement": {"verdict": "unproved"}}
    results = results_of(run | lost if "co_runner" in run else run for run in runs())
    found = analyze(results)
    lacking = "the placement of the co-runner in 10 runs", "table 1: #2", "see the tables' notes"
    assert lacking in missing(results, places_of(found), []).cells
    (beside,) = (case for case in found.tables[0].cases if case.slowdown)
    assert not beside.placed.usable
    assert beside.slowdown and beside.slowdown.of_program is None


def test_times_without_spread_have_slowdowns_without_intervals() -> None:
    steady = (run | {"elapsed_s": 50.0 if "co_runner" in run else 40.0} for run in runs())
    (slowdown,) = as_data(judged(steady))["tables"][0]["slowdowns"]
    assert slowdown["slowdown"] == pytest.approx(1.25)
    assert (slowdown["slowdown_low"], slowdown["slowdown_high"]) == (None, None)
