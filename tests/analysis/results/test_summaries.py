"""Means without runs: what is read of a CSV file, how mistakes are told, and what offices write."""

from __future__ import annotations

import csv
import functools
import io
import math
import operator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pinstudy.analysis.imports.summary_file import import_summaries
from pinstudy.analysis.objectives import ENERGY
from pinstudy.analysis.records.runs import read_runs
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.summaries import COLUMNS, FILE, read_summaries
from pinstudy.analysis.results.summarise import summarise
from pinstudy.analysis.tables.means import make_tables, render, tables_of_cases
from pinstudy.base.errors import ConfigError, UserError
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


def test_without_ranks_and_numbers_tables_are_counted_in_the_order_of_the_file(
    tmp_path: Path,
) -> None:
    rows = [ROW.replace("lulesh", app).replace("pcores-pin", mapping)
            for app, mapping in (("lu", "unpinned"), ("lulesh", "a"), ("lu", "b"))]  # fmt: skip
    cases = summaries(tmp_path, HEADER + "".join(rows))
    keys = [(case.key.table.number, case.key.number, case.key.mapping) for case in cases]
    assert keys == [(1, 1, "unpinned"), (1, 2, "b"), (2, 1, "a")]

    (before,) = summaries(tmp_path, HEADER + ROW)
    one, two = summaries(tmp_path, f"ranks,{HEADER}" + f",{ROW}" + f"2,{ROW}")
    assert (before.key.table.ranks, before.key.mpi) == (None, None)
    assert before.key.case_id == one.key.case_id != two.key.case_id
    assert [case.key.table.ranks for case in (one, two)] == [None, 2]
    # What only ranks have is missing of ranks only.
    lack = ["launcher_cpu_s" in case.circumstances.reasons for case in (before, two)]
    assert lack == [False, True]


def with_cell(old: str, new: str) -> str:
    """Return the table of one row with something else in the place of a cell."""
    return HEADER + ROW.replace(old, new)


def with_columns(columns: str, cells: str, old: str = "", new: str = "") -> str:
    """Return the table of one row with more columns at its end."""
    return HEADER.replace("\n", f",{columns}\n") + ROW.replace(old, new).replace(
        "\n", f",{cells}\n"
    )


def with_column(old: str, new: str, row: str = ROW) -> str:
    """Return the table of one row with another name of a column."""
    return HEADER.replace(old, new) + row


