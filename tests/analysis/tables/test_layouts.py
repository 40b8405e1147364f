"""The published layout: the columns, order and digits of Galante and Oyamada's tables 3 to 10."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from analysis.format.table import Table
from analysis.measures import Stats
from analysis.published import names, publication
from analysis.records.runs import read_runs
from analysis.results.case import Case
from analysis.results.summarise import summarise
from analysis.tables.layouts import LayoutName
from analysis.tables.means import make_tables, render, tables_of_cases
from tests.analysis.tables.test_means import doubtful
from tests.analysis.tables.test_vm_tables import guest
from tests.support.golden import GoldenFile
from tests.support.results import (
    MAPPINGS,
    Record,
    cells_by_title,
    left_out,
    notes_of,
    record,
    summary,
    write,
)

COLUMNS = [
    "test case #", "mapping", "governor", "time mean (s)", "time std (s)", "frequency mean (GHz)",
    "CPU migrations", "cache misses", "energy package (J)",
]  # fmt: skip
COLUMNS_OF_GUESTS = [
    "app", "guest threads", "vCPUs", "vCPU mapping", "time mean (s)", "time std (s)",
]  # fmt: skip
# Columns of summaries.csv, and what they are called in our own layout.
NUMBERS = {
    "elapsed_mean_s": "time mean (s)",
    "elapsed_sd_s": "sd (s)",
    "freq_mean_ghz": "frequency (GHz)",
    "migrations_mean": "migrations",
    "cache_misses_mean": "cache misses",
    "energy_pkg_mean_j": "energy package (J)",
}


def published(folder: Path, records: Sequence[Record]) -> list[Table]:
    write(folder, records)
    return tables_of_cases(summarise(read_runs(folder)), layout="published")


def titles(table: Table) -> list[str]:
    return [column.title for column in table.columns]


def test_what_was_not_measured_and_guests_that_look_alike_are_told_there_too(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    inside = {"mapping": "ecores-pin", "case_id": "inside", "case_number": 2}
    of_guests = [guest(n, r, elapsed_s=18.0 + r) for n in (1, 3) for r in (1, 2)]
    outside = {"case_id": "outside"}
    alike = [guest(1, r, threads=2, **of) for of in (outside, inside) for r in (1, 2)]
    on_node = published(tmp_path / "node", doubtful())
    in_guests = published(tmp_path / "guests", [*of_guests, *alike])

    text = render([*on_node, *in_guests], "text")

    assert text == snapshot(extension_class=GoldenFile)


def rows(number: str) -> list[dict[str, str]]:
    """Return the published rows of a table in the order of their numbers."""
    with (publication("galante-2025").folder / "summaries.csv").open(newline="") as stream:
        found = [row for row in csv.DictReader(stream) if row["table_number"] == number]
    return sorted(found, key=lambda row: int(row["case_number"]))


@pytest.mark.parametrize("number", range(3, 11))
def test_the_publication_comes_out_digit_for_digit(number: int) -> None:
    theirs, ours = (
        make_tables("published:galante-2025", layout)[number - 3]
        for layout in ("published", "full")
    )

    assert theirs.caption.startswith(f"Table {number}:")
    if number == 10:
        names_of = ("app", "threads", "vm_cpus", "vcpu_mapping", "elapsed_mean_s", "elapsed_sd_s")
        assert titles(theirs) == COLUMNS_OF_GUESTS
        assert theirs.cells == tuple(tuple(row[name] for name in names_of) for row in rows("10"))
        # The publication does not say how often it was run.
        assert {cells_by_title(ours, at)["n"] for at in range(5)} == {"n/a"}
        return
    numbers = [tuple(row[name] for name in NUMBERS) for row in rows(str(number))]
    cases = [case[::-1] for case in product(("performance", "powersave"), MAPPINGS)]
    assert titles(theirs) == COLUMNS
    assert [row[0] for row in theirs.cells] == [str(at) for at in range(1, 11)]
    assert [row[1:3] for row in theirs.cells] == cases
    assert [row[3:] for row in theirs.cells] == numbers
    in_full = [cells_by_title(ours, at) for at in range(10)]
    assert [tuple(row[name] for name in NUMBERS.values()) for row in in_full] == numbers
    assert {row["n"] for row in in_full} == {"10"}


# Numbers that anyone can look up in the publication, so that the file itself cannot drift.
@pytest.mark.parametrize(
    ("number", "case", "expected"),
    [
        ("3", 3, ("56.165", "0.015", "4.690", "1", "1356548507", "2021.04")),
        ("5", 9, ("124.454", "0.196", "3.962", "0", "5379033992", "1657.64")),
        ("7", 8, ("45.130", "2.360", "3.413", "8", "2892967800", "1870.97")),
        ("9", 10, ("11.0666", "0.001", "3.991", "8", "298500", "523.84")),
    ],
)
def test_the_file_holds_what_was_published(
    number: str, case: int, expected: tuple[str, ...]
) -> None:
    row = rows(number)[case - 1]
    assert tuple(row[column] for column in NUMBERS) == expected


def test_what_the_publication_does_not_state_is_noted() -> None:
    assert names() == ("galante-2025",)
    text = render(make_tables("published:galante-2025")[:1], "text")

    assert "the publication does not give it" in text
    assert "schedule unknown, wait policy unknown" in text
    assert "standard error" in text


def test_times_keep_the_published_decimals_and_counts_are_whole(tmp_path: Path) -> None:
    times = [(0.0464, 2), (0.0468, 2), (0.0466, 3)]
    (table,) = published(
        tmp_path,
        [record(1, r, elapsed_s=s, migrations=m) for r, (s, m) in enumerate(times, 1)],
    )

    cells = cells_by_title(table)
    # The mean is 0.0466, the deviation 0.0002.
    assert (cells["time mean (s)"], cells["time std (s)"]) == ("0.047", "0.000")
    assert cells["CPU migrations"] == "2"


def test_machine_readable_rows_are_the_same_in_both_layouts(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1), record(1, 2), left_out(4, "no E-cores")])

    full, theirs = (render(make_tables(tmp_path, name), "csv") for name in ("full", "published"))

    assert full == theirs


def means(time: Stats, n: int | None = 10) -> Case:
    """Return a case of which only the time is known."""
    return summary(n=n, mapping="unpinned", elapsed_s=time)


@pytest.mark.parametrize(("layout", "sd"), [("full", "sd (s)"), ("published", "time std (s)")])
@pytest.mark.parametrize(
    ("time", "shown"),
    [
        (Stats(10, 65.957, 0.109), ("65.957", "0.109")),
        # Digits that were given are kept, and those of a computer are not.
        (Stats(10, 65.957, 0.109, mean_decimals=5, sd_decimals=17), ("65.95700", "0.109")),
        (Stats(10, 65.957), ("65.957", "n/a (a)")),
    ],
    ids=["numbers", "digits", "no deviation"],
)
def test_means_without_runs_make_tables(
    layout: LayoutName, sd: str, time: Stats, shown: tuple[str, str]
) -> None:
    (table,) = tables_of_cases([means(time)], layout=layout)

    cells = cells_by_title(table)
    assert (cells["time mean (s)"], cells[sd]) == shown
    assert cells["cache misses"].startswith("n/a (")
    (row,) = table.raw_values
    assert (row["n"], row["elapsed_mean_s"], row["elapsed_median_s"]) == (10, 65.957, None)
    if shown[1] == "0.109":
        assert row["elapsed_cv"] == pytest.approx(0.109 / 65.957)
    else:
        assert "the standard deviation is not given" in notes_of(table)


def test_the_digits_of_a_column_are_of_one_kind() -> None:
    given = [
        Stats(10, 65.9, 0.109, mean_decimals=1),
        Stats(10, 66.12345678, 0.109, mean_decimals=8),
    ]

    (table,) = tables_of_cases([means(stats) for stats in given])

    times = [cells_by_title(table, row)["time mean (s)"] for row in (0, 1)]
    assert times == ["65.900", "66.123"]


def test_an_unknown_number_of_runs_stays_unknown() -> None:
    (table,) = tables_of_cases([means(Stats(None, 65.957, 0.109), n=None)])

    cells = cells_by_title(table)
    assert (cells["n"], cells["time mean (s)"], cells["sd (s)"]) == ("n/a", "65.957", "0.109")
    assert table.raw_values[0]["n"] is None
