"""What programs print about themselves: the metrics of records, of cases and of tables."""

from __future__ import annotations

from collections.abc import Iterable

from pinstudy.analysis.objectives import OBJECTIVES, Objective, of_printed
from pinstudy.analysis.records.metrics import Metric, merged
from pinstudy.analysis.results.case import Case
from pinstudy.base.text import one_line
from pinstudy.configs.values import HIGHER


def metrics_of(cases: Iterable[Case]) -> list[Metric]:
    """Return the metrics of a table's cases in the app's order."""
    return merged(metric for case in cases for metric in case.metrics)


def objective_of(metric: Metric) -> Objective:
    """Return a metric as what cases are compared by."""
    name, unit = one_line(metric.name), one_line(metric.unit)
    return of_printed(name, metric.field, unit, higher=metric.better == HIGHER)


def objectives_of(cases: Iterable[Case]) -> tuple[Objective, ...]:
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
