"""Why the answer of a race is to be taken with care, as codes and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from pinstudy.analysis.advice.lines import Line
from pinstudy.analysis.advice.model import AdviceCaveat, Candidate, Confirmation
from pinstudy.analysis.results.node_files import cpus_of
from pinstudy.analysis.statistics.drift import Drift, Trend
from pinstudy.configs.mapping import WITHIN_THE_RUN
from pinstudy.configs.settings import GOVERNOR, NAMES
from pinstudy.runners.records.disturbances import OWN
from pinstudy.runners.records.race_state import RaceState

# One run of each case eliminates half of them: more noise than this may take the best with it.
MAX_NOISE = 0.08


def caveats_of(
    state: RaceState,
    best: Candidate | None,
    reference: Candidate,
    confirmation: Confirmation | None,
    drift: Drift | None,
    runs: pd.DataFrame,
) -> Iterator[AdviceCaveat]:
    """Yield what to know of an answer that rests on these `runs`.

    `drift` is that of all runs of the results.
    """
    taken = best if best and state.decision == "gain" else reference
    yield from _disturbed(runs)
    yield from _oversubscribed(taken)
    if reference.start and reference.start.removed:
        yield AdviceCaveat("unset", reference.start.removed)
    if best:
        yield from _loaded(best, reference)
        yield from _placement([best, reference])
    yield from _noise(state)
    attempts = runs["attempt"].dropna().nunique()
    if attempts > 1:
        yield AdviceCaveat("attempts", numbers={"attempts": attempts})
    yield from _drift(drift)
    if confirmation and confirmation.slow_runs:
        mine, other = confirmation.slow_runs
        if mine.count or other.count:
            numbers = {"best": mine.count, "best_runs": mine.n}
            numbers |= {"reference": other.count, "reference_runs": other.n}
            yield AdviceCaveat("slow runs", numbers=numbers)


def settings_of(lines: Sequence[Line]) -> Iterator[AdviceCaveat]:
    """Yield what has to be set, by the first line of each tool, before the command is worth it."""
    lines_by_tool = {line.tool: line for line in reversed(lines)}
    for tool in (GOVERNOR, *NAMES):
        if tool in lines_by_tool:
            line = lines_by_tool[tool]
            yield AdviceCaveat("setting", (tool,), text=line.text or line.note)


def disturbed_runs(runs: pd.DataFrame) -> list[set[str]]:
    """Return what disturbed each disturbed run.

    What the program does itself, in every run, is no disturbance.
    """
    by_run = [{*names} - {*OWN} for names in runs["disturbed"].dropna()]
    return [names for names in by_run if names]


def _disturbed(runs: pd.DataFrame) -> Iterator[AdviceCaveat]:
    """Yield how many runs were disturbed, and by what."""
    by_run = disturbed_runs(runs)
    if 2 * len(by_run) > len(runs):
        yield AdviceCaveat("mostly disturbed", numbers={"count": len(by_run), "runs": len(runs)})
    causes = Counter(name for names in by_run for name in sorted(names))
    for cause, times in causes.most_common():
        yield AdviceCaveat("disturbed", (cause,), {"count": times, "runs": len(runs)})


def _oversubscribed(taken: Candidate) -> Iterator[AdviceCaveat]:
    key = taken.summary.key
    cpus = len(set(cpus_of(key.cpus)))
    threads = key.table.all_threads
    if 0 < cpus < threads:
        yield AdviceCaveat("oversubscribed", numbers={"threads": threads, "cpus": cpus})


def _loaded(best: Candidate, reference: Candidate) -> Iterator[AdviceCaveat]:
    """Yield what does a part of its work within the time of one of both cases alone."""
    mine, other = (case.summary.key.mechanism for case in (best, reference))
    for mechanism, case in ((mine, best), (other, reference)):
        if mine != other and mechanism in WITHIN_THE_RUN:
            yield AdviceCaveat("loaded", (str(mechanism), case.name))


def _placement(cases: Sequence[Candidate]) -> Iterator[AdviceCaveat]:
    for case in cases:
        if case.placed.lost:
            made = case.placed.proved + case.placed.lost
            numbers = {"lost": case.placed.lost, "runs": made}
            numbers |= {"unproved": case.placed.unproved, "violated": case.placed.violated}
            yield AdviceCaveat("placement", (case.name,), numbers)


def _noise(state: RaceState) -> Iterator[AdviceCaveat]:
    if state.noise is not None and state.noise > MAX_NOISE:
        yield AdviceCaveat("noise", numbers={"deviation": state.noise})


def _drift(drift: Drift | None) -> Iterator[AdviceCaveat]:
    if drift is None:
        return
    for over, trend in (("time", drift.over_time), ("temperature", drift.over_temperature)):
        if trend and trend.found:
            yield AdviceCaveat("drift", (over,), _change(trend))
    for step in drift.steps:
        yield AdviceCaveat(
            "drift", (f"attempts {step.before} to {step.after}",), _change(step.trend)
        )


def _change(trend: Trend) -> dict[str, float]:
    with np.errstate(over="ignore"):
        low, high = np.expm1(np.array([trend.interval.low, trend.interval.high]) * trend.span)
    return {"change": trend.change, "low": float(low), "high": float(high), "runs": trend.n}
