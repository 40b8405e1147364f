"""The grids of the first screen: configurations by mappings, as the page's tables have them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pinstudy.analysis.objectives import Objective
from pinstudy.analysis.overview.grid import Cell, ConfigurationLine, Overview
from pinstudy.analysis.overview.terminal import change_words, runs_a_case, shared_words
from pinstudy.analysis.overview.text import cell_text, ends_in_words, with_unit
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.words import report as words

# The columns that name a configuration, in the page and in `_names`.
NAMES = ("program", "threads", "under")


@dataclass(frozen=True)
class Name:
    """A part of a configuration's name.

    `is_repeated`: the row above says the same. `is_link`: it leads to the program's part.
    """

    column: str
    text: str
    is_repeated: bool
    is_link: bool


@dataclass(frozen=True)
class GridCell:
    """A comparison: its column's heading, its text, what a pointer on it shows, its classes."""

    column: str
    text: str
    tooltip: str
    classes: str


@dataclass(frozen=True)
class GridRow:
    """A configuration; `section` is the number of its program's part."""

    label: str
    names: tuple[Name, ...]
    section: int
    program: str
    governor: str
    cells: tuple[GridCell, ...]


@dataclass(frozen=True)
class Grid:
    """The comparisons of one overview in one objective."""

    name: str
    caption: str
    names: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[GridRow, ...]


def constants(findings: Findings, overviews: Sequence[Overview]) -> list[str]:
    """Return what holds for all that the page shows, which it then says once."""
    shared = _shared_by_all(findings, overviews)
    level = words.LEVEL if any(line for of in overviews for line in of.lines) else ""
    return [text for text in (shared, runs_a_case(findings), level) if text]


def grids_of(
    findings: Findings, overviews: Sequence[Overview], objective: Objective, at: int
) -> list[Grid]:
    """Return the grids in an objective, which is the page's number `at`."""
    shown = [overview for overview in overviews if overview.shows(objective) and overview.columns]
    shared_by_all = _shared_by_all(findings, overviews)
    grids = []
    for number, overview in enumerate(shown, 1):
        guests = _guests_mapping(overview)
        parts = (
            "" if shared_by_all else shared_words(findings, overview),
            words.GUESTS.format(mapping=guests) if guests else "",
            change_words(findings, overview, objective, level=False),
        )
        headings = {name: _heading(name, guests) for name in overview.columns}
        lines = overview.lines_of(objective)
        grids.append(
            Grid(
                f"grid-{at}-{number}",
                "; ".join(filter(None, parts)),
                tuple(_name_headings(lines)),
                tuple(headings.values()),
                tuple(_rows(lines, headings, objective)),
            )
        )
    return grids


def sections_of(overviews: Sequence[Overview]) -> dict[int, str]:
    """Return the programs' names with their threads, by the place of their table."""
    return {
        line.table: " ".join(filter(None, (line.program, line.team)))
        for overview in overviews
        for line in overview.lines
    }


def _shared_by_all(findings: Findings, overviews: Sequence[Overview]) -> str:
    """Return what all overviews share; nothing where one has something else."""
    shared = {shared_words(findings, overview) for overview in overviews if overview.columns}
    return shared.pop() if len(shared) == 1 else ""


def _guests_mapping(overview: Overview) -> str:
    """Return the mapping within guests that all columns name; empty where they name several."""
    inner = {name.partition("/")[2] for name in overview.columns}
    return inner.pop() if len(inner) == 1 else ""


def _heading(column: str, guests: str) -> str:
    return column.removesuffix(f"/{guests}") if guests else column


def _texts(lines: Sequence[ConfigurationLine]) -> list[list[str]]:
    """Return the parts of the configurations' names, by column."""
    rows = [(line.program, line.team, line.under) for line in lines]
    return [[row[at] for row in rows] for at in range(len(NAMES))]


def _name_headings(lines: Sequence[ConfigurationLine]) -> list[str]:
    shown = [name for name, texts in zip(NAMES, _texts(lines), strict=True) if any(texts)]
    only_governors = all(line.under == line.governor for line in lines)
    return [words.GOVERNOR if only_governors and name == "under" else name for name in shown]


def _rows(
    lines: Sequence[ConfigurationLine], headings: Mapping[str, str], objective: Objective
) -> list[GridRow]:
    shown = [name for name, texts in zip(NAMES, _texts(lines), strict=True) if any(texts)]
    rows, above = [], dict.fromkeys(NAMES, "")
    for line in lines:
        name = dict(zip(NAMES, (line.program, line.team, line.under), strict=True))
        rows.append(
            GridRow(
                line.label,
                tuple(_names(name, above, shown)),
                line.table + 1,
                line.program,
                line.governor,
                tuple(
                    _cell(line, column, heading, objective) for column, heading in headings.items()
                ),
            )
        )
        above = name
    return rows


def _names(name: Mapping[str, str], above: Mapping[str, str], shown: Sequence[str]) -> list[Name]:
    last = max((at for at, column in enumerate(shown) if name[column]), default=0)
    parts, is_repeated = [], True
    for at, column in enumerate(shown):
        is_repeated = is_repeated and at < last and name[column] == above[column]
        parts.append(Name(column, name[column], is_repeated, at == last))
    return parts


def _cell(line: ConfigurationLine, column: str, heading: str, objective: Objective) -> GridCell:
    cell = line.cells_of(objective).get(column)
    if cell is None:
        return GridCell(heading, "", "", "")
    parts = [f"{line.label}, {column}"]
    if not math.isnan(cell.centre):
        parts.append(with_unit(cell.centre, objective))
    if ends := ends_in_words(cell):
        parts.append(ends)
    outcome = f"{cell.outcome}, {words.BEST}" if cell.is_best else cell.outcome
    tooltip = "; ".join([*parts, outcome])
    return GridCell(heading, cell_text(cell, objective), tooltip, cell_classes(cell))


def cell_classes(cell: Cell) -> str:
    """Return the classes that colour a cell of the grid: `better better-2`."""
    name = cell.outcome.replace(" ", "-")
    if cell.outcome not in ("better", "worse"):
        return name
    return f"{name} {name}-{1 + cell.strength}"
