"""Every card that comes with pinstudy is valid, and its words follow from its numbers.

These are the checks of a card that somebody sends (docs/cards.md).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.card import write_card
from pinstudy.analysis.published import names
from pinstudy.analysis.results.card_file import read_card
from pinstudy.analysis.results.sources import open_results
from tests.support.tools import ROOT

FOLDER = ROOT / "cards"
CARDS = sorted(FOLDER.iterdir())
# No host, user or path: a card that pinstudy wrote has none outside of its author's own names.
SUSPECT = re.compile(r"/(?:home|users?|root|scratch|work|tmp)/|@[a-z]", re.IGNORECASE)
MAX_BYTES = 300_000


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.name)
def test_a_card_is_valid_and_small(path: Path) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*\.json", path.name)
    assert path.stat().st_size <= MAX_BYTES
    read_card(path)
    text = path.read_text(encoding="utf-8")
    assert SUSPECT.search(text) is None


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.name)
def test_its_words_are_those_that_its_numbers_give(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    said = {
        (str(place), objective): comparison["outcome"]
        for place, case in enumerate(content["cases"], 1)
        for objective, comparison in case.get("comparisons", {}).items()
    }
    found = {
        (case.case_id, str(objective)): comparison.outcome
        for table in analyze(open_results(str(path)), content["margin"]).tables
        for case in table.cases
        for objective, comparison in case.comparisons.items()
    }
    assert said == found


def rounded(path: Path) -> str:
    """Return a card's text with nine digits of each number."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"\d+\.\d+(e-\d+)?", lambda number: f"{float(number[0]):.9g}", text)


def test_the_publications_cards_are_as_make_cards_writes_them(tmp_path: Path) -> None:
    assert {path.stem for path in CARDS} >= set(names())
    for name in names():
        path, _ = write_card(f"published:{name}", tmp_path / f"{name}.json")
        # The last digits of SciPy 1.15, the newest for Python 3.10, are others.
        read = Path.read_bytes if sys.version_info >= (3, 11) else rounded
        assert read(path) == read(FOLDER / path.name)
