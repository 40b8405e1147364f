"""From runs to cases: means, standard deviations, and what was not averaged and why. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pinstudy.analysis.measures import MEASURE_OF, PLAIN, PROFILES, SHOWN, UNMEASURED, Stats
from pinstudy.analysis.records.keys import (
    ROW_FACTS,
    ROW_KEYS,
    TABLE_KEYS,
    CaseKey,
    TableKey,
    settings_of_texts,
)
from pinstudy.analysis.records.metrics import METRIC, METRIC_REASON, METRICS, Metric, merged
from pinstudy.analysis.records.runs import Runs
from pinstudy.analysis.results.case import (
    PLACEMENTS,
    Case,
    Circumstances,
    Neighbour,
    why_not_averaged,
)
from pinstudy.runners.records.placed_runs import PROVED, UNPROVED, UNSEEN, PlacedRuns
from pinstudy.runners.records.status import OK, PLACEMENT_VIOLATED, SKIPPED

_KEYS = ("table_number", *TABLE_KEYS, *ROW_KEYS, "case_id")
# Whose reasons stand under tables, beside those of runs that are not averaged; a core kind may lack
# a measure alone.
_EXPLAINED = (
    *(
        field
        for measure in SHOWN
        for field in (measure.field, *(f"{measure.field}.{kind}" for kind in measure.kinds))
    ),
    *PLACEMENTS,
    "driver",
)
# Measures with a median, a least and a greatest value.
_WITH_RANGES = {name for name, measure in MEASURE_OF.items() if "median" in measure.statistics}
_VERDICTS = [f"{name}_verdict" for name in PLACEMENTS]

_New = TypeVar("_New")
Mask = NDArray[np.bool_]


def summarise(runs: Runs) -> list[Case]:
    """Return the cases of runs, in the order of the tables."""
    frame = runs.frame
    keys = frame.groupby(list(_KEYS), sort=False, dropna=False, observed=True)
    cases = _Cases(frame, keys.ngroup().to_numpy(), keys.ngroups)
    skipped = (frame["status"] == SKIPPED).to_numpy()
    ok = (frame["status"] == OK).to_numpy()
    counted = ~skipped & ~frame["warmup"].to_numpy()
    good, bad = counted & ok, counted & ~ok
    metrics = _metrics(cases, good)
    circumstances: dict[str, list[Any]] = {
        "excluded": _excluded(cases, bad),
        "reasons": _reasons(cases, bad, runs.reasons, metrics),
        "skip_reason": _skip_reasons(cases, skipped),
        "drivers": _distinct(cases, good, "driver"),
        "governors_read": _distinct(cases, good, "governor_read"),
        "energy_aware_read": _distinct(cases, good, "sched_energy_aware"),
        "schedulers_read": _distinct(cases, good, "sched_ext_scheduler"),
        "power_supplies": _distinct(cases, good, "power_supply"),
        "implementations": _distinct(cases, good, "implementation"),
        "unproved": _unproved(cases, good),
        "placed": _placed(cases, good, bad),
        "disturbed": _disturbed(cases, good),
        "neighbours": _neighbours(cases, good),
    }
    columns = zip(
        _case_keys(cases),
        cases.how_many(good).tolist(),
        _stats(cases, good, metrics),
        metrics,
        _profiles(cases, good),
        (
            Circumstances(**dict(zip(circumstances, row, strict=True)))
            for row in zip(*circumstances.values(), strict=True)
        ),
        strict=True,
    )
    return sorted((Case(*row) for row in columns), key=lambda case: case.key.order)


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
            return
        columns = [_numbered(self.frame[name], where) for name in names]
        codes = np.column_stack([self.number[where], *(codes for codes, _ in columns)])
        for row, runs in Counter(map(tuple, codes.tolist())).items():
            number, *found = row
            values = zip(found, columns, strict=True)
            yield number, *(None if code < 0 else known[code] for code, (_, known) in values), runs

    def columns_of(self, pattern: str) -> list[str]:
        """Return the frame's columns whose names a pattern makes."""
        prefix = pattern.format("")
        return [name for name in map(str, self.frame) if name.startswith(prefix)]

    def new_for_each(self, empty: Callable[[], _New]) -> list[_New]:
        """Return an empty thing for each case."""
        return [empty() for _ in range(self.count)]


