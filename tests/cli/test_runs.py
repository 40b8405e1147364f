"""`pinstudy runs`: tidy data of runs, as spreadsheets and programs read it."""

from __future__ import annotations

import csv
import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pinstudy.analysis.measures import PLAIN
from pinstudy.base import PINSTUDY
from tests.analysis.records.test_regions import SOLVE, with_regions
from tests.analysis.tables.test_metric_columns import UNITS
from tests.support.cli import pinstudy, pinstudy_without
from tests.support.results import Study, left_out, record, write
from tests.support.tools import ROOT

COLUMNS_PAGE = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
DATA_PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")


def rows_of(tmp_path: Path, *results: str) -> list[dict[str, str]]:
    done = pinstudy(tmp_path, "runs", *results, status=0)
    return list(csv.DictReader(io.StringIO(done.stdout, newline="")))


def rows_from(tmp_path: Path, *records: dict[str, Any]) -> list[dict[str, str]]:
    """Return the rows of these records."""
    write(tmp_path / "mine", records)
    return rows_of(tmp_path, "mine")


def test_every_run_has_a_row_with_its_status_and_reason(tmp_path: Path) -> None:
    rows = rows_from(
        tmp_path,
        record(1, 1, warmup=True, block=0),
        record(1, 1, elapsed_s=45.25),
        record(1, 2, status="timeout", reason="no end after 10 min"),
        left_out(4, "no E-cores here"),
    )
    assert [(row["repetition"], row["status"], row["reason"]) for row in rows] == [
        ("1", "ok", ""),
        ("1", "ok", ""),
        ("2", "timeout", "no end after 10 min"),
        ("", "skipped", "no E-cores here"),
    ]
    assert [row["warmup"] for row in rows] == ["TRUE", "FALSE", "FALSE", "FALSE"]
    assert [row["averaged"] for row in rows] == ["FALSE", "TRUE", "FALSE", "FALSE"]
    run = rows[1]
    assert (run["results"], run["node_id"], run["mapping"]) == ("mine", "node1", "unpinned")
    assert run["started_at"] == "2025-03-01T12:00:00.000Z"
    assert (run["elapsed_s"], run["cache_misses"]) == ("45.25", "1376989875")
    # What was not measured, and what the case has not.
    assert (run["energy_dram_j"], run["ranks"]) == ("", "")


EVIL = ["=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(A1)", '="x",1']


def test_a_rows_columns_say_what_its_record_has(tmp_path: Path) -> None:
    settings = {"epp": "power", "turbo": "off", "governor": "powersave"}
    asked = {"settings": {"turbo": "off", "epp": "power"}, "settings_read": settings}
    rate = {"metrics": {"rate": 3.5, "steps": 4}, "metric_units": UNITS}
    cases: list[tuple[dict[str, Any], dict[str, str]]] = [
        (
            asked,
            {
                "settings": "epp=power | turbo=off",
                "settings_read": "epp=power | turbo=off | governor=powersave",
            },
        ),
        ({"settings": None}, {"settings": ""}),
        ({"freq_ghz": {"P": 5.5, "E": 4.25}}, {"freq_P_ghz": "5.5", "freq_E_ghz": "4.25"}),
        (rate, {"metric_rate": "3.5", "metric_rate_unit": "Gflop/s", "metric_steps": "4"}),
        ({}, {"freq_P_ghz": "5.976", "freq_E_ghz": "", "metric_rate": "", "metric_rate_unit": ""}),
        # No text is a formula, and none has two lines.
        *(
            (
                {"mapping": evil, "status": "failed", "reason": f"\t{evil}\nrest"},
                {"mapping": f"'{evil}", "reason": f"'{evil} rest"},
            )
            for evil in EVIL
        ),
    ]
    rows = rows_from(tmp_path, *(record(at, **fields) for at, (fields, _) in enumerate(cases, 1)))
    for row, (_, expected) in zip(rows, cases, strict=True):
        assert expected.items() <= row.items()
    assert "freq_LP-E_ghz" not in rows[0]


def test_a_region_is_a_row_of_the_same_case_and_run(tmp_path: Path) -> None:
    whole, solve = rows_from(tmp_path, with_regions(1, 1, solve=SOLVE))
    assert (whole["region"], solve["region"]) == ("", "solve")
    assert whole["case_id"] == solve["case_id"] == "case000000000001"
    assert (whole["elapsed_s"], solve["elapsed_s"], solve["energy_pkg_j"]) == ("45", "30", "1500")


def test_the_csv_is_that_of_rfc_4180_in_utf_8_with_warnings_beside_it(tmp_path: Path) -> None:
    virtual = {"node": "virtual", "pool": "split-site"}
    runs = [record(1, 1, size='größe "5", x', energy_net_j=-3.5, node_id="n7", **virtual)]
    path = write(tmp_path / "mine", [*runs, record(1, 2, node_id="n8", **virtual)])
    path.write_bytes(path.read_bytes() + b'{"torn')
    done = pinstudy(tmp_path, "runs", "mine", "-o", "out/runs.csv", status=0)
    assert done.stdout == ""
    assert "mine: numbers of a virtual node's model, not of hardware\n" in done.stderr
    assert "mine: 1 line of the records" in done.stderr
    assert done.stderr.endswith("written: out/runs.csv (2 rows)\n")
    text = (tmp_path / "out" / "runs.csv").read_bytes()
    lines = text.split(b"\r\n")
    assert len(lines) == 4
    assert b"\n" not in b"".join(lines)
    assert ',"größe ""5"", x",'.encode() in lines[1]
    assert b",-3.5," in lines[1]
    assert lines[0].startswith(b"results,study,node_id,")
    # Of interchangeable nodes each row has its own.
    rows = list(csv.DictReader(io.StringIO(text.decode(), newline="")))
    assert [(row["node_id"], row["virtual_node"]) for row in rows] == [
        ("n7", "TRUE"),
        ("n8", "TRUE"),
    ]


