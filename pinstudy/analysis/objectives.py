"""What is compared between mappings: time, energy, their product, or what programs print.

Energy is that of the packages, or of the scope of the meter that results have.

The energy-delay product is that of Gonzalez and Horowitz, "Energy dissipation in general purpose
microprocessors" (IEEE Journal of Solid-State Circuits 31(9), 1996).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pinstudy.analysis.measures import COMPARED_ENERGY, MEASURES, Measure
from pinstudy.runners.records.energy import PACKAGE

# A unit that can be counted, "58 % more Gflop/s": a rate that begins with a letter.
_COUNTED = re.compile(r"[^\W\d_][^\s/]*/[^\s/]+")


class Objective(str):
    """What cases are compared by, as mappings and files name it.

    `field` is the measure that holds it, `noun` its word in sentences, `short` in headings.
    `higher`: more of it is better. `counted`: there is less or more of it, rather than a lower or
    a higher one.
    """

    field: str
    noun: str
    short: str
    unit: str
    higher: bool
    counted: bool

    def __new__(
        cls,
        name: str,
        field: str,
        noun: str,
        unit: str,
        *,
        short: str = "",
        higher: bool = False,
        counted: bool = True,
    ) -> Objective:
        """Make the objective of that name."""
        made = super().__new__(cls, name)
        made.field, made.noun, made.short, made.unit = field, noun, short or name, unit
        made.higher, made.counted = higher, counted
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str, ...], dict[str, object]]:
        """Return the arguments that make it again in another process."""
        more = {"short": self.short, "higher": self.higher, "counted": self.counted}
        return (str(self), self.field, self.noun, self.unit), more

    @property
    def identity(self) -> tuple[str, str, bool]:
        """What tells it from those of other programs, which may print numbers of the same name."""
        return str(self), self.unit, self.higher

    def loss(self, log_ratio: float) -> float:
        """Return a log ratio with the sign by which less is better."""
        return -log_ratio if self.higher else log_ratio


def objective_in(measure: Measure) -> Objective:
    """Return a measure as what cases are compared by."""
    field = COMPARED_ENERGY if measure.field == PACKAGE else measure.field
    return Objective(measure.objective, field, measure.noun, measure.unit, counted=measure.counted)


# Those of every program; less of each is better.
OBJECTIVES = tuple(objective_in(measure) for measure in MEASURES if measure.objective)
TIME, ENERGY, EDP = OBJECTIVES


def of_scope(scope: str) -> tuple[Objective, ...]:
    """Return OBJECTIVES, with energy named as that of a scope; they equal those of packages."""
    if scope == "package":
        return OBJECTIVES
    energy = Objective(ENERGY, ENERGY.field, f"{scope} energy", ENERGY.unit)
    edp = Objective(EDP, EDP.field, f"{scope} {EDP.noun}", EDP.unit, counted=False)
    return TIME, energy, edp


def named_in(objective: Objective, known: Iterable[Objective]) -> Objective:
    """Return an objective with the words that it has among others; itself where it is not there."""
    return next((other for other in known if other == objective), objective)


def by_identity(objectives: Iterable[Objective]) -> list[Objective]:
    """Return objectives, what is of one name and unit once."""
    return list({objective.identity: objective for objective in objectives}.values())


def of_printed(name: str, field: str, unit: str, *, higher: bool) -> Objective:
    """Return the objective of a number that a program prints; the texts are of one line.

    The noun is the unit where that can be counted, with the number's name: `Gflop/s (rate)`.
    """
    counted = _COUNTED.fullmatch(unit) is not None
    noun = f"{unit} ({name})" if counted else name
    return Objective(field, field, noun, unit, short=name, higher=higher, counted=counted)
