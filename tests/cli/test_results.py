"""Commands that read results: tables, compare, report, card, and import, which makes some."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pinstudy.analysis.published import publication
from pinstudy.analysis.tables.means import make_tables
from tests.analysis.compare.test_side_by_side import both_programs, results
from tests.analysis.report.made_results import make_results
from tests.support.cli import argv, pinstudy
from tests.support.results import Study, record, spoilt, write
from tests.support.studies import write_app, write_study
from tests.support.tools import ROOT

PUBLICATION = "published:galante-2025"
LOG = str(ROOT / "tests" / "data" / "perf_logs" / "three-runs.txt")
THREE_RUNS = ("import", "perf", LOG, "--app", "sleep", "--threads", "1", "--mapping", "unpinned")


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


def test_tables_have_the_columns_caption_and_label_that_are_asked_for(
    tmp_path: Path, nodes: Path
) -> None:
    def tables(*options: str) -> str:
        return pinstudy(tmp_path, "tables", PUBLICATION, *options, status=0).stdout

    assert "#  mapping     governor     time s     sd   GHz  migr.  cache misses" in tables()
    assert "governor (driver)" in tables("--all", "--format", "markdown")
    assert "test case #" in tables("--layout", "published", "--format", "markdown")
    named = ("--caption", "50 % less", "--label", "t:a", "--format", "latex")
    page = tables("--table", "7", "--columns", "time,sd,energy", *named)
    assert page.count(r"\begin{table}") == 1
    assert r"\caption{50 \% less}\label{t:a}" in page
    assert r"1 & unpinned & performance & 18.288 & 0.160 & 2086 \\" in page

    done = pinstudy(nodes, "tables", "study", "--format", "csv", status=0)
    found = csv.DictReader(done.stdout.splitlines())
    assert [row["node_id"] for row in found] == ["one", "one", "two", "two"]
    for name in ("one", "two"):
        written = (nodes / "study" / name / "tables.csv").read_text()
        assert [row["node_id"] for row in csv.DictReader(written.splitlines())] == [name] * 2


def test_results_are_compared_with_others_and_programs_with_programs(tmp_path: Path) -> None:
    results(tmp_path / "mine", {1: 10.0, 2: 10.0, 3: 12.0, 4: 18.0, 5: 18.0})
    done = pinstudy(tmp_path, "compare", "mine", PUBLICATION, status=0)
    assert "A: mine" in done.stdout and f"B: {PUBLICATION}" in done.stdout
    assert "time: 4 of 4 rows that both decide agree" in done.stdout
    assert "1.246 to 1.247" in done.stdout
    assert done.stderr == ""

    results(tmp_path / "a", {1: 10.0, 3: 12.0})
    results(tmp_path / "b", {1: 30.0, 3: 27.0})
    comparison = json.loads(pinstudy(tmp_path, "compare", "a", "b", "--json").stdout)
    found = comparison["agreements"][0]
    assert (found["objective"], found["agree"], found["disagree"]) == ("time", 0, 1)
    assert [row["agreement"] for row in comparison["rows"][:2]] == ["baseline", "disagree"]

    both_programs(tmp_path / "fidelity", {1: 10.0, 3: 12.0}, {1: 11.0, 3: 13.2})
    done = pinstudy(tmp_path, "compare", "fidelity", status=0)
    assert "A: lulesh-llnl" in done.stdout and "B: lulesh" in done.stdout
    assert "time: 1 of 1 rows that both decide agree" in done.stdout


def three_nodes(folder: Path) -> None:
    """Write the results of three nodes; the second one has no E-cores."""
    results(folder / "site" / "n1", {1: 10.0, 2: 9.0, 3: 12.0, 4: 18.0}, node_id="n1")
    results(folder / "site" / "n2", {1: 10.0, 2: 10.5, 3: 8.0}, node_id="n2")
    results(folder / "site" / "n3", {1: 30.0, 2: 28.0, 3: 36.0, 4: 45.0}, node_id="n3")


def test_the_verdict_of_a_folder_of_nodes_ends_with_the_default_of_the_site(tmp_path: Path) -> None:
    three_nodes(tmp_path)
    shown = pinstudy(tmp_path, "verdict", "site", "--no-files", status=0).stdout
    assert "default of the site: unpinned" in shown.split("One mapping for all nodes: time")[1]
    done = pinstudy(tmp_path, "verdict", "site", "--no-files", "--json", status=0)
    answers = json.loads(done.stdout)
    assert [row["results"] for row in answers] == ["site/n1", "site/n2", "site/n3", "site"]
    time = answers[-1]["one_for_all_nodes"][0]
    assert (time["default"], time["nodes"]) == ("unpinned", ["n1", "n2", "n3"])
    # Several results of one node have no default of a site.
    for name in ("before", "after", "later"):
        results(tmp_path / name, {1: 10.0, 2: 9.0})
    done = pinstudy(tmp_path, "compare", "before", "after", "later", "--json")
    assert json.loads(done.stdout)["one_for_all_nodes"] == []


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the cards of two nodes and of the publication."""
    folder = tmp_path_factory.mktemp("study")
    for name, seed in (("one", 1), ("two", 2)):
        results = folder / name
        results.mkdir()
        make_results(results, apps=(("lulesh", 40.0),), threads=(1,), repetitions=5, seed=seed)
        done = pinstudy(folder, "card", name, "--output", f"cards/{name}.json", status=0)
        assert done.stdout.startswith(f"written: cards/{name}.json (")
    shutil.copy(ROOT / "cards" / "galante-2025.json", folder / "cards" / "paper.json")
    return folder


