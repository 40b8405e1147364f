"""The columns of tables, and their cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from pinstudy.analysis.format.numbers import (
    ENERGY_DECIMALS,
    NO_REASON,
    NOTHING,
    TIME_DECIMALS,
    five_digits,
    fixed,
    mean_count,
)
from pinstudy.analysis.format.table import Column, Notes, joined
from pinstudy.analysis.measures import BY_FIELD, OF_KINDS, SHOWN, Measure, Stats
from pinstudy.analysis.records.metrics import Metric
from pinstudy.analysis.results.baselines import Alone
from pinstudy.analysis.results.bounds import Bound
from pinstudy.analysis.results.case import Case, energy_measure, in_units, metrics_of
from pinstudy.analysis.tables.footnotes import (
    co_runner_numbers,
    drivers,
    guest_and_host_numbers,
    guest_rows,
)
from pinstudy.base.text import one_line
from pinstudy.configs.settings import CURRENT
from pinstudy.runners.records.energy import PACKAGE

# The publication's columns, made to fit; all columns; and the publication's very own.
LayoutName = Literal["short", "full", "published"]

_RATIO_DECIMALS = 3

NOT_AVAILABLE = "n/a"
# More are those of a computer's sixteen digits, and rounded.
_MOST_DECIMALS = 6


@dataclass(frozen=True)
class Page:
    """The notes and the number formats that the cells of one table share.

    `decimals` are those of computed times, `of_energy` those of joules; `verbatim` names the means
    and deviations that are shown as their source has them. `alone` has the cases alone of those
    with co-runners, and `bounds` what teams could do, by case_id.
    """

    decimals: int = TIME_DECIMALS
    of_energy: int = ENERGY_DECIMALS
    verbatim: frozenset[str] = frozenset()
    notes: Notes = field(default_factory=Notes)
    alone: Mapping[str, Alone] = field(default_factory=dict)
    bounds: Mapping[str, Bound] = field(default_factory=dict)

    def given(self, name: str, decimals: int | None) -> int | None:
        """Return the decimals of a number's source; None where its column is rounded."""
        return decimals if name in self.verbatim else None

    def number(self, value: float, measure: Measure, decimals: int | None) -> str:
        """Return a number of a measure; without decimals it is a count."""
        if decimals is None:
            return mean_count(value)
        return fixed(value, {"s": self.decimals, "J": self.of_energy}.get(measure.unit, decimals))


Write = Callable[[Case, Page], str]
Written = tuple[Column, Write]


@dataclass(frozen=True)
class TableLayout:
    """Columns with the functions that write their cells: those of every row, then its numbers.

    A row without numbers has the reason in the first of their columns. With `fixed_decimals` times
    have those of the published tables, however short they are. `footnotes` make the notes on
    columns from a table's cases.
    """

    head: tuple[Written, ...]
    numbers: tuple[Written, ...]
    fixed_decimals: bool = False
    footnotes: tuple[Callable[[Sequence[Case]], Iterable[str]], ...] = ()

    def with_settings(self) -> TableLayout:
        """Return the layout with a column of the other settings, before that of the governor."""
        names = [column.name for column, _ in self.head]
        at = next((place for place, name in enumerate(names) if "governor" in name), len(names))
        return replace(self, head=(*self.head[:at], _SETTINGS, *self.head[at:]))

    def with_nodes(self) -> TableLayout:
        """Return the layout with a column of the node, behind the number."""
        return replace(self, head=(*self.head[:1], _NODE, *self.head[1:]))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in their order."""
        return tuple(column for column, _ in (*self.head, *self.numbers))

    def cells(self, case: Case, page: Page) -> tuple[str, ...]:
        """Return a row; footnotes are added to the page's."""
        head = tuple(write(case, page) for _, write in self.head)
        why = _why_no_numbers(case, page.notes)
        if why:
            return (*head, why, *[NOTHING] * (len(self.numbers) - 1))
        return head + tuple(write(case, page) for _, write in self.numbers)


def _why_no_numbers(case: Case, notes: Notes) -> str:
    if case.was_skipped:
        why = (
            f": {case.circumstances.skip_reason}"
            if case.circumstances.skip_reason
            else ", and no reason given"
        )
        return f"left out ({notes.marker(f'left out{why}')})"
    if case.n == 0:
        why = (
            "no run that could be averaged"
            if case.circumstances.excluded
            else "only warm-up runs so far"
        )
        return f"{NOT_AVAILABLE} ({notes.marker(why)})"
    return ""


def _text(value_of: Callable[[Case], str | int | None]) -> Write:
    return lambda case, _: NOTHING if (value := value_of(case)) is None else one_line(str(value))


