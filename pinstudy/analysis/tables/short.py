"""The tables that fit: the publication's columns, and once what all rows have in common."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pinstudy.analysis.format.numbers import NOTHING, fixed, mean_count
from pinstudy.analysis.format.table import Column, Notes, column_width, joined
from pinstudy.analysis.measures import BY_NAME, NUMBERS, Measure
from pinstudy.analysis.results.case import Case, energy_measure, metrics_of
from pinstudy.analysis.results.summaries import UNKNOWN
from pinstudy.analysis.tables.layouts import (
    NOT_AVAILABLE,
    OTHER_NUMBERS,
    Page,
    TableLayout,
    Written,
    column_of_metric,
    mean_column,
    mean_of,
    reasons_of,
)
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line, unknown_word
from pinstudy.runners.records.energy import PACKAGE

# The numbers of the publication, by the names that people type.
_NUMBERS = ("time", "sd", "frequency", "migrations", "misses", "energy")
_OF_GUESTS = ("time", "sd", "frequency", "migrations", "vcpu_migrations", "misses", "energy")
_CO_RUNNER = (*_NUMBERS, "slowdown", "co_runner_time", "its_slowdown")
_STATISTICS_OF_TIME = tuple(name for name in NUMBERS if name not in ("mean", "sd"))
# What tells rows apart, by the names that people type.
_OF_ROWS = ("node", "mapping", "vcpu_mapping", "co_runner", "governor", "settings", "n", "lost")
# Never left out of a table: that of the row, and the time.
_ALWAYS = ("", "time")
# The wait policy that nobody has set.
_DEFAULT = "runtime-default"
# Beyond them the rest of a number is noise.
_DIGITS = 4
_MOST_DECIMALS = 2
# Longer counts have an exponent.
_LONGEST_COUNT = 10_000_000


def _names_of_columns(cases: Iterable[Case]) -> list[str]:
    measures = [name for name, measure in BY_NAME.items() if measure.statistics]
    names = [*measures, *OTHER_NUMBERS, *_STATISTICS_OF_TIME, *_OF_ROWS]
    return list(dict.fromkeys([*names, *(metric.name for metric in metrics_of(cases))]))


def checked_columns(names: Sequence[str], cases: Iterable[Case]) -> tuple[str, ...]:
    """Return names of columns without repetitions; raises UserError for one that is not known."""
    known = _names_of_columns(cases)
    for name in names:
        if name not in known:
            raise UserError(f"--columns: {unknown_word('column', name, known)}")
    return tuple(dict.fromkeys(names))


def with_numbers(layout: TableLayout, cases: Sequence[Case], chosen: Sequence[str]) -> TableLayout:
    """Return a layout with the chosen numbers; without a choice, the publication's and metrics."""
    names = [name for name in chosen if name not in _OF_ROWS]
    numbers = [written for name in names for written in _named(name, cases)]
    default = (written for name in _default(cases) for written in _named(name, cases))
    return replace(layout, numbers=tuple(numbers or default))


def _default(cases: Sequence[Case]) -> list[str]:
    if any(case.key.co_runner for case in cases):
        names: Sequence[str] = _CO_RUNNER
    else:
        names = _OF_GUESTS if any(case.key.in_guest for case in cases) else _NUMBERS
    return list(dict.fromkeys([*names, *(metric.name for metric in metrics_of(cases))]))


def _named(name: str, cases: Sequence[Case]) -> Iterator[Written]:
    if name in OTHER_NUMBERS:
        yield OTHER_NUMBERS[name]
    elif name == "time":
        yield mean_column("elapsed_s")
    elif name in _STATISTICS_OF_TIME:
        column = Column(name, "s", key=name, short=f"{name} s")
        yield column, partial(_time, statistic=name)
    elif name in BY_NAME:
        measure = BY_NAME[name]
        yield from _of_measure(
            energy_measure(cases) if measure.field == PACKAGE else measure, cases
        )
    else:
        yield from map(
            column_of_metric, (metric for metric in metrics_of(cases) if metric.name == name)
        )


