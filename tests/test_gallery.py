"""The gallery shows every figure, table and report of a publication, and says what it lacks."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.figures.drawing import NotDrawn
from pinstudy.analysis.figures.gallery import FIGURES, all_figures
from pinstudy.analysis.results.sources import open_results
from tests.analysis.affinity.made_demo import make_demo
from tests.support.tools import ROOT
from website.gallery import PUBLICATION, make


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build") / "gallery"
    make(folder, virtual_node=folder / "nothing", results=folder / "nothing")
    return folder


def test_the_page_names_every_figure_and_shows_those_that_can_be_drawn(folder: Path) -> None:
    page = (folder / "gallery.md").read_text(encoding="utf-8")
    results = open_results(PUBLICATION)
    figures = list(all_figures(results, analyze(results)))
    drawn = {figure.name for figure in figures if not isinstance(figure, NotDrawn)}
    shown = dict(re.findall(r"^#### (\S+)\n\n!\[[^]]+\]\((\S+)\)$", page, re.MULTILINE))

    assert drawn and set(shown) == drawn
    assert all((folder / path).is_file() for path in shown.values())
    for figure in figures:
        if isinstance(figure, NotDrawn):
            assert f"- `{figure.name}` ({figure.title}): n/a, because {figure.reason}" in page


def test_the_page_says_which_results_show_each_kind_of_figure(folder: Path) -> None:
    page = (folder / "gallery.md").read_text(encoding="utf-8")
    head = page.split("\n## ")[0]
    kinds = dict(re.findall(r"^\| ([a-z-]+) \| (.*) \|$", head, re.MULTILINE))
    assert list(kinds) == list(FIGURES)
    assert kinds["comparisons"] == kinds["time-energy"] == f"`{PUBLICATION}`"
    assert kinds["latency"] == "n/a here; `pinstudy latency` makes it"


def test_the_page_has_all_tables_and_the_report(folder: Path) -> None:
    page = (folder / "gallery.md").read_text(encoding="utf-8")
    assert re.findall(r"^#### Table (\d+):", page, re.MULTILINE) == [str(n) for n in range(3, 11)]
    (report,) = re.findall(r"\((published/report\.html)\)", page)
    assert (folder / report).is_file()


def test_the_page_shows_every_card_with_its_report(folder: Path) -> None:
    page = (folder / "gallery.md").read_text(encoding="utf-8")
    cards = page.split("## Cards\n")[1].split("\n## ")[0]
    names = sorted(path.stem for path in (ROOT / "cards").glob("*.json"))
    assert "#### Does the best mapping gain over the baseline?" in cards
    assert re.findall(r"^#### (\S+)$", cards, re.MULTILINE) == names
    parts = dict(zip(names, re.split(r"^#### \S+$", cards, flags=re.MULTILINE)[1:], strict=True))
    # The others have no times, no deviations, or nothing but a baseline.
    pictured = {name for name in names if (folder / f"cards/{name}/comparisons.svg").is_file()}
    assert pictured == {"galante-2025"}
    for name, part in parts.items():
        assert (f"(cards/{name}/comparisons.svg)" in part) == (name in pictured)
        assert ("n/a, because " in part) == (name not in pictured)
        assert (folder / f"cards/{name}/report.html").is_file()


def test_without_a_study_in_the_virtual_node_it_says_how_to_make_one(folder: Path) -> None:
    page = (folder / "gallery.md").read_text(encoding="utf-8")
    assert "n/a, because `build/vnode-study` has no results" in page


def test_results_of_this_node_are_shown_with_their_experiments(tmp_path: Path) -> None:
    made = make_demo(tmp_path / "results/demo/here")
    card = tmp_path / "cards" / "bakhvalov-2024.json"
    card.parent.mkdir()
    shutil.copy(ROOT / "cards" / card.name, card)
    page = make(tmp_path / "gallery", tmp_path / "no", tmp_path / "results", card.parent)

    part = page.split("## Measured where this site was built\n")[1].split("\n## ")[0]
    assert f"bin/pinstudy figures {made} " in part
    for kind in ("contention", "smt", "threads", "latency"):
        assert f"| {kind} | `{made}` |" in page
        assert re.search(rf"^!\[[^]]+\]\(demo-here/{kind}[-\w]*\.svg\)$", part, re.MULTILINE)
