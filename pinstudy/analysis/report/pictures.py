"""The page's figures, each with its caption; what a caption explains is explained once."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from markupsafe import Markup

from pinstudy.analysis.figures.drawing import Drawing, NotDrawn
from pinstudy.analysis.report.inline_svg import inline_svg

_SENTENCES = re.compile(r"\S.*?[.](?= |$)")
Place = TypeVar("Place", bound=Hashable)


@dataclass(frozen=True)
class Picture:
    """A figure of the page; `is_wide`: wider than a phone, which scrolls it."""

    title: str
    caption: str
    svg: Markup
    is_wide: bool


# Inches.
_WIDE = 4.5


def picture_of(drawing: Drawing, prefix: str) -> Picture:
    """Return a figure as it stands in the page; `prefix` tells its ids from other figures'."""
    is_wide = float(drawing.figure.get_figwidth()) > _WIDE
    return Picture(drawing.title, drawing.caption, inline_svg(drawing, prefix), is_wide)


def picture_or_reason(drawn: Drawing | NotDrawn, prefix: str) -> Picture | NotDrawn:
    """Return a figure as it stands in the page, or why it is not drawn."""
    return drawn if isinstance(drawn, NotDrawn) else picture_of(drawn, prefix)


def pictures_by_place(
    drawn: Iterable[tuple[Place, Drawing | NotDrawn]], prefix: str
) -> dict[Place, list[Picture | NotDrawn]]:
    """Return the figures of each table or experiment; of each its text is kept, no more."""
    pictures: dict[Place, list[Picture | NotDrawn]] = {}
    for number, (place, drawing) in enumerate(drawn, 1):
        pictures.setdefault(place, []).append(picture_or_reason(drawing, f"{prefix}{number}-"))
    return pictures


def explained_once(
    by_place: Mapping[Place, Sequence[Picture | NotDrawn]],
) -> dict[Place, list[Picture | NotDrawn]]:
    """Return the pictures; a sentence on how they are read stands below the first of them only.

    So does the reason why one is not drawn.
    """
    known: set[tuple[str, str]] = set()
    pictures: dict[Place, list[Picture | NotDrawn]] = {}
    for place, found in by_place.items():
        pictures[place] = []
        for picture in found:
            if isinstance(picture, Picture):
                pictures[place].append(_with_news(picture, known))
            elif (picture.title, picture.reason) not in known:
                known.add((picture.title, picture.reason))
                pictures[place].append(picture)
    return pictures


def _with_news(picture: Picture, known: set[tuple[str, str]]) -> Picture:
    """Return a picture with the sentences of its caption that are not known; add them to those."""
    captions = [(picture.title, text) for text in _SENTENCES.findall(picture.caption)]
    caption = " ".join(text for title, text in captions if (title, text) not in known)
    known.update(captions)
    return replace(picture, caption=caption)
