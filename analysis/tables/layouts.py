"""Which columns a table has and what stands in them: ours in full, or those that were published."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from analysis.format.numbers import (
    ENERGY_DECIMALS,
    FREQUENCY_DECIMALS,
    MAX_TIME_DECIMALS,
    TIME_DECIMALS,
    fixed,
    mean_count,
)
from analysis.format.table import Column, Notes, joined
from analysis.results.case_summary import CaseSummary
from analysis.tables.remarks import drivers, guest_rows, whose_numbers
from base.text import one_line

LayoutName = Literal["full", "published"]

NOT_AVAILABLE = "n/a"
NOTHING = "-"
# A number as people write it, with no more decimals than any table shows.
_PLAIN = re.compile(rf"\d+(?:\.\d{{1,{MAX_TIME_DECIMALS}}})?", re.ASCII)


@dataclass(frozen=True)
class Page:
    """What the cells of one table share: its footnotes, and the digits of its numbers.

    `decimals` are those of computed times; `given` names the means and deviations that are shown
    as their source has them.
    """

    decimals: int = TIME_DECIMALS
    given: frozenset[str] = frozenset()
    notes: Notes = field(default_factory=Notes)


Write = Callable[[CaseSummary, Page], str]


@dataclass(frozen=True)
class Layout:
    """Columns and what writes their cells: what every row has, then its numbers.

    A row without numbers has the reason in the first of their columns. With `fixed_decimals` times
    have those of the published tables, however short they are. `remarks` say what has to be
    said of the columns, from a table's cases.
    """

    head: tuple[tuple[Column, Write], ...]
    numbers: tuple[tuple[Column, Write], ...]
    fixed_decimals: bool = False
    remarks: tuple[Callable[[Sequence[CaseSummary]], Iterable[str]], ...] = ()

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
    if case.left_out is not None:
        why = f": {case.left_out}" if case.left_out else ", and no reason given"
        return f"left out ({notes.marker(f'left out{why}')})"
    if case.n == 0:
        why = "no run that could be averaged" if case.excluded else "only warm-up runs so far"
        return f"{NOT_AVAILABLE} ({notes.marker(why)})"
    return ""


def _text(of: Callable[[CaseSummary], str | int | None]) -> Write:
    return lambda case, _: NOTHING if (value := of(case)) is None else one_line(str(value))


def _runs(case: CaseSummary, _page: Page) -> str:
    if case.left_out is not None:
        return NOTHING
    return NOT_AVAILABLE if case.n is None else str(case.n)


def _governor_and_driver(case: CaseSummary, _page: Page) -> str:
    """Return the governor with its driver: `powersave` of one is not that of another."""
    if case.n == 0:
        return one_line(case.governor)
    return one_line(f"{case.governor} ({joined(case.drivers) or NOT_AVAILABLE})")


def _mean(name: str, write: Callable[[float, Page], str]) -> Write:
    return partial(_write_mean, name=name, write=write)


def _write_mean(
    case: CaseSummary, page: Page, name: str, write: Callable[[float, Page], str]
) -> str:
    reasons = _reasons(case, name)
    of = case.measures[name]
    if of.n == 0:
        return f"{NOT_AVAILABLE} ({page.notes.marker(reasons)})"
    text = of.mean_given if f"{name}_mean" in page.given else ""
    text = text or write(of.mean, page)
    # The number of runs behind a mean from elsewhere may not be known.
    if of.n is None or of.n == case.n:
        return text
    marker = page.notes.marker(f"mean of {of.n} of {case.n} runs; the others: {reasons}")
    return f"{text} ({marker})"


def _reasons(case: CaseSummary, name: str) -> str:
    """Return why runs lack a measure."""
    return joined(case.reasons.get(name, ())) or "not recorded, and no reason given"


def _deviation(case: CaseSummary, page: Page) -> str:
    of = case.time
    if of.sd_given and "elapsed_s_sd" in page.given:
        return of.sd_given
    if of.n == 0:
        why = _reasons(case, "elapsed_s")
    elif of.n == 1:
        why = "one run has no standard deviation"
    elif math.isnan(of.sd):
        why = "the standard deviation is not given"
    else:
        return _time(of.sd, page)
    return f"{NOT_AVAILABLE} ({page.notes.marker(why)})"


def names_as_given(cases: Iterable[CaseSummary]) -> frozenset[str]:
    """Return the means and deviations (`M_mean`, `M_sd`) whose texts all are such as people write.

    A mean with a computer's sixteen digits is rounded, and with it all that stands in its column.
    """
    texts: dict[str, list[str]] = {}
    for case in cases:
        for name, of in case.measures.items():
            for statistic, text in (("mean", of.mean_given), ("sd", of.sd_given)):
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
_GOVERNOR = Column("governor (driver)", right=False), _governor_and_driver
_N = Column("n"), _runs
_MIGRATIONS = Column("migrations"), _mean("migrations", _count)
_BEFORE_MIGRATIONS = (
    (Column("time mean", "s"), _mean("elapsed_s", _time)),
    (Column("sd", "s"), _deviation),
    (Column("frequency", "GHz"), _mean("freq_mean_ghz", _frequency)),
)
_AFTER_MIGRATIONS = (
    (Column("context switches"), _mean("context_switches", _count)),
    (Column("cache misses"), _mean("cache_misses", _count)),
    (Column("energy package", "J"), _mean("energy_pkg_j", _energy)),
)
_FULL = Layout(
    (_NUMBER, (Column("mapping", right=False), _text(lambda case: case.mapping)), _GOVERNOR, _N),
    (*_BEFORE_MIGRATIONS, _MIGRATIONS, *_AFTER_MIGRATIONS),
    remarks=(drivers,),
)
# Of guests the mapping of virtual CPUs counts, beside that of the threads.
_VCPU_MAPPING = Column("vCPU mapping", right=False), _text(lambda case: case.vcpu_mapping)
_FULL_OF_GUESTS = Layout(
    (
        *(_NUMBER, _VCPU_MAPPING),
        *(
            (Column("mapping in guest", right=False), _text(lambda case: case.mapping)),
            _GOVERNOR,
            _N,
        ),
    ),
    (
        *(*_BEFORE_MIGRATIONS, _MIGRATIONS),
        (Column("vCPU migrations"), _mean("vcpu_migrations", _count)),
        *_AFTER_MIGRATIONS,
    ),
    remarks=(whose_numbers, drivers),
)
# Galante and Oyamada (2025): tables 3 to 9, and table 10.
_PUBLISHED_TIMES = (
    (Column("time mean", "s"), _mean("elapsed_s", _time)),
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
        (Column("frequency mean", "GHz"), _mean("freq_mean_ghz", _frequency)),
        (Column("CPU migrations"), _mean("migrations", _whole)),
        (Column("cache misses"), _mean("cache_misses", _whole)),
        (Column("energy package", "J"), _mean("energy_pkg_j", _energy)),
    ),
    fixed_decimals=True,
)
_PUBLISHED_OF_GUESTS = Layout(
    (
        (Column("app", right=False), _text(lambda case: case.table.app)),
        (Column("guest threads"), _text(lambda case: case.table.threads)),
        (Column("vCPUs"), _text(lambda case: case.vm_cpus)),
        _VCPU_MAPPING,
    ),
    _PUBLISHED_TIMES,
    fixed_decimals=True,
    remarks=(guest_rows,),
)
# By name: for programs on the node itself, and for those in guests whose CPUs were mapped.
LAYOUTS: Mapping[LayoutName, tuple[Layout, Layout]] = {
    "full": (_FULL, _FULL_OF_GUESTS),
    "published": (_PUBLISHED, _PUBLISHED_OF_GUESTS),
}
