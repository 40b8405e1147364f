"""From the results of a race to its advice.

Cases that the race ruled out are compared with the best one by the runs of the race itself. The
best is chosen by these runs, so that the others look a little worse than they are. All intervals
hold together (Bonferroni): with many cases, an interval of 95 % by itself would often say by chance
that one of them is better.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, inf, isfinite, log, sqrt

import numpy as np
import pandas as pd
from scipy import special

from pinstudy.analysis.advice.lines import Line, as_started, no_lines, ready_lines, start_of
from pinstudy.analysis.advice.model import (
    NOT_COMPARED,
    Advice,
    AdviceCaveat,
    Candidate,
    CasePoint,
    Confirmation,
    Elimination,
    Outcome,
    gain_of,
    names_of,
)
from pinstudy.analysis.format.table import joined
from pinstudy.analysis.measures import fields_of
from pinstudy.analysis.objectives import ENERGY, OBJECTIVES, Objective
from pinstudy.analysis.records.gathered import command_line
from pinstudy.analysis.records.metrics import Metric
from pinstudy.analysis.records.race_records import RaceRecords
from pinstudy.analysis.records.runs import good_runs
from pinstudy.analysis.results.case import Case, objective_of
from pinstudy.analysis.results.node_files import cpus_of
from pinstudy.analysis.results.sources import Results, of_region
from pinstudy.analysis.statistics.decision import pareto_front
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.drift import Drift, Trend
from pinstudy.analysis.statistics.sample import Array, Interval
from pinstudy.analysis.statistics.unlike import slow_runs
from pinstudy.analysis.verdict.values import MAX_VALUE, MIN_VALUE
from pinstudy.base import PINSTUDY
from pinstudy.base.text import one_line
from pinstudy.configs.mapping import WITHIN_THE_RUN
from pinstudy.configs.settings import GOVERNOR, NAMES
from pinstudy.configs.study import CURRENT_GOVERNOR
from pinstudy.runners.records.disturbances import OWN
from pinstudy.runners.records.race_state import OVERHEAD_S, WHYS, Eliminated, Key, RaceState

# The mechanisms that have a line of their own: places are in the environment.
_TIMED = ("taskset", "numactl", "likwid-pin")
# One run of each case eliminates half of them: more noise than this may take the best with it.
MAX_NOISE = 0.08
# How often any interval of the cases that were ruled out does not hold.
_FALSE_SHARE = 0.05
# The weight of all cases' variance beside a case's own, in degrees of freedom.
SHARED_DF = 4
# Case, then block of the race, with a value's logarithm.
_LogsByBlock = Mapping[str, Mapping[float, float]]


def advice_of(results: Results, drift: Drift | None = None) -> Advice | None:
    """Return the advice of results that raced; None of others.

    `drift` is that of the runs, for the caveats.
    """
    folder = results.folder
    if results.runs is None or folder is None or not results.runs.raced:
        return None
    race = results.runs.race_reader.race(folder)
    results = of_region(results, race.rule.region if race else None)
    candidates = _candidates(results.cases, race) if race else {}
    if race is None or any(case_id not in candidates for case_id in race.entrants):
        return None
    assert results.runs is not None
    raw, frame = race.state, results.runs.frame
    runs = confirmation_runs(raw, frame)
    confirmation = confirmation_of(race, raw, runs)
    state = _shown(raw, candidates, confirmation)
    best = candidates[state.best] if state.best else None
    points = tuple(_points([candidates[case_id] for case_id in race.entrants]))
    reference = candidates[state.reference]
    recommended = best if state.decision == "gain" else None
    lines = _lines(recommended, reference, candidates.values())
    behind = runs if len(runs) else good_runs(frame)
    caveats = caveats_of(state, best, reference, confirmation, drift, behind)
    return Advice(
        rule=race.rule,
        state=state,
        objective=_objective(race, reference),
        reference=reference,
        best=best,
        confirmation=confirmation,
        eliminations=eliminations_of(race, state, candidates, _blocks(frame)),
        skipped=_skipped(candidates.values(), race.withdrawn),
        points=points,
        no_energy="" if points else _no_energy(results),
        command=_command(recommended or reference, lines, race),
        lines=lines,
        next_command=race.rule.resumed_by or f"{PINSTUDY} advise",
        why_no_reference=_why_no_reference(race),
        caveats=(*settings_of(lines), *caveats),
        entrants=len(race.entrants) + race.unseen,
        no_time=sum(case.case_id not in candidates for case in state.eliminated),
        runs_made=sum(repetition > 0 for _, repetition in race.runs),
        spent_s=sum(run.elapsed_s + OVERHEAD_S for run in race.runs.values()),
        trial_runs=len(behind),
        disturbed_runs=len(disturbed_runs(behind)),
    )


def _shown(
    state: RaceState, candidates: Mapping[str, Candidate], confirmation: Confirmation | None
) -> RaceState:
    """Return the state, undecided where records do not bear its decision out.

    That is where a case behind it lost many runs to placement, and where a gain may be a loss:
    races do not end so, but the records of a race may come from anybody.
    """
    sides = [candidates[case_id] for case_id in (state.best, state.reference) if case_id]
    placed = all(case.placed.usable for case in sides)
    gain = confirmation.gain if confirmation else None
    lossless = gain is not None and gain.typical.low >= 0 and gain.least_mean >= 0
    if state.decision == "gain" and not (placed and lossless):
        return replace(state, decision="undecided")
    if state.decision == "no gain" and not placed:
        return replace(state, decision="undecided")
    return state


def _objective(race: RaceRecords, reference: Candidate) -> Objective:
    rule = race.rule
    if known := next((objective for objective in OBJECTIVES if objective == rule.of), None):
        return known
    metrics = reference.summary.metrics
    metric = next((metric for metric in metrics if metric.name == rule.of), Metric(rule.of))
    return objective_of(metric)


def _blocks(frame: pd.DataFrame) -> dict[Key, float]:
    known = frame[frame["block"].notna()]
    keys = zip(known["case_id"], known["repetition"], strict=True)
    return dict(zip(keys, known["block"].astype(float), strict=True))


def _command(case: Candidate, lines: Sequence[Line], race: RaceRecords) -> str:
    """Return the command of a case: by the tool that was timed, else as it was recorded."""
    if case.start is None:
        return command_line(race.launches.get(case.case_id, {}))
    texts = {line.tool: line.text for line in lines if line.text}
    mechanism = case.start.mechanism
    line = texts.get(mechanism if mechanism in _TIMED else "environment")
    line = line or next(iter(texts.values()), "") if lines else as_started(case.start)
    # A shell sets variables by itself, only env takes them away.
    return line if line.startswith("env -u ") else line.removeprefix("env ")


def _candidates(cases: Sequence[Case], race: RaceRecords) -> dict[str, Candidate]:
    """Return the cases by case_id, skipped ones too."""
    names = names_of(cases)
    return {
        case.key.case_id: Candidate(
            names[case.key.case_id], case, start_of(case, race.launches.get(case.key.case_id, {}))
        )
        for case in cases
    }


def _skipped(
    candidates: Iterable[Candidate], withdrawn: Mapping[str, str]
) -> dict[str, tuple[Candidate, ...]]:
    """Return the cases that the node cannot run, or not any more, by the reason."""
    by_reason: dict[str, tuple[Candidate, ...]] = {}
    for candidate in candidates:
        reason = withdrawn.get(candidate.case_id, candidate.summary.circumstances.skip_reason)
        if reason is not None:
            text = one_line(reason) or "no reason given"
            by_reason[text] = (*by_reason.get(text, ()), candidate)
    return by_reason


def _points(candidates: Sequence[Candidate]) -> Iterator[CasePoint]:
    means: dict[str, tuple[float, float]] = {}
    for candidate in candidates:
        both = candidate.summary.time.mean, candidate.summary.stat(ENERGY.field).mean
        if candidate.placed.usable and all(map(math.isfinite, both)):
            means[candidate.case_id] = both
    front = pareto_front(means)
    for candidate in candidates:
        if candidate.case_id in means:
            yield CasePoint(candidate, *means[candidate.case_id], candidate.case_id in front)


def _no_energy(results: Results) -> str:
    """Return why no case has a time and an energy to compare, as far as records give reasons."""
    if any(case.stat(ENERGY.field).n for case in results.cases):
        return "every case that has it lost more than a tenth of its runs to placement"
    return (
        one_line(joined(results.why_absent(results.cases, fields_of(ENERGY.field))))
        or "no run has it"
    )


def _lines(
    case: Candidate | None, reference: Candidate, candidates: Collection[Candidate]
) -> tuple[Line, ...]:
    """Return the lines that start the program as the recommended case; none to do nothing."""
    if case is None:
        return ()
    if case.start is None:
        return no_lines(case.summary)
    start, tables = case.start, [candidate.summary.key.table for candidate in candidates]
    governor, before = case.summary.key.governor, reference.summary.circumstances.governors_read
    is_set = governor != CURRENT_GOVERNOR and before != [governor]
    return ready_lines(
        replace(
            start,
            counted=start.openmp or any(table.threads > 1 for table in tables),
            schedule=start.schedule if len({table.schedule for table in tables}) > 1 else None,
            governor=governor if is_set else None,
            settings=case.summary.key.settings,
            before=before[0] if is_set and len(before) == 1 else None,
            # Left to the scheduler, the reference has every CPU.
            node_cpus=len(reference.start.mask) if reference.start else 0,
        )
    )


def _why_no_reference(race: RaceRecords) -> str:
    runs = [run for (case_id, _), run in race.runs.items() if case_id == race.entrants[0]]
    if reasons := [run.reason for run in runs if run.reason]:
        return one_line(joined(dict.fromkeys(reasons)))
    return "where its threads ran could not be proved, or was not where they belong"


def confirmation_of(race: RaceRecords, state: RaceState, runs: pd.DataFrame) -> Confirmation | None:
    """Return the comparison of the confirmation's pairs, None without any.

    `runs` are those of `confirmation_runs`.
    """
    if state.best is None or not state.confirmation.get(state.best):
        return None
    sides = (state.best, state.reference)
    keys = [[(side, repetition) for repetition in state.confirmation[side]] for side in sides]
    best, reference = (
        np.array([race.runs[key].value for key in run_keys], dtype=float) for run_keys in keys
    )
    other_objectives: dict[Objective, Difference] = {}
    for objective in OBJECTIVES:
        values = runs.set_index(["case_id", "repetition"])[objective.field].reindex
        difference = _difference(*(values(run_keys).to_numpy(dtype=float) for run_keys in keys))
        if difference is not None and objective != race.rule.of:
            other_objectives[objective] = difference
    difference, higher = _difference(best, reference), race.rule.higher
    found = Confirmation(len(best), difference, other_objectives)
    if state.level is None or difference is None or not difference.standard_error:
        return found
    logs = [((-1 if higher else 1) * np.log(values)).tolist() for values in (best, reference)]
    slow = slow_runs(best), slow_runs(reference)
    return replace(
        found,
        gain=gain_of(logs[0], logs[1], state.level, higher),
        slow_runs=(slow[0], slow[1]) if slow[0] and slow[1] and not higher else None,
    )


def confirmation_runs(state: RaceState, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the good runs of the confirmation."""
    good = good_runs(frame)
    keys = {
        (case, repetition)
        for case, repetitions in state.confirmation.items()
        for repetition in repetitions
    }
    rows = zip(good["case_id"], good["repetition"], strict=True)
    return good[np.fromiter((row in keys for row in rows), dtype=bool, count=len(good))]


