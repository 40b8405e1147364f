"""A case that lost many runs to placement is not compared, and never the answer."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import pytest

from analysis.compare.side_by_side import compare
from analysis.compare.tables import compare_tables
from analysis.results.sources import open_results
from analysis.tables.means import make_tables, render
from analysis.verdict.text import as_data, as_text, verdict_lines
from tests.analysis.report.pages import html_of
from tests.support.results import (
    UNPROVED,
    VIOLATED,
    Record,
    Study,
    case_of,
    findings_of,
    left_out,
    only_table,
    spoilt,
    text_of,
    timed,
    verdict,
    words,
    write,
)

FASTER = {"scheduler": 1.0, "pcores-set": 1.05, "pcores-pin": 0.4}
STUDY = Study(FASTER, repetitions=20)
EITHER = pytest.mark.parametrize("fields", [VIOLATED, UNPROVED], ids=["violated", "unproved"])


def pinned(repetitions: Container[int], fields: Record) -> list[Record]:
    return spoilt(STUDY, "pcores-pin", repetitions, **fields)


@EITHER
@pytest.mark.parametrize("factor", [2, 0.001], ids=["slow", "fast"])
def test_a_case_that_lost_more_than_a_tenth_is_not_compared_however_fast_its_runs_were(
    tmp_path: Path, fields: Record, factor: float
) -> None:
    def elapsed_s(run: Record) -> float:
        lost = run["mapping"] == "pcores-pin" and run["repetition"] <= 3
        return float(run["elapsed_s"] * (factor if lost else 1))

    findings = findings_of(tmp_path, timed(pinned((1, 2, 3), fields), elapsed_s))
    assert words(findings) == {"pcores-set": "worse"}
    time = verdict(findings)
    assert (time.answer, time.best) == ("leave", case_of(findings, "scheduler"))
    lost = "violated the placement" if fields is VIOLATED else "lacked a proof of the placement"
    assert time.sentences[-1].startswith(f"Not compared: 3 of 20 runs of #3 pcores-pin {lost}. ")
    assert "1 of 3 cases is not compared" in findings.headline[-1]
    assert not case_of(findings, "pcores-pin").on_front


@EITHER
def test_a_case_that_lost_a_tenth_is_compared_with_a_note(tmp_path: Path, fields: Record) -> None:
    findings = findings_of(tmp_path, pinned((4, 9), fields))
    assert verdict(findings).best == case_of(findings, "pcores-pin")
    text = text_of(findings)
    assert "#3 pcores-pin (placement proved in 18 of 20 runs, " in text
    assert ("2 not provable); runs of which it is not provable are averaged" in text) == (
        fields is UNPROVED
    )


def test_the_headline_counts_what_was_lost(tmp_path: Path) -> None:
    records = spoilt(spoilt(STUDY, "pcores-pin", **UNPROVED), "pcores-set", **UNPROVED)
    assert findings_of(tmp_path, records).headline[-1] == (
        "2 of 3 cases are not compared, because more than a tenth of their runs were lost: 20 of "
        "20 runs of #2 pcores-set lacked a proof of the placement and 20 of 20 runs of #3 "
        "pcores-pin lacked a proof of the placement."
    )


def test_an_unproved_run_never_carries_a_recommendation_alone(tmp_path: Path) -> None:
    # Of a program that ignores its places only those runs are good that were too short to tell.
    violated = pinned(range(1, 16), VIOLATED)
    findings = findings_of(tmp_path, spoilt(violated, "pcores-pin", range(16, 21), **UNPROVED))
    assert verdict(findings).best == case_of(findings, "scheduler")
    assert (
        "20 of 20 runs of #3 pcores-pin were lost: 15 violated the placement, 5 lacked a proof"
        in as_text(findings, 10_000)
    )


def test_the_pareto_front_says_nothing_of_a_case_that_is_not_compared(tmp_path: Path) -> None:
    # The case whose placement is not proved would beat all others in both.
    records = spoilt(Study(FASTER, FASTER), "pcores-pin", **UNPROVED)
    lines = verdict_lines(only_table(findings_of(tmp_path, records)))
    assert "of 2 cases with both, none is as good as one of these" in lines[-1]
    assert lines[-1].endswith("(Pareto front): #1 scheduler (performance).")


def test_without_a_baseline_in_its_place_there_is_no_answer(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, spoilt(STUDY, "scheduler", range(11, 21), **UNPROVED))
    time = verdict(findings)
    assert (time.answer, time.best) == ("not compared", None)
    assert "10 of 20 runs of #1 scheduler lacked a proof of the placement" in time.sentences[0]
    data = as_data(findings)["tables"][0]["comparisons"][0]
    assert (data["runs_proved"], data["placement_usable"]) == (10, False)


def test_what_was_lost_to_placement_is_no_lack_of_runs(tmp_path: Path) -> None:
    # The one other case that ran is not compared; a third could not be run at all.
    records = pinned(range(11, 21), UNPROVED)
    ran = [run for run in records if run["mapping"] != "pcores-set"]
    missing = left_out(4, "no E-cores here") | {"threads": 8, "variant": "libgomp"}
    (text,) = verdict(findings_of(tmp_path, [*ran, missing])).sentences
    assert text.startswith("Not compared: 10 of 20 runs of #3 pcores-pin lacked a proof of the")


def test_a_case_that_is_not_compared_has_no_ratio_of_means(tmp_path: Path) -> None:
    records = spoilt(Study(FASTER, repetitions=1), "pcores-pin", **UNPROVED)
    sentences = verdict(findings_of(tmp_path, records)).sentences
    assert "pcores-set 5" in sentences[0]
    of_means = sentences[0].partition("by the means alone")[2].partition(".")[0]
    assert "pcores-pin" not in of_means


def test_tables_report_and_comparison_note_it_too(tmp_path: Path) -> None:
    write(tmp_path / "a", pinned(range(1, 6), VIOLATED))
    write(tmp_path / "b", STUDY.records())
    shown = render(make_tables(tmp_path / "a"), "text")
    assert "#3: not compared, nor to be recommended: 5 of 20 runs violated the placement" in shown
    results = open_results(str(tmp_path / "a"))
    page = html_of(results)
    assert "5 of 20 runs of #3 pcores-pin violated the placement" in page
    both = compare(results, open_results(str(tmp_path / "b")))
    (pair,) = (pair for pair in both.pairs if pair.objective == "time")
    row = next(row for row in pair.rows if row.case.mapping == "pcores-pin")
    assert (row.agreement, row.direct, row.a and row.a.ratio) == ("not compared", None, None)
    note = "A: not compared: lost 5 of 20 runs (5 placement-violated)"
    assert note in render(compare_tables(both), "text")


def test_the_answer_notes_that_imported_runs_were_not_sampled(tmp_path: Path) -> None:
    imported = {"imported": {"file": "x"}, **UNPROVED}
    findings = findings_of(tmp_path, [run | imported for run in Study(FASTER).records()])
    assert words(findings)["pcores-pin"] == "better"
    assert "#3 pcores-pin (placement not looked at in 10 runs)" in text_of(findings)
