"""Tables of MPI ranks: a table for each number of ranks, from records to summaries and back."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from analysis.format.table import Table
from analysis.records.runs import read_runs
from analysis.results.sources import open_results
from analysis.tables.means import make_tables, render
from base.errors import UserError
from tests.support.results import (
    TABLE,
    TWO_THREADS,
    left_out,
    notes_of,
    record,
    summary,
    tables_from,
    write,
)

CAPTIONS = [
    "lulesh (libgomp), size paper, 1 rank of 2 threads, schedule static, "
    "wait policy runtime-default",
    "lulesh (libgomp), size paper, 2 ranks of 1 thread, schedule static, "
    "wait policy runtime-default",
]
RANK_COLUMNS = ("ranks", "threads", "mpi", "ranks_by", "rank_cpus", "launcher_cpu_mean_s")


def rows_of(text: str) -> list[tuple[str, ...]]:
    return [tuple(row[name] for name in RANK_COLUMNS) for row in csv.DictReader(io.StringIO(text))]


def rank_notes(table: Table) -> list[str]:
    return [note for note in notes_of(table) if "rank" in note]


def test_each_number_of_ranks_has_a_table_that_says_where_each_rank_ran(tmp_path: Path) -> None:
    one, two = tables_from(tmp_path, TWO_THREADS.records())

    assert [one.caption, two.caption] == CAPTIONS
    assert rank_notes(one) == [
        "numbers are of all ranks together, which openmpi started",
        "CPUs of each rank: #1: 0-3; #2: 0-1",
    ]
    assert rank_notes(two) == [
        "numbers are of all ranks together, which openmpi started",
        "CPUs of each rank: #1: 0-3 each; #2: 0 | 1 (order)",
    ]


def test_the_csv_has_the_ranks_and_is_read_back_as_the_same_tables(tmp_path: Path) -> None:
    tables = tables_from(tmp_path / "runs", TWO_THREADS.records())
    text = render(tables, "csv")

    assert rows_of(text) == [
        ("1", "2", "openmpi", "order", "0-3", "0.25"),
        ("1", "2", "openmpi", "order", "0-1", "0.25"),
        ("2", "1", "openmpi", "order", "0-3 | 0-3", "0.25"),
        ("2", "1", "openmpi", "order", "0 | 1", "0.25"),
    ]
    (tmp_path / "means").mkdir()
    (tmp_path / "means" / "summaries.csv").write_text(text)
    again = make_tables(tmp_path / "means")
    assert [table.caption for table in again] == CAPTIONS
    assert rank_notes(again[1]) == rank_notes(tables[1])
    assert rows_of(render(again, "csv")) == rows_of(text)


def test_without_ranks_the_columns_are_empty_and_no_note_speaks_of_them(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [record(1, 1)])

    assert "1 thread," in table.caption
    assert rank_notes(table) == []
    assert rows_of(render([table], "csv")) == [("", "1", "", "", "", "")]


@pytest.mark.parametrize(
    ("rank_cpus", "shown"),
    [
        ((), "0-15"),
        (("0-1",), "0-1"),
        (("0-1", "4-5"), "0-1 | 4-5"),
        (("0-7", "0-7"), "0-7 each"),
        (tuple("01234567"), "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7"),
        (tuple("0123456789"), "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 2 more"),
    ],
)
def test_cpus_are_shown_rank_by_rank_and_not_without_end(
    rank_cpus: tuple[str, ...], shown: str
) -> None:
    assert summary(cpus="0-15", rank_cpus=rank_cpus).key.shown_cpus == shown


def test_tables_are_in_the_order_of_ranks_and_those_without_any_come_first() -> None:
    keys = [TABLE._replace(number=None, ranks=ranks) for ranks in (10, 2, None, 1)]

    ordered = sorted(keys, key=lambda key: key.order)

    assert [key.ranks for key in ordered] == [None, 1, 2, 10]
    assert [key.threads_label for key in ordered] == ["x1", "1x1", "2x1", "10x1"]


@pytest.mark.parametrize("ranks", [0, -1, 1.5, "2", True, [2]])
def test_a_record_whose_ranks_cannot_be_counted_is_of_no_table(
    tmp_path: Path, ranks: object
) -> None:
    write(tmp_path, [record(1, 1), record(1, 2, ranks=ranks), record(1, 3, ranks=None)])

    runs = read_runs(tmp_path)

    assert (runs.frame["repetition"].tolist(), runs.unusable) == ([1, 3], 1)


def test_a_case_that_could_run_after_all_is_not_left_out_with_ranks_or_without(
    tmp_path: Path,
) -> None:
    ranks = {"ranks": 2, "case_id": "ranks"}
    write(tmp_path, [
        left_out(1, "no mpirun"), left_out(1, "no mpirun") | ranks, left_out(2, "no mpirun") | ranks
    ])  # fmt: skip
    write(tmp_path, [record(1, 1), record(1, 1, **ranks)], attempt=2)

    frame = read_runs(tmp_path).frame

    rows = zip(frame["case_number"], frame["ranks"].fillna(0), frame["status"], strict=True)
    assert sorted(rows) == [(1, 0, "ok"), (1, 2, "ok"), (2, 2, "skipped")]


def test_one_table_is_of_one_program_and_each_number_of_ranks_may_have_its_own(
    tmp_path: Path,
) -> None:
    runs = [
        record(number, 1, case_id=f"{ranks}{number}", ranks=ranks, program_digest=digest)
        for number, ranks, digest in ((1, 1, "a"), (1, 2, "b"), (1, None, "c"))
    ]
    write(tmp_path / "own", runs)
    write(tmp_path / "mixed", [*runs, record(2, 1, case_id="22", ranks=2, program_digest="d")])

    assert len(open_results(str(tmp_path / "own")).cases) == 3
    with pytest.raises(UserError, match=r"lulesh-serial, size paper, ranks 2, threads 1: "):
        open_results(str(tmp_path / "mixed"))
