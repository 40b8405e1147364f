"""The columns of what programs print about themselves: each metric's mean, in its own unit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from pinstudy.analysis.format.numbers import five_digits, fixed
from pinstudy.analysis.format.table import Column
from pinstudy.analysis.records.metrics import Metric
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.metrics import in_units, metrics_of
from pinstudy.analysis.tables.layouts import Layout, Page, Written, mean_of, reasons_of
from pinstudy.base.text import one_line

# A table of more would be wider than a page; the CSV has all.
MAX_METRIC_COLUMNS = 4


def with_metrics(layout: Layout, cases: Sequence[Case]) -> Layout:
    """Return a layout with a column for each of the first metrics that programs print.

    A metric that is named like another column is marked as one, and rows whose units differ have
    them in their cells.
    """
    metrics = metrics_of(cases)
    taken = {column.name for column in layout.columns}
    columns = tuple(column_of_metric(metric, taken) for metric in metrics[:MAX_METRIC_COLUMNS])
    return replace(
        layout,
        numbers=(*layout.numbers, *columns),
        footnotes=(*layout.footnotes, partial(_of_metrics, metrics=metrics)),
    )


def column_of_metric(metric: Metric, taken: Collection[str] = ()) -> Written:
    """Return the column of a metric, marked as one where its name is `taken`."""
    title, unit = one_line(metric.name), one_line(metric.unit)
    title = f"metric {title}" if title in taken else title
    column = Column(
        title, unit, field=metric.field, key=metric.name, short=f"{title} {unit}".strip()
    )
    return column, partial(_metric, metric=metric)


def _metric(case: Case, page: Page, metric: Metric) -> str:
    stats = case.stat(metric.field)
    given = page.given(f"{metric.field}_mean", stats.mean_decimals)
    text = five_digits(stats.mean) if given is None else fixed(stats.mean, given)
    mine = [own.unit for own in case.metrics if own.name == metric.name]
    if len(metric.units) > 1 and mine:
        text = one_line(f"{text} {mine[0]}").rstrip()
    return mean_of(stats, text, reasons_of(case, metric.field), case, page)


def _of_metrics(_cases: Sequence[Case], metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield which metrics have no column, and which ones have no single unit."""
    if more := [one_line(metric.name) for metric in metrics[MAX_METRIC_COLUMNS:]]:
        yield one_line(f"the program prints more, which tables.csv has: {', '.join(more)}")
    for metric in metrics:
        if len(metric.units) > 1:
            yield one_line(
                f"rows have {metric.name} {in_units(metric)}: they are not compared by it"
            )
