"""What programs print about themselves: the metrics of records, of cases and of tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, islice

from analysis.objectives import OBJECTIVES, Objective, of_printed
from analysis.results.case_summary import MAX_METRICS, CaseSummary, Metric
from base.text import one_line
from configs.values import DIRECTIONS, HIGHER

# The column of `facts_text`.
METRIC_FACTS = "facts_of_metrics"
# The name in `unavailable` of a record.
METRIC_REASON = "metrics.{}"
# Longer names and units are none that a table could show.
MAX_NAME = 200
MAX_UNIT = 40


def facts_text(units: object, better: object) -> str | None:
    """Return what a record says of its metrics as one text; None where it says nothing.

    Runs of an app share this text, so that a frame keeps it once. What is no name or no unit is
    left out.
    """
    if not isinstance(units, dict):
        return None
    return _text_of(_texts(units), _texts(better) if isinstance(better, dict) else ())


def _texts(table: dict[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the first names of a table with their texts; an empty one for what is no unit."""
    return tuple(
        (name, of if isinstance(of, str) and len(of) <= MAX_UNIT else "")
        for name, of in islice(table.items(), MAX_METRICS)
        if len(name) <= MAX_NAME
    )


# A million runs have the metrics of a few apps.
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
    return _merged(Metric(name, (unit,), better) for name, unit, better in facts)


def metrics_of(cases: Iterable[CaseSummary]) -> list[Metric]:
    """Return the metrics of a table's cases in the app's order."""
    return _merged(metric for case in cases for metric in case.metrics)


def _merged(metrics: Iterable[Metric]) -> list[Metric]:
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


def objective_of(metric: Metric) -> Objective:
    """Return a metric as what cases are compared by."""
    name, unit = one_line(metric.name), one_line(metric.unit)
    return of_printed(name, metric.field, unit, higher=metric.better == HIGHER)


def objectives_of(cases: Iterable[CaseSummary]) -> tuple[Objective, ...]:
    """Return what the cases of a table are compared by: that of every program, then its own.

    These are the metrics of which the app says what is better, if all rows have one unit.
    """
    asked = [metric for metric in metrics_of(cases) if metric.better and len(metric.units) == 1]
    return (*OBJECTIVES, *map(objective_of, asked))


def why_not_averaged(metric: Metric) -> list[str]:
    """Return why a case has no mean of a metric: its runs have it in several units."""
    if len(metric.units) < 2:
        return []
    return [f"runs have it {in_units(metric)}, and numbers of several units have no mean"]


def in_units(metric: Metric) -> str:
    """Return the units of a metric in words: `in MB/s and in GB/s`."""
    return " and ".join(f"in {unit or 'an unknown unit'}" for unit in metric.units)
