"""A figure with the words that belong to it, and the files it is written to."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from analysis.figures.style import in_style
from analysis.format.files import write_file

# Metadata that changes from run to run is left out, so that files can be compared.
_METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
FORMATS = tuple(_METADATA)
# Each format's name for the alt text.
_DESCRIPTION = {"svg": "Description", "pdf": "Subject", "png": "Description"}


@dataclass(frozen=True)
class Drawing:
    """A figure.

    `name` is the file's name without its ending, `title` the subject, `caption` how to read it,
    and `alt` describes it for people who do not see it.
    """

    name: str
    title: str
    caption: str
    alt: str
    figure: Figure

    def data(self, style: str) -> bytes:
        """Return the figure as `svg`, `pdf` or `png`; the same figure gives the same bytes."""
        stream = io.BytesIO()
        described = {"Title": self.title, _DESCRIPTION[style]: self.alt}
        with in_style():
            self.figure.savefig(stream, format=style, metadata=_METADATA[style] | described)
        return stream.getvalue()


@dataclass(frozen=True)
class NotDrawn:
    """A figure whose numbers were not measured, and why."""

    name: str
    title: str
    reason: str


def write_drawing(drawing: Drawing, folder: Path, formats: Iterable[str] = FORMATS) -> list[Path]:
    """Write the figure into a folder, which is made, once a format; return the files' paths.

    Raises UserError when the folder cannot be written.
    """
    return [
        write_file(folder / f"{drawing.name}.{style}", drawing.data(style)) for style in formats
    ]
