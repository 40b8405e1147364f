"""The trial of a race's best case against its reference, and where its assumptions do not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from analysis.advice.model import Trial
from analysis.advice.raced import Raced
from analysis.format.numbers import percent
from analysis.objectives import OBJECTIVES, Objective
from analysis.results.runs import good_runs
from analysis.statistics.difference import Difference
from analysis.statistics.drift import Drift
from analysis.verdict.drift_words import found_drift
from analysis.verdict.values import LEAST, MOST
from base.text import plural
from runners.race.elimination import MAX_NOISE
from runners.race.state import RaceState
from runners.records.disturbances import DISTURBANCES, SEPARATOR


def trial_of(raced: Raced, standing: RaceState, runs: pd.DataFrame) -> Trial | None:
    """Return what the trial's runs, those of `trial_runs`, say; None when none were made.

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


def trial_runs(standing: RaceState, frame: pd.DataFrame) -> pd.DataFrame:
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
    for sentence in found_drift(drift):
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
