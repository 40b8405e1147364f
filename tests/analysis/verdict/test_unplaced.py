"""A case that lost many runs to placement is not compared, and never the answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.answer import find
from analysis.compare.side_by_side import compare
from analysis.compare.tables import compare_tables
from analysis.report.page import report_html
from analysis.results.sources import open_results
from analysis.tables.means import make_tables, render
from analysis.verdict.model import CaseFinding, Findings
from analysis.verdict.text import as_data, as_text, verdict_lines
from tests.support.results import Study, found, left_out, only_table, verdict, words, write

FASTER = {"scheduler": 1.0, "pcores-set": 1.05, "pcores-pin": 0.4}
VIOLATED = {"status": "placement-violated", "reason": "thread 7 was allowed CPU 0-1"}
UNPROVED = {"placement": {"verdict": "unproved"}, "unavailable": {"placement": "3 looks"}}

Records = list[dict[str, Any]]


def spoiled(
    mapping: str, which: Callable[[int], bool], fields: dict[str, Any], repetitions: int = 20
) -> Records:
    """Return a study's records in which some repetitions of a mapping have other fields."""
    made = Study(FASTER, repetitions=repetitions).records()
    return [
        run | fields if run["mapping"] == mapping and which(run["repetition"]) else run
        for run in made
    ]


def case(findings: Findings, mapping: str) -> CaseFinding:
    return next(c for c in only_table(findings).cases if c.mapping == mapping)


@pytest.mark.parametrize("fields", [VIOLATED, UNPROVED])
@pytest.mark.parametrize("slow", [True, False])
def test_a_case_that_lost_more_than_a_tenth_is_not_compared_however_fast_its_runs_were(
    tmp_path: Path, fields: dict[str, Any], slow: bool
) -> None:
    records = spoiled("pcores-pin", lambda repetition: repetition <= 3, fields)
    for run in records:
        if run["mapping"] == "pcores-pin" and run["repetition"] <= 3:
            run["elapsed_s"] *= 2 if slow else 0.001
    findings = found(tmp_path, records)
    assert words(findings) == {"pcores-set": "worse"}
    time = verdict(findings)
    assert (time.answer, time.best) == ("leave", case(findings, "scheduler"))
    lost = "violated in 3" if fields is VIOLATED else "3 not provable"
    assert time.sentences[-1].startswith(
        f"Not compared: #3 pcores-pin (placement proved in 17 of 20 runs, {lost})."
    )
    assert "1 of 3 cases is not compared" in findings.headline[-1]
    assert not case(findings, "pcores-pin").on_front