def _time(case: Case, page: Page, statistic: str) -> str:
    value = case.time.statistic(statistic)
    return NOT_AVAILABLE if math.isnan(value) else fixed(value, page.decimals)


def _of_measure(measure: Measure, cases: Sequence[Case]) -> Iterator[Written]:
    has = {kind for case in cases for kind in case.by_kind(measure.field)}
    columns = {column: kind for column, kind in measure.columns.items() if kind in has}
    for column, kind in (columns or {measure.field: ""}).items():
        means = [case.stat(column).mean for case in cases]
        yield (
            _column(measure, kind),
            partial(_mean, measure=measure, column=column, decimals=_decimals(means, measure)),
        )


def _column(measure: Measure, kind: str) -> Column:
    words = measure.heading.format(kind) or f"{measure.name.replace('_', ' ')} {kind}".strip()
    short = measure.short.format(kind) or f"{words} {measure.unit}".strip()
    return Column(words, measure.unit, field=measure.field, key=measure.name, short=short)


def _decimals(means: Iterable[float], measure: Measure) -> int | None:
    """Return the decimals with which a column's largest mean has four digits.

    Of counts there are none, or None where they need an exponent.
    """
    largest = max((abs(mean) for mean in means if math.isfinite(mean)), default=0.0)
    if not (measure.unit or measure.share):
        return None if largest >= _LONGEST_COUNT else 0
    before = 1 + math.floor(math.log10(largest)) if largest else 1
    decimals = max(0, _DIGITS - before)
    return decimals if measure.decimals is None else min(decimals, _MOST_DECIMALS)


def _mean(case: Case, page: Page, measure: Measure, column: str, decimals: int | None) -> str:
    stats = case.stat(column)
    if decimals is None:
        text = f"{stats.mean:.{_DIGITS - 1}e}"
    elif measure.unit or measure.share:
        text = fixed(stats.mean, decimals)
    else:
        text = mean_count(stats.mean)
    return mean_of(stats, text, reasons_of(case, measure.field), case, page)


@dataclass(frozen=True)
class _Tried:
    """A column with its cells, and the notes on them."""

    written: Written
    cells: Sequence[str]
    notes: Sequence[str]

    @property
    def column(self) -> Column:
        return self.written[0]

    @property
    def is_shared(self) -> bool:
        """Whether all rows say the same, without a note."""
        if self.column.key == "sd":
            return False
        if self.column.key == "lost":
            return set(self.cells) <= {"0", NOT_AVAILABLE}
        several = len(self.cells) > 1 or self.column.key == "n"
        return several and len(set(self.cells)) == 1 and not self.notes

    @property
    def is_absent(self) -> bool:
        """Whether no row has a value."""
        return all(cell.startswith(NOT_AVAILABLE) for cell in self.cells)


def folded(
    layout: TableLayout,
    rows: Sequence[tuple[Case, Page]],
    chosen: Collection[str],
    off: Collection[str],
    width: int | None,
) -> tuple[TableLayout, list[str]]:
    """Return a layout without what need not be a column, and the lines that stand instead.

    These are values that all rows share, and measures that no row has. What is `chosen` stays, as
    do fields in `off`, whose heading says why. Columns without room in a `width` go, too.
    """
    made = [(case, page) for case, page in rows if not case.was_skipped]
    measured = [(case, page) for case, page in made if case.has_runs]
    head = [
        _tried(written, made if written[0].key in ("n", "lost") else rows)
        for written in layout.head
    ]
    numbers = [_tried(written, measured) for written in layout.numbers]
    may_go = [
        tried
        for tried in (*head, *numbers)
        if tried.column.key not in (*_ALWAYS, *chosen) and tried.column.field not in off
    ]
    absent = [tried for tried in may_go if tried in numbers and tried.is_absent]
    shared = [tried for tried in may_go if tried not in absent and tried.is_shared]
    left = [tried for tried in (*head, *numbers) if tried not in absent and tried not in shared]
    narrow = [] if width is None else _too_wide(left, numbers, may_go, width)
    kept = [tried.written for tried in left if tried not in narrow]
    return replace(
        layout,
        head=tuple(written for written in layout.head if written in kept),
        numbers=tuple(written for written in layout.numbers if written in kept),
    ), [*_shared_line(shared), *_absent_line(absent), *_narrow_line(narrow)]


