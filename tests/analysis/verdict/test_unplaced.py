"""A case that lost many runs to placement is not compared, and never the answer."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import pytest

from analysis.compare.side_by_side import compare
from analysis.compare.tables import compare_tables
from analysis.results.sources import open_results
from analysis.tables.means import make_tables, render
from analysis.verdict.data import as_data
from analysis.verdict_text.configurations import configuration_tables
from analysis.verdict_text.document import as_text
from analysis.words.verdict import program_notes
from tests.analysis.report.pages import html_of
from tests.support.results import (
    UNPROVED,
    VIOLATED,
    Record,
    Study,
    case_of,
    caveats,
    decision,
    findings_of,
    lacking,
    left_out,
    only_table,
    spoilt,
    timed,
    words,
    write,
)

FASTER = {"unpinned": 1.0, "pcores-set": 1.05, "pcores-pin": 0.4}
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
    time = decision(findings)
    assert (time.choice, time.best) == ("leave", case_of(findings, "unpinned"))
    (lost,) = time.lacking
    assert (lost.code, lost.cases) == ("lost too many", (case_of(findings, "pcores-pin").case_id,))
    cause = "placement-violated" if fields is VIOLATED else "not provable"
    assert lost.facts == {"lost": 3, "runs": 20, "by_cause": {cause: 3}}
    assert not case_of(findings, "pcores-pin").on_front


@EITHER
def test_a_case_that_lost_a_tenth_is_compared_with_a_note(tmp_path: Path, fields: Record) -> None:
    findings = findings_of(tmp_path, pinned((4, 9), fields))
    assert decision(findings).best == case_of(findings, "pcores-pin")
    assert case_of(findings, "pcores-pin").placed.proved == 18
    cause = "placement-violated" if fields is VIOLATED else "not provable"
    assert caveats(findings)["lost runs"] == {"by_cause": {cause: 2}}
    # Runs of which it is not provable are averaged.
    assert case_of(findings, "pcores-pin").summary.n == (20 if fields is UNPROVED else 18)


def test_each_case_that_lost_its_runs_has_its_count(tmp_path: Path) -> None:
    records = spoilt(spoilt(STUDY, "pcores-pin", **UNPROVED), "pcores-set", **UNPROVED)
    findings = findings_of(tmp_path, records)
    for mapping in ("pcores-set", "pcores-pin"):
        lost = caveats(findings, mapping)["lost too many"]
        assert (lost["lost"], lost["runs"]) == (20, 20)


def test_an_unproved_run_never_carries_a_recommendation_alone(tmp_path: Path) -> None:
    # Of a program that ignores its places only those runs are good that were too short to tell.
    violated = pinned(range(1, 16), VIOLATED)
    findings = findings_of(tmp_path, spoilt(violated, "pcores-pin", range(16, 21), **UNPROVED))
    assert decision(findings).best == case_of(findings, "unpinned")
    assert caveats(findings)["lost too many"]["by_cause"] == {
        "placement-violated": 15, "not provable": 5,
    }  # fmt: skip
    assert "not compared: 20 of 20 runs lost, more than a tenth" in as_text(findings, 10_000)


def test_the_pareto_front_says_nothing_of_a_case_that_is_not_compared(tmp_path: Path) -> None:
    # The case whose placement is not proved would beat all others in both.
    records = spoilt(Study(FASTER, FASTER), "pcores-pin", **UNPROVED)
    table = only_table(findings_of(tmp_path, records))
    assert [case.mapping for case in table.cases if case.on_front] == ["unpinned"]
    assert list(program_notes(table)) == [
        "Pareto front of time and energy, by the means of 2 cases: #1 unpinned (performance)"
    ]


def test_without_a_baseline_in_its_place_there_is_no_answer(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, spoilt(STUDY, "unpinned", range(11, 21), **UNPROVED))
    time = decision(findings)
    assert (time.choice, time.best) == ("not compared", None)
    assert [caveat.code for caveat in time.lacking] == ["lost too many", "no use of the baseline"]
    assert time.lacking[0].facts["by_cause"] == {"not provable": 10}
    data = as_data(findings)["tables"][0]["comparisons"][0]
    assert (data["runs_proved"], data["placement_usable"]) == (10, False)


def test_what_was_lost_to_placement_is_no_lack_of_runs(tmp_path: Path) -> None:
    # The one other case that ran is not compared; a third could not be run at all.
    records = pinned(range(11, 21), UNPROVED)
    ran = [run for run in records if run["mapping"] != "pcores-set"]
    missing = left_out(4, "no E-cores here") | {"threads": 8, "build": "libgomp"}
    assert lacking(findings_of(tmp_path, [*ran, missing])) == ["lost too many"]


def test_a_case_that_is_not_compared_has_no_ratio_of_means(tmp_path: Path) -> None:
    records = spoilt(Study(FASTER, repetitions=1), "pcores-pin", **UNPROVED)
    findings = findings_of(tmp_path, records)
    (times, *_) = configuration_tables(only_table(findings), 0.01)
    changes = {row[0]: row[4] for row in times.cells}
    assert float(changes["pcores-set"]) == pytest.approx(5, abs=1)
    assert changes["pcores-pin"] == "-"
    rows = {row["mapping"]: row for row in as_data(findings)["tables"][0]["comparisons"]}
    assert rows["pcores-set"]["time_mean_ratio"] == pytest.approx(1.05, abs=0.01)
    assert "time_mean_ratio" not in rows["pcores-pin"]


def test_tables_report_and_comparison_note_it_too(tmp_path: Path) -> None:
    write(tmp_path / "a", pinned(range(1, 6), VIOLATED))
    write(tmp_path / "b", STUDY.records())
    shown = render(make_tables(tmp_path / "a"), "text")
    assert "#3: not compared, nor to be recommended: 5 of 20 runs violated the placement" in shown
    results = open_results(str(tmp_path / "a"))
    page = html_of(results)
    assert "not compared: 5 of 20 runs lost, more than a tenth" in page
    both = compare(results, open_results(str(tmp_path / "b")))
    (pair,) = (pair for pair in both.pairs if pair.objective == "time")
    row = next(row for row in pair.rows if row.case.mapping == "pcores-pin")
    assert (row.agreement, row.direct, row.a and row.a.ratio) == ("not compared", None, None)
    note = "A: not compared: 5 of 20 runs lost, more than a tenth"
    assert note in render(compare_tables(both), "text")


def test_the_answer_notes_that_imported_runs_were_not_sampled(tmp_path: Path) -> None:
    imported = {"imported": {"file": "x"}, **UNPROVED}
    findings = findings_of(tmp_path, [run | imported for run in Study(FASTER).records()])
    assert words(findings)["pcores-pin"] == "better"
    assert caveats(findings)["placement not looked at"] == {"runs": 10}
