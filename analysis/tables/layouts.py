"""The columns of tables, and their cells."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from analysis.format.numbers import (
    ENERGY_DECIMALS,
    FREQUENCY_DECIMALS,
    NO_REASON,
    NOTHING,
    TIME_DECIMALS,
    fixed,
    mean_count,
)
from analysis.format.table import Column, Notes, joined
from analysis.records.fields import ENERGY_BY_KIND, ENERGY_OF_KIND
from analysis.results.alone import Alone
from analysis.results.case_summary import CaseSummary, Moments
from analysis.tables.footnotes import (
    beside_numbers,
    drivers,
    guest_and_host_numbers,
    guest_rows,
)
from base.text import one_line
from configs.core_kinds import KIND_ORDER
from configs.scheduling import CURRENT
from configs.study import NOTHING as NOTHING_BESIDE

LayoutName = Literal["full", "published"]

_RATIO_DECIMALS = 3

NOT_AVAILABLE = "n/a"
# A number as people write it.
_PLAIN = re.compile(r"\d+(?:\.\d{1,6})?", re.ASCII)


@dataclass(frozen=True)
class Page:
    """The notes and the number formats that the cells of one table share.

    `decimals` are those of computed times; `verbatim` names the means and deviations that are shown
    as their source has them. `alone` has the cases alone of those with co-runners, by case_id.
    """

    decimals: int = TIME_DECIMALS
    verbatim: frozenset[str] = frozenset()
    notes: Notes = field(default_factory=Notes)
    alone: Mapping[str, Alone] = field(default_factory=dict)


Write = Callable[[CaseSummary, Page], str]
Written = tuple[Column, Write]


@dataclass(frozen=True)
class Layout:
    """Columns with the functions that write their cells: those of every row, then its numbers.

    A row without numbers has the reason in the first of their columns. With `fixed_decimals` times
    have those of the published tables, however short they are. `footnotes` make the notes on
    columns from a table's cases.
    """

    head: tuple[Written, ...]
    numbers: tuple[Written, ...]
    fixed_decimals: bool = False
    footnotes: tuple[Callable[[Sequence[CaseSummary]], Iterable[str]], ...] = ()

    def with_scheduling(self) -> Layout:
        """Return the layout with a column of who places threads, before that of the governor."""
        names = [column.name for column, _ in self.head]
        at = next((place for place, name in enumerate(names) if "governor" in name), len(names))
        return replace(self, head=(*self.head[:at], _SCHEDULING, *self.head[at:]))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in their order."""
        return tuple(column for column, _ in (*self.head, *self.numbers))

    def cells(self, case: CaseSummary, page: Page) -> tuple[str, ...]:
        """Return a row; footnotes are added to the page's."""
        head = tuple(write(case, page) for _, write in self.head)
        why = _why_no_numbers(case, page.notes)
        if why:
            return (*head, why, *[NOTHING] * (len(self.numbers) - 1))
        return head + tuple(write(case, page) for _, write in self.numbers)


def _why_no_numbers(case: CaseSummary, notes: Notes) -> str:
    """Return what stands in place of numbers; empty for a case that has some."""
    if case.skip_reason is not None:
        why = f": {case.skip_reason}" if case.skip_reason else ", and no reason given"
        return f"left out ({notes.marker(f'left out{why}')})"
    if case.n == 0:
        why = "no run that could be averaged" if case.excluded else "only warm-up runs so far"
        return f"{NOT_AVAILABLE} ({notes.marker(why)})"
    return ""


def _text(of: Callable[[CaseSummary], str | int | None]) -> Write:
    return lambda case, _: NOTHING if (value := of(case)) is None else one_line(str(value))


def _runs(case: CaseSummary, _page: Page) -> str:
    if case.skip_reason is not None:
        return NOTHING
    return NOT_AVAILABLE if case.n is None else str(case.n)


def _lost(case: CaseSummary, _page: Page) -> str:
    if case.skip_reason is not None:
        return NOTHING
    return str(case.lost.count) if case.lost.is_known else NOT_AVAILABLE


def _governor_and_driver(case: CaseSummary, _page: Page) -> str:
    """Return the governor with its driver: `powersave` of one is not that of another."""
    if case.n == 0:
        return one_line(case.governor)
    return one_line(f"{case.governor} ({joined(case.drivers) or NOT_AVAILABLE})")


def _mean(name: str, write: Callable[[float, Page], str]) -> Write:
    return partial(_write_mean, name=name, write=write)


def _means(title: str, unit: str, name: str, write: Callable[[float, Page], str]) -> Written:
    """Return the column of the means of a record's field, and what writes its cells."""
    return Column(title, unit, field=name), _mean(name, write)


