"""`pinstudy compare` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


def test_json_has_agreements_and_rows(tmp_path: Path) -> None:
    results(tmp_path / "a", {1: 10.0, 3: 12.0})
    results(tmp_path / "b", {1: 30.0, 3: 27.0})
    done = pinstudy(tmp_path, "compare", "a", "b", "--json")
    comparison = json.loads(done.stdout)
    found = comparison["agreements"][0]
    assert (found["objective"], found["agree"], found["disagree"]) == ("time", 0, 1)
    assert [row["agreement"] for row in comparison["rows"][:2]] == ["baseline", "disagree"]


def test_one_folder_is_enough_for_the_programs_of_one_algorithm(tmp_path: Path) -> None:
    both_programs(tmp_path / "fidelity", {1: 10.0, 3: 12.0}, {1: 11.0, 3: 13.2})
    done = pinstudy(tmp_path, "compare", "fidelity")
    assert (done.returncode, done.stderr) == (0, "")
    assert "A: lulesh-llnl" in done.stdout
    assert "B: lulesh" in done.stdout
    assert "time: 1 of 1 rows that both decide agree" in done.stdout


def three_nodes(folder: Path) -> None:
    """Write the results of three nodes; the second one has no E-cores."""
    results(folder / "site" / "n1", {1: 10.0, 2: 9.0, 3: 12.0, 4: 18.0}, node_id="n1")
    results(folder / "site" / "n2", {1: 10.0, 2: 10.5, 3: 8.0}, node_id="n2")
    results(folder / "site" / "n3", {1: 30.0, 2: 28.0, 3: 36.0, 4: 45.0}, node_id="n3")


@pytest.mark.parametrize("arguments", [("site",), ("site/n1", "site/n2", "site/n3")])
def test_of_several_nodes_the_default_of_the_site_is_named(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    three_nodes(tmp_path)
    data = json.loads(pinstudy(tmp_path, "compare", *arguments, "--json", status=0).stdout)
    found = next(of for of in data["one_for_all_nodes"] if of["objective"] == "time")
    # Behind the best at most: 10 of 8 s, 10.5 of 8 s, and 36 of 28 s or 12 of 9 s.
    assert found["default"] == "unpinned"
    worst = {of["mapping"]: of["worst"]["ratio"] for of in found["defaults"]}
    expected = {"unpinned": 10 / 8, "pcores-set": 10.5 / 8, "pcores-pin": 12 / 9}
    assert worst == pytest.approx(expected, rel=1e-3)
    assert found["lacking"] == {"ecores-set": ["B"]}
    assert [of["worst_on"] for of in found["defaults"]] == ["B", "B", "A"]
    shown = pinstudy(tmp_path, "compare", *arguments, status=0).stdout
    assert "One mapping for all nodes: time" in shown
    assert "default of the site: unpinned" in shown


def test_several_results_of_one_node_have_no_default_of_a_site(tmp_path: Path) -> None:
    for name in ("before", "after", "later"):
        results(tmp_path / name, {1: 10.0, 2: 9.0})
    data = json.loads(pinstudy(tmp_path, "compare", "before", "after", "later", "--json").stdout)
    assert data["one_for_all_nodes"] == []


def test_the_verdict_of_a_folder_of_nodes_ends_with_the_default_of_the_site(
    tmp_path: Path,
) -> None:
    three_nodes(tmp_path)
    shown = pinstudy(tmp_path, "verdict", "site", "--no-files", status=0).stdout
    assert "default of the site: unpinned" in shown.split("One mapping for all nodes: time")[1]
    answers = json.loads(
        pinstudy(tmp_path, "verdict", "site", "--no-files", "--json", status=0).stdout
    )
    assert [of["results"] for of in answers] == ["site/n1", "site/n2", "site/n3", "site"]
    time = answers[-1]["one_for_all_nodes"][0]
    assert (time["default"], time["nodes"]) == ("unpinned", ["n1", "n2", "n3"])