def _no_co_runner() -> str:
    # As in analysis.published: few tables have co-runners.
    from pinstudy.configs.study import NO_CO_RUNNER

    return NO_CO_RUNNER


def _runs(case: Case, _page: Page) -> str:
    if case.was_skipped:
        return NOTHING
    return NOT_AVAILABLE if case.n is None else str(case.n)


def _lost(case: Case, _page: Page) -> str:
    if case.was_skipped:
        return NOTHING
    return str(case.lost.count) if case.lost.is_known else NOT_AVAILABLE


def _governor_and_driver(case: Case, _page: Page) -> str:
    """Return the governor with its driver: `powersave` of one is not that of another."""
    if case.n == 0:
        return one_line(case.key.governor)
    return one_line(f"{case.key.governor} ({joined(case.circumstances.drivers) or NOT_AVAILABLE})")


def _mean(case: Case, page: Page, measure: Measure, decimals: int | None) -> str:
    stats = case.stats[measure.field]
    given = page.given(f"{measure.field}_mean", stats.mean_decimals)
    text = page.number(stats.mean, measure, decimals) if given is None else fixed(stats.mean, given)
    return mean_of(stats, text, reasons_of(case, measure.field), case, page)


def mean_column(field: str, heading: str = "", decimals: int | None = None) -> Written:
    """Return the column of the means of a measure, and what writes its cells.

    Its heading and decimals are those of the measure unless a layout has others.
    """
    measure = BY_FIELD[field]
    column = Column(
        heading or measure.heading, measure.unit, field=field, key=measure.name, short=measure.short
    )
    places = measure.decimals if decimals is None else decimals
    return column, partial(_mean, measure=measure, decimals=places)


def mean_of(stats: Stats, text: str, reasons: str, case: Case, page: Page) -> str:
    """Return a mean's text with a note on the runs that lack it; n/a where none has it."""
    if stats.n == 0:
        return f"{NOT_AVAILABLE} ({page.notes.marker(reasons)})"
    # The number of runs behind a mean from elsewhere may not be known.
    if case.n is None or stats.n == case.n:
        return text
    count = f"fewer than {case.n}" if stats.n is None else f"{stats.n} of {case.n}"
    marker = page.notes.marker(f"mean of {count} runs; the others: {reasons}")
    return f"{text} ({marker})"


def reasons_of(case: Case, name: str) -> str:
    """Return why runs of a case lack a measure."""
    return joined(case.circumstances.reasons.get(name, ())) or NO_REASON


def _of_co_runner() -> Written:
    column, write = mean_column("co_runner_elapsed_s")
    return column, lambda case, page: write(case, page) if case.key.co_runner else NOTHING


def _slowdown(ratio_of: Callable[[Alone], float | None], noun: str) -> Write:

    def write(case: Case, page: Page) -> str:
        alone = page.alone.get(case.key.case_id)
        if alone is None:
            return NOTHING
        ratio = ratio_of(alone)
        if ratio is not None:
            return fixed(ratio, _RATIO_DECIMALS)
        why = f"{noun} alone, or beside it, is not known, or too many runs were lost"
        return f"{NOT_AVAILABLE} ({page.notes.marker(why)})"

    return write


def _of_bound(share_of: Callable[[Bound], float | None]) -> Write:

    def write(case: Case, page: Page) -> str:
        bound = page.bounds.get(case.key.case_id)
        share = share_of(bound) if bound else None
        return NOTHING if share is None else fixed(100 * share, 1)

    return write


def _deviation(case: Case, page: Page) -> str:
    time = case.time
    given = page.given("elapsed_s_sd", time.sd_decimals)
    if time.n == 0:
        why = reasons_of(case, "elapsed_s")
    elif time.n == 1:
        why = "one run has no standard deviation"
    elif math.isnan(time.sd):
        why = "the standard deviation is not given"
    else:
        return fixed(time.sd, page.decimals if given is None else given)
    return f"{NOT_AVAILABLE} ({page.notes.marker(why)})"


def verbatim_names(cases: Iterable[Case]) -> frozenset[str]:
    """Return the means and deviations (`M_mean`, `M_sd`) to show as their source writes them.

    A column is rounded if any of its numbers has a computer's sixteen digits.
    """
    decimals: dict[str, list[int]] = {}
    for case in cases:
        for name, stats in case.stats.items():
            for statistic, given in (("mean", stats.mean_decimals), ("sd", stats.sd_decimals)):
                if given is not None:
                    decimals.setdefault(f"{name}_{statistic}", []).append(given)
    return frozenset(name for name, given in decimals.items() if max(given) <= _MOST_DECIMALS)


