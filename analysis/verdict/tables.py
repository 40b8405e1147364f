"""The numbers behind a verdict: tables of costs and of divided work, and all of them as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from analysis.format.numbers import (
    ENERGY_DECIMALS,
    NOTHING,
    ends,
    finite,
    fixed,
    metric_decimals,
    time_decimals,
)
from analysis.format.table import Column, Table
from analysis.measures import BY_FIELD, ENERGY_BY_KIND, Stats, csv_column
from analysis.objectives import EDP, ENERGY, TIME, Objective
from analysis.statistics.difference import Difference
from analysis.statistics.sample import Interval
from analysis.verdict.model import CaseFinding, Comparison, TableFindings
from analysis.verdict.phrases import WIDEST
from analysis.verdict.price import in_some_runs
from base.text import one_line
from configs.core_kinds import KIND_ORDER
from configs.scheduling import CURRENT
from configs.study import NOTHING as NOTHING_BESIDE

RATIO_DECIMALS = 3
MAX_RATIO_DECIMALS = 9


def _head_columns(table: TableFindings) -> tuple[Column, ...]:
    """Return the columns of a row's identity; who places threads is one where a study asks."""
    asked, beside = _asked(table)
    names = ("mapping", *beside, *asked, "governor")
    return Column("#"), *(Column(name, right=False) for name in names)


def _asked(table: TableFindings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the columns of scheduling and co-runner, where a case has them."""
    scheduled = any(case.summary.key.scheduling for case in table.cases)
    has_co_runner = any(case.summary.key.beside for case in table.cases)
    return ("scheduling",) * scheduled, ("beside",) * has_co_runner


def _heads(table: TableFindings) -> dict[str, tuple[str, ...]]:
    """Return the cells of these columns of each case, by its case_id."""
    asked, has_co_runner = _asked(table)
    heads = {}
    for case in table.cases:
        scheduling = (one_line(case.summary.key.scheduling or CURRENT),) if asked else ()
        beside = (one_line(case.summary.key.beside or NOTHING_BESIDE),) if has_co_runner else ()
        mapping, governor = one_line(case.full_mapping), one_line(case.governor)
        heads[case.case_id] = (str(case.number), mapping, *beside, *scheduling, governor)
    return heads


def objective_decimals(objective: Objective, values: Iterable[float]) -> int:
    """Return the decimals of an objective's values in one table."""
    if objective in (ENERGY, EDP):
        return ENERGY_DECIMALS
    return time_decimals(values) if objective == TIME else metric_decimals(values)


def division_table(table: TableFindings) -> Table | None:
    """Return how the work of each case was divided, as means over its runs; None if unknown."""
    cases = [
        case for case in table.cases if case.summary.by_kind("cpu_share") or _imbalance(case).n
    ]
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
            _per_cent(_imbalance(case).mean),
            *map(_per_cent, _means_of(case, "waited", waited)),
            *map(_per_cent, _means_of(case, "cpu_share", kinds)),
        )
        for case in cases
    )
    return Table(f"{table.title}: how the work was divided", columns, cells)


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
        notes=tuple(
            ("", f"#{case.number}: means of some runs: {some}")
            for case in cases
            if (some := in_some_runs(case))
        ),
        raw_values=tuple(raw_price(case) for case in cases),
    )


def _price_cells(case: CaseFinding, kinds: Sequence[str]) -> tuple[str, ...]:
    means = _means_of(case, ENERGY_BY_KIND, kinds)
    # A kind that is missing makes the sum one of something else.
    of_all, package = sum(means), case.summary.stats[ENERGY.field].mean
    return (*(fixed(mean, 2) for mean in (*means, of_all)), _per_cent(of_all / package))


def raw_price(case: CaseFinding) -> dict[str, Any]:
    """Return a case's joules by core kind, unrounded; a kind without a number is missing."""
    return _identity(case) | {
        csv_column(BY_FIELD[ENERGY_BY_KIND].column(kind), "mean"): finite(mean)
        for kind, mean in case.summary.means_by_kind(ENERGY_BY_KIND).items()
    }


def _kinds_of(cases: Iterable[CaseFinding], field: str) -> list[str]:
    """Return the core kinds of which any case has a measure, best first."""
    known = {kind for case in cases for kind in case.summary.by_kind(field)}
    return [kind for kind in KIND_ORDER if kind in known]


def _means_of(case: CaseFinding, field: str, kinds: Iterable[str]) -> list[float]:
    means = case.summary.means_by_kind(field)
    return [means.get(kind, math.nan) for kind in kinds]


def _imbalance(case: CaseFinding) -> Stats:
    return case.summary.stats["imbalance"]


def _per_cent(share: float) -> str:
    return NOTHING if math.isnan(share) else fixed(100 * share, 1)


def without_comparison(case: CaseFinding, objective: Objective) -> tuple[str, str, str]:
    """Return ratio, interval and word of a case that has no comparison in an objective."""
    if objective not in case.samples:
        return NOTHING, NOTHING, NOTHING
    if not case.is_comparable:
        return NOTHING, NOTHING, "not compared"
    return ("1", NOTHING, "baseline") if case.is_baseline else (NOTHING, NOTHING, NOTHING)


