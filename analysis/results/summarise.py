"""From runs to cases: means, standard deviations, and what was not averaged and why. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.records.fields import (
    COURSE,
    ENERGY_BY_KIND,
    ENERGY_OF_KIND,
    MEASURES,
    METRIC,
    MORE_MEASURES,
    ROW_FACTS,
    ROW_KEYS,
    TABLE_KEYS,
    TEAM_CPU_S,
    TableKey,
)
from analysis.records.metrics import METRIC_FACTS, METRIC_REASON, Metric, metrics_in
from analysis.records.runs import Runs
from analysis.results.case_summary import PLACEMENTS, CaseSummary, Moments, Neighbour
from analysis.results.metrics import why_not_averaged
from runners.records.disturbances import SEPARATOR, SHARED
from runners.records.placed_runs import PROVED, UNPROVED, UNSEEN, PlacedRuns
from runners.records.status import OK, PLACEMENT_VIOLATED, SKIPPED

_KEYS = ("table_number", *TABLE_KEYS, *ROW_KEYS, "case_id")
# Whose reasons stand under tables, beside those of runs that are not averaged.
_EXPLAINED = (
    *(*MEASURES, ENERGY_BY_KIND, *ENERGY_OF_KIND.values(), "vcpu_migrations"),
    *("beside_elapsed_s", *PLACEMENTS, "driver"),
)
_VERDICTS = [f"{name}_verdict" for name in PLACEMENTS]

_New = TypeVar("_New")
Mask = NDArray[np.bool_]


def summarise(runs: Runs) -> list[CaseSummary]:
    """Return the cases of runs, in the order of the tables."""
    frame = runs.frame
    keys = frame.groupby(list(_KEYS), sort=False, dropna=False, observed=True)
    cases = _Cases(frame, keys.ngroup().to_numpy(), keys.ngroups)
    skipped = (frame["status"] == SKIPPED).to_numpy()
    ok = (frame["status"] == OK).to_numpy()
    counted = ~skipped & ~frame["warmup"].to_numpy()
    good, bad = counted & ok, counted & ~ok
    metrics = _metrics(cases, good)
    columns: dict[str, list[Any]] = {
        **_facts(cases),
        **_times(cases, good),
        "n": cases.how_many(good).tolist(),
        "no_schedule": cases.first_runs(["no_schedule"])["no_schedule"].tolist(),
        "measures": _measures(cases, good, metrics),
        "metrics": metrics,
        "excluded": _excluded(cases, bad),
        "reasons": _reasons(cases, bad, runs.reasons, metrics),
        "skip_reason": _skip_reasons(cases, skipped),
        "drivers": _distinct(cases, good, "driver"),
        "governors_read": _distinct(cases, good, "governor_read"),
        "energy_aware_read": _distinct(cases, good, "sched_energy_aware"),
        "schedulers_read": _distinct(cases, good, "sched_ext_scheduler"),
        "implementations": _distinct(cases, good, "implementation"),
        "residency": _means_by_kind(cases, good, "residency_{}", runs.kinds),
        "freq_ghz": _means_by_kind(cases, good, "freq_{}_ghz", runs.kinds),
        "cpu_share": _means_by_kind(cases, good, "cpu_share_{}", runs.kinds),
        "waited": _moments_by_kind(cases, good, "waited_{}", runs.kinds),
        "energy_by_kind": _moments_by_kind(cases, good, "energy_by_kind_{}_j", runs.kinds),
        "team_cpu_s": _in_order(cases, good, TEAM_CPU_S),
        "course": _in_order(cases, good, COURSE),
        "unproved": _unproved(cases, good),
        "placed": _placed(cases, good, bad),
        "disturbed": _disturbed(cases, good),
        "neighbours": _neighbours(cases, good),
    }
    rows = zip(*columns.values(), strict=True)
    summaries = [CaseSummary(**dict(zip(columns, row, strict=True))) for row in rows]
    return sorted(summaries, key=lambda case: case.order)


@dataclass(frozen=True)
class _Cases:
    """Runs and the numbers of their cases, which count from 0 as their first runs appear."""

    frame: pd.DataFrame
    number: NDArray[np.integer[Any]]
    count: int

    def first_runs(self, names: list[str]) -> pd.DataFrame:
        """Return some columns of each case's first run."""
        _, first = np.unique(self.number, return_index=True)
        return self.frame[names].take(first)

    def how_many(self, where: Mask) -> NDArray[np.intp]:
        """Return how many of these runs each case has."""
        return np.bincount(self.number[where], minlength=self.count)

    def combinations(self, where: Mask, *names: str) -> Iterator[tuple[Any, ...]]:
        """Return what these runs have in some columns, each combination of a case once.

        It is the case's number, the columns' values, and how many runs have them. Runs without a
        value in the last column are left out.
        """
        where = where & self.frame[names[-1]].notna().to_numpy()
        # Most columns are empty in most studies, and pandas takes milliseconds for each.
        if not where.any():
            return iter(())
        part = self.frame.loc[where, list(names)]
        part.insert(0, "number", self.number[where])
        grouped = part.groupby(["number", *names], sort=False, dropna=False, observed=True)
        return grouped.size().reset_index(name="runs").itertuples(index=False, name=None)

    def new_for_each(self, empty: Callable[[], _New]) -> list[_New]:
        """Return an empty thing for each case."""
        return [empty() for _ in range(self.count)]


