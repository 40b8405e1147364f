"""Runs in several modes: both are named with their counts, and what is typical has no outcome."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.verdict_text.configurations import configuration_tables
from tests.support.cli import pinstudy
from tests.support.results import (
    Record,
    Study,
    case_of,
    caveats,
    decision,
    findings_of,
    lacking,
    only_table,
    timed,
    words,
    write,
)

ALIKE = {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 1.0}
FASTER = ALIKE | {"pcores-pin": 0.7}
SLOW_BLOCKS = {2, 3, 4, 5, 7, 8, 9, 10}


def in_modes(*mappings: str) -> Callable[[Record], float]:
    """Return times of which these mappings' are 42 s in eight of ten blocks, and 38 s in two."""

    def time(run: Record) -> float:
        if run["mapping"] not in mappings:
            return float(run["elapsed_s"])
        return 42.0 if run["repetition"] in SLOW_BLOCKS else 38.0

    return time


def test_two_modes_are_named_with_their_counts_and_have_no_outcome(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, timed(Study(ALIKE), in_modes("pcores-set", "pcores-pin")))
    assert decision(findings).choice == "not compared"
    assert words(findings) == {}
    assert lacking(findings) == ["no typical value"] * 2
    (times, *_) = configuration_tables(only_table(findings), 0.01)
    notes = dict(times.notes)
    for mapping, row in (("pcores-set", 1), ("pcores-pin", 2)):
        modes = caveats(findings, mapping)["modes"]
        assert modes["n"] == 10
        assert [mode["runs"] for mode in modes["modes"]] == [2, 8]
        assert [mode["about"] for mode in modes["modes"]] == pytest.approx([38, 42])
        assert [notes[letter] for letter in times.cells[row][-1].split()][:2] == [
            "no outcome: chance decides which mode is typical",
            "several modes: 2 of 10 about 38 s and 8 about 42 s",
        ]
        # A mean of 41.2 s against 40 s and the noise of ten runs.
        assert float(times.cells[row][4]) == pytest.approx(3, abs=0.5)


def test_other_cases_keep_their_outcomes(tmp_path: Path) -> None:
    study = timed(
        Study({"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 0.9}), in_modes("pcores-set")
    )
    findings = findings_of(tmp_path, study)
    assert words(findings) == {"pcores-pin": "better"}
    assert decision(findings).choice == "pin"
    assert lacking(findings) == ["no typical value"]


def test_modes_of_the_baseline_leave_an_outcome_to_cases_beyond_them(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, timed(Study(FASTER), in_modes("unpinned")))
    assert words(findings) == {"pcores-pin": "better"}
    assert list(case_of(findings, "pcores-set").unclear) == ["time"]
    assert [mode["runs"] for mode in caveats(findings, "unpinned")["modes"]["modes"]] == [2, 8]
    assert "no typical value" in caveats(findings, "pcores-set")


def test_an_outcome_that_holds_for_each_mode_is_one(tmp_path: Path) -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 0.7})
    findings = findings_of(tmp_path, timed(study, in_modes("unpinned")))
    assert words(findings) == {"pcores-pin": "better"}
    assert "modes" in caveats(findings, "unpinned")


def test_a_step_that_all_cases_share_leaves_outcomes(tmp_path: Path) -> None:
    def time(run: Record) -> float:
        return float(run["elapsed_s"]) * (1.1 if run["repetition"] > 5 else 1.0)

    study = timed(Study(ALIKE | {"pcores-pin": 0.98}), time)
    assert words(findings_of(tmp_path, study))["pcores-pin"] == "better"


def test_modes_of_pairs_alone_are_named_as_those(tmp_path: Path) -> None:
    blocks = [1.0, 1.3, 0.8, 1.5, 0.7, 1.2, 0.9, 1.4, 1.1, 1.6]

    def time(run: Record) -> float:
        return in_modes("pcores-pin")(run) * blocks[int(run["repetition"]) - 1]

    findings = findings_of(tmp_path, timed(Study({"unpinned": 1.0, "pcores-pin": 1.0}), time))
    assert not case_of(findings, "pcores-pin").modes
    modes = caveats(findings)["modes of pairs"]
    assert (modes["n"], [mode["pairs"] for mode in modes["modes"]]) == (10, [2, 8])
    # 38 s and 42 s against 40 s and its noise of 0.3 %.
    assert [mode["ratio"] for mode in modes["modes"]] == pytest.approx([0.95, 1.05], abs=0.005)


