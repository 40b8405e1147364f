"""What lists show: studies with what they have here, results with how far they are, commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from configs.library import list_studies, load_study
from pinstudy.cli import COMMANDS, GROUPS
from runners.study.machine import open_machine
from tests.support.cli import pinstudy
from tests.support.results import Study, spoilt, write
from tests.support.trees import build_tree


def test_studies_are_listed_with_their_cases_and_time_here(tmp_path: Path) -> None:
    tree = build_tree(tmp_path / "tree", "kvm-guest")
    rows = json.loads(
        pinstudy(tmp_path, "studies", "--sysroot", str(tree), "--json", status=0).stdout
    )
    machine = open_machine(tree, None)
    assert [row["name"] for row in rows] == [study.name for study in list_studies()]
    by_name = {row["name"]: row for row in rows}
    for name in ("quick", "paper"):
        plan = machine.plan(load_study(name))
        assert by_name[name]["cases"] == len(plan.cases)
        assert bool(by_name[name]["expected_s"]) == bool(plan.cases)
    assert any("governor" in reason for reason in by_name["paper"]["reasons"])

    shown = pinstudy(tmp_path, "studies", "--sysroot", str(tree), status=0).stdout
    (quick,) = (line for line in shown.splitlines() if line.split()[0] == "quick")
    assert str(by_name["quick"]["cases"]) in quick.split() and "A first look" in quick


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    far_apart = Study(time={"unpinned": 1.0, "pcores-pin": 2.0})
    write(folder / "clear" / "mynode", far_apart.records())
    write(folder / "lossy" / "mynode", spoilt(far_apart, "pcores-pin", {2, 3}, status="timeout"))
    write(folder / "broken" / "mynode", far_apart.records()).write_text("{\n")
    (folder / "latency" / "mynode").mkdir(parents=True)
    return tmp_path


def test_results_are_listed_with_runs_lost_runs_and_whether_they_decide(results: Path) -> None:
    rows = json.loads(pinstudy(results, "results", "--json", status=0).stdout)
    broken, clear, lossy = rows
    assert (clear["study"], clear["node"], clear["results"]) == (
        *("clear", "mynode"),
        "results/clear/mynode",
    )
    assert clear["decided"] is True and clear["lost"] == 0 < clear["runs"]
    assert lossy["lost"] == 2 and lossy["runs"] == clear["runs"]
    assert clear["day"] and not clear["problem"]
    assert broken["runs"] is None and "no run in its records" in broken["problem"]

    lines = pinstudy(results, "results", status=0).stdout.splitlines()
    assert lines[0].split() == ["study", "node", "day", "runs", "lost", "outcome"]
    (line,) = (line.split() for line in lines if line.split()[0] == "clear")
    assert (line[1], line[-1]) == ("mynode", "decided")
    assert "tables results/broken/mynode` says why" in " ".join(" ".join(lines).split())


def test_where_no_results_are_it_says_what_makes_some(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, "results", status=0)
    assert done.stdout == "" and "run quick" in done.stderr
    assert json.loads(pinstudy(tmp_path, "results", "--json", status=0).stdout) == []


def test_the_help_has_every_command_in_its_group(tmp_path: Path) -> None:
    shown = pinstudy(tmp_path, "--help", status=0).stdout
    titles = [line.rstrip(":") for line in shown.splitlines() if line[:1].isupper()]
    assert titles[-len(GROUPS) :] == list(GROUPS) == ["Study", "Results", "Node", "Batch"]
    for title, names in GROUPS.items():
        section = shown.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        first = [line.split()[0] for line in section.splitlines() if line[2:3].strip()]
        assert first == list(names)
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)
