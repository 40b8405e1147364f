"""An overview's grid as lines for a terminal: each comparison with its mark and uncertainty."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, product
from textwrap import wrap
from typing import Literal, NamedTuple

from pinstudy.analysis.format.lines import Line, Piece, Style, length, lines_of, stripped
from pinstudy.analysis.format.numbers import in_percent, signed, three_digits
from pinstudy.analysis.objectives import ENERGY, TIME, Objective
from pinstudy.analysis.overview.grid import (
    Cell,
    CellOutcome,
    ConfigurationLine,
    Overview,
    why_absent,
)

NOT_COMPARED = "x"
MARKS: dict[CellOutcome, str] = {"better": "-", "worse": "+", "equivalent": "=", "undecided": "?"}
BEST = "*"
_GAP = "  "
# Between the ends of an interval.
_TO = "…"
Form = Literal["long", "short", "shortest"]
# Ends that differ by fewer of the last digit are alike.
_ALIKE: dict[Form, float] = {"long": 0.5, "short": 1.5, "shortest": math.inf}
# An interval that reaches further tells nothing that a reader could use.
_MOST_PERCENT = 999.0
_WHOLE_FROM = 10
# Governors' names are shortened where a line would be too long.
_SHORT = {"performance": "perf", "powersave": "psave", "schedutil": "sutil", "ondemand": "ondem"}


class _Parts(NamedTuple):
    """A cell before it is aligned: mark and value, what stands behind it, and its style."""

    value: str
    behind: str
    style: Style


def grid_lines(overview: Overview, objective: Objective, width: int) -> list[Line]:
    """Return the grid in one objective, as wide as a terminal of that many columns allows."""
    return grid_with_energy(overview, objective, width)[0]


def grid_with_energy(
    overview: Overview, objective: Objective, width: int
) -> tuple[list[Line], bool]:
    """Return the grid of `grid_lines`, and whether energy stands in it.

    Energy stands in brackets behind time where that fits. A mapping has a column; where they do not
    fit, each has a line below its configuration.
    """
    with_energy = objective == TIME and ENERGY in overview.objectives
    for brackets in (True, False) if with_energy else (False,):
        for form, broken in product(_ALIKE, (False, True)):
            if brackets and form == "shortest":
                continue
            lines = _in_columns(overview, objective, brackets, form, broken)
            if max(map(length, lines)) <= width:
                return lines, brackets
    return _in_lines(overview, objective, with_energy, width), with_energy


def _in_columns(
    overview: Overview, objective: Objective, brackets: bool, form: Form, broken: bool
) -> list[Line]:
    lines = overview.lines_of(objective)
    labels = _labels(lines, form != "long")
    heads = _heads(overview.columns) if broken else [[column] for column in overview.columns]
    columns = [
        _column([_parts(line, objective, column, brackets, form) for line in lines], head)
        for column, head in zip(overview.columns, heads, strict=True)
    ]
    width = max(map(len, labels))
    starts = [" " * width for _ in heads[0]] + [label.ljust(width) for label in labels]
    rows = zip(starts, *columns, strict=True)
    return [
        stripped((Piece(start), *chain.from_iterable((Piece(_GAP), cell) for cell in cells)))
        for start, *cells in rows
    ]


def _labels(lines: Sequence[ConfigurationLine], short: bool) -> list[str]:
    """Return the configurations' names in three columns; what the line above says is left blank."""
    rows = [
        (line.program, line.team, _shortened(line.under) if short else line.under) for line in lines
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    labels, above = [], ("", "", "")
    for row in rows:
        same = 0
        while same < 2 and row[same] == above[same]:
            same += 1
        shown = ["" if at < same else text for at, text in enumerate(row)]
        cells = (text.ljust(width) for text, width in zip(shown, widths, strict=True) if width)
        labels.append(" ".join(cells).rstrip())
        above = row
    return labels


def _shortened(under: str) -> str:
    return ", ".join(_SHORT.get(part, part) for part in under.split(", "))


def _heads(columns: Sequence[str]) -> list[list[str]]:
    """Return the mappings' names over two lines, broken at the first hyphen or slash."""
    split = [_broken(column) for column in columns]
    height = max(len(parts) for parts in split)
    return [[""] * (height - len(parts)) + parts for parts in split]


def _broken(name: str) -> list[str]:
    for mark in "/-":
        head, found, rest = name.partition(mark)
        if found:
            return [f"{head}{mark}", rest]
    return [name]


def _column(parts: Sequence[_Parts], head: Sequence[str]) -> list[Piece]:
    before, behind = (max(len(part[at]) for part in parts) for at in (0, 1))
    texts = [f"{part.value.rjust(before)}{part.behind.ljust(behind)}" for part in parts]
    width = max(before + behind, *map(len, head))
    return [Piece(text.rjust(width), "strong") for text in head] + [
        Piece(text.rjust(width), part.style) for text, part in zip(texts, parts, strict=True)
    ]


def _parts(
    line: ConfigurationLine, objective: Objective, column: str, brackets: bool, form: Form
) -> _Parts:
    cell = line.cells_of(objective).get(column)
    if cell is None:
        return _Parts("", "", "plain")
    parts = cell_parts(cell, objective, form)
    if not brackets:
        return parts
    energy = line.cells_of(ENERGY).get(column)
    return parts._replace(behind=f"{parts.behind}{_in_brackets(energy)}")


def _in_brackets(energy: Cell | None) -> str:
    if energy is None or energy.outcome in ("left out", "absent"):
        return ""
    if math.isnan(energy.ratio):
        return f" ({with_unit(energy.centre, ENERGY)})"
    return f" ({signed(energy.percent, _decimals(energy.percent, energy.reach, True))})"


def cell_parts(cell: Cell, objective: Objective, form: Form = "long") -> _Parts:
    """Return a cell's text in two parts, which columns align between, and its style.

    Changes of 10 % and more are whole numbers where they have to be short.
    """
    if cell.outcome in ("left out", "absent"):
        return _Parts("n/a", "", "faint")
    if math.isnan(cell.ratio):
        value = "" if math.isnan(cell.centre) else with_unit(cell.centre, objective)
        if cell.outcome == "not compared":
            return _Parts(f"{NOT_COMPARED} {value}", "", "faint")
        return _Parts(value, "", "plain")
    mark, style = MARKS.get(cell.outcome, ""), _STYLES[cell.outcome]
    best = BEST if cell.is_best else ""
    if cell.outcome == "equivalent":
        return _Parts(mark, f"{_reach(cell.bound, _decimals(0, cell.bound, False))}{best}", style)
    decimals = _decimals(cell.percent, cell.reach, form != "long")
    if cell.outcome == "undecided" and not math.isnan(cell.reach):
        # The ends are all that is known.
        low, high = _ends(cell, decimals)
        return _Parts(f"{mark} {low}", f"{_TO}{high}", style)
    start = f"{mark} " if cell.outcome == "undecided" else ""
    value = signed(cell.percent, decimals)
    return _Parts(f"{start}{value}", f"{_interval(cell, decimals, form)}{best}", style)


_STYLES: dict[CellOutcome, Style] = {
    "better": "better",
    "worse": "worse",
    "equivalent": "equivalent",
    "undecided": "undecided",
    "estimate": "plain",
}


def cell_text(cell: Cell, objective: Objective) -> str:
    """Return a cell's text: `45.1 s`, `+25 ±1`, `= ±0.4`, `? -3 ±8`."""
    parts = cell_parts(cell, objective)
    return f"{parts.value}{parts.behind}"


def with_unit(value: float, objective: Objective) -> str:
    """Return a mean with three digits, noughts at the end included, and its unit."""
    text = three_digits(value)
    if "e" not in text and 1e-4 <= abs(value) < 999.5:
        text = f"{value:#.3g}".rstrip(".")
    return f"{text} {objective.unit}".rstrip()


def _interval(cell: Cell, decimals: int, form: Form) -> str:
    """Return `±` and a reach where both ends are as far from the change, else both ends.

    They are rounded outwards: no interval looks narrower than it is. Ends are as far where that
    differs by nothing in the last digit, in a short form by one; in the shortest form always: the
    reach is the wider one.
    """
    if math.isnan(cell.reach):
        return ""
    lopsided = 100 * (cell.high - 2 * cell.ratio + cell.low)
    if abs(lopsided) < _ALIKE[form] * 10**-decimals:
        return _reach(cell.reach, decimals)
    return f" {_TO.join(_ends(cell, decimals))}"


def ends_in_words(cell: Cell) -> str:
    """Return a cell's change with both ends of its interval: `+1.2 % (95 %: -0.1 to +2.5)`."""
    if math.isnan(cell.ratio):
        return ""
    if math.isnan(cell.reach):
        return f"{signed(cell.percent, 1)} %"
    decimals = _decimals(cell.percent, cell.reach, False)
    low, high = _ends(cell, decimals)
    return f"{signed(cell.percent, decimals)} % (95 %: {low} to {high})"


def _ends(cell: Cell, decimals: int) -> tuple[str, str]:
    """Return both ends of an interval in per cent, rounded outwards."""
    low, high = 100 * (1 - cell.low), 100 * (cell.high - 1)
    return _end(-_outwards(low, decimals), decimals), _end(_outwards(high, decimals), decimals)


def _outwards(percent: float, decimals: int) -> float:
    scale = 10.0**decimals
    return math.ceil(percent * scale - 1e-9) / scale


def _end(percent: float, decimals: int) -> str:
    return f">+{_MOST_PERCENT:.0f}" if percent > _MOST_PERCENT else signed(percent, decimals)


def _reach(percent: float, decimals: int) -> str:
    if math.isnan(percent):
        return ""
    if percent > _MOST_PERCENT:
        return f" ±>{_MOST_PERCENT:.0f}"
    return f" ±{_outwards(percent, decimals):.{decimals}f}"


def _decimals(percent: float, reach: float, is_short: bool) -> int:
    """Return the decimals of a percentage whose interval reaches so far: one, or none."""
    if is_short and abs(percent) >= _WHOLE_FROM:
        return 0
    return 0 if reach >= 0.95 else 1


def _in_lines(overview: Overview, objective: Objective, brackets: bool, width: int) -> list[Line]:
    names = max(map(len, overview.columns))
    lines: list[Line] = []
    for line in overview.lines_of(objective):
        label = wrap(line.label, width, subsequent_indent=_GAP, break_on_hyphens=False)
        lines += lines_of("\n".join(label), "strong")
        columns = [column for column in overview.columns if column in line.cells_of(objective)]
        parts = [_parts(line, objective, column, brackets, "long") for column in columns]
        for column, cell in zip(columns, _column(parts, ("",))[1:], strict=True):
            start = f"{_GAP}{column.ljust(names)}{_GAP}"
            lines.append(stripped((Piece(start), cell)))
    return lines


def signs(cells: Collection[Cell]) -> dict[str, str]:
    """Return what the signs of cells mean that are no words of comparisons, if any has them."""
    words = {cell.outcome for cell in cells}
    meanings = {
        NOT_COMPARED: "not compared" if "not compared" in words else "",
        "n/a": why_absent(words),
        BEST: "best" if any(cell.is_best for cell in cells) else "",
    }
    return {sign: meaning for sign, meaning in meanings.items() if meaning}


def legend(overviews: Iterable[Overview], margin: float) -> str:
    """Return what the marks mean, of those in the grids of what is looked at first."""
    shown = [
        (cell, objective.higher)
        for overview in overviews
        for objective in overview.leading
        for cell in overview.cells_of(objective)
    ]
    cells = [cell for cell, _ in shown]
    words = {cell.outcome for cell in cells}
    higher = {is_higher for cell, is_higher in shown if cell.outcome in ("better", "worse")}
    good, bad = "+-" if higher == {True} else "-+"
    parts = [
        text
        for outcome, text in (
            ("better", f"{good} better"),
            ("worse", f"{bad} worse"),
            ("equivalent", f"= alike: surely within {in_percent(margin, 6)} %"),
            ("undecided", "? undecided"),
        )
        if outcome in words
    ]
    if len(higher) > 1:
        parts.insert(len(words & {"better", "worse"}), "the other way round where more is better")
    parts += [f"{sign} {meaning}" for sign, meaning in signs(cells).items()]
    return ", ".join(parts)
