"""What others published is taken as it stands: numbers, units, directions, and what is missing."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pinstudy.analysis import published
from pinstudy.analysis.answer import analyze
from pinstudy.analysis.findings.answers import answers_of
from pinstudy.analysis.findings.levers import Lever
from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.analysis.overview.terminal import overviews_of
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.verdict.model import Findings
from pinstudy.base.errors import UserError
from tests.support.cli import pinstudy


def opened(name: str) -> tuple[Results, Findings]:
    results = open_results(f"published:{name}")
    return results, analyze(results)


def levers(name: str, factor: str) -> list[Lever]:
    return [lever for lever in answers_of(*opened(name)).levers if lever.factor == factor]


def case_of(results: Results, app: str, threads: int, mapping: str = "unpinned") -> Case:
    return next(
        case
        for case in results.cases
        if (case.key.table.app, case.key.table.threads, case.key.mapping) == (app, threads, mapping)
    )


@pytest.mark.parametrize("name", published.names())
def test_outcomes_need_deviations_and_only_unstated_ones_are_read_twice(name: str) -> None:
    results, findings = opened(name)
    text = (published.FOLDER / name / "summaries.csv").read_text(encoding="utf-8")
    has_deviations = "_sd" in text.splitlines()[0]
    # isopov-2024 has one mapping: it compares thread counts alone.
    assert bool(findings.comparisons) == (has_deviations and name != "isopov-2024")
    read_twice = any("standard errors" in note for note in findings.footnotes)
    assert read_twice == (name == "galante-2025")
    assert sum("published by" in note for note in findings.footnotes) == 1
    assert all(case.n for case in results.cases if name != "galante-2025")


def test_a_stated_interval_gives_the_deviation_of_its_runs_and_thread_counts_are_compared() -> None:
    # The page: 57.861 ± 1.329 and 31.279 ± 0.527 ms/op, 15 times, 99.9 %; t(0.9995, 14) = 4.1405.
    results, findings = opened("isopov-2024")
    one = case_of(results, "random-bytes", 1)
    assert (one.time.mean, one.time.n) == (0.057861, 15)
    assert one.time.sd == pytest.approx(1.329e-3 * math.sqrt(15) / 4.1405, rel=1e-4)
    two = next(lever for lever in levers("isopov-2024", "threads") if lever.level == 2)
    effect = two.pairs[0].effects[TIME]
    assert effect.ratio == pytest.approx(31.279 / 57.861)
    interval = effect.between()
    assert interval is not None and interval.low < effect.ratio < interval.high
    assert all(decision.best is None for table in findings.tables for decision in table.decisions)


def test_more_of_a_published_rate_is_better_and_runs_that_swing_decide_nothing() -> None:
    # The log: 4.5 8.8 4.6 4.6 5.8 8.8 and six times 8.3 tokens/s.
    _, findings = opened("notorch-2026")
    (table,) = (table for table in findings.tables if table.key.threads == 2)
    free, pinned, *_ = table.cases
    (rate,) = (name for name in table.objectives if name.unit == "tokens/s")
    assert rate.higher
    assert free.summary.stat(rate.field).mean == pytest.approx(37.1 / 6, abs=5e-4)
    comparison = pinned.comparisons[rate]
    assert comparison.difference.ratio == pytest.approx(8.3 * 6 / 37.1, rel=1e-4)
    assert comparison.outcome == "undecided"


def test_means_without_deviations_are_shown_as_a_change_and_conclude_nothing() -> None:
    # The book: 864 ms with OMP_PROC_BIND=true, 567 ms without.
    (lever,) = levers("bakhvalov-2024", "mapping")
    (pair,) = lever.pairs
    assert pair.effects[TIME].ratio == pytest.approx(864 / 567)
    assert pair.effects[TIME].between() is None
    _, findings = opened("bakhvalov-2024")
    assert all(decision.best is None for table in findings.tables for decision in table.decisions)


def test_where_no_time_is_given_the_grid_and_the_levers_are_of_what_is() -> None:
    # The file of 2024, ten threads: 3.0913408 free, 4.4221015 pinned.
    speedup = Objective("metric_speedup", "metric_speedup", "speedup", "", higher=True)
    pairs = [pair for lever in levers("dewolff-2024", "mapping") for pair in lever.pairs]
    (pair,) = (
        pair
        for pair in pairs
        if (pair.case.key.table.app, pair.case.key.table.threads) == ("sum-function", 10)
    )
    assert pair.effects[speedup].ratio == pytest.approx(4.4221015 / 3.0913408)
    assert pair.missing[TIME] == "not measured"
    (overview,) = overviews_of(opened("dewolff-2024")[1])
    assert overview.leading == [speedup] and overview.leading[0].higher


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("title: A\nremarks: [b]\nnode: {}\nsd: stated\n", "'sd' is not known"),
        ("remarks: [b]\nnode: {}\n", "title"),
        ("title: A: B\n", "mapping values are not allowed"),
    ],
)
def test_a_mistake_in_a_source_is_told_in_one_line_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, expected: str
) -> None:
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    (tmp_path / "some-2026").mkdir()
    (tmp_path / "some-2026/source.yaml").write_text(source, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        published.publication("some-2026")
    assert str(caught.value).startswith(f"{tmp_path}/some-2026/source.yaml: ")
    assert expected in str(caught.value) and "\n" not in str(caught.value)


def test_many_tables_and_figures_with_one_reason_take_one_line(tmp_path: Path) -> None:
    both = ("published:galante-2025", "published:isopov-2024")
    # 72 tables, of which ten are named.
    assert "only in B: 62 more" in pinstudy(tmp_path, "compare", *both, status=0).stdout
    of_book = ("figures", "published:bakhvalov-2024", "--only", "imbalance", "-o", "made")
    lines = pinstudy(tmp_path, *of_book, status=0).stdout.splitlines()
    (line,) = (line for line in lines if line.startswith("not drawn: "))
    assert " and 2 more (" in line
