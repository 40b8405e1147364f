"""Cases that start in another way are compared with that said in the sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.compare.side_by_side import compare
from analysis.compare.tables import compare_tables
from analysis.results.sources import open_results
from analysis.tables.means import render
from analysis.verdict.text import verdict_lines
from tests.support.results import Study, found, only_table, verdict, write

LIKWID: dict[str, Any] = {"mechanism": "likwid-pin"}
CLAUSE = "likwid-pin is loaded into it, and what that does at start and for each thread is in the n"


def study(pinned: float, mechanism: str = "likwid-pin") -> Study:
    times = {"scheduler": 1.0, "pcores-set": 1.0, "pcores-pin": pinned}
    beside = {"pcores-set": {"mechanism": "taskset"}, "pcores-pin": {"mechanism": mechanism}}
    return Study(times, beside=beside)


def test_the_sentence_that_recommends_and_the_headline_carry_it(tmp_path: Path) -> None:
    findings = found(tmp_path, study(0.9))
    assert f"pairs of runs; {CLAUSE}" in verdict(findings).sentences[0]
    assert CLAUSE in findings.headline[1]


@pytest.mark.parametrize("pinned", [0.9, 1.0, 1.1])
def test_whatever_the_answer_is_it_is_said(tmp_path: Path, pinned: float) -> None:
    said = " ".join(verdict_lines(only_table(found(tmp_path, study(pinned)))))
    assert "Between #1 scheduler and #3 pcores-pin the start differs as well: likwid-pin" in said


@pytest.mark.parametrize("mechanism", ["omp-places", "taskset", "numactl", "program"])
def test_what_has_ended_before_the_program_starts_is_no_difference(
    tmp_path: Path, mechanism: str
) -> None:
    findings = found(tmp_path, study(0.9, mechanism))
    told = " ".join([*verdict_lines(only_table(findings)), *findings.headline])
    assert "is loaded into" not in told


def test_two_results_of_which_one_was_pinned_by_it_say_so(tmp_path: Path) -> None:
    write(tmp_path / "a", study(0.9, "omp-places").records())
    write(tmp_path / "b", study(0.9).records())
    both = compare(open_results(str(tmp_path / "a")), open_results(str(tmp_path / "b")))
    shown = render(compare_tables(both), "text")
    assert "B: Between #1 scheduler and #3 pcores-pin the start differs as well" in shown
    assert "A: Between" not in shown
    assert f"#3 pcores-pin, B against A: {CLAUSE}" in shown
