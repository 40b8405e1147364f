"""What tables and reports are timed on is a study whose mappings are compared."""

from __future__ import annotations

from pathlib import Path

from analysis.answer import analyze
from analysis.results.sources import open_results
from benchmarks.tables_speed import MAPPINGS, write_records


def test_every_case_of_the_made_up_study_is_compared_and_decided(tmp_path: Path) -> None:
    write_records(tmp_path, 100, 10)
    (table,) = analyze(open_results(str(tmp_path))).tables
    outcomes = [
        (case.mapping, case.governor, str(objective), comparison.outcome)
        for case in table.cases
        for objective, comparison in case.comparisons.items()
    ]
    baseline, *others = MAPPINGS
    assert sorted(outcomes) == sorted(
        (mapping, governor, objective, "worse")
        for mapping in others
        for governor in ("performance", "powersave")
        for objective in ("time", "energy", "edp")
    )
    assert {case.mapping for case in table.cases if case.is_baseline} == {baseline}
