"""Cases whose runs were not made in turn are not compared: a drift would look like a mapping."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.results.baselines import ORDER, Made, are_in_turn
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.results.summaries import FOOTNOTE
from pinstudy.analysis.tables.means import make_tables
from pinstudy.analysis.verdict_text.document import reading_notes
from pinstudy.analysis.verdict_text.tables import configuration_tables
from tests.support.cli import pinstudy
from tests.support.results import (
    Record,
    Study,
    decision,
    findings_of,
    lacking,
    notes_of,
    only_table,
    spoilt,
    timed,
    words,
    write,
)

ALIKE = {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 1.0}
PINNED = {"unpinned": 1.0, "pcores-set": 0.95, "pcores-pin": 0.9}


def drifting(study: Study) -> list[Record]:
    """Return the runs of a study on a machine that becomes 10 % slower from first to last."""
    runs = study.records()
    most = max(run["order"] for run in runs)
    return timed(runs, lambda run: float(run["elapsed_s"] * (1 + 0.1 * run["order"] / most)))


SEQUENTIAL = drifting(Study(ALIKE, sequential=True))


def test_a_drift_under_sequential_order_has_no_word(tmp_path: Path) -> None:
    findings = findings_of(tmp_path / "sequential", SEQUENTIAL)
    assert words(findings) == {}
    time = decision(findings)
    assert (time.choice, time.best) == ("not compared", None)
    assert lacking(findings) == ["out of turn"] * 2
    # Numbers are shown: of the means, without an interval.
    (times, *_) = configuration_tables(only_table(findings), 0.01)
    assert times.cells[1][4].startswith("+3.")
    assert times.cells[1][5] == "-"
    # The drift is found, and falls on the two alike in blocks alone.
    assert findings.drift and findings.drift.over_time and findings.drift.over_time.found
    in_blocks = findings_of(tmp_path / "blocks", drifting(Study(ALIKE)))
    assert set(words(in_blocks)) == {"pcores-set", "pcores-pin"}
    said = [" ".join(reading_notes(found)) for found in (findings, in_blocks)]
    assert ["falls on both" in text for text in said] == [False, True]


def test_commands_say_why_and_a_card_and_tables_keep_it(tmp_path: Path) -> None:
    write(tmp_path / "a", SEQUENTIAL)
    write(tmp_path / "b", Study(ALIKE | {"pcores-pin": 0.9}).records())
    said = " ".join(pinstudy(tmp_path, "verdict", "a", "--no-files", status=0).stdout.split())
    assert f"Decision none: {ORDER}" in said
    (data,) = json.loads(pinstudy(tmp_path, "verdict", "a", "--json", "--no-files").stdout)
    assert [row["in_turn"] for row in data["tables"][0]["comparisons"]] == [True, False, False]
    shown = " ".join(pinstudy(tmp_path, "compare", "a", "b", status=0).stdout.split())
    assert f"A: {ORDER}" in shown
    assert "time: no row that both decide" in shown

    pinstudy(tmp_path, "card", "a", "--output", "a.json", status=0)
    pinstudy(tmp_path, "tables", "a", status=0)
    pinstudy(tmp_path, "import", "summaries", "a/tables.csv", "--output", "means", status=0)
    card, means = (open_results(str(tmp_path / name)) for name in ("a.json", "means"))
    for kept in (card, means):
        findings = analyze(kept)
        assert words(findings) == {}
        assert lacking(findings) == ["out of turn"] * 2
        assert any(FOOTNOTE in note or ORDER in note for note in findings.footnotes)
    # Nor against another mapping, of which means and deviations would tell a difference.
    assert words(analyze(card, baseline="pcores-set")) == {}


@pytest.mark.parametrize("last", [{"attempt": 2}, {"started_at": "2025-03-01T23:00:00Z"}])
def test_a_case_whose_runs_all_come_last_is_alone_not_compared(
    tmp_path: Path, last: Record
) -> None:
    findings = findings_of(tmp_path, spoilt(Study(PINNED), "pcores-pin", **last))
    assert words(findings) == {"pcores-set": "better"}
    assert decision(findings).best is not None
    assert lacking(findings) == ["out of turn"]
    (table,) = make_tables(tmp_path)
    assert any(ORDER in note for note in notes_of(table))


@pytest.mark.parametrize(
    "change",
    [
        # A study that was killed and continued, one that several workers divide, lost runs.
        lambda run: {"attempt": 1 + (run["order"] > 16)},
        lambda run: {"attempt": 1 + run["repetition"] % 3},
        lambda run: {"attempt": run["order"]},
        lambda _: {"order": None},
        lambda run: {"status": "failed"} if run["order"] == 5 else {},
    ],
    ids=["killed", "workers", "killed after each run", "unknown", "lost"],
)
def test_runs_in_blocks_are_in_turn_however_they_came_about(
    tmp_path: Path, change: Callable[[Record], Record]
) -> None:
    study = Study(ALIKE | {"pcores-pin": 0.9})
    findings = findings_of(tmp_path, [run | change(run) for run in study.records()])
    assert words(findings)["pcores-pin"] == "better"
    assert ORDER not in " ".join(findings.footnotes)


def test_a_sequential_study_stays_one_when_continued_or_with_a_gap(tmp_path: Path) -> None:
    first = Study(ALIKE, sequential=True).records()
    again = [
        run | {"attempt": 2, "repetition": run["repetition"] + 10, "order": run["order"] + 100}
        for run in first
    ]
    unplaced = spoilt(first, "unpinned", [4], order=None)
    assert words(findings_of(tmp_path / "continued", first + again)) == {}
    assert words(findings_of(tmp_path / "unplaced", unplaced)) == {}


def test_cases_that_raced_have_no_such_note(tmp_path: Path) -> None:
    rule = {"race": {"of": "time", "min": 3, "max": 10, "margin": 0.01, "noise": 0.01}}
    raced = [run | {"repetition_rule": rule} for run in SEQUENTIAL]
    assert ORDER not in " ".join(findings_of(tmp_path, raced).footnotes)


def made(*orders: float) -> Made:
    count = len(orders)
    return Made(np.ones(count), np.array(orders, dtype=float), np.full(count, np.nan))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((1, 4, 5, 8), (2, 3, 6, 7), True),
        ((1, 2, 3, 4), (5, 6, 7, 8), False),
        ((1, 2, 3, 4), (5, 6), False),
        ((1, 2, 7, 8), (3, 4, 5, 6), False),
        # One of the two ended early.
        ((1, 4, 5, 7, 8, 9, 10), (2, 3, 6), True),
        ((), (1, 2), True),
        ((float("nan"), 1), (5, 6), True),
    ],
)
def test_runs_are_in_turn_where_they_change_often_enough(
    a: tuple[float, ...], b: tuple[float, ...], expected: bool
) -> None:
    assert are_in_turn(made(*a), made(*b)) == expected
    assert are_in_turn(made(*b), made(*a)) == expected
