"""`pinstudy verdict` as a user types it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.cli import pinstudy
from tests.support.results import Study, write


def write_results(tmp_path: Path) -> Path:
    folder = tmp_path / "results" / "s" / "node1"
    write(folder, Study({"unpinned": 1.0, "pcores-pin": 0.9, "ecores-pin": 1.4}).records())
    return folder


def test_the_answer_comes_first_and_its_numbers_after_it(tmp_path: Path) -> None:
    folder = write_results(tmp_path)
    done = pinstudy(tmp_path, "verdict", str(folder), status=0)
    overview, detail = done.stdout.split("In detail")
    assert overview.startswith("To pin or not to pin?")
    assert "\nDecision   pin (pcores-pin), time -" in overview
    assert detail.lstrip().startswith("Decision, time: pin each thread on the P-cores (pcores-pin)")
    assert "decision: pin each thread on the P-cores (pcores-pin)" in done.stdout
    assert "lulesh, 8 threads, performance: typical time" in done.stdout
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
    decision = next(row for row in table["decisions"] if row["objective"] == "time")
    assert (decision["decision"], decision["best"]["mapping"]) == ("pin", "pcores-pin")
    assert decision["gain"]["ratio_low"] < by_number[2]["time_ratio"] < 0.91


def test_what_holds_across_configurations_is_in_the_json_as_numbers(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, "verdict", str(write_results(tmp_path)), "--json", "--no-files")
    (data,) = json.loads(done.stdout)
    levers = {lever["level"]: lever for lever in data["levers"]}
    assert {(of["factor"], of["reference"]) for of in data["levers"]} == {("mapping", "unpinned")}
    time = levers["ecores-pin"]["ranges"]["time"]
    assert time["interval_low"] < time["low"] == time["high"] < time["interval_high"]
    assert time["low"] == pytest.approx(1.4, rel=0.01)
    assert levers["ecores-pin"]["pairs"][0]["missing"]["energy"] == "not measured"
    (losses,) = data["one_for_all"]
    worst = {of["mapping"]: of["worst"]["ratio"] for of in losses["defaults"]}
    assert list(worst) == ["pcores-pin", "unpinned", "ecores-pin"]
    assert worst["ecores-pin"] == pytest.approx(1.4 / 0.9, rel=0.01)
    (best,) = data["best_cases"]
    assert best["ratio"] == pytest.approx(0.9, rel=0.01)
    assert best["not_shown_worse"] == best["unknown"] == []


def test_the_levers_of_the_publication_stand_under_its_overview(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, "verdict", "published:galante-2025", status=0)
    overview = done.stdout.split("In detail")[0]
    assert "governor powersave against performance: time " in overview
    _, governor = overview.split("\ngovernor: powersave against performance\n")
    (row,) = re.findall("^lulesh serial, 1 thread, unpinned +(.*)", governor, re.MULTILINE)
    # 65.419 of 45.073 s, 760.07 of 2215.08 J.
    assert re.fullmatch(r"\+45 +\+45.1 to \+45.2 +-66 +-50", row)


def test_the_published_results_have_a_verdict_and_no_files(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, "verdict", "published:galante-2025", status=0)
    assert "of 56 words change" in " ".join(done.stdout.split())
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())
