"""From the results of a race to its advice."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.advice.lines import Line, ready_lines, start_of
from analysis.advice.model import Advice, Candidate, Out, Point, Trial, names_of
from analysis.advice.race_records import RaceRecords, read_race
from analysis.format.numbers import percent
from analysis.format.table import joined
from analysis.objectives import OBJECTIVES, Objective
from analysis.results.case_summary import CaseSummary
from analysis.results.runs import good_runs
from analysis.results.sources import Results
from analysis.statistics.decision import pareto_front
from analysis.statistics.difference import Difference
from analysis.statistics.drift import Drift
from analysis.verdict.caveats import detected_drift
from analysis.verdict.values import LEAST, MOST
from base import PINSTUDY
from base.text import as_typed, one_line, plural
from configs.study import CURRENT_GOVERNOR
from runners.plan.runs import OVERHEAD_S
from runners.race.elimination import MAX_NOISE
from runners.race.race import is_placed
from runners.race.state import WHYS, Eliminated, RaceState
from runners.records.disturbances import DISTURBANCES, SEPARATOR


def advice_of(results: Results, drift: Drift | None = None) -> Advice | None:
    """Return the advice of results that raced; None of others.

    `drift` is that of the runs, for the warnings. Raises UserError when records cannot be read.
    """
    if results.runs is None or results.folder is None or not results.runs.raced:
        return None
    raced = read_race(results.folder)
    candidates = _candidates(results.cases, raced) if raced else {}
    if raced is None or any(case_id not in candidates for case_id in raced.entrants):
        return None
    standing, frame = _supported(raced.standing, candidates), results.runs.frame
    runs = confirmation_runs(standing, frame)
    best = candidates[standing.best] if standing.best else None
    points = tuple(_points([candidates[case_id] for case_id in raced.entrants]))
    reference = candidates[standing.reference]
    taken = best if standing.decision == "gain" else None
    return Advice(
        rule=raced.rule,
        standing=standing,
        reference=reference,
        best=best,
        trial=confirmation_of(raced, standing, runs),
        outs=_outs(standing, candidates),
        left_out=_left_out(candidates.values(), raced.gone),
        points=points,
        no_energy="" if points else _no_energy(results),
        lines=_lines(taken, reference, candidates.values()),
        again=_again(results.folder),
        why_no_reference=_why_no_reference(raced),
        warnings=tuple(warnings_of(standing, runs, drift)),
        entrants=len(raced.entrants) + raced.unseen,
        no_time=sum(out.case_id not in candidates for out in standing.eliminated),
        made=sum(repetition > 0 for _, repetition in raced.runs),
        spent_s=sum(run.elapsed_s + OVERHEAD_S for run in raced.runs.values()),
        for_now=mostly_disturbed(runs, frame),
    )


def _supported(standing: RaceState, candidates: Mapping[str, Candidate]) -> RaceState:
    """Return the state without a decision that rests on a case that lost many runs to placement.

    Races do not end with such a decision; old records do not tell a race where threads were.
    """
    told = [candidates[of] for of in (standing.best, standing.reference) if of]
    if standing.decision in ("gain", "no gain") and not all(case.placed.usable for case in told):
        return replace(standing, decision="undecided")
    return standing


def _candidates(cases: Sequence[CaseSummary], raced: RaceRecords) -> dict[str, Candidate]:
    """Return the cases by case_id, those that were left out among them."""
    names = names_of(cases)
    return {
        case.case_id: Candidate(
            names[case.case_id], case, start_of(case, raced.launches.get(case.case_id, {}))
        )
        for case in cases
    }


def _outs(standing: RaceState, candidates: Mapping[str, Candidate]) -> tuple[Out, ...]:
    """Return the cases that were ruled out, the nearest to the best first."""

    def nearness(out: Eliminated) -> tuple[int, float]:
        return list(WHYS).index(out.why), math.inf if out.worse_by is None else out.worse_by

    known = [out for out in standing.eliminated if out.case_id in candidates]
    return tuple(Out(candidates[out.case_id], out) for out in sorted(known, key=nearness))


def _left_out(
    candidates: Iterable[Candidate], gone: Mapping[str, str]
) -> dict[str, tuple[Candidate, ...]]:
    """Return the cases that the node cannot do, or not any more, by the reason."""
    found: dict[str, tuple[Candidate, ...]] = {}
    for candidate in candidates:
        reason = gone.get(candidate.case_id, candidate.summary.skip_reason)
        if reason is not None:
            text = one_line(reason) or "no reason given"
            found[text] = (*found.get(text, ()), candidate)
    return found


def _points(candidates: Sequence[Candidate]) -> Iterator[Point]:
    """Yield the mean time and energy of each case of which both were measured."""
    means = {
        candidate.case_id: (
            candidate.summary.time.mean,
            candidate.summary.measures["energy_pkg_j"].mean,
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
    if any(case.measures["energy_pkg_j"].n for case in results.cases):
        return "every case that has it lost more than a tenth of its runs to placement"
    return one_line(joined(results.why_absent(results.cases, ["energy_pkg_j"]))) or "no run has it"


def _lines(
    taken: Candidate | None, reference: Candidate, candidates: Collection[Candidate]
) -> tuple[Line, ...]:
    """Return the lines that start the program as the case to take does; none to do nothing."""
    if taken is None or taken.start is None:
        return ()
    start, tables = taken.start, [candidate.summary.table for candidate in candidates]
    governor, before = taken.summary.governor, reference.summary.governors_read
    is_set = governor != CURRENT_GOVERNOR and before != [governor]
    return ready_lines(
        replace(
            start,
            counted=start.openmp or any(table.threads > 1 for table in tables),
            schedule=start.schedule if len({table.schedule for table in tables}) > 1 else None,
            governor=governor if is_set else None,
            before=before[0] if is_set and len(before) == 1 else None,
            # Left to the scheduler, the reference has every CPU.
            node_cpus=len(reference.start.mask) if reference.start else 0,
        )
    )


def _again(folder: Path) -> str:
    """Return the command that continues the race; the study stands above its results."""
    name = folder.absolute().parent.name
    # As it was typed, though a folder named `.` has no parent.
    file = Path(os.path.normpath(folder / "..")) / f"{name}.yaml"
    return f"{PINSTUDY} run {as_typed(file if file.is_file() else f'{name}.yaml')}"


def _why_no_reference(raced: RaceRecords) -> str:
    """Return why the reference's runs are not good; empty where some are."""
    of = [run for (case_id, _), run in raced.runs.items() if case_id == raced.entrants[0]]
    if reasons := [run.reason for run in of if run.reason]:
        return one_line(joined(dict.fromkeys(reasons)))
    if not all(is_placed(run) for run in of):
        return "where its threads ran could not be proved, or was not where they belong"
    teams = {(run.started, run.told) for run in of if run.started not in (0, run.told)}
    return "; ".join(f"{n} threads started where {told} were told" for n, told in sorted(teams))


