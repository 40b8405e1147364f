"""The tables of a verdict: mappings against their baseline, costs beside time, and levers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from pinstudy.analysis.advice.model import names_of
from pinstudy.analysis.findings.answers import Answers, BestCase
from pinstudy.analysis.findings.levers import Lever, LeverPair, objectives_of, range_of
from pinstudy.analysis.format.numbers import (
    NOTHING,
    energy_decimals,
    fixed,
    percent_range,
    signed,
    signed_in_percent,
    signed_percents,
    time_decimals,
)
from pinstudy.analysis.format.table import Column, Notes, Table
from pinstudy.analysis.measures import ENERGY_BY_KIND
from pinstudy.analysis.objectives import Objective
from pinstudy.analysis.results.case import Case, grouped
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.analysis.verdict.case_caveats import caveats_of
from pinstudy.analysis.verdict.costs import (
    Waiting,
    raw_division,
    waiting,
    why_not_co_runner,
    why_not_program,
)
from pinstudy.analysis.verdict.data import raw_price, raw_slowdown
from pinstudy.analysis.verdict.model import CaseFinding, TableFindings, baseline_in
from pinstudy.analysis.verdict.reach import NoReach, Reach
from pinstudy.analysis.words.overview import (
    BEST_LABELS,
    LEVERS,
    ONE_FOR_ALL,
    change_of_lever,
    lever_texts,
    name_of_factor,
    names_in_programs,
    one_for_all_texts,
    pairs_text,
    percents,
    reference_of,
    rivals_cell,
    signed_change,
    value_of,
)
from pinstudy.analysis.words.reach import reach_notes, share_text, team_text, why_text
from pinstudy.analysis.words.verdict import (
    decision,
    decision_notes,
    goes_with,
    note,
    objective_decimals,
    p_value,
    ratio_interval,
    ratio_text,
)
from pinstudy.base.text import one_line, plural
from pinstudy.configs.settings import CURRENT
from pinstudy.configs.study import NO_CO_RUNNER
from pinstudy.runners.node.topology import KIND_ORDER

# Of means without a spread.
_DECIMALS_OF_MEANS = 1

OF_CORES = (
    "energy by core kind is of the cores: idle ones are in it, shared caches, memory and graphics "
    "are not"
)
WITH_ANOTHER_SCHEDULE = (
    "a dynamic schedule would let them work meanwhile, if the program's loops take one"
)


def configuration_tables(table: TableFindings, margin: float) -> list[Table]:
    """Return the tables of a program: for each objective, one for each of its configurations.

    An objective of which no case has a value has none.
    """
    return [
        _configuration(table, cases, objective, margin)
        for objective in table.objectives
        for cases in table.configurations
        if any(objective in case.samples for case in cases)
    ]


def _configuration(
    table: TableFindings, cases: Sequence[CaseFinding], objective: Objective, margin: float
) -> Table:
    baseline = baseline_in(cases)
    has_settings = any(case.summary.key.setting_words for case in cases)
    estimand = _estimand(cases, objective)
    among = sum(objective in case.comparisons for case in cases)
    notes = Notes()
    columns = (
        Column("mapping", right=False),
        *((Column("settings", right=False),) if has_settings else ()),
        Column("n"),
        Column("lost"),
        Column(estimand, objective.unit),
        Column("change", "%"),
        Column("95 % interval", "%"),
        Column("p"),
        Column("outcome", right=False),
        Column("notes", right=False),
    )
    decimals = objective_decimals(objective, [_centre(case, objective) for case in cases])
    cells = tuple(
        (
            one_line(case.full_mapping),
            *((one_line(case.summary.key.setting_words or CURRENT),) if has_settings else ()),
            *_cells(case, baseline, objective, decimals),
            " ".join(
                notes.marker(note(caveat))
                for caveat in caveats_of(case, baseline, objective, margin, among)
            )
            or NOTHING,
        )
        for case in cases
    )
    return Table(
        caption=f"{_caption(table, cases[0])}: {estimand} {objective.noun}",
        columns=columns,
        cells=cells,
        notes=(*_decisions(table, cases, objective), *notes.listed()),
    )


def _estimand(cases: Sequence[CaseFinding], objective: Objective) -> str:
    """Return what is compared: typical values, or means where only means are known."""
    for case in cases:
        if comparison := case.comparisons.get(objective):
            return str(comparison.difference.estimand)
    samples = (case.samples.get(objective) for case in cases)
    typical = any(sample and not math.isnan(sample.typical) for sample in samples)
    return "typical" if typical else "mean"


def _centre(case: CaseFinding, objective: Objective) -> float:
    """Return a case's typical value, or its mean where only that is known."""
    sample = case.samples.get(objective)
    return sample.centre if sample else math.nan


