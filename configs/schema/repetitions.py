"""How often a study's cases are run.

`10`, or `{min: 5, max: 50, until: {ci_half_width: 1%}}`, or `{race: {of: time, within: 30 min}}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marshmallow import ValidationError, post_load, validates_schema

from base.text import shown
from base.units import parse_share
from configs.model import PRECISION_OF, Precision, Race
from configs.schema.containers import OneOrMore, Reference, Section
from configs.schema.decode import Strict
from configs.schema.fields import Count, Duration, Name, ValueField, Word

# Two runs have one degree of freedom: their interval is 13 standard errors wide to each side or,
# when two times happen to agree, nothing, and neither says much of the case.
LEAST_REPETITIONS = 3
MOST_REPETITIONS = 10000
# One of the reference before all, and two cases that are tried against each other by the fewest
# runs that tell anything.
LEAST_RACE_RUNS = 10
MOST_RACE_RUNS = 1_000_000
BETTER = ("lower", "higher")


@dataclass(frozen=True)
class Repetitions:
    """At most so many runs of a case; `precision` or `race` say what may end it earlier."""

    most: int
    precision: Precision | None = None
    race: Race | None = None


class Percentage(ValueField):
    """A percentage between nothing and all, as a share: `1%` is 0.01."""

    def _convert(self, value: object) -> float:
        try:
            share = parse_share(value)
        except ValueError as error:
            raise ValidationError(str(error)) from None
        if share is None:
            raise self.refuse(value)
        return share


class UntilSchema(Strict):
    """What ends the repetitions of a case."""

    ci_half_width = Percentage("a percentage of the mean, such as 1%", required=True)
    of = OneOrMore(Word("measure", PRECISION_OF))


class RepetitionsSchema(Strict):
    """Repetitions until a precision is reached."""

    min = Count("the fewest repetitions", LEAST_REPETITIONS, MOST_REPETITIONS, required=True)
    max = Count("the most repetitions", LEAST_REPETITIONS, MOST_REPETITIONS, required=True)
    until = Section(UntilSchema, "a table with the key ci_half_width", required=True)

    @validates_schema(skip_on_field_errors=False)
    def _refuse_more_than_max(self, data: dict[str, Any], **_: object) -> None:
        least, most = data.get("min"), data.get("max")
        if least is not None and most is not None and least > most:
            raise ValidationError({"min": [f"{shown(least)} is more than max, {shown(most)}"]})

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> Repetitions:
        until = data["until"]
        asked = until.get("of", ("time",))
        measures = tuple(word for word in PRECISION_OF if word in asked)
        return Repetitions(data["max"], Precision(data["min"], until["ci_half_width"], measures))


class RaceSchema(Strict):
    """What cases race for, and how far."""

    of = Name("time, energy, edp or the name of a metric")
    better = Word("direction", BETTER)
    margin = Percentage("a percentage, such as 1%")
    within = Duration("a time, such as 30 min")
    runs = Count("how many runs at most", LEAST_RACE_RUNS, MOST_RACE_RUNS)

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> Race:
        return Race(
            of=data.get("of", Race.of),
            higher=data.get("better") == "higher",
            margin=data.get("margin", Race.margin),
            within_s=data.get("within"),
            runs=data.get("runs"),
        )


class RacingSchema(Strict):
    """Repetitions that a race decides."""

    race = Section(RaceSchema, "a table with the keys of, better, margin, within, runs")

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> Repetitions:
        return Repetitions(MOST_REPETITIONS, race=data["race"])


class RepetitionsField(Reference):
    """How often a case is run: a number, a range and what ends it, or as a race decides."""

    def __init__(self) -> None:
        super().__init__(
            Count("how often a case is run", 1, MOST_REPETITIONS),
            Section(RepetitionsSchema, "a table with the keys min, max and until"),
            required=True,
        )
        self._racing = Section(RacingSchema, "a table with the key race")

    def _convert(self, value: object) -> object:
        if isinstance(value, dict) and "race" in value:
            return self._racing.deserialize(value)
        found = super()._convert(value)
        return Repetitions(found) if isinstance(found, int) else found
