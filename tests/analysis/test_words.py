"""The templates of findings: what a reader sees of them."""

from __future__ import annotations

from analysis.answer import analyze
from analysis.findings.answers import Answers, answers_of
from analysis.findings.best_cases import best_cases
from analysis.findings.effects import Cases
from analysis.findings.levers import levers_of
from analysis.findings.one_for_all import one_for_all
from analysis.format.table import render
from analysis.results.sources import Results, open_results
from analysis.words import answer_lines, levers_tables
from tests.analysis.findings.studies import Grid, changed

TWO = {"performance": 1.0, "powersave": 1.4}


def lines(cases: Cases) -> dict[str, list[str]]:
    none = Results("none", None, None, (), ())
    answers = Answers(levers_of(cases), one_for_all(cases), best_cases(none, cases))
    return dict(answer_lines(answers, cases.cases, margin=0.01))


def test_powersave_takes_45_percent_more_time_and_66_less_energy_for_serial_lulesh() -> None:
    results = open_results("published:galante-2025")
    tables = levers_tables(answers_of(results, analyze(results)).levers)
    text = render(tables, "text")
    _, governor = text.split("governor: powersave against performance")
    (row,) = [line for line in governor.splitlines() if line.startswith("lulesh serial, 1 thread")]
    assert row.split("scheduler")[1].split() == ["+45", "+45.1", "to", "+45.2", "-66", "-50"]


def test_what_a_lever_does_is_one_line_with_the_range_and_the_number_of_pairs() -> None:
    quiet = Grid({"unpinned": 1.0}, TWO, {"lu": 40.0, "ft": 3.0}, n=200).cases(1)
    assert lines(quiet)["Levers"] == [
        "governor powersave against performance: time +40 to +41 %; 2 pairs"
    ]


def test_pairs_that_are_not_compared_are_counted() -> None:
    grid = Grid({"unpinned": 1.0, "pinned": 0.5, "confined": 0.5}, n=200)
    found = lines(changed(grid.cases(2), "pinned", excluded={"timeout": 50}))["Levers"]
    assert found == ["mapping against unpinned: time -50 %; 1 of 2 pairs compared"]


def test_the_default_of_a_site_is_a_line_with_its_worst_and_its_mean_loss() -> None:
    grid = Grid({"unpinned": 1.0, "pinned": 0.5}, TWO, n=200)
    assert lines(grid.cases(3))["One for all"] == [
        "pinned: up to 0 % behind the best of each configuration (95 %: 0), 0 % on average"
    ]


def test_a_mapping_that_some_configurations_lack_says_in_how_many_it_was_compared() -> None:
    whole = Grid({"unpinned": 1.0, "pinned": 0.5}, {**TWO, "ondemand": 1.2}, n=200).cases(4)
    rows = [
        case for case in whole.cases
        if (case.key.governor, case.key.mapping) != ("ondemand", "unpinned")
    ]  # fmt: skip
    (line,) = lines(Cases(rows, whole.values, whole.baselines))["One for all"]
    assert line.endswith("0 % on average; compared in 2 of 3 (alone 1)")


def test_a_gain_within_the_margin_is_none() -> None:
    assert lines(Grid({"unpinned": 1.0, "pinned": 0.995}, TWO, n=200).cases(5))["Fastest"] == []


def test_the_best_case_says_what_cannot_be_told_from_it() -> None:
    grid = Grid({"unpinned": 1.0, "pinned": 0.5, "confined": 0.5}, n=50)
    (line,) = lines(grid.cases(6))["Fastest"]
    assert line.startswith("1 thread, ")
    assert line.endswith("against 1 thread, unpinned; not shown to be worse: 1 case")
