"""How all figures look: sizes, colours, markers, layouts, and the text that may stand in them.

The colours are Okabe and Ito's ("Color Universal Design", 2008), which people with any colour
vision tell apart. None of them says anything alone: on paper without colours, filled and hollow
markers, their shapes and the hatches of bars say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import text_to_path

from pinstudy.analysis.verdict.model import Findings
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line, unknown_word
from pinstudy.configs.decoding import AtKey
from pinstudy.configs.document import MAX_BYTES, parse_yaml

BLACK = "#000000"
GREY = "#666666"
PALE = "#d9d9d9"
BLUE = "#0072b2"
SKY = "#56b4e9"
VERMILION = "#d55e00"
GREEN = "#009e73"
PURPLE = "#cc79a7"
ORANGE = "#e69f00"

# Inches. Figures are as wide as a page of text or a screen's column; rows make them taller.
WIDTH = 7.2
ROW = 0.25
# What a letter of a row's label takes at its size, on average.
LETTER = 0.066
MAX_LETTERS = 48
DPI = 300

# It comes with matplotlib: figures are laid out the same on every machine.
FONT, FONT_SIZE = "DejaVu Sans", 8.0
_STYLE: Any = {
    "font.family": FONT,
    "font.size": FONT_SIZE,
    "axes.titlesize": 8.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": PALE,
    "grid.linewidth": 0.5,
    "xtick.color": GREY,
    "xtick.labelcolor": BLACK,
    "ytick.color": GREY,
    "ytick.labelcolor": BLACK,
    "ytick.major.size": 0.0,
    "xtick.major.size": 2.5,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "hatch.linewidth": 0.6,
    "savefig.dpi": DPI,
    "savefig.facecolor": "white",
    # Letters stay letters: as outlines they would double a file, and nobody could search or edit
    # them. Where a browser lacks the font, it takes one that is hardly ever as wide. In PDF the
    # font is embedded; the other way to do that (42) takes four times as long.
    "svg.fonttype": "none",
    "svg.hashsalt": "pinstudy",
    "pdf.fonttype": 3,
    # A record's `$` is no formula.
    "text.parse_math": False,
}


# Nothing else in the program draws.
mpl.rcParams.update(_STYLE)


@dataclass(frozen=True)
class SelectionStyle:
    """How the markers of selections look: colour, and whether they are filled, pale or hollow."""

    name: str
    colour: str
    face: str
    selections: tuple[str, ...] = ()


SELECTION_STYLES = (
    SelectionStyle("all CPUs", "#333333", "#bdbdbd", ("all",)),
    SelectionStyle("P-cores", BLUE, BLUE, ("pcores", "pcpus")),
    SelectionStyle("E-cores", VERMILION, "white", ("ecores", "ecpus")),
    SelectionStyle("LP-E-cores", GREEN, "#b9e3d6", ("lpecores", "lpecpus")),
    SelectionStyle(
        "by pairs of threads", SKY, SKY,
        ("same-cpu", "siblings", "same-cluster", "across-packages"),
    ),
    # All other selections.
    SelectionStyle("several kinds", PURPLE, "#f0d6e4"),
)  # fmt: skip
BINDINGS = {"none": "o", "set": "s", "pin": "^"}
BINDING_NAMES = {"none": "left to the scheduler", "set": "confined to a set", "pin": "pinned"}


@dataclass(frozen=True)
class KindStyle:
    """How a core kind looks in dots, bars and areas."""

    colour: str
    fill: str
    hatch: str
    marker: str

    @property
    def dots(self) -> dict[str, Any]:
        """The properties of markers without a line; a legend's entry has the same."""
        return marker_style(self.marker, 5.5, self.colour, self.fill)

    @property
    def areas(self) -> dict[str, Any]:
        """The properties of bars and patches; a legend's entry has the same."""
        return {"facecolor": self.fill, "edgecolor": self.colour, "hatch": self.hatch}