def test_a_card_stands_for_its_results_in_other_commands(cards: Path) -> None:
    done = pinstudy(cards, "card", "one", status=0)
    assert (cards / "one" / "card.json").read_bytes() == (cards / "cards/one.json").read_bytes()
    assert "kept as they were written: the names of the study (paper-serial), " in done.stderr
    before = sorted((cards / "cards").iterdir())
    for command, said in (("tables", "from a card, made by pinstudy"), ("verdict", "i5-13600K")):
        done = pinstudy(cards, command, "cards/one.json", status=0)
        assert said in done.stdout
        assert done.stderr == ""
    pinstudy(cards, "report", "cards", "--output", "pages", status=0)
    pages = {path.parent.name: path for path in (cards / "pages").rglob("report.html")}
    assert set(pages) == {"one", "two", "paper"}
    assert "Made-up Core i5-13600K" in pages["one"].read_text()
    assert sorted((cards / "cards").iterdir()) == before


@pytest.mark.parametrize("results", ["cards", "one"])
def test_a_figure_of_a_class_of_nodes_is_drawn_beside_the_tables(cards: Path, results: str) -> None:
    done = pinstudy(cards, "compare", results, "--figure", "class.SVG", status=0)
    assert "written: class.SVG" in done.stderr
    assert (cards / "class.SVG").read_bytes().startswith(b"<?xml")
    assert "Made-up Core i5-13600K" in done.stdout


def test_a_study_in_which_every_run_failed_still_has_its_report(tmp_path: Path) -> None:
    write_app(tmp_path, "fails", "/bin/false", {"only": {"arguments": []}})
    write_study(tmp_path, "study", "fails", "only", repetitions=2)
    # The status is that of a study with failed runs.
    pinstudy(tmp_path, "run", "study.yaml", "--report", status=1)
    (folder,) = tmp_path.glob("results/study/*")
    page = (folder / "report.html").read_text()
    assert "No answer: no mapping could be compared with another" in page
    assert re.search(r"plan \S*study.yaml", page)
    shown = pinstudy(tmp_path, "verdict", str(folder), status=0).stdout
    assert re.search(r"^Next .* plan \S*study.yaml   the command lines", shown, re.MULTILINE)
    assert "No run was good" in shown
    for command in ("tables", "verdict", "report", "figures", "card"):
        pinstudy(tmp_path, command, str(folder), status=0)


def test_a_report_is_drawn_from_a_notebook_too(tmp_path: Path) -> None:
    write(tmp_path, [record(number, at) for number in (1, 2) for at in (1, 2, 3)])
    done = subprocess.run(
        argv("report", str(tmp_path)),
        env=os.environ | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "<figure" in (tmp_path / "report.html").read_text()


def test_the_published_numbers_imported_by_a_user_give_the_published_tables(tmp_path: Path) -> None:
    means = publication("galante-2025").folder / "summaries.csv"
    done = pinstudy(tmp_path, "import", "summaries", str(means), "--output", "out", status=0)
    assert "75 cases" in done.stderr
    imported = make_tables(tmp_path / "out", "published")
    published = make_tables("published:galante-2025", "published")
    assert [table.cells for table in imported] == [table.cells for table in published]
    assert len(imported) == 8


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


def test_a_report_is_one_file_beside_the_records_or_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "s" / "n", [record(number, n) for number in (1, 2) for n in (1, 2, 3)])
    done = pinstudy(tmp_path, "report", "s", status=0)
    assert (done.stdout, done.stderr) == ("written: s/n/report.html\n", "")
    assert (tmp_path / "s/n/report.html").read_text().startswith("<!DOCTYPE html>")
    pinstudy(tmp_path, "report", PUBLICATION, "--output", "new", status=0)
    assert (tmp_path / "new" / "report.html").exists()
    # Results are found by their name below all results.
    for name in ("s", "s/n"):
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
        arguments = ("tables", name, "--no-files")
        elsewhere = tmp_path / "elsewhere"
        done = pinstudy(elsewhere, *arguments, status=0, PINSTUDY_RESULTS=str(tmp_path))
        assert "Lulesh" in done.stdout


