"""What `pinstudy prove` found of a node's instruments, in tables and the report of its results."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from analysis.format.styles import render
from analysis.results.sources import open_results
from analysis.tables.means import make_tables
from runners.prove.proof import keep
from runners.records.instruments import Finding, Proof, path_beside
from tests.analysis.report.made_results import DIGEST, make_results
from tests.analysis.report.pages import page_of

OFF = Finding(
    "energy",
    "package by powercap",
    "off",
    "grows with load and time",
    "nothing",
    "stands still",
    ("energy_pkg_j", "edp_js"),
)
FINE = Finding("migrations", "", "ok", "200 moves", "200", "", ("migrations",))
WHEN = "2026-11-26T09:12:00Z"
REASON = "energy package by powercap: off on node, by `pinstudy prove`: stands still"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_results(tmp_path, apps=(("lu", 3.0),), threads=(1,), repetitions=2)


def prove(folder: Path, *findings: Finding, digest: str = DIGEST) -> Path:
    proof = Proof("node", digest, "boot", WHEN, 60.0, False, findings)
    return keep(proof, path_beside(folder, DIGEST))


def headings(folder: Path) -> list[str]:
    return [column.title for column in make_tables(folder)[0].columns]


def test_the_column_of_an_instrument_that_was_off_is_marked_with_its_reason(folder: Path) -> None:
    before = headings(folder)
    prove(folder, OFF, FINE)
    (table, *_) = make_tables(folder)

    marked = [(a, b) for a, b in zip(before, headings(folder), strict=True) if a != b]
    ((_, heading),) = marked
    assert heading.startswith("energy package (")
    marker = heading.removeprefix("energy package (").partition(")")[0]
    assert (marker, REASON) in table.notes
    footnote = f"1 instrument of node off when it was tested ({WHEN}): energy package by powercap"
    assert ("", footnote) in table.notes


@pytest.mark.parametrize("style", ["text", "markdown", "latex"])
def test_every_format_tells_it(folder: Path, style: str) -> None:
    prove(folder, OFF)
    assert "stands still" in render(make_tables(folder), style)


def test_csv_names_the_fields_that_are_wrong(folder: Path) -> None:
    prove(folder, OFF)
    rows = list(csv.DictReader(io.StringIO(render(make_tables(folder), "csv"))))
    assert {row["instruments_off"] for row in rows} == {"energy_pkg_j; edp_js"}


def test_instruments_that_are_ok_mark_nothing(folder: Path) -> None:
    before = make_tables(folder)
    prove(folder, FINE)
    assert make_tables(folder) == before


@pytest.mark.parametrize(
    "spoil",
    [{"schema": 9}, {"findings": "x"}, {"node_digest": "f" * 64}, {"findings": [{"why": 1}]}],
)
def test_a_file_that_is_no_proof_of_this_node_is_not_used(
    folder: Path, spoil: dict[str, Any]
) -> None:
    before = make_tables(folder)
    path = prove(folder, OFF)
    path.write_text(json.dumps(json.loads(path.read_text()) | spoil))
    assert open_results(str(folder)).proofs == {}
    assert make_tables(folder) == before


def test_the_report_has_a_section_of_all_findings(folder: Path) -> None:
    prove(folder, FINE, OFF)
    text = page_of(folder).of("instruments")

    when = f"The instruments of node were tested on {WHEN}"
    assert f"{when}; off: energy package by powercap." in text
    assert "node: 1 ok, 1 off, 0 absent" in text
    # What is off comes first.
    assert text.index("stands still") < text.index("200 moves")


def test_a_report_of_a_node_that_was_not_tested_says_so(folder: Path) -> None:
    assert "were not tested before these runs: pinstudy prove" in page_of(folder).of("instruments")
