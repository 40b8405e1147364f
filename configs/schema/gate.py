"""What a study's temperature gate looks like in YAML: `{within: 5 K, limit: 2 min}`."""

from __future__ import annotations

import re
from typing import Any

from marshmallow import ValidationError, post_load

from base.text import shown
from configs.model import TemperatureGate
from configs.schema.decode import Strict
from configs.schema.fields import Duration, ValueField

# Room temperature to the boiling of a processor: a wider gate would stop nothing.
MAX_WITHIN_K = 80.0

# Digits are bounded so that no number overflows to infinity or takes long to convert.
_KELVIN = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)\s*(K|°C)", re.ASCII)


class TemperatureDifference(ValueField):
    """A difference of temperatures with its unit, as kelvins; `°C` is the same here."""

    def _convert(self, value: object) -> float:
        match = _KELVIN.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            raise self.refuse(value)
        kelvins = float(match[1])
        if not 0 < kelvins <= MAX_WITHIN_K:
            raise ValidationError(f"{shown(value)} is not more than 0 K and at most 80 K")
        return kelvins


class TemperatureGateSchema(Strict):
    """How cool the packages must be before each run."""

    within = TemperatureDifference("a difference of temperatures, such as 5 K", required=True)
    limit = Duration("the longest wait before a run, such as 2 min", required=True)

    @post_load
    def _build(self, data: dict[str, Any], **_: object) -> TemperatureGate:
        return TemperatureGate(data["within"], data["limit"])
