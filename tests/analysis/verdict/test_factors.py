"""Settings and ranks: settings are factors with one baseline, each number of ranks has its own."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.compare.side_by_side import compare
from pinstudy.analysis.compare.tables import compare_tables
from pinstudy.analysis.findings.answers import answers_of
from pinstudy.analysis.results.baselines import baselines_of
from pinstudy.analysis.results.summaries import read_summaries
from pinstudy.analysis.tables.means import make_tables, tables_of_cases, write_tables
from pinstudy.analysis.verdict.data import as_data
from pinstudy.analysis.verdict_text.tables import configuration_tables
from pinstudy.analysis.words.verdict import decision, decision_lines
from pinstudy.base.errors import ConfigError
from tests.support.in_memory import judged, results_of
from tests.support.results import (
    TWO_THREADS,
    Record,
    Study,
    cells_by_title,
    left_out,
    only_table,
    spoilt,
    write,
)
from tests.support.results import decision as decision_on

Times = Mapping[str, float]
KERNEL: Times = {"unpinned": 1.0, "pcores-pin": 0.9}
FASTER: Times = {"unpinned": 0.8, "pcores-pin": 0.95}
SLOWER: Times = {"unpinned": 1.2, "pcores-pin": 1.3}


def under(schedulers: Mapping[str, Times], **asked: str) -> list[Record]:
    """Return the runs of a study of these schedulers, each with times by mapping."""
    return [
        run
        | {"case_number": number, "case_id": f"case{number}"}
        | {"settings": {"sched_ext": scheduler} | asked}
        for at, (scheduler, times) in enumerate(schedulers.items())
        for run in Study(times, seed=at + 1).records()
        for number in (at * len(times) + run["case_number"],)
    ]


def test_the_scheduler_that_another_replaces_is_the_baseline_of_all() -> None:
    findings = judged(under({"kernel": KERNEL, "scx_lavd": FASTER}))
    assert [case.number for case in only_table(findings).cases if case.is_baseline] == [1]
    outcomes = {
        case.number: case.comparisons["time"].outcome
        for case in only_table(findings).cases
        if "time" in case.comparisons
    }
    assert outcomes == {2: "better", 3: "better", 4: "better"}
    # They are one question: Holm counts all three.
    assert (findings.comparisons, findings.questions) == (3, 1)
    found = decision_on(findings)
    assert (found.choice, found.best and found.best.number) == ("leave", 3)
    assert found.gain and found.gain.among == 3
    (largest, *_) = findings.largest_gains
    assert largest.case.label == "#3 unpinned (scx_lavd, performance)"
    best = as_data(findings)["tables"][0]["decisions"][0]["best"]
    assert (best["mapping"], best["settings"]) == ("unpinned", {"sched_ext": "scx_lavd"})


@pytest.mark.parametrize(
    ("kernel", "lavd", "best", "instruction"),
    [
        (KERNEL, FASTER, 3, "leave the threads to scx_lavd (unpinned)"),
        (KERNEL, {"unpinned": 1.0, "pcores-pin": 0.7}, 4,
         "pin each thread on the P-cores, under scx_lavd (pcores-pin)"),
        (KERNEL, SLOWER, 2,
         "pin each thread on the P-cores, under the kernel's own scheduler (pcores-pin)"),
        ({"unpinned": 1.0, "pcores-pin": 1.1}, SLOWER, 1,
         "leave the threads to the kernel's own scheduler (unpinned)"),
    ],
)  # fmt: skip
def test_a_mapping_is_named_with_its_scheduler(
    kernel: Times, lavd: Times, best: int, instruction: str
) -> None:
    findings = judged(under({"kernel": kernel, "scx_lavd": lavd}))
    found = decision_on(findings).best
    assert found and found.number == best
    assert decision_lines(findings)[0] == f"Decision, time: {instruction}"


@pytest.mark.parametrize(
    ("times", "settings", "instruction"),
    [
        (KERNEL, {"sched_ext": "kernel", "energy_aware": "off", "itmt": "on"},
         "pin each thread on the P-cores, under the kernel's own scheduler with EAS off and ITMT "
         "on (pcores-pin)"),
        (KERNEL, {"turbo": "off", "epp": "power"},
         "pin each thread on the P-cores with EPP power and turbo off (pcores-pin)"),
        (SLOWER, {"turbo": "off", "epp": "power"},
         "leave the threads to the OS scheduler with EPP power and turbo off (unpinned)"),
    ],
)  # fmt: skip
def test_settings_of_any_kind_are_said_with_the_mapping(
    times: Times, settings: Mapping[str, str], instruction: str
) -> None:
    findings = judged(run | {"settings": settings} for run in Study(times).records())
    assert decision_lines(findings)[0] == f"Decision, time: {instruction}"


def test_a_scheduler_that_could_not_be_in_force_gives_its_place_to_the_next() -> None:
    runs = under({"kernel": KERNEL, "scx_lavd": FASTER})
    gone = [
        left_out(number, "only root may load it") | {
            "case_id": f"case{number}", "settings": {"sched_ext": "kernel"}, "threads": 8,
            "build": "libgomp", "mapping": mapping,
        }
        for number, mapping in ((1, "unpinned"), (2, "pcores-pin"))
    ]  # fmt: skip
    findings = judged([*gone, *(run for run in runs if run["case_number"] > 2)])
    assert [case.number for case in only_table(findings).cases if case.is_baseline] == [3]


def test_a_column_has_the_settings_only_where_a_study_asks() -> None:
    asked, usual = under({"kernel": KERNEL, "scx_lavd --fast": KERNEL}), Study(KERNEL).records()
    for runs, has_it in ((asked, True), (usual, False)):
        (table,) = tables_of_cases(results_of(runs).cases)
        shown = {cells_by_title(table, row).get("settings") for row in range(len(table.cells))}
        assert shown == ({"kernel", "scx_lavd --fast"} if has_it else {None})
        for table in configuration_tables(only_table(judged(runs)), 0.01):
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


def test_rows_of_two_results_are_the_same_only_under_the_same_settings() -> None:
    both = compare(
        results_of(under({"kernel": KERNEL, "scx_lavd": KERNEL})),
        results_of(under({"scx_lavd": KERNEL, "kernel": KERNEL})),
    )
    pairs = [(row.a, row.b) for row in both.pairs[0].rows]
    assert [(a.number, b.number) for a, b in pairs if a and b] == [(1, 3), (2, 4), (3, 1), (4, 2)]
    *_, table = compare_tables(both)
    assert "settings" in [column.title for column in table.columns]


def test_each_number_of_ranks_has_a_baseline_a_decision_and_a_lever_of_its_own() -> None:
    results = results_of(TWO_THREADS.records())
    findings = analyze(results)
    compared = [
        case.case_id for table in findings.tables for case in table.cases if case.comparisons
    ]
    assert compared == ["table1case000000000002", "table2case000000000002"]
    assert [[case.is_baseline for case in table.cases] for table in findings.tables] == [
        [True, False],
        [True, False],
    ]
    assert [decision(table.decisions[0]) for table in findings.tables] == [
        "pin each thread of the rank on the P-cores (pcores-pin)",
        "pin each rank to a CPU of the P-cores, divided among the ranks in order (pcores-pin)",
    ]
    (lever,) = answers_of(results, findings).levers
    assert (lever.factor, lever.level, len(lever.pairs)) == ("mapping", "pcores-pin", 2)


def test_ranks_of_another_launcher_are_no_baseline() -> None:
    cases = results_of(spoilt(TWO_THREADS.records(), "unpinned", mpi="mpich")).cases
    baselines = baselines_of(cases)
    assert {case.key.mapping for case in cases if case.key.case_id in baselines} == {"unpinned"}