def confirmation_of(raced: RaceRecords, standing: RaceState, runs: pd.DataFrame) -> Trial | None:
    """Return what the trial's runs, those of `confirmation_runs`, say; None when none were made.

    They are compared unpaired (Welch), for the noisier of both may have more runs in a block.
    """
    if standing.best is None or not any(standing.confirmation.values()):
        return None
    sides = [standing.best, standing.reference]
    values = [
        [
            run.value
            for repetition in standing.confirmation.get(case_id, ())
            if (run := raced.runs[case_id, repetition]).value is not None
        ]
        for case_id in sides
    ]
    beside: dict[Objective, Difference] = {}
    for objective, measure in OBJECTIVES.items():
        known = [runs[measure][runs["case_id"] == case_id].dropna() for case_id in sides]
        measured = [of[of.between(LEAST, MOST, inclusive="neither")].tolist() for of in known]
        difference = _difference(*measured)
        if difference is not None and objective != raced.rule.of:
            beside[objective] = difference
    return Trial(len(values[0]), len(values[1]), _difference(*values), beside)


def confirmation_runs(standing: RaceState, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the good runs of the trial."""
    good = good_runs(frame)
    keys = {(case, repetition) for case, of in standing.confirmation.items() for repetition in of}
    made = zip(good["case_id"], good["repetition"], strict=True)
    return good[np.fromiter((key in keys for key in made), dtype=bool, count=len(good))]


def _difference(best: Sequence[float], reference: Sequence[float]) -> Difference | None:
    if min(len(best), len(reference)) < 2:
        return None
    return Difference.welch(np.log(best), np.log(reference))


def warnings_of(standing: RaceState, runs: pd.DataFrame, drift: Drift | None) -> Iterator[str]:
    """Yield each reason to doubt the advice, as a sentence; `runs` are those of the trial."""
    if standing.noise is not None and standing.noise > MAX_NOISE:
        differs = f"One run differs from the next by {percent(standing.noise)} (standard deviation)"
        cut = sum(1 for out in standing.eliminated if out.why == "far worse")
        if cut:
            verb = "was" if cut == 1 else "were"
            differs += (
                f": {plural(cut, 'case')} that {verb} ruled out after one run may be better than "
                f"that, which is safe up to {percent(MAX_NOISE)}"
            )
        yield f"{differs}. A quieter node, or a longer run, would tell more."
    yield from _disturbed(runs)
    attempts = runs["attempt"].dropna().nunique()
    if attempts > 1:
        yield (
            f"The trial's runs were made in {attempts} attempts: what changed on the node between "
            "them is part of the difference."
        )
    for sentence in detected_drift(drift):
        before = (
            " Of the runs of doing nothing up to a fifth are from before the trial, so that some "
            "of this is in the difference."
        )
        yield f"{sentence}{'' if runs.empty else before}"


def mostly_disturbed(runs: pd.DataFrame, frame: pd.DataFrame) -> str:
    """Say that most runs behind the answer were disturbed; empty when they were not.

    The answer rests on the `runs` of the trial, or on all of the frame where there was none.
    """
    what = "of the trial's runs" if len(runs) else "runs"
    runs = runs if len(runs) else good_runs(frame)
    count = int(runs["disturbed"].notna().sum())
    if not 2 * count > len(runs):
        return ""
    return f"most {what} ({count} of {len(runs)}) were disturbed"


def _disturbed(runs: pd.DataFrame) -> Iterator[str]:
    counts = Counter(
        what
        for text in runs["disturbed"].dropna().astype(str)
        for what in text.split(SEPARATOR)
        if what in DISTURBANCES
    )
    for what, count in counts.items():
        verb = "was" if count == 1 else "were"
        yield f"Of the trial's {plural(len(runs), 'run')}, {count} {verb} {what}."