ONE_RUN = "is of one run, which has no standard deviation: leave it empty, or correct"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (with_cell("45.073", "45,073"), "2:56: 10 cells; the first line names 9 "),
        (with_cell("45.073", "4x"), "2:49: elapsed_mean_s '4x' is not a number"),
        # Columns are those of the line, quotes and commas in cells before it included.
        (HEADER + ROW.replace("45.073", "4x").replace("lulesh", '"l""u,x"'),
         "2:51: elapsed_mean_s '4x' is not a number"),
        (with_cell("45.073", "nan"), "2:49: elapsed_mean_s 'nan' is not a number"),
        (with_cell("45.073", "1e999"), "2:49: elapsed_mean_s '1e999' is not a number"),
        (with_cell("45.073", "0"), "2:49: elapsed_mean_s '0' is no time"),
        (with_cell("0.026", "-0.026"), "2:56: elapsed_sd_s '-0.026' is below 0"),
        # As in a record, where such numbers are removed: columns would be hundreds of digits wide.
        (with_cell("45.073", "1e300"), "2:49: elapsed_mean_s '1e300' is more than any"),
        (with_cell("0.026", "1e300"), "2:56: elapsed_sd_s '1e300' is more than any"),
        (with_cell(",10,", ",1.5,"), "2:46: n '1.5' is not a whole number"),
        (with_cell(",10,", ",0,"), "2:46: n is 0, but the row has numbers of runs"),
        (with_cell(",10,", ",1,"), f"2:55: elapsed_sd_s {ONE_RUN} n"),
        (with_cell("lulesh", '"lu,\tlesh"'), "2:1: app 'lu,\\tlesh' has characters"),
        (with_cell("lulesh", ""), "2:1: app is empty in this row"),
        (f"{HEADER}{ROW}\n{ROW}", "4:1: the same case as in line 2"),
        (HEADER + ROW.replace("paper", "") + ROW.replace("paper", "unknown"),
         "3:1: the same case as in line 2"),
        (HEADER + ROW + ROW.replace("paper,1,", "paper,01,"), "3:1: the same case as in line 2"),
        (HEADER, "1:1: no summaries"),
        ("", "1:1: no summaries"),
        (f'{HEADER}{ROW}"lulesh\n', "3:1: no line of CSV"),
        (with_column("elapsed_mean_s", "elapsd_mean_s"),
         "1:43: column 'elapsd_mean_s' is not known; did you mean 'elapsed_mean_s'?"),
        (with_column("elapsed_sd_s", "freq_mean"),
         "1:58: column 'freq_mean' is not known; did you mean 'freq_mean_ghz'?"),
        (with_column("elapsed_sd_s", "residency_P_mean_ghz"),
         "1:58: column 'residency_P_mean_ghz' is not known"),
        (with_column("build", "app"), "1:5: column 'app' is there twice"),
        (with_column("mapping", "binding"), "1:1: there is no column 'mapping'"),
        (with_column("elapsed_sd_s", "residency_P", ROW.replace("0.026", "95")),
         "2:56: residency_P '95' is more than 1, and a share"),
        (with_column("elapsed_sd_s", "metric_rate_sd", ROW.replace(",10,", ",1,")),
         "2:55: metric_rate_sd is of one run, which has no standard deviation"),
        (with_columns("ranks", "0"), "2:62: ranks '0' is not a whole number from 1"),
        (with_columns("ranks", "two"), "2:62: ranks 'two' is not a whole number from 1"),
        (with_columns("unproved", "11"), "2:62: unproved 11 is more than n, 10"),
        (with_columns("unproved", "1", ",10,", ",,"),
         "2:60: unproved 1 is of an unknown number of runs; give n, too"),
        (with_columns("status", "Skipped"),
         "2:62: status 'Skipped' is not known; did you mean 'skipped'?"),
        (with_columns("status", "skipped"), "2:62: status is skipped, but the row has runs"),
        (with_columns("excluded", "failed 3"),
         "2:62: excluded 'failed 3' is not such as 'failed: 2; timeout: 1' (known: failed, "),
        (with_columns("elapsed_n", "11"), "2:62: elapsed_n 11 is more than n, 10"),
        (with_columns("elapsed_n", "1"), f"2:56: elapsed_sd_s {ONE_RUN} elapsed_n"),
        (with_columns("energy_psys_mean_j", "0"),
         "2:62: energy_psys_mean_j '0' is no energy of a run; leave the cell empty"),
        (with_columns("energy_pkg_n", "0"), "2:62: energy_pkg_n '0' is not a whole number from 1"),
        (with_columns("metric_rate_n", "few"),
         "2:62: metric_rate_n 'few' is not a whole number from 1"),
        (with_columns("waited_P_n", "1.5"), "2:62: waited_P_n '1.5' is not a whole number from 1"),
        (with_columns("elapsed_min_s", "45.08"),
         "2:49: elapsed_mean_s 45.073 is below elapsed_min_s 45.08"),
        (with_columns("elapsed_max_s", "45.0"),
         "2:62: elapsed_max_s 45.0 is below elapsed_mean_s 45.073"),
        (with_columns("elapsed_median_s,elapsed_max_s", "46.56,46"),
         "2:68: elapsed_max_s 46 is below elapsed_median_s 46.56"),
        (with_columns("residency_P,residency_E", "0.9,0.2"),
         "2:66: residency of all core kinds is 1.1, which is more than 1"),
        (with_columns("case_id", "x") + ROW.replace("pcores-pin", "m").replace("\n", ",x\n"),
         "3:1: the same case_id as in line 2"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_line_and_column(tmp_path: Path, text: str, expected: str) -> None:
    assert any(mistake.startswith(expected) for mistake in mistakes(tmp_path, text)), mistakes(
        tmp_path, text
    )


def test_times_that_were_rounded_unlike_may_seem_to_contradict_each_other(tmp_path: Path) -> None:
    (case,) = summaries(tmp_path, with_columns("elapsed_median_s,elapsed_max_s", "46.4,46"))
    assert (case.time.median, case.time.max) == (46.4, 46.0)
    # The mean of equal times may be off by the last digit: sum() adds so before Python 3.12.
    time_s = 13.498382261231663
    mean_s = str(functools.reduce(operator.add, [time_s] * 7) / 7)
    columns = ("elapsed_min_s,elapsed_max_s", f"{time_s},{time_s}")
    (equal,) = summaries(tmp_path, with_columns(*columns, "45.073", mean_s))
    assert str(equal.time.max) == str(time_s) != mean_s


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


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    text = HEADER + ROW.replace("45.073", "x") + ROW.replace("0.026", "y")
    assert len(mistakes(tmp_path, text)) == 2


@pytest.mark.parametrize("row", ["x\n", ROW])
def test_no_more_than_a_hundred_mistakes_are_listed(tmp_path: Path, row: str) -> None:
    found = mistakes(tmp_path, HEADER + row * 300)
    assert 100 <= len(found) <= 101
    assert row == ROW or found[-1].endswith(": 100 mistakes above; no more are looked for")


def test_a_file_that_is_none_or_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(HEADER.encode() + b"lul\xffsh")
    with pytest.raises(ConfigError, match=r"mine\.csv:2:4: not UTF-8 text"):
        read_summaries(path, "")
    for name in ("", "nothing.csv", "nothing\0.csv"):
        with pytest.raises(UserError, match="expected a CSV file of means"):
            read_summaries(tmp_path / name, "")


def test_the_tables_that_pinstudy_writes_can_be_read_as_summaries(tmp_path: Path) -> None:
    write(
        tmp_path,
        [
            record(1, 1, elapsed_s=44.0),
            record(1, 2, elapsed_s=47.0),
            record(1, 3, status="timeout", reason="exit status: 1; stderr: none"),
            without(["energy_pkg_j"], "no permission; perf: none", number=2, repetition=1),
            left_out(4, "no E-cores: none"),
        ],
    )
    text = render(make_tables(tmp_path), "csv")

    cases = summaries(tmp_path, text)

    measured, without_energy, absent = cases
    assert measured.time.mean == measured.time.median == 45.5
    assert measured.time.sd == pytest.approx(math.sqrt(4.5))
    assert measured.circumstances.excluded == {"timeout": 1}
    # A reason with colons in it is read whole.
    assert "; ".join(measured.circumstances.reasons["timeout"]) == "exit status: 1; stderr: none"
    assert measured.means_by_kind("residency") == {"P": 1.0, "E": 0.0}
    assert measured.means_by_kind("freq_ghz") == {"P": 5.976}
    assert measured.circumstances.drivers == ["intel_pstate"]
    assert without_energy.circumstances.reasons["energy_pkg_j"] == [
        *("no permission", "perf: none")
    ]
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


def test_a_measure_can_have_a_count_where_the_row_has_none(tmp_path: Path) -> None:
    (case,) = summaries(
        tmp_path, with_columns("elapsed_n,energy_pkg_mean_j", "9,2215", ",10,", ",,")
    )
    assert (case.n, case.time.n, case.stats["energy_pkg_j"].n) == (None, 9, None)
    (table,) = tables_of_cases([case])
    assert not any("mean of" in note for note in notes_of(table))


def test_a_file_has_the_energies_of_one_scope(tmp_path: Path) -> None:
    header = HEADER.replace("\n", ",energy_pkg_mean_j,energy_board_mean_j\n")
    rows = ROW.replace("\n", ",50,\n") + ROW.replace("pin", "set").replace("\n", ",,60\n")
    message = r":3:\d+: a file has energies of one scope, and an earlier energy_pkg_mean_j"
    with pytest.raises(ConfigError, match=message):
        summaries(tmp_path, header + rows)
    (case,) = summaries(tmp_path, header + ROW.replace("\n", ",,60\n"))
    assert (case.energy_scope, case.stat(ENERGY.field).mean) == ("board", 60.0)


def test_a_row_that_says_why_but_not_how_many_runs_lack_a_measure_leaves_it_open(
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


# Means as offices and pandas write them are the plain ones, or the cause is told.
PLAIN = (
    "app,build,threads,mapping,governor,n,elapsed_mean_s,elapsed_sd_s,energy_pkg_mean_j,cpus\n"
    'solve,serial,1,unpinned,performance,10,45.073,0.026,2215.08,"0,2"\n'
    "solve,serial,1,pcores-set,performance,10,1045.189,0.043,,\n"
)


def office(separator: str) -> str:
    """Return the table with decimal commas and another separator."""
    cells = [line.replace('"0,2"', "0+2").split(",") for line in PLAIN.splitlines()]
    lines = [separator.join(row).replace(".", ",").replace("0+2", '"0,2"') for row in cells]
    return "\n".join(lines) + "\n"


def imported(folder: Path, data: str | bytes) -> str:
    """Return what an import of a file makes of it."""
    path = folder / "mine.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with TemporaryDirectory(dir=folder) as into:
        import_summaries(path, Path(into))
        return (Path(into) / FILE).read_text()


def first_mistake(folder: Path, data: str | bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        imported(folder, data)
    found = caught.value.problems[0]
    return f"{found.line}:{found.column}: {found.message}"


def test_a_plain_table_is_kept_as_it_is(tmp_path: Path) -> None:
    assert imported(tmp_path, PLAIN) == PLAIN
    windows = "\n" + PLAIN.replace("\n", "\r\n")
    assert imported(tmp_path, windows).split() == PLAIN.split()
    unquoted = PLAIN.replace('"0,2"', "0-2").splitlines()
    quoted = "".join('"' + line.replace(",", '","') + '"\n' for line in unquoted)
    assert imported(tmp_path, quoted) == quoted


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_between_other_separators_are_points(tmp_path: Path, separator: str) -> None:
    assert imported(tmp_path, office(separator)) == PLAIN
    assert imported(tmp_path, PLAIN.replace('"0,2"', "x").replace(",", separator)) == (
        PLAIN.replace('"0,2"', "x")
    )


@pytest.mark.parametrize(
    "table",
    [
        f"sep=;\r\n{office(';')}",
        f'"sep=;"\n{office(";")}',
        f"\ufeff{office(';')}",
        office(";").encode("utf-16"),
        office(";").encode("utf-16-le"),
        office(";").encode("utf-16-be"),
        office(";").replace("\n", "\r"),
        # Blank rows and columns.
        f"{office(';')};;;;;;;;;\n; ;;;;;;;;\n\n",
        f";;;;;;;;;\n{office(';')}",
        office(";").replace("\n", ";\n"),
        "".join(f";{line};;\n" for line in office(";").splitlines()),
        # The header alone has none.
        office(";").replace("\n", ";;\n").replace(";;\n", "\n", 1),
        # Thousands.
        office(";").replace("1045,", "1.045,").replace("2215,", "2.215,"),
        office(";").replace("1045,", "1 045,").replace("2215,", "2\xa0215,"),
        PLAIN.replace("1045.189", '"1,045.189"').replace("2215.08", '"2,215.08"'),
        PLAIN.replace("1045.189", "1'045.189").replace("2215.08", "2\u2019215.08"),
        # pandas: an index, whole numbers beside cells that lack one, cells that lack one.
        "".join(f"{at},{line}\n" for at, line in zip(("", 0, 1), PLAIN.splitlines(), strict=True)),
        "".join(f"{at},{line}\n"
                for at, line in zip(("Unnamed: 0", 0, 1), PLAIN.splitlines(), strict=True)),
        PLAIN.replace(",1,", ",1.0,").replace(",10,", ",10.0,").replace("0.043,,", "0.043,nan,nan"),
        PLAIN.replace("0.043,,", "0.043,<NA>,"),
        office(";").replace(";1;", ";1,0;").replace("0,043;;", "0,043;n/a;"),
        PLAIN.replace("0.043,,", "0.043,#N/A,"),
    ],
)  # fmt: skip
def test_what_offices_and_pandas_write_is_the_plain_table(
    tmp_path: Path, table: str | bytes
) -> None:
    assert imported(tmp_path, table) == PLAIN


def test_between_semicolons_a_comma_before_three_digits_is_a_decimal_one(tmp_path: Path) -> None:
    header = "app;threads;mapping;elapsed_mean_s;context_switches_mean\n"
    table = imported(tmp_path, f"{header}solve;1;unpinned;45,073;1.234\n")
    assert table.splitlines()[1] == "solve,1,unpinned,45.073,1234"
    tabs = header.replace(";", "\t") + "solve\t1\tunpinned\t45.073\t1,234\n"
    assert "'1,234' may be 1.234 or 1234" in first_mistake(tmp_path, tabs)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (PLAIN.replace("45.073", '"45,073"').replace("0.026", "").replace("0.043", "")
         .replace("1045.189", "").replace("2215.08", ""),
         "2:40: '45,073' may be 45.073 or 45073; write it as one of them"),
        (PLAIN.replace("45.073", '"45,07"'),
         "2:40: '45,07' has a decimal comma, and '0.026' in line 2 a decimal point"),
        (office(";").replace("1045,189", "45.189"),
         "3:42: '45.189' has another decimal sign than '45,073' in line 2, or one for thousands"),
        (PLAIN.replace("45.073", "45.07").replace("1045.189", '"45,189"'),
         "3:42: '45,189' has another decimal sign than '45.07' in line 2, or one for thousands"),
        (PLAIN.replace(",", ":"), "1:1: 'app:build:threads"),
        (office(";").replace("45,073", "4x"), "2:40: elapsed_mean_s '4x' is not a number such as"),
        (office(";").replace(";10;", ";1,5;"), "2:37: n '1.5' is not a whole number from 0"),
        (office(";").replace("45,073", "45.07.3"), "2:40: elapsed_mean_s '45.07.3' is not a num"),
        (office(";").replace(";performance", ""), "2:49: 9 cells; the first line names 10 columns"),
        (PLAIN.replace("solve", "nan", 1), "2:1: app is empty in this row"),
        (b"\xff\xfea", "1:1: begins as UTF-16 text and is none; save it as UTF-8"),
    ],
)  # fmt: skip
def test_what_is_not_sure_or_wrong_is_told_where_it_stands(
    tmp_path: Path, table: str | bytes, expected: str
) -> None:
    assert first_mistake(tmp_path, table).startswith(expected)


PIECES = st.sampled_from([*",;\t|\"'\n\r .", "app", "threads", "mapping", "elapsed_mean_s", "1",
                         "0", "45,073", "1.045", "nan", "sep=;", "x", "\xa0", "-"])  # fmt: skip


@given(st.lists(PIECES, max_size=60))
def test_whatever_an_office_writes_there_is_no_traceback(cells: list[str]) -> None:
    with TemporaryDirectory() as folder:
        try:
            imported(Path(folder), "app,threads,mapping,elapsed_mean_s\n" + "".join(cells))
        except UserError as error:
            assert "mine.csv" in str(error)
