"""Tables of guests: where their CPUs were, what the host and what the guest measured."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analysis.format.table import Table
from analysis.tables.means import make_tables, render
from tests.support.results import cells_by_title, left_out, record, tables_from

HEADINGS = [
    "#", "vCPU mapping", "mapping in guest", "governor (driver)", "n", "time mean (s)", "sd (s)",
    "frequency (GHz)", "migrations", "vCPU migrations", "context switches", "cache misses",
    "energy package (J)",
]  # fmt: skip
MAPPINGS = ("scheduler", "pcores-set", "pcores-pin", "ecores-set", "ecores-pin")


def guest_fields(number: int) -> dict[str, Any]:
    """Return what a record of row `number` says of its guest, whose scheduler maps threads."""
    return {
        "engine": "vm",
        "study": "paper-vm",
        "mapping": "scheduler",
        "governor": "performance",
        "cpus": "0-7",
        "threads": 4,
        "vm_cpus": 8,
        "vm_memory_mib": 16384,
        "vm_accelerator": "kvm",
        "vcpu_mapping": MAPPINGS[number - 1],
        "vcpu_cpus": "0-23",
    }


def guest(number: int = 1, repetition: int = 1, **fields: object) -> dict[str, Any]:
    """Return the record of a good run in a guest on KVM, with some of its fields changed."""
    base = guest_fields(number) | {
        "vcpu_migrations": 12,
        "vcpu_placement": {"verdict": "proved"},
        "vm": {"kernel": "6.1.0", "qemu": "QEMU 7.2", "boot_s": 3.5},
    }
    return record(number, repetition, **(base | fields))


def rows_of_csv(tables: list[Table]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(tables, "csv"))))


def test_guests_have_two_columns_more_and_a_caption_that_tells_of_them(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [guest(1), guest(2)])
    assert [column.title for column in table.columns] == HEADINGS
    assert table.caption.endswith(
        "wait policy runtime-default, in a guest with 8 vCPUs and 16384 MiB"
    )


def test_without_guests_tables_say_nothing_of_them(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [record(1, 1), record(1, 2), left_out(4, "no E-cores")])
    titles = [column.title for column in table.columns]
    of_both = [title for title in HEADINGS if not title.startswith("vCPU")]
    assert titles == [title.removesuffix(" in guest") for title in of_both]
    assert "guest" not in table.caption
    assert not [text for _, text in table.notes if "guest" in text or "vCPU" in text]


def test_a_row_has_its_cpus_mapping_and_the_means_of_both_sides(tmp_path: Path) -> None:
    # Times 40 and 50, migrations 1 and 4 in the guest, 100 and 302 of its CPUs on the host.
    (table,) = tables_from(
        tmp_path,
        [
            guest(3, 1, elapsed_s=40.0, migrations=1, vcpu_migrations=100, context_switches=7),
            guest(3, 2, elapsed_s=50.0, migrations=4, vcpu_migrations=302, context_switches=9),
            guest(3, 3, elapsed_s=99.0, vcpu_migrations=9999, warmup=True),
        ],
    )
    cells = cells_by_title(table)
    assert (cells["vCPU mapping"], cells["mapping in guest"]) == ("pcores-pin", "scheduler")
    assert (cells["n"], cells["time mean (s)"], cells["sd (s)"]) == ("2", "45.000", "7.071")
    assert (cells["migrations"], cells["context switches"]) == ("2.5", "8")
    assert cells["vCPU migrations"] == "201"


def test_the_csv_has_the_guest_and_its_numbers_unrounded(tmp_path: Path) -> None:
    tables = tables_from(
        tmp_path, [guest(2, 1, vcpu_migrations=100), guest(2, 2, vcpu_migrations=301)]
    )
    (row,) = rows_of_csv(tables)
    assert (row["engine"], row["vcpu_mapping"], row["vcpu_cpus"]) == ("vm", "pcores-set", "0-23")
    assert (row["vm_cpus"], row["vm_memory_mib"]) == ("8", "16384")
    assert float(row["vcpu_migrations_mean"]) == 200.5
    assert float(row["vcpu_migrations_sd"]) == pytest.approx(201 / 2**0.5)


def test_the_csv_of_a_study_on_this_node_leaves_the_guest_s_columns_empty(tmp_path: Path) -> None:
    (row,) = rows_of_csv(tables_from(tmp_path, [record(1, 1)]))
    assert row["vcpu_mapping"] == row["vm_cpus"] == row["vcpu_migrations_mean"] == ""


def test_what_the_host_did_not_count_is_na_with_its_reason(tmp_path: Path) -> None:
    refused = "perf_event_paranoid is 3"
    fields = {"unavailable": {"vcpu_migrations": refused}, "vcpu_migrations": None}
    (table,) = tables_from(tmp_path, [guest(1, 1, **fields), guest(1, 2, **fields)])
    assert cells_by_title(table)["vCPU migrations"] == "n/a (a)"
    assert ("a", refused) in table.notes


def test_a_mean_of_some_of_the_runs_says_of_how_many(tmp_path: Path) -> None:
    lost = {"vcpu_migrations": None, "unavailable": {"vcpu_migrations": "perf was killed"}}
    (table,) = tables_from(
        tmp_path, [guest(1, 1, vcpu_migrations=10), guest(1, 2, vcpu_migrations=20),
                   guest(1, 3, **lost)],
    )  # fmt: skip
    assert cells_by_title(table)["vCPU migrations"] == "15 (a)"
    assert ("a", "mean of 2 of 3 runs; the others: perf was killed") in table.notes


def test_a_guest_that_was_left_out_keeps_its_row_and_says_why(tmp_path: Path) -> None:
    why = "the guest's CPUs cannot be mapped: the node has no E-cores"
    (table,) = tables_from(tmp_path, [guest(1, 1), guest(1, 2), left_out(4, why) | guest_fields(4)])
    cells = cells_by_title(table, 1)
    assert (cells["#"], cells["vCPU mapping"], cells["mapping in guest"]) == (
        "4",
        "ecores-set",
        "scheduler",
    )
    assert (cells["n"], cells["time mean (s)"]) == ("-", "left out (a)")
    assert set(list(cells.values())[6:]) == {"-"}
    assert ("a", f"left out: {why}") in table.notes


def test_a_table_of_guests_that_were_all_left_out_is_a_table_of_guests(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [left_out(4, "no E-cores") | guest_fields(4)])
    assert [column.title for column in table.columns] == HEADINGS
    assert cells_by_title(table)["vCPU migrations"] == "-"


def test_a_guest_of_which_no_run_was_good_has_no_numbers(tmp_path: Path) -> None:
    lost = "the guest was lost: it hangs: no answer for 60 s"
    (table,) = tables_from(tmp_path, [guest(1, 1, status="failed", reason=lost), guest(2, 1)])
    cells = cells_by_title(table)
    assert (cells["n"], cells["vCPU migrations"]) == ("0", "-")
    assert ("", f"#1: 1 of 1 runs not averaged: 1 failed ({lost})") in table.notes


@pytest.mark.parametrize("accelerator", ["tcg", "kvm"])
def test_emulated_guests_are_marked_under_the_table(tmp_path: Path, accelerator: str) -> None:
    runs = [guest(1, number, vm_accelerator=accelerator) for number in (1, 2)]
    (table,) = tables_from(tmp_path, runs)
    marked = [text for _, text in table.notes if "emulated" in text]
    assert len(marked) == (1 if accelerator == "tcg" else 0)
    assert all("their times are not this node's" in text for text in marked)


def test_whose_numbers_are_whose_is_said_under_tables_of_guests(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [guest(1, 1), guest(1, 2)])
    (said,) = (text for _, text in table.notes)
    assert "migrations and context switches are the program's in its guest" in said
    assert "energy is the host's" in said


def test_cpus_of_a_guest_that_were_not_proved_are_said_beside_its_threads(tmp_path: Path) -> None:
    unproved = {
        "placement": {"verdict": "unproved"},
        "vcpu_placement": {"verdict": "unproved"},
        "unavailable": {"placement": "too short", "vcpu_placement": "no thread was seen"},
    }
    of_vcpus = {"vcpu_placement": {"verdict": "unproved"}}
    (table,) = tables_from(
        tmp_path, [guest(1, 1), guest(1, 2, **unproved), guest(1, 3, **of_vcpus)]
    )
    notes = [text for _, text in table.notes]
    threads, vcpus = (note for note in notes if note.endswith(("too short", "was seen")))
    assert threads.startswith("#1: placement proved in 2 of 3 runs, 1 not provable, which are")
    assert vcpus.startswith("#1: placement of vCPUs proved in 1 of 3 runs, 2 not provable, which")


def test_runs_with_a_clock_that_drifted_are_not_averaged(tmp_path: Path) -> None:
    why = "the guest's clock went +0.5 s"
    drifted = guest(1, 3, elapsed_s=900.0, status="clock-drifted", reason=why)
    (table,) = tables_from(tmp_path, [guest(1, 1), guest(1, 2), drifted])
    assert table.exact[0]["elapsed_mean_s"] == 45.0
    assert ("", f"#1: 1 of 3 runs not averaged: 1 clock-drifted ({why})") in table.notes


def test_one_row_on_two_sets_of_host_cpus_names_both(tmp_path: Path) -> None:
    (table,) = tables_from(
        tmp_path,
        [
            guest(1, 1),
            guest(1, 2),
            guest(1, 1, case_id="elsewhere", vcpu_cpus="1-23"),
            guest(1, 2, case_id="elsewhere", vcpu_cpus="1-23"),
        ],
    )
    (said,) = (text for _, text in table.notes if "stands once for each set of CPUs" in text)
    assert "0-23" in said and "1-23" in said


def test_emulated_runs_are_not_averaged_with_those_by_kvm(tmp_path: Path) -> None:
    emulated = {"case_id": "slow", "vm_accelerator": "tcg", "elapsed_s": 900.0}
    (table,) = tables_from(tmp_path, [guest(1, 1), guest(1, 2), guest(1, 1, **emulated)])
    assert {row["elapsed_mean_s"] for row in table.exact} == {45.0, 900.0}
    (said,) = (text for _, text in table.notes if "stands once" in text)
    assert "0-23 (kvm)" in said and "0-23 (tcg)" in said


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

    notes = [text for _, text in table.notes]
    assert (
        "#3 stands for several cases: pcores-pin by likwid-pin; pcores-pin by omp-places" in notes
    )
    assert "#4 stands once for each set of CPUs it was run on: 8-15; 8-23" in notes


def test_an_imported_guest_whose_size_is_not_given_has_no_made_up_one(tmp_path: Path) -> None:
    (tmp_path / "summaries.csv").write_text(
        "app,threads,mapping,vcpu_mapping,vm_cpus,elapsed_mean_s\n"
        "lu,1,scheduler,pcores-pin,,45.1\nlu,2,scheduler,pcores-pin,1,45.1\n"
    )

    captions = [table.caption for table in make_tables(tmp_path)]

    assert [text.partition(", wait policy unknown")[2] for text in captions] == [
        ", in a guest", ", in a guest with 1 vCPU",
    ]  # fmt: skip


HOSTILE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["tcg", "kvm", "unproved", "vm", "8", 10**400, -(2**60), "\x1b[31m|&\n"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(["verdict"]), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = (
    "engine", "vm", "vcpu_placement", "vcpu_migrations", "vcpu_mapping", "vcpu_cpus", "vm_cpus",
    "vm_memory_mib", "vm_accelerator", "clock", "unavailable",
)  # fmt: skip


@settings(max_examples=50)
@example([{"vcpu_mapping": "\x1b[31m", "vcpu_cpus": "\x1b", "vm_accelerator": "\x1b"}])
@given(
    st.lists(st.dictionaries(st.sampled_from(NAMES), HOSTILE, max_size=6), min_size=1, max_size=3)
)
def test_whatever_records_say_of_guests_there_are_tables(spoilt: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as name:
        records = [guest(1, number, **fields) for number, fields in enumerate(spoilt, 1)]
        records.append(left_out(2, "no") | guest_fields(2) | spoilt[0])
        tables = tables_from(Path(name), records)
        for style in ("text", "markdown", "csv", "latex"):
            assert "\x1b" not in render(tables, style)
    assert sum(len(table.cells) for table in tables) >= 2
    for table in tables:
        assert all(len(row) == len(table.columns) for row in table.cells)
