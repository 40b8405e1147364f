"""What a study's idle baseline looks like in YAML: `10 s`, or `{duration: 10 s, every: 50}`."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, post_load

from base.text import shown
from configs.model import Baseline
from configs.schema.containers import Reference, Section
from configs.schema.decode import Strict
from configs.schema.fields import Count, Duration

# RAPL's counters are renewed about once a millisecond: below this the edges are more than 1%.
LEAST_S = 0.1
# The node idles meanwhile: a longer one is a slip of the pen.
MOST_S = 600.0


class _IdleTime(Duration):
    """How long the node is left idle, as seconds."""

    def _convert(self, value: object) -> float:
        seconds = super()._convert(value)
        if not LEAST_S <= seconds <= MOST_S:
            raise ValidationError(f"{shown(value)} is not from 100 ms to 10 min")
        return seconds


class BaselineSchema(Strict):
    """A baseline that is repeated."""

    duration = _IdleTime("how long the node is left idle, such as 10 s", required=True)
    every = Count("after how many runs it is repeated", 1, 100000)

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> Baseline:
        return Baseline(data["duration"], data.get("every"))


class BaselineField(Reference):
    """A baseline, by its duration alone or with all its keys."""

    def __init__(self) -> None:
        super().__init__(
            _IdleTime("a duration such as 10 s"),
            Section(BaselineSchema, "a baseline with the keys duration and every"),
        )

    def _convert(self, value: object) -> object:
        found = super()._convert(value)
        return Baseline(found) if isinstance(found, float) else found