def _numbered(column: pd.Series[Any], where: Mask) -> tuple[Any, Any]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy()[where], column.cat.categories
    # The values may be tuples, of which an index of pandas would make columns.
    return pd.factorize(column.to_numpy()[where])


def _case_keys(cases: _Cases) -> list[CaseKey]:
    facts = ("no_schedule", *ROW_FACTS)
    first = cases.first_runs(list(dict.fromkeys((*_KEYS, *facts))))
    columns = {str(name): [_plain(value) for value in column] for name, column in first.items()}
    tables = zip(*(columns[name] for name in ("table_number", *TABLE_KEYS)), strict=True)
    keys = {
        "case_id": columns["case_id"],
        "table": [TableKey(*key) for key in tables],
        "number": columns["case_number"],
        **{name: columns[name] for name in ("mapping", "governor", *facts)},
        "settings": [settings_of_texts(texts or ()) for texts in columns["settings"]],
    }
    return [
        CaseKey(**dict(zip(keys, row, strict=True))) for row in zip(*keys.values(), strict=True)
    ]


def _plain(value: object) -> Any:  # noqa: ANN401 - whatever a key has
    if isinstance(value, (str, tuple, bool)):
        return value
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _metrics(cases: _Cases, good: Mask) -> list[list[Metric]]:
    """Return the metrics of each case, in the app's order; those without facts come last."""
    described = _distinct(cases, good, METRICS)
    metrics = [merged(metric for run in runs for metric in run) for runs in described]
    columns = cases.columns_of(METRIC)
    counts = cases.frame.loc[good, columns].groupby(cases.number[good], sort=False).count()
    for number, row in zip(counts.index.tolist(), counts.to_numpy().tolist(), strict=True):
        known = {metric.field for metric in metrics[number]}
        metrics[number] += [
            Metric(name.removeprefix(METRIC.format("")))
            for name, count in zip(columns, row, strict=True)
            if count and name not in known
        ]
    return metrics


def _stats(
    cases: _Cases, good: Mask, metrics: Sequence[Sequence[Metric]]
) -> list[dict[str, Stats]]:
    """Return the statistics of each case: of all plain measures, of the others that it has."""
    printed = {metric.field for row in metrics for metric in row}
    columns = [name for name in (*MEASURE_OF, *sorted(printed)) if name in cases.frame]
    return [
        dict.fromkeys(PLAIN, UNMEASURED)
        | {name: value for name, value in found.items() if name in MEASURE_OF}
        | {
            metric.field: found.get(metric.field, UNMEASURED)
            if len(metric.units) == 1
            else UNMEASURED
            for metric in row
        }
        for found, row in zip(_found(cases, good, columns), metrics, strict=True)
    ]


def _found(cases: _Cases, good: Mask, names: Sequence[str]) -> list[dict[str, Stats]]:
    found: list[dict[str, Stats]] = cases.new_for_each(dict)
    values = cases.frame.loc[good, list(names)]
    # Most columns are empty in most studies, and pandas takes milliseconds for each.
    values = values.loc[:, values.notna().any()]
    by_case = values.groupby(cases.number[good], sort=False)
    tables: list[pd.DataFrame] = [by_case.count(), by_case.mean(), by_case.std(ddof=1)]
    ranges = by_case[[name for name in values if name in _WITH_RANGES]]
    tables += [ranges.median(), ranges.min(), ranges.max()]
    for name in values:
        columns = (table[name] for table in tables if name in table)
        for number, count, *numbers in zip(tables[0].index, *columns, strict=True):
            if count:
                found[number][str(name)] = Stats(int(count), *numbers)
    return found


def _profiles(cases: _Cases, good: Mask) -> list[dict[str, list[dict[str, float]]]]:
    profiles: list[dict[str, list[dict[str, float]]]] = cases.new_for_each(dict)
    for name in PROFILES:
        columns = cases.columns_of(f"{name}_{{}}")
        means = cases.frame.loc[good, columns].groupby(cases.number[good], sort=False).mean()
        places = [column.removeprefix(f"{name}_").split(" ") for column in columns]
        for number, row in zip(means.index.tolist(), means.to_numpy().tolist(), strict=True):
            by_place: dict[int, dict[str, float]] = {}
            for (place, kind), mean in zip(places, row, strict=True):
                if not math.isnan(mean):
                    by_place.setdefault(int(place), {})[kind] = mean
            if by_place:
                profiles[number][name] = [by_place[place] for place in sorted(by_place)]
    return profiles


