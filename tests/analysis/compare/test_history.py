"""One study over time: which results belong to it, their series, and what changed beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.compare.conditions import condition_of
from pinstudy.analysis.compare.history import (
    ResultsHistory,
    judge_newest,
    open_history,
    with_series,
)
from pinstudy.analysis.compare.history_tables import history_data, history_tables
from pinstudy.base.errors import UserError
from tests.support.results import Record, Study, cells_by_title, left_out, notes_of, spoilt, write

TIMES = {"unpinned": 1.0, "pcores-pin": 0.9}


def results(
    folder: Path,
    day: int,
    times: Mapping[str, float] = TIMES,
    runs: list[Record] | None = None,
    **fields: Any,  # noqa: ANN401
) -> Path:
    """Write the results of a day below an archive, as `run --results archive/DAY` does."""
    records = runs or Study(times, noise=0.004, repetitions=6, seed=day).records()
    started = f"2026-02-{day:02d}"
    beside = {"study": "ci", "node_id": "node1"} | fields
    for run in records:
        if "started_at" in run:
            run["started_at"] = run["started_at"].replace("2025-03-01", started)
    path = folder / started / "ci" / str(beside["node_id"])
    write(path, [run | beside for run in records])
    return path


def stepped(folder: Path) -> None:
    """Write six days, in the last three of which pcores-pin takes 5 % longer."""
    for day in range(1, 7):
        slow = TIMES | {"pcores-pin": 0.945}
        results(folder, day, slow if day > 3 else TIMES)


def history(folder: Path, objective: str = "") -> ResultsHistory:
    return with_series(open_history([str(folder)]), objective)


def test_a_change_is_told_with_its_place_size_and_that_no_fact_changed(tmp_path: Path) -> None:
    stepped(tmp_path)
    changes, days, series = history_tables(history(tmp_path))
    assert len(changes.cells) == 1
    shown = cells_by_title(changes)
    assert (shown["case"], shown["from #"]) == ("lulesh x8 #2 pcores-pin (performance)", "4")
    assert float(shown["change (%)"]) == pytest.approx(5, abs=0.5)
    assert shown["outcome"] == "worse"
    assert "no recorded fact changed" in notes_of(changes)
    assert [row[0] for row in days.cells] == list("123456")
    marked = [cells_by_title(series, at)["#2 pcores-pin"].endswith("*") for at in range(6)]
    assert marked == [False, False, False, True, False, False]


@pytest.mark.parametrize(
    ("field", "old", "new"),
    [("kernel", "6.1", "6.12"), ("microcode", "0x2c", "0x2d"), ("built_with", "gcc 13", "gcc 14")],
)
def test_a_fact_is_told_with_both_values(tmp_path: Path, field: str, old: str, new: str) -> None:
    for day in range(1, 7):
        times = TIMES if day < 4 else TIMES | {"pcores-pin": 0.945}
        results(tmp_path, day, times, None, **{field: old if day < 4 else new})
    found = history(tmp_path)
    (change,) = (change for line in found.series for change in line.changes)
    word = field.replace("_", " ")
    assert (change.before, change.after) == (2, 3)
    assert change.facts == (f"{word}: {old} to {new}",)
    assert [found.changed_before(at) for at in range(6)].count(change.facts) == 1


def test_results_stand_in_the_order_of_their_first_runs(tmp_path: Path) -> None:
    late, early = results(tmp_path / "a", 9), results(tmp_path / "b", 2)
    found = open_history([str(late), str(early)])
    assert [entry.started.day for entry in found.entries] == [2, 9]
    assert [entry.runs for entry in found.entries] == [12, 12]
    assert (found.study, found.node) == ("ci", "node1")


def test_a_folder_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    stepped(tmp_path)
    found = open_history([str(tmp_path), str(tmp_path / "2026-02-01")])
    assert len(found.entries) == 6


def test_a_case_without_a_value_has_a_reason(tmp_path: Path) -> None:
    stepped(tmp_path)
    results(tmp_path, 7, {"unpinned": 1.0})
    lost = spoilt(Study(TIMES, repetitions=6), "pcores-pin", range(1, 4), status="failed")
    results(tmp_path, 8, runs=lost)
    found = history(tmp_path)
    line = next(line for line in found.series if "pcores-pin" in line.name)
    assert line.at == (0, 1, 2, 3, 4, 5)
    assert line.absent == {6: "not in these results", 7: "not compared: 3 lost runs"}
    data = history_data(found)
    case = next(case for case in data["cases"] if "pcores-pin" in case["case"])
    assert list(case["absent"].values()) == list(line.absent.values())
    assert len(case["points"]) == 6
    assert json.dumps(data)


def test_a_series_has_the_median_of_each_result_with_its_interval(tmp_path: Path) -> None:
    for day, middle in ((1, 10.0), (2, 20.0)):
        runs = Study({"unpinned": 1.0}, repetitions=5).records()
        for run, more in zip(runs, (-0.2, -0.1, 0.0, 0.1, 0.3), strict=True):
            run["elapsed_s"] = middle + more
        results(tmp_path, day, runs=runs)
    (case,) = history_data(history(tmp_path))["cases"]
    assert [point["median"] for point in case["points"]] == [10.0, 20.0]
    assert [point["mean"] for point in case["points"]] == pytest.approx([10.02, 20.02])
    assert all(point["median_low"] < point["median"] < point["median_high"]
               for point in case["points"])  # fmt: skip
    assert [point["level_number"] for point in case["points"]] == [1, 1]


def test_the_newest_is_judged_against_the_level_before(tmp_path: Path) -> None:
    stepped(tmp_path)
    results(tmp_path, 7, {"unpinned": 1.06, "pcores-pin": 0.945}, kernel="6.13")
    judged = judge_newest(condition_of("worse 2%"), open_history([str(tmp_path)]))
    assert [case.case for case in judged.failed] == ["lulesh x8 #1 unpinned (performance)"]
    assert judged.lines[0] == "--fail-if 'worse 2%': failed, 1 of 2 cases against the level before"
    same = judge_newest(condition_of("equivalent 3%"), open_history([str(tmp_path)]))
    assert [case.case for case in same.failed] == ["lulesh x8 #2 pcores-pin (performance)"]
    larger = judge_newest(condition_of("worse 8%"), open_history([str(tmp_path)]))
    assert (larger.failed, larger.compared_any) == ([], True)


def test_a_case_that_is_gone_is_missed_once(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        results(tmp_path, day)
    results(tmp_path, 4, {"unpinned": 1.0})
    condition = condition_of("not compared")
    judged = judge_newest(condition, open_history([str(tmp_path)]))
    assert [case.case for case in judged.failed] == ["lulesh x8 #2 pcores-pin (performance)"]
    results(tmp_path, 5, {"unpinned": 1.0})
    judged = judge_newest(condition, open_history([str(tmp_path)]))
    assert (judged.failed, len(judged.cases)) == ([], 1)


def test_a_case_that_the_node_cannot_run_any_more_is_left_aside(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        results(tmp_path, day)
    # A row that is left out has an id without the program's arguments.
    gone = left_out(2, "CPU 3 is offline") | {"build": "libgomp", "threads": 8}
    gone |= {"mapping": "pcores-pin", "binding": "pin", "case_id": "other"}
    results(tmp_path, 4, runs=[*Study({"unpinned": 1.0}, repetitions=6).records(), gone])
    found = open_history([str(tmp_path)])
    assert judge_newest(condition_of("not compared"), found).failed == []
    assert with_series(found).series[1].absent == {3: "CPU 3 is offline"}


def test_two_results_have_no_scatter_to_judge_the_newest_by(tmp_path: Path) -> None:
    results(tmp_path, 1)
    results(tmp_path, 2, {"unpinned": 2.0, "pcores-pin": 2.0})
    judged = judge_newest(condition_of("worse"), open_history([str(tmp_path)]))
    assert [case.outcome for case in judged.cases] == ["not compared", "not compared"]


def test_another_objective_has_its_own_series(tmp_path: Path) -> None:
    for day in range(1, 7):
        energy = {"unpinned": 1.0, "pcores-pin": 0.8 if day < 4 else 0.9}
        runs = Study(TIMES, energy=energy, repetitions=6, seed=day).records()
        results(tmp_path, day, runs=runs)
    assert not any(line.changes for line in history(tmp_path).series)
    (change,) = (change for line in history(tmp_path, "energy").series for change in line.changes)
    assert change.point.difference.ratio == pytest.approx(0.9 / 0.8, rel=0.01)
    with pytest.raises(UserError, match="'enrgy'"):
        history(tmp_path, "enrgy")


def test_one_study_and_node_are_chosen_of_several(tmp_path: Path) -> None:
    for day in (1, 2):
        for node in ("node1", "node2"):
            results(tmp_path, day, node_id=node)
        other = results(tmp_path / "other", day, study="nightly")
    with pytest.raises(UserError, match=r"several nodes \('node1', 'node2'\); choose with --node"):
        open_history([str(tmp_path / "2026-02-01"), str(tmp_path / "2026-02-02")])
    found = open_history([str(tmp_path)], node="node2")
    assert [entry.results.cases[0].key.node_id for entry in found.entries] == ["node2"] * 2
    with pytest.raises(UserError, match="--node: "):
        open_history([str(tmp_path)], node="nod2")
    with pytest.raises(
        UserError, match=r"several studies \('ci', 'nightly'\); choose with --study"
    ):
        open_history([str(tmp_path), str(other)])


@pytest.mark.parametrize(
    ("again", "why"),
    [(False, "needs the results of two days or more"), (True, "holds runs of .*a/2026-02-01")],
)
def test_results_that_are_no_history_are_refused(tmp_path: Path, again: bool, why: str) -> None:
    results(tmp_path / "a", 1)
    if again:
        results(tmp_path / "b", 1)
    folders = [str(path) for path in sorted(tmp_path.iterdir())]
    with pytest.raises(UserError, match=why):
        open_history(folders)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"repetition_rule": {"race": {}}}, "its cases raced"),
        ({"started_at": "soon"}, "no record says when its run started"),
    ],
)
def test_results_without_an_order_or_of_a_race_are_refused(
    tmp_path: Path, fields: dict[str, Any], why: str
) -> None:
    write(tmp_path, [run | fields for run in Study(TIMES).records()])
    with pytest.raises(UserError, match=why):
        open_history([str(tmp_path)])


def test_means_without_runs_are_refused() -> None:
    with pytest.raises(UserError, match="holds means without runs"):
        open_history(["published:galante-2025"])
