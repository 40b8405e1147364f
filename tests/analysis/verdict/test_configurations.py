"""The table of a configuration: its rows, its decision, and the notes by letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.format.table import Table
from analysis.verdict_text.configurations import configuration_tables
from tests.support.results import Record, Study, findings_of, left_out, only_table
from tests.support.results import cells_by_title as cells

TIMES = {"unpinned": 1.0, "pcores-set": 0.9, "ecores-set": 1.2}
DISTURBED = {
    "foreign_cpu_s": 2.0,
    "foreign_tasks": [{"command": "python3", "cpu_s": 1.9, "cpus": "0"}],
}


def times_of(folder: Path, *runs: Record) -> Table:
    """Return the table of the times of a study's only configuration."""
    table, *_ = configuration_tables(only_table(findings_of(folder, list(runs))), 0.01)
    return table


def notes_at(table: Table, row: int) -> list[str]:
    """Return the notes whose letters stand in a row."""
    notes = dict(table.notes)
    return [notes[letter] for letter in table.cells[row][-1].split() if letter in notes]


def test_a_row_has_its_change_with_both_ends_and_its_outcome(tmp_path: Path) -> None:
    table = times_of(tmp_path, *Study(TIMES, noise=0.001).records())
    baseline, better, worse = (cells(table, row) for row in range(3))
    assert (baseline["outcome"], baseline["change (%)"]) == ("baseline", "-")
    assert (better["outcome"], worse["outcome"]) == ("better", "worse")
    assert float(better["change (%)"]) == pytest.approx(-10, abs=0.2)
    low, high = map(float, better["95 % interval (%)"].split(" to "))
    assert low < float(better["change (%)"]) < high < 0
    assert (better["n"], better["lost"], better["p"]) == ("10", "0", "<0.001")


def test_below_it_stand_the_decision_and_its_gain(tmp_path: Path) -> None:
    table = times_of(tmp_path, *Study(TIMES, noise=0.001).records())
    decision, gain, *_ = [text for letter, text in table.notes if not letter]
    assert decision == "decision: confine the threads to the P-cores (pcores-set)"
    assert gain.startswith(("gain: -9.9", "gain: -10"))
    assert "widened for the choice among 2" in gain


def test_what_was_left_out_says_why(tmp_path: Path) -> None:
    study = Study({"unpinned": 1.0, "pcores-set": 1.0}).records()
    shared = ("app", "build", "size", "threads", "schedule", "wait_policy", "table_number")
    absent = left_out(4, "no E-cores") | {name: study[0][name] for name in shared}
    table = times_of(tmp_path, *study, absent)
    assert cells(table, 2)["outcome"] == "not compared"
    assert notes_at(table, 2) == ["left out: no E-cores"]


def test_disturbed_runs_are_counted_with_who_and_how_much_longer(tmp_path: Path) -> None:
    runs = [
        run | (DISTURBED | {"elapsed_s": run["elapsed_s"] * 1.5} if run["repetition"] % 2 else {})
        for run in Study({"unpinned": 1.0, "pcores-set": 1.0}, noise=0.01).records()
    ]
    notes = notes_at(times_of(tmp_path, *runs), 0)
    assert any(note.startswith("5 of 10 runs with other tasks") for note in notes)
    assert "most often python3 (5 runs, up to 1.90 s)" in notes
    assert any(note.startswith("these took +") and "against the others" in note for note in notes)


def test_an_objective_that_was_not_measured_has_no_table(tmp_path: Path) -> None:
    runs = Study({"unpinned": 1.0, "pcores-set": 1.0}).records()
    bare = [{name: value for name, value in run.items() if "energy" not in name} for run in runs]
    tables = configuration_tables(only_table(findings_of(tmp_path / "made", bare)), 0.01)
    assert [table.caption.rpartition(": ")[2] for table in tables] == ["typical time"]
