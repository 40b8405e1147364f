"""What cases cost beside their time: tables of divided work, energy by core kind, slowdowns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from pinstudy.analysis.format.numbers import NOTHING, finite, fixed, time_decimals
from pinstudy.analysis.format.table import Column, Notes, Table
from pinstudy.analysis.measures import ENERGY_BY_KIND
from pinstudy.analysis.objectives import ENERGY
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.verdict.data import raw_price, raw_slowdown
from pinstudy.analysis.verdict.division import Waiting, imbalance, raw_division, waiting
from pinstudy.analysis.verdict.model import CaseFinding, TableFindings
from pinstudy.analysis.verdict.slowdowns import why_not_co_runner, why_not_program
from pinstudy.analysis.verdict.tables import ratio_interval, ratio_text
from pinstudy.analysis.words.verdict import note
from pinstudy.base.text import one_line, plural
from pinstudy.configs.core_kinds import KIND_ORDER
from pinstudy.configs.settings import CURRENT
from pinstudy.configs.study import NO_CO_RUNNER

OF_CORES = (
    "energy by core kind is of the cores: idle ones are in it, shared caches, memory and graphics "
    "are not"
)
WITH_ANOTHER_SCHEDULE = (
    "a dynamic schedule would let them work meanwhile, if the program's loops take one"
)


def _head_columns(table: TableFindings) -> tuple[Column, ...]:
    """Return the columns of a row's identity; its settings are one where a study asks."""
    asked, co_runner = _asked(table)
    names = ("mapping", *co_runner, *asked, "governor")
    return Column("#"), *(Column(name, right=False) for name in names)


