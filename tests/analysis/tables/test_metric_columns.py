"""What programs print about themselves: columns in their own units, with reasons for what lacks."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.format.table import Table
from pinstudy.analysis.results.summaries import read_summaries
from pinstudy.analysis.tables.means import make_tables, render, tables_of_cases
from pinstudy.base.errors import ConfigError
from tests.support.results import Record, cells_by_title, notes_of, record, tables_from

UNITS = {"rate": "Gflop/s", "steps": "1", "copy": "MB/s"}


def printed(number: int, repetition: int = 1, **metrics: Any) -> Record:  # noqa: ANN401
    """Return a run of an app with these metrics, of which it printed some."""
    absent = {
        f"metrics.{name}": f"stdout has nothing that matches '{name}'"
        for name in UNITS
        if name not in metrics
    }
    return record(
        number,
        repetition,
        metrics=metrics,
        metric_units=UNITS,
        metric_better={"rate": "higher"},
        unavailable=absent,
    )


def rows_of_csv(tables: list[Table]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(tables, "csv"))))


def test_each_metric_is_a_column_in_its_own_unit_in_the_app_s_order(tmp_path: Path) -> None:
    runs = [(6.0, 100), (7.0, 100)]
    (table,) = tables_from(
        tmp_path,
        [
            printed(1, n, rate=rate, steps=steps, copy=2e9)
            for n, (rate, steps) in enumerate(runs, 1)
        ],
    )

    assert [column.title for column in table.columns][-3:] == [
        "rate (Gflop/s)", "steps", "copy (MB/s)",
    ]  # fmt: skip
    assert table.cells[0][-3:] == ("6.5", "100", "2.0000e+09")
    (row,) = rows_of_csv([table])
    # The deviation of 6 and 7 with n - 1 is the root of a half.
    assert (row["metric_rate_mean"], row["metric_rate_sd"][:7]) == ("6.5", "0.70710")
    assert (row["metric_rate_unit"], row["metric_rate_better"]) == ("Gflop/s", "higher")
    assert (row["metric_steps_unit"], row["metric_steps_better"]) == ("1", "")


def test_a_metric_that_was_not_printed_has_its_reason(tmp_path: Path) -> None:
    runs = [printed(1, 1, rate=6.0, steps=1), printed(1, 2, steps=1), printed(2, rate=8.0, steps=1)]
    (table,) = tables_from(tmp_path, runs)
    first, second = (cells_by_title(table, row) for row in (0, 1))

    assert first["rate (Gflop/s)"].startswith("6 (")
    assert second["rate (Gflop/s)"] == "8"
    assert first["copy (MB/s)"] == second["copy (MB/s)"]
    assert first["copy (MB/s)"].startswith("n/a (")
    nothing = "stdout has nothing that matches '{}'"
    of_some = f"mean of 1 of 2 runs; the others: {nothing.format('rate')}"
    assert {nothing.format("copy"), of_some} <= set(notes_of(table))
    row, _ = rows_of_csv([table])
    assert row["metric_copy_mean"] == ""
    assert f"metric_copy: {nothing.format('copy')}" in row["reasons"]


def test_of_many_metrics_the_first_have_columns_and_the_csv_has_all(tmp_path: Path) -> None:
    units = {f"m{number}": "ms" for number in (9, 3, 7, 1, 5, 2)}
    values = {name: float(name[1:]) for name in units}
    (table,) = tables_from(tmp_path, [record(metrics=values, metric_units=units)])

    titles = [column.title for column in table.columns]
    assert titles[-4:] == ["m9 (ms)", "m3 (ms)", "m7 (ms)", "m1 (ms)"]
    assert "the program prints more, which tables.csv has: m5, m2" in notes_of(table)
    (row,) = rows_of_csv([table])
    assert {name: float(row[f"metric_{name}_mean"]) for name in units} == values


def test_numbers_of_several_units_are_not_averaged_nor_put_under_one_unit(tmp_path: Path) -> None:
    runs = [(1, 1, 20.0, "GB/s"), (2, 1, 21e3, "MB/s"), (3, 1, 22.0, "GB/s"), (3, 2, 22e3, "MB/s")]
    (table,) = tables_from(
        tmp_path,
        [
            record(number, repetition, metrics={"copy": rate}, metric_units={"copy": unit})
            for number, repetition, rate, unit in runs
        ],
    )

    cells = [cells_by_title(table, row)["copy"] for row in range(3)]
    assert cells[:2] == ["20 GB/s", "21000 MB/s"]
    assert cells[2].startswith("n/a (")
    reason = "runs have it in GB/s and in MB/s, and numbers of several units have no mean"
    compared = "rows have copy in GB/s and in MB/s: they are not compared by it"
    assert {reason, compared} <= set(notes_of(table))
    assert rows_of_csv([table])[2]["metric_copy_mean"] == ""


HOSTILE = {
    "mapping": "s",
    "a|b & c_d": "<b>%</b>",
    "=1+1": "x" * 1000,
    "esc\x1b[31m": "s",
    "bidi": "\u202es",
    "list": ["s"],
    "m" * 5000: "=cmd",
}


def test_hostile_names_and_units_stay_in_their_cells(tmp_path: Path) -> None:
    values = dict.fromkeys(HOSTILE, 1.5) | {"=1+1": 1e99, "list": -1e99}
    (table,) = tables_from(
        tmp_path,
        [
            record(
                1, 1, metrics=values, metric_units=HOSTILE, metric_better={"mapping": ["lower"]}
            ),
            record(1, 2, metrics=values, metric_units=[HOSTILE], metric_better="higher"),
        ],
    )

    titles = [column.title for column in table.columns]
    assert titles[-4:] == ["metric mapping (s)", "a|b & c_d (<b>%</b>)", "=1+1", "bidi"]
    assert table.cells[0][-2:] == ("1.0000e+99", "1.5")
    for style in ("text", "markdown", "latex", "csv"):
        text = render([table], style)
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert r"a\|b \& c\_d (\<b\>%\</b\>)" in render([table], "markdown")
    assert max(map(len, notes_of(table))) < 500
    (row,) = rows_of_csv([table])
    assert row["metric_mapping_better"] == ""
    assert "metric_esc\x1b[31m_mean" not in row


def test_the_tables_of_one_node_are_another_s_summaries(tmp_path: Path) -> None:
    tables = tables_from(
        tmp_path, [printed(1, n, rate=rate, steps=7) for n, rate in ((1, 6.0), (2, 7.0))]
    )
    # The published layout has the publication's columns only.
    (published,) = make_tables(tmp_path, "published")
    assert "rate (Gflop/s)" not in [column.title for column in published.columns]
    assert published.raw_values[0]["metric_rate_mean"] == 6.5
    path = tmp_path / "summaries.csv"
    path.write_text(render(tables, "csv"))

    again = tables_of_cases(read_summaries(path, "not given"))

    assert again[0].columns[-3:] == tables[0].columns[-3:]
    assert again[0].cells[0][-3:-1] == ("6.5", "7.0")
    for name in ("mean", "sd", "unit", "better"):
        column = f"metric_rate_{name}"
        assert again[0].raw_values[0][column] == tables[0].raw_values[0][column]
    assert "stdout has nothing that matches 'copy'" in notes_of(again[0])


def imported(folder: Path, column: str, cell: str) -> Table:
    path = folder / "summaries.csv"
    path.write_text(f"app,threads,mapping,n,{column}\nlu,1,unpinned,5,{cell}\n")
    (table,) = tables_of_cases(read_summaries(path, "not given"))
    return table


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("metric_rate_mean", "fast", "is not a number"),
        ("metric_rate_sd", "-1", "is below 0"),
        ("metric_rate_better", "more", "direction 'more' is not known"),
    ],
)
def test_mistakes_in_imported_metrics_are_told(
    tmp_path: Path, column: str, cell: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        imported(tmp_path, column, cell)


def test_an_imported_mean_may_be_below_0(tmp_path: Path) -> None:
    assert imported(tmp_path, "metric_balance_mean", "-3.250").cells[0][-1] == "-3.250"
