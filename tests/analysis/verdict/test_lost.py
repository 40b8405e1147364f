"""A case that lost more than a tenth of its runs is not compared, whatever became of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.card import write_card
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.tables.means import make_tables
from pinstudy.analysis.verdict.data import as_data
from pinstudy.analysis.verdict_text.tables import configuration_tables
from pinstudy.analysis.words.verdict import program_notes
from pinstudy.runners.records.lost_runs import LostRuns, lost_runs
from pinstudy.runners.records.status import FINAL, OK
from tests.analysis.report.pages import html_of
from tests.support.cli import pinstudy
from tests.support.in_memory import judged
from tests.support.results import (
    UNPROVED,
    VIOLATED,
    Record,
    Study,
    case_of,
    caveats,
    cells_by_title,
    decision,
    lacking,
    left_out,
    notes_of,
    only_table,
    spoilt,
    timed,
    words,
    write,
)

# The pinned threads' runs that are left are the fastest of all.
FASTER = {"unpinned": 1.0, "pcores-set": 1.05, "pcores-pin": 0.8}
STUDY = Study(FASTER, repetitions=18)
HUNG = {"status": "timeout", "reason": "killed after 600 s", "elapsed_s": 600.0}
ENDS = [{"status": status, "reason": "x"} for status in FINAL if status != OK] + [UNPROVED]
ENDINGS = pytest.mark.parametrize("end", ENDS, ids=lambda end: end.get("status", "unproved"))
PRINTED = {"metric_units": {"rate": "MB/s"}, "metric_better": {"rate": "higher"}}


def hung(mapping: str = "pcores-pin", count: int = 12) -> list[Record]:
    return spoilt(STUDY, mapping, range(1, count + 1), **HUNG)


def cause(end: Record) -> str:
    return str(end.get("status", "not provable"))


@pytest.mark.parametrize(
    ("n", "excluded", "expected"),
    [
        (9, {"failed": 1}, True),
        (8, {"failed": 1}, False),
        (18, {"failed": 1, "timeout": 1}, True),
        (17, {"failed": 1, "timeout": 1}, False),
        (1, {"interrupted": 5}, True),
        (0, {}, True),
        # Of how many runs these are, nobody says.
        (None, {"failed": 1}, False),
        (None, {}, True),
    ],
)
def test_a_tenth_of_all_may_be_lost(
    n: int | None, excluded: dict[str, int], expected: bool
) -> None:
    assert lost_runs(n, excluded, unproved=0).usable == expected


@ENDINGS
@pytest.mark.parametrize("factor", [2, 0.001], ids=["slow", "fast"])
def test_a_case_that_lost_more_is_not_compared_however_fast(end: Record, factor: float) -> None:
    def elapsed_s(run: Record) -> float:
        lost = run["mapping"] == "pcores-pin" and run["repetition"] in (2, 9)
        return float(run["elapsed_s"] * (factor if lost else 1))

    findings = judged(timed(spoilt(STUDY, "pcores-pin", (2, 9), **end), elapsed_s))
    assert words(findings) == {"pcores-set": "worse"}
    time = decision(findings)
    assert (time.choice, time.best) == ("leave", case_of(findings, "unpinned"))
    (why,) = time.lacking
    assert (why.code, why.cases) == ("lost too many", (case_of(findings, "pcores-pin").case_id,))
    assert why.facts == {"lost": 2, "runs": 18, "by_cause": {cause(end): 2}}
    assert not case_of(findings, "pcores-pin").on_front


@ENDINGS
def test_a_case_that_lost_a_tenth_at_most_is_compared_with_a_note(end: Record) -> None:
    findings = judged(spoilt(STUDY, "pcores-pin", (9,), **end))
    pinned = case_of(findings, "pcores-pin")
    assert words(findings)["pcores-pin"] == "better"
    assert decision(findings).best == pinned
    assert caveats(findings)["lost runs"] == {"by_cause": {cause(end): 1}}
    # Runs of which it is not provable are averaged.
    assert pinned.summary.n == (18 if end is UNPROVED else 17)


def test_causes_count_together_and_with_each_case() -> None:
    records = spoilt(spoilt(STUDY, "pcores-pin", (1,), **HUNG), "pcores-set", **UNPROVED)
    records = spoilt(records, "pcores-pin", (2,), status="failed", reason="exit status 1")
    findings = judged(spoilt(records, "pcores-pin", (3,), **UNPROVED))
    pinned, confined = (caveats(findings, name)["lost too many"] for name in list(FASTER)[:0:-1])
    assert pinned["by_cause"] == {"timeout": 1, "failed": 1, "not provable": 1}
    assert (pinned["lost"], confined["lost"]) == (3, 18)


def test_an_unproved_run_never_carries_a_recommendation_alone() -> None:
    # Of a program that ignores its places only those runs are good that were too short to tell.
    violated = spoilt(STUDY, "pcores-pin", range(1, 14), **VIOLATED)
    findings = judged(spoilt(violated, "pcores-pin", range(14, 19), **UNPROVED))
    assert decision(findings).best == case_of(findings, "unpinned")
    assert caveats(findings)["lost too many"]["by_cause"] == {
        "placement-violated": 13, "not provable": 5,
    }  # fmt: skip


def test_runs_that_were_imported_were_not_looked_at_and_are_compared() -> None:
    imported = {"imported": {"file": "x"}, **UNPROVED}
    findings = judged(run | imported for run in STUDY.records())
    assert words(findings)["pcores-pin"] == "better"
    assert caveats(findings)["placement not looked at"] == {"runs": 18}


def without_energy(mapping: str, count: int) -> list[Record]:
    """Return records in which some runs of a mapping, the longest ones, say, have no energy."""
    absent = {"energy_pkg_j": None, "edp_js": None, "unavailable": {"energy_pkg_j": "it wrapped"}}
    study = Study(FASTER, energy=FASTER, repetitions=18)
    return spoilt(study, mapping, range(1, count + 1), **absent)


@pytest.mark.parametrize("mapping", ["pcores-pin", "unpinned"])
def test_values_that_more_than_a_tenth_of_the_runs_lack_are_not_compared(mapping: str) -> None:
    findings = judged(without_energy(mapping, 2))
    assert words(findings)["pcores-pin"] == "better"
    for objective in ("energy", "edp"):
        assert "pcores-pin" not in words(findings, objective)
        assert caveats(findings, mapping, objective)["lost too many"] == {
            "lost": 2, "runs": 18, "by_cause": {"not measured": 2},
        }  # fmt: skip
        assert "lost too many" in lacking(findings, objective)
        assert decision(findings, objective).best != case_of(findings, "pcores-pin")
    assert not case_of(findings, mapping).on_front
    assert words(judged(without_energy("pcores-pin", 1)), "energy")["pcores-pin"] == "better"


def test_a_number_that_a_tenth_did_not_print_is_not_compared() -> None:
    runs = [run | PRINTED | {"metrics": {"rate": 1 / run["elapsed_s"]}} for run in STUDY.records()]
    findings = judged(spoilt(runs, "pcores-pin", (4, 9), metrics={}))
    assert words(findings, "metric_rate").keys() == {"pcores-set"}


@pytest.mark.parametrize(
    ("end", "by_cause"),
    [(HUNG, {"timeout": 8}), (UNPROVED, {"not provable": 8})],
    ids=["timeout", "unproved"],
)
def test_nothing_is_compared_with_a_lost_baseline(end: Record, by_cause: dict[str, int]) -> None:
    findings = judged(spoilt(STUDY, "unpinned", range(1, 9), **end))
    assert words(findings) == {}
    time = decision(findings)
    assert (time.choice, time.best) == ("not compared", None)
    lost, unused = time.lacking
    assert (lost.code, lost.facts["by_cause"]) == ("lost too many", by_cause)
    assert unused.code == "no use of the baseline"
    data = as_data(findings)["tables"][0]["comparisons"][0]
    assert (data["runs_proved"], data["placement_usable"]) == (10, end is HUNG)


def test_what_was_lost_to_placement_is_no_lack_of_runs() -> None:
    # The one other case that ran is not compared; a third could not be run at all.
    ran = Study({"unpinned": 1.0, "pcores-pin": 0.4})
    missing = left_out(4, "no E-cores here") | {"threads": 8, "build": "libgomp"}
    assert lacking(judged([*spoilt(ran, "pcores-pin", **UNPROVED), missing])) == ["lost too many"]


@pytest.mark.parametrize(
    "pending",
    [
        lambda _: None,
        lambda run: run | {"status": "interrupted"},
        lambda run: run | {"status": "failed", "warmup": True},
    ],
    ids=["never made", "interrupted", "warm-up"],
)
def test_runs_that_are_still_to_be_made_are_not_lost(
    pending: Callable[[Record], Record | None],
) -> None:
    runs = [
        pending(run) if run["mapping"] == "pcores-pin" and run["repetition"] > 7 else run
        for run in STUDY.records()
    ]
    findings = judged(run for run in runs if run)
    assert case_of(findings, "pcores-pin").lost == LostRuns(7)
    assert words(findings)["pcores-pin"] == "better"


def test_the_front_and_ratios_of_means_leave_out_what_is_not_compared() -> None:
    # The case whose placement is not proved would beat all others in both.
    findings = judged(spoilt(Study(FASTER, FASTER, repetitions=1), "pcores-pin", **UNPROVED))
    table = only_table(findings)
    assert [case.mapping for case in table.cases if case.on_front] == ["unpinned"]
    assert list(program_notes(table)) == [
        "Pareto front of time and energy, by the means of 2 cases: #1 unpinned (performance)"
    ]
    (times, *_) = configuration_tables(table, 0.01)
    assert float(times.cells[1][4]) == pytest.approx(5, abs=1)
    assert times.cells[2][4] == "-"
    rows = as_data(findings)["tables"][0]["comparisons"]
    assert rows[1]["time_mean_ratio"] == pytest.approx(1.05, abs=0.01)
    assert "time_mean_ratio" not in rows[2]


def test_every_output_says_how_many_runs_were_lost_and_does_not_recommend(tmp_path: Path) -> None:
    write(tmp_path, spoilt(hung(), "pcores-set", (5,), **UNPROVED))
    results = open_results(str(tmp_path))
    why = "not compared: 12 of 18 runs lost, more than a tenth"

    (table,) = make_tables(tmp_path)
    assert [cells_by_title(table, row)["lost"] for row in range(3)] == ["0", "1", "12"]
    assert [row["lost"] for row in table.raw_values] == [0, 1, 12]
    assert "#3: 12 of 18 runs not averaged: 12 timeout (killed after 600 s)" in notes_of(table)

    findings = analyze(results)
    (times, *_) = configuration_tables(only_table(findings), 0.01)
    mapping, n, lost, _, *change, outcome, marker = times.cells[2]
    assert (mapping, n, lost, outcome) == ("pcores-pin", "6", "12", "not compared")
    assert change == ["-", "-", "-"]
    assert [dict(times.notes)[letter] for letter in marker.split()] == ["lost: 12 timeout", why]
    row = as_data(findings)["tables"][0]["comparisons"][2]
    assert (row["runs_lost"], row["lost_by_cause"], row["usable"]) == (12, {"timeout": 12}, False)
    assert "time_outcome" not in row

    assert why in html_of(results)


def test_cards_and_tables_lack_values_and_lost_runs_as_their_records(tmp_path: Path) -> None:
    records = spoilt(without_energy("pcores-pin", 6), "pcores-set", (5,), **UNPROVED)
    write(tmp_path / "a", spoilt(records, "pcores-set", (9,), **VIOLATED))
    card, _ = write_card(str(tmp_path / "a"), tmp_path / "a.json")
    pinstudy(tmp_path, "tables", "a", status=0)
    pinstudy(tmp_path, "import", "summaries", "a/tables.csv", "--output", "b", status=0)
    of_runs, of_card, of_tables = (
        analyze(open_results(str(source))) for source in (tmp_path / "a", card, tmp_path / "b")
    )
    for findings in (of_runs, of_card, of_tables):
        assert "pcores-pin" in words(findings) and "pcores-pin" not in words(findings, "energy")
        lost = case_of(findings, "pcores-set").lost
        assert lost == case_of(of_runs, "pcores-set").lost
        assert lost.by_cause == {"placement-violated": 1, "not provable": 1}


HEADER = "app,threads,mapping,n,elapsed_mean_s,elapsed_sd_s"
ROWS = ("lu,8,unpinned,10,10.0,0.05", "lu,8,pcores-pin,6,9.5,0.05")


@pytest.mark.parametrize(
    ("column", "cells", "usable", "shown"),
    [
        ("lost", ("0", "12"), False, ["0", "12"]),
        ("lost", ("", "1"), False, ["n/a", "1"]),
        ("lost", ("0", "0"), True, ["0", "0"]),
        ("excluded", ("", "timeout: 12"), False, ["n/a", "12"]),
        ("excluded", ("", "interrupted: 12"), True, ["n/a", "n/a"]),
        ("driver", ("x", "x"), True, ["n/a", "n/a"]),
    ],
)
def test_imported_means_are_held_to_the_same_rule(
    tmp_path: Path, column: str, cells: tuple[str, str], usable: bool, shown: list[str]
) -> None:
    rows = (f"{row},{cell}" for row, cell in zip(ROWS, cells, strict=True))
    (tmp_path / "summaries.csv").write_text("\n".join([f"{HEADER},{column}", *rows, ""]))
    results = open_results(str(tmp_path))
    findings = analyze(results)
    assert ("pcores-pin" in words(findings)) == usable
    (table,) = make_tables(tmp_path)
    assert [cells_by_title(table, row)["lost"] for row in range(2)] == shown


def test_published_rows_do_not_say_that_nothing_was_lost() -> None:
    (row, *_) = as_data(analyze(open_results("published:galante-2025")))["tables"][0]["comparisons"]
    assert (row["runs_lost"], row["usable"]) == (None, True)
