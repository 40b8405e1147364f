"""Results of publications that come with pinstudy: a folder each, with `summaries.csv` and source.

docs/published.md says what they hold, and what their publications do not state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinstudy.base.errors import UserError
from pinstudy.base.text import unknown_word

FOLDER = Path(__file__).resolve().parent
SOURCE = "source.yaml"


@dataclass(frozen=True)
class Publication:
    """A publication's results: their folder, and what must stand under their tables.

    `node` is what it says of its node, named as on a card.
    """

    folder: Path
    footnotes: tuple[str, ...]
    node: Mapping[str, Any]


def names() -> tuple[str, ...]:
    """Return the names of the publications, sorted."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob(f"*/{SOURCE}")))


def publication(name: str) -> Publication:
    """Return a publication by its name; raises UserError with the nearest one."""
    if name not in names():
        raise UserError(unknown_word("published result", name, names()))
    # Whoever reads results only to look at them need not wait for the reader of YAML.
    import yaml

    folder = FOLDER / name
    source = yaml.safe_load((folder / SOURCE).read_text(encoding="utf-8"))
    return Publication(folder, tuple(source["remarks"]), source["node"])
