"""A history as tables: its change points, its results, and the series; and as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pinstudy.analysis.compare.history import Change, Entry, ResultsHistory, Series, labels_in
from pinstudy.analysis.format.numbers import NOTHING, decimals_left, fixed, signed, signed_percents
from pinstudy.analysis.format.table import Column, Notes, Table
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.statistics.sample import Sample, named_ends
from pinstudy.analysis.words import experiments as words
from pinstudy.analysis.words.verdict import objective_decimals, p_value
from pinstudy.base.text import one_line, plural

_CHANGES = (
    Column("case", right=False),
    Column("by", right=False),
    Column("from #"),
    Column("before"),
    Column("after"),
    Column("change", "%"),
    Column("95 % interval", "%"),
    Column("p"),
    Column("outcome", right=False),
    Column("changed there", right=False),
)
_RESULTS = (
    Column("#"),
    Column("first run (UTC)", right=False),
    Column("runs"),
    Column("results", right=False),
    Column("changed from the one before", right=False),
)


def history_tables(history: ResultsHistory) -> list[Table]:
    """Return the change points, then the results, then the series, a table of the study each."""
    return [
        _change_table(history),
        _result_table(history),
        *(
            _series_table(history, series)
            for series in grouped(history.series, lambda line: (line.title, line.objective))
        ),
    ]


def _change_table(history: ResultsHistory) -> Table:
    notes = Notes()
    found = [(line, change) for line in history.series for change in line.changes]
    # All changes of one place first: what happened there is read together.
    found.sort(key=lambda pair: pair[1].after)
    cells = tuple(
        _change_cells(line, change, " ".join(map(notes.marker, _facts(change.facts))))
        for line, change in found
    )
    of_all = tuple(("", note) for note in words.FALSE_ALARMS)
    caption = one_line(f"Change points of {history.study} on {history.node}", None)
    if not found:
        counts = plural(len(history.series), "case"), plural(len(history.entries), "result")
        none = words.NO_CHANGE_POINT.format(cases=counts[0], results=counts[1])
        return Table(caption, (Column("outcome", right=False),), ((none,),), of_all)
    return Table(caption, _CHANGES, cells, (*notes.listed(), *of_all))


def _facts(facts: Sequence[str]) -> Sequence[str]:
    return facts or (words.NOTHING_CHANGED,)


def _change_cells(line: Series, change: Change, markers: str) -> tuple[str, ...]:
    values = [value for _, _, value in line.levels]
    at = [other.point.position for other in line.changes].index(change.point.position)
    decimals = objective_decimals(line.objective, values)
    unit = f" {line.objective.unit}" if line.objective.unit else ""
    ratio, interval = change.point.difference.ratio, change.point.interval
    shown, (low, high) = signed_percents(ratio - 1, interval.low - 1, interval.high - 1)
    return (
        line.name,
        line.objective.short,
        str(change.after + 1),
        *(f"{fixed(value, decimals)}{unit}" for value in values[at : at + 2]),
        shown,
        f"{low} to {high}",
        p_value(change.point.p),
        change.outcome,
        markers,
    )


def _result_table(history: ResultsHistory) -> Table:
    cells = tuple(
        (
            str(at + 1),
            f"{entry.started:%Y-%m-%d %H:%M}",
            str(entry.runs),
            one_line(entry.results.name, None),
            "; ".join(history.changed_before(at)) or NOTHING,
        )
        for at, entry in enumerate(history.entries)
    )
    return Table("Results", _RESULTS, cells)


def _series_table(history: ResultsHistory, series: Sequence[Series]) -> Table:
    """Return a row a result, a column a case."""
    first = series[0]
    decimals = objective_decimals(
        first.objective, (sample.median for line in series for sample in line.samples)
    )
    notes = Notes()
    labels = labels_in(series)
    cells = tuple(
        (str(at + 1), day, *(_cell(line, at, decimals, notes) for line in series))
        for at, day in enumerate(history.days)
    )
    return Table(
        f"{first.title}: {first.objective.noun}, median"
        + (f" in {first.objective.unit}" if first.objective.unit else ""),
        (Column("#"), Column("day", right=False), *map(Column, labels)),
        cells,
        (*notes.listed(), ("", words.SERIES_CELLS)),
        tuple(row for line in series for row in _points(history.entries, line)),
    )


def _cell(line: Series, at: int, decimals: int, notes: Notes) -> str:
    if at not in line.at:
        return f"{NOTHING} ({notes.marker(line.absent[at])})"
    sample = line.samples[line.at.index(at)]
    text = fixed(sample.median, decimals)
    if (interval := sample.median_interval) and interval.half_width > 0:
        share = 100 / sample.median
        more = decimals_left(share * interval.half_width)
        down = fixed(share * (sample.median - interval.low), more)
        up = fixed(share * (interval.high - sample.median), more)
        text += f" ±{up}" if up == down else f" -{down}…+{up}"
    return text + ("*" if at in [change.after for change in line.changes] else " ")


def history_data(history: ResultsHistory) -> dict[str, Any]:
    """Return the history by names, unrounded; changes are ratios, what is not there is None."""
    return {
        "study": history.study,
        "node": history.node,
        "results": [
            {
                "results": entry.results.name,
                "started_at": entry.started.isoformat(),
                "runs": entry.runs,
                "changed": list(history.changed_before(at)),
            }
            for at, entry in enumerate(history.entries)
        ],
        "cases": [
            {
                "case": line.name,
                "case_id": line.case_id,
                "objective": line.objective.short,
                "unit": line.objective.unit,
                "points": list(_points(history.entries, line)),
                "absent": {
                    history.entries[at].results.name: why for at, why in line.absent.items()
                },
                "change_points": [_change_data(history.entries, change) for change in line.changes],
            }
            for line in history.series
        ],
    }


def _points(entries: Sequence[Entry], line: Series) -> Iterable[Mapping[str, object]]:
    for level, (first, last, value) in enumerate(line.levels, 1):
        for at, sample in zip(line.at[first:last], line.samples[first:last], strict=True):
            yield {
                "results": entries[at].results.name,
                "started_at": entries[at].started.isoformat(),
                "case": line.name,
                "case_id": line.case_id,
                "objective": line.objective.short,
                "unit": line.objective.unit,
                **_sample_data(sample),
                "level_number": level,
                "level": value,
            }


def _sample_data(sample: Sample) -> dict[str, object]:
    return {
        "n": sample.n,
        "median": sample.median,
        **named_ends("median", sample.median_interval),
        "mean": sample.mean,
        **named_ends("mean", sample.mean_interval),
        "typical": None if math.isnan(sample.typical) else sample.typical,
    }


def _change_data(entries: Sequence[Entry], change: Change) -> dict[str, object]:
    return {
        "before": entries[change.before].results.name,
        "after": entries[change.after].results.name,
        "ratio": change.point.difference.ratio,
        **named_ends("ratio", change.point.interval),
        "p": change.point.p,
        "outcome": change.outcome,
        "changed": list(change.facts),
    }


def changed_lines(history: ResultsHistory) -> list[str]:
    """Return a line a change: `lulesh x8 #2 pcores-pin: +3.1 % from 2026-02-02 (kernel: …)`."""
    return [
        words.CHANGE_LINE.format(
            case=line.name,
            change=signed(100 * (change.point.difference.ratio - 1), 1),
            day=history.days[change.after],
            facts="; ".join(_facts(change.facts)),
        )
        for line in history.series
        for change in line.changes
    ]
