"""Settings as factors: compared with the first of them, and named in every answer."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from analysis.answer import analyze
from analysis.compare.side_by_side import compare
from analysis.compare.tables import compare_tables
from analysis.results.sources import open_results
from analysis.results.summaries import read_summaries
from analysis.tables.means import make_tables, write_tables
from analysis.verdict.data import as_data
from analysis.verdict_text.configurations import configuration_tables
from analysis.words.verdict import decision_lines, program_notes
from base.errors import ConfigError
from tests.support.results import (
    Record,
    Study,
    cells_by_title,
    decision,
    findings_of,
    left_out,
    only_table,
    write,
)

Times = Mapping[str, float]
KERNEL: Times = {"unpinned": 1.0, "pcores-pin": 0.9}


def under(of_schedulers: Mapping[str, Times], **asked: str) -> list[Record]:
    """Return the runs of a study of these schedulers, each with times by mapping."""
    runs: list[Record] = []
    for seed, (scheduler, times) in enumerate(of_schedulers.items()):
        first = seed * len(times)
        for run in Study(times, seed=seed + 1).records():
            number = first + run["case_number"]
            runs.append(
                run
                | {"case_number": number, "case_id": f"case{number}"}
                | {"settings": {"sched_ext": scheduler} | asked}
            )
    return runs


def test_the_scheduler_that_another_replaces_is_the_baseline_of_all(tmp_path: Path) -> None:
    studied = under({"kernel": KERNEL, "scx_lavd": {"unpinned": 0.8, "pcores-pin": 0.95}})
    findings = findings_of(tmp_path, studied)
    assert [case.number for case in only_table(findings).cases if case.is_baseline] == [1]
    outcomes = {
        case.number: case.comparisons["time"].outcome
        for case in only_table(findings).cases
        if "time" in case.comparisons
    }
    assert outcomes == {2: "better", 3: "better", 4: "better"}
    # They are one question: Holm counts all three.
    assert (findings.comparisons, findings.questions) == (3, 1)
    found = decision(findings)
    assert (found.choice, found.best and found.best.number) == ("leave", 3)
    assert found.gain and found.gain.among == 3
    assert decision_lines(findings)[0] == "Decision, time: leave the threads to scx_lavd (unpinned)"
    (largest, *_) = findings.largest_gains
    assert largest.case.label == "#3 unpinned (scx_lavd, performance)"
    best = as_data(findings)["tables"][0]["decisions"][0]["best"]
    assert (best["mapping"], best["settings"]) == ("unpinned", {"sched_ext": "scx_lavd"})


@pytest.mark.parametrize(
    ("times", "number", "under_whom"),
    [
        ({"unpinned": 1.0, "pcores-pin": 0.7}, 4, "scx_lavd"),
        ({"unpinned": 1.2, "pcores-pin": 1.3}, 2, "the kernel's own scheduler"),
    ],
)
def test_a_mapping_that_gains_is_named_with_its_scheduler(
    tmp_path: Path, times: Times, number: int, under_whom: str
) -> None:
    findings = findings_of(tmp_path, under({"kernel": KERNEL, "scx_lavd": times}))
    best = decision(findings).best
    assert best and best.number == number
    assert decision_lines(findings)[0] == (
        f"Decision, time: pin each thread on the P-cores, under {under_whom} (pcores-pin)"
    )


def test_where_all_else_is_worse_threads_are_left_to_the_first_scheduler(tmp_path: Path) -> None:
    slower = {"unpinned": 1.2, "pcores-pin": 1.3}
    findings = findings_of(
        tmp_path, under({"kernel": {"unpinned": 1.0, "pcores-pin": 1.1}, "scx_lavd": slower})
    )
    assert decision(findings).choice == "leave"
    assert [
        case.comparisons["time"].outcome for case in only_table(findings).cases if case.comparisons
    ] == ["worse"] * 3
    assert decision_lines(findings)[0] == (
        "Decision, time: leave the threads to the kernel's own scheduler (unpinned)"
    )


def test_a_scheduler_that_could_not_be_in_force_gives_its_place_to_the_next(tmp_path: Path) -> None:
    runs = under({"kernel": KERNEL, "scx_lavd": {"unpinned": 0.8, "pcores-pin": 0.7}})
    gone = [
        left_out(number, "only root may load it") | {
            "case_id": f"case{number}", "settings": {"sched_ext": "kernel"}, "threads": 8,
            "build": "libgomp", "mapping": mapping,
        }
        for number, mapping in ((1, "unpinned"), (2, "pcores-pin"))
    ]  # fmt: skip
    findings = findings_of(tmp_path, [*gone, *(run for run in runs if run["case_number"] > 2)])
    assert [case.number for case in only_table(findings).cases if case.is_baseline] == [3]


def test_switches_are_said_with_who_places_threads(tmp_path: Path) -> None:
    runs = under({"kernel": KERNEL}, energy_aware="off", itmt="on")
    findings = findings_of(tmp_path, runs)
    assert decision_lines(findings)[0] == (
        "Decision, time: pin each thread on the P-cores, under the kernel's own scheduler with EAS "
        "off and ITMT on (pcores-pin)"
    )


@pytest.mark.parametrize(
    ("pinned", "instruction"),
    [
        (0.9, "pin each thread on the P-cores with EPP power and turbo off (pcores-pin)"),
        (1.1, "leave the threads to the OS scheduler with EPP power and turbo off (unpinned)"),
    ],
)
def test_settings_of_any_kind_are_said_with_the_mapping(
    tmp_path: Path, pinned: float, instruction: str
) -> None:
    asked = {"settings": {"turbo": "off", "epp": "power"}}
    runs = [run | asked for run in Study({"unpinned": 1.0, "pcores-pin": pinned}).records()]
    assert decision_lines(findings_of(tmp_path, runs))[0] == f"Decision, time: {instruction}"


def test_a_column_has_the_settings_only_where_a_study_asks(tmp_path: Path) -> None:
    asked, usual = tmp_path / "asked", tmp_path / "usual"
    write(asked, under({"kernel": KERNEL, "scx_lavd --fast": KERNEL}))
    write(usual, Study(KERNEL).records())
    for layout in ("full", "published"):
        (table,) = make_tables(asked, layout)
        shown = [cells_by_title(table, row)["settings"] for row in range(4)]
        assert shown == ["kernel", "kernel", "scx_lavd --fast", "scx_lavd --fast"]
        (table,) = make_tables(usual, layout)
        assert "settings" not in cells_by_title(table)
    for folder, has_it in ((asked, True), (usual, False)):
        found = only_table(analyze(open_results(str(folder))))
        for table in configuration_tables(found, 0.01):
            assert ("settings" in cells_by_title(table)) == has_it
            assert all(len(row) == len(table.columns) for row in table.cells)


def test_tables_in_csv_keep_it_and_are_read_again(tmp_path: Path) -> None:
    write(tmp_path, under({"kernel": KERNEL, "scx_lavd": KERNEL}, energy_aware="on"))
    write_tables(make_tables(tmp_path), tmp_path)
    with (tmp_path / "tables.csv").open() as file:
        rows = list(csv.DictReader(file))
    kernel, lavd = (f"energy_aware=on | sched_ext={name}" for name in ("kernel", "scx_lavd"))
    assert [row["settings"] for row in rows] == [kernel, kernel, lavd, lavd]
    again = read_summaries(tmp_path / "tables.csv", "not in the file")
    assert [case.key.setting_words for case in again] == [
        "EAS on, kernel", "EAS on, kernel", "EAS on, scx_lavd", "EAS on, scx_lavd",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("epp", "settings 'epp' is not such as 'epp=power | turbo=off'"),
        ("epp=power | turbo=", "is not such as 'epp=power | turbo=off'"),
        ("eppp=power", "setting 'eppp' is not known; did you mean 'epp'?"),
    ],
)
def test_a_cell_of_settings_that_says_nothing_is_told(tmp_path: Path, cell: str, why: str) -> None:
    path = tmp_path / "summaries.csv"
    path.write_text(f"app,threads,mapping,elapsed_s_mean,settings\nlu,1,unpinned,4.5,{cell}\n")
    with pytest.raises(ConfigError, match=re.escape(why)):
        read_summaries(path, "not in the file")


def test_rows_of_two_results_are_the_same_only_under_the_same_settings(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write(one, under({"kernel": KERNEL, "scx_lavd": KERNEL}))
    write(other, under({"scx_lavd": KERNEL, "kernel": KERNEL}))
    both = compare(open_results(str(one)), open_results(str(other)))
    pairs = [(row.a, row.b) for row in both.pairs[0].rows]
    assert [(a.number, b.number) for a, b in pairs if a and b] == [(1, 3), (2, 4), (3, 1), (4, 2)]
    *_, table = compare_tables(both)
    assert "settings" in [column.title for column in table.columns]


def test_the_pareto_front_names_the_scheduler(tmp_path: Path) -> None:
    runs = [
        run | {"energy_pkg_j": 100 * run["elapsed_s"], "unavailable": {}}
        for run in under({"kernel": KERNEL, "scx_lavd": {"unpinned": 0.8, "pcores-pin": 0.95}})
    ]
    lines = list(program_notes(only_table(findings_of(tmp_path, runs))))
    assert any("#3 unpinned (scx_lavd, performance)" in line for line in lines)
