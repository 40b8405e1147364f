"""The grid of an overview: a line a configuration, a column a mapping, an outcome in each cell.

A configuration is what compared cases share: a table, a governor and what else a study varies. It
is named by what differs among the configurations: eight lines do not say eight times the same.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pinstudy.analysis.objectives import TIME, Objective, by_identity
from pinstudy.analysis.results.case import grouped
from pinstudy.base.text import one_line

# The outcomes of comparisons are analysis.statistics.decision's. `alone`: nothing is compared in
# its configuration. `not compared`: others are; it lost too many runs, or has too few.
# `estimate`: it is not decided yet. `left out`: the case was not run. `absent`: it was, and no run
# is good, or none measured this.
CellOutcome = Literal[
    "better",
    "worse",
    "equivalent",
    "undecided",
    "baseline",
    "alone",
    "not compared",
    "estimate",
    "left out",
    "absent",
]
OUTCOMES: tuple[CellOutcome, ...] = ("better", "worse", "equivalent", "undecided")

# From these changes on, in per cent, a cell's colour is stronger.
_STRONGER = (5.0, 25.0)


@dataclass(frozen=True)
class Cell:
    """A case in one objective: its outcome, and the numbers behind it.

    `centre` is the typical value, or the mean where only that is known; `ratio` is to the baseline,
    and `low` and `high` are the ends of its 95 % interval. Numbers that are not known are NaN.
    `number` is that of the case's row, `is_best` says that the verdict recommends it.
    """

    outcome: CellOutcome
    number: int
    centre: float = math.nan
    ratio: float = math.nan
    low: float = math.nan
    high: float = math.nan
    is_best: bool = False

    @property
    def is_compared(self) -> bool:
        """Whether it is compared with a baseline."""
        return self.outcome in OUTCOMES

    @property
    def percent(self) -> float:
        """The change against the baseline in per cent."""
        return 100 * (self.ratio - 1)

    @property
    def reach(self) -> float:
        """How far the interval reaches from the ratio, in per cent: on the wider side."""
        return 100 * max(self.ratio - self.low, self.high - self.ratio)

    @property
    def strength(self) -> int:
        """How strong the colour of a change is: 0, or 1 from 5 % on, or 2 from 25 %."""
        return sum(abs(self.percent) >= least for least in _STRONGER)

    @property
    def bound(self) -> float:
        """By how much it differs from the baseline at most, in per cent, by the interval."""
        return 100 * max(abs(self.low - 1), abs(self.high - 1))


@dataclass(frozen=True)
class ConfigurationLine:
    """What the cases of a line share, in short; `table` is the place of its table.

    `governor` and `co_runner` are those of its verdicts. `cells` are by objective, then by column;
    an objective that no case has is missing. `compared_by` are the objectives that its programs are
    compared by, those to look at first first: time, or what programs of a given time print.
    `threads` are those of all ranks.
    """

    program: str
    team: str
    under: str
    table: int
    governor: str
    co_runner: str | None
    cells: Mapping[Objective, Mapping[str, Cell]]
    compared_by: tuple[Objective, ...] = (TIME,)
    threads: int = 1

    def cells_of(self, objective: Objective) -> Mapping[str, Cell]:
        """Return the cells of an objective by column; none where its numbers have another unit."""
        has_it = any(known.identity == objective.identity for known in self.cells)
        return self.cells[objective] if has_it else {}

    def is_compared(self, objective: Objective) -> bool:
        """Whether any case is compared in an objective."""
        return any(cell.is_compared for cell in self.cells_of(objective).values())

    @property
    def leading(self) -> Objective:
        """The objective to look at first: the first one in which any case is compared, if any."""
        own = [objective for objective in self.compared_by if objective in self.cells] or [TIME]
        return next(filter(self.is_compared, own), own[0])

    @property
    def label(self) -> str:
        """The configuration on one line: `lulesh x8 performance`."""
        return " ".join(filter(None, (self.program, self.team, self.under)))


def by_program(lines: Iterable[ConfigurationLine]) -> tuple[ConfigurationLine, ...]:
    """Return configurations by program, then by threads; else in the order of the study."""
    every = list(lines)
    programs = [line.program for line in every]
    return tuple(sorted(every, key=lambda line: (programs.index(line.program), line.threads)))


def labels_of_verdicts(
    lines: Sequence[ConfigurationLine],
) -> dict[tuple[int, str, str | None], str]:
    """Return what the lines of a verdict have in common, by table, governor and co-runner."""
    labels = {}
    for first, *others in grouped(lines, lambda line: (line.table, line.governor, line.co_runner)):
        under = [other.under.split(", ") for other in others]
        common = [part for part in first.under.split(", ") if all(part in parts for parts in under)]
        labels[first.table, first.governor, first.co_runner] = replace(
            first, under=", ".join(common)
        ).label
    return labels


@dataclass(frozen=True)
class Overview:
    """Configurations by mappings.

    `columns` are the mappings of which any case was run, the baselines' first; `governor` is the
    one of all configurations, empty where there are several.
    """

    columns: tuple[str, ...]
    lines: tuple[ConfigurationLine, ...]
    governor: str

    @property
    def objectives(self) -> list[Objective]:
        """The objectives of which any case has a number, what is of one name and unit once."""
        return by_identity(objective for line in self.lines for objective in line.cells)

    def lines_of(self, objective: Objective) -> list[ConfigurationLine]:
        """Return the configurations that have numbers of an objective."""
        return [line for line in self.lines if line.cells_of(objective)]

    def cells_of(self, objective: Objective) -> list[Cell]:
        """Return the cells of an objective that are in a column."""
        return [
            cell
            for line in self.lines
            for column, cell in line.cells_of(objective).items()
            if column in self.columns
        ]

    def is_compared(self, objective: Objective) -> bool:
        """Whether any case is compared in an objective."""
        return any(line.is_compared(objective) for line in self.lines)

    @property
    def leading(self) -> list[Objective]:
        """The objectives to look at first, at least one: time, then what programs print."""
        found = by_identity(line.leading for line in self.lines)
        return sorted(found, key=lambda objective: objective != TIME) or [TIME]

    @property
    def shown(self) -> list[Objective]:
        """The objectives that have a grid: the leading ones, then all that compare any case."""
        return by_identity((*self.leading, *filter(self.is_compared, self.objectives)))

    def shows(self, objective: Objective) -> bool:
        """Whether an objective has a grid."""
        return any(shown.identity == objective.identity for shown in self.shown)


def unique_names(names: Iterable[str]) -> list[str]:
    """Return names of columns; of one that was run on two sets of CPUs the next has a number."""
    seen: dict[str, int] = {}
    unique = []
    for name in map(one_line, names):
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def why_absent(words: Collection[CellOutcome]) -> str:
    """Return why cells of these words have no number; empty where all have one."""
    parts = (("left out", "not run"), ("absent", "no good run or not measured"))
    return ", ".join(text for outcome, text in parts if outcome in words)


def columns_of(lines: Iterable[ConfigurationLine]) -> tuple[str, ...]:
    """Return the columns in which any case was run, those of baselines first."""
    words: dict[str, set[CellOutcome]] = {}
    for line in lines:
        for of_objective in line.cells.values():
            for column, cell in of_objective.items():
                words.setdefault(column, set()).add(cell.outcome)
    run = [column for column, outcomes in words.items() if outcomes != {"left out"}]
    return tuple(sorted(run, key=lambda column: "baseline" not in words[column]))