_NUMBER = Column("#"), _text(lambda case: case.key.number)
_MAPPING = Column("mapping", right=False, key="mapping"), _text(lambda case: case.key.mapping)
_GOVERNOR = (Column("governor (driver)", right=False, field="governor_read"), _governor_and_driver)
_SET_GOVERNOR = (
    Column("governor", right=False, key="governor"),
    _text(lambda case: case.key.governor),
)
_SETTINGS = (
    Column("settings", right=False, key="settings"),
    _text(lambda case: case.key.setting_words or CURRENT),
)
_NODE = Column("node", right=False, key="node"), _text(lambda case: case.key.node_id)
_CO_RUNNER = (
    Column("co-runner", right=False, key="co_runner"),
    _text(lambda case: case.key.co_runner or _no_co_runner()),
)
_N = (Column("n", key="n"), _runs), (Column("lost", key="lost"), _lost)
_TIME_SD = Column("sd", "s", key="sd", short="sd"), _deviation
_SLOWDOWN = (Column("slowdown", key="slowdown"), _slowdown(lambda alone: alone.slowdown, "time"))
_ITS_SLOWDOWN = (
    Column("its slowdown", key="its_slowdown"),
    _slowdown(lambda alone: alone.co_runner_slowdown, "its time"),
)


_REACHED = (
    Column("reached", "%", key="reached", short="reached %"),
    _of_bound(lambda bound: bound.reached),
)
_EQUAL_SHARES = (
    Column("equal shares", "%", key="equal_shares", short="equal shares %"),
    _of_bound(lambda bound: bound.equal_shares),
)


def with_bounds(layout: TableLayout, bounds: Sequence[Bound]) -> TableLayout:
    """Return a layout with what was reached of the cores' speed, and what equal shares allow.

    There is a column of what any of the bounds knows.
    """
    if not bounds:
        return layout
    has_cap = any(bound.equal_shares is not None for bound in bounds)
    columns = (*layout.numbers, _REACHED, *[_EQUAL_SHARES] * has_cap)
    speeds = " or of ".join(dict.fromkeys(bound.speeds for bound in bounds))
    names = "reached, equal shares" if has_cap else "reached"
    note = f"{names}: of what the cores could do, by the speed of {speeds} of a kind"
    return replace(layout, numbers=columns, footnotes=(*layout.footnotes, lambda _: [note]))


def _numbers(*only_with: str) -> tuple[Written, ...]:
    """Return the columns of the shown measures that are not by core kind, with the time's sd.

    They are those of any program, and of programs with such a column.
    """
    columns = [
        mean_column(measure.field)
        for measure in SHOWN
        if not measure.by_kind and measure.only_with in ("app", *only_with)
    ]
    return columns[0], _TIME_SD, *columns[1:]


_FULL = TableLayout((_NUMBER, _MAPPING, _GOVERNOR, *_N), _numbers(), footnotes=(drivers,))
_FULL_WITH_CO_RUNNER = TableLayout(
    (_NUMBER, _MAPPING, _CO_RUNNER, _GOVERNOR, *_N),
    (*_numbers(), _SLOWDOWN, _of_co_runner(), _ITS_SLOWDOWN),
    footnotes=(drivers, co_runner_numbers),
)
# Of guests the mapping of virtual CPUs counts, beside that of the threads.
_VCPU_MAPPING = (
    Column("vCPU mapping", right=False, key="vcpu_mapping"),
    _text(lambda case: case.key.vcpu_mapping),
)
_MAPPING_IN_GUEST = (
    Column("mapping in guest", right=False, key="mapping"),
    _text(lambda case: case.key.mapping),
)
_FULL_OF_GUESTS = TableLayout(
    (_NUMBER, _VCPU_MAPPING, _MAPPING_IN_GUEST, _GOVERNOR, *_N),
    _numbers("vcpu_mapping"),
    footnotes=(guest_and_host_numbers, drivers),
)


def with_meter(layout: TableLayout, cases: Sequence[Case]) -> TableLayout:
    """Return a layout with the energy that cases have in place of that of packages."""
    if (measure := energy_measure(cases)).field == PACKAGE:
        return layout
    numbers = (
        mean_column(measure.field) if column.field == PACKAGE else (column, write)
        for column, write in layout.numbers
    )
    return replace(layout, numbers=tuple(numbers))


def with_kinds(layout: TableLayout, cases: Sequence[Case]) -> TableLayout:
    """Return a layout with a column of each shown measure for each core kind that has it.

    Why no kind has it stands below the table.
    """
    for measure in OF_KINDS:
        if measure.heading:
            kinds = dict.fromkeys(kind for case in cases for kind in case.by_kind(measure.field))
            columns = tuple(_mean_of_kind(measure, kind) for kind in measure.kinds if kind in kinds)
            absent = (partial(_why_of_no_kind, measure=measure),)
            layout = replace(
                layout,
                numbers=(*layout.numbers, *columns),
                footnotes=layout.footnotes if columns else (*layout.footnotes, *absent),
            )
    return layout


