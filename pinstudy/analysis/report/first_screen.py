"""What a reader sees first: the answer, the grids with a picture, levers, and what comes next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pinstudy.analysis.answer import Answer
from pinstudy.analysis.figures.comparisons import draw_comparisons
from pinstudy.analysis.figures.drawing import Drawing
from pinstudy.analysis.figures.layout import Layout
from pinstudy.analysis.findings.answers import Answers
from pinstudy.analysis.findings.glance import (
    DecisionOverview,
    decision_overviews,
    disturbed_of,
    undecided_of,
    why_no_decision,
)
from pinstudy.analysis.objectives import Objective
from pinstudy.analysis.overview.grid import Overview, labels_of_verdicts
from pinstudy.analysis.overview.terminal import OverviewEntry, entries, next_entry
from pinstudy.analysis.report.grid import Grid, constants, grids_of
from pinstudy.analysis.report.pictures import Picture, picture_of
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.words import report as words
from pinstudy.analysis.words.overview import DECISION, LEVERS
from pinstudy.analysis.words.report import race_answer, says_all, short_answer
from pinstudy.base import PINSTUDY

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