def _asked(table: TableFindings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the columns of settings and co-runner, where a case has them."""
    has_settings = any(case.summary.key.setting_words for case in table.cases)
    has_co_runner = any(case.summary.key.co_runner for case in table.cases)
    return ("settings",) * has_settings, ("co-runner",) * has_co_runner


def _heads(table: TableFindings) -> dict[str, tuple[str, ...]]:
    """Return the cells of these columns of each case, by its case_id."""
    asked, has_co_runner = _asked(table)
    heads = {}
    for case in table.cases:
        settings = (one_line(case.summary.key.setting_words or CURRENT),) if asked else ()
        co_runner = (one_line(case.summary.key.co_runner or NO_CO_RUNNER),) if has_co_runner else ()
        mapping, governor = one_line(case.full_mapping), one_line(case.governor)
        heads[case.case_id] = (str(case.number), mapping, *co_runner, *settings, governor)
    return heads


def division_table(table: TableFindings) -> Table | None:
    """Return how the work of each case was divided, as means over its runs; None if unknown."""
    cases = [case for case in table.cases if raw_division(case)]
    if not cases:
        return None
    heads = _heads(table)
    kinds = _kinds_of(cases, "cpu_share")
    waited = _kinds_of(cases, "waited")
    columns = (
        *_head_columns(table),
        Column("imbalance", "%"),
        *(Column(f"{kind}-threads without work", "%") for kind in waited),
        *(Column(f"CPU time on {kind}", "%") for kind in kinds),
    )
    cells = tuple(
        (
            *heads[case.case_id],
            _per_cent(imbalance(case).mean),
            *map(_per_cent, _means_of(case, "waited", waited)),
            *map(_per_cent, _means_of(case, "cpu_share", kinds)),
        )
        for case in cases
    )
    waits = {case.number: found for case in cases if (found := waiting(case))}
    notes = [("", f"#{number}: {_waiting(found)}") for number, found in waits.items()]
    if waits and table.key.schedule.startswith("static"):
        notes.append(("", WITH_ANOTHER_SCHEDULE))
    return Table(f"{table.title}: how the work was divided", columns, cells, tuple(notes))


def _waiting(found: Waiting) -> str:
    spread = f"sd {fixed(100 * found.sd, 1)}, {plural(found.n, 'run')}"
    return (
        f"{found.fast}-cores waited for {found.slow}-cores: no work for "
        f"{fixed(100 * found.share, 0)} % of the time ({spread}), {found.slow}-cores "
        f"{fixed(100 * found.slow_share, 0)} %"
    )


def price_table(table: TableFindings) -> Table | None:
    """Return the energy of each case by core kind, as means over its runs; None if unknown."""
    cases = [case for case in table.cases if case.summary.by_kind(ENERGY_BY_KIND)]
    if not cases:
        return None
    heads = _heads(table)
    kinds = _kinds_of(cases, ENERGY_BY_KIND)
    columns = (
        *_head_columns(table),
        *(Column(f"on {kind}-cores", "J") for kind in kinds),
        Column("on all cores", "J"),
        Column("of the package", "%"),
    )
    return Table(
        caption=f"{table.title}: energy by core kind",
        columns=columns,
        cells=tuple((*heads[case.case_id], *_price_cells(case, kinds)) for case in cases),
        notes=(*_partly_known(cases), ("", OF_CORES)),
        raw_values=tuple(raw_price(case) for case in cases),
    )


def _price_cells(case: CaseFinding, kinds: Sequence[str]) -> tuple[str, ...]:
    means = _means_of(case, ENERGY_BY_KIND, kinds)
    # A kind that is missing makes the sum one of something else.
    of_all, package = sum(means), case.summary.stats[ENERGY.field].mean
    return (*(fixed(mean, 2) for mean in (*means, of_all)), _per_cent(of_all / package))


def _kinds_of(cases: Iterable[CaseFinding], field: str) -> list[str]:
    """Return the core kinds of which any case has a measure, best first."""
    known = {kind for case in cases for kind in case.summary.by_kind(field)}
    return [kind for kind in KIND_ORDER if kind in known]


def _means_of(case: CaseFinding, field: str, kinds: Iterable[str]) -> list[float]:
    means = case.summary.means_by_kind(field)
    return [means.get(kind, math.nan) for kind in kinds]


def _per_cent(share: float) -> str:
    return NOTHING if math.isnan(share) else fixed(100 * share, 1)


def _partly_known(cases: Iterable[CaseFinding]) -> Iterator[tuple[str, str]]:
    """Yield the cases with joules of some runs: `#2: means of some runs: P-cores: 3 of 10 runs`."""
    for case in cases:
        n = case.summary.n
        some = ", ".join(
            f"{kind}-cores: {stats.n} of {plural(n, 'run')}"
            for kind, stats in case.summary.by_kind(ENERGY_BY_KIND).items()
            if n and stats.n != n
        )
        if some:
            yield "", f"#{case.number}: means of some runs: {some}"


def slowdown_table(table: TableFindings) -> Table | None:
    """Return each case beside its co-runner, both against running alone; None without any."""
    cases = [case for case in table.cases if case.slowdown and case.summary.has_runs]
    if not cases:
        return None
    notes = Notes()
    measured = [case.summary.stats["co_runner_elapsed_s"].mean for case in cases]
    decimals = time_decimals(mean for mean in measured if finite(mean) is not None)
    columns = (
        *(Column("#"), Column("mapping", right=False), Column("governor", right=False)),
        *(Column("co-runner", right=False), Column("# alone")),
        *(Column("slowdown"), Column("95 % interval")),
        *(Column("co-runner's time", "s"), Column("alone", "s"), Column("executions", "1/s")),
        *(Column("co-runner's slowdown"), Column("95 % interval")),
    )
    cells = tuple(_slowdown_cells(case, decimals, notes) for case in cases)
    general = (
        "slowdown: ratio of typical times, beside the other over alone; each interval is of that "
        "comparison alone",
        "executions that began and ended while the program ran; energy of packages is that of "
        "both programs",
    )
    return Table(
        f"{table.title}: what programs beside each other cost each other",
        columns,
        cells,
        notes.listed() + tuple(("", text) for text in general),
        tuple(raw_slowdown(case) for case in cases),
    )


def _slowdown_cells(case: CaseFinding, decimals: int, notes: Notes) -> tuple[str, ...]:
    slowdown = case.slowdown
    assert slowdown
    measures = case.summary.stats
    program = _ratio(slowdown.of_program, lambda: notes.marker(note(why_not_program(case))))
    co_runner = _ratio(slowdown.of_co_runner, lambda: notes.marker(note(why_not_co_runner(case))))
    times = (measures["co_runner_elapsed_s"].mean, slowdown.co_runner_alone_s)
    return (
        *(str(case.number), one_line(case.mapping), one_line(case.governor)),
        one_line(case.summary.key.co_runner or ""),
        NOTHING if slowdown.alone is None else str(slowdown.alone),
        *program,
        *(NOTHING if finite(time) is None else fixed(time, decimals) for time in times),
        _rate(measures["co_runner_rate_hz"].mean),
        *co_runner,
    )


def _rate(mean: float) -> str:
    return NOTHING if finite(mean) is None else fixed(mean, 2)


def _ratio(difference: Difference | None, marker: Callable[[], str]) -> tuple[str, str]:
    if difference is None:
        return f"n/a ({marker()})", NOTHING
    return ratio_text(difference.ratio), ratio_interval(difference)
