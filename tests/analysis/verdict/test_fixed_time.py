"""Programs that run as long as they are told are not compared, and count for nobody else's test."""

from __future__ import annotations

from pathlib import Path

from analysis.verdict.text import as_text
from tests.support.results import Study, found, words

TIMES = {"scheduler": 1.0, "pcores-pin": 0.9}


def test_a_program_that_runs_as_long_as_it_is_told_is_not_compared(tmp_path: Path) -> None:
    fixed = [
        record | {"fixed_time": True, "app": "threadmap", "case_id": f"map{record['case_id']}"}
        for record in Study(TIMES).records()
    ]
    findings = found(tmp_path, [*Study(TIMES).records(), *fixed])

    compared, told = findings.tables
    assert compared.verdicts[0].answer == "pin"
    assert {verdict.answer for verdict in told.verdicts} == {"not compared"}
    assert "runs as long as it is told" in told.verdicts[0].sentences[0]
    assert all(not case.comparisons for case in told.cases)
    # Two of one comparison each would have been corrected for each other.
    assert findings.comparisons == 1
    assert "runs as long as it is told" in as_text(findings)


def test_a_time_that_is_told_and_not_taken_is_on_no_pareto_front(tmp_path: Path) -> None:
    records = [run | {"fixed_time": True} for run in Study(TIMES, TIMES).records()]
    findings = found(tmp_path, records)
    assert "Pareto front" not in as_text(findings)
    assert not any(case.on_front for case in findings.tables[0].cases)


def test_other_programs_are_compared_as_ever(tmp_path: Path) -> None:
    assert words(found(tmp_path, Study(TIMES))) == {"pcores-pin": "better"}
