"""The node as lstopo has drawn it, drawn once more in the formats of the other figures.

lstopo's own SVG is boxes, lines and text. Nothing else is taken from it: the file may be anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from analysis.figures.drawing import Drawing, NotDrawn, sentences
from analysis.figures.style import label_text
from analysis.results.node_files import NodeSheet, node_sheets
from analysis.results.sources import Results

TITLE = "The node"
_SVG = "{http://www.w3.org/2000/svg}"
# lstopo counts in CSS pixels, and writes letters of 10 of them.
_PIXELS_PER_INCH = 96
_LETTER_PT = 7.5
_MAX_LETTERS = 200
# Nodes with a thousand CPUs have that many boxes and texts.
_MAX_SHAPES = 20_000
_MAX_PIXELS = 20_000.0
_COLOUR = re.compile(r"rgb\(([0-9]{1,3}),([0-9]{1,3}),([0-9]{1,3})\)")
_NUMBER = re.compile(r"-?[0-9]{1,6}(\.[0-9]{1,6})?(px)?")

Colour = tuple[float, float, float]


def draw_nodes(results: Results) -> Iterator[Drawing | NotDrawn]:
    """Yield each node's picture."""
    sheets = node_sheets(results)
    if not sheets:
        yield NotDrawn("node", TITLE, "no node's file is beside the results")
    for number, sheet in enumerate(sheets, 1):
        yield _draw(sheet, "node" if len(sheets) == 1 else f"node-{number}")


def _draw(sheet: NodeSheet, name: str) -> Drawing | NotDrawn:
    if sheet.picture is None:
        return NotDrawn(name, TITLE, sheet.why_no_picture)
    figure = _redrawn(sheet.picture)
    if figure is None:
        return NotDrawn(name, TITLE, "the picture is not as lstopo draws it")
    told = "; ".join(f"{what}: {text}" for what, text in sheet.summary)
    alt = sentences("The packages, caches, cores and CPUs as boxes in boxes.", told)
    return Drawing(name, TITLE, "The node as lstopo (hwloc) draws it.", alt, figure)


def _redrawn(svg: bytes) -> Figure | None:
    """Return the shapes of lstopo's picture as a figure; None when it is no such picture."""
    try:
        text = svg.decode("utf-8")
        # Declarations could define entities without end; lstopo writes none.
        if "<!" in text:
            return None
        root = ElementTree.fromstring(text)
        width, height = _number(root, "width"), _number(root, "height")
        shapes = list(root)
        if not (0 < width <= _MAX_PIXELS and 0 < height <= _MAX_PIXELS):
            return None
        if len(shapes) > _MAX_SHAPES:
            return None
        figure = Figure(figsize=(width / _PIXELS_PER_INCH, height / _PIXELS_PER_INCH))
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
        for order, shape in enumerate(shapes):
            _add(axes, shape, order)
    except (ElementTree.ParseError, ValueError):
        return None
    return figure


def _add(axes: Axes, shape: ElementTree.Element, order: int) -> None:
    """Draw one shape; skip elements that lstopo does not write."""
    if shape.tag == f"{_SVG}rect":
        corner = _number(shape, "x"), _number(shape, "y")
        axes.add_patch(
            Rectangle(
                corner, _number(shape, "width"), _number(shape, "height"), zorder=order,
                facecolor=_colour(shape, "fill"), edgecolor=_colour(shape, "stroke"), linewidth=0.6,
            )
        )  # fmt: skip
    elif shape.tag == f"{_SVG}line":
        ends = [[_number(shape, f"{axis}{end}") for end in (1, 2)] for axis in "xy"]
        axes.add_line(Line2D(*ends, color=_colour(shape, "stroke"), linewidth=0.6, zorder=order))
    elif shape.tag == f"{_SVG}text":
        text = label_text(shape.text or "", _MAX_LETTERS)
        axes.text(
            _number(shape, "x"), _number(shape, "y"), text, family="DejaVu Sans Mono",
            fontsize=_LETTER_PT, color=_colour(shape, "fill"), zorder=order,
        )  # fmt: skip


def _number(element: ElementTree.Element, name: str) -> float:
    """Return an attribute's number of pixels; raises ValueError when it is none."""
    text = element.get(name, "")
    if not _NUMBER.fullmatch(text):
        raise ValueError(name)
    return float(text.removesuffix("px"))


def _colour(element: ElementTree.Element, name: str) -> Colour:
    """Return an attribute's colour, black without one."""
    found = _COLOUR.fullmatch(element.get(name, ""))
    red, green, blue = (min(int(part), 255) / 255 for part in found.groups()) if found else (0,) * 3
    return red, green, blue
