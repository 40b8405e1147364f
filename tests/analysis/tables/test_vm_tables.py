"""Tables of guests: where their CPUs were, what the host and what the guest measured."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from analysis.tables.means import make_tables, render
from tests.support.golden import GoldenFile
from tests.support.results import (
    MAPPINGS,
    UNPROVED,
    Record,
    left_out,
    notes_of,
    record,
    tables_from,
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
    base = guest_fields(number) | {
        "vcpu_migrations": 12,
        "vcpu_placement": {"verdict": "proved"},
    }
    return record(number, repetition, **(base | fields))


def test_a_table_of_guests_has_what_both_sides_measured_and_what_speaks_against_it(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
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
        left_out(4, "the guest's CPUs cannot be mapped: the node has no E-cores") | guest_fields(4),
        guest(5, 1, status="failed", reason="the guest was lost: it hangs: no answer for 60 s"),
        guest(5, 2, elapsed_s=900.0, status="clock-drifted", reason="the clock went +0.5 s"),
        # Threads proved in two of three runs, virtual CPUs in one.
        guest(5, 3),
        guest(5, 4, **of_vcpus | UNPROVED),
        guest(5, 5, **of_vcpus),
    ]

    tables = tables_from(tmp_path, runs)

    assert render(tables, "text") == snapshot(extension_class=GoldenFile)
    first = next(csv.DictReader(io.StringIO(render(tables, "csv"))))
    assert (first["engine"], first["vcpu_mapping"], first["vcpu_cpus"]) == (
        "vm", "unpinned", "0-23",
    )  # fmt: skip
    assert (first["vm_cpus"], first["vm_memory_mib"]) == ("8", "16384")
    assert float(first["vcpu_migrations_mean"]) == 201.0
    assert float(first["vcpu_migrations_sd"]) == pytest.approx(202 / 2**0.5)


def test_without_guests_tables_have_no_columns_of_them(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [record(1, 1), record(1, 2), left_out(4, "no E-cores")])

    text = " ".join([table.caption, *notes_of(table), *(column.title for column in table.columns)])
    assert "guest" not in text and "vCPU" not in text
    (row, _) = csv.DictReader(io.StringIO(render([table], "csv")))
    assert row["vcpu_mapping"] == row["vm_cpus"] == row["vcpu_migrations_mean"] == ""


def test_a_table_of_guests_that_were_all_left_out_is_a_table_of_guests(tmp_path: Path) -> None:
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
    others = [guest(1, r, case_id="elsewhere", vcpu_cpus="1-23") for r in (1, 2)]
    (table,) = tables_from(tmp_path, [guest(1, 1), guest(1, 2), *others])
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
    others = [guest(1, r, case_id="other", elapsed_s=900.0, **unlike) for r in (1, 2)]
    tables = tables_from(tmp_path, [guest(1, 1), guest(1, 2), *others])
    captions = {table.raw_values[0]["elapsed_mean_s"]: table.caption for table in tables}
    assert len(tables) == len(captions) == 2
    assert captions[45.0].endswith("in a guest with 8 vCPUs and 16384 MiB")
    assert captions[900.0].endswith(said)


def test_a_row_by_two_mechanisms_names_them_and_not_its_cpus_twice(tmp_path: Path) -> None:
    (table,) = tables_from(
        tmp_path,
        [
            record(3, 1, mechanism="likwid-pin"),
            record(3, 1, mechanism="omp-places", case_id="other"),
            record(4, 1, cpus="8-15"),
            record(4, 1, cpus="8-23", case_id="elsewhere"),
        ],
    )

    assert {
        "#3 stands for several cases: pcores-pin by likwid-pin; pcores-pin by omp-places",
        "#4 stands once for each set of CPUs it was run on: 8-15; 8-23",
    } <= set(notes_of(table))


def test_an_imported_guest_whose_size_is_not_given_has_no_made_up_one(tmp_path: Path) -> None:
    (tmp_path / "summaries.csv").write_text(
        "app,threads,mapping,vcpu_mapping,vm_cpus,elapsed_mean_s\n"
        "lu,1,unpinned,pcores-pin,,45.1\nlu,2,unpinned,pcores-pin,1,45.1\n"
    )

    captions = [table.caption for table in make_tables(tmp_path)]

    assert [text.partition(", wait policy unknown")[2] for text in captions] == [
        ", in a guest", ", in a guest with 1 vCPU",
    ]  # fmt: skip
