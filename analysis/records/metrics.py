"""What programs print about themselves, as records describe it: the name, unit and direction."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from analysis.records.fields import MAX_METRICS, METRIC, PLAIN
from configs.values import DIRECTIONS

# The column of `facts_text`.
METRIC_FACTS = "facts_of_metrics"
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


def facts_text(units: dict[str, str] | None, better: dict[str, str] | None) -> str | None:
    """Return what a record says of its metrics as one text; None where it says nothing.

    Runs of an app share this text, so that a frame keeps it once. What is no name or no unit is
    left out.
    """
    return _text_of(_texts(units), _texts(better or {})) if units is not None else None


def _texts(table: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the first names of a table with their texts; an empty one for what is no unit."""
    return tuple(
        (name, text if len(text) <= MAX_UNIT else "")
        for name, text in islice(table.items(), MAX_METRICS)
        if len(name) <= MAX_NAME
    )


# All runs have the metrics of a few apps.
@lru_cache(maxsize=256)
def _text_of(units: tuple[tuple[str, str], ...], better: tuple[tuple[str, str], ...]) -> str | None:
    directions = {name: word for name, word in better if word in DIRECTIONS}
    facts = [
        (name, unit.strip() if unit.isprintable() else "", directions.get(name))
        for name, unit in units
        if name.isprintable()
    ]
    return json.dumps(facts) if facts else None


def metrics_in(texts: Iterable[str]) -> list[Metric]:
    """Return the metrics of a case from the texts of `facts_text` that its runs have."""
    facts = chain.from_iterable(json.loads(text) for text in texts)
    return merged(Metric(name, (unit,), better) for name, unit, better in facts)


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
            name, tuple(of), next(iter(directions[name])) if len(directions[name]) == 1 else None
        )
        for name, of in units.items()
    ]