def _facts(cases: _Cases) -> dict[str, list[Any]]:
    """Return each case's identity and the facts of its row, from its first run."""
    first = cases.first_runs(list(dict.fromkeys((*_KEYS, *ROW_FACTS))))
    facts = {str(name): [_plain(value) for value in column] for name, column in first.items()}
    tables = zip(*(facts.pop(name) for name in ("table_number", *TABLE_KEYS)), strict=True)
    return {"table": [TableKey(*of) for of in tables], "number": facts.pop("case_number"), **facts}


def _plain(value: object) -> str | int | None:
    """Return a text or a whole number of a frame; None where it has none."""
    if isinstance(value, str):
        return value
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _metrics(cases: _Cases, good: Mask) -> list[list[Metric]]:
    """Return the metrics of each case, in the app's order; those without facts come last."""
    texts = _distinct(cases, good, METRIC_FACTS)
    metrics = [metrics_in(of_case) for of_case in texts]
    # Earlier records have nothing but numbers.
    prefix = METRIC.format("")
    columns = [name for name in map(str, cases.frame) if name.startswith(prefix)]
    counts = cases.frame.loc[good, columns].groupby(cases.number[good], sort=False).count()
    for number, row in zip(counts.index.tolist(), counts.to_numpy().tolist(), strict=True):
        known = {metric.field for metric in metrics[number]}
        metrics[number] += [
            Metric(name.removeprefix(prefix))
            for name, count in zip(columns, row, strict=True)
            if count and name not in known
        ]
    return metrics


def _measures(
    cases: _Cases, good: Mask, metrics: Sequence[Sequence[Metric]]
) -> list[dict[str, Moments]]:
    """Return the moments of each case: of all measures, and of its own metrics."""
    fields = {metric.field for of_case in metrics for metric in of_case}
    names = (*MEASURES, *MORE_MEASURES, *fields.intersection(cases.frame.columns))
    moments = _moments(cases, good, {name: name for name in names})
    return [
        {name: of[name] for name in (*MEASURES, *MORE_MEASURES)}
        | {
            metric.field: of.get(metric.field, Moments()) if len(metric.units) == 1 else Moments()
            for metric in of_case
        }
        for of, of_case in zip(moments, metrics, strict=True)
    ]


def _moments(cases: _Cases, good: Mask, names: Mapping[str, str]) -> list[dict[str, Moments]]:
    """Return the moments of some columns over each case's runs, by the names for the columns."""
    numbers = pd.RangeIndex(cases.count)
    columns = cases.frame.loc[good, list(names)]
    if not columns.notna().to_numpy().any():
        return [dict.fromkeys(names.values(), Moments()) for _ in range(cases.count)]
    values = columns.groupby(cases.number[good], sort=False)
    mean, sd = values.mean().reindex(numbers), values.std(ddof=1).reindex(numbers)
    known = values.count().reindex(numbers, fill_value=0)
    of_cases: list[dict[str, Moments]] = cases.new_for_each(dict)
    for column, name in names.items():
        of_runs = (of[column].tolist() for of in (known, mean, sd))
        for of_case, each in zip(of_cases, zip(*of_runs, strict=True), strict=True):
            of_case[name] = Moments(*each)
    return of_cases


def _times(cases: _Cases, good: Mask) -> dict[str, list[float]]:
    numbers = pd.RangeIndex(cases.count)
    times = cases.frame.loc[good, "elapsed_s"].groupby(cases.number[good], sort=False)
    return {
        "time_median_s": times.median().reindex(numbers).tolist(),
        "time_min_s": times.min().reindex(numbers).tolist(),
        "time_max_s": times.max().reindex(numbers).tolist(),
    }


def _unproved(cases: _Cases, good: Mask) -> list[dict[str, int]]:
    """Return in how many runs each placement was not proved."""
    counts = [
        cases.how_many(good & (cases.frame[of] == UNPROVED).to_numpy()).tolist() for of in _VERDICTS
    ]
    return [dict(zip(PLACEMENTS, of_case, strict=True)) for of_case in zip(*counts, strict=True)]


def _placed(cases: _Cases, good: Mask, bad: Mask) -> list[PlacedRuns]:
    """Return in how many runs threads, with a guest's CPUs and a co-runner if any, were proved."""
    threads, *others = (cases.frame[name] for name in _VERDICTS)
    is_unproved, is_proved = threads == UNPROVED, threads == PROVED
    for of in others:
        is_unproved |= of == UNPROVED
        is_proved &= of.isna() | (of == PROVED)
    unproved, proved = good & is_unproved.to_numpy(), good & is_proved.to_numpy()
    unseen = good & (threads == UNSEEN).to_numpy()
    violated = bad & (cases.frame["status"] == PLACEMENT_VIOLATED).to_numpy()
    counts = [cases.how_many(of).tolist() for of in (proved, unproved, violated, unseen)]
    return [PlacedRuns(*of_case) for of_case in zip(*counts, strict=True)]


