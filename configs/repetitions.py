"""How often a study's cases are run.

`10`, `{min: 5, max: 50, until: {ci_half_width: 1%}}`, `{decide: {first: 5, max: 80}}` or
`{race: {of: time, within: 30 min}}`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from base.structure import As, Called, Either, Mistake, OneOrMore, Table, Without
from base.text import shown
from configs.values import DIRECTIONS, Count, Duration, Name, Percentage, Word

# Two runs have one degree of freedom: their interval is 13 standard errors wide to each side, or
# empty when both times happen to agree, and neither says much about the case.
MIN_REPETITIONS = 3
MAX_REPETITIONS = 10000
# Some runs of the first cases. To decide takes a first run of two, and ten fresh ones of each.
MIN_RACE_RUNS = 10
MAX_RACE_RUNS = 1_000_000
# By default a race may make a third of the runs of a study that repeats every case so often.
RACE_REPETITIONS = 10
# The value of `runs` where `within` alone limits a race.
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


class RunsKind(Either):
    """A number of runs, or the word for as many as the time allows."""

    def __init__(self) -> None:
        most = Count("how many runs at most", MIN_RACE_RUNS, MAX_RACE_RUNS)
        super().__init__(most, Word("word", (ANY,)))

    def decode(self, value: Any) -> Any:  # noqa: ANN401
        """Return the number, or ANY."""
        return ANY if value == ANY else self.short.decode(value)


@dataclass(frozen=True)
class Decide:
    """Cases are repeated until every comparison of times is decided, or no time is left.

    Results are looked at when each case has `first` repetitions, and whenever their number has
    doubled since.
    """

    first: Annotated[
        int,
        Count("how many repetitions come before the first look", MIN_REPETITIONS, MAX_REPETITIONS),
        "the repetitions of each case before the first look; later looks are at twice as many each",
    ]
    most: Annotated[
        int,
        Called("max"),
        Count("the most repetitions", MIN_REPETITIONS, MAX_REPETITIONS),
        "the most repetitions of each case",
    ]
    within_s: Annotated[
        float | None,
        Called("within"),
        Duration("a time, such as 3 min"),
        "about how long all runs together may take; the first repetitions are made all the same",
        Without("any time"),
    ] = None

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


@dataclass(frozen=True)
class Race:
    """Reliably worse cases are eliminated early; the best one is confirmed against the reference.

    The reference is the study's first case. `of` is a word of RACE_OF, or the name of a metric of
    the app; `higher` means that more of it is better. `margin` is a share.
    """

    of: Annotated[
        str,
        Name("time, energy, edp or the name of a metric"),
        "what cases race for: `time`, `energy` (of the packages), `edp` (energy times time), or "
        "the name of a metric of the app",
    ] = "time"
    higher: Annotated[
        bool,
        Called("better"),
        As(Word("direction", DIRECTIONS), lambda word: word == "higher"),
        "`lower` or `higher`; `higher` only for a metric",
        Without("`lower`"),
    ] = False
    margin: Annotated[
        float,
        Percentage("a percentage, such as 1%"),
        "differences up to this one do not matter, more than 0 % and less than 100 %",
        Without("1 %"),
    ] = 0.01
    within_s: Annotated[
        float | None,
        Called("within"),
        Duration("a time, such as 30 min"),
        "about how long all runs together may take; more time alone makes no more `runs`",
        Without("any time"),
    ] = None
    runs: Annotated[
        int | str | None,
        RunsKind(),
        f"how many runs may be made, {MIN_RACE_RUNS} or more, warm-up runs not counted; `{ANY}`: "
        "as many as `within` allows",
        Without(
            f"a third of {RACE_REPETITIONS} repetitions of every case, at least 30, and 100 more; "
            "of short programs as many as take 10 s"
        ),
    ] = None
    region: Annotated[
        str | None,
        Name("the name of a region"),
        "the region whose time, energy or edp they race for; all entries of `apps` measure it",
        Without("the whole run"),
    ] = None

    @staticmethod
    def contradictions(values: dict[str, Any], _: Collection[str]) -> Iterator[Mistake]:
        """Refuse a race without any limit."""
        if values.get("runs") == ANY and values.get("within_s") is None:
            yield ("runs",), f"{ANY!r} needs within, which then limits the race alone"

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

    ci_half_width: Annotated[
        float,
        Percentage("a percentage of the mean, such as 1%"),
        "half the width of the 95 % confidence interval of the mean, as a percentage of it",
    ]
    of: Annotated[
        tuple[str, ...], OneOrMore(Word("measure", PRECISION_OF)), "what is to be known"
    ] = ("time",)


@dataclass(frozen=True)
class UntilPrecise:
    """Repetitions until a precision is reached."""

    min: Annotated[int, Count("the fewest repetitions", MIN_REPETITIONS, MAX_REPETITIONS)]
    max: Annotated[int, Count("the most repetitions", MIN_REPETITIONS, MAX_REPETITIONS)]
    until: Annotated[Until, Table(Until, "a table with the key ci_half_width"), "what ends them"]

    @staticmethod
    def contradictions(values: dict[str, Any], _: Collection[str]) -> Iterator[Mistake]:
        """Refuse a `min` above `max`."""
        return _above_max("min", values.get("min"), values.get("max"))


@dataclass(frozen=True)
class UntilDecided:
    """Repetitions until comparisons are decided."""

    decide: Annotated[
        Decide,
        Table(Decide, "a table with the keys first, max, within"),
        "when results are looked at, and how long",
    ]


@dataclass(frozen=True)
class Racing:
    """Repetitions that a race decides."""

    race: Annotated[
        Race,
        Table(Race, "a table with the keys of, better, margin, within, runs"),
        "what cases race for, and how far",
    ]


class RepetitionsKind(Either):
    """How often a case is run: a number, a range and what ends it, or as its results decide."""

    def __init__(self) -> None:
        super().__init__(
            As(Count("how often a case is run", 1, MAX_REPETITIONS), Repetitions),
            Table(UntilPrecise, "a table with the keys min, max and until"),
        )
        self.racing = Table(Racing, "a table with the key race")
        self.deciding = Table(UntilDecided, "a table with the key decide")

    def decode(self, value: Any) -> Repetitions:  # noqa: ANN401
        """Return the repetitions of any of the four forms."""
        if isinstance(value, dict) and "race" in value:
            return Repetitions(MAX_REPETITIONS, race=self.racing.decode(value).race)
        if isinstance(value, dict) and "decide" in value:
            decide = self.deciding.decode(value).decide
            return Repetitions(decide.most, decide=decide)
        rule = super().decode(value)
        if isinstance(rule, Repetitions):
            return rule
        measures = tuple(word for word in PRECISION_OF if word in rule.until.of)
        return Repetitions(rule.max, Precision(rule.min, rule.until.ci_half_width, measures))
