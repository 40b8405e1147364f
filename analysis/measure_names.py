"""What a measure's mean and deviation are called in files: with the unit last."""

from __future__ import annotations

_UNITS = ("_s", "_j", "_js", "_js2", "_w", "_ghz", "_bytes")


def with_unit_last(measure: str, statistic: str) -> str:
    """Return `elapsed_sd_s` for the sd of `elapsed_s`, `freq_sd_ghz` for that of a mean's."""
    stem, _, unit = measure.rpartition("_") if measure.endswith(_UNITS) else (measure, "", "")
    return "_".join(filter(None, (stem.removesuffix("_mean"), statistic, unit)))
