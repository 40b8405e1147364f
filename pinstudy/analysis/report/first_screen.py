"""What a reader sees first: the answer, the grids with a picture, levers, and what comes next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pinstudy.analysis.answer import Answer
from pinstudy.analysis.figures.comparisons import draw_comparisons
from pinstudy.analysis.figures.drawing import Drawing
from pinstudy.analysis.figures.style import Layout
from pinstudy.analysis.findings.answers import Answers
from pinstudy.analysis.findings.glance import (
    DecisionOverview,
    decision_overviews,
    disturbed_of,
    undecided_of,
    why_no_decision,
)
from pinstudy.analysis.objectives import Objective
from pinstudy.analysis.overview.grid import Cell, ConfigurationLine, Overview, labels_of_verdicts
from pinstudy.analysis.overview.terminal import (
    OverviewEntry,
    change_words,
    entries,
    next_entry,
    runs_a_case,
    shared_words,
)
from pinstudy.analysis.overview.text import cell_text, ends_in_words, with_unit
from pinstudy.analysis.report.html import Picture, picture_of
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.words import report as words
from pinstudy.analysis.words.overview import DECISION, LEVERS
from pinstudy.analysis.words.report import race_answer, says_all, short_answer
from pinstudy.base import PINSTUDY

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
    level = words.LEVEL if any(line for overview in overviews for line in overview.lines) else ""
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
        headings = {
            name: name.removesuffix(f"/{guests}") if guests else name for name in overview.columns
        }
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
    shared = {shared_words(findings, overview) for overview in overviews if overview.columns}
    return shared.pop() if len(shared) == 1 else ""


def _guests_mapping(overview: Overview) -> str:
    inner = {name.partition("/")[2] for name in overview.columns}
    return inner.pop() if len(inner) == 1 else ""


def _name_parts(lines: Sequence[ConfigurationLine]) -> list[list[str]]:
    rows = [(line.program, line.team, line.under) for line in lines]
    return [[row[at] for row in rows] for at in range(len(NAMES))]


def _name_headings(lines: Sequence[ConfigurationLine]) -> list[str]:
    shown = [name for name, texts in zip(NAMES, _name_parts(lines), strict=True) if any(texts)]
    only_governors = all(line.under == line.governor for line in lines)
    return [words.GOVERNOR if only_governors and name == "under" else name for name in shown]


def _rows(
    lines: Sequence[ConfigurationLine], headings: Mapping[str, str], objective: Objective
) -> list[GridRow]:
    shown = [name for name, texts in zip(NAMES, _name_parts(lines), strict=True) if any(texts)]
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


# The style sheet switches between so many grids.
MAX_SWITCHED = 8
# Inches: the picture stands beside a grid of six columns.
BESIDE_GRID = Layout(width=4.8)
# A grid of more mappings has its picture below it.
BESIDE_PICTURE = 5


@dataclass(frozen=True)
class View:
    """The comparisons in one objective: grids, and their picture where one can be drawn."""

    objective: Objective
    grids: tuple[Grid, ...]
    picture: Picture | None


@dataclass(frozen=True)
class Remark:
    """A label with what it says; a text between backticks is a command line."""

    label: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class FirstScreen:
    """The first screen: the answer, what it rests on, and what to do next.

    A grid that `is_wide` leaves no room for its picture beside it. `constants` hold for all numbers
    of the page; `remarks` are what a reader has to know.
    """

    answer: str
    constants: tuple[str, ...]
    views: tuple[View, ...]
    is_wide: bool
    levers: tuple[Remark, ...]
    next_step: tuple[str, ...]
    remarks: tuple[Remark, ...]


def first_screen(
    results: Results, answer: Answer, answers: Answers, overviews: Sequence[Overview]
) -> FirstScreen:
    """Return what the page shows before anything is unfolded."""
    decisions = _decisions(answer, overviews)
    found = _news(entries(results, answer, answers, overviews), answer, decisions)
    views = () if answer.raced else tuple(_views(results, answer, overviews))
    grids = [grid for view in views for grid in view.grids]
    return FirstScreen(
        answer=_answer(answer, decisions),
        constants=tuple(constants(answer, overviews)),
        views=views,
        is_wide=any(len(grid.columns) > BESIDE_PICTURE for grid in grids),
        levers=tuple(_remarks(entry for entry in found if entry.label == LEVERS)),
        next_step=tuple(_next(results, answer)),
        remarks=tuple(_remarks(entry for entry in found if entry.label != LEVERS)),
    )


def objectives_of(overviews: Sequence[Overview]) -> list[Objective]:
    """Return the objectives that a reader can choose from; the tables have all means."""
    found = {
        objective.identity: objective for overview in overviews for objective in overview.shown
    }
    return list(found.values())[:MAX_SWITCHED]


def _decisions(answer: Answer, overviews: Sequence[Overview]) -> list[DecisionOverview]:
    labels = labels_of_verdicts([line for overview in overviews for line in overview.lines])
    return decision_overviews(answer, labels)


def _answer(answer: Answer, decisions: Sequence[DecisionOverview]) -> str:
    if answer.raced:
        return race_answer(answer.decision_lines)
    return short_answer(decisions, why_no_decision(answer), disturbed_of(answer))


def _news(
    found: Iterable[OverviewEntry], answer: Answer, decisions: Sequence[DecisionOverview]
) -> list[OverviewEntry]:
    """Return the entries without a decision of which the answer above them leaves nothing out."""
    listed = list(found)
    # Of a race the advice says it whole; without any decision the answer says why.
    if answer.raced or not decisions:
        return [entry for entry in listed if entry.label != DECISION]
    if says_all(decisions[0], disturbed_of(answer)):
        first = next(at for at, entry in enumerate(listed) if entry.label == DECISION)
        del listed[first]
    return listed


def _views(results: Results, answer: Answer, overviews: Sequence[Overview]) -> Iterable[View]:
    for at, objective in enumerate(objectives_of(overviews), 1):
        drawn = draw_comparisons(results, answer, objective, BESIDE_GRID)
        picture = picture_of(drawn, f"c{at}-") if isinstance(drawn, Drawing) else None
        grids = tuple(grids_of(answer, overviews, objective, at))
        yield View(objective, grids, picture)


def _remarks(found: Iterable[OverviewEntry]) -> list[Remark]:
    """Return entries by label; of a lever what it compares is the label."""
    remarks: list[Remark] = []
    for entry in found:
        label, texts = entry.label, tuple(_texts(entry))
        if label == LEVERS:
            label, _, change = entry.text.partition(": ")
            texts = (change,)
        if remarks and remarks[-1].label == label:
            remarks[-1] = Remark(label, (*remarks[-1].texts, *texts))
        else:
            remarks.append(Remark(label, texts))
    return remarks


def _texts(entry: OverviewEntry) -> list[str]:
    """Return an entry on one line, its command line, if it has one, on another."""
    lines = [part for part in entry.parts if part.startswith("`")]
    said = "; ".join(part for part in entry.parts if part not in lines)
    return [*([said] if said else []), *lines]


def _next(results: Results, answer: Answer) -> list[str]:
    """Return what to do next: a command, and why; or why nothing has to be done."""
    entry = next_entry(results, answer)
    if entry.parts:
        return _texts(entry)
    if answer.raced:
        return []
    if not results.made_here:
        return [words.ELSEWHERE, f"`{PINSTUDY} run quick`"]
    if disturbed_of(answer).is_node_disturbed:
        return [words.QUIETEN, f"`{PINSTUDY} tune`"]
    undecided = undecided_of(answer)
    if undecided.comparisons and not undecided.count:
        is_only = undecided.comparisons == 1
        text = words.ONE_DECIDED if is_only else words.ALL_DECIDED
        return [text.format(count=undecided.comparisons)]
    return []
