"""A case that lost more than a tenth of its runs is not compared, whatever became of them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from analysis.answer import analyze
from analysis.card import write_card
from analysis.results.sources import open_results
from analysis.tables.means import make_tables
from analysis.verdict.data import as_data
from analysis.verdict_text.configurations import configuration_tables
from runners.records.lost_runs import LostRuns, lost_runs
from runners.records.status import FINAL, OK
from tests.analysis.report.pages import html_of
from tests.support.cli import pinstudy
from tests.support.results import (
    UNPROVED,
    VIOLATED,
    Record,
    Study,
    case_of,
    caveats,
    cells_by_title,
    decision,
    findings_of,
    lacking,
    notes_of,
    only_table,
    spoilt,
    words,
    write,
)

# The pinned threads' runs that are left are the fastest of all.
FASTER = {"unpinned": 1.0, "pcores-set": 1.05, "pcores-pin": 0.8}
STUDY = Study(FASTER, repetitions=18)
HUNG = {"status": "timeout", "reason": "killed after 600 s", "elapsed_s": 600.0}
ENDS = [{"status": status, "reason": "x"} for status in FINAL if status != OK] + [UNPROVED]
LOST = "12 of 18 runs of #3 pcores-pin reached the limit"


def hung(mapping: str = "pcores-pin", count: int = 12) -> list[Record]:
    return spoilt(STUDY, mapping, range(1, count + 1), **HUNG)


@pytest.mark.parametrize("fields", ENDS, ids=lambda of: of.get("status", "unproved"))
def test_a_case_that_lost_more_than_a_tenth_is_not_compared_whatever_became_of_its_runs(
    tmp_path: Path, fields: Record
) -> None:
    findings = findings_of(tmp_path, spoilt(STUDY, "pcores-pin", (2, 9), **fields))
    assert words(findings) == {"pcores-set": "worse"}
    assert decision(findings).best == case_of(findings, "unpinned")
    (why,) = decision(findings).lacking
    assert (why.code, why.cases) == ("lost too many", (case_of(findings, "pcores-pin").case_id,))
    assert (why.facts["lost"], why.facts["runs"]) == (2, 18)


@pytest.mark.parametrize("fields", ENDS, ids=lambda of: of.get("status", "unproved"))
def test_a_case_that_lost_a_tenth_at_most_is_compared(tmp_path: Path, fields: Record) -> None:
    findings = findings_of(tmp_path, spoilt(STUDY, "pcores-pin", (9,), **fields))
    assert words(findings)["pcores-pin"] == "better"
    assert decision(findings).best == case_of(findings, "pcores-pin")


def test_causes_count_together(tmp_path: Path) -> None:
    records = spoilt(STUDY, "pcores-pin", (1,), **HUNG)
    records = spoilt(records, "pcores-pin", (2,), status="failed", reason="exit status 1")
    findings = findings_of(tmp_path, spoilt(records, "pcores-pin", (3,), **UNPROVED))
    assert case_of(findings, "pcores-pin").lost.by_cause == {
        "timeout": 1, "failed": 1, "not provable": 1,
    }  # fmt: skip
    assert caveats(findings)["lost too many"]["lost"] == 3


def without_energy(mapping: str, count: int) -> list[Record]:
    """Return records in which some runs of a mapping, the longest ones, say, have no energy."""
    lacking = {"energy_pkg_j": None, "edp_js": None, "unavailable": {"energy_pkg_j": "it wrapped"}}
    study = Study(FASTER, energy=FASTER, repetitions=18)
    return spoilt(study, mapping, range(1, count + 1), **lacking)


@pytest.mark.parametrize("mapping", ["pcores-pin", "unpinned"])
def test_values_that_more_than_a_tenth_of_the_runs_lack_are_not_compared(
    tmp_path: Path, mapping: str
) -> None:
    findings = findings_of(tmp_path, without_energy(mapping, 2))
    assert words(findings)["pcores-pin"] == "better"
    for objective in ("energy", "edp"):
        assert "pcores-pin" not in words(findings, objective)
        assert caveats(findings, mapping, objective)["lost too many"] == {
            "lost": 2, "runs": 18, "by_cause": {"not measured": 2},
        }  # fmt: skip
        assert "lost too many" in lacking(findings, objective)
        assert decision(findings, objective).best != case_of(findings, "pcores-pin")
    assert not case_of(findings, mapping).on_front


def test_values_that_a_tenth_of_the_runs_lack_at_most_are_compared(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, without_energy("pcores-pin", 1))
    assert words(findings, "energy")["pcores-pin"] == "better"


def test_a_number_that_a_tenth_did_not_print_is_not_compared(tmp_path: Path) -> None:
    printed = {"metrics": {"rate": 5.0}, "metric_units": {"rate": "MB/s"},
               "metric_better": {"rate": "higher"}}  # fmt: skip
    runs = [run | printed | {"metrics": {"rate": 1 / run["elapsed_s"]}} for run in STUDY.records()]
    findings = findings_of(tmp_path, spoilt(runs, "pcores-pin", (4, 9), metrics={}))
    (rate,) = (of for of in only_table(findings).objectives if of.unit == "MB/s")
    assert "pcores-pin" not in words(findings, rate) and "pcores-set" in words(findings, rate)


def test_outputs_do_not_compare_values_that_are_lacking(tmp_path: Path) -> None:
    write(tmp_path / "a", without_energy("pcores-pin", 6))
    pinstudy(tmp_path, "card", "a", "--output", "a.json", status=0)
    pinstudy(tmp_path, "tables", "a", status=0)
    pinstudy(tmp_path, "import", "summaries", "a/tables.csv", "--output", "b", status=0)
    for source in ("a", "a.json", "b"):
        said = " ".join(pinstudy(tmp_path, "verdict", source, "--no-files").stdout.split())
        assert "Decision, time: pin each thread on the P-cores (pcores-pin)" in said
        assert "Decision, package energy: pin" not in said
    compared = pinstudy(tmp_path, "compare", "a", "a.json", "--json", status=0).stdout
    rows = json.loads(compared)["rows"]
    (energy,) = (
        row for row in rows if row["mapping"] == "pcores-pin" and row["objective"] == "energy"
    )
    assert energy["agreement"] == "not compared"


def test_nothing_is_compared_with_a_baseline_that_lost_its_runs(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, hung("unpinned", 8))
    assert words(findings) == {}
    lost, unused = decision(findings).lacking
    assert (lost.code, lost.facts["by_cause"]) == ("lost too many", {"timeout": 8})
    assert unused.code == "no use of the baseline"


@pytest.mark.parametrize(
    "pending",
    [
        lambda run: None if run["repetition"] > 7 else run,
        lambda run: run | {"status": "interrupted"} if run["repetition"] > 7 else run,
        lambda run: run | {"status": "failed", "warmup": True} if run["repetition"] > 7 else run,
    ],
    ids=["never made", "interrupted", "warm-up"],
)
def test_runs_that_are_still_to_be_made_are_not_lost(tmp_path: Path, pending: object) -> None:
    assert callable(pending)
    runs = [pending(run) if run["mapping"] == "pcores-pin" else run for run in STUDY.records()]
    findings = findings_of(tmp_path, [run for run in runs if run])
    assert case_of(findings, "pcores-pin").lost == LostRuns(7)
    assert words(findings)["pcores-pin"] == "better"


def test_every_row_of_the_tables_says_how_many_runs_it_lost_and_why(tmp_path: Path) -> None:
    write(tmp_path, spoilt(hung(), "pcores-set", (5,), **UNPROVED))
    (table,) = make_tables(tmp_path)
    assert [cells_by_title(table, row)["lost"] for row in range(3)] == ["0", "1", "12"]
    assert [row["lost"] for row in table.raw_values] == [0, 1, 12]
    notes = notes_of(table)
    assert "#3: 12 of 18 runs not averaged: 12 timeout (killed after 600 s)" in notes
    assert (
        "#3: not compared, nor to be recommended: 12 of 18 runs reached the limit; a tenth at most "
        "may be lost"
    ) in notes


def test_all_outputs_of_the_command_line_agree(tmp_path: Path) -> None:
    write(tmp_path / "a", hung())
    write(tmp_path / "b", STUDY.records())

    done = pinstudy(tmp_path, "verdict", "a", "--no-files", status=0)
    said = " ".join(done.stdout.split())
    assert "Lost 12 of 54 runs timed out: pcores-pin; 1 case not compared for it" in said
    assert "Decision leave unpinned" in said
    assert "not compared: 12 of 18 runs lost, more than a tenth" in said

    (data,) = json.loads(pinstudy(tmp_path, "verdict", "a", "--json", "--no-files").stdout)
    row = data["tables"][0]["comparisons"][2]
    assert (row["runs_lost"], row["lost_by_cause"], row["usable"]) == (12, {"timeout": 12}, False)
    assert "time_outcome" not in row

    tables = pinstudy(tmp_path, "tables", "a", "--format", "csv", "--no-files", status=0).stdout
    assert [line["lost"] for line in csv.DictReader(io.StringIO(tables))] == ["0", "0", "12"]
    markdown = pinstudy(tmp_path, "tables", "a", "--format", "markdown", "--no-files").stdout
    assert "| lost |" in " ".join(markdown.split())

    compared = pinstudy(tmp_path, "compare", "a", "b", status=0).stdout
    said = " ".join(compared.split())
    assert "A: lost: 12 timeout" in said
    assert "A: not compared: 12 of 18 runs lost, more than a tenth" in said
    rows = json.loads(pinstudy(tmp_path, "compare", "a", "b", "--json").stdout)["rows"]
    pinned = next(row for row in rows if row["mapping"] == "pcores-pin")
    assert (pinned["agreement"], pinned["a_lost"], pinned["b_lost"]) == ("not compared", 12, 0)

    pinstudy(tmp_path, "card", "a", "--output", "a.json", status=0)
    of_card = " ".join(pinstudy(tmp_path, "verdict", "a.json", status=0).stdout.split())
    assert "not compared: 12 of 18 runs lost, more than a tenth" in of_card
    assert "Decision leave unpinned" in of_card


def test_report_and_figures_do_not_recommend_it(tmp_path: Path) -> None:
    write(tmp_path, hung())
    results = open_results(str(tmp_path))
    page = html_of(results)
    assert "12 of 54 runs timed out: pcores-pin" in page
    assert "not compared, nor to be recommended: 12 of 18 runs reached the limit" in page
    assert ">lost<" in page


def test_its_row_has_no_change_and_says_what_was_lost(tmp_path: Path) -> None:
    (times, *_) = configuration_tables(only_table(findings_of(tmp_path, hung())), 0.01)
    mapping, n, lost, _, *change, outcome, marker = times.cells[2]
    assert (mapping, n, lost, outcome) == ("pcores-pin", "6", "12", "not compared")
    assert change == ["-", "-", "-"]
    assert [dict(times.notes)[letter] for letter in marker.split()] == [
        "lost: 12 timeout", "not compared: 12 of 18 runs lost, more than a tenth",
    ]  # fmt: skip


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


def test_tables_of_runs_are_means_that_lost_as_many(tmp_path: Path) -> None:
    """What `tables.csv` says of lost runs is read again, and counted once."""
    records = spoilt(hung(count=1), "pcores-pin", (5, 6), **UNPROVED)
    folder = tmp_path / "a"
    write(folder, spoilt(records, "pcores-pin", (9,), **VIOLATED))
    pinstudy(tmp_path, "tables", "a", status=0)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "summaries.csv").write_text((folder / "tables.csv").read_text())
    again = analyze(open_results(str(tmp_path / "b")))
    assert (
        case_of(again, "pcores-pin").lost
        == case_of(analyze(open_results(str(folder))), "pcores-pin").lost
    )


def test_a_card_of_lost_runs_has_as_many(tmp_path: Path) -> None:
    write(tmp_path, spoilt(hung(count=1), "pcores-pin", (5, 6), **UNPROVED))
    path, _ = write_card(str(tmp_path))
    of_runs, of_card = (
        case_of(analyze(open_results(str(source))), "pcores-pin").lost
        for source in (tmp_path, path)
    )
    assert of_card == of_runs


def test_published_rows_do_not_say_that_nothing_was_lost() -> None:
    (row, *_) = as_data(analyze(open_results("published:galante-2025")))["tables"][0]["comparisons"]
    assert (row["runs_lost"], row["usable"]) == (None, True)


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
def test_a_tenth_of_what_was_made_may_be_lost(
    n: int | None, excluded: dict[str, int], expected: bool
) -> None:
    assert lost_runs(n, excluded, unproved=0).usable == expected
