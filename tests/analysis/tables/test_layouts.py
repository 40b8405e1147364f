"""The published layout: the columns, order and digits of Galante and Oyamada's tables 3 to 10."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from analysis.format.table import Table
from analysis.published import FOLDER
from analysis.results.case_summary import CaseSummary, Moments
from analysis.results.runs import read_runs
from analysis.results.sources import open_results
from analysis.results.summarise import summarise
from analysis.tables.layouts import LayoutName
from analysis.tables.means import render, tables_of_cases
from tests.analysis.tables.test_means import PUBLISHED, ten_runs
from tests.analysis.tables.test_vm_tables import guest
from tests.support.results import cells_by_title, left_out, record, summary, without, write

COLUMNS = [
    "test case #", "mapping", "governor", "time mean (s)", "time std (s)", "frequency mean (GHz)",
    "CPU migrations", "cache misses", "energy package (J)",
]  # fmt: skip
COLUMNS_OF_GUESTS = [
    "app", "guest threads", "vCPUs", "vCPU mapping", "time mean (s)", "time std (s)",
]  # fmt: skip


def published(folder: Path, records: list[dict[str, object]]) -> list[Table]:
    write(folder, records)
    return tables_of_cases(summarise(read_runs(folder)), layout="published")


def titles(table: Table) -> list[str]:
    return [column.title for column in table.columns]


def test_ten_runs_of_each_case_give_the_published_rows(tmp_path: Path) -> None:
    (table,) = published(tmp_path, [run for number in PUBLISHED for run in ten_runs(number)])

    assert titles(table) == COLUMNS
    assert [row[3:] for row in table.cells] == list(PUBLISHED.values())
    assert [row[:3] for row in table.cells] == [
        ("1", "scheduler", "performance"),
        ("3", "pcores-pin", "performance"),
        ("6", "scheduler", "powersave"),
    ]
    assert table.notes == ()


def test_the_publication_comes_out_digit_for_digit() -> None:
    results = open_results("published:galante-2025")
    tables = tables_of_cases(results.cases, results.remarks, "published")
    with (FOLDER / "galante-2025" / "summaries.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    of_programs = [
        (
            *(row["case_number"], row["mapping"], row["governor"]),
            *(row["elapsed_mean_s"], row["elapsed_sd_s"], row["freq_mean_ghz"]),
            *(row["migrations_mean"], row["cache_misses_mean"], row["energy_pkg_mean_j"]),
        )
        for row in rows
        if row["table_number"] != "10"
    ]
    of_guests = {
        (
            *(row["app"], row["threads"], row["vm_cpus"], row["vcpu_mapping"]),
            *(row["elapsed_mean_s"], row["elapsed_sd_s"]),
        )
        for row in rows
        if row["table_number"] == "10"
    }

    assert [titles(table) for table in tables] == [COLUMNS] * 7 + [COLUMNS_OF_GUESTS]
    assert [row for table in tables[:7] for row in table.cells] == of_programs
    assert len(of_programs) == 70
    assert set(tables[7].cells) == of_guests
    assert len(tables[7].cells) == len(of_guests) == 5


def test_times_keep_the_published_decimals_however_short_they_are(tmp_path: Path) -> None:
    (table,) = published(tmp_path, [record(1, 1, elapsed_s=0.0464), record(1, 2, elapsed_s=0.0468)])

    cells = cells_by_title(table)
    # The mean is 0.0466, the deviation 0.0004 / sqrt(2) = 0.00028.
    assert (cells["time mean (s)"], cells["time std (s)"]) == ("0.047", "0.000")


def test_counts_are_whole(tmp_path: Path) -> None:
    (table,) = published(
        tmp_path, [record(1, r, migrations=m) for r, m in ((1, 2), (2, 2), (3, 3))]
    )

    assert cells_by_title(table)["CPU migrations"] == "2"


def test_what_was_not_measured_is_na_there_too(tmp_path: Path) -> None:
    (table,) = published(
        tmp_path,
        [
            without(["energy_pkg_j"], "no permission", number=1, repetition=1),
            without(["energy_pkg_j"], "no permission", number=1, repetition=2),
            left_out(4, "no E-cores"),
            record(5, 1, status="failed", reason="exit status 1"),
        ],
    )

    first, second, third = (cells_by_title(table, row) for row in range(3))
    assert first["energy package (J)"] == "n/a (a)"
    assert list(second.values())[3:] == ["left out (b)", "-", "-", "-", "-", "-"]
    assert list(third.values())[3:] == ["n/a (c)", "-", "-", "-", "-", "-"]
    assert table.notes[:3] == (
        ("a", "no permission"),
        ("b", "left out: no E-cores"),
        ("c", "no run that could be averaged"),
    )


def test_guests_have_the_columns_of_their_own_table(tmp_path: Path) -> None:
    runs = [guest(n, r, elapsed_s=18.0 + r) for n in (1, 3) for r in (1, 2)]

    (table,) = published(tmp_path, runs)

    assert titles(table) == COLUMNS_OF_GUESTS
    assert table.cells == (
        ("lulesh", "4", "8", "scheduler", "19.500", "0.707"),
        ("lulesh", "4", "8", "pcores-pin", "19.500", "0.707"),
    )
    assert table.notes == ()


def test_rows_of_guests_that_look_alike_are_told_apart_below(tmp_path: Path) -> None:
    inside = {"mapping": "ecores-pin", "case_id": "inside", "case_number": 2}
    runs = [guest(1, r, **fields) for fields in ({}, inside) for r in (1, 2)]

    (table,) = published(tmp_path, runs)

    assert [text for _, text in table.notes] == [
        "row 1 is #1: scheduler in the guest, governor performance",
        "row 2 is #2: ecores-pin in the guest, governor performance",
    ]


def test_machine_readable_rows_are_the_same_in_both_layouts(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1), record(1, 2), left_out(4, "no E-cores")])
    cases = summarise(read_runs(tmp_path))

    csvs = [render(tables_of_cases(cases, layout=name), "csv") for name in ("full", "published")]

    assert csvs[0] == csvs[1]


def means(time: Moments, n: int | None = 10) -> CaseSummary:
    """Return a case of which only the time is known."""
    return summary(n=n, mapping="scheduler", elapsed_s=time)


@pytest.mark.parametrize("layout", ["full", "published"])
def test_means_without_runs_make_tables(layout: LayoutName) -> None:
    (table,) = tables_of_cases([means(Moments(10, 65.957, 0.109))], layout=layout)

    cells = cells_by_title(table)
    assert cells["time mean (s)"] == "65.957"
    assert cells["sd (s)" if layout == "full" else "time std (s)"] == "0.109"
    assert cells["cache misses"] == "n/a (a)"
    (row,) = table.exact
    assert (row["n"], row["elapsed_mean_s"], row["elapsed_median_s"]) == (10, 65.957, None)
    assert row["elapsed_cv"] == pytest.approx(0.109 / 65.957)


def test_digits_that_were_given_are_kept_and_those_of_a_computer_are_not() -> None:
    given = Moments(10, 65.957, 0.109, "65.95700", "0.10899999999999999")
    (table,) = tables_of_cases([means(given)], layout="published")

    cells = cells_by_title(table)
    assert (cells["time mean (s)"], cells["time std (s)"]) == ("65.95700", "0.109")


def test_the_digits_of_a_column_are_of_one_kind() -> None:
    given = ["65.9", "66.12345678"]
    cases = [means(Moments(10, float(text), 0.109, text)) for text in given]

    (table,) = tables_of_cases(cases)

    times = [cells_by_title(table, row)["time mean (s)"] for row in (0, 1)]
    assert times == ["65.900", "66.123"]


def test_a_number_of_runs_that_nobody_told_is_not_made_up() -> None:
    (table,) = tables_of_cases([means(Moments(None, 65.957, 0.109), n=None)])

    cells = cells_by_title(table)
    assert (cells["n"], cells["time mean (s)"], cells["sd (s)"]) == ("n/a", "65.957", "0.109")
    assert table.exact[0]["n"] is None


def test_a_deviation_that_was_not_given_is_na() -> None:
    (table,) = tables_of_cases([means(Moments(10, 65.957))])

    assert cells_by_title(table)["sd (s)"].startswith("n/a")
    assert "the standard deviation is not given" in dict(table.notes).values()