def _excluded(cases: _Cases, bad: Mask) -> list[dict[str, int]]:
    excluded: list[dict[str, int]] = cases.new_for_each(dict)
    for number, status, runs in cases.combinations(bad, "status"):
        excluded[number][status] = runs
    return excluded


def _disturbed(cases: _Cases, good: Mask) -> list[dict[str, int]]:
    counts: list[dict[str, int]] = cases.new_for_each(dict)
    for number, text, runs in cases.combinations(good, "disturbed"):
        for what in text.split(SEPARATOR) if isinstance(text, str) else ():
            counts[number][what] = counts[number].get(what, 0) + runs
    return counts


def _neighbours(cases: _Cases, good: Mask) -> list[dict[str, Neighbour]]:
    """Return the other tasks that took most CPU time in runs that shared their CPUs."""
    found: list[dict[str, Neighbour]] = cases.new_for_each(dict)
    for number, disturbed, text, runs in cases.combinations(good, "disturbed", "neighbour"):
        if isinstance(text, str) and isinstance(disturbed, str) and SHARED in disturbed:
            seconds, _, command = text.partition(" ")
            before = found[number].get(command, Neighbour(0, 0.0))
            most_s = max(before.most_s, float(seconds))
            found[number][command] = Neighbour(before.runs + runs, most_s)
    return found


def _reasons(
    cases: _Cases, bad: Mask, absent: pd.DataFrame, metrics: Sequence[Sequence[Metric]]
) -> list[dict[str, list[str]]]:
    """Return the reasons by status, for runs that went wrong, then by measure and metric."""
    reasons: list[dict[str, list[str]]] = cases.new_for_each(dict)
    for number, status, reason, _ in cases.combinations(bad, "status", "reason"):
        if isinstance(reason, str) and reason:
            reasons[number].setdefault(status, []).append(reason)
    by_case: dict[str, dict[str, list[str]]] = {}
    printed = {METRIC_REASON.format(of.name): of.field for each in metrics for of in each}
    explained = absent[absent["field"].isin([*_EXPLAINED, *printed])]
    for case_id, field, reason in explained.itertuples(index=False, name=None):
        name = printed.get(field, field)
        by_case.setdefault(case_id, {}).setdefault(name, []).append(reason)
    for number, case_id in enumerate(cases.first_runs(["case_id"])["case_id"]):
        of_case = by_case.get(case_id, {})
        of_case |= {of.field: list(why) for of in metrics[number] if (why := why_not_averaged(of))}
        fields = (*_EXPLAINED, *(metric.field for metric in metrics[number]))
        reasons[number] |= {field: of_case[field] for field in fields if field in of_case}
    return reasons


def _skip_reasons(cases: _Cases, skipped: Mask) -> list[str | None]:
    """Return the last reason for which a case was left out, None for one that was not."""
    reasons: list[str | None] = [None] * cases.count
    texts = cases.frame["reason"][skipped]
    for number, reason in zip(cases.number[skipped], texts, strict=True):
        reasons[number] = reason if isinstance(reason, str) else ""
    return reasons


def _distinct(cases: _Cases, good: Mask, name: str) -> list[list[str]]:
    """Return the texts that a case's runs have in a column, in the order of their appearance."""
    distinct: list[list[str]] = cases.new_for_each(list)
    for number, text, _ in cases.combinations(good, name):
        if isinstance(text, str) and text:
            distinct[number].append(text)
    return distinct


def _means_by_kind(
    cases: _Cases, good: Mask, pattern: str, kinds: tuple[str, ...]
) -> list[dict[str, float]]:
    """Return the mean of each core kind's numbers over the runs that have one."""
    moments = _moments_by_kind(cases, good, pattern, kinds)
    return [{kind: of.mean for kind, of in of_case.items()} for of_case in moments]


def _moments_by_kind(
    cases: _Cases, good: Mask, pattern: str, kinds: tuple[str, ...]
) -> list[dict[str, Moments]]:
    """Return the moments of each core kind's numbers, of the kinds of which a case has some."""
    moments = _moments(cases, good, {pattern.format(kind): kind for kind in kinds})
    return [{kind: of for kind, of in of_case.items() if of.n} for of_case in moments]


def _in_order(cases: _Cases, good: Mask, pattern: str) -> list[list[dict[str, float]]]:
    """Return the means by core kind for each thread or quarter that has numbers."""
    lists: list[list[dict[str, float]]] = cases.new_for_each(list)
    prefix = pattern.format("")
    names = [name for name in cases.frame.columns if name.startswith(prefix)]
    means = cases.frame.loc[good, names].groupby(cases.number[good], sort=False).mean()
    for number, row in zip(means.index.tolist(), means.to_numpy().tolist(), strict=True):
        by_number: dict[int, dict[str, float]] = {}
        for name, mean in zip(names, row, strict=True):
            if not math.isnan(mean):
                at, kind = name.removeprefix(prefix).split(" ")
                by_number.setdefault(int(at), {})[kind] = mean
        lists[number] = [by_number[at] for at in sorted(by_number)]
    return lists