def test_the_first_screen_and_the_details_say_so(tmp_path: Path) -> None:
    write(tmp_path, timed(Study(ALIKE), in_modes("pcores-pin")))
    shown = pinstudy(tmp_path, "verdict", ".", status=0).stdout
    overview, detail = (" ".join(part.split()) for part in shown.split("In detail"))
    assert "x pcores-pin: runs in several modes, of which none is typical" in overview
    assert "2 of 10 about 38 s and 8 about 42 s" in detail


def test_the_data_have_them(tmp_path: Path) -> None:
    write(tmp_path, timed(Study(ALIKE), in_modes("pcores-pin")))
    shown = pinstudy(tmp_path, "verdict", ".", "--json", status=0).stdout
    ((table,),) = [answer["tables"] for answer in json.loads(shown)]
    statistics = {
        row["mapping"]: row["modes"] for row in table["statistics"] if row["objective"] == "time"
    }
    assert statistics["unpinned"] == []
    assert [mode["runs"] for mode in statistics["pcores-pin"]] == [2, 8]
    (row,) = (row for row in table["comparisons"] if row["mapping"] == "pcores-pin")
    assert row["time_outcome"] == "several modes"
    assert "time_ratio" not in row


def test_results_side_by_side_name_the_modes_of_each(tmp_path: Path) -> None:
    for letter, of in (("a", "pcores-pin"), ("b", "unpinned")):
        write(tmp_path / letter, timed(Study(ALIKE), in_modes(of)))
    shown = " ".join(pinstudy(tmp_path, "compare", "a", "b", status=0).stdout.split())
    assert "A: several modes: 2 of 10 about 38 s and 8 about 42 s" in shown
    assert "B: several modes: 2 of 10 about 38 s and 8 about 42 s" in shown


def test_no_advice_to_leave_threads_where_a_mapping_may_be_better(tmp_path: Path) -> None:
    def time(run: Record) -> float:
        fast = run["mapping"] == "pcores-pin" and run["repetition"] not in (3, 7)
        return 36.0 if fast else float(run["elapsed_s"])

    findings = findings_of(tmp_path, timed(Study(ALIKE), time))
    assert decision(findings).choice == "undecided"
    fast, slow = caveats(findings)["modes"]["modes"]
    assert (fast["runs"], fast["about"], slow["runs"]) == (8, pytest.approx(36), 2)


def test_eight_runs_beyond_all_others_are_a_gain_and_seven_may_be_chance(tmp_path: Path) -> None:
    def time(run: Record) -> float:
        if run["mapping"] != "pcores-pin":
            return float(run["elapsed_s"])
        return 20.0 if run["repetition"] % 2 else 30.0

    for n, found in ((7, {}), (8, {"pcores-pin": "better"})):
        study = Study({"unpinned": 1.0, "pcores-pin": 1.0}, repetitions=n)
        assert words(findings_of(tmp_path / str(n), timed(study, time))) == found


def test_a_card_keeps_that_there_is_no_outcome_and_why(tmp_path: Path) -> None:
    write(tmp_path / "results", timed(Study(ALIKE), in_modes("pcores-pin")))
    pinstudy(tmp_path, "card", "results", "--output", "card.json", status=0)
    shown = " ".join(pinstudy(tmp_path, "verdict", "card.json", status=0).stdout.split())
    assert "2 of 10 about 38 s and 8 about 42 s" in shown
    assert "no outcome: chance decides which mode is typical" in shown


def test_where_nothing_has_an_outcome_the_answer_says_why(tmp_path: Path) -> None:
    write(tmp_path, timed(Study({"unpinned": 1.0, "pcores-pin": 1.0}), in_modes("pcores-pin")))
    shown = " ".join(pinstudy(tmp_path, "verdict", ".", status=0).stdout.split())
    assert "Decision none: runs are in several modes, of which none is typical" in shown