def _difference(best: Array, reference: Array) -> Difference | None:
    """Return the typical difference of the pairs of which both runs were measured."""
    known = np.all(
        [(values > MIN_VALUE) & (values < MAX_VALUE) for values in (best, reference)], axis=0
    )
    if np.count_nonzero(known) < 2:
        return None
    return Difference.of_pairs(np.log(best[known]), np.log(reference[known]))


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
    threads, cpus = taken.summary.key.table.all_threads, len({*cpus_of(taken.summary.key.cpus)})
    if 0 < cpus < threads:
        yield AdviceCaveat("oversubscribed", numbers={"threads": threads, "cpus": cpus})
    if reference.start and reference.start.removed:
        yield AdviceCaveat("unset", reference.start.removed)
    if best:
        yield from _loaded(best, reference)
        yield from _placement([best, reference])
    if state.noise is not None and state.noise > MAX_NOISE:
        yield AdviceCaveat("noise", numbers={"deviation": state.noise})
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
    by_run = disturbed_runs(runs)
    if 2 * len(by_run) > len(runs):
        yield AdviceCaveat("mostly disturbed", numbers={"count": len(by_run), "runs": len(runs)})
    causes = Counter(name for names in by_run for name in sorted(names))
    for cause, times in causes.most_common():
        yield AdviceCaveat("disturbed", (cause,), {"count": times, "runs": len(runs)})


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
    ends = trend.change_interval
    return {"change": trend.change, "low": ends.low, "high": ends.high, "runs": trend.n}