def _tried(written: Written, rows: Sequence[tuple[Case, Page]]) -> _Tried:
    notes = Notes()
    _, write = written
    cells = [write(case, replace(page, notes=notes)) for case, page in rows]
    return _Tried(written, cells, [text for _, text in notes.listed()])


def _too_wide(
    columns: Sequence[_Tried], numbers: Sequence[_Tried], may_go: Sequence[_Tried], width: int
) -> list[_Tried]:
    """Return the numbers that a width has no room for: the last ones, the energy after others."""
    too_many = sum(column_width(tried.column, tried.cells) for tried in columns) - width
    candidates = [tried for tried in columns if tried in numbers and tried in may_go]
    candidates.sort(key=lambda tried: tried.column.key in ("sd", "energy"), reverse=True)
    gone: list[_Tried] = []
    while too_many > 0 and candidates:
        gone.append(candidates.pop())
        too_many -= column_width(gone[-1].column, gone[-1].cells)
    return gone[::-1]


def _shared_line(shared: Iterable[_Tried]) -> Iterator[str]:
    values = [
        f"{tried.column.name} {tried.cells[0]} {tried.column.unit}".strip()
        for tried in shared
        if tried.column.key not in ("n", "lost") and tried.cells[0] != NOTHING
    ]
    if values:
        yield one_line(f"in all rows: {', '.join(values)}", None)


def _absent_line(absent: Iterable[_Tried]) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for tried in absent:
        if tried.cells:
            names.setdefault(joined(tried.notes), []).append(tried.column.name)
    if names:
        parts = (
            f"{', '.join(absent_there)} ({why})" if why else ", ".join(absent_there)
            for why, absent_there in names.items()
        )
        yield one_line(f"not measured: {joined(parts)}", None)


def _narrow_line(narrow: Sequence[_Tried]) -> Iterator[str]:
    if narrow:
        names = ", ".join(tried.column.name for tried in narrow)
        yield one_line(f"no room for {names}; --columns chooses, --all shows all", None)


def caption(cases: Sequence[Case]) -> str:
    """Return the caption of the table that has these rows: `Lulesh, 8 threads`."""
    key = cases[0].key.table
    # LU is an abbreviation.
    plain = key.app.isalpha() and key.app.islower()
    app = (key.app.upper() if len(key.app) == 2 else key.app.capitalize()) if plain else key.app
    program = f"Region {key.region} of {key.app}" if key.region else app
    guest = f", in {cases[0].key.guest}" if cases[0].key.guest else ""
    return one_line(f"{program}, {key.threads_in_words}{guest}")


def facts(cases: Sequence[Case]) -> str:
    """Return what the rows share beyond the caption: `n = 10; node1; libgomp, paper, static`."""
    key = cases[0].key.table
    runs = {case.n for case in cases if not case.was_skipped}
    nodes = {case.key.node_id for case in cases}
    programs = dict.fromkeys(name for case in cases for name in case.circumstances.implementations)
    free = any(case.key.no_schedule for case in cases)
    # The governors of one driver are not those of another that have their names.
    drivers = dict.fromkeys(name for case in cases for name in case.circumstances.drivers)
    build = [
        key.build,
        key.size,
        "" if free else key.schedule,
        "" if key.wait_policy in (UNKNOWN, _DEFAULT) else f"wait policy {key.wait_policy}",
        *key.guest_size,
    ]
    known = len(runs) == 1 and None not in runs
    shown = [word for word in build if word and word != UNKNOWN]
    parts = [
        f"n = {min(filter(None, runs), default=0)}" if known else "",
        str(nodes.pop()) if len(nodes) == 1 and None not in nodes else "",
        ", ".join(shown),
        *drivers,
        *programs,
    ]
    return one_line(joined(parts))
