"""From the results of a race to its advice."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from pinstudy.analysis.advice.caveats import caveats_of, disturbed_runs, settings_of
from pinstudy.analysis.advice.gain import gain_of
from pinstudy.analysis.advice.lines import Line, as_started, no_lines, ready_lines, start_of
from pinstudy.analysis.advice.model import Advice, Candidate, Confirmation, Point, names_of
from pinstudy.analysis.advice.ruled_out import eliminations_of
from pinstudy.analysis.format.table import joined
from pinstudy.analysis.objectives import OBJECTIVES, Objective
from pinstudy.analysis.records.first_records import command_line
from pinstudy.analysis.records.metrics import Metric
from pinstudy.analysis.records.race_records import RaceRecords
from pinstudy.analysis.records.runs import good_runs
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.metrics import objective_of
from pinstudy.analysis.results.sources import Results, of_region
from pinstudy.analysis.statistics.decision import pareto_front
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.drift import Drift
from pinstudy.analysis.statistics.unlike import slow_runs
from pinstudy.analysis.verdict.values import MAX_VALUE, MIN_VALUE, Array
from pinstudy.base import PINSTUDY
from pinstudy.base.text import one_line
from pinstudy.configs.study import CURRENT_GOVERNOR
from pinstudy.runners.records.race_state import OVERHEAD_S, Key, RaceState

# The line of the tool that ran a case, by mechanism: places are in the environment.
_TIMED = {"taskset": "taskset", "numactl": "numactl", "likwid-pin": "likwid-pin"}


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
    """Return the block of each run, by case and repetition."""
    known = frame[frame["block"].notna()]
    keys = zip(known["case_id"], known["repetition"], strict=True)
    return dict(zip(keys, known["block"].astype(float), strict=True))


def _command(case: Candidate, lines: Sequence[Line], race: RaceRecords) -> str:
    """Return the command of a case: by the tool that was timed, else as it was recorded."""
    texts = {line.tool: line.text for line in lines if line.text}
    if case.start is None:
        return command_line(race.launches.get(case.case_id, {}))
    if not lines:
        return _in_shell(as_started(case.start))
    tool = _TIMED.get(case.start.mechanism or "", "environment")
    return _in_shell(texts.get(tool) or next(iter(texts.values()), ""))


def _in_shell(line: str) -> str:
    """Return a line as a shell takes it: it sets variables by itself, only env takes them away."""
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


def _points(candidates: Sequence[Candidate]) -> Iterator[Point]:
    """Yield the mean time and energy of each case for which both were measured."""
    means = {
        candidate.case_id: (
            candidate.summary.time.mean,
            candidate.summary.stats["energy_pkg_j"].mean,
        )
        for candidate in candidates
        if candidate.placed.usable
    }
    known = {case_id: both for case_id, both in means.items() if all(map(math.isfinite, both))}
    front = pareto_front(known)
    for candidate in candidates:
        if candidate.case_id in known:
            time_s, energy_j = known[candidate.case_id]
            yield Point(candidate, time_s, energy_j, candidate.case_id in front)


def _no_energy(results: Results) -> str:
    """Return why no case has a time and an energy to compare, as far as records give reasons."""
    if any(case.stats["energy_pkg_j"].n for case in results.cases):
        return "every case that has it lost more than a tenth of its runs to placement"
    return one_line(joined(results.why_absent(results.cases, ["energy_pkg_j"]))) or "no run has it"


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
    best, reference = (np.array([race.runs[key].value for key in of], dtype=float) for of in keys)
    other_objectives: dict[Objective, Difference] = {}
    for objective in OBJECTIVES:
        values = runs.set_index(["case_id", "repetition"])[objective.field].reindex
        difference = _difference(*(values(of).to_numpy(dtype=float) for of in keys))
        if difference is not None and objective != race.rule.of:
            other_objectives[objective] = difference
    difference, higher = _difference(best, reference), race.rule.higher
    found = Confirmation(len(best), difference, other_objectives)
    if state.level is None or difference is None or not difference.standard_error:
        return found
    logs = [((-1 if higher else 1) * np.log(of)).tolist() for of in (best, reference)]
    slow = slow_runs(best), slow_runs(reference)
    return replace(
        found,
        gain=gain_of(logs[0], logs[1], state.level, higher),
        slow_runs=(slow[0], slow[1]) if slow[0] and slow[1] and not higher else None,
    )


def confirmation_runs(state: RaceState, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the good runs of the confirmation."""
    good = good_runs(frame)
    keys = {(case, repetition) for case, of in state.confirmation.items() for repetition in of}
    rows = zip(good["case_id"], good["repetition"], strict=True)
    return good[np.fromiter((row in keys for row in rows), dtype=bool, count=len(good))]


def _difference(best: Array, reference: Array) -> Difference | None:
    """Return the typical difference of the pairs of which both runs were measured."""
    known = np.all([(of > MIN_VALUE) & (of < MAX_VALUE) for of in (best, reference)], axis=0)
    if np.count_nonzero(known) < 2:
        return None
    return Difference.of_pairs(np.log(best[known]), np.log(reference[known]))
