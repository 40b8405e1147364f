"""Means as offices and pandas write them are the plain ones, or the cause is told."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.imports.summary_file import import_summaries
from analysis.results.summaries import FILE
from base.errors import ConfigError, UserError

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


CELLS = st.sampled_from([*",;\t|\"'\n\r .", "app", "threads", "mapping", "elapsed_mean_s", "1",
                         "0", "45,073", "1.045", "nan", "sep=;", "x", "\xa0", "-"])  # fmt: skip


@given(st.lists(CELLS, max_size=60))
def test_whatever_a_file_holds_there_is_no_traceback(cells: list[str]) -> None:
    with TemporaryDirectory() as folder:
        try:
            imported(Path(folder), "app,threads,mapping,elapsed_mean_s\n" + "".join(cells))
        except UserError as error:
            assert "mine.csv" in str(error)
