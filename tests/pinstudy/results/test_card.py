"""`pinstudy card`, and cards where other commands take results, as they are typed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.analysis.report.made_results import make_results
from tests.support.cli import pinstudy
from tests.support.results import record, write
from tests.support.tools import ROOT

PUBLICATION = "published:galante-2025"


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


def test_without_a_file_it_is_written_beside_the_records(cards: Path) -> None:
    done = pinstudy(cards, "card", "one", status=0)
    assert (cards / "one" / "card.json").read_bytes() == (cards / "cards/one.json").read_bytes()
    assert "kept as they were written: the names of the study (paper-serial), " in done.stderr


def test_several_cards_are_a_line_each_in_every_setting(cards: Path) -> None:
    done = pinstudy(cards, "compare", "cards")
    assert (done.returncode, done.stderr) == (0, "")
    first, *tables = done.stdout.split("\n\n")[1:]
    assert [line.split()[:2] for line in first.splitlines() if line[:2] in ("A ", "B ", "C ")] == [
        ["A", "cards/one.json"],
        ["B", "cards/paper.json"],
        ["C", "cards/two.json"],
    ]
    assert "P 0-11, E 12-15" in first and "P 0-7, E 8-23" in first
    assert "A, C: of one node, or of nodes alike in all that is known" in first
    title = "lulesh x1, schedule static, wait policy runtime-default, performance: time"
    assert any(part.startswith(title) for part in tables)


def test_the_cards_that_come_with_pinstudy_are_compared(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, "compare", str(ROOT / "cards"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Does the best mapping gain over the baseline?")
    assert "galante-2025.json" in done.stdout


def test_json_has_the_best_mapping_with_its_widened_interval(cards: Path) -> None:
    done = pinstudy(cards, "compare", "cards/one.json", "cards/two.json", PUBLICATION, "--json")
    rows = json.loads(done.stdout)["rows"]
    (paper,) = (
        row
        for row in rows
        if row["results"] == PUBLICATION
        and (row["app"], row["threads"], row["governor"]) == ("lulesh", 8, "powersave")
    )
    # 22.967 s of pcores-set against 26.034 s of unpinned, in table 7 of the publication.
    assert paper["best_mapping"] == "pcores-set"
    assert paper["ratio"] == pytest.approx(0.8822, abs=1e-4)
    assert paper["ratio_low"] < paper["ratio"] < paper["ratio_high"]
    assert (paper["mappings_compared"], paper["outcome"]) == (4, "better")
    assert (paper["cpu_model"], paper["proved"]) == ("Intel Core i9-14900K", None)


def test_two_cards_are_compared_as_two_results_are(cards: Path) -> None:
    of_cards = pinstudy(cards, "compare", "cards/one.json", "cards/two.json", "--json")
    of_folders = pinstudy(cards, "compare", "one", "two", "--json")
    mine, theirs = (json.loads(done.stdout) for done in (of_cards, of_folders))
    assert [row["agreement"] for row in mine["rows"]] == [
        row["agreement"] for row in theirs["rows"]
    ]
    same = ("a_outcome", "b_outcome", "b_case_number", "mapping", "unit")
    for one, other in zip(mine["rows"], theirs["rows"], strict=True):
        assert {name: one[name] for name in same} == {name: other[name] for name in same}
        assert one["a_mean"] == pytest.approx(other["a_mean"])


def test_tables_verdict_and_report_take_a_card(cards: Path) -> None:
    before = sorted((cards / "cards").iterdir())
    tables = pinstudy(cards, "tables", "cards/one.json")
    assert (tables.returncode, tables.stderr) == (0, "")
    assert "from a card, made by pinstudy" in tables.stdout
    verdict = pinstudy(cards, "verdict", "cards/one.json")
    assert (verdict.returncode, verdict.stderr) == (0, "")
    assert "Made-up Core i5-13600K" in verdict.stdout
    pinstudy(cards, "report", "cards/one.json", "--output", "page", status=0)
    assert "Made-up Core i5-13600K" in (cards / "page" / "report.html").read_text()
    assert sorted((cards / "cards").iterdir()) == before


def test_reports_of_several_cards_have_a_folder_each(cards: Path) -> None:
    pinstudy(cards, "report", "cards", "--output", "pages", status=0)
    assert {path.parent.name for path in (cards / "pages").rglob("report.html")} == {
        "one",
        "two",
        "paper",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("card", PUBLICATION), "has no folder of its own; name a file with --output FILE.json"),
        (("card", "one", "--output", "card.txt"), "card.txt: a card's name ends with .json"),
        (("card", "cards/one.json", "--output", "x.json"), "cards/one.json: is a card already"),
        (("card", "nothing"), "nothing: no results here"),
        (("report", "cards/one.json"), "has no folder of its own; name one with --output DIR"),
        (("tables", "missing.json"), "missing.json: cannot be read (No such file or directory)"),
    ],
)
def test_mistakes_are_one_line(cards: Path, arguments: tuple[str, ...], message: str) -> None:
    done = pinstudy(cards, *arguments, status=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_race_has_no_card(tmp_path: Path) -> None:
    rule = {"race": {"of": "time", "first": 3, "max": 10}}
    write(tmp_path, [record(n, r, repetition_rule=rule) for n in (1, 3) for r in (1, 2, 3)])
    done = pinstudy(tmp_path, "card", ".", status=2)
    assert "its cases raced, and a card has no race" in done.stderr


def test_a_figure_of_all_cards_is_drawn_beside_the_tables(cards: Path) -> None:
    done = pinstudy(cards, "compare", "cards", "--figure", "class.svg", status=0)
    assert "written: class.svg" in done.stderr
    assert (cards / "class.svg").read_bytes().startswith(b"<?xml")
    assert done.stdout == pinstudy(cards, "compare", "cards", status=0).stdout


def test_a_figure_of_an_unknown_kind_is_a_mistake_in_one_line(cards: Path) -> None:
    done = pinstudy(cards, "compare", "cards", "--figure", "class.jpg", status=2)
    assert done.stderr.splitlines()[-1].startswith("pinstudy: --figure: ")
    assert not (cards / "class.jpg").exists()


def test_a_figure_of_a_single_folder_shows_it_as_a_class_of_one(cards: Path) -> None:
    done = pinstudy(cards, "compare", "one", "--figure", "alone.SVG", status=0)
    assert (cards / "alone.SVG").read_bytes().startswith(b"<?xml")
    assert "Made-up Core i5-13600K" in done.stdout


def test_a_figure_in_no_folder_names_its_own_option(cards: Path) -> None:
    (cards / "file").write_text("")
    done = pinstudy(cards, "compare", "cards", "--figure", "file/class.svg", status=2)
    assert done.stderr.strip().endswith("or name a file in a writable folder with --figure")
    assert len(done.stderr.splitlines()) == 1
