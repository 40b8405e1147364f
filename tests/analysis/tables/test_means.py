"""The tables a user sees: the published columns, and an honest word where there is no number."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from analysis.tables.layouts import LayoutName
from analysis.tables.means import make_tables, render, write_tables
from base.errors import UserError
from tests.analysis.report.made_results import node
from tests.support.golden import GoldenFile
from tests.support.results import (
    UNPROVED,
    Record,
    left_out,
    notes_of,
    record,
    tables_from,
    without,
    write,
)

# Lulesh, serial, rows #1, #3 and #6 of the published table 3: mean and sd of ten runs, frequency,
# migrations, cache misses, package energy.
PUBLISHED = {
    1: ("45.073", "0.026", "5.976", "1", "1376989875", "2215.08"),
    3: ("56.165", "0.015", "4.690", "1", "1356548507", "2021.04"),
    6: ("65.419", "0.026", "3.991", "1", "1311504638", "760.07"),
}
EVIL = "a | b\n\x1b[31m_c_ <script> `d` \\e 50% & {$x^2} #~"
FIGURES = {
    "energy_core_j": 1500.0,
    "energy_net_j": -1.5,
    "idle_power_w": 10.0,
    "power_pkg_w": 49.224,
    "edp_js": 99678.6,
    "ed2p_js2": 4485537.0,
}


def ten_runs(number: int) -> list[Record]:
    """Return ten runs with a published row's mean and sd: half above, half below the mean."""
    mean, sd, freq, migrations, misses, energy = PUBLISHED[number]
    # Ten values at mean +- d have the sample sd d * sqrt(10 / 9).
    distance = float(sd) / (10 / 9) ** 0.5
    return [
        record(
            number,
            repetition,
            elapsed_s=float(mean) + (distance if repetition % 2 else -distance),
            freq_mean_ghz=float(freq),
            migrations=int(migrations),
            cache_misses=int(misses),
            energy_pkg_j=float(energy),
        )
        for repetition in range(1, 11)
    ]


@pytest.mark.parametrize("layout", ["full", "published"])
def test_a_published_table_comes_out_as_it_was_published(
    tmp_path: Path, layout: LayoutName
) -> None:
    write(tmp_path, [run for number in PUBLISHED for run in ten_runs(number)])

    (table,) = make_tables(tmp_path, layout)

    rows = [list(row) for row in table.cells]
    if layout == "full":
        titles = [column.title for column in table.columns]
        assert {row.pop(titles.index("context switches")) for row in rows} == {"40"}
        assert {row.pop(titles.index("lost")) for row in rows} == {"0"}
        assert {row.pop(titles.index("n")) for row in rows} == {"10"}
    driver = " (intel_pstate)" if layout == "full" else ""
    assert rows == [
        ["1", "unpinned", f"performance{driver}", *PUBLISHED[1]],
        ["3", "pcores-pin", f"performance{driver}", *PUBLISHED[3]],
        ["6", "unpinned", f"powersave{driver}", *PUBLISHED[6]],
    ]
    assert table.notes == ()


def doubtful() -> list[Record]:
    """Return runs of a virtual node's declared core kinds, of which each row has its own doubts."""
    refused = ["freq_mean_ghz", "cache_misses"]
    unknown_driver = {"driver": None, "unavailable": {"driver": "no frequency scaling here"}}
    in_force = {"governor": "current", "governor_read": "schedutil"}
    runs = [
        # Two of three energies: the mean is 15; a time below a tenth of a second keeps its digits.
        record(1, 1, elapsed_s=0.04648, energy_pkg_j=10.0, **FIGURES),
        record(1, 2, elapsed_s=0.04648, energy_pkg_j=20.0, **FIGURES),
        without(["energy_pkg_j"], "counter wrapped", number=1, repetition=3, elapsed_s=0.04648),
        # Two of five runs are averaged.
        *(without(refused, "perf: refused", number=2, repetition=r) for r in (1, 2)),
        record(2, 3, status="timeout", reason="ended after its limit of 600 s"),
        record(2, 4, status="check-failed", reason="exit status 3"),
        record(2, 5, status="check-failed", reason="exit status 3"),
        record(2, 6, warmup=True, status="failed", reason="exit status 1"),
        record(3, 1),
        record(3, 2, **UNPROVED),
        left_out(4, "no E-cores here"),
        # No good run, of a mapping that a spreadsheet would execute.
        record(5, 1, mapping=f"=cmd {EVIL}", status="failed", reason=EVIL),
        record(6, 1, **in_force, **unknown_driver),
        left_out(7, ""),
        without(["elapsed_s"], "perf said none", number=8),
    ]
    return [run | {"kinds_declared": True, "node": "virtual"} for run in runs]


