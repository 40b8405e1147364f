"""The tables a user sees: the published columns, and an honest word where there is no number."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from analysis.tables.means import make_tables, render, write_tables
from base.errors import UserError
from tests.support.results import (
    cells_by_title,
    left_out,
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


def ten_runs(number: int) -> list[dict[str, object]]:
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


def test_a_published_table_comes_out_as_it_was_published(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [run for number in PUBLISHED for run in ten_runs(number)])

    for row, (number, published) in enumerate(PUBLISHED.items()):
        cells = cells_by_title(table, row)
        assert cells["#"] == str(number)
        assert cells["n"] == "10"
        assert (
            cells["time mean (s)"], cells["sd (s)"], cells["frequency (GHz)"],
            cells["migrations"], cells["cache misses"], cells["energy package (J)"],
        ) == published  # fmt: skip
    assert [row[1:3] for row in table.cells] == [
        ("scheduler", "performance (intel_pstate)"),
        ("pcores-pin", "performance (intel_pstate)"),
        ("scheduler", "powersave (intel_pstate)"),
    ]
    assert table.notes == ()


def test_records_of_no_run_are_told_and_leave_the_files_alone(tmp_path: Path) -> None:
    write(tmp_path, []).write_text('{"schema": 4, "status": "o')

    with pytest.raises(UserError, match=r"no run in its records \(1 line of .* cut off or damaged"):
        make_tables(tmp_path)


def test_there_is_a_table_for_each_app_size_and_thread_count(tmp_path: Path) -> None:
    tables = tables_from(
        tmp_path,
        [
            record(1, 1),
            record(1, 1, threads=8, variant="libgomp", case_id="b"),
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


def test_what_was_not_measured_is_na_with_its_reason_once(tmp_path: Path) -> None:
    names = ["freq_mean_ghz", "cache_misses"]
    (table,) = tables_from(
        tmp_path,
        [
            without(names, "cycles: refused here", number=number, repetition=repetition)
            for number in (1, 2)
            for repetition in (1, 2)
        ],
    )

    for row in (0, 1):
        cells = cells_by_title(table, row)
        assert cells["frequency (GHz)"] == cells["cache misses"] == "n/a (a)"
        assert cells["migrations"] == "1"
    assert table.notes == (("a", "cycles: refused here"),)


def test_a_mean_of_some_of_the_runs_says_of_how_many(tmp_path: Path) -> None:
    (table,) = tables_from(
        tmp_path,
        [
            record(1, 1, energy_pkg_j=10.0),
            record(1, 2, energy_pkg_j=20.0),
            without(["energy_pkg_j"], "counter wrapped", number=1, repetition=3),
        ],
    )

    assert cells_by_title(table)["energy package (J)"] == "15.00 (a)"
    assert table.notes == (("a", "mean of 2 of 3 runs; the others: counter wrapped"),)


def test_a_row_that_was_left_out_keeps_its_number_and_says_why(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [record(1, 1), record(1, 2), left_out(4, "no E-cores here")])

    cells = cells_by_title(table, 1)
    assert (cells["#"], cells["mapping"], cells["time mean (s)"]) == (
        "4", "ecores-set", "left out (a)",
    )  # fmt: skip
    assert ("a", "left out: no E-cores here") in table.notes


def test_runs_that_are_not_averaged_are_counted_by_status(tmp_path: Path) -> None:
    (table,) = tables_from(
        tmp_path,
        [
            record(2, 1),
            record(2, 2),
            record(2, 3, status="timeout", reason="ended after its limit of 600 s"),
            record(2, 4, status="check-failed", reason="exit status 3"),
            record(2, 5, status="check-failed", reason="exit status 3"),
            record(2, 6, warmup=True, status="failed", reason="exit status 1"),
        ],
    )

    assert cells_by_title(table)["n"] == "2"
    assert table.notes == (
        ("", "#2: 3 of 5 runs not averaged: 1 timeout (ended after its limit of 600 s), "
             "2 check-failed (exit status 3)"),
    )  # fmt: skip


def test_a_long_reason_hides_no_other_status(tmp_path: Path) -> None:
    long = record(1, 1, status="failed", reason="x" * 900)
    (table,) = tables_from(tmp_path, [long, record(1, 2, status="timeout", reason="limit")])

    (told,) = (text for _, text in table.notes if "not averaged" in text)
    assert told.endswith("x…), 1 timeout (limit)")
    assert len(told) < 400


def test_a_case_of_which_no_run_was_good_has_no_numbers(tmp_path: Path) -> None:
    (table,) = tables_from(
        tmp_path, [record(1, 1, status="failed", reason="exit status 1"), record(2, 1)]
    )

    cells = cells_by_title(table)
    assert (cells["n"], cells["time mean (s)"], cells["migrations"]) == ("0", "n/a (a)", "-")
    assert "#1: 1 of 1 runs not averaged: 1 failed (exit status 1)" in dict(table.notes).values()


def test_core_kinds_declared_by_hand_are_named_under_the_table(tmp_path: Path) -> None:
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "n1.json").write_text(
        '{"kinds": [{"name": "P", "cpus": "0"}, {"name": "E", "cpus": "1"}]}'
    )

    (table,) = tables_from(tmp_path, [record(1, r, kinds_declared=True) for r in (1, 2)])

    assert table.notes == (("", "core kinds declared by hand: P=0, E=1"),)


def test_numbers_of_a_virtual_node_are_marked_under_the_table(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [record(1, r, node="virtual") for r in (1, 2)])

    assert table.notes == (("", "numbers of a virtual node's model, not of hardware"),)


@pytest.mark.parametrize(("virtual", "said"), [("true", 1), ("false", 0), ('"true"', 0)])
def test_numbers_of_a_virtual_machine_are_marked_under_the_table(
    tmp_path: Path, virtual: str, said: int
) -> None:
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "n1.json").write_text(f'{{"virtual_machine": {virtual}}}')

    (table,) = tables_from(tmp_path, [record(1, r) for r in (1, 2)])

    assert len([text for _, text in table.notes if "virtual machine" in text]) == said


def test_declared_kinds_are_said_even_without_the_node_s_file(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [record(1, r, kinds_declared=True) for r in (1, 2)])

    assert table.notes == (("", "core kinds declared by hand"),)


def test_a_driver_that_is_not_known_is_said_with_its_reason(tmp_path: Path) -> None:
    why = "no frequency scaling here"
    (table,) = tables_from(
        tmp_path, [record(1, r, driver=None, unavailable={"driver": why}) for r in (1, 2)]
    )
    assert table.cells[0][2] == "performance (n/a)"
    assert ("", f"driver not known: {why}") in table.notes


def test_a_driver_that_some_runs_do_not_tell_is_no_unknown_one(tmp_path: Path) -> None:
    silent = record(1, 2, driver=None, unavailable={"driver": "gone"})
    (table,) = tables_from(tmp_path, [record(1, 1), silent])
    assert table.cells[0][2] == "performance (intel_pstate)"
    assert table.notes == (("", "driver not known in some runs: gone"),)


def test_runs_under_changed_settings_are_not_averaged(tmp_path: Path) -> None:
    changed = record(
        1, 3, elapsed_s=900.0, status="settings-changed", reason="epp was power before the run"
    )
    (table,) = tables_from(tmp_path, [record(1, 1), record(1, 2), changed])
    assert table.exact[0]["elapsed_mean_s"] == 45.0
    assert any("1 settings-changed (epp was power before the run)" in n for _, n in table.notes)


def test_the_governor_that_was_in_force_is_named_where_the_current_one_was_asked_for(
    tmp_path: Path,
) -> None:
    runs = [record(1, r, governor="current", governor_read="schedutil") for r in (1, 2)]

    (table,) = tables_from(tmp_path, runs)

    assert table.notes == (("", "governor in force: schedutil"),)


def test_placement_that_was_not_proved_is_said(tmp_path: Path) -> None:
    unproved = {
        "placement": {"verdict": "unproved"},
        "unavailable": {"placement": "the run was too short to look at"},
    }

    (table,) = tables_from(tmp_path, [record(1, 1), record(1, 2, **unproved)])

    assert table.notes == (
        (
            "",
            "#1: placement proved in 1 of 2 runs, 1 not provable, which are averaged: the run was "
            "too short to look at",
        ),
        (
            "",
            "#1: not compared, nor to be recommended: placement proved in 1 of 2 runs, 1 not "
            "provable; a tenth at most may lack it",
        ),
    )


def test_placement_that_was_not_proved_for_no_given_reason_has_no_colon(tmp_path: Path) -> None:
    unproved = {"placement": {"verdict": "unproved"}}

    (table,) = tables_from(
        tmp_path, [*(record(1, r) for r in range(1, 21)), record(1, 21, **unproved)]
    )

    (said,) = (text for _, text in table.notes if "not provable" in text)
    assert said == "#1: placement proved in 20 of 21 runs, 1 not provable, which are averaged"


def test_runs_that_are_not_averaged_are_counted_where_those_that_are_were_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "summaries.csv").write_text(
        "app,threads,mapping,elapsed_mean_s,excluded\nlu,1,scheduler,45.1,timeout: 2\n"
    )

    (table,) = make_tables(tmp_path)

    assert ("", "#1: 2 runs not averaged: 2 timeout") in table.notes


def test_without_times_there_is_no_deviation_for_the_same_reason(tmp_path: Path) -> None:
    untimed = [without(["elapsed_s"], "perf said none", number=1, repetition=r) for r in (1, 2)]

    (table,) = tables_from(tmp_path, untimed)

    cells = cells_by_title(table)
    assert (cells["time mean (s)"], cells["sd (s)"]) == ("n/a (a)", "n/a (a)")
    assert table.notes == (("a", "perf said none"),)


def test_a_row_that_was_left_out_for_no_given_reason_says_so(tmp_path: Path) -> None:
    (table,) = tables_from(tmp_path, [record(1, 1), record(1, 2), left_out(4, "")])

    assert ("a", "left out, and no reason given") in table.notes


def test_short_times_keep_three_digits(tmp_path: Path) -> None:
    records = [
        record(number, r, elapsed_s=seconds)
        for number, seconds in ((1, 0.04648), (2, 1.5))
        for r in (1, 2)
    ]

    (table,) = tables_from(tmp_path, records)

    assert cells_by_title(table, 0)["time mean (s)"] == "0.0465"
    assert cells_by_title(table, 1)["time mean (s)"] == "1.5000"


def test_csv_holds_every_row_unrounded_with_units_in_its_header(tmp_path: Path) -> None:
    tables = tables_from(
        tmp_path,
        [
            record(1, 1, elapsed_s=1.0, residency={"P": 0.25, "E": 0.75}),
            record(1, 2, elapsed_s=1.0000001, residency={"P": 0.25, "E": 0.75}),
            without(["energy_pkg_j"], 'no, "really"', number=2, repetition=1),
            left_out(4, "no E-cores"),
        ],
    )

    first, second, third = csv.DictReader(io.StringIO(render(tables, "csv")))

    assert float(first["elapsed_mean_s"]) == pytest.approx(1.00000005, abs=1e-12)
    assert float(first["freq_mean_ghz"]) == 5.976
    assert (first["study"], first["node_id"], first["n"]) == ("paper-serial", "node1", "2")
    assert (first["residency_P"], first["residency_E"]) == ("0.25", "0.75")
    assert second["energy_pkg_mean_j"] == second["elapsed_sd_s"] == ""
    assert second["reasons"] == 'energy_pkg_j: no, "really"'
    assert (third["status"], third["reasons"], third["elapsed_mean_s"]) == (
        "skipped", "no E-cores", "",
    )  # fmt: skip


@pytest.mark.parametrize("evil", ["=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(A1)", '="x",1'])
def test_a_name_is_no_formula_in_a_spreadsheet(tmp_path: Path, evil: str) -> None:
    tables = tables_from(tmp_path, [record(1, 1, mapping=evil, energy_net_j=-1.5)])

    (row,) = csv.DictReader(io.StringIO(render(tables, "csv")))

    assert row["mapping"] == f"'{evil}"
    assert row["energy_net_mean_j"] == "-1.5"
    assert not any(cell.startswith(("=", "+", "@")) for cell in row.values())


def test_energy_figures_are_in_the_csv_with_their_units_last(tmp_path: Path) -> None:
    figures = {
        "energy_core_j": 1500.0,
        "energy_net_j": 1765.08,
        "idle_power_w": 10.0,
        "power_pkg_w": 49.224,
        "edp_js": 99678.6,
        "ed2p_js2": 4485537.0,
    }
    tables = tables_from(tmp_path, [record(1, 1, **figures), record(1, 2, **figures)])

    (row,) = csv.DictReader(io.StringIO(render(tables, "csv")))

    named = {
        "energy_core_mean_j": 1500.0,
        "energy_net_mean_j": 1765.08,
        "idle_power_mean_w": 10.0,
        "power_pkg_mean_w": 49.224,
        "edp_mean_js": 99678.6,
        "ed2p_mean_js2": 4485537.0,
        "edp_sd_js": 0.0,
    }
    assert {name: float(row[name]) for name in named} == pytest.approx(named)
    assert row["energy_dram_mean_j"] == ""


EVIL = "a | b\n\x1b[31m_c_ <script> `d` \\e 50% & {$x^2} #~"


@pytest.mark.parametrize("style", ["text", "markdown", "latex"])
def test_what_a_program_said_cannot_break_out_of_its_line(tmp_path: Path, style: str) -> None:
    tables = tables_from(tmp_path, [record(1, 1, status="failed", reason=EVIL), record(1, 2)])

    text = render(tables, style)

    assert "\x1b" not in text
    (line,) = (line for line in text.splitlines() if "not averaged" in line)
    if style == "markdown":
        assert r"a \| b" in line
        assert r"\<script\>" in line
        assert r"50% \& {" in line
        assert r"#\~" in line
    if style == "latex":
        assert r"50\% \& \{\$x\textasciicircum{}2\} \#\textasciitilde{}" in line
        assert r"\textbackslash{}e" in line


def test_a_latex_table_is_a_booktabs_table_with_all_its_rows(tmp_path: Path) -> None:
    text = render(tables_from(tmp_path, [record(n, r) for n in (1, 2) for r in (1, 2)]), "latex")

    for part in (r"\begin{table}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{table}"):
        assert text.count(part) == 1
    rows = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert [row.count("&") for row in rows] == [10, 10]
    assert text.count("{") == text.count("}")


def test_the_tables_are_written_beside_the_records_and_over_older_ones(tmp_path: Path) -> None:
    tables = tables_from(tmp_path, [record(1, 1)])
    (tmp_path / "tables.md").write_text("old")

    paths = write_tables(tables, tmp_path)

    assert [path.name for path in paths] == ["tables.md", "tables.csv", "tables.tex"]
    assert "## lulesh" in paths[0].read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "records", "tables.csv", "tables.md", "tables.tex",
    ]  # fmt: skip


def test_a_link_in_a_table_s_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    tables = tables_from(tmp_path / "made", [record(1, 1)])
    (tmp_path / "precious").write_text("kept")
    for name in ("tables.md", "tables.csv", "tables.tex"):
        (tmp_path / "made" / name).symlink_to(tmp_path / "precious")

    paths = write_tables(tables, tmp_path / "made")

    assert (tmp_path / "precious").read_text() == "kept"
    assert not any(path.is_symlink() for path in paths)


def test_a_folder_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    tables = tables_from(tmp_path, [record(1, 1)])
    (tmp_path / "file").write_text("no folder")

    with pytest.raises(UserError, match=r"cannot be written .*the records are safe"):
        write_tables(tables, tmp_path / "file")
