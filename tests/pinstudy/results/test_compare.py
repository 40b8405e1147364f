"""`pinstudy compare` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.analysis.compare.test_side_by_side import both_programs, results
from tests.support.cli import pinstudy


def test_results_are_compared_with_the_publication(tmp_path: Path) -> None:
    results(tmp_path / "mine", {1: 10.0, 2: 10.0, 3: 12.0, 4: 18.0, 5: 18.0})
    done = pinstudy(tmp_path, "compare", "mine", "published:galante-2025")
    assert (done.returncode, done.stderr) == (0, "")
    assert "A: mine" in done.stdout
    assert "B: published:galante-2025" in done.stdout
    assert "time: 4 of 4 rows that both decide agree" in done.stdout
    assert "1.246 to 1.247" in done.stdout


def test_json_has_conclusions_and_rows(tmp_path: Path) -> None:
    results(tmp_path / "a", {1: 10.0, 3: 12.0})
    results(tmp_path / "b", {1: 30.0, 3: 27.0})
    done = pinstudy(tmp_path, "compare", "a", "b", "--json")
    comparison = json.loads(done.stdout)
    found = comparison["conclusions"][0]
    assert (found["objective"], found["agree"], found["disagree"]) == ("time", 0, 1)
    assert [row["conclusions"] for row in comparison["rows"][:2]] == ["baseline", "disagree"]


def test_one_folder_is_enough_for_the_programs_of_one_algorithm(tmp_path: Path) -> None:
    both_programs(tmp_path / "fidelity", {1: 10.0, 3: 12.0}, {1: 11.0, 3: 13.2})
    done = pinstudy(tmp_path, "compare", "fidelity")
    assert (done.returncode, done.stderr) == (0, "")
    assert "A: lulesh-llnl" in done.stdout
    assert "B: lulesh" in done.stdout
    assert "time: 1 of 1 rows that both decide agree" in done.stdout
