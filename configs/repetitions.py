"""How often a study's cases are run.

`10`, `{min: 5, max: 50, until: {ci_half_width: 1%}}`, `{decide: {first: 5, max: 80}}` or
`{race: {of: time, time_budget: 30 min}}`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from base.text import shown
from configs.decoding import Mistake, called, written
from configs.values import DIRECTIONS, HIGHER, RegionName, count, duration, label, percentage, word

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
# The measures that a study can ask a precision of, and their fields in a record.
PRECISION_OF = {"time": "elapsed_s", "energy": "energy_pkg_j"}
# What cases can race for, besides a metric of their app.
RACE_OF = {
    "time": "the time that a run takes",
    "energy": "the energy of the packages during a run",
    "edp": "the energy-delay product, energy times time",
}


@dataclass(frozen=True)
class Precision:
    """A case is repeated until the 95 % confidence intervals of its means are this narrow.

    `half_width` is a share of the mean, `least` the fewest repetitions, `of` words of PRECISION_OF.
    """

    least: int
    half_width: float
    of: tuple[str, ...] = ("time",)


def _above_max(name: str, fewest: int | None, most: int | None) -> Iterator[Mistake]:
    """Yield the mistake of a number, under the key `name`, that is above `max`."""
    if fewest is not None and most is not None and fewest > most:
        yield (name,), f"{shown(fewest)} is more than max, {shown(most)}"


@dataclass(frozen=True)
class Decide:
    """Cases are repeated until every comparison of times is decided, or no time is left.

    Results are looked at when each case has `first` repetitions, and whenever their number has
    doubled since.
    """

    expected: ClassVar = "a table with the keys first, max, time_budget"

    first: Annotated[
        int,
        count("how many repetitions come before the first look", MIN_REPETITIONS, MAX_REPETITIONS),
    ]
    """the repetitions of each case before the first look; later looks are at twice as many each"""
    most: Annotated[
        int, count("the most repetitions", MIN_REPETITIONS, MAX_REPETITIONS), called("max")
    ]
    """the most repetitions of each case"""
    within_s: (
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
        return _above_max("first", values.get("first"), values.get("most"))


def looks_of(first: int, most: int) -> list[int]:
    """Return after how many repetitions results are looked at, the last time after `most`."""
    looks = []
    while first < most:
        looks.append(first)
        first *= 2
    return [*looks, most]


def _is_higher(direction: str) -> bool:
    return direction == HIGHER


@dataclass(frozen=True)
class Race:
    """Reliably worse cases are eliminated early; the best one is confirmed against the reference.

    The reference is the study's first case. `of` is a word of RACE_OF, or the name of a metric of
    the app; `higher` means that more of it is better. `margin` is a share.
    """

    expected: ClassVar = "a table with the keys of, better, margin, time_budget, runs"

    of: Annotated[str, label("time, energy, edp or the name of a metric")] = "time"
    """what cases race for: `time`, `energy` (of the packages), `edp` (energy times time), or the
    name of a metric of the app"""
    higher: Annotated[
        bool,
        written(word("direction", DIRECTIONS), to=_is_higher),
        called("better"),
    ] = False
    """`lower` or `higher`; `higher` only for a metric. Without it: `lower`"""
    margin: Annotated[float, percentage("a percentage, such as 1%")] = 0.01
    """differences up to this one do not matter, more than 0 % and less than 100 %.
    Without it: 1 %"""
    within_s: (
        Annotated[
            float,
            duration("a time, such as 30 min"),
            called("time_budget", before="within", file="study"),
        ]
        | None
    ) = None
    """about how long all runs together may take; more time alone makes no more `runs`. Without it:
    any time"""
    runs: Annotated[
        int | str | None,
        written(
            Annotated[int, count("how many runs at most", MIN_RACE_RUNS, MAX_RACE_RUNS)],
            word("word", (ANY,)),
        ),
    ] = None
    """how many runs may be made, 10 or more, warm-up runs not counted; `any`: as many as
    `time_budget` allows. Without it: a third of 10 repetitions of every case, at least 30, and 100
    more; of short programs as many as take 10 s"""
    region: RegionName | None = None
    """the region whose time, energy or edp they race for; all entries of `apps` measure it. Without
    it: the whole run"""

    @staticmethod
    def contradictions(values: dict[str, Any], _: Collection[str]) -> Iterator[Mistake]:
        """Refuse a race without any limit."""
        if values.get("runs") == ANY and values.get("within_s") is None:
            yield ("runs",), f"{ANY!r} needs time_budget, which then limits the race alone"

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
    """At most `most` runs of a case; `precision`, `decide` or `race` may end them earlier."""

    most: int
    precision: Precision | None = None
    decide: Decide | None = None
    race: Race | None = None


@dataclass(frozen=True)
class Until:
    """What ends the repetitions of a case."""

    expected: ClassVar = "a table with the key ci_half_width"

    ci_half_width: Annotated[float, percentage("a percentage of the mean, such as 1%")]
    """half the width of the 95 % confidence interval of the mean, as a percentage of it"""
    of: tuple[Annotated[str, word("measure", PRECISION_OF)], ...] = ("time",)
    """what is to be known"""


@dataclass(frozen=True)
class UntilPrecise:
    """Repetitions until a precision is reached."""

    expected: ClassVar = "a table with the keys min, max and until"

    min: Annotated[int, count("the fewest repetitions", MIN_REPETITIONS, MAX_REPETITIONS)]
    max: Annotated[int, count("the most repetitions", MIN_REPETITIONS, MAX_REPETITIONS)]
    until: Until
    """what ends them"""

    @staticmethod
    def contradictions(values: dict[str, Any], _: Collection[str]) -> Iterator[Mistake]:
        """Refuse a `min` above `max`."""
        return _above_max("min", values.get("min"), values.get("max"))


@dataclass(frozen=True)
class UntilDecided:
    """Repetitions until comparisons are decided."""

    expected: ClassVar = "a table with the key decide"

    decide: Decide
    """when results are looked at, and how long"""


@dataclass(frozen=True)
class Racing:
    """Repetitions that a race decides."""

    expected: ClassVar = "a table with the key race"

    race: Race
    """what cases race for, and how far"""


def _repetitions(form: int | Racing | UntilDecided | UntilPrecise) -> Repetitions:
    """Return the repetitions of any of the four forms."""
    if isinstance(form, Racing):
        return Repetitions(MAX_REPETITIONS, race=form.race)
    if isinstance(form, UntilDecided):
        return Repetitions(form.decide.most, decide=form.decide)
    if isinstance(form, UntilPrecise):
        measures = tuple(word for word in PRECISION_OF if word in form.until.of)
        return Repetitions(form.max, Precision(form.min, form.until.ci_half_width, measures))
    return Repetitions(form)


# A number, a range and what ends it, or as the results decide.
REPETITIONS = written(
    Annotated[int, count("how often a case is run", 1, MAX_REPETITIONS)],
    Racing,
    UntilDecided,
    UntilPrecise,
    to=_repetitions,
)
