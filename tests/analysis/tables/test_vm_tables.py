"""Tables of guests and of MPI ranks: where their CPUs were, and what is noted of them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from pinstudy.analysis.format.table import Table
from pinstudy.analysis.records.runs import read_runs
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.tables.means import make_tables, render
from pinstudy.base.errors import UserError
from tests.support.results import (
    MAPPINGS,
    TABLE,
    TWO_THREADS,
    UNPROVED,
    Record,
    cells_by_title,
    left_out,
    notes_of,
    record,
    summary,
    tables_from,
    write,
)


def guest_fields(number: int) -> Record:
    """Return what a record of row `number` says of its guest, whose scheduler maps threads."""
    return {
        "engine": "vm",
        "study": "paper-vm",
        "mapping": "unpinned",
        "governor": "performance",
        "cpus": "0-7",
        "threads": 4,
        "vm_cpus": 8,
        "vm_memory_mib": 16384,
        "vm_accelerator": "kvm",
        "vcpu_mapping": list(MAPPINGS)[number - 1],
        "vcpu_cpus": "0-23",
    }


def guest(number: int = 1, repetition: int = 1, **fields: object) -> Record:
    """Return the record of a good run in a guest on KVM, with some of its fields changed."""
    base = guest_fields(number) | {"vcpu_migrations": 12, "vcpu_placement": {"verdict": "proved"}}
    return record(number, repetition, **(base | fields))


def csv_rows(*tables: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(tables, "csv"))))


def test_a_table_of_guests_has_what_both_sides_measured(tmp_path: Path) -> None:
    not_counted = {"unavailable": {"vcpu_migrations": "perf was killed"}, "vcpu_migrations": None}
    of_vcpus = {
        "vcpu_placement": {"verdict": "unproved"},
        "unavailable": {"vcpu_placement": "no thread was seen"},
    }
    runs = [
        # Times 40 and 50, migrations 1 and 4 in the guest, 100 and 302 of its CPUs on the host.
        guest(1, 1, elapsed_s=40.0, migrations=1, vcpu_migrations=100, context_switches=7),
        guest(1, 2, elapsed_s=50.0, migrations=4, vcpu_migrations=302, context_switches=9),
        guest(1, 3, elapsed_s=99.0, vcpu_migrations=9999, warmup=True),
        # Counted in two of three runs, and in none.
        guest(2, 1, vcpu_migrations=10),
        guest(2, 2, vcpu_migrations=20),
        guest(2, 3, **not_counted),
        guest(3, 1, **not_counted),
        left_out(4, "the node has no E-cores") | guest_fields(4),
        guest(5, 1, status="failed", reason="the guest was lost: it hangs"),
        guest(5, 2, elapsed_s=900.0, status="clock-drifted", reason="the clock went +0.5 s"),
        # Threads proved in two of three runs, virtual CPUs in one.
        guest(5, 3),
        guest(5, 4, **of_vcpus | UNPROVED),
        guest(5, 5, **of_vcpus),
    ]

    (table,) = tables_from(tmp_path, runs)

    assert table.caption.endswith("in a guest with 8 vCPUs and 16384 MiB")
    cells = [cells_by_title(table, row) for row in range(5)]
    first = cells[0]
    assert (first["vCPU mapping"], first["mapping in guest"]) == ("unpinned", "unpinned")
    assert (first["time mean (s)"], first["sd (s)"]) == ("45.000", "7.071")
    assert (first["migrations"], first["context switches"]) == ("2.5", "8")
    migrations = [row["vCPU migrations"] for row in cells]
    assert migrations == ["201", "15 (a)", "n/a (c)", "-", "12"]
    assert cells[3]["time mean (s)"] == "left out (d)"
    assert table.notes[:4] == (
        ("a", "mean of 2 of 3 runs; the others: perf was killed"),
        ("b", "one run has no standard deviation"),
        ("c", "perf was killed"),
        ("d", "left out: the node has no E-cores"),
    )
    sides, lost, threads, vcpus, not_compared = notes_of(table)[4:]
    assert sides.startswith("time, migrations and context switches are the program's in its guest")
    whys = "1 failed (the guest was lost: it hangs), 1 clock-drifted (the clock went +0.5 s)"
    assert lost == f"#5: 2 of 5 runs not averaged: {whys}"
    proved = "proved in 2 of 3 runs, 1 not provable, which is averaged"
    assert threads == f"#5: placement {proved}: too short to look at"
    proved = "proved in 1 of 3 runs, 2 not provable, which are averaged"
    assert vcpus == f"#5: placement of vCPUs {proved}: no thread was seen"
    assert "4 of 5 runs were lost: 1 failed, 1 had a clock that drifted, 2 lacked" in not_compared
    row = csv_rows(table)[0]
    names = ("engine", "vcpu_mapping", "vcpu_cpus", "vm_cpus", "vm_memory_mib")
    assert [row[name] for name in names] == ["vm", "unpinned", "0-23", "8", "16384"]
    assert float(row["vcpu_migrations_mean"]) == 201.0
    assert float(row["vcpu_migrations_sd"]) == pytest.approx(202 / 2**0.5)


def test_without_guests_and_ranks_tables_have_no_columns_of_them(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [record(1, 1), record(1, 2), left_out(4, "no E-cores")])

    text = " ".join([table.caption, *notes_of(table), *(column.title for column in table.columns)])
    assert not any(word in text for word in ("guest", "vCPU", "rank"))
    row, _ = csv_rows(table)
    assert {row[name] for name in ("vcpu_mapping", "vm_cpus", "vcpu_migrations_mean")} == {""}
    assert ranks_in([row]) == [("", "1", "", "", "", "")]


def test_guests_that_were_all_left_out_make_a_table_of_guests(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [left_out(4, "no E-cores") | guest_fields(4)])
    assert "vCPU migrations" in [column.title for column in table.columns]


@pytest.mark.parametrize(("accelerator", "marks"), [("tcg", 1), ("kvm", 0)])
def test_emulated_guests_are_marked_under_the_table(
    tmp_path: Path, accelerator: str, marks: int
) -> None:
    runs = [guest(1, number, vm_accelerator=accelerator) for number in (1, 2)]
    (table,) = tables_from(tmp_path, runs)
    marked = [text for text in notes_of(table) if "emulated" in text]
    assert ["their times are not this node's" in text for text in marked] == [True] * marks


def test_guests_on_other_cpus_are_rows_of_their_own(tmp_path: Path) -> None:
    elsewhere = [guest(1, r, case_id="elsewhere", vcpu_cpus="1-23") for r in (1, 2)]
    (table,) = tables_from(tmp_path, [guest(1, 1), guest(1, 2), *elsewhere])
    (note,) = (text for text in notes_of(table) if "stands once for each set of CPUs" in text)
    assert "0-23" in note and "1-23" in note
    assert len(table.raw_values) == 2


@pytest.mark.parametrize(
    ("unlike", "said"),
    [
        ({"vm_accelerator": "tcg"}, "in an emulated guest with 8 vCPUs and 16384 MiB"),
        ({"vm_cpus": 6}, "in a guest with 6 vCPUs and 16384 MiB"),
        ({"vm_memory_mib": 1024}, "in a guest with 8 vCPUs and 1024 MiB"),
    ],
    ids=["emulated", "fewer CPUs", "less memory"],
)
def test_guests_that_are_not_alike_stand_in_tables_of_their_own(
    tmp_path: Path, unlike: Record, said: str
) -> None:
    elsewhere = [guest(1, r, case_id="other", elapsed_s=900.0, **unlike) for r in (1, 2)]
    tables = tables_from(tmp_path, [guest(1, 1), guest(1, 2), *elsewhere])
    captions = {table.raw_values[0]["elapsed_mean_s"]: table.caption for table in tables}
    assert len(tables) == len(captions) == 2
    assert captions[45.0].endswith("in a guest with 8 vCPUs and 16384 MiB")
    assert captions[900.0].endswith(said)


def test_an_imported_guest_has_no_made_up_size(tmp_path: Path) -> None:
    (tmp_path / "summaries.csv").write_text(
        "app,threads,mapping,vcpu_mapping,vm_cpus,elapsed_mean_s\n"
        "lu,1,unpinned,pcores-pin,,45.1\nlu,2,unpinned,pcores-pin,1,45.1\n"
    )
    captions = [table.caption for table in make_tables(tmp_path)]
    assert [text.partition(", wait policy unknown")[2] for text in captions] == [
        ", in a guest", ", in a guest with 1 vCPU",
    ]  # fmt: skip


CAPTION = "lulesh (libgomp), size paper, {}, schedule static, wait policy runtime-default"
CAPTIONS = [CAPTION.format("1 rank of 2 threads"), CAPTION.format("2 ranks of 1 thread")]


def ranks_in(rows: list[dict[str, str]]) -> list[tuple[str, ...]]:
    names = ("ranks", "threads", "mpi", "ranks_by", "rank_cpus", "launcher_cpu_mean_s")
    return [tuple(row[name] for name in names) for row in rows]


def rank_notes(table: Table) -> list[str]:
    return [note for note in notes_of(table) if "rank" in note]


def test_each_number_of_ranks_has_a_table_that_its_csv_gives_back(tmp_path: Path) -> None:
    tables = tables_from(tmp_path / "runs", TWO_THREADS.records())

    assert [table.caption for table in tables] == CAPTIONS
    together = "numbers are of all ranks together, which openmpi started"
    assert [rank_notes(table) for table in tables] == [
        [together, "CPUs of each rank: #1: 0-3; #2: 0-1"],
        [together, "CPUs of each rank: #1: 0-3 each; #2: 0 | 1 (order)"],
    ]
    assert ranks_in(csv_rows(*tables)) == [
        ("1", "2", "openmpi", "", "0-3", "0.25"),
        ("1", "2", "openmpi", "order", "0-1", "0.25"),
        ("2", "1", "openmpi", "", "0-3 | 0-3", "0.25"),
        ("2", "1", "openmpi", "order", "0 | 1", "0.25"),
    ]
    (tmp_path / "means").mkdir()
    (tmp_path / "means" / "summaries.csv").write_text(render(tables, "csv"))
    again = make_tables(tmp_path / "means")
    assert [table.caption for table in again] == CAPTIONS
    assert rank_notes(again[1]) == rank_notes(tables[1])
    assert ranks_in(csv_rows(*again)) == ranks_in(csv_rows(*tables))


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


def test_tables_stand_in_the_order_of_ranks_after_those_without_any() -> None:
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


def test_a_case_with_ranks_that_could_run_after_all_is_not_left_out(tmp_path: Path) -> None:
    ranks = {"ranks": 2, "case_id": "ranks"}
    absent = [left_out(number, "no mpirun") for number in (1, 2)]
    write(tmp_path, [absent[0], *(run | ranks for run in absent)])
    write(tmp_path, [record(1, 1), record(1, 1, **ranks)], attempt=2)

    frame = read_runs(tmp_path).frame

    rows = zip(frame["case_number"], frame["ranks"].fillna(0), frame["status"], strict=True)
    assert sorted(rows) == [(1, 0, "ok"), (1, 2, "ok"), (2, 2, "skipped")]


def test_each_number_of_ranks_may_have_a_program_of_its_own(tmp_path: Path) -> None:
    runs = [
        record(number, 1, case_id=f"{ranks}{number}", ranks=ranks, program_digest=digest)
        for number, ranks, digest in ((1, 1, "a"), (1, 2, "b"), (1, None, "c"))
    ]
    write(tmp_path / "own", runs)
    write(tmp_path / "mixed", [*runs, record(2, 1, case_id="22", ranks=2, program_digest="d")])

    assert len(open_results(str(tmp_path / "own")).cases) == 3
    with pytest.raises(UserError, match=r"lulesh-serial, size paper, ranks 2, threads 1: "):
        open_results(str(tmp_path / "mixed"))
