"""What cases cost beside their time: waiting threads, slower neighbours, disturbed runs.

What programs that run beside each other cost each other is both against running alone. Each
interval is of its comparison alone: a slowdown is an effect to be known, not a choice to be made,
so nothing is corrected for the number of them.

Runs that were disturbed are averaged all the same; their spread is what an interval is made of.
That a disturbance was there proves nothing; that the runs which had it took longer does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

from pinstudy.analysis.format.numbers import finite
from pinstudy.analysis.measures import Stats
from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.analysis.records.runs import good_runs
from pinstudy.analysis.results.baselines import alone_of
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.verdict.case_caveats import modes_of_values, why_not_compared
from pinstudy.analysis.verdict.comparisons import difference_between
from pinstudy.analysis.verdict.model import CaseFinding, Caveat, Slowdown
from pinstudy.analysis.verdict.values import Values, difference_of, values_by_case
from pinstudy.runners.records.disturbances import DISTURBANCES

# Differences between two kinds of less than this share of the time are not mentioned.
MIN_WAITING = 0.1
# A difference must be so many of its standard errors: no test, but far beyond chance.
MIN_ERRORS = 4.0
_CO_RUNNER_TIME = Objective(TIME, "co_runner_elapsed_s", TIME.noun, TIME.unit)
# The fewest runs with and without a disturbance whose times have a spread.
MIN_RUNS = 2


@dataclass(frozen=True)
class Waiting:
    """Threads on cores of one kind that waited for those on another.

    They had no work for `share` of the busiest thread's CPU time, the others for `slow_share`;
    `sd` is that of the share, over `n` runs.
    """

    fast: str
    slow: str
    share: float
    slow_share: float
    sd: float
    n: int


def waiting(case: CaseFinding) -> Waiting | None:
    """Return the kind whose threads waited most and the one whose waited least, if they differ."""
    waited = case.summary.by_kind("waited")
    pairs = [(a, b) for a, b in permutations(waited, 2) if _differs(waited[a], waited[b])]
    if not pairs:
        return None
    fast, slow = max(pairs, key=lambda pair: waited[pair[0]].mean - waited[pair[1]].mean)
    most = waited[fast]
    return Waiting(fast, slow, most.mean, waited[slow].mean, most.sd, most.n or 0)


def _differs(more: Stats, less: Stats) -> bool:
    if not (more.n and less.n) or math.isnan(more.sd + less.sd):
        return False
    error = math.sqrt(more.sd**2 / more.n + less.sd**2 / less.n)
    return more.mean - less.mean >= max(MIN_WAITING, MIN_ERRORS * error)


def raw_division(case: CaseFinding) -> dict[str, Any]:
    """Return how a case's work was divided, as means; empty where nothing is known."""
    found = waiting(case)
    values = {
        "imbalance": finite(case.summary.stats["imbalance"].mean),
        **_by_kind("cpu_share", case.summary.by_kind("cpu_share")),
        **_by_kind("waited", case.summary.by_kind("waited")),
    }
    if all(value is None for value in values.values()):
        return {}
    return values | {"waiting": found and {
        "fast": found.fast, "slow": found.slow, "share": found.share,
        "slow_share": found.slow_share, "sd": found.sd, "n": found.n,
    }}  # fmt: skip


def _by_kind(name: str, stats: Mapping[str, Stats]) -> dict[str, float | None]:
    return {f"{name}_{kind}": finite(stat.mean) for kind, stat in stats.items()}


def slowdowns_of(
    cases: Sequence[Case], values: Mapping[str, Values], frame: pd.DataFrame | None
) -> dict[str, Slowdown]:
    """Return how each case that something ran beside, and that, do against running alone.

    `values` are those of `frame`, the runs, by case_id; without runs the means are compared.
    """
    pairs = alone_of(cases)
    if not pairs:
        return {}
    co_runner_times = {} if frame is None else values_by_case(frame, [_CO_RUNNER_TIME])
    return {
        case_id: Slowdown(
            alone.program.key.number if alone.program else None,
            difference_between(alone.case, alone.program, values, TIME) if alone.program else None,
            _of_co_runner(alone.case, alone.co_runner, co_runner_times, values),
            alone.co_runner.time.mean if alone.co_runner else float("nan"),
        )
        for case_id, alone in pairs.items()
    }


def _of_co_runner(
    case: Case,
    alone: Case | None,
    co_runner_times: Mapping[str, Values],
    values: Mapping[str, Values],
) -> Difference | None:
    """Return the co-runner's time beside the program against its time alone, block by block."""
    if alone is None or not (case.lost.usable and alone.lost.usable):
        return None
    mine, theirs = co_runner_times.get(case.key.case_id), values.get(alone.key.case_id)
    return difference_of(mine, theirs, TIME) if mine and theirs else None


def why_not_program(case: CaseFinding) -> Caveat:
    """Return why a program's slowdown is not known."""
    assert case.slowdown
    if case.slowdown.alone is None:
        return Caveat("no case alone", (case.case_id,))
    return _too_few(case)


def why_not_co_runner(case: CaseFinding) -> Caveat:
    """Return why the slowdown of a case's co-runner is not known."""
    measured = case.summary.stats["co_runner_elapsed_s"]
    if reasons := case.summary.circumstances.reasons.get("co_runner_elapsed_s"):
        lacking = (case.summary.n or 0) - (measured.n or 0)
        facts = {"runs": lacking, "reasons": tuple(reasons)}
        return Caveat("co-runner not measured", (case.case_id,), facts)
    return _too_few(case)


def _too_few(case: CaseFinding) -> Caveat:
    lost = next(why_not_compared(case, None, TIME), None)
    if lost is not None and lost.code == "lost too many":
        return lost
    modes = next(modes_of_values(case, TIME), None)
    return modes or Caveat("no two samples", (case.case_id,))


def disturbed_against_others(frame: pd.DataFrame) -> dict[str, dict[str, Difference]]:
    """Return how much longer a case's runs took with each disturbance than its others, by case_id.

    Only those are there of which both kinds of runs have a spread.
    """
    good = good_runs(frame)
    good = good[good["elapsed_s"] > 0]
    disturbed = good["disturbed"]
    some = good["case_id"].isin(good["case_id"][disturbed.notna()].unique())
    found: dict[str, dict[str, Difference]] = {}
    for case_id, runs in good[some].groupby("case_id", observed=True, sort=False):
        log_s = np.log(runs["elapsed_s"].to_numpy(dtype=float))
        names = [seen or () for seen in disturbed[runs.index]]
        for disturbance in DISTURBANCES:
            has_it = np.array([disturbance in seen for seen in names])
            if min(has_it.sum(), (~has_it).sum()) >= MIN_RUNS:
                difference = Difference.welch(log_s[has_it], log_s[~has_it])
                found.setdefault(str(case_id), {})[disturbance] = difference
    return found