@pytest.mark.parametrize("fields", [VIOLATED, UNPROVED])
def test_a_case_that_lost_a_tenth_is_compared_and_the_answer_says_so(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    findings = found(tmp_path, spoiled("pcores-pin", lambda it: it in (4, 9), fields))
    time = verdict(findings)
    assert time.best == case(findings, "pcores-pin")
    said = " ".join(time.sentences)
    assert "#3 pcores-pin (placement proved in 18 of 20 runs, " in said
    assert ("2 not provable); runs of which it is not provable are averaged" in said) == (
        fields is UNPROVED
    )


def test_the_headline_counts_what_was_lost(tmp_path: Path) -> None:
    records = [
        run | (UNPROVED if run["mapping"] != "scheduler" else {}) for run in Study(FASTER).records()
    ]
    assert found(tmp_path, records).headline[-1] == (
        "2 of 3 cases are not compared: more than a tenth of their runs were lost to placement."
    )


def test_an_unproved_run_never_carries_a_recommendation_alone(tmp_path: Path) -> None:
    # Of a program that ignores its places only those runs are good that were too short to tell.
    records = spoiled("pcores-pin", lambda it: it <= 15, VIOLATED)
    for run in records:
        if run["mapping"] == "pcores-pin" and run["repetition"] > 15:
            run.update(UNPROVED)
    findings = found(tmp_path, records)
    assert verdict(findings).best == case(findings, "scheduler")
    assert "0 of 20 runs, 5 not provable, violated in 15" in as_text(findings, 10_000)


def test_the_pareto_front_says_nothing_of_a_case_that_is_not_compared(tmp_path: Path) -> None:
    # The case whose placement is not proved would beat all others in both.
    records = Study(FASTER, FASTER).records()
    spoilt = [run | (UNPROVED if run["mapping"] == "pcores-pin" else {}) for run in records]
    lines = verdict_lines(only_table(found(tmp_path, spoilt)))
    assert "of 2 cases with both, none is as good as one of these" in lines[-1]
    assert lines[-1].endswith("(Pareto front): #1 scheduler (performance).")


def test_without_a_baseline_in_its_place_there_is_no_answer(tmp_path: Path) -> None:
    findings = found(tmp_path, spoiled("scheduler", lambda it: it > 10, UNPROVED))
    time = verdict(findings)
    assert (time.answer, time.best) == ("not compared", None)
    assert "#1 scheduler (placement proved in 10 of 20 runs, 10 not provable)" in time.sentences[0]
    data = as_data(findings)["tables"][0]["comparisons"][0]
    assert (data["runs_proved"], data["placement_usable"]) == (10, False)


def test_what_was_lost_to_placement_is_no_lack_of_runs(tmp_path: Path) -> None:
    # The one other case that ran is not compared; a third could not be run at all.
    records = [
        run for run in spoiled("pcores-pin", lambda it: it > 10, UNPROVED)
        if run["mapping"] != "pcores-set"
    ]  # fmt: skip
    missing = left_out(4, "no E-cores here") | {"threads": 8, "variant": "libgomp"}
    (said,) = verdict(found(tmp_path, [*records, missing])).sentences
    assert said.startswith("Not compared: #3 pcores-pin (placement proved in 10 of 20 runs")


def test_no_means_speak_for_a_case_that_is_not_compared(tmp_path: Path) -> None:
    records = spoiled("pcores-pin", lambda it: it == 1, UNPROVED, repetitions=1)
    said = verdict(found(tmp_path, records)).sentences
    assert "pcores-set 5" in said[0]
    of_means = said[0].partition("by the means alone")[2].partition(".")[0]
    assert "pcores-pin" not in of_means


def test_tables_report_and_two_results_side_by_side_say_it_too(tmp_path: Path) -> None:
    write(tmp_path / "a", spoiled("pcores-pin", lambda it: it <= 5, VIOLATED))
    write(tmp_path / "b", Study(FASTER, repetitions=20).records())
    shown = render(make_tables(tmp_path / "a"), "text")
    assert "#3: not compared, nor to be recommended: placement proved in 15 of 20 runs" in shown
    results = open_results(str(tmp_path / "a"))
    page = report_html(results, find(results))
    assert page.count("#3 pcores-pin (placement proved in 15 of 20 runs, violated in 5)") >= 1
    both = compare(open_results(str(tmp_path / "a")), open_results(str(tmp_path / "b")))
    (pair,) = (pair for pair in both.pairs if pair.objective == "time")
    pinned = next(row for row in pair.rows if row.case.mapping == "pcores-pin")
    assert (pinned.agreement, pinned.direct) == ("not compared", None)
    assert pinned.a is not None
    assert pinned.a.ratio is None
    assert "A: Not compared: #3 pcores-pin (" in render(compare_tables(both), "text")


def test_of_logs_nobody_looked_which_the_answer_says(tmp_path: Path) -> None:
    imported = {"imported": {"file": "x"}, **UNPROVED}
    records = [run | imported for run in Study(FASTER).records()]
    findings = found(tmp_path, records)
    assert words(findings)["pcores-pin"] == "better"
    said = " ".join(verdict(findings).sentences)
    assert "#3 pcores-pin (placement not looked at in 10 runs)" in said