def ratio_decimals(ratio: float) -> int:
    """Return the decimals of a ratio: three, or more so that a small one has three digits."""
    if not 0 < ratio < 1:
        return RATIO_DECIMALS
    return min(MAX_RATIO_DECIMALS, max(RATIO_DECIMALS, 2 - math.floor(math.log10(ratio))))


def ratio_text(ratio: float) -> str:
    """Return a ratio with the decimals of `ratio_decimals`."""
    return fixed(ratio, ratio_decimals(ratio))


def ratio_interval(difference: Difference) -> str:
    """Return a ratio's interval; nothing without spread, or where it says next to nothing."""
    interval = difference.known_interval()
    if interval is None or not interval.high < WIDEST * interval.low:
        return NOTHING
    return interval_of(interval, ratio_decimals(interval.low))


def outcome_text(comparison: Comparison) -> str:
    """Return a comparison's outcome, with how many more repetitions would decide."""
    if comparison.outcome != "undecided" or not comparison.more:
        return comparison.outcome
    return f"undecided (+{comparison.more.half} to {comparison.more.most})"


def interval_of(interval: Interval | None, decimals: int) -> str:
    """Return both ends of an interval with these decimals, or more where both would look equal.

    Nothing where there is none.
    """
    if interval is None:
        return NOTHING
    both = ends(interval.low, interval.high, lambda end, more: fixed(end, decimals + more))
    return " to ".join(both)


def raw_statistics(case: CaseFinding, objective: Objective) -> dict[str, Any]:
    """Return what a case's runs say in one objective, unrounded; None for what they do not say."""
    sample = case.samples[objective]
    slow = case.slow if objective == TIME else None
    return _identity(case) | {
        "objective": objective,
        "unit": objective.unit,
        "n": sample.n or None,
        "lost": case.lost.count if case.lost.is_known else None,
        "mean": sample.mean,
        "mean_low": sample.mean_interval.low if sample.mean_interval else None,
        "mean_high": sample.mean_interval.high if sample.mean_interval else None,
        "median": finite(sample.median),
        "median_low": sample.median_interval.low if sample.median_interval else None,
        "median_high": sample.median_interval.high if sample.median_interval else None,
        "sd": finite(sample.sd),
        "cv": finite(sample.cv),
        "modes": [
            {"runs": mode.count, "about": math.exp(mode.value)}
            for mode in (case.modes[objective].modes if objective in case.modes else ())
        ],
        "slow_runs": slow.count if slow else None,
        "slow_least": slow.least if slow and slow.count else None,
        "slow_most": slow.most if slow and slow.count else None,
        "outliers": [
            {"repetition": outlier.repetition, "value": outlier.value, "score": outlier.score}
            for outlier in case.outliers
            if outlier.objective == objective
        ],
    }


def raw_comparisons(case: CaseFinding) -> dict[str, Any]:
    """Return a case's comparisons, unrounded, by names that begin with the objective."""
    values: dict[str, Any] = _identity(case) | {
        "is_baseline": case.is_baseline,
        "on_front": case.on_front,
        "runs_proved": case.placed.proved,
        "runs_unproved": case.placed.unproved,
        "runs_violated": case.placed.violated,
        "placement_usable": case.placed.usable,
        "runs_lost": case.lost.count if case.lost.is_known else None,
        "lost_by_cause": dict(case.lost.by_cause),
        "usable": case.lost.usable,
        "in_turn": not case.out_of_turn,
    }
    values |= {f"{objective}_outcome": "several modes" for objective in case.unclear}
    for objective, comparison in case.comparisons.items():
        difference = comparison.difference
        interval = difference.known_interval()
        values |= {
            f"{objective}_ratio": difference.ratio,
            f"{objective}_ratio_low": interval.low if interval else None,
            f"{objective}_ratio_high": finite(interval.high) if interval else None,
            f"{objective}_estimand": difference.estimand,
            f"{objective}_cut_from_each_end": difference.cut,
            f"{objective}_boots_or_days": difference.units,
            f"{objective}_paired": difference.paired,
            f"{objective}_n": difference.n,
            f"{objective}_df": difference.df,
            f"{objective}_p_different": comparison.p_different,
            f"{objective}_p_outside_margin": comparison.p_outside,
            f"{objective}_outcome": comparison.outcome,
            f"{objective}_more_repetitions_half": comparison.more.half if comparison.more else None,
            f"{objective}_more_repetitions": comparison.more.most if comparison.more else None,
            f"{objective}_mean_ratio": comparison.mean_ratio,
            f"{objective}_spread_times": comparison.spread_times,
            f"{objective}_in_other_attempts": comparison.across_attempts,
        }
    if "time" in case.comparisons:
        values["time_p_slow"] = case.comparisons["time"].p_slow
    return values


def _identity(case: CaseFinding) -> dict[str, Any]:
    return {
        "case_id": case.case_id,
        "case_number": case.number,
        "mapping": one_line(case.mapping),
        "vcpu_mapping": case.summary.key.vcpu_mapping,
        "scheduling": one_line(case.summary.key.scheduling) or None,
        "governor": one_line(case.governor),
    }
