"""Loop schedules as OMP_SCHEDULE takes them: `dynamic`, `static,1`, `nonmonotonic:dynamic,4`.

Source: OpenMP 5.2, section 21.1.1 (OMP_SCHEDULE).
"""

from __future__ import annotations

import re

from marshmallow import ValidationError

from base.text import nearest, shown
from configs.schema.fields import Text

KINDS = ("static", "dynamic", "guided", "auto")

_SCHEDULE = re.compile(r"(?:(?:non)?monotonic:)?([a-z]+)(?:,[1-9]\d{0,8})?", re.ASCII)


def kind_of(schedule: str) -> str:
    """Return the kind of a schedule: `dynamic` for `nonmonotonic:dynamic,4`."""
    match = _SCHEDULE.fullmatch(schedule)
    return match[1] if match else schedule


class Schedule(Text):
    """A schedule's kind, with an optional modifier before and chunk size after it."""

    def __init__(self, *, required: bool = False) -> None:
        expected = f"a schedule ({', '.join(KINDS)}; with a chunk: 'static,1')"
        super().__init__(expected, required=required)

    def _convert(self, value: object) -> str:
        text = super()._convert(value)
        if kind_of(text) in KINDS and _SCHEDULE.fullmatch(text):
            return text
        if text.isdecimal():
            raise ValidationError(
                f"{shown(text)} is not a schedule; put one with a chunk in quotes: 'static,{text}'"
            )
        near = nearest(kind_of(text), KINDS)
        guess = f"; did you mean {near!r}?" if near and near != text else ""
        raise ValidationError(f"{shown(text)} is not {self.expected}{guess}")
