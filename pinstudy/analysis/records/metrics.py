"""What programs print about themselves, as records describe it: the name, unit and direction."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from pinstudy.configs.values import DIRECTIONS

# The column of a metric in the frame, and of its statistics and facts in files of means.
METRIC = "metric_{}"
OF_METRIC = ("mean", "sd", "n", "unit", "better")
# No study of pinstudy's own has as many.
MAX_METRICS = 32
# The unit of a metric that has none.
PLAIN = "1"
# The frame's column of what a record says of its metrics.
METRICS = "metrics"
# The name in `unavailable` of a record.
METRIC_REASON = "metrics.{}"
# Longer names and units are none that a table could show.
MAX_NAME = 200
MAX_UNIT = 40


class Metric(NamedTuple):
    """A number that a program prints about itself, as its app describes it.

    `units` has one unit, or the several that runs have it in; an empty one is not known, `1` is
    that of a plain number. `better` is `lower` or `higher`, None for what is not compared.
    """

    name: str
    units: tuple[str, ...] = ("",)
    better: str | None = None

    @property
    def field(self) -> str:
        """Its name among the measures of a case, and the column of a frame."""
        return METRIC.format(self.name)

    @property
    def unit(self) -> str:
        """The unit to show; empty for a plain number, and where there is no single one."""
        return self.units[0] if len(self.units) == 1 and self.units[0] != PLAIN else ""


def metrics_of_record(
    units: dict[str, str] | None, better: dict[str, str] | None
) -> tuple[Metric, ...] | None:
    """Return the metrics that a record describes; None where it says nothing.

    Runs of an app share them, so that a frame keeps them once. What is no name or no unit is left
    out.
    """
    return _metrics(_texts(units), _texts(better or {})) if units is not None else None


def _texts(table: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, text if len(text) <= MAX_UNIT else "")
        for name, text in islice(table.items(), MAX_METRICS)
        if len(name) <= MAX_NAME
    )


# All runs have the metrics of a few apps.
@lru_cache(maxsize=256)
def _metrics(
    units: tuple[tuple[str, str], ...], better: tuple[tuple[str, str], ...]
) -> tuple[Metric, ...] | None:
    directions = {name: word for name, word in better if word in DIRECTIONS}
    found = [
        Metric(name, (unit.strip() if unit.isprintable() else "",), directions.get(name))
        for name, unit in units
        if name.isprintable()
    ]
    return tuple(found) or None


def merged(metrics: Iterable[Metric]) -> list[Metric]:
    """Return each metric once, with all units that it is in.

    What is better of it may have been said later, and then is meant for all its runs; it is nothing
    where both have been said.
    """
    units: dict[str, dict[str, None]] = {}
    directions: dict[str, set[str]] = {}
    for metric in metrics:
        units.setdefault(metric.name, {}).update(dict.fromkeys(metric.units))
        directions.setdefault(metric.name, set()).update(filter(None, (metric.better,)))
    return [
        Metric(
            name, tuple(names), next(iter(directions[name])) if len(directions[name]) == 1 else None
        )
        for name, names in units.items()
    ]


def metric_column(name: str, word: str) -> str:
    """Return the column of one of OF_METRIC in files of means: `metric_rate_mean`."""
    return f"{METRIC.format(name)}_{word}"
