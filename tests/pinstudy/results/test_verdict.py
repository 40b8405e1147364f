"""`pinstudy verdict` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import pinstudy
from tests.support.results import Study, write


def write_results(tmp_path: Path) -> Path:
    folder = tmp_path / "results" / "s" / "node1"
    write(folder, Study({"scheduler": 1.0, "pcores-pin": 0.9, "ecores-pin": 1.4}).records())
    return folder


def test_the_answer_comes_first_and_its_numbers_after_it(tmp_path: Path) -> None:
    folder = write_results(tmp_path)
    done = pinstudy(tmp_path, "verdict", str(folder), status=0)
    overview, detail = done.stdout.split("In detail")
    assert overview.startswith("To pin or not to pin?")
    assert "\nAnswer     Pin threads on the P-cores (" in overview
    assert detail.lstrip().startswith("For time: to pin")
    assert "Pin each thread on the P-cores (#2 pcores-pin)" in done.stdout
    assert "ratios of typical values to the baseline" in done.stdout
    assert (folder / "verdict.md").read_text().startswith("# To pin or not to pin?")
    assert f"written: {folder / 'verdict.md'}" in done.stderr


def test_a_program_reads_it_as_json(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, "verdict", str(write_results(tmp_path)), "--json", "--no-files")
    (data,) = json.loads(done.stdout)
    (table,) = data["tables"]
    by_number = {row["case_number"]: row for row in table["comparisons"]}
    assert by_number[1]["is_baseline"]
    assert by_number[2]["time_outcome"] == "better"
    assert by_number[3]["time_outcome"] == "worse"
    assert by_number[2]["time_ratio"] == pytest.approx(0.9, rel=0.01)
    assert by_number[2]["time_ratio_low"] < by_number[2]["time_ratio"] < 0.91
    time = [row for row in table["statistics"] if row["objective"] == "time"]
    assert [row["n"] for row in time] == [10, 10, 10]


def test_the_published_results_have_a_verdict_and_no_files(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, "verdict", "published:galante-2025", status=0)
    assert "of 56 words change" in " ".join(done.stdout.split())
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())
