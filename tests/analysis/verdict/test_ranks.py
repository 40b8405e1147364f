"""Verdicts on MPI ranks: what to do with each rank, and that numbers of ranks are not mixed."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.results.baselines import baselines_of
from analysis.results.sources import open_results
from analysis.verdict.model import Findings
from analysis.verdict_text.document import as_text
from analysis.words.verdict import decision, decision_lines
from tests.support.results import TWO_THREADS, findings_of, spoilt, write


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return findings_of(tmp_path_factory.mktemp("ranks"), TWO_THREADS.records())


def test_the_verdict_says_for_each_number_of_ranks_what_to_do(findings: Findings) -> None:
    firsts = [decision(table.decisions[0]) for table in findings.tables]

    assert firsts == [
        "pin each thread of the rank on the P-cores (pcores-pin)",
        "pin each rank to a CPU of the P-cores, divided among the ranks in order (pcores-pin)",
    ]
    assert "size paper, 2 ranks of 1 thread, schedule static" in as_text(findings)


def test_each_number_of_ranks_has_a_baseline_of_its_own(findings: Findings) -> None:
    compared = [
        case.case_id for table in findings.tables for case in table.cases if case.comparisons
    ]
    assert compared == ["table1case000000000002", "table2case000000000002"]
    assert [[case.is_baseline for case in table.cases] for table in findings.tables] == [
        [True, False],
        [True, False],
    ]


def test_the_headline_names_the_table_by_its_ranks(findings: Findings) -> None:
    (most,) = [line for line in decision_lines(findings) if line.startswith("Largest gain, time")]
    # Both tables gain the same, and the first one is named.
    assert most.startswith("Largest gain, time: lulesh, 1 rank of 2 threads, performance: ")


def test_ranks_of_another_launcher_are_no_baseline(tmp_path: Path) -> None:
    write(tmp_path, spoilt(TWO_THREADS.records(), "unpinned", mpi="mpich"))
    cases = open_results(str(tmp_path)).cases

    baselines = baselines_of(cases)

    assert {case.key.mapping for case in cases if case.key.case_id in baselines} == {"unpinned"}