def _caption(table: TableFindings, case: CaseFinding) -> str:
    key = case.summary.key
    app = " ".join(filter(None, (table.key.app, table.key.region)))
    has_co_runner = any(other.summary.key.co_runner for other in table.cases)
    where = f", beside {key.co_runner}" if key.co_runner else ", no co-runner" * has_co_runner
    return one_line(f"{app}, {table.key.threads_in_words}, {key.governor}{where}")


def _cells(
    case: CaseFinding, baseline: CaseFinding | None, objective: Objective, decimals: int
) -> tuple[str, ...]:
    summary = case.summary
    n = NOTHING if summary.n is None else str(summary.n)
    lost = str(case.lost.count) if case.lost.is_known else NOTHING
    value = fixed(_centre(case, objective), decimals)
    return n, lost, value, *_against_baseline(case, baseline, objective)


def _against_baseline(
    case: CaseFinding, baseline: CaseFinding | None, objective: Objective
) -> tuple[str, str, str, str]:
    comparison = case.comparisons.get(objective)
    if comparison is not None:
        change, interval = change_and_interval(comparison.difference)
        return change, interval, p_value(comparison.p_different), comparison.outcome
    if case.is_baseline and case.has_usable(objective):
        return NOTHING, NOTHING, NOTHING, "baseline"
    # Of the means, of which no spread is known.
    ratio = case.mean_ratio(baseline, objective) if baseline else math.nan
    return signed(100 * (ratio - 1), _DECIMALS_OF_MEANS), NOTHING, NOTHING, "not compared"


def change_and_interval(difference: Difference) -> tuple[str, str]:
    """Return a change and both ends of its interval, in per cent.

    All have the digits that the interval leaves. Where it is not known, or so wide that its ends
    say next to nothing, the change alone has three digits.
    """
    share = difference.ratio - 1
    interval = difference.known_interval()
    if interval is None or interval.tells_nothing:
        return signed_in_percent(share, 3), NOTHING
    shown, both = signed_percents(share, interval.low - 1, interval.high - 1)
    return shown, " to ".join(both)


def _decisions(
    table: TableFindings, cases: Sequence[CaseFinding], objective: Objective
) -> Iterator[tuple[str, str]]:
    explained: list[CaseFinding | None] = []
    for found in table.decisions:
        if (found.governor, found.co_runner) != (cases[0].governor, cases[0].summary.key.co_runner):
            continue
        if found.objective == objective:
            yield "", f"decision: {decision(found)}"
            for text in decision_notes(found):
                yield "", text
            # What goes with a case stands below the first table that it explains.
            if found.explained not in explained and (text := goes_with(found)):
                yield "", text
        explained.append(found.explained)


def _head(table: TableFindings) -> tuple[tuple[Column, ...], Callable[[CaseFinding], list[str]]]:
    """Return the columns of a row's identity, and a function from a case to their cells.

    Co-runner and settings are columns where any case of the table has them.
    """
    keys = [case.summary.key for case in table.cases]
    has_settings = any(key.setting_words for key in keys)
    has_co_runner = any(key.co_runner for key in keys)

    def cells(case: CaseFinding) -> list[str]:
        key = case.summary.key
        co_runner = [key.co_runner or NO_CO_RUNNER] * has_co_runner
        settings = [key.setting_words or CURRENT] * has_settings
        names = (case.full_mapping, *co_runner, *settings, case.governor)
        return [str(case.number), *map(one_line, names)]

    names = ("mapping", *["co-runner"] * has_co_runner, *["settings"] * has_settings, "governor")
    return (Column("#"), *(Column(name, right=False) for name in names)), cells