def _unproved(cases: _Cases, good: Mask) -> list[dict[str, int]]:
    counts = [
        cases.how_many(good & (cases.frame[verdict] == UNPROVED).to_numpy()).tolist()
        for verdict in _VERDICTS
    ]
    return [dict(zip(PLACEMENTS, of_case, strict=True)) for of_case in zip(*counts, strict=True)]


def _placed(cases: _Cases, good: Mask, bad: Mask) -> list[PlacedRuns]:
    """Return in how many runs threads, with a guest's CPUs and a co-runner if any, were proved."""
    threads, *more = (cases.frame[name] for name in _VERDICTS)
    is_unproved, is_proved = threads == UNPROVED, threads == PROVED
    for verdict in more:
        is_unproved |= verdict == UNPROVED
        is_proved &= verdict.isna() | (verdict == PROVED)
    unproved, proved = good & is_unproved.to_numpy(), good & is_proved.to_numpy()
    unseen = good & (threads == UNSEEN).to_numpy()
    violated = bad & (cases.frame["status"] == PLACEMENT_VIOLATED).to_numpy()
    counts = [cases.how_many(verdict).tolist() for verdict in (proved, unproved, violated, unseen)]
    return [PlacedRuns(*of_case) for of_case in zip(*counts, strict=True)]


def _excluded(cases: _Cases, bad: Mask) -> list[dict[str, int]]:
    excluded: list[dict[str, int]] = cases.new_for_each(dict)
    for number, status, runs in cases.combinations(bad, "status"):
        excluded[number][status] = runs
    return excluded


def _disturbed(cases: _Cases, good: Mask) -> list[dict[str, int]]:
    counts: list[dict[str, int]] = cases.new_for_each(dict)
    for number, names, runs in cases.combinations(good, "disturbed"):
        for name in names:
            counts[number][name] = counts[number].get(name, 0) + runs
    return counts


def _neighbours(cases: _Cases, good: Mask) -> list[dict[str, Neighbour]]:
    """Return the other tasks that took most CPU time in runs that shared their CPUs."""
    found: list[dict[str, Neighbour]] = cases.new_for_each(dict)
    for number, seconds, command, runs in cases.combinations(good, "neighbour_s", "neighbour"):
        before = found[number].get(command, Neighbour(0, 0.0))
        found[number][command] = Neighbour(before.runs + runs, max(before.most_s, seconds))
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
    printed = {METRIC_REASON.format(metric.name): metric.field for row in metrics for metric in row}
    explained = absent[absent["field"].isin([*_EXPLAINED, *printed])]
    for case_id, field, reason in explained.itertuples(index=False, name=None):
        name = printed.get(field, field)
        by_case.setdefault(case_id, {}).setdefault(name, []).append(reason)
    for number, case_id in enumerate(cases.first_runs(["case_id"])["case_id"]):
        known = by_case.get(case_id, {})
        known |= {
            metric.field: list(why)
            for metric in metrics[number]
            if (why := why_not_averaged(metric))
        }
        fields = (*_EXPLAINED, *(metric.field for metric in metrics[number]))
        reasons[number] |= {field: known[field] for field in fields if field in known}
    return reasons


def _skip_reasons(cases: _Cases, skipped: Mask) -> list[str | None]:
    reasons: list[str | None] = [None] * cases.count
    texts = cases.frame["reason"][skipped]
    for number, reason in zip(cases.number[skipped], texts, strict=True):
        reasons[number] = reason if isinstance(reason, str) else ""
    return reasons


def _distinct(cases: _Cases, good: Mask, name: str) -> list[list[Any]]:
    """Return what a case's runs have in a column, in the order of its appearance."""
    distinct: list[list[Any]] = cases.new_for_each(list)
    for number, value, _ in cases.combinations(good, name):
        if value:
            distinct[number].append(value)
    return distinct
