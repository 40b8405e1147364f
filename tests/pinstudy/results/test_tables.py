"""`pinstudy tables` as it is typed: chosen columns, one table, several nodes, LaTeX."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.support.cli import pinstudy
from tests.support.results import record, write

PUBLICATION = "published:galante-2025"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a study's results on two nodes."""
    folder = tmp_path_factory.mktemp("nodes")
    for name, times in (("one", 1.0), ("two", 2.0)):
        runs = [
            record(number, repetition, node_id=name, elapsed_s=times * (number + repetition))
            for number in (1, 3)
            for repetition in (1, 2)
        ]
        write(folder / "study" / name, runs)
    return folder


def test_latex_of_one_table_has_its_caption_label_and_columns(tmp_path: Path) -> None:
    chosen = (
        "--table",
        "7",
        "--columns",
        "time,sd,energy",
        "--caption",
        "50 % less",
        "--label",
        "t:a",
    )
    done = pinstudy(tmp_path, "tables", PUBLICATION, "--format", "latex", *chosen, status=0)

    assert done.stdout.count(r"\begin{table}") == 1
    assert r"\caption{50 \% less}\label{t:a}" in done.stdout
    assert r"1 & unpinned & performance & 18.288 & 0.160 & 2086 \\" in done.stdout


def test_all_columns_and_the_published_ones_are_there_when_asked_for(tmp_path: Path) -> None:
    for options, sign in (
        ((), "#  mapping     governor     time s     sd   GHz  migr.  cache misses  pkg J"),
        (("--all",), "governor (driver)"),
        (("--layout", "published"), "test case #"),
    ):
        style = ("--format", "text" if not options else "markdown")
        done = pinstudy(tmp_path, "tables", PUBLICATION, *options, *style, status=0)
        assert sign in done.stdout


def test_a_folder_of_nodes_is_one_table_and_each_node_gets_its_files(nodes: Path) -> None:
    done = pinstudy(nodes, "tables", "study", "--format", "csv", status=0)

    found = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["node_id"] for row in found] == ["one", "one", "two", "two"]
    shown = pinstudy(nodes, "tables", "study", "--no-files", status=0).stdout
    assert shown.count("time s") == 1
    for name in ("one", "two"):
        written = (nodes / "study" / name / "tables.csv").read_text()
        assert [row["node_id"] for row in csv.DictReader(written.splitlines())] == [name] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--columns", "time,engery"), "column 'engery' is not known; did you mean 'energy'?"),
        (("--columns", "time", "--all"), "leave --all and --layout published out"),
        (("--all", "--layout", "published"), "leave --layout published out"),
        (("--table", "2"), "there is no such table (known: 3, 4, 5, 6, 7, 8, 9, 10)"),
        (("--label", "tab:a"), "--label is of one table, and these are 8; name one: --table N"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = pinstudy(tmp_path, "tables", PUBLICATION, *options, status=2)

    (line,) = done.stderr.splitlines()
    assert message in line
