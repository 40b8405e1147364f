"""Runs in several modes: both are named with their counts, and what is typical has no outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.support.cli import pinstudy
from tests.support.results import (
    Record,
    Study,
    case_of,
    findings_of,
    text_of,
    timed,
    verdict,
    words,
    write,
)

ALIKE = {"scheduler": 1.0, "pcores-set": 1.0, "pcores-pin": 1.0}
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
    assert verdict(findings).answer == "not compared"
    assert words(findings) == {}
    text, _, means = text_of(findings).partition("; by the means alone, against #1 scheduler: ")
    assert text == (
        "Not compared. Runs are in several modes: #2 pcores-set 2 of 10 about 38 s and 8 about "
        "42 s; #3 pcores-pin 2 of 10 about 38 s and 8 about 42 s. Which of them is typical is left "
        "to chance, so #2 pcores-set and #3 pcores-pin have no outcome against #1 scheduler"
    )
    # A mean of 41.2 s against 40 s and the noise of ten runs.
    assert re.fullmatch(r"#2 pcores-set 3\.\d % more, #3 pcores-pin 3\.\d % more\.", means)


def test_other_cases_keep_their_outcomes(tmp_path: Path) -> None:
    study = timed(
        Study({"scheduler": 1.0, "pcores-set": 1.0, "pcores-pin": 0.9}), in_modes("pcores-set")
    )
    findings = findings_of(tmp_path, study)
    assert words(findings) == {"pcores-pin": "better"}
    assert verdict(findings).answer == "pin"
    assert "so #2 pcores-set has no outcome against #1 scheduler" in text_of(findings)


def test_modes_of_the_baseline_leave_an_outcome_to_cases_beyond_them(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, timed(Study(FASTER), in_modes("scheduler")))
    assert words(findings) == {"pcores-pin": "better"}
    assert list(case_of(findings, "pcores-set").unclear) == ["time"]
    text = text_of(findings)
    assert "#1 scheduler 2 of 10 about 38 s and 8 about 42 s" in text
    assert "so #2 pcores-set has no outcome against #1 scheduler" in text


def test_where_all_outcomes_hold_for_each_mode_that_is_said(tmp_path: Path) -> None:
    study = Study({"scheduler": 1.0, "pcores-pin": 0.7})
    findings = findings_of(tmp_path, timed(study, in_modes("scheduler")))
    assert "words about them hold for each of these modes" in text_of(findings)


def test_a_step_that_all_cases_share_leaves_outcomes(tmp_path: Path) -> None:
    def time(run: Record) -> float:
        return float(run["elapsed_s"]) * (1.1 if run["repetition"] > 5 else 1.0)

    study = timed(Study(ALIKE | {"pcores-pin": 0.98}), time)
    assert words(findings_of(tmp_path, study))["pcores-pin"] == "better"


def test_modes_of_pairs_alone_are_named_as_those(tmp_path: Path) -> None:
    blocks = [1.0, 1.3, 0.8, 1.5, 0.7, 1.2, 0.9, 1.4, 1.1, 1.6]

    def time(run: Record) -> float:
        return in_modes("pcores-pin")(run) * blocks[int(run["repetition"]) - 1]

    findings = findings_of(tmp_path, timed(Study({"scheduler": 1.0, "pcores-pin": 1.0}), time))
    assert not case_of(findings, "pcores-pin").modes
    assert "#2 pcores-pin against #1 scheduler 2 of 10 pairs about -5" in text_of(findings)


def test_the_first_screen_and_the_details_say_so(tmp_path: Path) -> None:
    write(tmp_path, timed(Study(ALIKE), in_modes("pcores-pin")))
    shown = pinstudy(tmp_path, "verdict", ".", status=0).stdout
    for part in shown.split("In detail"):
        assert "2 of 10 about 38 s and 8 about 42 s" in " ".join(part.split())


def test_the_data_have_them(tmp_path: Path) -> None:
    write(tmp_path, timed(Study(ALIKE), in_modes("pcores-pin")))
    shown = pinstudy(tmp_path, "verdict", ".", "--json", status=0).stdout
    ((table,),) = [answer["tables"] for answer in json.loads(shown)]
    statistics = {
        row["mapping"]: row["modes"] for row in table["statistics"] if row["objective"] == "time"
    }
    assert statistics["scheduler"] == []
    assert [mode["runs"] for mode in statistics["pcores-pin"]] == [2, 8]
    (row,) = (row for row in table["comparisons"] if row["mapping"] == "pcores-pin")
    assert row["time_outcome"] == "several modes"
    assert "time_ratio" not in row


def test_results_side_by_side_name_the_modes_of_each(tmp_path: Path) -> None:
    for letter, of in (("a", "pcores-pin"), ("b", "scheduler")):
        write(tmp_path / letter, timed(Study(ALIKE), in_modes(of)))
    shown = " ".join(pinstudy(tmp_path, "compare", "a", "b", status=0).stdout.split())
    assert "A: several modes: 2 of 10 about 38 s and 8 about 42 s; ratios are of means" in shown
    assert "B: several modes: 2 of 10 about 38 s and 8 about 42 s" in shown


def test_no_advice_to_leave_threads_where_a_mapping_may_be_better(tmp_path: Path) -> None:
    def time(run: Record) -> float:
        fast = run["mapping"] == "pcores-pin" and run["repetition"] not in (3, 7)
        return 36.0 if fast else float(run["elapsed_s"])

    findings = findings_of(tmp_path, timed(Study(ALIKE), time))
    assert verdict(findings).answer == "undecided"
    assert "8 about 36 s" not in text_of(findings)
    assert "8 of 10 about 36 s" in text_of(findings)


def test_eight_runs_beyond_all_others_are_a_gain_and_seven_may_be_chance(tmp_path: Path) -> None:
    def time(run: Record) -> float:
        if run["mapping"] != "pcores-pin":
            return float(run["elapsed_s"])
        return 20.0 if run["repetition"] % 2 else 30.0

    for n, found in ((7, {}), (8, {"pcores-pin": "better"})):
        study = Study({"scheduler": 1.0, "pcores-pin": 1.0}, repetitions=n)
        assert words(findings_of(tmp_path / str(n), timed(study, time))) == found


def test_a_card_keeps_that_there_is_no_outcome_and_why(tmp_path: Path) -> None:
    write(tmp_path / "results", timed(Study(ALIKE), in_modes("pcores-pin")))
    pinstudy(tmp_path, "card", "results", "--into", "card.json", status=0)
    shown = " ".join(pinstudy(tmp_path, "verdict", "card.json", status=0).stdout.split())
    assert "2 of 10 about 38 s and 8 about 42 s" in shown
    assert "no outcome: chance decides which mode is typical" in shown


def test_where_nothing_has_an_outcome_the_answer_says_why(tmp_path: Path) -> None:
    write(tmp_path, timed(Study({"scheduler": 1.0, "pcores-pin": 1.0}), in_modes("pcores-pin")))
    shown = " ".join(pinstudy(tmp_path, "verdict", ".", status=0).stdout.split())
    assert "There is none: runs are in several modes, of which none is typical." in shown
