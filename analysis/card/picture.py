"""A card's picture: every comparison as a cell, as the figure of the overview has it."""

from __future__ import annotations

import io
import re

from analysis.figures.heat_map import heat_map
from analysis.overview.settings import overviews_of
from analysis.results.card_picture import MAX_LETTERS
from analysis.verdict.model import Findings

# More lines than that are no picture for a small file.
_MAX_LINES = 60
_MAX_COLUMNS = 12
# Declarations and metadata, which say nothing of the results.
_NOT_PICTURE = re.compile(r"<\?.*?\?>|<!.*?>|<metadata>.*?</metadata>", re.DOTALL)


def picture_of(findings: Findings) -> str | None:
    """Return the picture as SVG; None where there is too much for one, or nothing."""
    overviews = [of for of in overviews_of(findings) if of.settings and of.columns]
    if not overviews or max(len(of.columns) for of in overviews) > _MAX_COLUMNS:
        return None
    if sum(len(of.settings) for of in overviews) > _MAX_LINES:
        return None
    stream = io.StringIO()
    figure = heat_map(overviews, findings)
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    svg = _NOT_PICTURE.sub("", stream.getvalue()).strip()
    return svg if len(svg) <= MAX_LETTERS else None