def eliminations_of(
    race: RaceRecords,
    state: RaceState,
    candidates: Mapping[str, Candidate],
    blocks: Mapping[Key, float],
) -> tuple[Elimination, ...]:
    """Return the cases that were ruled out, the nearest to the best first.

    They are compared with the best, or with the reference where none is left; `blocks` has the
    block of each run.
    """
    against = state.best or state.reference
    values = _logs_by_block(race, blocks)
    known = [case for case in state.eliminated if case.case_id in candidates]
    compared = [case for case in known if case.why not in NOT_COMPARED]
    found = [
        _elimination(
            candidates[case.case_id], case, values, against, state.noise, race, len(compared)
        )
        if case in compared
        else Elimination(candidates[case.case_id], case, "not compared")
        for case in known
    ]
    return tuple(sorted(found, key=lambda case: _from_best(case, race.rule.higher)))


def _logs_by_block(race: RaceRecords, blocks: Mapping[Key, float]) -> _LogsByBlock:
    values: dict[str, dict[float, float]] = {}
    for (case_id, repetition), run in race.runs.items():
        if run.value is not None and repetition > 0:
            block = blocks.get((case_id, repetition), float(repetition))
            values.setdefault(case_id, {})[block] = log(run.value)
    return values


def _elimination(
    candidate: Candidate,
    case: Eliminated,
    values: _LogsByBlock,
    against: str,
    noise: float | None,
    race: RaceRecords,
    among: int,
) -> Elimination:
    mine, other = values.get(case.case_id, {}), values.get(against, {})
    differences = [mine[block] - other[block] for block in sorted(mine.keys() & other.keys())]
    if not differences:
        # Its run was ended because it took so much longer than the shortest one.
        cut = case.why == "cut" and case.worse_by is not None
        ratio = 1 + case.worse_by if cut and case.worse_by is not None else None
        outcome: Outcome = "worse" if cut else "undecided"
        return Elimination(candidate, case, outcome, ratio=ratio, at_least=cut)
    mean = sum(differences) / len(differences)
    if noise is None:
        return Elimination(candidate, case, "undecided", len(differences), exp(mean))
    reach = _reach(differences, noise, among)
    low, high = mean - reach, mean + reach
    worse = high < 0 if race.rule.higher else low > 0
    return Elimination(
        candidate,
        case,
        "worse" if worse else "undecided",
        len(differences),
        exp(mean),
        Interval(exp(low), exp(min(high, 700.0))),
    )


def _reach(differences: Sequence[float], noise: float, among: int) -> float:
    """Return half the width of the interval of a mean difference.

    A few differences hardly give a variance, so that of all cases stands beside it (Smyth, "Linear
    models and empirical Bayes methods", 2004).
    """
    count = len(differences)
    mean = sum(differences) / count
    own = sum((difference - mean) ** 2 for difference in differences)
    df = SHARED_DF + count - 1
    variance = (SHARED_DF * 2 * noise**2 + own) / df
    return float(special.stdtrit(df, 1 - _FALSE_SHARE / among / 2)) * sqrt(variance / count)


def _from_best(case: Elimination, higher: bool) -> tuple[int, float]:
    behind = inf
    if case.ratio is not None and isfinite(case.ratio) and case.ratio > 0:
        behind = log(case.ratio) * (-1 if higher else 1)
    return list(WHYS).index(case.eliminated.why), behind