# All CPUs together, where kinds are not known apart.
ANY_KIND = "any"
_KINDS = {
    "P": KindStyle(BLUE, BLUE, "", "o"),
    "E": KindStyle(VERMILION, "#f3b183", "////", "D"),
    "LP-E": KindStyle(GREEN, "#b9e3d6", "....", "v"),
    ANY_KIND: KindStyle(GREY, GREY, "", "s"),
}
KNOWN_KINDS = tuple(_KINDS)
_OTHER_KIND = KindStyle(PURPLE, "white", "xx", "X")


def marker_style(marker: str, size: float, colour: str, fill: str) -> dict[str, Any]:
    """Return the properties of markers without a line: what is drawn and its legend share them."""
    return {
        "linestyle": "",
        "marker": marker,
        "markersize": size,
        "color": colour,
        "markerfacecolor": fill,
    }


def kind_style(kind: str) -> KindStyle:
    """Return how a core kind looks; kinds of other names share one look."""
    return _KINDS.get(kind, _OTHER_KIND)


def cores_of(kind: str) -> str:
    """Return the cores of a kind in words: `P-cores`."""
    return "all CPUs" if kind == ANY_KIND else f"{label_text(kind, 12)}-cores"


# The mappings that most studies have; the others take the next colour and marker.
_MAPPINGS = {
    "unpinned": (BLACK, "o"),
    "pcores-set": (BLUE, "s"),
    "pcores-pin": (SKY, "^"),
    "ecores-set": (VERMILION, "D"),
    "ecores-pin": (ORANGE, "v"),
}
# Their numbers have no common divisor: there are as many pairs as their product. Black is left to
# `unpinned`: at this size a black pentagon is a circle.
_MORE_COLOURS = (GREEN, PURPLE, BLUE, ORANGE, VERMILION, SKY)
_MORE_MARKERS = ("P", "X", "<", ">", "p", "*", "d")


def mapping_looks(mappings: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return colour and marker of each mapping; the order of the others than the usual counts."""
    names = dict.fromkeys(mappings)
    unusual = [name for name in names if name not in _MAPPINGS]
    more = {
        name: (_MORE_COLOURS[at % len(_MORE_COLOURS)], _MORE_MARKERS[at % len(_MORE_MARKERS)])
        for at, name in enumerate(unusual)
    }
    return {name: _MAPPINGS.get(name) or more[name] for name in names}


def selection_style(selection: object) -> SelectionStyle:
    """Return how the cases of a selection look."""
    return next(
        (style for style in SELECTION_STYLES if selection in style.selections), SELECTION_STYLES[-1]
    )


def marker_of(binding: object) -> str:
    """Return the marker of a binding."""
    return BINDINGS.get(str(binding), "o")


def label_text(text: str, most: int = MAX_LETTERS) -> str:
    """Return a text from a record as the figures' font can show it, on one line, not too long."""
    known = _letters()
    shown = "".join(c if ord(c) in known else "?" for c in one_line(text))
    # The middle goes: a row's number stands at the beginning, its governor at the end.
    end = most // 3
    return shown if len(shown) <= most else f"{shown[: most - end - 1]}…{shown[-end:]}"


@cache
def _letters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family=FONT))).get_charmap())


_POINTS_PER_INCH = 72
# Letters on a screen are moved to whole pixels, and then take so much more.
_HINTED = 1.03


@dataclass(frozen=True)
class Layout:
    """A figure's width in inches, its title, and names of the data with those to show instead.

    Without a width a figure has its own. Without a title it has its own where it has its own width,
    and none where it stands in a column that has a caption; an empty one is none.
    """

    width: float | None = None
    title: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def wide(self, usual: float = WIDTH) -> float:
        """Return the width in inches; `usual` is the figure's own."""
        return usual if self.width is None else self.width

    def name(self, name: str) -> str:
        """Return what stands in the figure for a mapping, program or setting of the data."""
        return self.names.get(name, name)

    def title_lines(self, usual: str, width: float) -> list[str]:
        """Return the lines of the title of a figure of that width, in inches; none without one."""
        title = self.title
        if title is None:
            title = usual if self.width is None else ""
        return wrap(title, width - 0.2, weight="bold")


