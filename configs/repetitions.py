"""How often a study's cases are run: `10`, or `{min: 5, max: 50, until: {ci_half_width: 1%}}`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marshmallow import ValidationError, post_load, validates_schema

from configs.containers import OneOrMore, Reference, Section
from configs.fields import Count, ValueField, Word
from configs.model import PRECISION_OF, Precision
from configs.schema import Strict
from configs.shares import parse_share
from configs.words import shown

# Two runs have one degree of freedom: their interval is 13 standard errors wide to each side or,
# when two times happen to agree, nothing, and neither says much of the case.
LEAST_REPETITIONS = 3
MOST_REPETITIONS = 10000


@dataclass(frozen=True)
class Repetitions:
    """At most so many runs of a case, or fewer, where `precision` is reached earlier."""

    most: int
    precision: Precision | None = None


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


class RepetitionsField(Reference):
    """How often a case is run: a number, or a range and what ends it."""

    def __init__(self) -> None:
        super().__init__(
            Count("how often a case is run", 1, MOST_REPETITIONS),
            Section(RepetitionsSchema, "a table with the keys min, max and until"),
            required=True,
        )

    def _convert(self, value: object) -> object:
        found = super()._convert(value)
        return Repetitions(found) if isinstance(found, int) else found