def _why_of_no_kind(cases: Sequence[Case], measure: Measure) -> Iterator[str]:
    """Yield why no core kind has a measure, where at least the packages have the energy."""
    reasons = dict.fromkeys(
        why
        for case in cases
        if case.stats[PACKAGE].n
        for why in case.circumstances.reasons.get(measure.field, ())
    )
    if reasons:
        yield one_line(f"{measure.noun} not measured: {joined(reasons)}", None)


def _mean_of_kind(measure: Measure, kind: str) -> Written:
    column = Column(measure.heading.format(kind), measure.unit, field=measure.field)
    return column, partial(_write_mean_of_kind, measure=measure, kind=kind)


def _write_mean_of_kind(case: Case, page: Page, measure: Measure, kind: str) -> str:
    stats = case.stat(measure.column(kind))
    fields = (measure.field, f"{measure.field}.{kind}")
    reasons = [why for name in fields for why in case.circumstances.reasons.get(name, ())]
    text = page.number(stats.mean, measure, measure.decimals)
    return mean_of(stats, text, joined(reasons) or NO_REASON, case, page)


# By the names that people type: columns of numbers that are more than a mean of a measure.
OTHER_NUMBERS = {
    column.key: (column, write)
    for column, write in (
        _TIME_SD,
        _SLOWDOWN,
        _of_co_runner(),
        _ITS_SLOWDOWN,
        _REACHED,
        _EQUAL_SHARES,
    )
}

# Galante and Oyamada (2025): tables 3 to 9, and table 10.
_PUBLISHED_TIMES = (mean_column("elapsed_s"), (Column("time std", "s"), _deviation))
_PUBLISHED = TableLayout(
    ((Column("test case #"), _text(lambda case: case.key.number)), _MAPPING, _SET_GOVERNOR),
    (
        *_PUBLISHED_TIMES,
        mean_column("freq_mean_ghz", "frequency mean"),
        mean_column("migrations", "CPU migrations", decimals=0),
        mean_column("cache_misses", decimals=0),
        mean_column(PACKAGE),
    ),
    fixed_decimals=True,
)
_PUBLISHED_OF_GUESTS = TableLayout(
    (
        (Column("app", right=False), _text(lambda case: case.key.table.app)),
        (Column("guest threads"), _text(lambda case: case.key.table.threads)),
        (Column("vCPUs"), _text(lambda case: case.key.table.vm_cpus)),
        _VCPU_MAPPING,
    ),
    _PUBLISHED_TIMES,
    fixed_decimals=True,
    footnotes=(guest_rows,),
)
# What identifies a row of the short layout; analysis.tables.short has its numbers.
_SHORT = TableLayout((_NUMBER, _MAPPING, _SET_GOVERNOR, *_N), ())
_SHORT_OF_GUESTS = TableLayout(
    (_NUMBER, _VCPU_MAPPING, _MAPPING_IN_GUEST, _SET_GOVERNOR, *_N),
    (),
    footnotes=(guest_and_host_numbers,),
)
_SHORT_WITH_CO_RUNNER = TableLayout(
    (_NUMBER, _MAPPING, _CO_RUNNER, _SET_GOVERNOR, *_N), (), footnotes=(co_runner_numbers,)
)
# By name: for programs on the node itself, for those in guests whose CPUs were mapped, and for
# those with co-runners.
LAYOUTS: Mapping[LayoutName, tuple[TableLayout, TableLayout, TableLayout]] = {
    "short": (_SHORT, _SHORT_OF_GUESTS, _SHORT_WITH_CO_RUNNER),
    "full": (_FULL, _FULL_OF_GUESTS, _FULL_WITH_CO_RUNNER),
    "published": (_PUBLISHED, _PUBLISHED_OF_GUESTS, _PUBLISHED),
}


# A table of more would be wider than a page; the CSV has all.
MAX_METRIC_COLUMNS = 4


def with_metrics(layout: TableLayout, cases: Sequence[Case]) -> TableLayout:
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
    if more := [one_line(metric.name) for metric in metrics[MAX_METRIC_COLUMNS:]]:
        yield one_line(f"the program prints more, which tables.csv has: {', '.join(more)}")
    for metric in metrics:
        if len(metric.units) > 1:
            yield one_line(
                f"rows have {metric.name} {in_units(metric)}: they are not compared by it"
            )