def test_several_folders_are_one_table_with_the_node_of_each_run(tmp_path: Path) -> None:
    write(tmp_path / "all" / "s" / "n1", [record(1, 1)])
    write(tmp_path / "all" / "s" / "n2", [record(1, 1, node_id="node2", metrics={"rate": 1.5})])
    write(tmp_path / "other", [record(1, 1, node_id="node3")])
    rows = rows_of(tmp_path, "all", "other", "other")
    assert [(row["results"], row["node_id"], row["metric_rate"]) for row in rows] == [
        ("all/s/n1", "node1", ""),
        ("all/s/n2", "node2", "1.5"),
        ("other", "node3", ""),
    ]


def test_what_has_no_runs_or_another_name_is_told_in_one_line(tmp_path: Path) -> None:
    write(tmp_path / "mine", [record(1, 1)])
    write(tmp_path / "two", [record(1, 1), record(1, 1, node_id="node2")])
    both = pinstudy(tmp_path, "runs", "published:galante-2025", "mine", status=0)
    assert both.stderr == "published:galante-2025: has means, and no runs\n"
    for arguments, message in (
        (
            ("published:galante-2025",),
            "published:galante-2025: has means, and no runs; expected a folder of runs, as "
            f"`{PINSTUDY} run quick` makes it\n",
        ),
        (
            ("mine", "-o", "runs.xlsx"),
            "-o runs.xlsx: expected a name that ends in .csv or .parquet\n",
        ),
    ):
        done = pinstudy(tmp_path, "runs", *arguments, status=2)
        assert done.stderr == f"pinstudy: {message}"
    done = pinstudy(tmp_path, "runs", "two", status=2)
    assert "holds runs of several nodes" in done.stderr
    done = pinstudy_without("pyarrow", tmp_path, "runs", "mine", "-o", "runs.parquet")
    assert done.returncode == 2
    assert done.stderr == (
        "pinstudy: -o runs.parquet: parquet needs pyarrow (no pyarrow here); install it, or write "
        "runs.csv, which needs nothing\n"
    )


def test_parquet_has_the_types_of_the_columns(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write(tmp_path / "mine", [record(1, 1), record(1, 2, warmup=True, started_at="x")])
    pinstudy(tmp_path, "runs", "mine", "-o", "runs.parquet", status=0)
    runs = pd.read_parquet(tmp_path / "runs.parquet")
    assert runs["warmup"].tolist() == [False, True]
    assert runs["repetition"].tolist() == [1, 2]
    assert runs["started_at"][0] == pd.Timestamp("2025-03-01T12:00:00Z")
    assert runs["started_at"].isna()[1]
    assert runs["elapsed_s"].dtype == float


def test_the_lines_of_pandas_in_the_docs_read_it(tmp_path: Path) -> None:
    loads, lines = re.findall(r"```python\n(.*?)```", DATA_PAGE, re.DOTALL)
    assert len(list(filter(None, lines.splitlines()))) <= 9
    times = {"unpinned": 1.0, "pcores-pin": 0.9, "ecores-pin": 1.4}
    failed = record(1, 11, status="failed", threads=8)
    runs = Study(times, noise=0).records()
    mine = [*runs, failed, left_out(6, "no governor powersave")]
    write(tmp_path / "results/quick/mynode", mine)
    pinstudy(tmp_path, "runs", "results/quick", "-o", "runs.csv", status=0)
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        with redirect_stdout(io.StringIO()) as compared:
            exec(loads, {})
        with redirect_stdout(io.StringIO()) as printed:
            exec(lines, {})
    finally:
        os.chdir(before)
    rows = [" ".join(line.split()) for line in compared.getvalue().splitlines()]
    # Equal times have no spread to decide by.
    assert rows[1].startswith("0 lulesh 8 pcores-pin undecided 0.9 ")
    typical, best, lost = (" ".join(part.split()) for part in printed.getvalue().split("\n\n"))
    assert "performance 56.0 36.0 40.0" in typical
    assert "performance pcores-pin" in best
    assert f"unpinned {1 / 11:.6f}" in lost


def test_the_page_of_columns_has_each_and_no_other(tmp_path: Path) -> None:
    rows = rows_from(tmp_path, record(1, 1, metrics={"rate": 1.5}, metric_units={"rate": "1/s"}))
    named = set(re.findall(r"`([\w-]+)`", COLUMNS_PAGE.split("| column | meaning |")[1]))
    assert [name for name in rows[0] if name not in named | {"residency_E"}] == []
    assert set(PLAIN) <= set(rows[0])
