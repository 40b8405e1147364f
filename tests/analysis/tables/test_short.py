"""The tables that fit: the publication's columns, and once what all rows share."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from analysis.format.styles import render
from analysis.format.table import Table
from analysis.format.terminal import terminal_text
from analysis.measures import MEASURES, Stats
from analysis.results.case import Case
from analysis.results.sources import open_results
from analysis.tables.means import Choice, NodeCases, named_nodes, node_of, tables_of_nodes
from tests.support.golden import GoldenFile
from tests.support.results import Record, left_out, record, summary, without, write
from tests.support.tools import ROOT

PUBLICATION = "published:galante-2025"
# A mapping's time, frequency, migrations, cache misses, energy.
ROWS = {
    "unpinned": (18.0, 4.9, 2886, 2.6e9, 2086.4),
    "pcores-pin": (18.5, 4.8, 8, 2.5e9, 1989.1),
}


def rows(**fields: Stats) -> list[Case]:
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


def headings(table: Table) -> list[str]:
    return [column.short or column.name for column in table.columns]


def texts(table: Table) -> list[str]:
    return [text for _, text in table.notes]


def test_the_publication_fits_eighty_columns(snapshot: SnapshotAssertion) -> None:
    node = node_of(open_results(PUBLICATION))
    tables = tables_of_nodes([node], Choice("short", width=80), share_notes=True)

    text = terminal_text(tables, 80)

    assert max(map(len, text.splitlines())) <= 80
    assert text == snapshot(extension_class=GoldenFile)


def test_large_counts_have_an_exponent_and_other_numbers_four_digits_at_most() -> None:
    table = short(rows())

    assert headings(table) == [
        "#",
        "mapping",
        "time s",
        "sd",
        "GHz",
        "migr.",
        "cache misses",
        "pkg J",
    ]
    assert table.cells[0] == (
        "1",
        "unpinned",
        "18.000",
        "0.180",
        "4.90",
        "2886",
        "2.600e+09",
        "2086",
    )


def test_what_all_rows_share_is_a_line() -> None:
    table = short(rows(migrations=Stats(10, 2.0, 0.0)))

    assert "migr." not in headings(table) and "governor" not in headings(table)
    assert texts(table) == ["in all rows: governor performance, migrations 2"]
    assert table.facts.startswith("n = 10; ")


def test_one_row_alone_keeps_its_columns() -> None:
    assert headings(short(rows()[:1]))[:3] == ["#", "mapping", "governor"]


def test_what_no_row_has_is_a_line_with_each_reason_once(tmp_path: Path) -> None:
    lacking = ["cache_misses", "energy_pkg_j"]
    records = [
        without(lacking, "no counters here", number=n, repetition=r, elapsed_s=n + r)
        for n in (1, 3)
        for r in (1, 2)
    ]
    table = from_records(tmp_path, records)

    assert "not measured: cache misses, energy package (no counters here)" in texts(table)
    assert not {"cache misses", "pkg J"} & set(headings(table))


def from_records(folder: Path, records: Sequence[Record]) -> Table:
    write(folder, records)
    (table,) = tables_of_nodes([node_of(open_results(str(folder)))], Choice("short"))
    return table


def test_what_some_rows_lack_stays_a_column(tmp_path: Path) -> None:
    table = from_records(
        tmp_path, [record(1), without(["cache_misses"], "gone", number=3, repetition=1)]
    )

    at = headings(table).index("cache misses")
    assert [row[at] for row in table.cells] == ["1.377e+09", "n/a (a)"]
    assert ("a", "gone") in table.notes


def test_lost_runs_have_a_column_where_there_are_any(tmp_path: Path) -> None:
    kept = [record(n, r) for n in (1, 3) for r in (1, 2)]
    good = from_records(tmp_path / "good", kept)
    bad = from_records(tmp_path / "bad", [*kept, record(3, 3, status="failed", reason="crash")])

    assert "lost" not in headings(good)
    assert [row[headings(bad).index("lost")] for row in bad.cells] == ["0", "1"]


def test_rows_without_numbers_keep_their_place(tmp_path: Path) -> None:
    table = from_records(
        tmp_path, [record(1), record(3, elapsed_s=50.0), left_out(4, "no E-cores")]
    )

    assert table.cells[2][headings(table).index("time s")] == "left out (a)"
    only = from_records(tmp_path / "only", [left_out(4, "no E-cores"), left_out(5, "none")])
    assert headings(only)[-1] == "time s"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["energy", "time"], ["#", "mapping", "pkg J", "time s"]),
        (["time", "median", "max"], ["#", "mapping", "time s", "median s", "max s"]),
        (
            ["governor"],
            ["#", "mapping", "governor", "time s", "sd", "GHz", "migr.", "cache misses", "pkg J"],
        ),
        (["switches", "user"], ["#", "mapping", "switches", "user s"]),
    ],
)
def test_chosen_columns_are_there_in_their_order(columns: list[str], expected: list[str]) -> None:
    assert headings(short(rows(), columns)) == expected


def test_columns_without_room_are_named_and_the_energy_goes_last() -> None:
    table = short(rows(), width=48)

    assert "pkg J" in headings(table)
    assert "no room for migrations, cache misses; --columns chooses, --all shows all" in texts(
        table
    )
    assert max(map(len, terminal_text([table], 48).splitlines())) <= 48


def test_nodes_stand_in_one_table_and_csv_has_one_header() -> None:
    nodes = [node("one"), node("two", footnotes=("warm",))]

    (table,) = tables_of_nodes(nodes, Choice("short"))

    assert headings(table)[:3] == ["#", "node", "mapping"]
    assert [row[1] for row in table.cells] == ["one", "one", "two", "two"]
    assert texts(table) == ["in all rows: governor performance", "two: warm"]
    found = list(csv.DictReader(io.StringIO(render([table], "csv"))))
    assert [row["node_id"] for row in found] == ["one", "one", "two", "two"]


def node(name: str, footnotes: tuple[str, ...] = ()) -> NodeCases:
    cases = [replace(case, key=replace(case.key, node_id=name)) for case in rows()]
    return NodeCases(cases, footnotes)


def test_what_is_said_of_all_nodes_is_said_once() -> None:
    nodes = [node(name, footnotes=("warm",)) for name in ("one", "two")]

    (table,) = tables_of_nodes(nodes, Choice("short"))

    assert texts(table)[1:] == ["warm"]


def test_cards_have_the_names_of_their_files() -> None:
    card = open_results(str(ROOT / "cards" / "galante-2025.json"))
    nodes = named_nodes([card, replace(card, name="elsewhere/other.json")])

    first = tables_of_nodes(nodes, Choice("short"))[0]

    assert list(dict.fromkeys(row[1] for row in first.cells)) == ["galante-2025", "other"]
    assert len(first.cells) == 20


def test_columns_of_instruments_that_were_off_are_marked_and_stay() -> None:
    cases = rows(energy_pkg_j=Stats(10, 5.0, 0.0))
    (table,) = tables_of_nodes(
        [NodeCases(cases, off={"energy_pkg_j": "stands still"})], Choice("short")
    )

    assert headings(table)[-1] == "pkg J (a)"
    assert ("a", "stands still") in table.notes


def test_each_measure_has_a_name_of_its_own() -> None:
    names = [measure.name for measure in MEASURES]
    assert len(set(names)) == len(names)