@pytest.mark.parametrize("style", ["text", "markdown", "latex", "csv"])
def test_what_speaks_against_numbers_stands_under_them_in_every_format(
    tmp_path: Path, style: str, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "nodes").mkdir()
    topology = node()["topology"] | {
        "kinds": [{"name": "P", "cpus": "0"}, {"name": "E", "cpus": "1"}]
    }
    (tmp_path / "nodes" / "n1.json").write_text(json.dumps({"topology": topology}))

    text = render(tables_from(tmp_path, doubtful()), style)

    assert "\x1b" not in text
    assert text == snapshot(extension_class=GoldenFile)


def test_records_without_runs_are_an_error_and_leave_the_files(tmp_path: Path) -> None:
    write(tmp_path, []).write_text('{"schema": 6, "status": "o')

    with pytest.raises(UserError, match=r"no run in its records \(1 line of .* cut off or damaged"):
        make_tables(tmp_path)


def test_there_is_a_table_for_each_app_size_and_thread_count(tmp_path: Path) -> None:
    tables = tables_from(
        tmp_path,
        [
            record(1, 1),
            record(1, 1, threads=8, build="libgomp", case_id="b"),
            record(1, 1, app="lu", case_id="c"),
            record(1, 1, schedule="dynamic", case_id="d"),
        ],
    )

    assert [table.caption for table in tables] == [
        "lu (serial), size paper, 1 thread, schedule static, wait policy runtime-default",
        "lulesh (libgomp), size paper, 8 threads, schedule static, wait policy runtime-default",
        "lulesh (serial), size paper, 1 thread, schedule dynamic, wait policy runtime-default",
        "lulesh (serial), size paper, 1 thread, schedule static, wait policy runtime-default",
    ]


def test_a_long_reason_hides_no_other_status(tmp_path: Path) -> None:
    long = record(1, 1, status="failed", reason="x" * 900)
    (table,) = tables_from(tmp_path, [long, record(1, 2, status="timeout", reason="limit")])

    (output,) = (text for text in notes_of(table) if "not averaged" in text)
    assert output.endswith("x…), 1 timeout (limit)")
    assert len(output) < 400


@pytest.mark.parametrize(("virtual", "expected"), [("true", 1), ("false", 0), ('"true"', 0)])
def test_numbers_of_a_virtual_machine_are_marked_under_the_table(
    tmp_path: Path, virtual: str, expected: int
) -> None:
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "n1.json").write_text(f'{{"virtual_machine": {virtual}}}')

    (table,) = tables_from(tmp_path, [record(1, r) for r in (1, 2)])

    assert len([text for text in notes_of(table) if "virtual machine" in text]) == expected


def test_a_nodes_file_that_is_not_used_is_told_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "n1.json").write_text('{"cpufreq": {"turbo": 3}}')

    (table,) = tables_from(tmp_path, [record(1, r) for r in (1, 2)])

    why = "cpufreq.turbo: expected true or false or null, found '3'"
    assert f"nodes/n1.json is not used: {why}" in notes_of(table)


@pytest.mark.parametrize(
    ("of_all", "of_one", "note"),
    [
        ({"kinds_declared": True}, {}, "core kinds declared by hand"),
        ({}, {"driver": None, "unavailable": {"driver": "gone"}},
         "driver not known in some runs: gone"),
        ({}, {"placement": {"verdict": "unproved"}},
         "#1: placement proved in 20 of 21 runs, 1 not provable, which is averaged"),
        ({}, {"elapsed_s": 900.0, "status": "settings-changed", "reason": "epp was power"},
         "#1: 1 of 21 runs not averaged: 1 settings-changed (epp was power)"),
    ],
    ids=["no node's file", "driver", "no reason", "settings"],
)  # fmt: skip
def test_what_is_said_of_one_run_in_twenty(
    tmp_path: Path, of_all: Record, of_one: Record, note: str
) -> None:
    runs = [record(1, r, **of_all) for r in range(1, 22)]

    (table,) = tables_from(tmp_path, [*runs[:-1], runs[-1] | of_one])

    assert notes_of(table) == [note]
    assert table.cells[0][2] == "performance (intel_pstate)"
    assert table.raw_values[0]["elapsed_mean_s"] == 45.0


