"""The published results: what they hold, and their tables digit for digit."""

from __future__ import annotations

import csv
from itertools import product

import pytest

from analysis.format.table import Table
from analysis.published import names, publication
from analysis.tables.layouts import LayoutName
from analysis.tables.means import make_tables, render
from tests.support.results import cells_by_title

NAME = "galante-2025"
MAPPINGS = ("scheduler", "pcores-set", "pcores-pin", "ecores-set", "ecores-pin")
# Column of summaries.csv -> heading of the published layout, and of ours.
HEADINGS = {
    "elapsed_mean_s": ("time mean (s)", "time mean (s)"),
    "elapsed_sd_s": ("time std (s)", "sd (s)"),
    "freq_mean_ghz": ("frequency mean (GHz)", "frequency (GHz)"),
    "migrations_mean": ("CPU migrations", "migrations"),
    "cache_misses_mean": ("cache misses", "cache misses"),
    "energy_pkg_mean_j": ("energy package (J)", "energy package (J)"),
}


def rows(table_number: int) -> list[dict[str, str]]:
    """Return the published rows of a table in the order of their numbers."""
    with (publication(NAME).folder / "summaries.csv").open(newline="") as stream:
        found = [row for row in csv.DictReader(stream) if row["table_number"] == str(table_number)]
    return sorted(found, key=lambda row: int(row["case_number"]))


def table(number: int, layout: LayoutName) -> Table:
    return make_tables(f"published:{NAME}", layout)[number - 3]


def test_there_is_one_publication() -> None:
    assert names() == (NAME,)


@pytest.mark.parametrize("number", range(3, 10))
def test_a_table_has_the_ten_test_cases_in_the_published_order(number: int) -> None:
    numbered = [(row["case_number"], row["mapping"], row["governor"]) for row in rows(number)]

    cases = product(("performance", "powersave"), MAPPINGS)
    assert numbered == [(str(n), *case[::-1]) for n, case in enumerate(cases, 1)]


@pytest.mark.parametrize("number", range(3, 10))
def test_tables_3_to_9_come_out_as_published_digit_for_digit(number: int) -> None:
    published, ours = table(number, "published"), table(number, "full")

    for at, row in enumerate(rows(number)):
        cells, full = cells_by_title(published, at), cells_by_title(ours, at)
        assert (cells["test case #"], cells["mapping"], cells["governor"]) == (
            row["case_number"], row["mapping"], row["governor"],
        )  # fmt: skip
        for column, (heading, in_full) in HEADINGS.items():
            assert cells[heading] == full[in_full] == row[column]
        assert full["n"] == "10"


def test_table_10_comes_out_as_published_digit_for_digit() -> None:
    published = table(10, "published")

    for at, row in enumerate(rows(10)):
        cells = cells_by_title(published, at)
        assert (cells["guest threads"], cells["vCPUs"]) == ("4", "8")
        assert cells["vCPU mapping"] == row["vcpu_mapping"]
        assert cells["time mean (s)"] == row["elapsed_mean_s"]
        assert cells["time std (s)"] == row["elapsed_sd_s"]


# Numbers that anyone can look up in the publication, so that the file itself cannot drift.
@pytest.mark.parametrize(
    ("number", "case", "expected"),
    [
        (3, 3, ("56.165", "0.015", "4.690", "1", "1356548507", "2021.04")),
        (5, 9, ("124.454", "0.196", "3.962", "0", "5379033992", "1657.64")),
        (7, 8, ("45.130", "2.360", "3.413", "8", "2892967800", "1870.97")),
        (9, 10, ("11.0666", "0.001", "3.991", "8", "298500", "523.84")),
    ],
)
def test_the_file_holds_what_was_published(
    number: int, case: int, expected: tuple[str, ...]
) -> None:
    row = rows(number)[case - 1]
    assert tuple(row[column] for column in HEADINGS) == expected


@pytest.mark.parametrize("style", ["text", "markdown", "latex"])
def test_what_the_publication_does_not_state_is_said(style: str) -> None:
    text = render([table(3, "full")], style)

    assert "the publication does not give it" in text
    assert "schedule unknown, wait policy unknown" in text
    assert "standard error" in text


def test_tables_in_the_published_layout_have_the_published_numbers() -> None:
    tables = make_tables("published:galante-2025", "published")
    assert [table.caption.partition(":")[0] for table in tables] == [
        f"Table {number}" for number in range(3, 11)
    ]


def test_of_table_10_no_number_of_runs_is_known() -> None:
    assert {cells_by_title(table(10, "full"), at)["n"] for at in range(5)} == {"n/a"}
