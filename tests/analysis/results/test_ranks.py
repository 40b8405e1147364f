"""Results of ranks: a table for each number of ranks and threads, and what is said of it."""

from __future__ import annotations

import csv
from pathlib import Path

from analysis.answer import analyze
from analysis.report.sentences import question
from analysis.results.sources import open_results
from analysis.results.summaries import read_summaries
from analysis.tables.means import make_tables, render
from analysis.verdict.phrases import do
from tests.support.results import Record, Study, write

TEAMS = [(0, 8), (1, 2), (2, 1)]
FASTER = Study({"scheduler": 1.0, "pcores-set": 0.8})


def of_team(table: int, ranks: int, threads: int) -> list[Record]:
    """Return the records of a study of two mappings, as one table of a number of ranks."""
    fields = {"threads": threads, "table_number": table}
    if ranks:
        fields["ranks"] = ranks
    return [
        run | fields | {"case_id": f"case{table}-{run['case_number']}"} for run in FASTER.records()
    ]


def results(folder: Path) -> Path:
    runs = [
        run
        for table, (ranks, threads) in enumerate(TEAMS, 1)
        for run in of_team(table, ranks, threads)
    ]
    write(folder, runs)
    return folder


def test_each_number_of_ranks_has_a_table(tmp_path: Path) -> None:
    tables = make_tables(results(tmp_path))

    assert [table.caption for table in tables] == [
        f"lulesh (libgomp), size paper, {team}, schedule static, wait policy runtime-default"
        for team in ("8 threads", "1 rank of 2 threads", "2 ranks of 1 thread")
    ]
    rows = list(csv.DictReader(render(tables, "csv").splitlines()))
    assert [(row["ranks"], row["threads"]) for row in rows[::2]] == [
        ("", "8"),
        ("1", "2"),
        ("2", "1"),
    ]


def test_the_table_of_means_is_read_again_as_it_was_written(tmp_path: Path) -> None:
    text = render(make_tables(results(tmp_path)), "csv")
    path = tmp_path / "mine.csv"
    path.write_text(text)

    again = read_summaries(path, "")
    assert [(case.table.ranks, case.table.threads) for case in again[::2]] == TEAMS
    # A file without the column is of no ranks.
    path.write_text("app,threads,mapping,n,elapsed_mean_s\nlulesh,8,scheduler,10,45\n")
    (old,) = read_summaries(path, "")
    assert (old.table.ranks, old.table.team, old.table.times) == (0, "8 threads", "x8")


def test_what_is_said_names_ranks_and_threads(tmp_path: Path) -> None:
    findings = analyze(open_results(str(results(tmp_path))))

    assert question(findings) == (
        "Which CPUs should lulesh run on, with 8 threads, 1 rank of 2 threads or 2 ranks of 1 "
        "thread?"
    )
    assert [do(table.cases[1].summary) for table in findings.tables] == [
        "confine the threads to the P-cores",
        "confine the threads to the P-cores",
        "confine the threads to the P-cores, each rank on its own part",
    ]