def _write_mean(
    case: CaseSummary, page: Page, name: str, write: Callable[[float, Page], str]
) -> str:
    reasons = reasons_of(case, name)
    of = case.measures[name]
    text = of.mean_text if f"{name}_mean" in page.verbatim else ""
    return mean_of(of, text or write(of.mean, page), reasons, case, page)


def mean_of(of: Moments, text: str, reasons: str, case: CaseSummary, page: Page) -> str:
    """Return a mean's text with a note on the runs that lack it; n/a where none has it."""
    if of.n == 0:
        return f"{NOT_AVAILABLE} ({page.notes.marker(reasons)})"
    # The number of runs behind a mean from elsewhere may not be known.
    if case.n is None or of.n == case.n:
        return text
    count = f"fewer than {case.n}" if of.n is None else f"{of.n} of {case.n}"
    marker = page.notes.marker(f"mean of {count} runs; the others: {reasons}")
    return f"{text} ({marker})"


def reasons_of(case: CaseSummary, name: str) -> str:
    """Return why runs of a case lack a measure."""
    return joined(case.reasons.get(name, ())) or NO_REASON


def _of_co_runner(write: Callable[[float, Page], str]) -> Write:
    of_mean = _mean("beside_elapsed_s", write)
    return lambda case, page: of_mean(case, page) if case.beside else NOTHING


def _slowdown(ratio_of: Callable[[Alone], float | None], what: str) -> Write:
    """Return what writes a ratio of means, or why there is none."""

    def write(case: CaseSummary, page: Page) -> str:
        alone = page.alone.get(case.case_id)
        if alone is None:
            return NOTHING
        ratio = ratio_of(alone)
        if ratio is not None:
            return fixed(ratio, _RATIO_DECIMALS)
        why = f"{what} alone, or beside it, is not known, or too many runs were lost"
        return f"{NOT_AVAILABLE} ({page.notes.marker(why)})"

    return write


def _deviation(case: CaseSummary, page: Page) -> str:
    of = case.time
    if of.sd_text and "elapsed_s_sd" in page.verbatim:
        return of.sd_text
    if of.n == 0:
        why = reasons_of(case, "elapsed_s")
    elif of.n == 1:
        why = "one run has no standard deviation"
    elif math.isnan(of.sd):
        why = "the standard deviation is not given"
    else:
        return _time(of.sd, page)
    return f"{NOT_AVAILABLE} ({page.notes.marker(why)})"


def verbatim_names(cases: Iterable[CaseSummary]) -> frozenset[str]:
    """Return the means and deviations (`M_mean`, `M_sd`) to show as their source writes them.

    A column is rounded if any of its numbers has a computer's sixteen digits.
    """
    texts: dict[str, list[str]] = {}
    for case in cases:
        for name, of in case.measures.items():
            for statistic, text in (("mean", of.mean_text), ("sd", of.sd_text)):
                if text:
                    texts.setdefault(f"{name}_{statistic}", []).append(text)
    return frozenset(name for name, of in texts.items() if all(map(_PLAIN.fullmatch, of)))


def _time(value: float, page: Page) -> str:
    return fixed(value, page.decimals)


def _frequency(value: float, _page: Page) -> str:
    return fixed(value, FREQUENCY_DECIMALS)


def _energy(value: float, _page: Page) -> str:
    return fixed(value, ENERGY_DECIMALS)


def _count(value: float, _page: Page) -> str:
    return mean_count(value)


def _whole(value: float, _page: Page) -> str:
    return fixed(value, 0)


