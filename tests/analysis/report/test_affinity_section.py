"""The report's section on thread placements: what it tells, what it lacks, and when it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.affinity.made_results import NO_L1D, ONE_PACKAGE, Affinity, make_affinity
from tests.analysis.report.pages import Page, page_of
from tests.support.results import record, write

TITLE = "What a thread placement costs, and why"


@pytest.fixture
def report(affinity: Path) -> Page:
    return Page(affinity.read_text())


def test_the_section_tells_all_experiments(report: Page) -> None:
    for app in ("contention", "smt", "pingpong", "threadmap", "latency"):
        assert f"affinity-{app}" in report.anchors
    assert report.of().count(TITLE) == 1
    for text in (
        "who pins makes no difference (within 1 %)",
        "the time of a round under each placement",
        "the time of a thread under each placement",
        "the one-way time of a cache line under each placement",
        "what threads were allowed, and where they were seen",
        # The latencies beside the records, with their mappings.
        "OMP_PLACES=",
    ):
        assert text in report.of()
    assert "pinstudy latency -o" not in report.of()


def test_what_the_node_cannot_do_has_its_reason(tmp_path: Path) -> None:
    study = Affinity(apps=("contention", "pingpong"), repetitions=2, l1d=False)

    text = page_of(make_affinity(tmp_path, study)).of()

    skipped = "across-packages-pin-program, across-packages-pin (2 cases)"
    assert f"left out: {skipped}: {ONE_PACKAGE}" in text
    assert f"L1 load misses not counted: {NO_L1D}" in text
    assert f"`pinstudy latency -o {tmp_path}`" in text
    assert "does not collect c2c" in text


def test_a_study_whose_cases_are_all_left_out_has_its_reasons(tmp_path: Path) -> None:
    reason = "the program smt-libgomp is not built"
    made = Affinity(apps=("smt",), repetitions=1).records()
    write(tmp_path, [run | {"status": "skipped", "reason": reason} for run in made])

    text = page_of(tmp_path).of()

    assert TITLE in text
    assert f"cases): {reason}" in text


def test_other_results_have_no_such_section(tmp_path: Path) -> None:
    write(tmp_path, [record(1, n) for n in range(1, 4)])

    assert TITLE not in page_of(tmp_path).of()


def test_a_damaged_latency_file_is_named_beside_the_other_experiments(tmp_path: Path) -> None:
    make_affinity(tmp_path, Affinity(apps=("pingpong",), repetitions=2))
    (tmp_path / "latency.json").write_text('{"schema": 1, "kind": "latency", "pairs": 3}')

    text = page_of(tmp_path).of()

    assert "latencies not shown:" in text
    assert "latency.json" in text
    assert "the one-way time of a cache line under each placement" in text


def test_hostile_results_are_text(hostile_affinity: Path) -> None:
    html = hostile_affinity.read_text()

    assert TITLE in html
    assert "<script>window" not in html
    assert "<img src=x" not in html
    assert not {"\u202e", "\u2066", "\x1b", "\x00"} & {*html}


def test_experiments_leave_out_ranks_and_say_why(tmp_path: Path) -> None:
    smt = list(Affinity(apps=("smt",), repetitions=1).records())
    teams = Affinity(apps=("threadmap",), repetitions=1, beside={"ranks": 2}).records()
    write(tmp_path, [*smt, *teams])

    text = page_of(tmp_path).of()

    why = "an experiment compares threads of one process"
    assert f"of 2 ranks of 4 threads: {why}" in text
    assert text.count(why) == 1
    assert "what threads were allowed" not in text
