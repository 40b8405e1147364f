"""`pinstudy import` as a user meets it: logs and means in, tables out, mistakes in one line."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from analysis.published import publication
from analysis.tables.means import make_tables
from tests.support.cli import pinstudy
from tests.support.results import Study, spoilt, write
from tests.support.tools import ROOT

LOGS = ROOT / "tests" / "data" / "perf_logs"
THREE_RUNS = (
    "import", "perf", str(LOGS / "three-runs.txt"), "--app", "sleep", "--threads", "1",
    "--mapping", "unpinned", "--governor", "performance",
)  # fmt: skip


def test_logs_are_not_imported_where_nothing_can_be_written(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, *THREE_RUNS, "--output", "/proc/1/out", status=2)
    assert done.stderr.endswith("name a writable folder with --output\n"), done.stderr


def test_logs_become_tables(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, *THREE_RUNS, "--output", "out")
    assert (done.returncode, done.stdout) == (0, "")
    assert "3 runs of 1 case;" in done.stderr
    tables = pinstudy(tmp_path, "tables", "out", "--all", status=0)
    assert "sleep (unknown), size unknown, 1 thread" in tables.stdout
    # The mean of 0.022193446, 0.021591851 and 0.020765021.
    assert "0.0215" in tables.stdout
    assert "imported; nobody looked" in tables.stdout


def test_the_published_numbers_imported_by_a_user_give_the_published_tables(tmp_path: Path) -> None:
    means = publication("galante-2025").folder / "summaries.csv"
    done = pinstudy(tmp_path, "import", "summaries", str(means), "--output", "out", status=0)
    assert "75 cases" in done.stderr
    imported = make_tables(tmp_path / "out", "published")
    published = make_tables("published:galante-2025", "published")
    assert [table.cells for table in imported] == [table.cells for table in published]
    assert len(imported) == 8


def test_all_mistakes_in_means_are_reported_with_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(
        "app,threads,mapping,elapsed_mean_s\na,1,unpinned,x\na,0,unpinned,1\n"
    )
    done = pinstudy(tmp_path, "import", "summaries", "mine.csv", "--output", "out", status=2)
    first, second = done.stderr.splitlines()
    assert "mine.csv:2:14: elapsed_mean_s 'x' is not a number" in first
    assert "mine.csv:3:3: threads '0' is not a whole number" in second
    assert not (tmp_path / "out").exists()


def test_means_are_not_imported_over_others(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("app,threads,mapping\na,1,unpinned\n")
    for status in (0, 2):
        done = pinstudy(
            tmp_path, "import", "summaries", "mine.csv", "--output", "out", status=status
        )
    assert "holds means already" in done.stderr


def test_means_that_are_not_on_the_disk_get_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    (tmp_path / "mine.csv").write_text("app,threads,mapping\na,1,unpinned\n")
    monkeypatch.setattr(os, "fsync", failing)
    done = pinstudy(tmp_path, "import", "summaries", "mine.csv", "--output", "out", status=2)
    assert done.stderr == (
        "pinstudy: out/summaries.csv: cannot be written (Input/output error); name a writable "
        "folder with --output\n"
    )
    assert not list((tmp_path / "out").iterdir())


def test_imported_tables_are_tested_with_the_runs_that_each_measure_has(tmp_path: Path) -> None:
    means = dict.fromkeys(("unpinned", "pcores-pin"), 1.0)
    lost = {"energy_pkg_j": None, "edp_js": None, "unavailable": {"energy_pkg_j": "wrapped"}}
    write(tmp_path / "mine", spoilt(Study(means, means), "pcores-pin", {4}, **lost))

    pinstudy(tmp_path, "tables", "mine", status=0)
    pinstudy(tmp_path, "import", "summaries", "mine/tables.csv", "--output", "again", status=0)
    (found,) = json.loads(pinstudy(tmp_path, "verdict", "again", "--json", "--no-files").stdout)

    (table,) = found["tables"]
    counts = {(row["case_number"], row["objective"]): row["n"] for row in table["statistics"]}
    assert counts == {(1, "time"): 10, (2, "time"): 10, (1, "energy"): 10, (2, "energy"): 9,
                      (1, "edp"): 10, (2, "edp"): 9}  # fmt: skip
    second = table["comparisons"][1]
    assert (second["time_n"], second["energy_n"], second["edp_n"]) == (10, 9, 9)