_NUMBER = Column("#"), _text(lambda case: case.number)
_GOVERNOR = (
    Column("governor (driver)", right=False, field="governor_read"),
    _governor_and_driver,
)
_SCHEDULING = Column("scheduling", right=False), _text(lambda case: case.scheduling or CURRENT)
_N = (Column("n"), _runs), (Column("lost"), _lost)
_MIGRATIONS = _means("migrations", "", "migrations", _count)
_BEFORE_MIGRATIONS = (
    _means("time mean", "s", "elapsed_s", _time),
    (Column("sd", "s"), _deviation),
    _means("frequency", "GHz", "freq_mean_ghz", _frequency),
)
_AFTER_MIGRATIONS = (
    _means("context switches", "", "context_switches", _count),
    _means("cache misses", "", "cache_misses", _count),
    _means("energy package", "J", "energy_pkg_j", _energy),
)
_FULL = Layout(
    (_NUMBER, (Column("mapping", right=False), _text(lambda case: case.mapping)), _GOVERNOR, *_N),
    (*_BEFORE_MIGRATIONS, _MIGRATIONS, *_AFTER_MIGRATIONS),
    footnotes=(drivers,),
)
_FULL_BESIDE = Layout(
    (
        *(_NUMBER, (Column("mapping", right=False), _text(lambda case: case.mapping))),
        *((Column("beside", right=False), _text(lambda case: case.beside or NOTHING_BESIDE)),),
        *(_GOVERNOR, *_N),
    ),
    (
        *(*_BEFORE_MIGRATIONS, _MIGRATIONS, *_AFTER_MIGRATIONS),
        (Column("slowdown"), _slowdown(lambda alone: alone.slowdown, "time")),
        (Column("co-runner's time", "s", field="beside_elapsed_s"), _of_co_runner(_time)),
        (Column("its slowdown"), _slowdown(lambda alone: alone.co_runner_slowdown, "its time")),
    ),
    footnotes=(drivers, beside_numbers),
)
# Of guests the mapping of virtual CPUs counts, beside that of the threads.
_VCPU_MAPPING = Column("vCPU mapping", right=False), _text(lambda case: case.vcpu_mapping)
_FULL_OF_GUESTS = Layout(
    (
        *(_NUMBER, _VCPU_MAPPING),
        *(
            (Column("mapping in guest", right=False), _text(lambda case: case.mapping)),
            _GOVERNOR,
            *_N,
        ),
    ),
    (
        *(*_BEFORE_MIGRATIONS, _MIGRATIONS),
        _means("vCPU migrations", "", "vcpu_migrations", _count),
        *_AFTER_MIGRATIONS,
    ),
    footnotes=(guest_and_host_numbers, drivers),
)


def with_energy_by_kind(layout: Layout, cases: Sequence[CaseSummary]) -> Layout:
    """Return a layout with a column of energy for each core kind of which a case has it."""
    kinds = [kind for kind in KIND_ORDER if any(kind in case.energy_by_kind for case in cases)]
    columns = tuple(
        (Column(f"energy {kind}-cores", "J", field=ENERGY_BY_KIND), partial(_of_kind, kind=kind))
        for kind in kinds
    )
    return replace(
        layout,
        numbers=(*layout.numbers, *columns),
        footnotes=layout.footnotes if columns else (*layout.footnotes, _no_energy_by_kind),
    )


def _no_energy_by_kind(cases: Sequence[CaseSummary]) -> Iterator[str]:
    """Yield why no core kind has an energy, where at least the packages have one."""
    reasons = dict.fromkeys(
        why
        for case in cases
        if case.measures["energy_pkg_j"].n
        for why in case.reasons.get(ENERGY_BY_KIND, ())
    )
    if reasons:
        yield one_line(f"energy by core kind not measured: {joined(reasons)}", None)


def _of_kind(case: CaseSummary, page: Page, kind: str) -> str:
    of = case.energy_by_kind.get(kind, Moments())
    fields = (ENERGY_BY_KIND, ENERGY_OF_KIND[kind])
    reasons = joined(why for name in fields for why in case.reasons.get(name, ())) or NO_REASON
    return mean_of(of, _energy(of.mean, page), reasons, case, page)


# Galante and Oyamada (2025): tables 3 to 9, and table 10.
_PUBLISHED_TIMES = (
    _means("time mean", "s", "elapsed_s", _time),
    (Column("time std", "s"), _deviation),
)
_PUBLISHED = Layout(
    (
        (Column("test case #"), _text(lambda case: case.number)),
        (Column("mapping", right=False), _text(lambda case: case.mapping)),
        (Column("governor", right=False), _text(lambda case: case.governor)),
    ),
    (
        *_PUBLISHED_TIMES,
        _means("frequency mean", "GHz", "freq_mean_ghz", _frequency),
        _means("CPU migrations", "", "migrations", _whole),
        _means("cache misses", "", "cache_misses", _whole),
        _means("energy package", "J", "energy_pkg_j", _energy),
    ),
    fixed_decimals=True,
)
_PUBLISHED_OF_GUESTS = Layout(
    (
        (Column("app", right=False), _text(lambda case: case.table.app)),
        (Column("guest threads"), _text(lambda case: case.table.threads)),
        (Column("vCPUs"), _text(lambda case: case.table.vm_cpus)),
        _VCPU_MAPPING,
    ),
    _PUBLISHED_TIMES,
    fixed_decimals=True,
    footnotes=(guest_rows,),
)
# By name: for programs on the node itself, for those in guests whose CPUs were mapped, and for
# those with co-runners.
LAYOUTS: Mapping[LayoutName, tuple[Layout, Layout, Layout]] = {
    "full": (_FULL, _FULL_OF_GUESTS, _FULL_BESIDE),
    "published": (_PUBLISHED, _PUBLISHED_OF_GUESTS, _PUBLISHED),
}
