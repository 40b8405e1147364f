"""What disturbed the runs of an undecided comparison, and whether those runs were slower for it.

Runs that were disturbed are averaged all the same; their spread is what an interval is made of. A
disturbance is called a cause only where the runs that had it took longer than the others of their
case; that it was there proves nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from analysis.records.runs import good_runs
from analysis.statistics.decision import ALPHA
from analysis.statistics.difference import Difference
from analysis.verdict.model import CaseFinding
from analysis.verdict.phrases import Quantity, change, listed, name
from base.text import first_of, one_line
from runners.records.disturbances import (
    AT_LIMIT,
    BY_QUOTA,
    CLIPPED,
    MARKED,
    SHARED,
    STOLEN,
    THROTTLED,
    TOO_SHORT,
    WARM,
)

# What is said of runs with each disturbance, and what helps. More runs alone help as well, but take
# longer than without it.
_CAUSES = {
    SHARED: ("shared their CPUs with {who}", "end that, or keep it off these CPUs"),
    STOLEN: ("lost CPU time to a hypervisor", "measure on the host, or on a quiet one"),
    THROTTLED: ("were throttled by heat", "cool better, or set a temperature_gate in the study"),
    CLIPPED: ("were clipped at a power limit", "raise the limit, or compare fewer threads"),
    AT_LIMIT: ("ran at the power limit (PL1)", "raise the limit, or compare fewer threads"),
    BY_QUOTA: ("were stopped by a CPU quota", "run outside of that control group"),
    WARM: ("began too warm", "give the temperature_gate a longer limit"),
    TOO_SHORT: ("were of a region that is too short", "take a larger size"),
    MARKED: ("spent time on marks of regions", "measure whole runs without `regions`"),
}
# Rarer disturbances do not explain why all runs together tell too little.
MIN_SHARE = 0.1
MAX_NAMED = 3
# The fewest runs with and without a disturbance whose times have a spread.
MIN_RUNS = 2
_TIME = Quantity("time")


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
        names = [found or () for found in disturbed[runs.index]]
        for what in _CAUSES:
            has_it = np.array([what in found for found in names])
            if min(has_it.sum(), (~has_it).sum()) >= MIN_RUNS:
                difference = Difference.welch(log_s[has_it], log_s[~has_it])
                found.setdefault(str(case_id), {})[what] = difference
    return found


def causes(cases: Sequence[CaseFinding]) -> Iterator[str]:
    """Yield a sentence for each disturbance of these cases' runs, and what it cost them."""
    for what, (did, remedy) in _CAUSES.items():
        disturbed = [case for case in cases if _share(case, what) >= MIN_SHARE]
        if not disturbed:
            continue
        counts = [
            f"{case.summary.circumstances.disturbed[what]} of {case.summary.n} runs of {name(case)}"
            for case in disturbed
        ]
        said = f"{first_of(counts, MAX_NAMED, ', ')} {did.format(who=_neighbours(disturbed))}"
        yield one_line(f"{_judged(disturbed, what, said, remedy)}.", None)


def _judged(cases: Sequence[CaseFinding], what: str, said: str, remedy: str) -> str:
    """Return what was seen, as a cause where the disturbed runs of a case took longer."""
    known = [case for case in cases if what in case.disturbed_against_others]
    if not known:
        return (
            f"Disturbed: {said}; whether that made them slower cannot be told, because too few "
            f"runs were without it. To know, {remedy}"
        )
    level = 1 - ALPHA / len(known)
    slower = [
        case
        for case in known
        if (of := case.disturbed_against_others[what]).standard_error > 0
        and of.interval(level).low > 1
    ]
    costs = [
        f"{change(case.disturbed_against_others[what], _TIME, level)} in {name(case)}"
        for case in slower or known
    ]
    cost = f"against the other runs of their case: {first_of(costs, MAX_NAMED)}"
    if not slower:
        return f"Disturbed: {said}; that these were slower is not shown, {cost}"
    return f"One cause: {said}, and were slower, {cost}; {remedy}"


def _share(case: CaseFinding, what: str) -> float:
    """Return the share of a case's averaged runs that were disturbed so."""
    return (
        case.summary.circumstances.disturbed.get(what, 0) / case.summary.n
        if case.summary.n
        else 0.0
    )


def _neighbours(cases: Sequence[CaseFinding]) -> str:
    """Return the commonest other tasks: in how many runs each took most CPU time, and how much."""
    runs: Counter[str] = Counter()
    most_s: dict[str, float] = {}
    for case in cases:
        for command, neighbour in case.summary.circumstances.neighbours.items():
            runs[command] += neighbour.runs
            most_s[command] = max(most_s.get(command, 0.0), neighbour.most_s)
    if not runs:
        return "other tasks"
    parts = [
        f"{command} (most in {count} of them, up to {most_s[command]:.2f} s a run)"
        for command, count in runs.most_common(MAX_NAMED)
    ]
    others = len(runs) - len(parts)
    return listed([*parts, *([f"{others} more"] if others > 0 else [])])
