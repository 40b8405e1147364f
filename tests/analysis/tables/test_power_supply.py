"""Runs on battery are told under every table, and rows that differ from others in that."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.verdict_text.document import as_text
from tests.support.results import (
    Record,
    Study,
    caveats,
    findings_of,
    notes_of,
    record,
    tables_from,
)

MAINS, BATTERY = {"power_supply": "mains"}, {"power_supply": "battery"}
LOWER = "limits of power and turbo are often lower than on mains"


def notes(folder: Path, *records: Record) -> list[str]:
    (table,) = tables_from(folder, records)
    return [note for note in notes_of(table) if note != "one run has no standard deviation"]


@pytest.mark.parametrize("supply", [{}, MAINS])
def test_runs_on_mains_or_on_what_is_not_known_need_no_note(tmp_path: Path, supply: Record) -> None:
    assert notes(tmp_path, record(1, 1, **supply), record(2, 1, **supply)) == []


def test_a_study_on_battery_says_so_once(tmp_path: Path) -> None:
    runs = [record(row, repetition, **BATTERY) for row in (1, 2) for repetition in (1, 2)]
    assert notes(tmp_path, *runs) == [f"made on battery: {LOWER}"]


def test_rows_that_ran_on_battery_are_told_from_others(tmp_path: Path) -> None:
    runs = [record(1, 1, **MAINS), record(2, 1, **BATTERY), record(2, 2, **MAINS), record(3, 1)]
    assert notes(tmp_path, *runs) == [
        "power supply: mains in #1, #2, battery in #2: these rows differ in their limits of power, "
        "too",
        f"some runs were made on battery: {LOWER}",
    ]


def test_a_comparison_across_supplies_is_noted(tmp_path: Path) -> None:
    times = {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 1.3}
    beside = {"unpinned": MAINS, "pcores-set": MAINS, "pcores-pin": BATTERY}
    findings = findings_of(tmp_path, Study(times, beside=beside))
    facts = {"supplies": ["battery"], "baseline_supplies": ["mains"]}
    assert caveats(findings)["unlike power supply"] == facts
    assert "unlike power supply" not in caveats(findings, "pcores-set")
    assert "ran on battery, the baseline on mains" in as_text(findings, 10_000)
