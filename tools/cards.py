"""Writes the cards of the publications that come with pinstudy into cards/: `make cards`."""

from __future__ import annotations

from pathlib import Path

from pinstudy.analysis.card import write_card
from pinstudy.analysis.published import names
from pinstudy.analysis.results.sources import PUBLISHED

INTO = Path("cards")


def write_all(into: Path = INTO) -> list[Path]:
    """Write the card of each publication, named as it is; return the files' paths."""
    return [write_card(f"{PUBLISHED}{name}", into / f"{name}.json")[0] for name in names()]


if __name__ == "__main__":
    write_all()