# A title from a record may be as long as a study has it.
_MAX_TEXT = 400
# As a report or a folder has it: figures have their own widths and titles.
SCREEN = Layout()


def text_width(text: str, size: float = FONT_SIZE, weight: str = "normal") -> float:
    """Return how many inches a text takes as the font can show it; `size` is in points."""
    font = FontProperties(family=FONT, size=size, weight=weight)
    shown = label_text(text, _MAX_TEXT)
    wide, _, _ = text_to_path.get_text_width_height_descent(shown, font, ismath=False)
    return float(wide) * _HINTED / _POINTS_PER_INCH


def wrap(text: str, width: float, size: float = FONT_SIZE, weight: str = "normal") -> list[str]:
    """Return a text as the font can show it, in lines of at most that many inches."""
    return list(_lines(label_text(text, _MAX_TEXT).split(), width, size, weight))


def _lines(words: Sequence[str], width: float, size: float, weight: str) -> Iterator[str]:
    line = ""
    for word in words:
        longer = f"{line} {word}".lstrip()
        if line and text_width(longer, size, weight) > width:
            yield shortened(line, width, size, weight)
            longer = word
        line = longer
    if line:
        yield shortened(line, width, size, weight)


def shortened(text: str, width: float, size: float = FONT_SIZE, weight: str = "normal") -> str:
    """Return a text as the font can show it, without its middle where it takes more inches."""
    shown = label_text(text, _MAX_TEXT)
    if text_width(shown, size, weight) <= width:
        return shown
    # Letters differ in width, so a longer text that fits may be missed by a letter or two.
    least, most = 2, len(shown) - 1
    while least < most:
        middle = (least + most + 1) // 2
        if text_width(label_text(text, middle), size, weight) <= width:
            least = middle
        else:
            most = middle - 1
    return label_text(text, least)


_EXPECTED = "expected `name in the results: name in the figure`"


def read_labels(path: Path, findings: Findings) -> dict[str, str]:
    """Return the names in figures by the names in the results.

    Raises UserError, with the file's line, for a file that cannot be read and for unknown names.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); name a YAML file") from error
    document = parse_yaml(data, str(path))
    if document.problems:
        raise UserError(str(document.problems[0]))
    if not isinstance(document.value, dict):
        raise UserError(str(document.problem((), f"{_EXPECTED}, a line a name")))
    known = names_in(findings)
    labels: dict[str, str] = {}
    for name, label in document.value.items():
        if name not in known:
            message = unknown_word("name", name, known)
            raise UserError(str(document.problem((name,), AtKey(message))))
        if not isinstance(label, str) or not label.strip():
            raise UserError(str(document.problem((name,), _EXPECTED)))
        labels[name] = label
    shown: dict[str, str] = {}
    for name in known:
        label = labels.get(name, name)
        if label in shown:
            first = shown[label]
            place = name if name in labels else first
            both = f"{one_line(first)} and {one_line(name)} would both be called {one_line(label)}"
            raise UserError(str(document.problem((place,), f"{both}; write two names")))
        shown[label] = name
    return labels


def names_in(findings: Findings) -> list[str]:
    """Return the names that stand in figures: of mappings, then of programs, then of settings."""
    keys = [case.summary.key for case in findings.cases]
    mappings = [name for key in keys for name in (key.mapping, key.vcpu_mapping)]
    programs = [name for key in keys for name in (key.table.app, key.co_runner)]
    settings = [part for key in keys for part in (*key.setting_words.split(", "), key.governor)]
    return [name for name in dict.fromkeys([*mappings, *programs, *settings]) if name]
