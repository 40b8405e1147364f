"""Layouts: Galante and Oyamada's columns with their digits, and tables that fit a terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.format.table import Table, render, terminal_text
from pinstudy.analysis.measures import MEASURES, Stats
from pinstudy.analysis.objectives import EDP
from pinstudy.analysis.published import publication
from pinstudy.analysis.records.runs import read_runs
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.results.summarise import summarise
from pinstudy.analysis.tables.layouts import LayoutName
from pinstudy.analysis.tables.means import (
    Choice,
    NodeCases,
    make_tables,
    named_nodes,
    node_of,
    tables_of_cases,
    tables_of_nodes,
)
from pinstudy.analysis.verdict_text.tables import configuration_tables
from pinstudy.analysis.words.verdict import objective_decimals
from tests.analysis.tables.test_vm_tables import guest
from tests.support.results import (
    MAPPINGS,
    Record,
    cells_by_title,
    left_out,
    notes_of,
    record,
    summary,
    without,
    write,
)
from tests.support.tools import ROOT

PUBLICATION = "published:galante-2025"
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


def test_the_published_layout_tells_what_is_missing_and_which_guests_look_alike(
    tmp_path: Path,
) -> None:
    inside = {"mapping": "ecores-pin", "case_id": "inside", "case_number": 2}
    alike = [guest(1, r, **fields) for fields in ({"case_id": "outside"}, inside) for r in (1, 2)]
    runs = [record(1, 1), without(["cache_misses"], "perf: refused", number=2)]

    (on_node,) = published(tmp_path / "node", [*runs, left_out(4, "no E-cores here")])
    (in_guests,) = published(tmp_path / "guests", alike)

    assert titles(on_node) == COLUMNS
    assert cells_by_title(on_node, 1)["cache misses"] == "n/a (b)"
    assert cells_by_title(on_node, 2)["time mean (s)"] == "left out (c)"
    assert notes_of(on_node)[1:] == ["perf: refused", "left out: no E-cores here"]
    assert titles(in_guests) == COLUMNS_OF_GUESTS
    assert in_guests.cells == (("lulesh", "4", "8", "unpinned", "45.000", "0.000"),) * 2
    assert notes_of(in_guests) == [
        "row 1 is #1: unpinned in the guest, governor performance",
        "row 2 is #2: ecores-pin in the guest, governor performance",
    ]


def rows(number: str) -> list[dict[str, str]]:
    """Return the published rows of a table in the order of their numbers."""
    with (publication("galante-2025").folder / "summaries.csv").open(newline="") as stream:
        found = [row for row in csv.DictReader(stream) if row["table_number"] == number]
    return sorted(found, key=lambda row: int(row["case_number"]))


@pytest.mark.parametrize("number", range(3, 11))
def test_the_publication_comes_out_digit_for_digit(number: int) -> None:
    theirs, ours = (
        make_tables(PUBLICATION, layout)[number - 3] for layout in ("published", "full")
    )

    assert theirs.caption.startswith(f"Table {number}:")
    if number == 10:
        columns = ("app", "threads", "vm_cpus", "vcpu_mapping", "elapsed_mean_s", "elapsed_sd_s")
        assert titles(theirs) == COLUMNS_OF_GUESTS
        assert theirs.cells == tuple(tuple(row[name] for name in columns) for row in rows("10"))
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


def test_times_keep_the_published_decimals_and_counts_are_whole(tmp_path: Path) -> None:
    times = [(0.0464, 2), (0.0468, 2), (0.0466, 3)]
    runs = [record(1, r, elapsed_s=s, migrations=m) for r, (s, m) in enumerate(times, 1)]

    (table,) = published(tmp_path, runs)
    cells = cells_by_title(table)

    # The mean is 0.0466, the deviation 0.0002.
    assert (cells["time mean (s)"], cells["time std (s)"]) == ("0.047", "0.000")
    assert cells["CPU migrations"] == "2"
    # Machine-readable rows do not depend on the layout.
    full, theirs = (render(make_tables(tmp_path, name), "csv") for name in ("full", "published"))
    assert full == theirs


def test_small_energies_have_three_digits_in_all_tables(tmp_path: Path) -> None:
    runs = [
        record(n, r, elapsed_s=0.01 * (1 + r / 1000), energy_pkg_j=0.5 * n * (1 + r / 1000))
        for n in (1, 3)
        for r in (1, 2, 3)
    ]
    write(tmp_path, runs)
    (table,) = make_tables(tmp_path, "full")
    # 0.5 J and 1.5 J, times 1.002: the smallest has three digits.
    cells = [cells_by_title(table, row)["energy package (J)"] for row in (0, 1)]
    assert cells == ["0.501", "1.503"]
    (found,) = analyze(open_results(str(tmp_path))).tables
    *_, of_energy = configuration_tables(found, 0.01)
    assert [row[3] for row in of_energy.cells] == cells
    # 0.01002 s x 0.501 J is 0.00502 J s; large ones keep two.
    assert [objective_decimals(EDP, [value, 3.0]) for value in (0.00502, 5.02)] == [5, 2]


def means(time: Stats, n: int | None = 10) -> Case:
    """Return a case of which only the time is known."""
    return summary(n=n, mapping="unpinned", elapsed_s=time)


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
def test_means_without_runs_make_tables(time: Stats, shown: tuple[str, str]) -> None:
    layouts: dict[LayoutName, str] = {"full": "sd (s)", "published": "time std (s)"}
    for layout, sd in layouts.items():
        (table,) = tables_of_cases([means(time)], layout=layout)
        cells = cells_by_title(table)
        assert (cells["time mean (s)"], cells[sd]) == shown
        assert cells["cache misses"].startswith("n/a (")
    (row,) = table.raw_values
    assert (row["n"], row["elapsed_mean_s"], row["elapsed_median_s"]) == (10, 65.957, None)
    if time.sd == 0.109:
        assert row["elapsed_cv"] == pytest.approx(0.109 / 65.957)
    else:
        assert "the standard deviation is not given" in notes_of(table)


def test_unknown_numbers_of_runs_stay_so_and_digits_of_a_column_are_of_one_kind() -> None:
    given = [(65.9, 1), (66.12345678, 8)]
    cases = [means(Stats(None, mean, 0.109, mean_decimals=n), n=None) for mean, n in given]
    (table,) = tables_of_cases(cases)
    rows = [cells_by_title(table, at) for at in (0, 1)]
    assert [row["time mean (s)"] for row in rows] == ["65.900", "66.123"]
    assert {(row["n"], row["sd (s)"]) for row in rows} == {("n/a", "0.109")}
    assert table.raw_values[0]["n"] is None


# The short layout: of a mapping its time, frequency, migrations, cache misses, energy.
ROWS = {"unpinned": (18.0, 4.9, 2886, 2.6e9, 2086.4), "pcores-pin": (18.5, 4.8, 8, 2.5e9, 1989.1)}


def cases_of(**fields: Stats) -> list[Case]:
    """Return cases that differ in all columns but the governor, with some of their measures."""
    return [
        summary(number, mapping=mapping, governor="performance", **numbers(*values) | fields)
        for number, (mapping, values) in enumerate(ROWS.items(), 1)
    ]


def numbers(time: float, ghz: float, moves: float, misses: float, energy: float) -> dict[str, Any]:
    return {
        "elapsed_s": Stats(10, time, time / 100),
        "freq_mean_ghz": Stats(10, ghz, 0.1),
        "migrations": Stats(10, moves, 1.0),
        "cache_misses": Stats(10, misses, 1e6),
        "energy_pkg_j": Stats(10, energy, 1.0),
    }


def short(cases: Sequence[Case], columns: Sequence[str] = (), width: int | None = None) -> Table:
    (table,) = tables_of_nodes([NodeCases(cases)], Choice("short", columns, width))
    return table


def from_records(folder: Path, records: Sequence[Record]) -> Table:
    write(folder, records)
    (table,) = tables_of_nodes([node_of(open_results(str(folder)))], Choice("short"))
    return table


def headings(table: Table) -> list[str]:
    return [column.short or column.name for column in table.columns]


def column(table: Table, heading: str) -> list[str]:
    at = headings(table).index(heading)
    return [row[at] for row in table.cells]


def test_the_publication_fits_eighty_columns() -> None:
    node = node_of(open_results(PUBLICATION))
    tables = tables_of_nodes([node], Choice("short", width=80), share_notes=True)

    text = terminal_text(tables, 80)

    assert len(tables) == 8
    assert max(map(len, text.splitlines())) <= 80
    # What is noted of all tables stands once, at the end.
    assert text.count("published by Galante and Oyamada") == 1


def test_large_counts_have_an_exponent_and_numbers_four_digits_at_most() -> None:
    table = short(cases_of())
    assert dict(zip(headings(table), table.cells[0], strict=True)) == {
        "#": "1",
        "mapping": "unpinned",
        "time s": "18.000",
        "sd": "0.180",
        "GHz": "4.90",
        "migr.": "2886",
        "cache misses": "2.600e+09",
        "pkg J": "2086",
    }


def test_what_all_rows_share_is_a_line_but_of_one_row() -> None:
    table = short(cases_of(migrations=Stats(10, 2.0, 0.0)))
    assert not {"migr.", "governor"} & {*headings(table)}
    assert notes_of(table) == ["in all rows: governor performance, migrations 2"]
    assert table.facts.startswith("n = 10; ")
    assert headings(short(cases_of()[:1]))[:3] == ["#", "mapping", "governor"]


def test_what_no_row_has_is_a_line_and_what_some_lack_a_column(tmp_path: Path) -> None:
    lacking = ["cache_misses", "energy_pkg_j"]
    some = without(["cache_misses"], "gone", number=3, repetition=1)
    none = [
        without(lacking, "no counters here", number=n, repetition=r, elapsed_s=n + r)
        for n in (1, 3)
        for r in (1, 2)
    ]
    table, of_some = (
        from_records(tmp_path / name, runs)
        for name, runs in (("none", none), ("some", [record(1), some]))
    )

    told = "not measured: cache misses, energy package (no counters here)"
    assert told in notes_of(table)
    assert not {"cache misses", "pkg J"} & set(headings(table))
    assert column(of_some, "cache misses") == ["1.377e+09", "n/a (a)"]
    assert ("a", "gone") in of_some.notes


def test_lost_runs_have_a_column_where_there_are_any(tmp_path: Path) -> None:
    kept = [record(n, r) for n in (1, 3) for r in (1, 2)]
    good = from_records(tmp_path / "good", kept)
    bad = from_records(tmp_path / "bad", [*kept, record(3, 3, status="failed", reason="crash")])
    assert "lost" not in headings(good)
    assert column(bad, "lost") == ["0", "1"]


def test_rows_without_numbers_keep_their_place(tmp_path: Path) -> None:
    runs = [record(1), record(3, elapsed_s=50.0), left_out(4, "no E-cores")]
    table = from_records(tmp_path, runs)
    assert column(table, "time s")[2] == "left out (a)"
    only = from_records(tmp_path / "only", [left_out(4, "no E-cores"), left_out(5, "none")])
    assert headings(only)[-1] == "time s"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("energy time", ["pkg J", "time s"]),
        ("time median max", ["time s", "median s", "max s"]),
        ("governor", ["governor", "time s", "sd", "GHz", "migr.", "cache misses", "pkg J"]),
        ("switches user", ["switches", "user s"]),
    ],
)
def test_chosen_columns_are_there_in_their_order(columns: str, expected: list[str]) -> None:
    assert headings(short(cases_of(), columns.split())) == ["#", "mapping", *expected]


def test_columns_without_room_are_named_and_the_energy_goes_last() -> None:
    table = short(cases_of(), width=48)
    assert "pkg J" in headings(table)
    told = "no room for migrations, cache misses; --columns chooses, --all shows all"
    assert told in notes_of(table)
    assert max(map(len, terminal_text([table], 48).splitlines())) <= 48


def node(name: str, footnotes: tuple[str, ...] = ()) -> NodeCases:
    cases = [replace(case, key=replace(case.key, node_id=name)) for case in cases_of()]
    return NodeCases(cases, footnotes)


def test_nodes_stand_in_one_table_and_say_once_what_holds_for_all() -> None:
    nodes = [node("one"), node("two", footnotes=("warm",))]

    (table,) = tables_of_nodes(nodes, Choice("short"))

    assert headings(table)[:3] == ["#", "node", "mapping"]
    assert column(table, "node") == ["one", "one", "two", "two"]
    assert notes_of(table) == ["in all rows: governor performance", "two: warm"]
    found = list(csv.DictReader(io.StringIO(render([table], "csv"))))
    assert [row["node_id"] for row in found] == ["one", "one", "two", "two"]
    both = [node(name, footnotes=("warm",)) for name in ("one", "two")]
    (alike,) = tables_of_nodes(both, Choice("short"))
    assert notes_of(alike)[1:] == ["warm"]


def test_cards_have_the_names_of_their_files() -> None:
    card = open_results(str(ROOT / "cards" / "galante-2025.json"))
    nodes = named_nodes([card, replace(card, name="elsewhere/other.json")])
    first = tables_of_nodes(nodes, Choice("short"))[0]
    assert list(dict.fromkeys(column(first, "node"))) == ["galante-2025", "other"]
    assert len(first.cells) == 20


def test_each_measure_has_a_name_of_its_own() -> None:
    all_names = [measure.name for measure in MEASURES]
    assert len(set(all_names)) == len(all_names)
