"""For where a figure is made: how wide it is, its title, and the names that stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from pinstudy.analysis.figures.style import FONT, FONT_SIZE, WIDTH, label_text
from pinstudy.analysis.verdict.model import Findings
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line, unknown_word
from pinstudy.configs.decoding import AtKey
from pinstudy.configs.document import MAX_BYTES, parse_yaml

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
