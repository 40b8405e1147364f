"""What a case costs on each core kind is in verdict, tables, CSV and report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.answer import analyze
from analysis.results.sources import open_results
from analysis.results.summaries import read_summaries
from analysis.tables.means import make_tables, render, tables_of_cases
from analysis.verdict.data import as_data
from analysis.verdict_text.costs import price_table
from analysis.verdict_text.document import as_markdown
from tests.analysis.report.pages import html_of
from tests.support.results import Study, findings_of, only_table, record, write

# Of each run of a case, beside a package energy of 2215.08 J.
UNPINNED = {"energy_by_kind_j": {"P": 1500.0, "E": 300.0}}
PINNED = {"energy_by_kind_j": {"P": 1100.5, "E": 7.25}}
WHY = "no power_core PMU here"


def study() -> Study:
    return Study(
        {"unpinned": 1.0, "pcores-pin": 0.8, "ecores-pin": 1.5},
        beside={
            "unpinned": UNPINNED,
            "pcores-pin": PINNED,
            "ecores-pin": {"energy_by_kind_j": {"P": 2.0, "E": 900.0}},
        },
    )


def test_the_verdict_has_what_cases_cost_by_kind(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, study())

    shown = as_markdown(findings)
    assert "energy by core kind" in shown
    for cell in ("1500.00", "300.00", "1100.50", "7.25"):
        assert f" {cell} |" in shown
    rows = as_data(findings)["tables"][0]["energy_by_kind"]
    assert [row["energy_by_kind_E_mean_j"] for row in rows] == [300.0, 7.25, 900.0]


def test_the_report_has_the_table(tmp_path: Path) -> None:
    findings_of(tmp_path, study())
    results = open_results(str(tmp_path))
    page = html_of(results)

    assert "energy by core kind</caption>" in page
    for cell in ("1500.00", "1107.75", "902.00"):
        assert cell in page


def test_the_table_has_each_kind_their_sum_and_its_share_of_the_package(tmp_path: Path) -> None:
    write(
        tmp_path,
        [
            record(1, 1, energy_by_kind_j={"P": 1000.0, "E": 500.0}, energy_pkg_j=2000.0),
            record(1, 2, energy_by_kind_j={"P": 1200.0, "E": 300.0}, energy_pkg_j=2000.0),
            record(3, 1, energy_by_kind_j={"P": 100.0}, energy_pkg_j=2000.0),
            record(4, 1, energy_pkg_j=2000.0),
        ],
    )
    table = price_table(only_table(analyze(open_results(str(tmp_path)))))

    assert table
    assert [column.title for column in table.columns[3:]] == [
        "on P-cores (J)", "on E-cores (J)", "on all cores (J)", "of the package (%)",
    ]  # fmt: skip
    # The sum of a kind that is not known is not known.
    assert [row[3:] for row in table.cells] == [
        ("1100.00", "400.00", "1500.00", "75.0"),
        ("100.00", "-", "-", "-"),
    ]


def test_joules_of_some_runs_say_of_how_many_they_are_the_mean(tmp_path: Path) -> None:
    runs = study().records()
    for run in runs:
        if run["repetition"] <= 4 and run["mapping"] == "pcores-pin":
            run["energy_by_kind_j"] = {"E": 7.25}
    table = only_table(findings_of(tmp_path, runs))

    priced = price_table(table)
    assert priced and priced.notes[0] == ("", "#2: means of some runs: P-cores: 6 of 10 runs")


def test_tables_have_a_column_a_kind_and_csv_can_be_read_again(tmp_path: Path) -> None:
    lacking = {"unavailable": {"energy_by_kind_j": WHY}}
    of_one_kind = {
        "energy_by_kind_j": {"P": 3.0},
        "unavailable": {"energy_by_kind_j.E": "the core of CPUs 11,23 has no CPU"},
    }
    write(
        tmp_path,
        [record(1, 1, **UNPINNED), record(3, 1, **lacking), record(4, 1, **of_one_kind)],
    )
    (table,) = make_tables(tmp_path)

    assert [column.title for column in table.columns[-2:]] == [
        "energy P-cores (J)", "energy E-cores (J)",
    ]  # fmt: skip
    assert [row[-2:] for row in table.cells] == [
        ("1500.00", "300.00"), ("n/a (b)", "n/a (b)"), ("3.00", "n/a (c)"),
    ]  # fmt: skip
    notes = dict(table.notes)
    assert notes["b"] == WHY
    assert notes["c"] == "the core of CPUs 11,23 has no CPU"
    assert table.raw_values[0]["energy_by_kind_P_mean_j"] == 1500.0

    copied = tmp_path / "copied.csv"
    copied.write_text(render([table], "csv"))
    again, *_ = read_summaries(copied, "not in the file")
    assert again.means_by_kind("energy_by_kind_j") == {
        "P": 1500.0, "E": 300.0,
    }  # fmt: skip


def test_where_no_case_has_it_the_reason_stands_below_the_table(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1, unavailable={"energy_by_kind_j": WHY}), record(3, 1)])
    (table,) = make_tables(tmp_path)
    assert ("", f"energy by core kind not measured: {WHY}") in table.notes

    not_asked = dict.fromkeys(("energy_by_kind_j", "energy_pkg_j"), "the study does not collect it")
    bare = tmp_path / "bare"
    write(bare, [record(1, 1, energy_pkg_j=None, unavailable=not_asked)])
    (table,) = make_tables(bare)
    assert not any("by core kind" in text for _, text in table.notes)


def test_of_a_package_that_a_file_of_means_gives_no_energy_there_is_no_share(
    tmp_path: Path,
) -> None:
    (tmp_path / "summaries.csv").write_text(
        "app,threads,mapping,n,elapsed_mean_s,energy_pkg_mean_j,energy_by_kind_P_mean_j\n"
        "lu,2,unpinned,3,1.5,,4.5\n"
    )
    table = price_table(only_table(analyze(open_results(str(tmp_path)))))
    assert table
    assert [row[3:] for row in table.cells] == [("4.50", "4.50", "-")]


def test_published_tables_and_results_without_it_are_as_they_were(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1, **UNPINNED)])
    (published,) = make_tables(tmp_path, "published")
    assert not any("cores" in column.title for column in published.columns)

    bare = tmp_path / "bare"
    write(bare, [record(1, 1), record(3, 1)])
    findings = analyze(open_results(str(bare)))
    assert price_table(only_table(findings)) is None
    assert as_data(findings)["tables"][0]["energy_by_kind"] == []


def test_columns_of_counters_that_were_off_are_marked(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1, **UNPINNED)])
    cases = open_results(str(tmp_path)).cases
    (table,) = tables_of_cases(cases, off={"energy_by_kind_j": "energy of cores P was off"})

    marked = [column.name for column in table.columns if column.field == "energy_by_kind_j"]
    assert marked == ["energy P-cores (a)", "energy E-cores (a)"]
    assert table.raw_values[0]["instruments_off"] == "energy_by_kind_j"


@pytest.mark.parametrize("value", [None, [], {"P": "1"}, {"P": -1.0}, {"X": 1.0}, {"P": 1e300}])
def test_what_is_no_energy_by_kind_is_none(tmp_path: Path, value: object) -> None:
    write(tmp_path, [record(1, 1), record(3, 1, energy_by_kind_j=value)])
    results = open_results(str(tmp_path))
    assert all(not case.by_kind("energy_by_kind_j") for case in results.cases)
    json.dumps(as_data(analyze(results)), allow_nan=False)
