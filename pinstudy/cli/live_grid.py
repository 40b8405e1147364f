"""The overview while a study runs: what is known so far of each comparison, and no word yet.

Words are for the looks that a study plans.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.analysis.overview.grid import (
    Cell,
    ConfigurationLine,
    Overview,
    by_program,
    columns_of,
    unique_names,
)
from pinstudy.analysis.records.keys import TableKey
from pinstudy.analysis.records.metrics import Metric
from pinstudy.analysis.results.case import grouped, objective_of
from pinstudy.analysis.words.programs import program_names
from pinstudy.runners.plan.case import Case
from pinstudy.runners.records.status import OK
from pinstudy.runners.study.agenda import compared_with

_LEVEL = 0.025


class LiveGrid:
    """An overview of a study's cases that fills up with its records."""

    def __init__(
        self, cases: Sequence[Case], good: Mapping[str, Mapping[int, Mapping[str, Any]]]
    ) -> None:
        """`good` are the good runs of earlier attempts by case and repetition."""
        # Here, before the first run: an import between two of them would disturb the second.
        from scipy import special

        self._quantile = special.stdtrit
        self._cases = cases
        self._objectives = {case.case_id: _objective(case) for case in cases}
        self._baselines = {
            case_id: baseline
            for baseline, others in compared_with(cases).items()
            for case_id in others
        }
        # By case and repetition, in the unit of the case's objective.
        self._values: dict[str, dict[int, float]] = {case.case_id: {} for case in cases}
        for case_id in self._values:
            for repetition, run in good.get(case_id, {}).items():
                self._add(case_id, repetition, run)

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the record of a run; only good runs count."""
        if record["status"] == OK and not record["warmup"]:
            self._add(record["case_id"], record["repetition"], record)

    def _add(self, case_id: str, repetition: int, run: Mapping[str, Any]) -> None:
        value = _value(run, self._objectives[case_id])
        if value is not None and value > 0:
            self._values[case_id].setdefault(repetition, value)

    def overview(self) -> Overview:
        """Return what is known so far."""
        keys = {case.table: _key(case) for case in self._cases}
        name_of = program_names(list(keys.values()))
        governors = {case.governor for case in self._cases}
        lines = []
        for cases in grouped(self._cases, _shared):
            first = cases[0]
            key, objective = keys[first.table], self._objectives[first.case_id]
            names = unique_names(case.mapping.name for case in cases)
            cells = {objective: dict(zip(names, map(self._cell, cases), strict=True))}
            under = _under(first, has_governor=len(governors) > 1)
            lines.append(
                ConfigurationLine(
                    name_of(key), key.threads_label, under, first.table, first.governor, None,
                    cells, (objective,), first.all_threads,
                )
            )  # fmt: skip
        governor = governors.pop() if len(governors) == 1 else ""
        return Overview(columns_of(lines), by_program(lines), governor)

    def _cell(self, case: Case) -> Cell:
        mine = self._values[case.case_id]
        mean = math.fsum(mine.values()) / len(mine) if mine else math.nan
        baseline = self._baselines.get(case.case_id)
        if baseline is None:
            return Cell("baseline", case.number, mean)
        theirs = self._values[baseline]
        logs = [
            math.log(value / theirs[repetition])
            for repetition, value in mine.items()
            if repetition in theirs
        ]
        if not logs:
            return Cell("estimate", case.number, mean)
        half = math.nan
        if len(logs) > 1 and (deviation := stdev(logs)) > 0:
            t = float(self._quantile(len(logs) - 1, 1 - _LEVEL))
            half = t * deviation / math.sqrt(len(logs))
        low, ratio, high = (math.exp(min(fmean(logs) + by, 700.0)) for by in (-half, 0.0, half))
        return Cell("estimate", case.number, mean, ratio, low, high)


def _objective(case: Case) -> Objective:
    """Return what tells cases apart: time, or the number by which programs of a given time are."""
    rated = next((metric for metric in case.app.metrics if metric.better), None)
    if not case.app.fixed_time or rated is None:
        return TIME
    return objective_of(Metric(rated.name, (rated.unit,), rated.better))


def _value(run: Mapping[str, Any], objective: Objective) -> float | None:
    value: float | None
    if objective == TIME:
        value = run.get("elapsed_s")
    else:
        value = run.get("metrics", {}).get(objective.short)
    return value


def _key(case: Case) -> TableKey:
    ranks = case.engine.processes if case.engine.by_mpi else None
    return TableKey(
        case.table, case.app.name, case.build.name, case.size.name, ranks,
        case.threads, case.schedule, case.wait_policy,
    )  # fmt: skip


def _shared(case: Case) -> tuple[object, ...]:
    co_runner = case.co_runner.program_label if case.co_runner else ""
    return case.table, case.governor, case.settings.words, co_runner, case.engine.boot


def _under(case: Case, *, has_governor: bool) -> str:
    parts = (
        case.governor if has_governor else "",
        case.settings.words,
        f"beside {case.co_runner.program_label}" if case.co_runner else "",
        case.engine.boot,
    )
    return ", ".join(filter(None, parts))