def test_logs_become_tables(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, *THREE_RUNS, "--governor", "performance", "-o", "out", status=0)
    assert done.stdout == ""
    assert "3 runs of 1 case;" in done.stderr
    tables = pinstudy(tmp_path, "tables", "out", "--all", status=0)
    assert "sleep (unknown), size unknown, 1 thread" in tables.stdout
    # The mean of 0.022193446, 0.021591851 and 0.020765021.
    assert "0.0215" in tables.stdout
    assert "imported; nobody looked" in tables.stdout


def test_means_with_mistakes_or_that_are_not_on_the_disk_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    file = tmp_path / "mine.csv"
    arguments = ("import", "summaries", "mine.csv", "--output", "out")
    file.write_text("app,threads,mapping,elapsed_mean_s\na,1,unpinned,x\na,0,unpinned,1\n")
    first, second = pinstudy(tmp_path, *arguments, status=2).stderr.splitlines()
    assert "mine.csv:2:14: elapsed_mean_s 'x' is not a number" in first
    assert "mine.csv:3:3: threads '0' is not a whole number" in second
    assert not (tmp_path / "out").exists()
    file.write_text("app,threads,mapping\na,1,unpinned\n")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing)
        done = pinstudy(tmp_path, *arguments, status=2)
    assert done.stderr == (
        "pinstudy: out/summaries.csv: cannot be written (Input/output error); name a writable "
        "folder with --output\n"
    )
    assert not list((tmp_path / "out").iterdir())
    pinstudy(tmp_path, *arguments, status=0)
    assert "holds means already" in pinstudy(tmp_path, *arguments, status=2).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tables", PUBLICATION, "--columns", "time,engery"), "did you mean 'energy'?"),
        (
            ("tables", PUBLICATION, "--columns", "time", "--all"),
            "leave --all and --layout published out",
        ),
        (("tables", PUBLICATION, "--all", "--layout", "published"), "leave --layout published out"),
        (
            ("tables", PUBLICATION, "--table", "2"),
            "there is no such table (known: 3, 4, 5, 6, 7, 8, 9, 10)",
        ),
        (
            ("tables", PUBLICATION, "--label", "tab:a"),
            "--label is of one table, and these are 8; name one: --table N",
        ),
        (("tables", "missing.json"), "missing.json: cannot be read (No such file or directory)"),
        (("card", PUBLICATION), "has no folder of its own; name a file with --output FILE.json"),
        (("card", "one", "--output", "card.txt"), "card.txt: a card's name ends with .json"),
        (("card", "cards/one.json", "--output", "x.json"), "cards/one.json: is a card already"),
        (("card", "nothing"), "nothing: no results here"),
        (("card", "race"), "its cases raced, and a card has no race"),
        (("report", "cards/one.json"), "has no folder of its own; name one with --output DIR"),
        (("compare", "cards", "--figure", "class.jpg"), "pinstudy: --figure: "),
        (
            ("compare", "cards", "--figure", "file/class.svg"),
            "or name a file in a writable folder with --figure\n",
        ),
        ((*THREE_RUNS, "--output", "/proc/1/out"), "name a writable folder with --output\n"),
    ],
)
def test_mistakes_are_one_line(cards: Path, arguments: tuple[str, ...], message: str) -> None:
    (cards / "file").touch()
    rule = {"race": {"of": "time", "first": 3, "max": 10}}
    raced = [record(n, r, repetition_rule=rule) for n in (1, 3) for r in (1, 2, 3)]
    write(cards / "race", raced)
    done = pinstudy(cards, *arguments, status=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
