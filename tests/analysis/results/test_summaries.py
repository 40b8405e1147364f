"""Means without runs: what is read of a CSV file, and how its mistakes are told."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.records.runs import read_runs
from analysis.results.case import Case
from analysis.results.summaries import read_summaries
from analysis.results.summarise import summarise
from analysis.results.summary_columns import COLUMNS
from analysis.tables.means import make_tables, render, tables_of_cases
from base.errors import ConfigError, UserError
from tests.support.results import left_out, notes_of, record, without, write

HEADER = "app,build,size,threads,mapping,governor,n,elapsed_mean_s,elapsed_sd_s\n"
ROW = "lulesh,serial,paper,1,pcores-pin,performance,10,45.073,0.026\n"


def summaries(folder: Path, text: str) -> list[Case]:
    path = folder / "mine.csv"
    path.write_text(text)
    return read_summaries(path, "nobody wrote it down")


def mistakes(folder: Path, text: str) -> list[str]:
    """Return the mistakes of a file as `line:column: message`."""
    with pytest.raises(ConfigError) as caught:
        summaries(folder, text)
    return [f"{p.line}:{p.column}: {p.message}" for p in caught.value.problems]


def test_a_row_has_what_the_file_says_and_a_reason_for_what_it_does_not(tmp_path: Path) -> None:
    unlike = ROW.replace("pcores-pin", "cpus 4 and 5").replace("45.073", "45.0730")
    case, other = summaries(tmp_path, HEADER + ROW + unlike.replace(",10,", ",,"))

    assert (*case.key.table[1:3], case.key.table.threads, case.n) == ("lulesh", "serial", 1, 10)
    assert (case.time.mean, case.time.sd, case.time.n) == (45.073, 0.026, 10)
    energy = case.stats["energy_pkg_j"]
    assert math.isnan(energy.mean)
    assert energy.n == 0
    assert case.circumstances.reasons["energy_pkg_j"] == ["nobody wrote it down"]
    assert "elapsed_s" not in case.circumstances.reasons
    assert (case.key.table.schedule, case.circumstances.skip_reason) == ("unknown", None)
    assert (other.n, other.time.n) == (None, None)
    # Numbers keep their digits; a mapping of the installation means what it means there.
    assert (other.time.mean_decimals, other.time.sd_decimals) == (4, 3)
    assert (case.key.selection, case.key.binding) == ("pcores", "pin")
    assert (other.key.selection, other.key.binding) == (None, None)


def test_a_file_from_before_there_were_ranks_reads_as_one_whose_ranks_are_empty(
    tmp_path: Path,
) -> None:
    (before,) = summaries(tmp_path, HEADER + ROW)
    (empty,) = summaries(tmp_path, f"ranks,mpi,{HEADER}" + f",,{ROW}")
    one, two = summaries(tmp_path, f"ranks,{HEADER}" + f",{ROW}" + f"2,{ROW}")

    assert (before.key.table.ranks, before.key.mpi) == (None, None)
    assert before.key.case_id == empty.key.case_id == one.key.case_id != two.key.case_id
    assert [(case.key.table.number, case.key.table.ranks) for case in (one, two)] == [
        (1, None),
        (2, 2),
    ]
    # What only ranks have is missing of ranks only.
    assert ["launcher_cpu_s" in case.circumstances.reasons for case in (before, two)] == [
        False,
        True,
    ]


@pytest.mark.parametrize("ranks", ["0", "two", "1.5"])
def test_a_number_of_ranks_is_a_whole_one(tmp_path: Path, ranks: str) -> None:
    assert mistakes(tmp_path, f"ranks,{HEADER}{ranks},{ROW}") == [
        f"2:1: ranks {ranks!r} is not a whole number from 1"
    ]


def test_without_numbers_tables_and_rows_are_counted_in_the_order_of_the_file(
    tmp_path: Path,
) -> None:
    rows = [ROW.replace("lulesh", app).replace("pcores-pin", mapping)
            for app, mapping in (("lu", "unpinned"), ("lulesh", "a"), ("lu", "b"))]  # fmt: skip
    cases = summaries(tmp_path, HEADER + "".join(rows))

    numbers = [
        (case.key.table.number, case.key.table.app, case.key.number, case.key.mapping)
        for case in cases
    ]
    assert numbers == [(1, "lu", 1, "unpinned"), (1, "lu", 2, "b"), (2, "lulesh", 1, "a")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEADER + ROW.replace("45.073", "45,073"), "2:56: 10 cells; the first line names 9 "),
        (HEADER + ROW.replace("45.073", "4x"), "2:49: elapsed_mean_s '4x' is not a number"),
        # Columns are those of the line, quotes and commas in cells before it included.
        (HEADER + ROW.replace("45.073", "4x").replace("lulesh", '"l""u,x"'),
         "2:51: elapsed_mean_s '4x' is not a number"),
        (HEADER + ROW.replace("45.073", "nan"), "2:49: elapsed_mean_s 'nan' is not a number"),
        (HEADER + ROW.replace("45.073", "1e999"), "2:49: elapsed_mean_s '1e999' is not a number"),
        (HEADER + ROW.replace("45.073", "0"), "2:49: elapsed_mean_s '0' is no time"),
        (HEADER + ROW.replace("0.026", "-0.026"), "2:56: elapsed_sd_s '-0.026' is below 0"),
        # As in a record, where such numbers are removed: columns would be hundreds of digits wide.
        (HEADER + ROW.replace("45.073", "1e300"), "2:49: elapsed_mean_s '1e300' is more than any"),
        (HEADER + ROW.replace("0.026", "1e300"), "2:56: elapsed_sd_s '1e300' is more than any"),
        (HEADER + ROW.replace(",10,", ",1.5,"), "2:46: n '1.5' is not a whole number"),
        (HEADER + ROW.replace("lulesh", '"lu,\tlesh"'), "2:1: app 'lu,\\tlesh' has characters"),
        (HEADER + ROW.replace("lulesh", ""), "2:1: app is empty in this row"),
        (HEADER + ROW + "\n" + ROW, "4:1: the same case as in line 2"),
        (HEADER.replace("elapsed_mean_s", "elapsd_mean_s") + ROW,
         "1:43: column 'elapsd_mean_s' is not known; did you mean 'elapsed_mean_s'?"),
        (HEADER.replace("build", "app") + ROW, "1:5: column 'app' is there twice"),
        (HEADER.replace("mapping", "binding") + ROW, "1:1: there is no column 'mapping'"),
        (HEADER.replace("\n", ",unproved\n") + ROW.replace("\n", ",11\n"),
         "2:62: unproved 11 is more than n, 10"),
        (HEADER.replace("\n", ",unproved\n") + ROW.replace(",10,", ",,").replace("\n", ",1\n"),
         "2:60: unproved 1 is of an unknown number of runs; give n, too"),
        (HEADER + ROW.replace(",10,", ",0,"), "2:46: n is 0, but the row has numbers of runs"),
        (HEADER.replace("\n", ",status\n") + ROW.replace("\n", ",Skipped\n"),
         "2:62: status 'Skipped' is not known; did you mean 'skipped'?"),
        (HEADER.replace("\n", ",status\n") + ROW.replace("\n", ",skipped\n"),
         "2:62: status is skipped, but the row has runs"),
        (HEADER.replace("\n", ",excluded\n") + ROW.replace("\n", ",failed 3\n"),
         "2:62: excluded 'failed 3' is not such as 'failed: 2; timeout: 1' (known: failed, "),
        (HEADER.replace("\n", ",elapsed_n\n") + ROW.replace("\n", ",11\n"),
         "2:62: elapsed_n 11 is more than n, 10"),
        (HEADER.replace("\n", ",energy_psys_mean_j\n") + ROW.replace("\n", ",0\n"),
         "2:62: energy_psys_mean_j '0' is no energy of a run; leave the cell empty"),
        (HEADER.replace("\n", ",energy_pkg_n\n") + ROW.replace("\n", ",0\n"),
         "2:62: energy_pkg_n '0' is not a whole number from 1"),
        (HEADER.replace("\n", ",metric_rate_n\n") + ROW.replace("\n", ",few\n"),
         "2:62: metric_rate_n 'few' is not a whole number from 1"),
        (HEADER.replace("\n", ",waited_P_n\n") + ROW.replace("\n", ",1.5\n"),
         "2:62: waited_P_n '1.5' is not a whole number from 1"),
        (HEADER.replace("\n", ",elapsed_min_s\n") + ROW.replace("\n", ",45.08\n"),
         "2:49: elapsed_mean_s 45.073 is below elapsed_min_s 45.08"),
        (HEADER.replace("\n", ",elapsed_max_s\n") + ROW.replace("\n", ",45.0\n"),
         "2:62: elapsed_max_s 45.0 is below elapsed_mean_s 45.073"),
        (HEADER.replace("\n", ",elapsed_median_s,elapsed_max_s\n")
         + ROW.replace("\n", ",46.56,46\n"),
         "2:68: elapsed_max_s 46 is below elapsed_median_s 46.56"),
        (HEADER.replace("\n", ",residency_P,residency_E\n") + ROW.replace("\n", ",0.9,0.2\n"),
         "2:66: residency of all core kinds is 1.1, which is more than 1"),
        (HEADER + ROW.replace(",10,", ",1,"),
         "2:55: elapsed_sd_s is of one run, which has no standard deviation: leave it empty, or "
         "correct n"),
        (HEADER.replace("\n", ",elapsed_n\n") + ROW.replace("\n", ",1\n"),
         "2:56: elapsed_sd_s is of one run, which has no standard deviation: leave it empty, or "
         "correct elapsed_n"),
        (HEADER.replace("elapsed_sd_s", "metric_rate_sd") + ROW.replace(",10,", ",1,"),
         "2:55: metric_rate_sd is of one run, which has no standard deviation"),
        (HEADER.replace("\n", ",case_id\n")
         + ROW.replace("\n", ",x\n") + ROW.replace("pcores-pin", "unpinned").replace("\n", ",x\n"),
         "3:1: the same case_id as in line 2"),
        (HEADER.replace("elapsed_sd_s", "freq_mean") + ROW,
         "1:58: column 'freq_mean' is not known; did you mean 'freq_mean_ghz'?"),
        (HEADER.replace("elapsed_sd_s", "residency_P_mean_ghz") + ROW,
         "1:58: column 'residency_P_mean_ghz' is not known"),
        (HEADER.replace("elapsed_sd_s", "residency_P") + ROW.replace("0.026", "95"),
         "2:56: residency_P '95' is more than 1, and a share"),
        (HEADER + ROW.replace("paper", "") + ROW.replace("paper", "unknown"),
         "3:1: the same case as in line 2"),
        (HEADER + ROW + ROW.replace("paper,1,", "paper,01,"), "3:1: the same case as in line 2"),
        (HEADER, "1:1: no summaries"),
        ("", "1:1: no summaries"),
        (HEADER + ROW + '"lulesh\n', "3:1: no line of CSV"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_line_and_column(tmp_path: Path, text: str, expected: str) -> None:
    assert any(mistake.startswith(expected) for mistake in mistakes(tmp_path, text)), mistakes(
        tmp_path, text
    )


def test_times_that_were_rounded_to_unlike_digits_may_seem_to_contradict_each_other(
    tmp_path: Path,
) -> None:
    header = HEADER.replace("\n", ",elapsed_median_s,elapsed_max_s\n")
    (case,) = summaries(tmp_path, header + ROW.replace("\n", ",46.4,46\n"))
    assert (case.time.median, case.time.max) == (46.4, 46.0)


def test_the_mean_of_equal_times_may_be_off_by_the_last_digit_of_a_float(tmp_path: Path) -> None:
    time_s = 13.498382261231663
    mean_s = sum([time_s] * 7) / 7
    row = ROW.replace("45.073", str(mean_s)).replace("\n", f",{time_s},{time_s}\n")
    (case,) = summaries(tmp_path, HEADER.replace("\n", ",elapsed_min_s,elapsed_max_s\n") + row)
    assert case.time.max == time_s != mean_s


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    text = HEADER + ROW.replace("45.073", "x") + ROW.replace("0.026", "y")

    assert len(mistakes(tmp_path, text)) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("app,threads,mapping" + "," * 99_997 + "\n", "1:1: 100000 cells; expected at most 2000"),
        (",".join(f"c{n}" for n in range(20_000)), "1:1: 20000 cells; expected at most 2000"),
        (HEADER + "x," * 600_000 + "\n", "2:1: 1200000 characters; expected at most 1048576"),
        (HEADER + '"' + "x" * 200_000 + '"\n', "2:1: no line of CSV (field larger than"),
        (HEADER + '"lulesh,' * 30_000 + "\n", "2:1: no line of CSV ("),
        (
            "app,threads,mapping\n" + "".join(f"a{n},1,m\n" for n in range(20_001)),
            "20002:1: more than 20000 rows",
        ),
    ],
    ids=["empty columns", "unknown columns", "long row", "large cell", "open quotes", "rows"],
)
def test_a_table_that_is_none_is_one_mistake(tmp_path: Path, text: str, expected: str) -> None:
    (found,) = mistakes(tmp_path, text)
    assert found.startswith(expected)


@pytest.mark.parametrize("row", ["x\n", "lulesh,x,paper,y,m,g,z,w,v\n", ROW])
def test_no_more_than_a_hundred_mistakes_are_listed(tmp_path: Path, row: str) -> None:
    found = mistakes(tmp_path, HEADER + row * 500)
    assert 100 <= len(found) <= 101
    assert row == ROW or found[-1].endswith(": 100 mistakes above; no more are looked for")


def test_invalid_bytes_are_reported_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(HEADER.encode() + b"lul\xffsh")

    with pytest.raises(ConfigError, match=r"mine\.csv:2:4: not UTF-8 text"):
        read_summaries(path, "")


@pytest.mark.parametrize("name", ["", "nothing.csv", "nothing\0.csv"])
def test_a_file_that_is_none_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="expected a CSV file of means"):
        read_summaries(tmp_path / name, "")


def test_the_tables_that_pinstudy_writes_can_be_read_as_summaries(tmp_path: Path) -> None:
    write(
        tmp_path,
        [
            record(1, 1, elapsed_s=44.0),
            record(1, 2, elapsed_s=47.0),
            record(1, 3, status="timeout", reason="limit"),
            without(["energy_pkg_j"], "no permission; ask", number=2, repetition=1),
            left_out(4, "no E-cores: none"),
        ],
    )
    text = render(make_tables(tmp_path), "csv")

    cases = summaries(tmp_path, text)

    measured, without_energy, absent = cases
    assert measured.time.mean == measured.time.median == 45.5
    assert measured.time.sd == pytest.approx(math.sqrt(4.5))
    assert measured.circumstances.excluded == {"timeout": 1}
    assert measured.means_by_kind("residency") == {"P": 1.0, "E": 0.0}
    assert measured.means_by_kind("freq_ghz") == {"P": 5.976}
    assert measured.circumstances.drivers == ["intel_pstate"]
    assert without_energy.circumstances.reasons["energy_pkg_j"] == ["no permission", "ask"]
    assert absent.circumstances.skip_reason == "no E-cores: none"
    assert [case.key.case_id for case in cases] == [
        case.key.case_id for case in summarise(read_runs(tmp_path))
    ]


def test_every_measure_keeps_the_number_of_its_runs(tmp_path: Path) -> None:
    kinds = {"energy_by_kind_j": {"P": 9.0, "E": 1.0}}
    write(
        tmp_path,
        [
            record(1, 1, edp_js=8.0, metrics={"rate": 6.0}, **kinds),
            record(1, 2, edp_js=9.0, **kinds),
            without(["energy_pkg_j"], "wrapped", number=1, repetition=3) | {"metrics": {"rate": 7}},
        ],
    )
    tables = make_tables(tmp_path)

    (row,) = csv.DictReader(io.StringIO(render(tables, "csv")))
    (case,) = summaries(tmp_path, render(tables, "csv"))

    counts = {name: count for name, count in row.items() if name.endswith("_n") or name == "n"}
    assert counts == {
        "n": "3",
        "energy_pkg_n": "2",
        "edp_n": "2",
        "metric_rate_n": "2",
        "energy_by_kind_P_n": "2",
        "energy_by_kind_E_n": "2",
    }
    names = ("elapsed_s", "energy_pkg_j", "edp_js", "metric_rate", "power_pkg_w")
    assert [case.stats[name].n for name in names] == [3, 2, 2, 2, 0]
    assert [case.by_kind("energy_by_kind_j")[kind].n for kind in ("P", "E")] == [2, 2]
    assert "mean of 2 of 3 runs; the others: wrapped" in notes_of(tables_of_cases([case])[0])


def test_of_runs_that_have_every_measure_there_is_one_count(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1), record(1, 2)])
    header = render(make_tables(tmp_path), "csv").partition("\n")[0].split(",")
    assert [name for name in header if name.endswith("_n")] == []


def test_a_measure_can_have_a_count_where_the_row_has_none(tmp_path: Path) -> None:
    header = HEADER.replace("\n", ",elapsed_n,energy_pkg_mean_j\n")
    (case,) = summaries(tmp_path, header + ROW.replace(",10,", ",,").replace("\n", ",9,2215\n"))

    assert (case.n, case.time.n, case.stats["energy_pkg_j"].n) == (None, 9, None)
    (table,) = tables_of_cases([case])
    assert not any("mean of" in note for note in notes_of(table))


def test_a_row_that_says_why_runs_lack_a_measure_but_not_how_many_leaves_it_unknown(
    tmp_path: Path,
) -> None:
    header = HEADER.replace("\n", ",energy_pkg_mean_j,energy_pkg_sd_j,edp_mean_js,reasons\n")
    rows = ROW.replace("\n", ",50.8,1.2,99,energy_pkg_j: counter wrapped\n")
    rows += ROW.replace("pin", "set").replace("\n", ",50.8,1.2,99,freq_mean_ghz: no perf\n")

    lacking, whole = summaries(tmp_path, header + rows)

    names = ("elapsed_s", "energy_pkg_j", "freq_mean_ghz")
    assert [lacking.stats[name].n for name in names] == [10, None, 0]
    assert [whole.stats[name].n for name in names] == [10, 10, 0]
    note = "mean of fewer than 10 runs; the others: counter wrapped"
    assert note in notes_of(tables_of_cases([lacking])[0])


def test_a_reason_with_a_colon_in_it_is_read_whole(tmp_path: Path) -> None:
    why = "no permission; perf: not installed"
    unproved = {"placement": {"verdict": "unproved"}}
    lost = without(["energy_pkg_j"], why, number=1, repetition=1) | unproved
    lost["unavailable"]["placement"] = "too short"
    write(tmp_path, [lost, record(1, 2, status="failed", reason="exit status: 1; stderr: none")])

    (case,) = summaries(tmp_path, render(make_tables(tmp_path), "csv"))

    assert "; ".join(case.circumstances.reasons["energy_pkg_j"]) == why
    assert case.circumstances.reasons["placement"] == ["too short"]
    assert "; ".join(case.circumstances.reasons["failed"]) == "exit status: 1; stderr: none"


CELL = st.one_of(
    st.sampled_from(["lulesh", "1", "0", "10", "45.073", "-3", "nan", "", "pcores-pin"]),
    st.text(max_size=5),
)  # fmt: skip


@given(
    st.lists(st.one_of(st.sampled_from(COLUMNS), st.text(max_size=4)), min_size=1, max_size=8),
    st.lists(st.lists(CELL, max_size=8), max_size=3),
)
@example(["app", "threads", "mapping", "residency_P"], [["a", "1", "m", "9" * 31]])
@example(["app", "threads", "mapping"], [["a", "9" * 5000, "m"]])
def test_whatever_a_file_holds_there_is_no_traceback(
    header: list[str], rows: list[list[Any]]
) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow([*header, "app", "threads", "mapping"])
    writer.writerows([*row, "lulesh", "1", "unpinned"] for row in rows)
    with TemporaryDirectory() as name:
        path = Path(name) / "mine.csv"
        path.write_bytes(stream.getvalue().encode("utf-8", "replace"))
        try:
            cases = read_summaries(path, "")
        except UserError as error:
            assert "mine.csv" in str(error)
        else:
            assert len(cases) >= 1
