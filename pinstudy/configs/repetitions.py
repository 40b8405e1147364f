"""How often a study's cases are run, `10` or `{decide: {first: 5, max: 80}}`; and a race's rule."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pinstudy.base.text import shown
from pinstudy.configs.decoding import Mistake, called, written
from pinstudy.configs.values import count, duration

# Two runs have one degree of freedom: their interval is 13 standard errors wide to each side, or
# empty when both times happen to agree, and neither says much about the case.
MIN_REPETITIONS = 3
MAX_REPETITIONS = 10000
# Some runs of the first cases. To decide takes a first run of two, and ten fresh ones of each.
MIN_RACE_RUNS = 10
MAX_RACE_RUNS = 1_000_000
# By default a race may make a third of the runs of a study that repeats every case so often.
RACE_REPETITIONS = 10
# The value of `runs` where `time_budget` alone limits a race.
ANY = "any"
# What to write instead of the rules that `repetitions` once had.
GONE = {
    "until": "`until` is gone: write repetitions: {decide: {first: 5, max: 50}}, or a number",
    "race": "`race` is gone: `pinstudy advise -- PROGRAM` looks for the best case; a study has "
    "repetitions: {decide: {first: 5, max: 50}}, or a number",
}
# What cases can race for, besides a metric of their app.
RACE_OF = {
    "time": "the time that a run takes",
    "energy": "the energy of the packages during a run",
    "edp": "the energy-delay product, energy times time",
}


@dataclass(frozen=True)
class Decide:
    """Cases are repeated until every comparison of times is decided, or no time is left.

    Results are looked at when each case has `first` repetitions, and whenever their number has
    doubled since.
    """

    expected: ClassVar[str] = "a table with the keys first, max, time_budget"

    first: Annotated[
        int,
        count("how many repetitions come before the first look", MIN_REPETITIONS, MAX_REPETITIONS),
    ]
    """the repetitions of each case before the first look; later looks are at twice as many each"""
    most: Annotated[
        int, count("the most repetitions", MIN_REPETITIONS, MAX_REPETITIONS), called("max")
    ]
    """the most repetitions of each case"""
    time_budget_s: (
        Annotated[
            float,
            duration("a time, such as 3 min"),
            called("time_budget", before="within", file="study"),
        ]
        | None
    ) = None
    """about how long all runs together may take; the first repetitions are made all the same.
    Without it: any time"""

    @staticmethod
    def contradictions(values: dict[str, Any], _: Collection[str]) -> Iterator[Mistake]:
        """Refuse a `first` above `max`."""
        first, most = values.get("first"), values.get("most")
        if first is not None and most is not None and first > most:
            yield ("first",), f"{shown(first)} is more than max, {shown(most)}"


def looks_of(first: int, most: int) -> list[int]:
    """Return after how many repetitions results are looked at, the last time after `most`."""
    looks = []
    while first < most:
        looks.append(first)
        first *= 2
    return [*looks, most]


@dataclass(frozen=True)
class Race:
    """The rule of `pinstudy advise`: the slower half of the cases ends, round by round.

    The case that is left is confirmed against the reference, the study's first case. `of` is a word
    of RACE_OF, or the name of a metric of the app; `higher` means that more of it is better.
    Differences up to `margin`, a share, do not matter. All runs together take about
    `time_budget_s` at most, and are `runs` at most; None sets no limit of time, and few runs; ANY
    of `runs` leaves the limit to the time. `region` is the region whose time, energy or edp is
    meant; None for the whole run. `resumed_by` is the command that continues the search.
    """

    of: str = "time"
    higher: bool = False
    margin: float = 0.01
    time_budget_s: float | None = None
    runs: int | str | None = None
    region: str | None = None
    resumed_by: str = ""

    @property
    def timed(self) -> bool:
        """Whether time alone limits the race."""
        return self.runs == ANY

    @property
    def of_run_time(self) -> bool:
        """Whether a run that takes long is a bad one."""
        return self.of == "time" and self.region is None


@dataclass(frozen=True)
class Repetitions:
    """At most `most` runs of a case; `decide` may end them earlier."""

    most: int
    decide: Decide | None = None


@dataclass(frozen=True)
class UntilDecided:
    """Repetitions until comparisons are decided."""

    expected: ClassVar[str] = "a table with the key decide"

    decide: Decide
    """when results are looked at, and how long"""


def _repetitions(form: int | UntilDecided) -> Repetitions:
    if isinstance(form, UntilDecided):
        return Repetitions(form.decide.most, form.decide)
    return Repetitions(form)


# A number, or as many as decide.
REPETITIONS = written(
    Annotated[int, count("how often a case is run", 1, MAX_REPETITIONS)],
    UntilDecided,
    to=_repetitions,
)