@pytest.mark.parametrize(("count", "runs"), [(1, "1 run"), (2, "2 runs")])
def test_runs_that_are_not_averaged_are_counted_where_those_that_are_were_not(
    tmp_path: Path, count: int, runs: str
) -> None:
    (tmp_path / "summaries.csv").write_text(
        f"app,threads,mapping,elapsed_mean_s,excluded\nlu,1,unpinned,45.1,timeout: {count}\n"
    )

    (table,) = make_tables(tmp_path)

    assert f"#1: {runs} not averaged: {count} timeout" in notes_of(table)


def test_one_run_is_no_runs(tmp_path: Path) -> None:
    unproved = record(1, placement={"verdict": "unproved"})

    (table,) = tables_from(tmp_path, [unproved, record(2, status="failed", reason="x")])

    assert notes_of(table)[-3:] == [
        "#1: not compared, nor to be recommended: 1 of 1 run lacked a proof of the placement; a "
        "tenth at most may be lost",
        "#2: 1 of 1 run not averaged: 1 failed (x)",
        "#2: not compared, nor to be recommended: 1 of 1 run failed; a tenth at most may be lost",
    ]
    proved = "#1: placement proved in 0 of 1 run, 1 not provable, which is averaged"
    assert proved in notes_of(table)


@pytest.mark.parametrize("evil", ["=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(A1)", '="x",1'])
def test_a_name_is_no_formula_in_a_spreadsheet(tmp_path: Path, evil: str) -> None:
    tables = tables_from(tmp_path, [record(1, 1, mapping=evil)])

    (row,) = csv.DictReader(io.StringIO(render(tables, "csv")))

    assert row["mapping"] == f"'{evil}"
    assert not any(cell.startswith(("=", "+", "@")) for cell in row.values())


def test_the_tables_are_written_beside_the_records_and_over_older_ones(tmp_path: Path) -> None:
    tables = tables_from(tmp_path, [record(1, 1)])
    (tmp_path / "tables.md").write_text("old")

    paths = write_tables(tables, tmp_path)

    assert [path.name for path in paths] == ["tables.md", "tables.csv", "tables.tex"]
    assert "## lulesh" in paths[0].read_text()
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "records", *paths])


def test_a_link_in_a_table_s_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    tables = tables_from(tmp_path / "made", [record(1, 1)])
    (tmp_path / "precious").write_text("kept")
    for name in ("tables.md", "tables.csv", "tables.tex"):
        (tmp_path / "made" / name).symlink_to(tmp_path / "precious")

    paths = write_tables(tables, tmp_path / "made")

    assert (tmp_path / "precious").read_text() == "kept"
    assert not any(path.is_symlink() for path in paths)


def test_a_folder_that_cannot_be_written_is_an_error_of_one_line(tmp_path: Path) -> None:
    tables = tables_from(tmp_path, [record(1, 1)])
    (tmp_path / "file").write_text("no folder")

    with pytest.raises(UserError, match=r"cannot be written .*the records are safe"):
        write_tables(tables, tmp_path / "file")


def test_a_caption_names_a_schedule_only_of_a_program_that_takes_one(tmp_path: Path) -> None:
    (with_loops,) = tables_from(tmp_path / "with", [record(1), left_out(2, "not here")])
    assert ", schedule static, wait policy " in with_loops.caption
    without_loops = [record(1, no_schedule=True), left_out(2, "not here")]
    (table,) = tables_from(tmp_path / "without", without_loops)
    assert "schedule" not in table.caption
    assert table.caption == with_loops.caption.replace(" schedule static,", "")


def test_migrations_of_pinned_threads_are_explained_where_their_placement_is_proved(
    tmp_path: Path,
) -> None:
    def notes(folder: str, **fields: object) -> str:
        proved = {"placement": {"verdict": "proved", "looks": 9, "threads": []}}
        runs = [record(3, r, **{**proved, "migrations": 3, **fields}) for r in (1, 2)]
        (table,) = tables_from(tmp_path / folder, runs)
        return " ".join(notes_of(table))

    explained = "migrations of pinned threads (#3): the kernel moves a thread as it starts"
    assert explained in notes("pin", binding="pin")
    assert explained not in notes("none moved", binding="pin", migrations=0)
    assert explained not in notes("set", binding="set")
    assert explained not in notes("unproved", binding="pin", placement=UNPROVED)