def division_table(table: TableFindings) -> Table | None:
    """Return how the work of each case was divided, as means over its runs; None if unknown."""
    cases = [case for case in table.cases if raw_division(case)]
    if not cases:
        return None
    head, identity = _head(table)
    kinds = _kinds_of(cases, "cpu_share")
    waited = _kinds_of(cases, "waited")
    columns = (
        *head,
        Column("imbalance", "%"),
        *(Column(f"{kind}-threads without work", "%") for kind in waited),
        *(Column(f"CPU time on {kind}", "%") for kind in kinds),
    )
    cells = tuple(
        (
            *identity(case),
            _per_cent(case.summary.stats["imbalance"].mean),
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


def reach_table(table: TableFindings) -> Table | None:
    """Return how much of its cores' speed each case reached; None where nothing tells speeds."""
    rows = [(case, reach) for case in table.cases for reach in case.reaches]
    known = [reach for _, reach in rows if isinstance(reach, Reach)]
    if not known:
        return None
    head, identity = _head(table)
    by_all = any(reach.bound.speeds == "all cores" for reach in known)
    has_cap = any(reach.equal_shares for reach in known)
    notes, decimals = Notes(), time_decimals(reach.perfect_s for reach in known)
    columns = (
        *head,
        Column("cores", right=False),
        *([Column("speeds of", right=False)] * by_all),
        *(Column("perfect balance", "s"), Column("reached (95 %)", "%")),
        *([Column("equal shares (95 %)", "%")] * has_cap),
        Column("notes", right=False),
    )

    def cells(case: CaseFinding, reach: Reach | NoReach) -> list[str]:
        if isinstance(reach, NoReach):
            return [NOTHING] * (3 + by_all + has_cap) + [notes.marker(why_text(reach))]
        cap = reach.equal_shares
        shares = [reach.reached, *([cap] * has_cap)]
        return [
            team_text(reach),
            *([reach.bound.speeds] * by_all),
            fixed(reach.perfect_s, decimals),
            *(share_text(share) if share else NOTHING for share in shares),
            " ".join(map(notes.marker, reach_notes(reach, waiting(case)))) or NOTHING,
        ]

    rendered = tuple((*identity(case), *cells(case, reach)) for case, reach in rows)
    return Table(
        f"{table.title}: reached of what the cores could do", columns, rendered, notes.listed()
    )


def price_table(table: TableFindings) -> Table | None:
    """Return the energy of each case by core kind, as means over its runs; None if unknown."""
    cases = [case for case in table.cases if case.summary.by_kind(ENERGY_BY_KIND)]
    if not cases:
        return None
    head, identity = _head(table)
    kinds = _kinds_of(cases, ENERGY_BY_KIND)
    columns = (
        *head,
        *(Column(f"on {kind}-cores", "J") for kind in kinds),
        Column("on all cores", "J"),
        Column("of the package", "%"),
    )
    # A kind that hardly took part makes no number of the others longer.
    decimals = energy_decimals(
        max(case.summary.means_by_kind(ENERGY_BY_KIND).values()) for case in cases
    )
    return Table(
        caption=f"{table.title}: energy by core kind",
        columns=columns,
        cells=tuple((*identity(case), *_price_cells(case, kinds, decimals)) for case in cases),
        notes=(*_partly_known(cases), ("", OF_CORES)),
        raw_values=tuple(raw_price(case) for case in cases),
    )


def _price_cells(case: CaseFinding, kinds: Sequence[str], decimals: int) -> tuple[str, ...]:
    means = _means_of(case, ENERGY_BY_KIND, kinds)
    # A kind that is missing makes the sum one of something else.
    of_all, package = sum(means), case.summary.stats["energy_pkg_j"].mean
    return (*(fixed(mean, decimals) for mean in (*means, of_all)), _per_cent(of_all / package))


def _kinds_of(cases: Iterable[CaseFinding], field: str) -> list[str]:
    """Return the core kinds of which any case has a measure, best first."""
    known = {kind for case in cases for kind in case.summary.by_kind(field)}
    return [kind for kind in KIND_ORDER if kind in known]


def _means_of(case: CaseFinding, field: str, kinds: Iterable[str]) -> list[float]:
    means = case.summary.means_by_kind(field)
    return [means.get(kind, math.nan) for kind in kinds]


def _per_cent(share: float) -> str:
    return fixed(100 * share, 1)


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
    decimals = time_decimals(case.summary.stats["co_runner_elapsed_s"].mean for case in cases)
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
        *(fixed(time, decimals) for time in times),
        fixed(measures["co_runner_rate_hz"].mean, 2),
        *co_runner,
    )


def _ratio(difference: Difference | None, marker: Callable[[], str]) -> tuple[str, str]:
    if difference is None:
        return f"n/a ({marker()})", NOTHING
    return ratio_text(difference.ratio), ratio_interval(difference)


class Beyond(NamedTuple):
    """The answers beyond one configuration, with the cases that they are about.

    A gain within the margin, a share, is none.
    """

    answers: Answers
    cases: Sequence[Case]
    margin: float


def beyond_lines(beyond: Beyond) -> list[str]:
    """Return what each lever changes, and how far one mapping for all is behind."""
    levers = (f"{LEVERS}: {text}" for text in lever_texts(beyond.answers.levers))
    for_all = one_for_all_texts(beyond.answers.one_for_all)
    return [*levers, *(f"{ONE_FOR_ALL}: {text}" for text in for_all)]


def beyond_tables(beyond: Beyond) -> list[Table]:
    """Return the tables of levers and of best cases."""
    return [*levers_tables(beyond.answers.levers), *best_tables(*beyond)]


def levers_tables(levers: Sequence[Lever]) -> list[Table]:
    """Return a table of each lever: its pairs under the default mapping, others as one range.

    Those of mappings are in the grid.
    """
    of_changes = grouped(
        (lever for lever in levers if lever.factor != "mapping"),
        lambda lever: (lever.factor, lever.level, lever.reference),
    )
    tables = (_lever_table(alike) for alike in of_changes)
    # Where neither level was compared the line of the lever says so.
    return [table for table in tables if len(table.columns) > 1]


def _lever_table(levers: Sequence[Lever]) -> Table:
    """Return the table of one change, whose levers are those under the default mapping and not."""
    shown = [pair for lever in levers if lever.is_default for pair in lever.pairs]
    others = [pair for lever in levers if not lever.is_default for pair in lever.pairs]
    every = [*shown, *others]
    measured = [name for name in objectives_of(every) if range_of(every, name) is not None]
    with_interval = {
        objective
        for objective in measured
        if any(_lever_interval([pair], objective) for pair in every)
    }
    columns = [Column("with all else equal", right=False)]
    for objective in measured:
        columns.append(Column(objective.short, "%"))
        columns += [Column("95 % interval", "%")] * (objective in with_interval)
    # What all of them have is not named.
    names = names_of([pair.reference for pair in shown])
    rows = [(names[pair.reference.key.case_id], [pair]) for pair in shown]
    if others:
        rows.append((f"other mappings: {pairs_text(others)}", others))
    cells = [(name, *_lever_cells(pairs, measured, with_interval)) for name, pairs in rows]
    title = f"{name_of_factor(levers[0].factor)}: {change_of_lever(levers[0])}"
    return Table(title, tuple(columns), tuple(cells))


def _lever_cells(
    pairs: Sequence[LeverPair], measured: Sequence[Objective], with_interval: Collection[Objective]
) -> Iterator[str]:
    for objective in measured:
        found = range_of(pairs, objective)
        if found is None:
            yield pairs[0].missing[objective]
        else:
            yield percents(Interval(found.low, found.high)).removesuffix(" %")
        if objective in with_interval:
            yield _lever_interval(pairs, objective) or NOTHING


def _lever_interval(pairs: Sequence[LeverPair], objective: Objective) -> str:
    found = range_of(pairs, objective)
    if found is None or found.interval is None:
        return ""
    return percent_range(found.interval.low - 1, found.interval.high - 1).removesuffix(" %")


def best_tables(answers: Answers, cases: Sequence[Case], margin: float) -> list[Table]:
    """Return a table of the programs' best cases, with their gains, for time and for energy."""
    found = _bettered(answers, margin)
    tables = [
        _best_table([best for best in found if best.objective == objective], cases, label)
        for objective, label in BEST_LABELS.items()
    ]
    return [table for table in tables if table.cells]


def _bettered(answers: Answers, margin: float) -> list[BestCase]:
    """Return the best cases that gain more than the margin on what others are compared with."""
    best = (best for best in answers.best if best.objective in BEST_LABELS)
    return [case for case in best if case.gains(margin)]


def _best_table(found: Sequence[BestCase], cases: Sequence[Case], label: str) -> Table:
    names = names_in_programs(cases)
    columns = (
        Column("best case", right=False),
        Column("value"),
        Column("change", "%"),
        Column("95 % interval", "%"),
        Column("against", right=False),
        Column("not distinguishable"),
    )
    cells = tuple(
        (
            names[best.case.key.case_id],
            value_of(best),
            NOTHING if best.effect is None else signed_change(best.effect.ratio),
            NOTHING if best.interval is None else percents(best.interval).removesuffix(" %"),
            reference_of(best),
            rivals_cell(best),
        )
        for best in found
    )
    return Table(label, columns, cells)


def launch_lines(answers: Answers, cases: Sequence[Case], margin: float) -> list[tuple[str, str]]:
    """Return how to start the best cases: a name and a command line, each once."""
    names = names_in_programs(cases)
    lines = {best.case.key.case_id: best.line for best in _bettered(answers, margin) if best.line}
    return [
        (one_line(names[case_id], None), one_line(line, None)) for case_id, line in lines.items()
    ]
