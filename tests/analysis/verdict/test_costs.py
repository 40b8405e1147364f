"""What a case costs on each core kind, and how its work was divided among them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.format.table import Table
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.results.summaries import read_summaries
from pinstudy.analysis.tables.means import make_tables, render, tables_of_cases
from pinstudy.analysis.verdict.costs import waiting
from pinstudy.analysis.verdict.data import as_data
from pinstudy.analysis.verdict.model import CaseFinding
from pinstudy.analysis.verdict_text.tables import WITH_ANOTHER_SCHEDULE, division_table, price_table
from tests.analysis.report.pages import html_of
from tests.support.in_memory import judged, results_of
from tests.support.results import Study, notes_of, only_table, record, write

# Of each run of a case, beside a package energy of 2215.08 J.
UNPINNED = {"energy_by_kind_j": {"P": 1500.0, "E": 300.0}}
PINNED = {"energy_by_kind_j": {"P": 1100.5, "E": 7.25}}
WHY = "no power_core PMU here"


def test_the_table_has_each_kind_their_sum_and_its_share_of_the_package() -> None:
    findings = judged(
        [
            record(1, 1, energy_by_kind_j={"P": 1000.0, "E": 500.0}, energy_pkg_j=2000.0),
            record(1, 2, energy_by_kind_j={"P": 1200.0, "E": 300.0}, energy_pkg_j=2000.0),
            record(3, 1, energy_by_kind_j={"P": 100.0}, energy_pkg_j=2000.0),
            record(4, 1, energy_pkg_j=2000.0),
        ]
    )
    table = price_table(only_table(findings))

    assert table
    assert [column.title for column in table.columns[3:]] == [
        "on P-cores (J)", "on E-cores (J)", "on all cores (J)", "of the package (%)",
    ]  # fmt: skip
    # The sum of a kind that is not known is not known.
    assert [row[3:] for row in table.cells] == [
        ("1100.00", "400.00", "1500.00", "75.0"),
        ("100.00", "-", "-", "-"),
    ]


def test_joules_of_some_runs_say_of_how_many_they_are_the_mean() -> None:
    study = Study(
        {"unpinned": 1.0, "pcores-pin": 0.8}, beside={"unpinned": UNPINNED, "pcores-pin": PINNED}
    )
    runs = [
        run | {"energy_by_kind_j": {"E": 7.25}}
        if run["repetition"] <= 4 and run["mapping"] == "pcores-pin"
        else run
        for run in study.records()
    ]
    results = results_of(runs)
    findings = analyze(results)
    priced = price_table(only_table(findings))
    assert priced and priced.notes[0] == ("", "#2: means of some runs: P-cores: 6 of 10 runs")
    rows = as_data(findings)["tables"][0]["energy_by_kind"]
    assert [row["energy_by_kind_E_mean_j"] for row in rows] == [300.0, 7.25]
    assert "energy by core kind</caption>" in html_of(results)


def test_tables_have_a_column_a_kind_and_csv_can_be_read_again(tmp_path: Path) -> None:
    lacking = {"unavailable": {"energy_by_kind_j": WHY}}
    of_one_kind = {
        "energy_by_kind_j": {"P": 3.0},
        "unavailable": {"energy_by_kind_j.E": "the core of CPUs 11,23 has no CPU"},
    }
    write(
        tmp_path, [record(1, 1, **UNPINNED), record(3, 1, **lacking), record(4, 1, **of_one_kind)]
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


def test_of_a_package_without_energy_in_a_file_of_means_is_no_share(tmp_path: Path) -> None:
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
    findings = judged([record(1, 1), record(3, 1)])
    assert price_table(only_table(findings)) is None
    assert as_data(findings)["tables"][0]["energy_by_kind"] == []


def test_columns_of_counters_that_were_off_are_marked() -> None:
    cases = results_of([record(1, 1, **UNPINNED)]).cases
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


DIVIDED: dict[str, Any] = {
    "imbalance": 0.195,
    "waited": {"P": 0.38, "E": 0.01},
    "cpu_share": {"P": 0.385, "E": 0.615},
    "team_cpu_s": [{"P": 12.4, "E": 0.0}, {"P": 0.0, "E": 20.0}],
    "course": [{"P": 3.1, "E": 5.0}] * 4,
}


def division(waited: dict[str, Any], **fields: Any) -> tuple[CaseFinding, Table]:  # noqa: ANN401
    """Return the second of two cases, which waited, and the table of both."""
    runs = [record(case, n, **fields) for case in (1, 2) for n in (1, 2, 3, 4)]
    for number, run in enumerate(runs[4:]):
        run["waited"] = {kind: shares[number] for kind, shares in waited.items()}
    found = only_table(judged(runs))
    return found.cases[1], division_table(found) or Table("", (), ())


def test_kinds_of_which_one_waited_for_the_other_are_named() -> None:
    case, table = division({"P": (0.38, 0.36, 0.38, 0.40), "E": (0.0, 0.0, 0.02, 0.02)})

    found = waiting(case)
    assert found and (found.fast, found.slow, found.n) == ("P", "E", 4)
    # The mean of 36, 38, 38 and 40 is 38, their sd 1.6.
    assert [found.share, found.slow_share] == pytest.approx([0.38, 0.01])
    assert found.sd == pytest.approx(0.0163, abs=1e-4)
    assert notes_of(table) == [
        "#2: P-cores waited for E-cores: no work for 38 % of the time (sd 1.6, 4 runs), "
        "E-cores 1 %",
        WITH_ANOTHER_SCHEDULE,
    ]


@pytest.mark.parametrize(
    ("waited", "found"),
    [
        # Of three kinds the one that waited most and the one that waited least are named.
        ({"P": (0.6,) * 4, "E": (0.3,) * 4, "LP-E": (0.0,) * 4}, ("P", "LP-E")),
        # Less than a tenth of the time, and no more than runs differ by chance.
        ({"P": (0.09,) * 4, "E": (0.0,) * 4}, None),
        ({"P": (0.1, 0.6, 0.1, 0.6), "E": (0.0,) * 4}, None),
        ({"P": (0.5,) * 4}, None),
        ({}, None),
    ],
)
def test_a_small_or_uncertain_difference_is_not_mentioned(
    waited: dict[str, Any], found: tuple[str, str] | None
) -> None:
    case, table = division(waited)
    told = waiting(case)
    assert (told and (told.fast, told.slow)) == found
    assert bool(table.notes) == bool(found)


def test_a_dynamic_schedule_is_not_recommended_to_who_has_it() -> None:
    case, table = division({"P": (0.5,) * 4, "E": (0.0,) * 4}, schedule="dynamic")
    assert waiting(case)
    assert WITH_ANOTHER_SCHEDULE not in notes_of(table)


def test_verdict_report_and_tables_have_the_division() -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 1.2}, beside={"pcores-pin": DIVIDED})
    results = results_of(study)

    (row,) = as_data(analyze(results))["tables"][0]["divided_work"]
    assert (row["imbalance"], row["waited_P"], row["cpu_share_E"]) == (0.195, 0.38, 0.615)
    assert (row["waiting"]["fast"], row["waiting"]["slow"]) == ("P", "E")
    page = html_of(results)
    assert "how the work was divided" in page
    for cell in ("19.5", "38.0", "1.0", "38.5", "61.5"):
        assert f">{cell}</td>" in page, cell
    *_, measured = csv.DictReader(io.StringIO(render(tables_of_cases(results.cases), "csv")))
    assert [measured[name] for name in ("imbalance_mean", "waited_P", "cpu_share_E")] == [
        "0.195", "0.38", "0.615",
    ]  # fmt: skip
